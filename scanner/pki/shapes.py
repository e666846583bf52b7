"""The shapes that a PKI configuration is written in, with the API's rules for each.

``document``: the enhancement "Configurable PKI for OpenShift Internal Certificates", "PKI Resource". ``shipped``:
openshift/api ``config/v1alpha1/types_pki.go`` (2026-03). ``interim``: the former inside the latter, as the API had it
for a while; we have no definition of it, so the wider of both rules holds. ``install-config``: openshift/installer
``pkg/types/pki/validation.go``, whose messages are its own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final

from scanner.model.key import CURVES
from scanner.model.pki_config import Shape, Usage
from scanner.pki.schema import Schema

CATEGORIES: Final[Mapping[str, Usage]] = {
    "SignerCertificate": "signer",
    "ServingCertificate": "serving",
    "ClientCertificate": "client",
}
FIELDS: Final[Mapping[str, Usage]] = {
    "signerCertificates": "signer",
    "servingCertificates": "serving",
    "clientCertificates": "client",
}
"""How the document's shape names the categories, and how the shipped one does."""

WELL_KNOWN: Final[Mapping[str, Usage]] = {
    "admin-kubeconfig-signer": "signer",
    "kubelet-bootstrap-kubeconfig-signer": "signer",
    "kube-apiserver-localhost-signer": "signer",
    "kube-apiserver-service-network-signer": "signer",
    "kube-apiserver-lb-signer": "signer",
    "root-ca": "signer",
    "kube-apiserver-to-kubelet-signer": "signer",
    "kube-control-plane-signer": "signer",
    "aggregator-signer": "signer",
    "kubelet-signer": "signer",
    "aggregator-ca": "signer",
    "etcd-signer": "signer",
    "etcd-metrics-signer": "signer",
    "service-ca": "signer",
    "csr-signer-ca": "signer",
    "kube-apiserver-localhost-server": "serving",
    "kube-apiserver-service-network-server": "serving",
    "kube-apiserver-lb-server": "serving",
    "kube-apiserver-internal-lb-server": "serving",
    "machine-config-server": "serving",
    "ironic-server": "serving",
    "etcd-peer-server": "serving",
    "etcd-server": "serving",
    "etcd-metrics-server": "serving",
    "admin-kubeconfig-client": "client",
    "kubelet-client": "client",
    "kube-apiserver-to-kubelet-client": "client",
    "kube-control-plane-kube-controller-manager-client": "client",
    "kube-control-plane-kube-scheduler-client": "client",
    "aggregator-client": "client",
    "apiserver-proxy-client": "client",
    "journal-gatewayd-client": "client",
}
"""The names that the API's own rule has, and their categories ("Well-Known Certificate Names")."""

ALGORITHMS: Final = ("RSA", "ECDSA")
MODES: Final = ("Unmanaged", "Default", "Custom")
_MEMBERS: Final = {"RSA": "rsa", "ECDSA": "ecdsa"}
NAME_RULE: Final = "certificateName must be a well-known certificate name"
SERVICE_SERVING: Final = "service-ca.service-serving"
"""What the later text calls the certificate that the service CA makes for a Service; no override can name it."""

_LISTED_SIZES: Final = Schema(type="integer", numbers=(2048, 3072, 4096))
_STEPPED_SIZES: Final = Schema(type="integer", least=2048, most=8192, step=1024)


def _exactly_its_own(key: Mapping[str, object]) -> bool:
    own = _MEMBERS.get(str(key.get("algorithm")))
    return [name for name in _MEMBERS.values() if name in key] == [own]


def _rsa_iff_rsa(key: Mapping[str, object]) -> bool:
    return (key.get("algorithm") == "RSA") == ("rsa" in key)


def _ecdsa_iff_ecdsa(key: Mapping[str, object]) -> bool:
    return (key.get("algorithm") == "ECDSA") == ("ecdsa" in key)


def _custom_iff_custom(management: Mapping[str, object]) -> bool:
    return (management.get("mode") == "Custom") == ("custom" in management)


_UNION: Final = (
    (
        _exactly_its_own,
        "algorithm must match the configuration: use rsa field for RSA, ecdsa field for ECDSA",
    ),
)
_UNIONS: Final = (
    (_rsa_iff_rsa, "rsa is required when algorithm is RSA, and forbidden otherwise"),
    (_ecdsa_iff_ecdsa, "ecdsa is required when algorithm is ECDSA, and forbidden otherwise"),
)


def _key(sizes: Schema) -> Schema:
    return Schema(
        type="object",
        fields={
            "algorithm": Schema(type="string", words=ALGORITHMS),
            "rsa": Schema(type="object", fields={"keySize": sizes}, required=("keySize",)),
            "ecdsa": Schema(type="object", fields={"curve": Schema(type="string", words=CURVES)}, required=("curve",)),
        },
        required=("algorithm",),
    )


KEYS: Final[Mapping[Shape, Schema]] = {
    "document": replace(_key(_LISTED_SIZES), rules=_UNION),
    "shipped": replace(_key(_STEPPED_SIZES), rules=_UNIONS),
    "interim": replace(_key(_STEPPED_SIZES), rules=_UNION),
}
"""``key``, wherever a shape has one."""


def _certificate(key: Schema) -> Schema:
    return Schema(type="object", fields={"key": key}, required=("key",))


def _entries(name: str, key: Schema, names: Schema, item_rules: Collection[str] = ()) -> Schema:
    item = Schema(
        type="object",
        fields={name: names, "certificate": _certificate(key)},
        required=(name, "certificate"),
        rules=((lambda entry: entry.get(name) in item_rules, NAME_RULE),) if item_rules else (),
    )
    return Schema(type="array", items=item, list_key=name)


def _lists(key: Schema, names: Collection[str]) -> Mapping[str, Schema]:
    """``defaults``, ``categories`` and ``overrides``, whose names are one of ``names``."""
    return {
        "defaults": _certificate(key),
        "categories": _entries("category", key, Schema(type="string", words=tuple(CATEGORIES))),
        "overrides": _entries("certificateName", key, Schema(type="string", not_empty=True), names),
    }


def _managed(custom: Schema) -> Schema:
    management = Schema(
        type="object",
        fields={"mode": Schema(type="string", words=MODES), "custom": replace(custom, min_fields=1)},
        required=("mode",),
        rules=((_custom_iff_custom, "custom is required when mode is Custom, and forbidden otherwise"),),
    )
    return Schema(type="object", fields={"certificateManagement": management}, required=("certificateManagement",))


def _shipped() -> Schema:
    key = KEYS["shipped"]
    category = Schema(type="object", fields={"key": key}, min_fields=1)
    fields = {"defaults": _certificate(key), **dict.fromkeys(FIELDS, category)}
    return _managed(Schema(type="object", fields=fields, required=("defaults",)))


def spec(shape: Shape, names: Collection[str] = tuple(WELL_KNOWN)) -> Schema:
    """The schema of ``spec`` in a shape; ``names`` are the certificate names that an override may have."""
    if shape == "shipped":
        return _shipped()
    if shape == "interim":
        return _managed(Schema(type="object", fields=_lists(KEYS["interim"], names)))
    return Schema(type="object", fields=_lists(KEYS["document"], names))


def shape_of(value: object) -> Shape:
    """The shape of a ``spec``, by its fields; ``certificateManagement`` goes before the lists, which its API prunes."""
    if not isinstance(value, dict):
        return "none"
    if "certificateManagement" in value:
        management = value["certificateManagement"]
        custom = management.get("custom") if isinstance(management, dict) else None
        lists = isinstance(custom, dict) and not {"categories", "overrides"}.isdisjoint(custom)
        return "interim" if lists else "shipped"
    return "none" if {"defaults", "categories", "overrides"}.isdisjoint(value) else "document"
