"""Lint beside other projects' own tests and examples: the conditions that they expect are predicted, and nothing of
theirs that is valid fails without a reason that stands here. The numbers are those of ``docs/accuracy.md``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.e2e import assets, upstream
from tests.e2e import test_gateway_conformance as conformance
from tests.e2e.upstream import Case, Condition

DOCUMENT: Final = Path(__file__).parents[2] / "docs" / "accuracy.md"
FAILING: Final = ("critical", "high", "medium")
"""Severities that make the exit code 1 where no option says otherwise."""
LEAST: Final = 0.98
"""Of the expected conditions."""

_CONFLICT: Final = frozenset({"gateway-listener-conflict"})
_ATTACHMENT: Final = frozenset({"gateway-route-attachment"})
_SERVED: Final = frozenset({"gateway-certificate-ref"})
_GRANT: Final = frozenset({"gateway-certificate-grant"})
_AUTHORITY: Final = frozenset({"gateway-client-ca", "backend-tls-ca"})
_IDENTITY: Final = frozenset({"gateway-client-certificate"})
_POLICY: Final = frozenset({"backend-tls-target"})
_OVERLAP: Final = frozenset({"gateway-overlapping-tls-config"})
_PROTOCOL: Final = frozenset({"field-value", "gateway-listener-tls"})
TELLING: Final = {
    ("Conflicted", "HostnameConflict"): _CONFLICT,
    ("Conflicted", "ProtocolConflict"): _CONFLICT,
    ("ResolvedRefs", "InvalidCertificateRef"): _SERVED,
    ("ResolvedRefs", "PartiallyInvalidCertificateRef"): _SERVED,
    ("ResolvedRefs", "RefNotPermitted"): _GRANT,
    ("ResolvedRefs", "InvalidClientCertificateRef"): _IDENTITY,
    ("ResolvedRefs", "InvalidCACertificateRef"): _AUTHORITY,
    ("ResolvedRefs", "InvalidCACertificateKind"): _AUTHORITY,
    ("Accepted", "NoValidCACertificate"): _AUTHORITY | _GRANT,
    ("ResolvedRefs", "InvalidKind"): _AUTHORITY,
    ("ResolvedRefs", "InvalidRouteKinds"): frozenset({"gateway-route-kinds"}),
    ("Accepted", "UnsupportedProtocol"): _PROTOCOL,
    ("Accepted", "NoMatchingParent"): _ATTACHMENT,
    ("Accepted", "NoMatchingListenerHostname"): _ATTACHMENT,
    ("Accepted", "NotAllowedByListeners"): _ATTACHMENT,
    ("Accepted", "NotAllowed"): frozenset({"listener-set-admitted"}),
    ("Accepted", "Conflicted"): _POLICY,
    ("Accepted", "TargetNotFound"): _POLICY,
    ("OverlappingTLSConfig", "OverlappingHostnames"): _OVERLAP,
    ("OverlappingTLSConfig", "OverlappingCertificates"): _OVERLAP,
    ("InsecureFrontendValidationMode", "ConfigurationChanged"): frozenset({"gateway-insecure-fallback"}),
}
"""By type and reason of a condition, the rules that predict it."""
HOLDERS: Final = frozenset({"Gateway", "ListenerSet", "XListenerSet"})
ROUTES: Final = frozenset({"HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute"})
COMPARED: Final = HOLDERS | ROUTES | {"BackendTLSPolicy"}
"""Kinds of the Gateway API on which lint has rules."""
NOT_TLS: Final = frozenset(
    {
        *("BackendNotFound", "InvalidAddress", "InvalidBackendFilters,UnsupportedValue", "InvalidBackendRef"),
        *("PortNotFound", "PortNotSpecified", "UnsupportedAddressType", "UnsupportedRefValue", "InvalidRule"),
        *("UnsupportedValue", "InvalidParameters", "UnsupportedAddress", "AddressNotUsable", "IgnoredByIstio"),
        *("InvalidBackendTLS", "SDSCertificateOpaque", "UnsupportedTLSMode"),
        # Of an object as a whole, where something in it is refused for a reason of its own.
        *("Invalid", "ListenersNotValid", "ListenerConflict"),
    }
)
"""Reasons at which no rule on TLS looks: where a route leads to, addresses, an implementation's own settings."""
NOT_COMPARED: Final = {
    "backendtrafficpolicy-status-conditions": "the input has no Namespace, without which the program allows no route",
    "envoyextensionpolicy-status-conditions": "the input has no Namespace, without which the program allows no route",
    "tlsroute-invalid-reference-grant": "the input has no Namespace, without which the program allows no route",
    "backend-tls-policy": "ServiceEntry is a kind of Istio",
    "east-west-ambient": "which protocols a waypoint accepts is Istio's",
    "waypoint": "which protocols a waypoint accepts is Istio's",
    "invalid": "Istio accepts no UDP, and ServiceEntry is a kind of Istio",
}
"""Cases with conditions that follow from the test's own input, or from what an implementation leaves out or adds. What
is predicted of them is compared all the same."""
_NO_GATEWAY: Final = "a parent of which the input has no object or no listener, and the status says nothing"
CONTRADICTED: Final = {
    ("backend-tls-policy-ignored", "backend-tls-target"): "an annotation of Istio takes the older policy out",
    ("mix-backend-policy", "backend-tls-target"): "Istio accepts both; which one counts is not defined",
    (
        "backendtlspolicy-across-ns",
        "backend-tls-target",
    ): "the target is in another namespace",
    ("eastwest-remote", "gateway-route-attachment"): _NO_GATEWAY,
    ("status", "gateway-route-attachment"): _NO_GATEWAY,
    ("listenerset-overlapping-port", "gateway-listener-tls"): "an HTTPS listener without tls, which Istio lets pass",
    ("gateway-http-listener-with-hostname-intersection", "gateway-route-attachment"): "one of two hostnames is served",
    ("gateway-with-listener-with-invalid-tls-configuration-invalid-mode", "gateway-route-attachment"): (
        "HTTPS in mode Passthrough, which the API server refuses"
    ),
}
"""By case and rule: why a rule that predicts conditions fails what the expected status accepts."""
RISKS: Final = {
    "backend-tls-ca": "the CA in the input expired in 2024, or stands under a key that the API does not define",
    "backend-tls-validation": "the API server refuses it",
    "field-type": "the API server refuses it",
    "field-value": "the API server refuses it",
    "gateway-backend-protocol": "the backend's port says TLS, and the Gateway speaks plaintext to it",
    "gateway-certificate-fault": "the certificate in the input is a self-signed CA",
    "gateway-certificate-name": "clients refuse the certificate for this name",
    "gateway-client-ca": "the CA in the input is no PEM",
    "gateway-client-certificate": "the certificate in the input is for servers, or a CA",
    "gateway-listener-refused": "the API server refuses it",
    "gateway-plaintext-backend": "TLS ends at the Gateway, and the way to the backend is plaintext",
    "gateway-plaintext-twin": "the same host is served in plaintext",
    "gateway-port-exempted": "a port is exempted from the validation of client certificates",
}
"""Rules on what no condition describes, which fail objects that the expected status accepts, and why that is right."""
WANTED: Final = {
    ("gateway-api/standard/tls-cert-cross-namespace.yaml", "reference-grant-broad"): "grants every Secret",
    ("contour/example-workload/httpproxy/03-routes/httpproxy-tls-permitinsecure.yaml", "contour-plaintext"): (
        "the example shows how to serve a route in plaintext"
    ),
    ("contour-site/authdemo/04-extensionservice.yaml", "contour-extension-service"): "the certificate is not verified",
}
"""By example and rule: why the finding on an example that its project calls valid is one that its reader wants."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What came of one project's tests."""

    cases: int
    conditions: int
    """Those that are compared."""
    left_out: int
    """Those of cases in ``NOT_COMPARED`` that are not predicted."""
    missed: list[Condition]
    contradicted: list[tuple[str, str, str]]
    """Case, rule and object of what fails though the expected status accepts it."""
    unknown: set[tuple[str, str, str]]
    """Kind, type and reason that no table here has."""


TESTS: Final[dict[str, tuple[str, Callable[[Path], Iterator[Case]]]]] = {
    "Envoy Gateway": ("envoy-gateway-tests", upstream.envoy_gateway),
    "Istio": ("istio-tests", upstream.istio),
}
EXAMPLES: Final = {
    "Gateway API": ("gateway-api",),
    "Envoy Gateway": ("envoy-gateway",),
    "Istio": ("istio",),
    "Contour": ("contour", "contour-site"),
}
MODULES: Final = {
    "Gateway API conformance": "sigs.k8s.io/gateway-api/conformance",
    "Envoy Gateway": "github.com/envoyproxy/gateway",
    "Istio": "istio.io/istio",
}


@pytest.fixture(scope="module")
def suites() -> Path:
    """Other projects' files."""
    try:
        return assets.suites()
    except assets.Missing as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def compared(suites: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Compared]:
    """By project."""
    directory = tmp_path_factory.mktemp("accuracy")
    return {name: compare(list(read(suites / below)), directory) for name, (below, read) in TESTS.items()}


def compare(cases: list[Case], directory: Path) -> Compared:
    count, left_out, missed, contradicted, unknown = 0, 0, [], [], set()
    for case in cases:
        found = upstream.judged(case, directory)
        refused = set()
        for each in upstream.conditions(case):
            refused.add((each.kind, each.namespace, each.name))
            if is_compared(each):
                told = upstream.tells(each, found, TELLING[each.type, each.reason])
                if not told and case.name in NOT_COMPARED:
                    left_out += 1
                    continue
                count += 1
                missed += [] if told else [each]
            elif each.kind in COMPARED and each.reason not in NOT_TLS | {reason for _, reason in TELLING}:
                unknown.add((each.kind, each.type, each.reason))
        accepted = {upstream.key(each) for each in case.expected if each.get("status")} - refused
        contradicted += [
            (case.name, placed.finding.rule, "/".join(thing))
            for thing, placed in upstream.failures(found)
            if thing in accepted and placed.finding.severity in FAILING
        ]
    return Compared(
        cases=len(cases), conditions=count, left_out=left_out, missed=missed, contradicted=contradicted, unknown=unknown
    )


def is_compared(each: Condition) -> bool:
    """Whether lint has a rule for it. Of a route, ``RefNotPermitted`` and ``InvalidKind`` are about backends, and on a
    listener that was refused for its certificates ``Accepted`` repeats it."""
    if each.kind in ROUTES and each.type == "ResolvedRefs":
        return False
    return each.kind in COMPARED and (each.type, each.reason) in TELLING


@pytest.mark.parametrize("project", TESTS)
def test_expected_conditions_are_predicted(compared: dict[str, Compared], project: str) -> None:
    found = compared[project]
    assert found.unknown == set()
    assert [str(each) for each in found.missed] == []


def test_of_all_expected_conditions_few_are_missed(compared: dict[str, Compared]) -> None:
    count = sum(each.conditions for each in compared.values()) + sum(len(rows(name)) for name in conformance.REFUSED)
    missed = sum(len(each.missed) for each in compared.values())
    assert (count - missed) / count >= LEAST


@pytest.mark.parametrize("project", TESTS)
def test_nothing_fails_that_the_expected_status_accepts(compared: dict[str, Compared], project: str) -> None:
    wrong = [each for each in compared[project].contradicted if each[1] not in RISKS and each[:2] not in CONTRADICTED]
    assert wrong == []


def rows(name: str) -> list[str]:
    return [row for row in conformance.REFUSED.get(name, "").strip().splitlines() if row.strip()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What came of one project's examples."""

    files: int
    objects: int
    failing: frozenset[tuple[str, str]]
    """Example and rule of everything that fails by default."""


@pytest.fixture(scope="module")
def examples(suites: Path) -> dict[str, Shown]:
    """By the directory that they are kept in."""
    return {below: shown(suites, below) for several in EXAMPLES.values() for below in several}


def shown(suites: Path, below: str) -> Shown:
    files, objects, failing = sorted((suites / below).rglob("*.yaml")), 0, set()
    for file in files:
        found = upstream.linted(file)
        objects += len(found)
        fails = [placed.finding for _, placed in upstream.failures(found)]
        failing |= {(str(file.relative_to(suites)), each.rule) for each in fails if each.severity in FAILING}
    return Shown(files=len(files), objects=objects, failing=frozenset(failing))


def test_valid_examples_do_not_fail(examples: dict[str, Shown]) -> None:
    assert {each for one in examples.values() for each in one.failing} == WANTED.keys()


# --- The document ----------------------------------------------------------------------------------------------------


def versions() -> dict[str, str]:
    """By module, as ``go.mod`` pins them."""
    return dict(re.findall(r"^\t(\S+) (v\S+)$", (assets.SUITES / "go.mod").read_text(), re.MULTILINE))


def table(head: str, every: Iterable[Iterable[object]]) -> str:
    lines = [head, re.sub("[^|]+", "---", head)]
    return "\n".join((*lines, *("| " + " | ".join(map(str, each)) + " |" for each in every)))


def of_tests(compared: dict[str, Compared]) -> str:
    """The table on tests, with its sum."""
    suite = sum(len(rows(name)) for name in conformance.REFUSED)
    tests = [("Gateway API conformance", len(conformance.REFUSED), suite, suite, 0)]
    tests += [
        (name, each.cases, each.conditions, each.conditions - len(each.missed), each.left_out)
        for name, each in compared.items()
    ]
    sums = [sum(int(each[column]) for each in tests) for column in range(1, 5)]
    total = (*sums[:2], f"{sums[2]} ({sums[2] / sums[1]:.1%})", sums[3])
    pinned = (versions()[MODULES[str(name)]] for name, *_ in tests)
    every = [(name, version, *rest) for (name, *rest), version in zip(tests, pinned, strict=True)]
    head = "| tests | version | cases | conditions | predicted | not compared |"
    return table(head, [*every, ("all", "", *total)])


def of_examples(examples: dict[str, Shown]) -> str:
    """The table on examples."""
    every = []
    for project, several in EXAMPLES.items():
        parts = [examples[below] for below in several]
        counts = [sum(part.files for part in parts), sum(part.objects for part in parts)]
        every.append((project, *counts, sum(len(part.failing) for part in parts)))
    return table("| examples | files | objects | failing findings |", every)


def test_the_document_has_these_numbers(compared: dict[str, Compared], examples: dict[str, Shown]) -> None:
    text = DOCUMENT.read_text()
    for expected in (of_tests(compared), of_examples(examples)):
        assert expected in text, f"{DOCUMENT} has to say:\n{expected}"


def test_the_document_has_the_reasons() -> None:
    text = " ".join(DOCUMENT.read_text().split())
    for name, rule in WANTED:
        assert f"`{name}` | `{rule}`" in text, name
