"""Does a listener serve the certificate of a Secret that nobody has let its object name?"""

from __future__ import annotations

from collections.abc import Iterator

from scanner.judge import remediation, served
from scanner.judge.verdicts import Tally, Words, conclude, promised, remark
from scanner.model.expectation import Ungranted
from scanner.model.finding import Finding
from scanner.model.known import Unknown
from scanner.model.rule import Case, Rule
from scanner.tls.certificate import CertificateFacts


def check_ungranted(rule: Rule, case: Case) -> Iterator[Finding]:
    """A Secret of another namespace is not served without its owner's permission.

    ## What it requires

    Where a listener's object names a Secret of another namespace and nothing there allows it, the SHA-256 of what is
    served under the name is not that of the Secret's certificate. It is allowed

    * to a Gateway or ListenerSet by a ReferenceGrant in the Secret's namespace, for its group, kind and namespace, and
      for Secrets with this name or without a name;
    * to an HTTPProxy, to an Ingress with the annotation `projectcontour.io/tls-cert-namespace`, and to whoever wants
      the fallback certificate, by a TLSCertificateDelegation there that lists the namespace, or `*` alone.

    Secrets have to be readable for it (`--secrets`). A certificate that another listener of the same place may serve
    is none of its own.

    ## Why

    Grants and delegations are what keeps the keys of one namespace from everybody who may write a Gateway or an
    HTTPProxy in another. A proxy that serves such a certificate all the same lets any namespace stand for any host.

    ## What fails

    The certificate of such a Secret: critical.

    ## What is inconclusive

    * The certificate of a Secret where grants or delegations could not be read, or only a delegation of
      `contour.heptio.com` allows it, which Contour stopped reading with 1.6, or the Ingress with the annotation has a
      class that need not be Contour's.
    * Something that is served while the Secret could not be read, and is none of the certificates that may be.

    ## Example that fails

    A listener that is in order but for this:

    ```yaml
    # No ReferenceGrant in the namespace certs
    withoutGrant:
      namedBy: Gateway/edge/front listener web
      place: Secret/certs/web-tls
      certificates:
      - {names: [a.example], serialNumber: 6}
    sent:
    - {names: [a.example], serialNumber: 6}
    ```

    ## Example that passes

    ```yaml
    withoutGrant:
      namedBy: Gateway/edge/front listener web
      place: Secret/certs/web-tls
      certificates:
      - {names: [a.example], serialNumber: 6}
    sent:
    - {names: [a.example], serialNumber: 5}
    ```

    ## How to fix

    Take the certificate out of the proxy first: restart it, or remove the reference. Then let who owns the Secret
    decide, by a grant or delegation that names the Secret; and find out why the controller served it, for the next
    one will be too.
    """
    named = case.expectation.certificate.ungranted
    if not named:
        return
    if not any(each.asked for each in named):
        yield remark(rule, _NOT_ASKED, verdict="not_applicable")
        return
    leaves = served.leaf(case)
    told = [_wrong(each, leaves, case) for each in named]
    tally = Tally(
        seen=tuple(each for each in told if isinstance(each, str)),
        unknown=tuple(each.reason for each in told if isinstance(each, Unknown)),
    )
    finding = conclude(
        rule,
        case,
        tally,
        Words(
            passed="no certificate of another namespace is served without permission",
            failed="it serves a certificate that its owner has not let it have",
            unclear="whether it serves a certificate that its owner has not let it have could not be told",
        ),
        expected=(f"not the certificate of {each.secret}, which {each.who} names" for each in named),
        fix="remove the reference or restart the proxy, and let who owns the Secret allow it or not",
        reproduce=remediation.scan(case.endpoint),
    )
    yield promised(finding)


_NOT_ASKED = "no Secret was looked at (--secrets), so nobody can tell whose certificate is served"


def _wrong(named: Ungranted, leaves: tuple[CertificateFacts, ...] | Unknown, case: Case) -> str | Unknown | None:
    if isinstance(leaves, Unknown):
        return Unknown(leaves.reason)
    mine = case.expectation.certificate.stored
    may = {each.sha256 for each in mine.leaves if not named.doubt} if mine else set()
    shown = leaves[0].sha256
    if shown in may or shown in case.expectation.certificate.beside:
        return None
    if isinstance(named.leaf, Unknown):
        return Unknown(f"{named.secret}: {named.leaf.reason}")
    if named.leaf.sha256 != shown:
        return None
    if named.doubt:
        return Unknown(f"it serves the certificate of {named.secret}: {named.doubt}")
    return f"the certificate of {named.secret} (SHA-256 {shown}), which {named.who} names without permission"


UNGRANTED = Rule(
    id="cert-not-granted",
    title="No certificate is served without its owner's permission",
    severity="critical",
    check=check_ungranted,
    references=(
        "Gateway API apis/v1/referencegrant_types.go (ReferenceGrantSpec)",
        "Contour internal/dag/cache.go (delegationPermitted)",
    ),
)
