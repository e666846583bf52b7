"""What is served with TLS: is it also had without, on the port beside it?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.judge import remediation
from scanner.judge.verdicts import Tally, Words, conclude, promised
from scanner.model.expectation import PlainPort
from scanner.model.finding import Finding
from scanner.model.known import Unknown
from scanner.model.rule import Case, Rule

_NOTHING: Final = ("400", "404", "421", "426", "503")
"""No content of anybody's: not understood, not here, not so, and what OpenShift's router says of a Route that is not
to be had without TLS."""
_REDIRECTS: Final = ("301", "302", "303", "307", "308")


def check_from_plaintext(rule: Rule, case: Case) -> Iterator[Finding]:
    """What is served with TLS is not had without it, on the port beside it.

    ## What it requires

    With `--active-http`, the port for requests without TLS at the same address (80, or wherever that leads) is asked
    with one `HEAD` for each name of a Route, an HTTPProxy, an Ingress, and of a Gateway that has a listener of protocol
    HTTP for the name: for `/`, for a Route's `path`, for the first path of an Ingress that has not the whole of it, or
    for the first route with `permitInsecure`. It leads to `https`, says that nothing is there (400, 404, 421, 426,
    503), or does not answer in HTTP; where it ends the connection without a word, five times in a row.

    The port is that of the Services that lead to the listener, or the one that its pod declares beside it. Where there
    is none, nothing is sent and nothing is reported; nor is without the option.

    ## Why

    Who types a name, or follows an old link, comes without TLS first. If that is answered with the content, the session
    stays without: everybody on the way reads along and changes what he likes, and the certificate is never asked for.

    ## What fails

    Any other answer: medium. It says whether an object wants it so (`insecureEdgeTerminationPolicy: Allow`,
    `permitInsecure`) or says otherwise. A redirect that stays without TLS is such an answer.

    ## What is inconclusive

    Silence, half of a redirect, and nothing there for a name of which an object says that it is served without TLS: it
    may be tomorrow. Nothing at `/` of a Gateway, whose routes have paths that are not read, and at a path of an Ingress
    that is a regular expression. A redirect where `permitInsecure` also asks for headers or query parameters, or for a
    pattern.

    ## Example that fails

    A listener that is in order but for this:

    ```yaml
    # spec.tls of Route/shop/web
    insecureEdgeTerminationPolicy: Redirect
    # HEAD / without TLS, to the port beside it
    port80: {status: 200}
    ```

    ```yaml
    # The Route wants it so
    insecureEdgeTerminationPolicy: Allow
    port80: {status: 200}
    ```

    ## Example that passes

    ```yaml
    insecureEdgeTerminationPolicy: Redirect
    port80: {status: 302, location: https://a.example}
    ```

    ```yaml
    insecureEdgeTerminationPolicy: None
    port80: {status: 503}
    ```

    ## How to fix

    `insecureEdgeTerminationPolicy: Redirect` for a Route; no `permitInsecure` in an HTTPProxy; an HTTPRoute with a
    `RequestRedirect` filter on a Gateway's HTTP listener, and no other routes there.
    """
    found, wanted = case.observation.plain_port, case.expectation.plain_port
    if wanted is None or (isinstance(found, Unknown) and "--active-http" in found.reason):
        return
    answer = _read(found, wanted) if not isinstance(found, Unknown) else found
    says = f", as {wanted.because} has it" if wanted.owed == "served" else ""
    finding = conclude(
        rule,
        case,
        Tally(
            seen=(answer,) if isinstance(answer, str) else (),
            unknown=(answer.reason,) if isinstance(answer, Unknown) else (),
        ),
        Words(
            passed="the port without TLS does not serve this name" + (f": {found}" if isinstance(found, str) else ""),
            failed=f"the port without TLS serves this name, too{says}",
            unclear="whether the port without TLS serves this name could not be told",
        ),
        expected=(_expected(wanted),),
        fix=f"have port {wanted.port} lead to https ({wanted.because})",
        reproduce=remediation.head(case.endpoint, case.endpoint.server_name or "", port=wanted.port, path=wanted.path),
    )
    yield finding if wanted.owed in (None, "served") else promised(finding)


def _read(found: str | None, wanted: PlainPort) -> str | Unknown | None:
    """What is wrong with the answer."""
    status, _, leads = (found or "").partition(" ")[2].partition(" to ")
    nothing = found is None or status in _NOTHING
    leads_to_tls = status in _REDIRECTS and leads.partition(":")[0] == "https"
    if wanted.owed == "served" and (nothing or (leads_to_tls and wanted.conditional)):
        return Unknown(f"{found or 'no answer'} on port {wanted.port}, although {wanted.because}")
    if found is not None and nothing and wanted.conditional:
        return Unknown(f"{found} for {wanted.path} on port {wanted.port}, where there may be other paths")
    if nothing or leads_to_tls:
        return None
    return f"a request without TLS to port {wanted.port} is answered with {found}"


def _expected(wanted: PlainPort) -> str:
    words = {"nothing": "nothing", "redirect": "a redirect to https", "served": "a redirect to https, or nothing"}
    return f"{words[wanted.owed or 'served']} on port {wanted.port} ({wanted.because})"


FROM_PLAINTEXT = Rule(
    id="http-redirect",
    title="What is served with TLS is not had without it on the port beside it",
    severity="medium",
    check=check_from_plaintext,
    references=(
        "RFC 9110, section 4.2.2; RFC 6797, section 8.3",
        "openshift/api route/v1/types.go (insecureEdgeTerminationPolicy)",
        "projectcontour.io/v1 HTTPProxy spec.routes.permitInsecure",
        "Gateway API, HTTPRequestRedirectFilter",
    ),
)
