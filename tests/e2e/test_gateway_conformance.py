"""The Gateway API's own conformance tests as a witness of lint: what their authors want refused fails here too, and
what they want taken does not, but for the risks that adhere names and no implementation refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from scanner.cluster.lint_input import read_manifests
from scanner.lint import READS, RULES, Linted, lint
from scanner.linting import declared
from tests.e2e import assets
from tests.e2e.writing import Object
from tests.lint.examples import authority, empty, leaf

INFRA, APP, WEB = (f"gateway-conformance-{name}" for name in ("infra", "app-backend", "web-backend"))

REFUSED = {
    "backendtlspolicy-conflict-resolution": """
        conflicted-without-section-name-2 backend-tls-target Conflicted
        conflicted-with-section-name-2 backend-tls-target Conflicted
    """,
    "backendtlspolicy-invalid-ca-certificate-ref": """
        malformed-ca-certificate-ref backend-tls-ca InvalidCACertificateRef
        nonexistent-ca-certificate-ref backend-tls-ca InvalidCACertificateRef
    """,
    "backendtlspolicy-invalid-kind": "invalid-kind backend-tls-ca InvalidKind",
    "gateway-invalid-default-frontend-client-certificate-validation": """
        invalid-default-client-validation-config gateway-client-ca InvalidCACertificateRef
    """,
    "gateway-invalid-listeners-unsupported-protocol": """
        gateway-only-unsupported-protocols field-value UnsupportedProtocol
        gateway-supported-and-unsupported-protocols field-value UnsupportedProtocol
    """,
    "gateway-invalid-route-kind": """
        gateway-only-invalid-route-kind gateway-route-kinds InvalidRouteKinds
        gateway-supported-and-invalid-route-kind gateway-route-kinds InvalidRouteKinds
    """,
    "gateway-invalid-tls-backend-configuration": """
        gateway-client-certificate-missing-reference-grant gateway-certificate-grant RefNotPermitted
        gateway-client-certificate-nonexistent-secret gateway-client-certificate InvalidClientCertificateRef
        gateway-client-certificate-unsupported-group gateway-client-certificate InvalidClientCertificateRef
        gateway-client-certificate-unsupported-kind gateway-client-certificate InvalidClientCertificateRef
        gateway-client-certificate-malformed-secret gateway-client-certificate InvalidClientCertificateRef
    """,
    "gateway-invalid-tls-configuration": """
        gateway-certificate-nonexistent-secret gateway-certificate-ref InvalidCertificateRef
        gateway-certificate-unsupported-group gateway-certificate-ref InvalidCertificateRef
        gateway-certificate-unsupported-kind gateway-certificate-ref InvalidCertificateRef
        gateway-certificate-malformed-secret gateway-certificate-ref InvalidCertificateRef
    """,
    "gateway-secret-invalid-reference-grant": """
        gateway-secret-invalid-reference-grant gateway-certificate-grant RefNotPermitted
    """,
    "gateway-secret-missing-reference-grant": """
        gateway-secret-missing-reference-grant gateway-certificate-grant RefNotPermitted
    """,
    "gateway-with-attached-routes": """
        unresolved-gateway-with-one-attached-unresolved-route gateway-certificate-ref ResolvedRefs
        http-route-not-accepted gateway-route-attachment NoMatchingListenerHostname
    """,
    "gateway-with-invalid-clientcertificate-validation": """
        gateway-with-invalid-client-cert-validation gateway-client-ca InvalidCACertificateRef
        gateway-with-invalid-client-cert-validation gateway-client-ca InvalidCACertificateKind
        gateway-with-invalid-client-cert-validation gateway-certificate-grant RefNotPermitted
    """,
    "httproute-disallowed-kind": "disallowed-kind gateway-route-attachment NotAllowedByListeners",
    "httproute-hostname-intersection": """
        no-intersecting-hosts gateway-route-attachment NoMatchingListenerHostname
    """,
    "httproute-invalid-cross-namespace-parent-ref": """
        invalid-cross-namespace-parent-ref gateway-route-attachment NotAllowedByListeners
    """,
    "httproute-invalid-parentref-not-matching-listener-port": """
        httproute-listener-not-matching-route-port gateway-route-attachment NoMatchingParent
    """,
    "httproute-invalid-parentref-not-matching-section-name": """
        httproute-listener-not-matching-section-name gateway-route-attachment NoMatchingParent
    """,
    "httproute-invalid-parentref-section-name-not-matching-port": """
        httproute-listener-section-name-not-matching-port gateway-route-attachment NoMatchingParent
    """,
    "listenerset-allowed-namespace-none": "listenerset-not-allowed listener-set-admitted NotAllowed",
    "listenerset-allowed-namespace-same": "listenerset-in-different-namespace listener-set-admitted NotAllowed",
    "listenerset-allowed-namespace-selector": """
        listenerset-not-in-selected-namespace listener-set-admitted NotAllowed
    """,
    "listenerset-allowed-routes-namespaces": """
        route-in-gateway-namespace gateway-route-attachment NotAllowedByListeners
    """,
    "listenerset-allowed-routes-supported-kinds": """
        listenerset-test-allowed-routes-supported-kinds gateway-route-kinds InvalidRouteKinds
    """,
    "listenerset-default-not-allowed": "listenerset-default-not-allowed listener-set-admitted NotAllowed",
    "listenerset-dual-parentref-independence": "route-dual-parentref-one gateway-route-attachment NoMatchingParent",
    "listenerset-gateway-parent-section-name-not-found": "route-via-gateway gateway-route-attachment NoMatchingParent",
    "listenerset-hostname-conflict": """
        listenerset-with-hostname-conflict-with-gateway-1 gateway-listener-conflict HostnameConflict
        listenerset-with-hostname-conflict-with-gateway-2 gateway-listener-conflict HostnameConflict
        listenerset-with-hostname-conflict-with-listener-set-1 gateway-listener-conflict HostnameConflict
        listenerset-with-hostname-conflict-with-listener-set-2 gateway-listener-conflict HostnameConflict
    """,
    "listenerset-protocol-conflict": """
        listenerset-with-protocol-conflict-with-gateway-1 gateway-listener-conflict ProtocolConflict
        listenerset-with-protocol-conflict-with-gateway-2 gateway-listener-conflict ProtocolConflict
        listenerset-with-protocol-conflict-with-listener-set-1 gateway-listener-conflict ProtocolConflict
        listenerset-with-protocol-conflict-with-listener-set-2 gateway-listener-conflict ProtocolConflict
    """,
    "listenerset-reference-grant": """
        listenerset-without-reference-grant gateway-certificate-grant RefNotPermitted
    """,
    "tcproute-invalid-non-tcp-listener": "tcp-route gateway-route-attachment NotAllowedByListeners",
    "tlsroute-invalid-no-matching-listener-hostname": """
        tlsroute-hostname-mismatch-1 gateway-route-attachment NoMatchingListenerHostname
        tlsroute-hostname-mismatch-2 gateway-route-attachment NoMatchingListenerHostname
    """,
    "tlsroute-invalid-no-matching-listener": """
        tlsroute-not-allowed-protocol-http gateway-route-attachment NotAllowedByListeners
        tlsroute-not-allowed-protocol-https gateway-route-attachment NotAllowedByListeners
        tlsroute-no-matching-section-name gateway-route-attachment NoMatchingParent
    """,
    "tlsroute-listener-mixed-termination-not-supported": """
        gateway-tlsroute-mixed-termination-not-supported gateway-listener-conflict ProtocolConflict
    """,
    "tlsroute-listener-passthrough-supported-kinds": """
        gateway-tlsroute-passthrough-supported-kind gateway-route-kinds InvalidRouteKinds
    """,
    "udproute-not-allowed-by-listeners": """
        udproute-not-allowed-by-listeners gateway-route-attachment NotAllowedByListeners
    """,
}
"""By manifest: the objects that the test wants refused, by which rule lint says so, and the condition's reason."""
NOT_TLS = {
    "backendtlspolicy": "refused after the test has emptied a ConfigMap that it makes itself",
    "gateway-invalid-parameters-ref": "what an implementation is parametrised by",
    "gateway-static-addresses": "addresses",
    "httproute-invalid-backendref-unknown-kind": "where a route leads to",
    "httproute-invalid-cross-namespace-backend-ref": "where a route leads to",
    "httproute-invalid-nonexistent-backendref": "where a route leads to",
    "httproute-invalid-reference-grant": "where a route leads to",
    "httproute-partially-invalid-via-invalid-reference-grant": "where a route leads to",
    "tcproute-invalid-backendref-nonexistent": "where a route leads to",
    "tcproute-invalid-cross-namespace-backend-ref": "where a route leads to",
    "tcproute-reference-grant": "where a route leads to",
    "tlsroute-invalid-backendref-nonexistent": "where a route leads to",
    "tlsroute-invalid-backendref-unknown-kind": "where a route leads to",
    "tlsroute-invalid-reference-grant": "where a route leads to",
    "tlsroute-listener-terminate-not-supported": "what an implementation leaves out",
    "udproute-invalid-backendref-nonexistent": "there is no TLS over UDP",
    "udproute-invalid-cross-namespace-backend-ref": "there is no TLS over UDP",
    "udproute-reference-grant": "there is no TLS over UDP",
}
"""Refused for what no rule on TLS looks at."""
RISKS = {
    "backend-tls-names",
    "gateway-certificate-name",  # the suite makes certificates for fewer names than its listeners have
    "gateway-client-certificate-unused",
    "gateway-insecure-fallback",
    "gateway-plaintext-backend",
    "gateway-plaintext-twin",
    "gateway-port-unused",
    "reference-grant-broad",
    "reference-grant-unused",
}
"""What conforms and fails in lint: nobody refuses it, and it is a risk all the same."""
BESIDES = {
    ("gateway-http-listener-isolation-with-hostname-intersection", "gateway-route-attachment"): "by other hostnames",
    ("httproute-hostname-intersection", "gateway-route-attachment"): "by other hostnames",
    ("tlsroute-mixed-termination-same-namespace", "gateway-listener-conflict"): "some implementations reject both",
    ("gateway-invalid-tls-backend-configuration", "gateway-client-certificate"): "a server's certificate for a client",
    ("gateway-with-invalid-clientcertificate-validation", "gateway-route-attachment"): "for a Gateway that is nowhere",
}
"""What fails in lint and is taken, or is not looked at, in one manifest, and why."""


REFUSING = {"field-value", "field-type", "gateway-listener-refused"}
"""Rules on what an API server refuses."""
ABOUT = ("gateway", "referencegrant", "tlsroute")
"""Routes of other kinds are refused for their rules, at which lint does not look."""
NO_RULE = {"gateway-invalid-addresses", "gatewayclass-invalid-controller"}
"""Refused examples, neither of which is about TLS."""


def secret(namespace: str, name: str, names: str, *, client: bool = False) -> Object:
    made = leaf(names, client=client)
    data = {"tls.crt": made.pem.decode(), "tls.key": made.key_pem.decode()}
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": metadata, "stringData": data}


def bundle(namespace: str, name: str) -> Object:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"ca.crt": authority().pem.decode()}}


MADE = [
    secret(WEB, "certificate", "*"),
    secret(INFRA, "tls-validity-checks-certificate", "*,*.org,*.wildcard.org"),
    secret(INFRA, "tls-validity-checks-client-certificate", "client", client=True),
    secret(INFRA, "tls-validity-checks-per-port-client-certificate", "client", client=True),
    secret(INFRA, "tls-checks-certificate", "abc.example.com,other.example.com"),
    secret(INFRA, "tls-checks-client-certificate", "client", client=True),
    secret(INFRA, "tls-passthrough-checks-certificate", "abc.example.com"),
    secret(APP, "tls-passthrough-checks-certificate", "abc.example.com"),
    secret(INFRA, "tls-terminate-checks-certificate", "tls.example.com"),
    bundle(WEB, "web-backend-cm"),
    bundle(INFRA, "tls-validity-checks-ca-certificate"),
    bundle(INFRA, "tls-validity-checks-per-port-ca-certificate"),
    bundle(INFRA, "tls-checks-ca-certificate"),
    bundle(INFRA, "mismatch-ca-certificate"),
]
"""What the suite makes in Go before it begins (``conformance/utils/suite``)."""


@pytest.fixture(scope="module")
def suite() -> Path:
    """Its ``tests`` and ``base``."""
    try:
        return assets.suites()
    except assets.Missing as missing:
        pytest.skip(str(missing))


def judged(suite: Path, manifest: Path, directory: Path) -> list[Linted]:
    """What lint says of the manifest, in a cluster that has what the suite puts into it and nothing else."""
    made = directory / "made.yaml"
    made.write_text("\n---\n".join(map(json.dumps, MADE)), encoding="utf-8")
    given = read_manifests([str(each) for each in (suite / "base/manifests.yaml", made, manifest)], READS)
    assert not given.bad
    found = ((each.subject.place(), each) for each in lint(declared(given, empty()), RULES))
    return [each for place, each in found if place and place.file == str(manifest)]


def failed(found: list[Linted]) -> Iterator[tuple[str, str]]:
    """(object, rule) of everything that fails, or that is undecided only because no cluster has it."""
    for each in found:
        for placed in each.findings:
            if placed.finding.verdict == "fail" or placed.unseen:
                yield each.subject.object.name, placed.finding.rule


def expected(name: str) -> set[tuple[str, str]]:
    return {(each.split()[0], each.split()[1]) for each in REFUSED.get(name, "").strip().splitlines() if each.strip()}


def test_what_the_conformance_tests_refuse_fails_and_nothing_else(suite: Path, tmp_path: Path) -> None:
    wrong, manifests = [], sorted((suite / "tests").glob("*.yaml"))
    for manifest in manifests:
        right, told = expected(manifest.stem), set(failed(judged(suite, manifest, tmp_path)))
        more = {each for each in told - right if each[1] not in RISKS and (manifest.stem, each[1]) not in BESIDES}
        wrong += [f"{manifest.stem}: {name} fails {rule}" for name, rule in sorted(more)]
        wrong += [f"{manifest.stem}: {name} passes {rule}" for name, rule in sorted(right - told)]
    assert wrong == []
    assert len(manifests) > 100


def test_what_the_definitions_are_said_to_refuse_fails(suite: Path, tmp_path: Path) -> None:
    examples = [each for each in (suite / "refused").iterdir() if each.stem.startswith(ABOUT)]
    told = {each.stem: {rule for _, rule in failed(judged(suite, each, tmp_path))} for each in examples}
    assert {name for name, rules in told.items() if not rules & REFUSING} == NO_RULE
    assert len(told) > 10


def test_every_refusal_of_the_conformance_tests_is_known(suite: Path) -> None:
    """A test of a later release that wants something refused has to be looked at."""
    refusing = {each.stem for each in (suite / "tests").glob("*.go") if re.search(r"ConditionFalse", each.read_text())}
    assert refusing == REFUSED.keys() | NOT_TLS.keys()


def test_the_reasons_are_those_of_the_conformance_tests(suite: Path) -> None:
    for name, rows in REFUSED.items():
        program = (suite / "tests" / f"{name}.go").read_text()
        for reason in {row.split()[2] for row in rows.strip().splitlines()}:
            assert reason in program, f"{name} wants no {reason}"
