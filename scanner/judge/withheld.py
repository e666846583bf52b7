"""Is something served under a name of which its own object says that nothing is?"""

from __future__ import annotations

from collections.abc import Iterator

from scanner.judge import remediation, served
from scanner.judge.verdicts import Tally, Words, conclude, promised
from scanner.model.finding import Finding
from scanner.model.known import Unknown
from scanner.model.rule import Case, Rule


def check_withheld(rule: Rule, case: Case) -> Iterator[Finding]:
    """What cannot be served as it is declared is not served at all.

    ## What it requires

    Under the name of a listener that has no certificate that it may use, no handshake shows another one. A listener
    has none where

    * its controller says so for its present generation: `Accepted` is False, `Conflicted` is True, or `ResolvedRefs` is
      False with the reason `InvalidCertificateRef` or `RefNotPermitted`, and it names no more than one Secret;
    * the only Secrets that its Gateway, ListenerSet, HTTPProxy or Ingress names for it are of other namespaces, and
      nothing there lets it name them.

    Where another listener of the same place answers the name too (one for more names, or Contour's fallback
    certificate), nothing is reported. A port that shows no certificate is as it should be, and not applicable.

    ## Why

    A proxy that shows a default certificate, or whatever certificate it had before, goes on serving what the cluster's
    objects say is not served: nobody sees that the reference broke, and client validation that could not be set up is
    left out.

    ## What fails

    Any certificate: high.

    ## What is inconclusive

    A handshake without a certificate to be seen. An object whose status is that of an older generation.

    ## Example that fails

    A listener that is in order but for this:

    ```yaml
    # status.listeners of its Gateway
    conditions:
    - {type: ResolvedRefs, status: "False", reason: InvalidCertificateRef}
    sent:
    - {subject: CN=default}
    ```

    ## Example that passes

    ```yaml
    # Nothing is reported
    conditions:
    - {type: ResolvedRefs, status: "False", reason: InvalidCertificateRef}
    alert: unrecognized_name
    ```

    ```yaml
    # Nothing is reported
    conditions:
    - {type: Accepted, status: "True", reason: Accepted}
    - {type: ResolvedRefs, status: "True", reason: ResolvedRefs}
    sent:
    - {subject: CN=a.example}
    ```

    ## How to fix

    Mend what the finding says: the Secret, the grant, the CA. See whether the proxy has a default certificate of its
    own that can be turned off.
    """
    why = case.expectation.withheld
    if not why:
        return
    leaves = served.leaf(case)
    unseen = isinstance(leaves, Unknown)
    shown = () if isinstance(leaves, Unknown) else (served.short(leaves[0].subject or leaves[0].sha256),)
    finding = conclude(
        rule,
        case,
        Tally(
            seen=tuple(f"the certificate {each}" for each in shown),
            unknown=(leaves.reason,) if isinstance(leaves, Unknown) else (),
        ),
        Words(
            passed="nothing is served that is not to be",
            failed=f"a certificate is served under a name that nothing is to be served under: {why}",
            unclear="whether a certificate is served that is not to be could not be told",
        ),
        expected=(f"no certificate: {why}",),
        fix="mend what the object's status complains of, and see why the proxy serves the name all the same",
        reproduce=None if unseen else remediation.scan(case.endpoint),
    )
    yield promised(finding)


WITHHELD = Rule(
    id="tls-withheld",
    title="What cannot be served as declared is not served",
    severity="high",
    check=check_withheld,
    references=(
        "Gateway API apis/v1/gateway_types.go (ListenerConditionAccepted, ListenerConditionResolvedRefs)",
        "Contour internal/dag/httpproxy_processor.go (DelegationNotPermitted)",
    ),
)
