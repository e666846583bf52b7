"""Fields of each kind of object that later stages read, without private keys, and each text once in memory."""

from __future__ import annotations

import marshal
import re
from collections.abc import Callable, Mapping
from functools import partial
from hashlib import blake2b
from typing import Any, TypeAlias

from msgspec import Struct

from scanner.cluster.decoding import Raw
from scanner.cluster.decoding import value as decoded
from scanner.cluster.secret_contents import SHORTEST, is_secret_name, scrubbed
from scanner.cluster.secret_contents import arguments as without_passwords
from scanner.kube import kinds
from scanner.kube.kinds import Kind
from scanner.kube.objects import Fields
from scanner.model.pem import REMOVED

Shape: TypeAlias = "Only | But | Shared | Callable[[Pruner, object], object]"
Keep: TypeAlias = Callable[[object], object]
"""Converts a value to its kept form."""

MAX_DEPTH = 64
"""Deeper values are dropped. An API object needs 15, and recursive code must not exhaust the stack."""
_MARSHAL = 2
"""marshal writes JSON values four times as fast as repr; this version writes equal values alike."""
_GENERATED = rb"[a-z0-9]{5}"
"""Suffix of generated names (k8s.io/apiserver ``pkg/storage/names``)."""
_MASK = b"\xff" * 5
"""Replacement of the suffix, of the same length. UTF-8 has no such byte."""
_APART = object()
"""Marks a masked text whose kept form has a generated name: then only equal unmasked texts are shared."""
_SHORT = 63
"""Bytes up to which a text is its own key; a digest has one more, so the two cannot be equal."""
_INTERNED = 256
"""Characters up to which a text is stored once for all objects: names, labels, addresses, images."""


class Only(Struct, frozen=True, eq=False):
    """Only these fields of a mapping, or of each mapping of a list."""

    fields: Mapping[str, Shape]


class But(Struct, frozen=True, eq=False):
    """All fields; these in their own shape."""

    fields: Mapping[str, Shape]


class Shared(Struct, frozen=True, eq=False):
    """A value that many objects have in common, such as the containers of replicas: converted and stored once."""

    shape: Shape
    pruned: bool = False
    """True if only their kept forms are equal: they differ in times and identifiers."""
    but: str = ""
    """Prefix of generated names that may differ if ``shape`` does not keep them."""


_SCALARS = frozenset({int, bool, float, type(None)})


class _Texts(dict[str, str]):
    """Each text once, without private keys, and in valid UTF-8.

    A dictionary that fills itself: a lookup of a known text costs no function call.
    """

    def __missing__(self, text: str) -> str:
        # Names and addresses: too short for a key, and no URL.
        harmless = len(text) < SHORTEST and text.isascii() and "@" not in text
        kept = text if harmless else scrubbed(_encodable(text))
        if len(text) <= _INTERNED:
            self[text] = kept
        return kept


class Pruner:
    """Converts the objects of one snapshot, which share texts and values."""

    def __init__(self) -> None:
        self.texts = _Texts()
        """Kept form of each text."""
        self._keepers: dict[Shape, Keep] = {}

    def keep(self, value: object, shape: Shape) -> object:
        """``value`` in ``shape``. A value of another type than the shape expects is copied."""
        return self.keeper(shape)(value)

    def keeper(self, shape: Shape) -> Keep:
        """The function that converts values to ``shape``."""
        found = self._keepers.get(shape)
        if found is None:
            found = self._keepers[shape] = self._made(shape)
        return found

    def _made(self, shape: Shape) -> Keep:
        if isinstance(shape, Only):
            return self._only(shape.fields)
        if isinstance(shape, But):
            return self._but(shape.fields)
        if isinstance(shape, Shared):
            keep = self.keeper(shape.shape)
            return _pruned_once(keep) if shape.pruned else _once(keep, shape.but)
        return self.copy if shape is whole else partial(shape, self)

    def copy(self, value: object, depth: int = 0) -> object:
        """A deep copy."""
        if isinstance(value, str):
            return self.texts[value]
        if not isinstance(value, dict | list):
            return value
        if depth >= MAX_DEPTH:
            return None
        depth += 1
        texts, copy = self.texts, self.copy
        if isinstance(value, list):
            return [texts[item] if type(item) is str else copy(item, depth) for item in value]
        return {texts[str(key)]: texts[item] if type(item) is str else copy(item, depth) for key, item in value.items()}

    def text(self, text: str) -> str:
        """Return the stored text, without private keys and in valid UTF-8."""
        return self.texts[text]

    def _only(self, fields: Mapping[str, Shape]) -> Keep:
        texts, copy = self.texts, self.copy
        keepers = {name: copy if shape is whole else self.keeper(shape) for name, shape in fields.items()}
        plain = all(keeper is copy for keeper in keepers.values())

        def keep(value: object) -> object:
            if type(value) is list:
                return [keep(item) for item in value if isinstance(item, dict)]
            if type(value) is not dict:
                return copy(value)
            if plain:
                return {
                    name: texts[item] if type(item) is str else item if type(item) in _SCALARS else copy(item)
                    for name, item in value.items()
                    if name in keepers
                }
            kept: dict[str, object] = {}
            for name, item in value.items():
                keeper = keepers.get(name)
                # Most fields are texts that stay as they are; this shortcut saves a third of all calls.
                if keeper is copy and type(item) is str:
                    kept[name] = texts[item]
                elif keeper:
                    kept[name] = keeper(item)
            return kept

        return keep

    def _but(self, fields: Mapping[str, Shape]) -> Keep:
        texts, copy = self.texts, self.copy
        keepers = {name: self.keeper(shape) for name, shape in fields.items() if shape is not left_out}
        dropped = fields.keys() - keepers.keys()

        def keep(value: object) -> object:
            if not isinstance(value, dict):
                return copy(value)
            return {
                texts[str(name)]: keepers.get(name, copy)(item) for name, item in value.items() if name not in dropped
            }

        return keep


def _once(keep: Keep, but: str) -> Keep:
    """``keep`` that is called once for equal values."""
    known: dict[bytes, object] = {}
    prefix = but.encode("ascii")
    names, masked = re.compile(re.escape(prefix) + _GENERATED), prefix + _MASK

    def kept(value: Any) -> object:  # noqa: ANN401 - JSON, as marshal takes it
        text = bytes(value) if type(value) is Raw else marshal.dumps(value, _MARSHAL)
        key = _key(names.sub(masked, text) if but else text)
        found = known.get(key)
        if found is _APART:
            key = _key(text)
            found = known.get(key)
        if found is not None:
            return found
        made: Any = keep(decoded(text) if type(value) is Raw else value)
        if but and names.search(marshal.dumps(made, _MARSHAL)):
            known[key], key = _APART, _key(text)
        known[key] = made
        return made

    return kept


def _pruned_once(keep: Keep) -> Keep:
    """``keep`` that returns equal results as one object."""
    known: dict[bytes, object] = {}

    def kept(value: object) -> object:
        made: Any = keep(value)
        return known.setdefault(_key(marshal.dumps(made, _MARSHAL)), made)

    return kept


def _key(text: bytes) -> bytes:
    """A text's key: itself, or a digest if that is shorter.

    The digest is cryptographic, so that no author of objects can make two different texts collide.
    """
    return text if len(text) <= _SHORT else blake2b(text, digest_size=_SHORT + 1).digest()


def _encodable(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def whole(pruner: Pruner, value: object) -> object:
    """Shape of a field that is copied."""
    return pruner.copy(value)


def left_out(_: Pruner, __: object) -> object:
    """Shape, in a ``But``, of a field that is dropped."""
    return None


def removed(_: Pruner, value: object) -> object:
    """Shape of a private key: a marker that there is one."""
    return REMOVED if value else value


def arguments(pruner: Pruner, value: object) -> object:
    """Shape of a command line."""
    items = value if isinstance(value, list) else []
    return [pruner.text(item) for item in without_passwords([item for item in items if isinstance(item, str)])]


LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""Annotation with a copy of the applied object; that of a Secret or Route contains its private key."""

_LONG = 512
"""Characters of an annotation of a large kind. Longer ones are internal data of programs."""
_READ_PREFIXES = ("adhere.dev/", "sidecar.istio.io/", "linkerd.io/", "service.beta.openshift.io/")
"""Prefixes of annotations that adhere reads, of any length."""
_NETWORK_PREFIXES = ("k8s.ovn.org/", "k8s.v1.cni.cncf.io/", "cni.projectcalico.org/", "ovn.kubernetes.io/")
"""Prefixes of annotations of networks: addresses, which the status has too. No others differ between replicas."""
_VARIABLES = re.compile(r"TLS|SSL|CIPHER|CERT|FIPS|GODEBUG|^ROUTER_|_PORT$", re.MULTILINE)
"""Names of environment variables about TLS. Of others not even the name is kept."""


def every_annotation(pruner: Pruner, value: object) -> object:
    """All annotations but the copy of the object."""
    items = value.items() if isinstance(value, dict) else ()
    return {pruner.text(str(name)): pruner.copy(text) for name, text in items if name != LAST_APPLIED}


def short_annotations(pruner: Pruner, value: object) -> object:
    """Annotations that are short or that adhere reads, but not those of networks."""
    texts, items = pruner.texts, value.items() if isinstance(value, dict) else ()
    return {
        texts[name]: texts[text]
        for name, text in items
        if type(text) is str
        and (len(text) <= _LONG or name.startswith(_READ_PREFIXES))
        and name != LAST_APPLIED
        and not name.startswith(_NETWORK_PREFIXES)
    }


def variables(pruner: Pruner, value: object) -> object:
    """Environment variables about TLS, with literal values."""
    items = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
    if not _VARIABLES.search("\n".join(str(item.get("name")) for item in items)):  # nearly always
        return []
    found = [item for item in items if _VARIABLES.search(str(item.get("name")))]
    return [{name: pruner.copy(item[name]) for name in _of_variable(item) if name in item} for item in found]


def _of_variable(item: dict[str, object]) -> tuple[str, ...]:
    """Fields to keep; of a password only the name."""
    return ("name",) if is_secret_name(str(item.get("name"))) else ("name", "value")


def ready_condition(pruner: Pruner, value: object) -> object:
    """The condition Ready only."""
    items = value if isinstance(value, list) else []
    ready = [item for item in items if isinstance(item, dict) and item.get("type") == "Ready"]
    return [{name: pruner.copy(item[name]) for name in ("type", "status") if name in item} for item in ready]


def _whole(*names: str) -> dict[str, Shape]:
    return dict.fromkeys(names, whole)


_OWNERS = Shared(Only(_whole("apiVersion", "kind", "name", "controller")))
_LABELS = Shared(whole)
METADATA = But({"managedFields": left_out, "annotations": every_annotation})
_SHORT_METADATA = Only(
    _whole("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp")
    | {"labels": _LABELS, "annotations": Shared(short_annotations, pruned=True), "ownerReferences": _OWNERS}
)
_NAMED_METADATA = Only(_whole("name", "namespace") | {"labels": _LABELS, "ownerReferences": _OWNERS})

_READY = Shared(ready_condition, pruned=True)

_TOKENS = "kube-api-access-"
"""Name prefix of the volume with the service account's token. Its name is generated for each pod; without it, replicas
have equal containers and volumes."""
_TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 - a path


def _but_tokens(shape: Shape, is_token: Callable[[dict[str, object]], bool]) -> Shape:
    """A list of mappings without those of the token. A pod's author may use its names for others."""

    def keep(pruner: Pruner, value: object) -> object:
        items = value if isinstance(value, list) else []
        named = (item for item in items if isinstance(item, dict))
        others = (item for item in named if not str(item.get("name")).startswith(_TOKENS) or not is_token(item))
        return pruner.keep(list(others), shape)

    return keep


def _mounts_token(mount: dict[str, object]) -> bool:
    """True for the mount of the token (kubernetes.io, "Managing Service Accounts", "Bound service account token
    volume")."""
    return mount.get("mountPath") == _TOKEN_PATH


def _has_token(volume: dict[str, object]) -> bool:
    """True if it cannot contain a certificate."""
    fields = Fields(volume)
    sources = (each.has("secret") or each.has("podCertificate") for each in fields.each("projected", "sources"))
    return not (fields.has("secret") or fields.has("csi") or any(sources))


_HTTP_GET = Only({"httpGet": Only(_whole("port", "scheme", "host", "path"))})
_PROBE = Only({**_HTTP_GET.fields, "grpc": Only(_whole("port", "service", "mode"))})
"""``mode`` exists behind the gate GRPCContainerProbeTLS."""
_CONTAINER = Only(
    _whole("name", "image", "restartPolicy")
    | {
        "command": arguments,
        "args": arguments,
        "ports": Only(_whole("name", "containerPort", "hostPort", "hostIP", "protocol")),
        "env": variables,
        "volumeMounts": _but_tokens(Only(_whole("name", "mountPath", "subPath")), _mounts_token),
        "livenessProbe": _PROBE,
        "readinessProbe": _PROBE,
        "startupProbe": _PROBE,
        "lifecycle": Only({"postStart": _HTTP_GET, "preStop": _HTTP_GET}),
    }
)
_SOURCES = dict.fromkeys(("secret", "configMap"), Only(_whole("name"))) | {"podCertificate": Only(_whole("signerName"))}
_VOLUME = Only(
    {
        "name": whole,
        "secret": Only(_whole("secretName")),
        "configMap": Only(_whole("name")),
        "hostPath": Only(_whole("path")),
        "projected": Only({"sources": Only(_SOURCES)}),
        "csi": Only(_whole("driver")),
    }
)
_CONTAINERS = Shared(_CONTAINER, but=_TOKENS)
_VOLUMES = Shared(_but_tokens(_VOLUME, _has_token), but=_TOKENS)
_POD_SPEC = Only(
    _whole("nodeName", "hostNetwork", "serviceAccountName", "hostname", "subdomain")
    | dict.fromkeys(("containers", "initContainers", "ephemeralContainers"), _CONTAINERS)
    | {"volumes": _VOLUMES}
)
_POD = Only(
    _whole("apiVersion", "kind")
    | {
        "metadata": _SHORT_METADATA,
        "spec": _POD_SPEC,
        "status": Only(
            _whole("phase", "podIP", "podIPs", "hostIP")
            | {"conditions": _READY, "containerStatuses": Shared(Only(_whole("name", "restartCount")))}
        ),
    }
)
_WORKLOAD = Only(
    _whole("apiVersion", "kind")
    | {
        "metadata": _SHORT_METADATA,
        "spec": Only({"template": Only({"metadata": Only({"labels": _LABELS}), "spec": _POD_SPEC})}),
    }
)
_SERVICE = But({"metadata": _SHORT_METADATA, "status": Only(_whole("loadBalancer"))})
_ENDPOINT_SLICE = Only(
    _whole("apiVersion", "kind", "addressType")
    | {
        "metadata": _NAMED_METADATA,
        "ports": Shared(whole),
        "endpoints": Only(
            _whole("addresses", "nodeName", "hostname")
            | {"conditions": Shared(whole), "targetRef": Only(_whole("kind", "name", "namespace"))}
        ),
    }
)
_NODE = Only(
    _whole("apiVersion", "kind")
    | {
        "metadata": _SHORT_METADATA,
        "spec": Only(_whole("podCIDR", "podCIDRs", "providerID", "unschedulable")),
        "status": Only(_whole("addresses", "daemonEndpoints", "nodeInfo") | {"conditions": _READY}),
    }
)
_NAMESPACE = Only(_whole("apiVersion", "kind") | {"metadata": _SHORT_METADATA})
_CLUSTER_SERVICE_VERSION = Only(
    _whole("apiVersion", "kind")
    | {
        "metadata": _SHORT_METADATA,
        "spec": Only(
            _whole("displayName", "version", "replaces", "provider", "webhookdefinitions", "apiservicedefinitions")
            | {"install": Only({"spec": Only({"deployments": Only(_whole("name"))}), "strategy": whole})}
            | {"customresourcedefinitions": Only({"owned": Only(_whole("name", "kind"))})}
        ),
        "status": Only(_whole("phase", "reason")),
    }
)


def _property(name: str, inner: Shape) -> Shape:
    return Only({"properties": Only({name: inner})})


_READ_FIELDS = Only(_whole("tlsAdherence", "tlsSecurityProfile"))
"""Fields whose presence in a schema is judged: a release that prunes them does not support them."""
_SCHEMA = Only({"openAPIV3Schema": _property("spec", Only({"properties": _READ_FIELDS}))})
_CUSTOM_RESOURCE_DEFINITION = Only(
    _whole("apiVersion", "kind")
    | {
        "metadata": _SHORT_METADATA,
        "spec": Only(
            _whole("group", "names", "scope", "conversion")
            | {"versions": Only(_whole("name", "served", "storage") | {"schema": _SCHEMA})}
        ),
        "status": Only({"conditions": whole, "storedVersions": whole}),
    }
)
_MANAGED = Only(
    _whole("manager", "operation", "subresource", "time") | {"fieldsV1": Only(_whole("f:spec", "f:metadata"))}
)
_TIMED = But({"metadata": But({"managedFields": _MANAGED, "annotations": every_annotation})})
"""Time of the last change of spec: certificates may be older, and listeners may not follow it yet."""
_ROUTE = But({"metadata": METADATA, "spec": But({"tls": But({"key": removed})})})

_PROFILES = (kinds.API_SERVER, kinds.INGRESS_CONTROLLER, kinds.KUBELET_CONFIG, kinds.HOSTED_CLUSTER)
_APPLIED = But({"metadata": But({"managedFields": left_out})})
"""With the copy of the applied object, which has the fields that a CRD dropped. These kinds have no private keys."""

OTHERS: Shape = But({"metadata": METADATA})
SHAPES: dict[Kind, Shape] = {
    kinds.POD: _POD,
    kinds.DEPLOYMENT: _WORKLOAD,
    kinds.STATEFUL_SET: _WORKLOAD,
    kinds.DAEMON_SET: _WORKLOAD,
    kinds.SERVICE: _SERVICE,
    kinds.ENDPOINT_SLICE: _ENDPOINT_SLICE,
    kinds.NODE: _NODE,
    kinds.NAMESPACE: _NAMESPACE,
    kinds.CUSTOM_RESOURCE_DEFINITION: _CUSTOM_RESOURCE_DEFINITION,
    kinds.CLUSTER_SERVICE_VERSION: _CLUSTER_SERVICE_VERSION,
    **dict.fromkeys((kinds.PKI, *_PROFILES), _TIMED),
    kinds.ROUTE: _ROUTE,
    **dict.fromkeys((kinds.GATEWAY, kinds.LISTENER_SET, kinds.X_LISTENER_SET, kinds.BACKEND_TLS_POLICY), _APPLIED),
}
"""Kinds with a shape of their own."""
