"""Text of ``adhere explain``: the requirements of a listener and the objects that set them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from scanner.kube.maybe import Unknown
from scanner.kube.tls_profile import Profile
from scanner.model.endpoint import Endpoint, host_port
from scanner.model.expectation import Because, Binding, Expectation, Standing
from scanner.report.escape import plain
from scanner.report.rows import origin_text
from scanner.tls.names import group_name, suite_name, version_name

_BINDS: dict[Binding, str] = {
    "must-follow": "a deviation is a violation",
    "settling": "a change is being rolled out: the new and the old profile are both accepted until it has settled",
    "not-enforced": "a deviation is reported as readiness and fails nothing",
}
_STANDS: dict[Standing, str] = {
    "platform": "a component of the platform",
    "layered": "a layered product: it inherits the cluster's profile, and may deviate with a justification",
    "user": "a user's workload",
    "listed": "by name",
}
_WHERE = 12
"""Most addresses, aliases and origins of each."""


def explain(replicas: Iterable[Endpoint], expectation: Expectation, *, left_out: str = "") -> Iterator[str]:
    """Yield the listener, its requirements, and the objects and fields that set them, with what each one overrides.
    Texts are escaped.

    ``replicas``: endpoints of one id, at least one. ``left_out``: the reason why a scan does not probe it.
    """
    every = tuple(replicas)
    first = every[0]
    yield plain(first.id)
    yield from _facts(every, expectation)
    if left_out:
        yield f"  not asked   {plain(left_out)}"
    yield ""
    yield from _owes(expectation)
    yield ""
    yield "because"
    for source, steps in groupby(expectation.because, key=lambda step: step.source):
        yield f"  {plain(source)}"
        for step in steps:
            yield from _step(step)
    if not expectation.because:
        yield "  no object sets anything"
    for remark in expectation.remarks:
        yield f"  note: {plain(remark)}"


def _facts(every: tuple[Endpoint, ...], expectation: Expectation) -> Iterator[str]:
    first = every[0]
    stands = _STANDS[expectation.standing]
    # What answers for a user is no component, though a router passes its connections on.
    component = (expectation.component or first.component) if expectation.standing != "user" else None
    yield f"  is          {stands}{f' ({plain(component)})' if component else ''}"
    if first.segment:
        yield f"  segment     {first.segment}"
    if first.subject:
        yield f"  declared by {plain(str(first.subject))}"
    yield from _list("listens at", (_address(each) for each in every))
    yield from _list("behind", (alias for each in every for alias in each.aliases))
    yield from _list("found by", (origin_text(origin) for each in every for origin in each.origins))
    yield from _list("may be of", (f"{o.kind}/{o.namespace or ''}/{o.name}" for each in every for o in each.candidates))


def _address(endpoint: Endpoint) -> str:
    where = host_port(endpoint.address or endpoint.host, endpoint.port)
    name = f" as {endpoint.server_name}" if endpoint.server_name else ""
    return f"{where}{name}{f' on {endpoint.node}' if endpoint.node else ''}"


def _list(label: str, items: Iterable[str]) -> Iterator[str]:
    every = list(dict.fromkeys(items))
    for place, item in enumerate(every[:_WHERE]):
        yield f"  {label if place == 0 else '':<11} {plain(item)}"
    if len(every) > _WHERE:
        yield f"  {'':<11} and {len(every) - _WHERE} more"


def _owes(expectation: Expectation) -> Iterator[str]:
    profile = expectation.profile
    if isinstance(profile, Unknown):
        yield f"required    unknown: {plain(profile.reason)}"
        yield "            nothing passes against it"
        yield from _client_certificate(expectation)
        return
    yield f"required    {plain(profile.name)}: {_meaning(profile)}"
    yield f"            {_BINDS[expectation.binding]}"
    for other in expectation.alternatives:
        yield f"      or    {plain(other.name)}: {_meaning(other)}"
    yield f"            from {plain(profile.source)}"
    yield from _wrapped("suites", [suite_name(code) for code in profile.suites])
    if profile.groups is not None:
        yield from _wrapped("groups", [group_name(code) for code in profile.groups])
    yield from _client_certificate(expectation)
    for note in profile.notes:
        yield f"            note: {plain(note)}"


def _client_certificate(expectation: Expectation) -> Iterator[str]:
    """Yield the requirement on clients and its objects."""
    if expectation.client_certificate:
        by = f", by {plain(expectation.client_source)}" if expectation.client_source else ""
        yield f"  client certificate  {expectation.client_certificate}{by}"
    if expectation.client_trust:
        yield f"                      trusted: those of {plain(expectation.client_trust)}"


def _meaning(profile: Profile) -> str:
    groups = "any group" if profile.groups is None else f"{len(profile.groups)} groups"
    return f"{version_name(profile.min_version)} or later, {len(profile.suites)} suites, {groups}"


def _wrapped(label: str, names: list[str]) -> Iterator[str]:
    for place, name in enumerate(names):
        yield f"  {label if place == 0 else '':<9} {plain(name)}"


def _step(step: Because) -> Iterator[str]:
    yield f"    {plain(': '.join(filter(None, (step.field, step.said))))}"
    if step.beat:
        yield f"      over {plain(step.beat)}"
