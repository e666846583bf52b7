"""The examples of the rules on the Gateway API under the definitions of its former releases, which clusters have for
years: what lint says there is the same, or what changed since is said with the release."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

from scanner.lint import RULES, lint
from scanner.lint.gateway import GATEWAY_RULES
from scanner.lint.gateway.pruned_fields import PRUNED
from scanner.linting import declared
from scanner.model.object_rule import ObjectRule
from tests.e2e import assets
from tests.e2e.conftest import definitions_of
from tests.e2e.control_plane import ControlPlane, control_plane
from tests.e2e.definitions import CURRENT
from tests.e2e.judging import ONLY_FORMER, OTHERWISE, REFUSED, failures, objects_of, snapshot_of, written
from tests.e2e.writing import Writer
from tests.lint.examples import examples, linted

RELEASES: Final = ("1.0", "1.3", "1.4")

_GROUP: Final = "gateway.networking.k8s.io"
_ALPHA: Final = {"TLSRoute": "v1alpha2", "TCPRoute": "v1alpha2", "ReferenceGrant": "v1beta1"}
NAMED: Final[Mapping[str, Mapping[str, str]]] = {
    "1.0": _ALPHA | {"GRPCRoute": "v1alpha2"},
    "1.3": _ALPHA | {"BackendTLSPolicy": "v1alpha3"},
    "1.4": _ALPHA,
}
"""By release and kind, the version that had what is ``v1`` today."""
SINCE: Final[Mapping[str, str]] = {
    "kind: ListenerSet": "1.5",
    "kind: XListenerSet": "1.3",
    "kind: XBackend": "1.6",
    f"apiVersion: {_GROUP}/v1alpha3\nkind: BackendTLSPolicy": "1.1",
    f"apiVersion: {_GROUP}/v1\nkind: BackendTLSPolicy": "1.1",
}
"""What is in an example, and the first release that can have it."""
UNTIL: Final[Mapping[str, str]] = {f"apiVersion: {_GROUP}/v1alpha2\nkind: BackendTLSPolicy": "1.0"}
"""The like, and the last release."""


def there_was(text: str, release: str) -> bool:
    """Whether the release had every kind of an example."""
    began = all(release >= since for part, since in SINCE.items() if part in text)
    return began and all(release <= until for part, until in UNTIL.items() if part in text)


def in_release(text: str, release: str) -> str:
    """The example with the versions that the release had."""
    for kind, version in NAMED[release].items():
        text = re.sub(rf"^(apiVersion: {_GROUP})/v1(\nkind: {kind})$", rf"\1/{version}\2", text, flags=re.MULTILINE)
    return text


EXAMPLES = [
    pytest.param(release, rule, which, number, id=f"{release}-{rule.id}-{which}-{number}")
    for release in RELEASES
    for rule in GATEWAY_RULES
    for which in ("fails", "passes")
    for number, text in enumerate(examples(rule, which))
    if there_was(text, release)
]
REFUSED_ONCE: Final = {
    "1.0-gateway-listener-tls-fails-0": "tls must be specified for protocols ['HTTPS', 'TLS']",
    "1.3-gateway-field-pruned-fails-0": 'unknown field "spec.targetRef", unknown field "spec.tls"',
}
"""What one release refuses and later ones do not, or with other words."""


@pytest.fixture(scope="module")
def formers(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Formers]:
    """Control planes with the definitions of one release each, and no other; one at a time."""
    running = Formers(tmp_path_factory)
    with running.stack:
        yield running


@dataclass
class Formers:
    """The release that runs now, and how another is started in its place."""

    directories: pytest.TempPathFactory
    stack: ExitStack = field(default_factory=ExitStack)
    running: dict[str, ControlPlane] = field(default_factory=dict)

    def of(self, release: str) -> ControlPlane:
        if release not in self.running:
            self.stack.close()
            which = f"gateway-{release}" if release != CURRENT else CURRENT
            found = self.stack.enter_context(control_plane(assets.programs(), self.directories.mktemp(which)))
            Writer(found.admin).define(definitions_of(which))
            self.running = {release: found}
        return self.running[release]


@pytest.mark.parametrize(("release", "rule", "which", "number"), EXAMPLES)
async def test_an_example_is_judged_likewise(
    formers: Formers,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    release: str,
    rule: ObjectRule,
    which: str,
    number: int,
) -> None:
    former = formers.of(release)
    name = request.node.callspec.id
    text = in_release(examples(rule, which)[number], release)
    found, given = linted(tmp_path, text, [rule])
    with written(Writer(former.admin), objects_of(tmp_path)) as refused:
        snapshot = await snapshot_of(former, tmp_path, rule, PRUNED)
    if refused.endswith('unknown field "spec.tls"'):
        # The API server drops it where it is not told to be strict, and lint says so.
        pruned = lint(declared(given, snapshot), [PRUNED])
        assert any("the API server removes" in message for _, message in failures(pruned))
        return
    example = name.partition("-")[2]
    if refused:
        assert which == "fails"
        assert {**REFUSED, example: REFUSED_ONCE.get(name, REFUSED.get(example, "not expected"))}[example] in refused
        return
    there = failures(lint(declared(None, snapshot), [rule]))
    assert (failures(found) != there) == (example in OTHERWISE), failures(found) ^ there
    if which == "passes":
        assert there == set()


def listening(listener: str) -> str:
    head = f"apiVersion: {_GROUP}/v1\nkind: Gateway\nmetadata: {{name: edge, namespace: shop}}\n"
    return f"{head}spec:\n  gatewayClassName: example\n  listeners:\n  - {{name: a, port: 443, {listener}}}\n"


def policy(version: str, targets: str, rest: str) -> str:
    head = f"apiVersion: {_GROUP}/{version}\nkind: BackendTLSPolicy\nmetadata: {{name: web, namespace: shop}}\n"
    return f"{head}spec: {{{targets}, {rest}}}\n"


def tls_route(version: str, rest: str) -> str:
    head = f"apiVersion: {_GROUP}/{version}\nkind: TLSRoute\nmetadata: {{name: web, namespace: shop}}\n"
    return f"{head}spec: {{{rest}rules: [{{backendRefs: [{{name: web, port: 443}}]}}]}}\n"


OLD, NEW = (
    "targetRef: {group: '', kind: Service, name: web}",
    "targetRefs: [{group: '', kind: Service, name: web}]",
)
REFUSED_BY: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "TLS without tls": (listening("protocol: TLS"), ("1.0", CURRENT)),
    "TLS without mode": (listening("protocol: TLS, tls: {certificateRefs: [{name: a}]}"), ()),
    "HTTPS without tls": (listening("protocol: HTTPS"), ("1.0",)),
    "HTTPS, Passthrough": (listening("protocol: HTTPS, tls: {mode: Passthrough}"), ("1.3", "1.4", CURRENT)),
    "Terminate without certificate": (listening("protocol: HTTPS, tls: {mode: Terminate}"), (*RELEASES, CURRENT)),
    "TCP with tls": (listening("protocol: TCP, tls: {certificateRefs: [{name: a}]}"), (*RELEASES, CURRENT)),
    "TCP with hostname": (listening("protocol: TCP, hostname: a.example"), (*RELEASES, CURRENT)),
    "no CA, v1alpha2": (policy("v1alpha2", OLD, "tls: {hostname: a.example}"), ("1.0",)),
    "wildcard, v1alpha2": (policy("v1alpha2", OLD, "tls: {hostname: '*.example', wellKnownCACerts: System}"), ("1.0",)),
    "no hostnames, v1alpha2": (tls_route("v1alpha2", ""), ()),
    "an address, v1alpha2": (tls_route("v1alpha2", "hostnames: [192.0.2.1], "), ()),
    "no hostnames, v1": (tls_route("v1", ""), (CURRENT,)),
    "an address, v1": (tls_route("v1", "hostnames: [192.0.2.1], "), (CURRENT,)),
    "no CA, v1alpha3": (policy("v1alpha3", NEW, "validation: {hostname: a.example}"), ("1.3", "1.4", CURRENT)),
}
"""What lint says something of, and which releases do not take it."""


@pytest.mark.parametrize("release", [*RELEASES, CURRENT])
def test_lint_says_refused_of_what_the_release_refuses(formers: Formers, tmp_path: Path, release: str) -> None:
    """What a release takes that a later one refuses, lint says with the release, or not as a refusal at all."""
    writer, refusing = Writer(formers.of(release).admin), set()
    had = {
        name: text
        for name, (text, _) in REFUSED_BY.items()
        if there_was(text, release) and text == (text if release == CURRENT else in_release(text, release))
    }
    for name, text in had.items():
        found, _ = linted(tmp_path, text, RULES)
        with written(writer, objects_of(tmp_path)) as refused:
            messages = [message for _, message in failures(found)]
            assert messages, name
            if refused:
                refusing.add(name)
            else:
                assert not [each for each in messages if "refuse" in each and "release" not in each], name
    assert refusing == {name for name, (_, releases) in REFUSED_BY.items() if release in releases}


def test_the_tables_name_examples() -> None:
    assert set(REFUSED_ONCE) <= {each.id for each in EXAMPLES}
    assert {f"{release}-{each}" for release in RELEASES for each in ONLY_FORMER} & {each.id for each in EXAMPLES}
