"""What lint says of a Gateway's listeners, against the conditions that Contour gives them as its controller."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from scanner.lint import lint
from scanner.lint.gateway import GATEWAY_RULES
from scanner.lint.gateway.certificate_refs import CERTIFICATE_REF, NOT_GRANTED
from scanner.linting import declared
from tests.e2e import assets
from tests.e2e.conftest import definitions_of
from tests.e2e.contour import NAMESPACE, contour, controller, made, namespaces
from tests.e2e.control_plane import ControlPlane, control_plane
from tests.e2e.judging import objects_in, snapshot_of
from tests.e2e.writing import Object, Writer

_LISTENER = re.compile(r"spec\.listeners\[(\d+)\]")
GATEWAY = f"""
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {{name: edge, namespace: {NAMESPACE}}}
spec:
  gatewayClassName: contour
  listeners:
"""
TOLD = f"gateway: {{gatewayRef: {{namespace: {NAMESPACE}, name: edge}}}}"


class Listener(NamedTuple):
    """One of the Gateway's."""

    tls: str
    """YAML of ``tls``."""
    reasons: str = ""
    """Of its conditions that are not as they should be; none: all is well."""
    rules: str = ""
    """That fail it."""
    protocol: str = "HTTPS"


LISTENERS = {
    "own": Listener("{certificateRefs: [{name: own}]}"),
    "missing": Listener("{certificateRefs: [{name: none}]}", "InvalidCertificateRef", "gateway-certificate-ref"),
    "other-kind": Listener(
        "{certificateRefs: [{kind: ConfigMap, name: own}]}", "InvalidCertificateRef", "gateway-certificate-ref"
    ),
    "other-group": Listener(
        "{certificateRefs: [{group: example.com, name: own}]}", "InvalidCertificateRef", "gateway-certificate-ref"
    ),
    "no-pair": Listener("{certificateRefs: [{name: public}]}", "InvalidCertificateRef", "gateway-certificate-ref"),
    "not-granted": Listener(
        "{certificateRefs: [{name: wild, namespace: certs}]}", "RefNotPermitted", "gateway-certificate-grant"
    ),
    "granted": Listener("{certificateRefs: [{name: granted, namespace: certs}]}"),
    "passed": Listener("{mode: Passthrough}", protocol="TLS"),
    # Contour is content where the Gateway API, or Envoy, is not:
    "opaque": Listener("{certificateRefs: [{name: opaque}]}", "", "gateway-certificate-ref"),
    "other-key": Listener("{certificateRefs: [{name: mixed}]}", "", "gateway-certificate-ref"),
}
SURROUNDINGS = """
{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: contour},
 spec: {controllerName: projectcontour.io/gateway-controller}}
---
apiVersion: v1
kind: Secret
metadata: {name: own, namespace: projectcontour}
type: kubernetes.io/tls
data: {tls.crt: "CERTIFICATE(*.example.com)", tls.key: "KEY(*.example.com)"}
---
apiVersion: v1
kind: Secret
metadata: {name: public, namespace: projectcontour}
type: Opaque
stringData: {ca.crt: CA(clients)}
---
apiVersion: v1
kind: Secret
metadata: {name: opaque, namespace: projectcontour}
type: Opaque
data: {tls.crt: "CERTIFICATE(*.example.com)", tls.key: "KEY(*.example.com)"}
---
apiVersion: v1
kind: Secret
metadata: {name: mixed, namespace: projectcontour}
type: kubernetes.io/tls
data: {tls.crt: "CERTIFICATE(*.example.com)", tls.key: "KEY(blog.example.com)"}
---
apiVersion: v1
kind: Secret
metadata: {name: wild, namespace: certs}
type: kubernetes.io/tls
data: {tls.crt: "CERTIFICATE(*.example.com)", tls.key: "KEY(*.example.com)"}
---
apiVersion: v1
kind: Secret
metadata: {name: granted, namespace: certs}
type: kubernetes.io/tls
data: {tls.crt: "CERTIFICATE(*.example.com)", tls.key: "KEY(*.example.com)"}
---
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {name: edge, namespace: certs}
spec:
  from: [{group: gateway.networking.k8s.io, kind: Gateway, namespace: projectcontour}]
  to: [{group: "", kind: Secret, name: granted}]
"""


@pytest.fixture(scope="module")
def defined(
    plane: ControlPlane, definitions: list[Object], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlPlane]:
    """A control plane with Contour's definitions and the Gateway API of the release that this Contour is made for."""
    directory = tmp_path_factory.mktemp("gateway")
    with control_plane(assets.programs(), directory) as running:
        writer = Writer(running.admin)
        mine = [each for each in definitions if each["spec"]["group"] == "projectcontour.io"]
        writer.define([*mine, *definitions_of("gateway-1.3")])
        namespaces(writer, NAMESPACE, "certs")
        for each in objects_in(directory, SURROUNDINGS):
            writer.create(each)
        yield running


async def test_contour_resolves_what_lint_says_it_does(defined: ControlPlane, tmp_path: Path) -> None:
    """Listener by listener: why its references are not resolved, and which of the rules on references fail it."""
    listeners = "".join(
        f"  - {{name: {name}, port: 8443, protocol: {each.protocol}, hostname: {name}.example.com, tls: {each.tls}}}\n"
        for name, each in LISTENERS.items()
    )
    writer = Writer(defined.admin)
    created = made(writer, *objects_in(tmp_path, GATEWAY + listeners))
    with created as (edge,), contour(controller(), defined, tmp_path, TOLD) as running:
        running.until(lambda: len(running.read(edge).get("status", {}).get("listeners", ())) == len(LISTENERS))
        status = running.read(edge)["status"]["listeners"]
        snapshot = await snapshot_of(defined, tmp_path, *GATEWAY_RULES)
    assert {each["name"]: reasons(each) for each in status} == {
        name: set(each.reasons.split()) for name, each in LISTENERS.items()
    }
    failing: dict[str, set[str]] = {name: set() for name in LISTENERS}
    for one in lint(declared(None, snapshot), [CERTIFICATE_REF, NOT_GRANTED]):
        for each in one.findings:
            failing[list(LISTENERS)[int(_LISTENER.findall(str(each.finding.about))[0])]].add(each.finding.rule)
    assert failing == {name: set(each.rules.split()) for name, each in LISTENERS.items()}


def reasons(listener: Object) -> set[str]:
    """That it is not programmed follows from the others."""
    conditions = (each for each in listener["conditions"] if each["type"] != "Programmed")
    return {each["reason"] for each in conditions if each["status"] != "True"}
