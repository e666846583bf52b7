"""Conversion of JSON of an API server or a file to the objects of a snapshot."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from scanner.cluster.key_removal import route_without_key, without_key
from scanner.cluster.retention import OTHERS, SHAPES, Pruner
from scanner.errors import InputError
from scanner.files import yaml_values
from scanner.kube.kinds import ROUTE, SECRET, Kind
from scanner.kube.kubelet import MANIFESTS, in_manifests
from scanner.kube.objects import Fields, KubeObject
from scanner.model.pem import WITHHELD, form_of

_PEM = "-----BEGIN "


def kept(kind: Kind, raw: object, pruner: Pruner, api_version: str = "") -> KubeObject | None:
    """The object in its kept form, or None without a name. ``api_version``: that of its list."""
    return keeper(kind, pruner, api_version)(raw)


def keeper(kind: Kind, pruner: Pruner, api_version: str = "") -> Callable[[object], KubeObject | None]:
    """``kept`` for many objects of a kind: the shape is looked up once."""
    shaped = pruner.keeper(SHAPES.get(kind, OTHERS))
    is_secret, is_route = kind == SECRET, kind == ROUTE
    above = {"apiVersion": api_version} if api_version else {}

    def keep(raw: object) -> KubeObject | None:
        if not isinstance(raw, dict):
            return None
        said = {**above, **raw, "kind": kind.name}
        if is_route:
            said = route_without_key(said)
        shape = without_key(said, pruner) if is_secret else shaped(said)
        found = KubeObject(shape if isinstance(shape, dict) else {}, kind)
        return found if found.name else None

    return keep


_DOCUMENTS: Mapping[tuple[str, str], Mapping[str, frozenset[str] | None]] = {
    ("kube-system", "cluster-config-v1"): {
        "install-config": frozenset(
            {"additionalTrustBundle", "apiVersion", "featureGates", "featureSet", "fips", "networking", "pki"}
        )
    },
    ("kube-system", "kubeadm-config"): {
        "ClusterConfiguration": frozenset(
            {"apiServer", "apiVersion", "controllerManager", "etcd", "kind", "kubernetesVersion", "networking"}
            | {"scheduler"}
        )
    },
    ("kube-system", "kubelet-config"): {
        "kubelet": frozenset(
            {"apiVersion", "authentication", "featureGates", "kind", "port", "readOnlyPort", "rotateCertificates"}
            | {"serverTLSBootstrap", "tlsCertFile", "tlsCipherSuites", "tlsMinVersion", "tlsPrivateKeyFile"}
        )
    },
    ("kube-public", "cluster-info"): {"kubeconfig": frozenset({"apiVersion", "clusters", "kind"})},
    ("kube-public", "microshift-version"): {"version": None},
    ("projectcontour", "contour"): {"contour.yaml": None},
}
"""ConfigMaps with a document: its key, and which of its fields are read (None: all).

The install-config of older clusters contains the pull secret and passwords of the platform.
"""


def config_map(found: KubeObject) -> KubeObject:
    """A ConfigMap with the read fields of a known document, else certificates and TLS settings of KubeletConfigs.

    Any author of an object with CAs chooses the name of a ConfigMap, whose other content must not be kept.
    """
    documents = _DOCUMENTS.get((found.namespace or "", found.name), {})
    less = {
        part: {
            name: _text(value, documents[name]) if name in documents else _other(name, value)
            for name, value in of.items()
        }
        for part in ("data", "binaryData")
        if isinstance(of := found.raw.get(part), dict)
    }
    return KubeObject({**found.raw, **less}, found.kind)


def _text(value: object, fields: frozenset[str] | None) -> object:
    if fields is None or not isinstance(value, str):
        return value
    try:
        document = yaml_values.load(value.encode("utf-8", "replace"), "").value
    except InputError:
        return f"{{ {WITHHELD}"  # still not YAML: what depends on it stays unknown
    if not isinstance(document, dict):
        return "null\n"
    return "".join(_field(name, each) for name, each in document.items() if name in fields) or "{}\n"


def _field(name: str, value: object) -> str:
    """A line of YAML, in JSON; but PEM as a block, so that a search for certificates finds its lines."""
    if not (isinstance(value, str) and _PEM in value):
        return f"{name}: {json.dumps(value)}\n"
    lines = ("".join(filter(str.isprintable, line)).strip() for line in value.splitlines())
    return "".join((f"{name}: |\n", *(f"  {line}\n" for line in lines)))


def _other(name: str, value: object) -> object:
    """The kept form of a value. A NodePool names a ConfigMap with manifests for nodes, which may contain passwords."""
    if name != MANIFESTS or not isinstance(value, str):
        return _trust(value)
    try:
        found = [json.dumps(_tls(each)) for each in in_manifests(value)]
    except InputError:
        return f"{{ {WITHHELD}"  # as above
    return "\n---\n".join(found) + "\n" if found else _trust(value)


def _tls(config: Fields) -> Mapping[str, object]:
    said, raw = config.fields("spec").raw, config.fields("spec", "kubeletConfig").raw
    spec = {name: said[name] for name in ("tlsSecurityProfile",) if name in said}
    kubelet = {name: raw[name] for name in ("tlsMinVersion", "tlsCipherSuites") if name in raw}
    return {
        "apiVersion": config.text("apiVersion"),
        "kind": config.text("kind"),
        "spec": {**spec, "kubeletConfig": kubelet} if kubelet else spec,
    }


def _trust(value: object) -> object:
    if isinstance(value, str) and (_PEM in value or form_of(value.encode("utf-8", "replace")) is not None):
        return value
    return WITHHELD
