"""Is every name of a subdomain answered as the Route that has the whole of it?"""

from __future__ import annotations

from collections.abc import Iterator

from scanner.judge import remediation, served
from scanner.judge.other_names import as_its_own
from scanner.judge.verdicts import Tally, Words, conclude, promised
from scanner.model.expectation import OtherName
from scanner.model.finding import Finding
from scanner.model.known import Unknown
from scanner.model.observation import Stray
from scanner.model.rule import Case, Rule


def check_subdomain(rule: Rule, case: Case) -> Iterator[Finding]:
    """A Route for a whole subdomain shows its certificate under any name of it.

    ## What it requires

    Where a router has admitted a Route with `wildcardPolicy: Subdomain`, edge or re-encrypt, a name of one label below
    its domain that nobody has written down shows the certificate that the Route's own host shows.

    ## Why

    That is what the Route is for. If such a name shows the router's default certificate, the router has the Route's
    host alone, clients refuse the others, and somebody may be served what he did not ask for.

    ## What fails

    A refusal, or another certificate: medium.

    ## What is inconclusive

    Silence, and a Route whose own certificate was not seen.

    ## Example that fails

    A listener that is in order but for this:

    ```yaml
    # The Route has wildcardPolicy: Subdomain
    subdomain: {object: Route/shop/any, name: any.shop.example}
    sent:
    - {subject: CN=*.shop.example}
    serverNames:
    - {name: any.shop.example, subject: CN=ingress-operator}
    ```

    ## Example that passes

    ```yaml
    subdomain: {object: Route/shop/any, name: any.shop.example}
    sent:
    - {subject: CN=*.shop.example}
    serverNames:
    - {name: any.shop.example, subject: CN=*.shop.example}
    ```

    ## How to fix

    See whether the IngressController has `routeAdmission.wildcardPolicy: WildcardsAllowed`, and whether the Route's
    certificate has the wildcard among its names.
    """
    owed = [each for each in case.expectation.other_names if each.owed == "same"]
    if not owed:
        return
    found = {each.name: each for each in case.observation.strays}
    readings = [_wrong(each, found.get(each.name), case) for each in owed]
    wrong = [each.name for each, reading in zip(owed, readings, strict=True) if isinstance(reading, str)]
    finding = conclude(
        rule,
        case,
        Tally(
            seen=tuple(each for each in readings if isinstance(each, str)),
            unknown=tuple(each.reason for each in readings if isinstance(each, Unknown)),
        ),
        Words(
            passed="any name of its subdomain shows the same certificate",
            failed="a name of its subdomain does not show the same certificate",
            unclear="whether any name of its subdomain shows the same certificate could not be told",
        ),
        expected=(each.because for each in owed),
        fix="see whether the IngressController admits wildcards, and renew the Route",
        reproduce=remediation.scan_as(case.endpoint, wrong),
    )
    yield promised(finding)


def _wrong(owed: OtherName, seen: Stray | None, case: Case) -> str | Unknown | None:
    if seen is None or isinstance(seen.answer, Unknown):
        return Unknown(
            f"{owed.name}: {seen.answer.reason if seen and isinstance(seen.answer, Unknown) else 'not tested'}"
        )
    if seen.answer == "refused":
        return f"{owed.name} is refused"
    same = as_its_own(seen, case)
    if isinstance(same, Unknown):
        return Unknown(f"{owed.name}: {same.reason}")
    subject = served.short(seen.leaf.subject or seen.leaf.sha256) if seen.leaf else "none"
    return None if same else f"{owed.name} is answered with the certificate {subject}"


SUBDOMAIN = Rule(
    id="tls-subdomain",
    title="A Route for a subdomain answers every name of it",
    severity="medium",
    check=check_subdomain,
    references=("openshift/api route/v1/types.go (wildcardPolicy)", "openshift/router, pkg/router/template/util"),
)
