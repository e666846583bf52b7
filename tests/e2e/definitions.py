"""Which CustomResourceDefinitions the lane has, and the modules that they are from.

Contour's of the time of IngressRoute are of ``apiextensions.k8s.io/v1beta1``, which API servers of today do not take:
their schemas are moved to where v1 has them, and nothing is added. One definition is from no module, because none ever
had it: ``contour.vmware.com`` stands in the design document of delegations alone, with the very fields that
``contour.heptio.com`` then shipped, and so it is the latter under the former's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

CRDS: Final = Path(__file__).parent / "crds"
CURRENT: Final = "current"
REPORTS: Final = "reports"

_Definition = dict[str, Any]
_GATEWAY: Final = "sigs.k8s.io/gateway-api"
_HYPERSHIFT: Final = "cmd/install/assets/crds/hypershift-operator/zz_generated.crd-manifests"
_CONTOUR: Final = "github.com/projectcontour/contour"
_ROUTES: Final = ("tlsroutes", "httproutes", "grpcroutes", "tcproutes")


def _as_it_is(documents: Iterable[Any]) -> Iterator[_Definition]:
    yield from filter(None, documents)


def _of_ingress_route(documents: Iterable[Any]) -> Iterator[_Definition]:
    """Those of Heptio's group, and one of them as the design document names it."""
    for each in filter(None, documents):
        if each["spec"]["group"] == "contour.heptio.com":
            yield _structural(each)
            if each["spec"]["names"]["kind"] == "TLSCertificateDelegation":
                yield _renamed(_structural(each), "contour.vmware.com", "v1")


def _structural(old: _Definition) -> _Definition:
    """A definition of v1beta1 in the shape of v1."""
    spec = old["spec"]
    version = {
        **spec["versions"][0],
        "schema": spec["validation"],
        "subresources": spec.get("subresources", {}),
        "additionalPrinterColumns": [
            {("jsonPath" if name == "JSONPath" else name): value for name, value in each.items()}
            for each in spec.get("additionalPrinterColumns", ())
        ],
    }
    whole = {name: spec[name] for name in ("group", "names", "scope")}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": old["kind"],
        "metadata": {"name": old["metadata"]["name"]},
        "spec": {**whole, "versions": [version]},
    }


def _renamed(definition: _Definition, group: str, version: str) -> _Definition:
    spec = definition["spec"]
    return {
        **definition,
        "metadata": {"name": f"{spec['names']['plural']}.{group}"},
        "spec": {**spec, "group": group, "versions": [{**spec["versions"][0], "name": version}]},
    }


@dataclass(frozen=True, slots=True)
class Source:
    """Definitions of one module."""

    pinned: Path
    """The directory whose go.mod says which version."""
    module: str
    globs: tuple[str, ...]
    """Below the module. A definition that a module has several of is spelt with the feature set that is meant: in
    Tech Preview, ``tlsAdherence`` is not pruned."""
    adapt: Callable[[Iterable[Any]], Iterator[_Definition]] = _as_it_is
    """What is taken of a file's documents."""


def _gateway(pinned: Path, *plurals: str) -> Source:
    """Those of the experimental channel, which has all that there is."""
    files = (name if "." in name else f"gateway.networking.k8s.io_{name}" for name in plurals)
    return Source(pinned, _GATEWAY, tuple(f"config/crd/experimental/{name}.yaml" for name in files))


_POLICY_REPORTS: Final = ("policyreports", "clusterpolicyreports")
_FORMER: Final = ("gateways", "gatewayclasses", "backendtlspolicies", "referencegrants", *_ROUTES)
_X_LISTENER_SETS: Final = "gateway.networking.x-k8s.io_xlistenersets"

SETS: Final[Mapping[str, tuple[Source, ...]]] = {
    CURRENT: (
        Source(
            CRDS,
            "github.com/openshift/api",
            tuple(
                f"{where}/zz_generated.crd-manifests/{name}.crd.yaml"
                for where, name in (
                    ("config/v1", "*_apiservers-TechPreviewNoUpgrade"),
                    ("config/v1", "*_clusterversions-TechPreviewNoUpgrade"),
                    ("config/v1", "*_clusteroperators"),
                    ("config/v1", "*_featuregates"),
                    ("config/v1", "*_infrastructures-TechPreviewNoUpgrade"),
                    ("config/v1", "*_networks-TechPreviewNoUpgrade"),
                    ("config/v1", "*_ingresses-TechPreviewNoUpgrade"),
                    ("config/v1", "*_oauths"),
                    ("config/v1alpha1", "*_pkis"),
                    ("operator/v1", "*_ingresscontrollers-TechPreviewNoUpgrade"),
                    ("operator/v1", "*_authentications-TechPreviewNoUpgrade"),
                    ("operator/v1", "*_consoles"),
                    ("operator/v1", "*_etcds-TechPreviewNoUpgrade"),
                    ("operator/v1", "*_kubeapiservers-TechPreviewNoUpgrade"),
                    ("operator/v1", "*_kubecontrollermanagers"),
                    ("operator/v1", "*_kubeschedulers"),
                    ("operator/v1", "*_openshiftapiservers-TechPreviewNoUpgrade"),
                    ("operator/v1", "*_openshiftcontrollermanagers"),
                    ("imageregistry/v1", "*_configs"),
                    ("route/v1", "routes"),
                    ("machineconfiguration/v1", "*_kubeletconfigs-TechPreviewNoUpgrade"),
                    ("machineconfiguration/v1", "*_machineconfigpools-SelfManagedHA"),
                )
            ),
        ),
        Source(
            CRDS / "hypershift",
            "github.com/openshift/hypershift",
            (f"{_HYPERSHIFT}/hostedclusters-Hypershift-CustomNoUpgrade.crd.yaml",),
        ),
        _gateway(
            CRDS,
            "gateways",
            "gatewayclasses",
            "listenersets",
            "backendtlspolicies",
            "referencegrants",
            *_ROUTES,
            "gateway.networking.x-k8s.io_xbackends",
        ),
        _gateway(CRDS / "gateway-1.4", _X_LISTENER_SETS),
        Source(CRDS, _CONTOUR, ("examples/contour/01-crds.yaml",)),
        Source(CRDS / "contour-1.5", _CONTOUR, ("examples/contour/01-crds.yaml",), _of_ingress_route),
        Source(
            CRDS,
            "github.com/prometheus-operator/prometheus-operator",
            tuple(
                f"example/prometheus-operator-crd/monitoring.coreos.com_{plural}.yaml"
                for plural in ("servicemonitors", "podmonitors", "probes", "scrapeconfigs", "prometheusrules")
            ),
        ),
    ),
    REPORTS: (
        Source(
            CRDS / "reports",
            "github.com/openreports/reports-api",
            tuple(f"config/crd/openreports.io_{name}.yaml" for name in ("reports", "clusterreports")),
        ),
        Source(
            CRDS / "policyreports",
            "github.com/kyverno/kyverno",
            tuple(f"config/crds/policyreport/wgpolicyk8s.io_{name}.yaml" for name in _POLICY_REPORTS),
        ),
    ),
    "gateway-1.0": (_gateway(CRDS / "gateway-1.0", *_FORMER),),
    "gateway-1.3": (_gateway(CRDS / "gateway-1.3", *_FORMER, _X_LISTENER_SETS),),
    "gateway-1.4": (_gateway(CRDS / "gateway-1.4", *_FORMER, _X_LISTENER_SETS),),
}
"""Definitions that go together in one cluster, by the name of the directory that keeps them: what today's clusters have
and leftovers beside it, and the Gateway API of former releases."""
