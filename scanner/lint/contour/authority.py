"""The CAs and revocation lists to which HTTPProxies refer."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.kube.kinds import HTTP_PROXY, SECRET
from scanner.lint.certificates import authority_flaws, entry, of_text
from scanner.lint.contour import configuration
from scanner.lint.contour.certificate import CERTIFICATE_USE, READS_OF_USES, looked_up, seen
from scanner.lint.contour.secrets import revoking, verifying
from scanner.lint.contour.uses import Use, of_object
from scanner.lint.references import secret_of
from scanner.model.declared import Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject


def check_authority(subject: Subject) -> Iterator[Flaw]:
    """CAs and revocation lists to which an HTTPProxy refers are there.

    ## What it requires

    That each Secret of a `caSecret` (of clients, of services, of a JWKS) has a certificate in PEM in `ca.crt`, each of
    them a CA and valid now; and that of a `crlSecret` a list in `crl.pem`. Where Contour has `rootNamespaces`, that the
    Secret is in one of them: Contour watches no others.

    ## Why

    Without the CA Contour refuses the HTTPProxy. Contour looks only whether there is some PEM: a leaf in place of the
    CA, or a CA that has expired, is handed to Envoy, and then no client and no service is accepted any more.

    ## What fails

    Each of these: high.

    ## What is inconclusive

    A Secret that was not given, and a certificate of which one of these cannot be read. How old the revocation list is,
    and whose, `contour-revocation-list` says.

    ## Example that fails

    ```yaml
    apiVersion: projectcontour.io/v1
    kind: HTTPProxy
    metadata: {name: shop, namespace: shop}
    spec: {virtualhost: {fqdn: shop.example.com, tls: {secretName: shop, clientValidation: {caSecret: clients}}}}
    ---
    apiVersion: v1
    kind: Secret
    metadata: {name: clients, namespace: shop}
    type: Opaque
    data: {ca.crt: "CERTIFICATE(shop.example.com)"}
    ```

    ## Example that passes

    ```yaml
    apiVersion: projectcontour.io/v1
    kind: HTTPProxy
    metadata: {name: shop, namespace: shop}
    spec: {virtualhost: {fqdn: shop.example.com, tls: {secretName: shop, clientValidation: {caSecret: clients}}}}
    ---
    apiVersion: v1
    kind: Secret
    metadata: {name: clients, namespace: shop}
    type: Opaque
    stringData: {ca.crt: CA(clients)}
    ```

    ## How to fix

    Put the CA's certificate into `ca.crt`, and the list into `crl.pem`.
    """
    for use in of_object(subject):
        if use.what != CERTIFICATE_USE:
            yield from seen(subject, use)
        if use.what != CERTIFICATE_USE and not looked_up(subject, use):
            yield from _trusted(subject, use)


def _trusted(subject: Subject, use: Use) -> Iterator[Flaw]:
    found = secret_of(subject, use.secret.name, use.secret.namespace)
    if use.steps[-1] == "crlSecret":
        yield from revoking(found, use.steps)
        return
    yield from verifying(found, use.steps, use.what)
    if not isinstance(found, Missing) and of_text(entry(found, "ca.crt") or ""):
        yield from authority_flaws(found, use.steps, subject.declared.known.taken_at)


AUTHORITY = ObjectRule(
    id="contour-ca",
    title="CAs and revocation lists to which an HTTPProxy refers are there",
    severity="high",
    subjects=(HTTP_PROXY,),
    reads=(*READS_OF_USES, *configuration.READS, SECRET),
    check=check_authority,
    references=(
        "Contour internal/dag/secret.go (validCASecret, validCRLSecret)",
        "projectcontour.io/v1 HTTPProxy spec.virtualhost.tls.clientValidation",
    ),
)
