"""Can everybody who calls a listener verify it, each with the trust that its own object gives it?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from scanner.judge import remediation, served
from scanner.judge.chain import objection
from scanner.judge.verdicts import Tally, Words, conclude, promised
from scanner.model.expectation import Client
from scanner.model.finding import Finding
from scanner.model.known import Unknown
from scanner.model.rule import Case, Rule
from scanner.model.san import covers


def check_callers(rule: Rule, case: Case) -> Iterator[Finding]:
    """Every client that an object configures can verify the certificate.

    ## What it requires

    For each object that has something connect to the listener and says whom that trusts, the served chain leads to one
    of its anchors, and the leaf is valid for the name that it verifies:

    * webhooks, conversions and aggregated APIs: `caBundle`, and the name of the Service, or of the URL;
    * BackendTLSPolicies: the CAs that `caCertificateRefs` names, and one of `subjectAltNames` (DNS name or URI), or
      without these the `hostname`;
    * services of an HTTPProxy with `validation`: the CA in `caSecret`, and one of `subjectNames` (or `subjectName`);
    * re-encrypting Routes: `destinationCACertificate`, and then no name, as the router does it; without one the
      service CA, and the name of the Service;
    * kubelets: the CA that kube-apiserver has for them, and the node's internal address.

    Where no object says so, nothing is reported. What the listener's usual clients trust is judged by `cert-chain`.

    ## Why

    A listener may have several clients, each with a CA of its own. When a CA is replaced in one object and not in the
    other, one of them fails, and the listener looks well to everybody else.

    ## What fails

    A client that the certificate cannot be verified by: medium. The finding names each, with the field that holds its
    trust and the reason. It counts for workloads of users too, because an object declares it.

    ## What is inconclusive

    A chain that could not be seen, and a field that holds no certificate that can be read. Informational: a ConfigMap
    or Secret with CAs that was not read (Secrets need `--secrets`, ConfigMaps of users the role that
    `adhere rbac --with configmaps` prints), and a gateway's own public roots (`wellKnownCACertificates`).

    ## Example that fails

    A listener that is in order but for this:

    ```yaml
    # The CA was replaced, and not in the caBundle of the webhook
    clients:
    - object: ValidatingWebhookConfiguration/shop
      caBundle: Shop CA 2025
      name: web.shop.svc
    chain:
    - {subject: web.shop.svc, issuer: Shop CA 2026}
    ```

    ## Example that passes

    ```yaml
    clients:
    - object: ValidatingWebhookConfiguration/shop
      caBundle: Shop CA 2025
      name: web.shop.svc
    chain:
    - {subject: web.shop.svc, issuer: Shop CA 2025}
    ```

    ## How to fix

    Put the CA that signs the certificate into the field that the finding names; better, let it be injected
    (`service.beta.openshift.io/inject-cabundle`, cert-manager's `inject-ca-from`).
    """
    clients = case.expectation.certificate.clients
    if not clients:
        return
    seen: list[str] = []
    unknown: list[str] = []
    known: dict[tuple[object, ...], str | Unknown | None] = {}  # a thousand CRDs may have one conversion webhook
    for client in clients:
        key = (client.anchors, client.name, client.others, client.missing or (not client.anchors and client.source))
        if key not in known:
            known[key] = _wrong(client, case)
        wrong = known[key]
        if isinstance(wrong, Unknown):
            unknown.append(f"{client.who}: {wrong.reason}")
        elif wrong:
            seen.append(f"{client.who}, which trusts {client.source}: {wrong}")
    finding = conclude(
        rule,
        case,
        Tally(seen=tuple(seen), unknown=tuple(unknown)),
        Words(
            passed="every client that an object configures can verify the certificate",
            failed=f"the certificate cannot be verified by {_number(len(seen))} that an object configures",
            unclear="whether every client can verify the certificate could not be told",
        ),
        expected=[f"a certificate that {client.who} can verify by {client.source}" for client in clients[:5]],
        fix="put the CA that signs the certificate into the field that holds this client's trust",
        reproduce=remediation.scan(case.endpoint),
    )
    # That nobody read somebody's CA is no doubt about the listener.
    nowhere = finding.verdict == "inconclusive" and all(f": {_NOT_HERE}" in each for each in unknown)
    yield replace(finding, severity="info") if nowhere else promised(finding)


_NOT_HERE = "its trust is not at hand: "


def _wrong(client: Client, case: Case) -> str | Unknown | None:
    """Why the client refuses what is served; None: it does not."""
    if client.missing:
        return Unknown(f"{_NOT_HERE}{client.missing}")
    if not client.anchors:
        return Unknown(f"{client.source} holds no certificate that can be read")
    objected = objection(case.observation.chain, client.anchors, case.now)
    leaves = served.leaf(case)
    if objected is not None or client.name is None or isinstance(leaves, Unknown):
        return objected
    covered = [covers(leaves[0], each) for each in (client.name, *client.others)]
    if True in covered:
        return None
    called = " or ".join(served.short(each) for each in (client.name, *client.others))
    return next((each for each in covered if isinstance(each, Unknown)), f"it is not valid for {called}")


def _number(count: int) -> str:
    return "a client" if count == 1 else f"{count} clients"


CALLERS = Rule(
    id="cert-clients",
    title="Every configured client can verify the certificate",
    severity="medium",
    check=check_callers,
    references=(
        "Kubernetes documentation, Dynamic Admission Control: contacting the webhook",
        "openshift/api route/v1/types.go (destinationCACertificate)",
        "Gateway API, BackendTLSPolicy (GEP-1897, GEP-3155); Contour, Upstream TLS",
        "RFC 5280, section 6, and RFC 9525, section 6",
    ),
)
