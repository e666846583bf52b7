"""Examples of lint's rules as objects of a real API server, and what lint says of them there."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from scanner.cluster import access, read
from scanner.files.yaml_values import documents
from scanner.kube.kinds import CONFIG_MAP, SECRET
from scanner.kube.snapshot import Snapshot, union
from scanner.lint import Linted
from scanner.linting import referred
from scanner.model.object_rule import ANY, ObjectRule
from tests.e2e.completing import completed
from tests.e2e.control_plane import ControlPlane
from tests.e2e.writing import CRD, Object, RefusedError, Writer
from tests.lint.examples import manifests

REFUSED: Final = {
    "gateway-listener-refused-fails-0": "tls must not be specified for protocols ['HTTP', 'TCP', 'UDP']",
    "gateway-field-pruned-fails-0": 'unknown field "spec.listeners[0].tls.frontendValidation"',
    "route-fields-fails-0": (
        "cannot have both spec.tls.termination: passthrough and spec.tls.insecureEdgeTerminationPolicy: Allow"
    ),
    "route-fields-fails-1": "cannot have both spec.tls.certificate and spec.tls.externalCertificate",
    "adherence-value-fails-0": 'spec.tlsAdherence: Unsupported value: "LegacyExternalAPIServerComponentsOnly"',
    "backend-tls-validation-fails-0": "must specify either CACertificateRefs or WellKnownCACertificates",
    "webhook-target-fails-0": "Invalid value: \"http\": 'https' is the only allowed URL scheme",
    "contour-ingress-slash-fails-0": 'spec.tls[0].secretName: Invalid value: "certificates/wildcard"',
    "probe-scheme-fails-1": 'Unsupported value: "https": supported values: "HTTP", "HTTPS"',
    "ingress-class-fails-0": "must match `ingressClassName` when both are specified",
    "field-unknown-fails-0": 'unknown field "spec.tlsSecurityProfil"',
    "field-unknown-fails-1": 'unknown field "spec.externalCertificate"',
    "field-unknown-fails-2": 'unknown field "spec.tls.frontendValidation"',
    "field-value-fails-0": 'spec.listeners[0].tls.mode: Unsupported value: "passthrough"',
    "field-type-fails-0": "spec.virtualhost.tls.minimumProtocolVersion in body must be of type string",
}
"""Examples that fail, and in the API server's words why it does not take them either."""
OTHERWISE: Final = {
    "gateway-insecure-fallback-fails-0": "no controller is here to say so in the status",
    "backend-tls-target-fails-0": "where there is a cluster, all its routes are there",
    "contour-fallback-certificate-fails-0": "where there is a cluster, all Contour's configuration is there",
    "reference-grant-unused-fails-0": "where there is a cluster, its namespaces are there",
    "private-key-exposed-fails-0": "ConfigMaps that nothing names are not read",
    "route-custom-host-fails-0": "who is to apply it is no matter of what is there",
    "gateway-status-fails-0": "generations are counted by the API server",
    "adherence-removed-fails-0": "what is there is not about to be applied",
}
"""Examples of which a cluster shows something else than manifests, and why."""
ONLY_FORMER: Final = {"gateway-field-pruned-passes-1"}
"""Examples of a version that no release of today serves."""
UNDEFINED: Final = {"cert-manager-certificate-fails-0", "cert-manager-certificate-passes-0"}
"""Examples with kinds of cert-manager, whose definitions are in no module that these tests fetch: the API server knows
no Certificate. Of a cluster a Certificate stands for nothing, so that there is nothing to compare either."""
_GONE_WITHIN: Final = 30.0
LAST: Final = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "APIService")
"""They would be called for what is created after them, or hide it."""


def objects_of(directory: Path) -> list[Any]:
    """Those of the example that was written there."""
    return list(documents((directory / "example.yaml").read_bytes(), "example"))


@contextmanager
def written(writer: Writer, objects: Iterable[Any]) -> Iterator[str]:
    """Create the objects, and delete them in the end; or why one of them was refused."""
    with ExitStack() as stack:
        refused = ""
        for item in sorted(map(completed, objects), key=lambda each: each["kind"] in LAST):
            namespace = item["metadata"].setdefault("namespace", "default")
            ensure(writer, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
            try:
                if item["kind"] == "Namespace":
                    ensure(writer, item)
                else:
                    stack.callback(gone, writer, item)
                    writer.create(item)
            except RefusedError as error:
                refused = error.response.json()["message"]
                break
        yield refused


def ensure(writer: Writer, namespace: Object) -> None:
    """Namespaces stay: nobody is here who would let them go."""
    if not writer.client.get(f"/api/v1/namespaces/{namespace['metadata']['name']}").is_success:
        writer.create(namespace)


def gone(writer: Writer, item: Object) -> None:
    """Also where it was refused, or only its status was."""
    with suppress(RefusedError):
        writer.delete(item)
    until = time.monotonic() + _GONE_WITHIN
    while item["kind"] == CRD[1] and writer.client.get(f"{writer.path(item)}/{item['metadata']['name']}").is_success:
        assert time.monotonic() < until, f"{item['metadata']['name']} stays"
        time.sleep(0.1)  # its objects go first


def objects_in(directory: Path, text: str) -> list[Object]:
    """Those of a text, with certificates where it has their names."""
    manifests(directory, text)
    return list(filter(None, objects_of(directory)))


async def snapshot_of(plane: ControlPlane, directory: Path, *rules: ObjectRule) -> Snapshot:
    """All that these rules look at."""
    reads = [kinds for rule in rules for kinds in (rule.subjects, rule.reads)]
    kinds = [kind for kind in union((*reads, (SECRET, CONFIG_MAP))) if kind != ANY]
    kubeconfig = plane.kubeconfig(directory / "kubeconfig", {"token": plane.tokens["admin"]})
    return await read(
        access(str(kubeconfig)),
        kinds,
        secrets=partial(referred, None, SECRET),
        config_maps=partial(referred, None, CONFIG_MAP),
        permitted={"lint", "secrets"},
    )


def failures(found: Iterable[Linted]) -> set[tuple[str, str]]:
    return {
        (each.finding.about or "", each.finding.message)
        for one in found
        for each in one.findings
        if each.finding.verdict == "fail"
    }
