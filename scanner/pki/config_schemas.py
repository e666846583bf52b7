"""The shapes that a PKI configuration is written in, with the API's rules for each.

``document``: the enhancement "Configurable PKI for OpenShift Internal Certificates", "PKI Resource". ``shipped``:
openshift/api ``config/v1alpha1/types_pki.go`` (2026-03). ``interim``: the former inside the latter, as the API had it
for a while; we have no definition of it, so the wider of both rules holds. ``install-config``: openshift/installer
``pkg/types/pki/validation.go``, whose messages are its own.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Final

from scanner.files.source_positions import Steps
from scanner.kube import view
from scanner.kube.kinds import PKI
from scanner.kube.objects import Fields
from scanner.kube.schema import (
    Array,
    Constraint,
    Difference,
    Duplicate,
    MissingField,
    NumberShape,
    Record,
    Schema,
    Shape,
    TextShape,
    UnknownField,
    Violated,
    WrongCount,
    WrongType,
    WrongValue,
    definition,
    differences,
    parse_schema,
)
from scanner.kube.view import View
from scanner.model.pki_config import CURVES, Complaint, Usage
from scanner.model.pki_config import Shape as PkiShape

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
"""Category names in the shape of the enhancement document, and fields in the shipped shape."""

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
_MEMBERS: Final = {"RSA": "rsa", "ECDSA": "ecdsa"}
NAME_RULE: Final = "certificateName must be a well-known certificate name"
SERVICE_SERVING: Final = "service-ca.service-serving"
"""Name of the service CA's certificates in the enhancement's later text; no override can use it."""


# --- Schemas ---------------------------------------------------------------------------------------------------------


class _Key(View):
    algorithm = view.Text()


class _Override(View):
    certificate_name = view.Text()


def _not_its_own(key: Fields) -> bool:
    own = _MEMBERS.get(_Key(key.raw).algorithm)
    return [name for name in _MEMBERS.values() if key.has(name)] != [own]


def _iff(name: str, field: str, value: str) -> Constraint:
    """The field ``name`` exactly where another has a value."""
    message = f"{name} is required when {field} is {value}, and forbidden otherwise"
    return Constraint(lambda fields: (fields.at(field) == value) != fields.has(name), message)


_UNION: Final = Constraint(
    _not_its_own, "algorithm must match the configuration: use rsa field for RSA, ecdsa field for ECDSA"
)
_CEL: Final = {
    each.message: each
    for each in (_iff("rsa", "algorithm", "RSA"), _iff("ecdsa", "algorithm", "ECDSA"), _iff("custom", "mode", "Custom"))
}


def _shipped(_: str, schema: Schema) -> Schema:
    rules = tuple(_CEL[each["message"]] for each in schema.get("x-kubernetes-validations", ()))
    return {**schema, "constraints": rules} if rules else schema


def _field(shape: Shape, *names: str) -> Shape:
    for name in names:
        shape = shape.fields[name] if isinstance(shape, Record) else shape
    return shape


@cache
def key_shape(shape: PkiShape) -> Shape:
    """``key``, wherever a shape has one."""
    if shape == "shipped":
        return _field(spec("shipped"), "certificateManagement", "custom", "defaults", "key")
    sizes = (
        NumberShape(enum=(2048, 3072, 4096)) if shape == "document" else _field(key_shape("shipped"), "rsa", "keySize")
    )
    fields: dict[str, Shape] = {
        "algorithm": TextShape(enum=ALGORITHMS),
        "rsa": Record({"keySize": sizes}, ("keySize",)),
        "ecdsa": Record({"curve": TextShape(enum=CURVES)}, ("curve",)),
    }
    return Record(fields, ("algorithm",), constraints=(_UNION,))


def spec(shape: PkiShape, names: Collection[str] = tuple(WELL_KNOWN)) -> Shape:
    """The schema of ``spec`` in a shape; ``names`` are the certificate names that an override may have."""
    if shape == "shipped":
        (schema,) = definition(PKI).versions.values()
        return parse_schema(schema["properties"]["spec"], _shipped)
    if shape == "interim":
        mode = _field(spec("shipped"), "certificateManagement", "mode")
        management = Record(
            {"mode": mode, "custom": _lists("interim", names)},
            ("mode",),
            constraints=(_iff("custom", "mode", "Custom"),),
        )
        return Record({"certificateManagement": management}, ("certificateManagement",))
    return _lists("document", names)


def _lists(shape: PkiShape, names: Collection[str]) -> Record:
    """``defaults``, ``categories`` and ``overrides``, whose names are one of ``names``."""
    certificate = Record({"key": key_shape(shape)}, ("key",))
    named = Constraint(lambda entry: _Override(entry.raw).certificate_name not in names, NAME_RULE)

    def entries(name: str, text: TextShape, *constraints: Constraint) -> Array:
        fields: dict[str, Shape] = {name: text, "certificate": certificate}
        return Array(Record(fields, (name, "certificate"), constraints=constraints), key=name)

    return Record(
        {
            "defaults": certificate,
            "categories": entries("category", TextShape(enum=tuple(CATEGORIES))),
            "overrides": entries("certificateName", TextShape(min_length=1), named),
        }
    )


def shape_of(value: object) -> PkiShape:
    """The shape of a ``spec``, by its fields; ``certificateManagement`` goes before the lists, which its API prunes."""
    if not isinstance(value, dict):
        return "none"
    if "certificateManagement" in value:
        management = value["certificateManagement"]
        custom = management.get("custom") if isinstance(management, dict) else None
        lists = isinstance(custom, dict) and not {"categories", "overrides"}.isdisjoint(custom)
        return "interim" if lists else "shipped"
    return "none" if {"defaults", "categories", "overrides"}.isdisjoint(value) else "document"


# --- In the API server's words ---------------------------------------------------------------------------------------

_SHOWN: Final = 100
"""Characters of a value that a message repeats."""
_TYPES: Final = {Record: "object", Array: "array", TextShape: "string"}


def complaints(shape: Shape, value: object, steps: Steps) -> Iterator[Complaint]:
    """Errors of the API server for the value at ``steps``, with its messages (apiextensions-apiserver,
    kube-openapi).

    It checks more than the server where that stops at the first serious mistake; it never accepts what the server
    refuses.
    """
    for each in differences(value, shape, steps):
        if not isinstance(each, UnknownField):
            yield from (Complaint(each.at, message) for message in _messages(each))


def unknown_fields(shape: Shape, value: object, steps: Steps) -> Iterator[Steps]:
    """The ways to fields that ``shape`` does not have: the API server prunes them."""
    return (each.at for each in differences(value, shape, steps) if isinstance(each, UnknownField))


def without_nulls(value: object) -> object:
    """The value as the API server keeps it: a field that is null is not there."""
    if isinstance(value, dict):
        return {name: without_nulls(inner) for name, inner in value.items() if inner is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def _messages(difference: Difference) -> Iterator[str]:
    match difference:
        case WrongType(value=value, shape=NumberShape() as shape):
            yield f"must be of type {'integer' if isinstance(value, str) else 'int32'}"
            yield from _of_value(value, shape)
        case WrongType(at=at, value=value, shape=shape):
            yield f"must be of type {_TYPES[type(shape)]}"
            if isinstance(shape, TextShape) and shape.enum:
                yield _unsupported(value, shape.enum)
            if isinstance(shape, Record) and isinstance(at[-1], int):
                yield "must be an object for an array of list-type map"
        case WrongValue(value=value, shape=shape):
            yield from _of_value(value, shape)
        case WrongCount(least=least):
            yield f"should have at least {least} properties"
        case MissingField():
            yield "Required value"
        case Duplicate(key=key):
            yield f"Duplicate value: {_quoted(key)}"
        case Violated(constraint=constraint):
            yield constraint.message


def _of_value(value: object, shape: TextShape | NumberShape) -> Iterator[str]:
    if shape.enum and value not in shape.enum:
        yield _unsupported(value, shape.enum)
    if isinstance(shape, TextShape) and shape.min_length and value == "":
        yield f"should be at least {shape.min_length} chars long"
    if isinstance(shape, NumberShape) and isinstance(value, int | float) and not isinstance(value, bool):
        if shape.minimum is not None and value < shape.minimum:
            yield f"should be greater than or equal to {shape.minimum}"
        if shape.maximum is not None and value > shape.maximum:
            yield f"should be less than or equal to {shape.maximum}"
        if value % shape.multiple_of:
            yield f"should be a multiple of {shape.multiple_of}"


def _unsupported(value: object, accepted: tuple[object, ...]) -> str:
    listed = ", ".join(f'"{each}"' for each in accepted)
    return f"Unsupported value: {_quoted(value)}: supported values: {listed}"


def _quoted(value: object) -> str:
    text = json.dumps(value, separators=(",", ":"))
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
