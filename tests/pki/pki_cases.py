"""Specs of a PKI object, and what the API says of each: told by the schema of each shape, and on the e2e lane by the
real API server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from scanner.pki.config_schemas import WELL_KNOWN

RSA, ECDSA = ({"algorithm": "RSA", "rsa": {"keySize": 4096}}, {"algorithm": "ECDSA", "ecdsa": {"curve": "P384"}})
UNION = "algorithm must match the configuration: use rsa field for RSA, ecdsa field for ECDSA"
RSA_RULE = "rsa is required when algorithm is RSA, and forbidden otherwise"
ECDSA_RULE = "ecdsa is required when algorithm is ECDSA, and forbidden otherwise"
CUSTOM_RULE = "custom is required when mode is Custom, and forbidden otherwise"
NAME_RULE = "certificateName must be a well-known certificate name"
CUSTOM = "spec.certificateManagement.custom"
ALGORITHMS = 'Unsupported value: "DSA": supported values: "RSA", "ECDSA"'
CURVES = 'Unsupported value: "P224": supported values: "P256", "P384", "P521"'
SIZES = 'supported values: "2048", "3072", "4096"'


@dataclass(frozen=True)
class Case:
    """One spec."""

    shape: Literal["document", "shipped"]
    name: str
    spec: object
    refused: tuple[tuple[str, str], ...] = ()
    """Field and message of what is said at least; none: it is taken."""

    @property
    def id(self) -> str:
        return f"{self.shape}: {self.name}"


Place = tuple[str, Callable[[object], object]]
"""The way to a key, and the spec with one there."""


def _below(name: str, key: str, value: str) -> Place:
    return f"spec.{name}[0].certificate.key", lambda it: {name: [{key: value, "certificate": {"key": it}}]}


def _beside(name: str) -> Place:
    custom: Callable[[object], object] = lambda it: {"defaults": {"key": RSA}, name: {"key": it}}  # noqa: E731
    return f"{CUSTOM}.{name}.key", lambda it: {"certificateManagement": {"mode": "Custom", "custom": custom(it)}}


PLACES: dict[Literal["document", "shipped"], tuple[Place, ...]] = {
    "document": (
        ("spec.defaults.key", lambda it: {"defaults": {"key": it}}),
        _below("categories", "category", "ServingCertificate"),
        _below("overrides", "certificateName", "etcd-signer"),
    ),
    "shipped": tuple(
        _beside(name) for name in ("defaults", "signerCertificates", "servingCertificates", "clientCertificates")
    ),
}
"""Where a key may stand."""


def _at(shape: Literal["document", "shipped"], name: str, key: object, *refused: tuple[str, str]) -> Iterator[Case]:
    """The same key in every place; ``refused`` with fields below it."""
    for place, spec in PLACES[shape]:
        told = tuple((f"{place}{at}", what) for at, what in refused)
        yield Case(shape, f"{name}, {place.removeprefix(f'{CUSTOM}.').removeprefix('spec.')}", spec(key), told)


def _key(key: object, *refused: tuple[str, str], name: str) -> Iterator[Case]:
    """The same key in both shapes, messages as they are in both."""
    yield from _at("document", name, key, *refused)
    yield from _at("shipped", name, key, *refused)


def _document(name: str, spec: object, *refused: tuple[str, str]) -> Case:
    return Case("document", name, spec, refused)


def _managed(name: str, mode: object, custom: object, *refused: tuple[str, str]) -> Case:
    said = {name: value for name, value in (("mode", mode), ("custom", custom)) if value is not None}
    return Case("shipped", name, {"certificateManagement": said}, refused)


def _entry(name: str, key: str, value: object, certificate: object, *refused: tuple[str, str]) -> Case:
    field = {"category": "categories", "certificateName": "overrides"}[key]
    return Case("document", name, {field: [{key: value, "certificate": certificate}]}, refused)


def _sized(size: object) -> dict[str, object]:
    return {"algorithm": "RSA", "rsa": {"keySize": size}}


_KEY = {"key": RSA}
_NAMED = (("category", "categories", "SignerCertificate"), ("certificateName", "overrides", "root-ca"))
_CATEGORIES = ('"SignerCertificate"', '"ServingCertificate"', '"ClientCertificate"')

CASES: tuple[Case, ...] = (
    # Keys, as they are in both.
    *_key(RSA, name="RSA"),
    *_key(ECDSA, name="ECDSA"),
    *_key({"algorithm": "ECDSA", "ecdsa": {"curve": "P521"}}, name="P521"),
    *_key(_sized(2048), name="RSA 2048"),
    *_key(_sized(3072), name="RSA 3072"),
    *_key(_sized(4096.0), name="a size with a decimal point"),
    *_key({}, (".algorithm", "Required value"), name="no algorithm"),
    *_key({"algorithm": "DSA"}, (".algorithm", ALGORITHMS), name="another algorithm"),
    *_key({"algorithm": 1}, (".algorithm", "must be of type string"), name="an algorithm that is a number"),
    *_key({"algorithm": "RSA", "rsa": {"keySize": None}}, (".rsa.keySize", "Required value"), name="size null"),
    *_key({"algorithm": None}, (".algorithm", "Required value"), name="algorithm null"),
    *_key({**RSA, "ecdsa": None}, name="the other member null"),
    *_key(_sized({}), (".rsa.keySize", "must be of type int32"), name="a size that is a mapping"),
    _document(
        "a size beyond 32 bits",
        {"defaults": {"key": _sized(2**40)}},
        ("spec.defaults.key.rsa.keySize", f"Unsupported value: {2**40}: {SIZES}"),
    ),
    _managed(
        "a size beyond 32 bits",
        "Custom",
        {"defaults": {"key": _sized(2**40)}},
        (f"{CUSTOM}.defaults.key.rsa.keySize", "should be less than or equal to 8192"),
    ),
    *_key({"algorithm": "RSA", "rsa": {}}, (".rsa.keySize", "Required value"), name="no size"),
    *_key({"algorithm": "ECDSA", "ecdsa": {}}, (".ecdsa.curve", "Required value"), name="no curve"),
    *_key({"algorithm": "ECDSA", "ecdsa": {"curve": "P224"}}, (".ecdsa.curve", CURVES), name="another curve"),
    *_key(_sized("4096"), (".rsa.keySize", "must be of type integer"), name="a size that is text"),
    *_key(_sized(4096.5), (".rsa.keySize", "must be of type int32"), name="half a bit"),
    *_key(_sized(True), (".rsa.keySize", "must be of type int32"), name="a size that is true"),
    *_key({"algorithm": "RSA", "rsa": []}, (".rsa", "must be of type object"), name="rsa a list"),
    *_key({"algorithm": "ECDSA", "ecdsa": []}, (".ecdsa", "must be of type object"), name="ecdsa a list"),
    *_key(
        {"algorithm": "ECDSA", "ecdsa": {"curve": 384}},
        (".ecdsa.curve", "must be of type string"),
        name="a curve that is a number",
    ),
    *_key([], ("", "must be of type object"), name="a key that is a list"),
    *_key("RSA", ("", "must be of type object"), name="a key that is text"),
    # Unions, each shape with its own words.
    *(
        case
        for name, key in (
            ("RSA without rsa", {"algorithm": "RSA"}),
            ("RSA with both", {**ECDSA, **RSA}),
            ("ECDSA with both", {**RSA, **ECDSA}),
            ("RSA with ecdsa", {**ECDSA, "algorithm": "RSA"}),
            ("ECDSA without ecdsa", {"algorithm": "ECDSA"}),
        )
        for case in _at("document", name, key, ("", UNION))
    ),
    *(
        case
        for name, key, rules in (
            ("RSA without rsa", {"algorithm": "RSA"}, (RSA_RULE,)),
            ("RSA with both", {**ECDSA, **RSA}, (ECDSA_RULE,)),
            ("ECDSA with both", {**RSA, **ECDSA}, (RSA_RULE,)),
            ("RSA with ecdsa", {**ECDSA, "algorithm": "RSA"}, (RSA_RULE, ECDSA_RULE)),
            ("ECDSA without ecdsa", {"algorithm": "ECDSA"}, (ECDSA_RULE,)),
        )
        for case in _at("shipped", name, key, *(("", rule) for rule in rules))
    ),
    # Sizes, which differ.
    *(
        case
        for size in (0, 1024, 2049, 5120, 8192, 16384, -2048)
        for case in _at(
            "document", f"RSA {size}", _sized(size), (".rsa.keySize", f"Unsupported value: {size}: {SIZES}")
        )
    ),
    *(case for size in (5120, 6144, 7168, 8192) for case in _at("shipped", f"RSA {size}", _sized(size))),
    *(
        case
        for size, message in (
            (0, "should be greater than or equal to 2048"),
            (1024, "should be greater than or equal to 2048"),
            (2049, "should be a multiple of 1024"),
            (9216, "should be less than or equal to 8192"),
            (9000, "should be a multiple of 1024"),
        )
        for case in _at("shipped", f"RSA {size}", _sized(size), (".rsa.keySize", message))
    ),
    # The document's lists.
    _document("empty", {}),
    _document("empty lists", {"categories": [], "overrides": []}),
    _document(
        "the document's own example",
        {
            "defaults": {"key": _sized(2048)},
            "categories": [
                {"category": "SignerCertificate", "certificate": {"key": RSA}},
                {"category": "ServingCertificate", "certificate": {"key": ECDSA}},
                {
                    "category": "ClientCertificate",
                    "certificate": {"key": {"algorithm": "ECDSA", "ecdsa": {"curve": "P256"}}},
                },
            ],
            "overrides": [{"certificateName": "etcd-signer", "certificate": {"key": RSA}}],
        },
    ),
    _document("no key", {"defaults": {}}, ("spec.defaults.key", "Required value")),
    _document("defaults null", {"defaults": None}),
    _document("rsa null", {"defaults": {"key": {"algorithm": "RSA", "rsa": None}}}, ("spec.defaults.key", UNION)),
    _document("overrides null", {"overrides": None, "defaults": _KEY}),
    _document("null for a category", {"categories": [None]}, ("spec.categories[0]", "must be of type object")),
    _document("spec null", None, ("spec", "Required value")),
    _entry("category null", "category", None, _KEY, ("spec.categories[0].category", "Required value")),
    _document("categories a mapping", {"categories": {}}, ("spec.categories", "must be of type array")),
    _document("a category that is text", {"categories": ["x"]}, ("spec.categories[0]", "must be of type object")),
    _document("spec a list", [], ("spec", "must be of type object")),
    _entry(
        "another category",
        "category",
        "PeerCertificate",
        _KEY,
        (
            "spec.categories[0].category",
            f'Unsupported value: "PeerCertificate": supported values: {", ".join(_CATEGORIES)}',
        ),
    ),
    _document(
        "no category", {"categories": [{"certificate": _KEY}]}, ("spec.categories[0].category", "Required value")
    ),
    _document(
        "no certificate",
        {"categories": [{"category": "SignerCertificate"}]},
        ("spec.categories[0].certificate", "Required value"),
    ),
    _document(
        "a category twice",
        {"categories": [{"category": "SignerCertificate", "certificate": _KEY}] * 2},
        ("spec.categories[1]", 'Duplicate value: {"category":"SignerCertificate"}'),
    ),
    _document("no category twice", {"categories": [{}, {}]}, ("spec.categories[1]", "Duplicate value: {}")),
    _document("null twice", {"overrides": [None, None]}, ("spec.overrides[1]", "Duplicate value: {}")),
    _document(
        "a name twice",
        {"overrides": [{"certificateName": "root-ca", "certificate": _KEY}] * 2},
        ("spec.overrides[1]", 'Duplicate value: {"certificateName":"root-ca"}'),
    ),
    _document(
        "three times",
        {"overrides": [{"certificateName": "root-ca", "certificate": _KEY}] * 3},
        ("spec.overrides[2]", 'Duplicate value: {"certificateName":"root-ca"}'),
    ),
    # Each of the 32 names, one by one and all at once.
    *(_entry(f"the name {name}", "certificateName", name, _KEY) for name in WELL_KNOWN),
    _document("all names", {"overrides": [{"certificateName": name, "certificate": _KEY} for name in WELL_KNOWN]}),
    *(
        _entry(f"{field}: no key", field, value, {}, (f"spec.{lists}[0].certificate.key", "Required value"))
        for field, lists, value in _NAMED
    ),
    *(
        _entry(
            f"{field}: a certificate that is text",
            field,
            value,
            "RSA",
            (f"spec.{lists}[0].certificate", "must be of type object"),
        )
        for field, lists, value in _NAMED
    ),
    *(
        _entry(f"{field}: a number", field, 7, _KEY, (f"spec.{lists}[0].{field}", "must be of type string"))
        for field, lists, _ in _NAMED
    ),
    *(
        _entry(f"{field}: a list", field, [], _KEY, (f"spec.{lists}[0].{field}", "must be of type string"))
        for field, lists, _ in _NAMED
    ),
    _document("overrides a mapping", {"overrides": {}}, ("spec.overrides", "must be of type array")),
    _document("an override that is text", {"overrides": ["x"]}, ("spec.overrides[0]", "must be of type object")),
    _document("defaults a list", {"defaults": []}, ("spec.defaults", "must be of type object")),
    _document(
        "no name", {"overrides": [{"certificate": _KEY}]}, ("spec.overrides[0].certificateName", "Required value")
    ),
    _document(
        "an override without a certificate",
        {"overrides": [{"certificateName": "root-ca"}]},
        ("spec.overrides[0].certificate", "Required value"),
    ),
    _entry("every deprecated name", "certificateName", "aggregator-ca", _KEY),
    _entry("another name", "certificateName", "mine", _KEY, ("spec.overrides[0]", NAME_RULE)),
    _entry("a name with an ending", "certificateName", "etcd-signer ", _KEY, ("spec.overrides[0]", NAME_RULE)),
    _entry("a Service's", "certificateName", "shop/web", _KEY, ("spec.overrides[0]", NAME_RULE)),
    _entry("the shipped name", "certificateName", "etcd.signer", _KEY, ("spec.overrides[0]", NAME_RULE)),
    _entry(
        "an empty name",
        "certificateName",
        "",
        _KEY,
        ("spec.overrides[0].certificateName", "should be at least 1 chars long"),
    ),
    # The shipped shape's modes and categories.
    Case("shipped", "spec null", None, (("spec", "Required value"),)),
    Case("shipped", "spec a list", [], (("spec", "must be of type object"),)),
    Case(
        "shipped",
        "certificateManagement a list",
        {"certificateManagement": []},
        (("spec.certificateManagement", "must be of type object"),),
    ),
    _managed("a mode that is a number", 1, None, ("spec.certificateManagement.mode", "must be of type string")),
    _managed("custom a list", "Custom", [], (CUSTOM, "must be of type object")),
    *(
        _managed(
            f"{name} a list", "Custom", {"defaults": _KEY, name: []}, (f"{CUSTOM}.{name}", "must be of type object")
        )
        for name in ("signerCertificates", "servingCertificates", "clientCertificates")
    ),
    _managed("defaults text", "Custom", {"defaults": "RSA"}, (f"{CUSTOM}.defaults", "must be of type object")),
    _managed("custom null", "Default", None),
    _managed("a category null", "Custom", {"defaults": _KEY, "signerCertificates": None}),
    _managed(
        "a category's key null",
        "Custom",
        {"defaults": _KEY, "signerCertificates": {"key": None}},
        (f"{CUSTOM}.signerCertificates", "should have at least 1 properties"),
    ),
    _managed("no mode", None, None, ("spec.certificateManagement.mode", "Required value")),
    _managed("Unmanaged", "Unmanaged", None),
    _managed("Default", "Default", None),
    _managed(
        "another mode",
        "Magic",
        None,
        (
            "spec.certificateManagement.mode",
            'Unsupported value: "Magic": supported values: "Unmanaged", "Default", "Custom"',
        ),
    ),
    _managed("Custom without custom", "Custom", None, ("spec.certificateManagement", CUSTOM_RULE)),
    *(
        _managed(f"{mode} with custom", mode, {"defaults": _KEY}, ("spec.certificateManagement", CUSTOM_RULE))
        for mode in ("Unmanaged", "Default")
    ),
    _managed("custom empty", "Custom", {}, (CUSTOM, "should have at least 1 properties")),
    _managed("no defaults", "Custom", {"signerCertificates": _KEY}, (f"{CUSTOM}.defaults", "Required value")),
    _managed("defaults empty", "Custom", {"defaults": {}}, (f"{CUSTOM}.defaults.key", "Required value")),
    _managed(
        "all categories",
        "Custom",
        {
            "defaults": _KEY,
            "signerCertificates": _KEY,
            "servingCertificates": {"key": ECDSA},
            "clientCertificates": {"key": ECDSA},
        },
    ),
    *(
        _managed(
            f"{name} empty",
            "Custom",
            {"defaults": _KEY, name: {}},
            (f"{CUSTOM}.{name}", "should have at least 1 properties"),
        )
        for name in ("signerCertificates", "servingCertificates", "clientCertificates")
    ),
    _managed(
        "a category's union",
        "Custom",
        {"defaults": _KEY, "clientCertificates": {"key": {"algorithm": "RSA"}}},
        (f"{CUSTOM}.clientCertificates.key", RSA_RULE),
    ),
)
