"""A profile in an object, as each of its readers interprets it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.kube.maybe import Unknown
from scanner.kube.objects import Fields
from scanner.kube.profile_catalogue import load_profile
from scanner.kube.tls_profile import (
    HYPERSHIFT,
    INGRESS_OPERATOR,
    INHERITED_BY_INGRESS,
    LIBRARY_GO,
    MACHINE_CONFIG,
    MICROSHIFT_INGRESS,
    OTHER,
    Declared,
    Profile,
    Reader,
    declared,
    nested_profiles,
)
from scanner.tls.codepoints import TLS12, TLS13
from scanner.tls.names import TLS13_SUITES, suite_code


def read(said: object, reader: Reader = LIBRARY_GO) -> Declared:
    return declared(
        Fields({"spec": {"tlsSecurityProfile": said}}), ("spec", "tlsSecurityProfile"), reader, "Object/x", load_profile
    )


def profile(found: Declared) -> Profile:
    assert isinstance(found.profile, Profile), found
    return found.profile


READERS = (
    *(LIBRARY_GO, INGRESS_OPERATOR, INHERITED_BY_INGRESS, MACHINE_CONFIG, HYPERSHIFT, MICROSHIFT_INGRESS, OTHER),
)
INTERMEDIATE, INHERITED, UNKNOWN = "openshift/4.23/intermediate", None, "unknown"

DEFAULTS: list[tuple[Reader, object, str | None]] = [
    (LIBRARY_GO, None, INTERMEDIATE),
    (LIBRARY_GO, {"type": ""}, INTERMEDIATE),
    (LIBRARY_GO, {}, INTERMEDIATE),
    (LIBRARY_GO, {"type": "Custom"}, INTERMEDIATE),
    (LIBRARY_GO, {"type": "Custom", "custom": {}}, INTERMEDIATE),
    (LIBRARY_GO, {"type": "Fancy"}, UNKNOWN),
    (INGRESS_OPERATOR, None, INHERITED),
    (INGRESS_OPERATOR, {"type": ""}, INHERITED),
    (INGRESS_OPERATOR, {"type": "Custom"}, UNKNOWN),
    (INHERITED_BY_INGRESS, None, INTERMEDIATE),
    (MACHINE_CONFIG, None, INHERITED),
    (MACHINE_CONFIG, {"type": ""}, INTERMEDIATE),
    (MACHINE_CONFIG, {"type": "Custom"}, INTERMEDIATE),
    (MACHINE_CONFIG, {"type": "Fancy"}, INTERMEDIATE),
    (HYPERSHIFT, None, INTERMEDIATE),
    (HYPERSHIFT, {"type": ""}, UNKNOWN),
    (HYPERSHIFT, {"type": "Custom"}, UNKNOWN),
    (MICROSHIFT_INGRESS, None, INTERMEDIATE),
]
"""The defaults of each reader for missing values (openshift, "Defaulting rules, per consumer")."""


@pytest.mark.parametrize(("reader", "said", "means"), DEFAULTS, ids=lambda each: getattr(each, "name", repr(each)))
def test_what_is_missing(reader: Reader, said: object, means: str | None) -> None:
    found = read(said, reader).profile
    if isinstance(found, Unknown):
        assert means == UNKNOWN
    else:
        assert (found.name if found else None) == means


@pytest.mark.parametrize("type_", ["Old", "Intermediate", "Modern"])
@pytest.mark.parametrize("reader", READERS, ids=lambda each: each.name)
def test_named(reader: Reader, type_: str) -> None:
    found = read({"type": type_, type_.lower(): {}}, reader)
    assert found.profile == load_profile(type_)
    assert (found.said, found.remarks) == (type_, ())


def custom(*ciphers: object, minimum: object = "VersionTLS12", **more: object) -> dict[str, Any]:
    return {"type": "Custom", "custom": {"ciphers": list(ciphers), "minTLSVersion": minimum, **more}}


def test_custom() -> None:
    found = read(custom("ECDHE-RSA-AES128-GCM-SHA256", "AES128-SHA"))
    assert profile(found).name == "custom (Object/x)"
    assert profile(found).source == "Object/x spec.tlsSecurityProfile.custom"
    assert profile(found).suites == (0xC02F, 0x002F)
    assert (profile(found).min_version, profile(found).groups) == (TLS12, None)
    assert not found.spelt


@pytest.mark.parametrize("name", ["", "P-256", "X25519MLKEM1024"])
def test_with_an_unknown_group_none_is_required(name: str) -> None:
    found = profile(read(custom("ECDHE-RSA-AES128-GCM-SHA256", groups=["X25519", name])))
    assert found.groups is None
    assert any("which is unknown: the groups are not judged" in each for each in found.notes), found.notes


def test_names_that_library_go_does_not_map() -> None:
    found = read(custom("ECDHE-RSA-AES128-GCM-SHA256", "TLS_RSA_WITH_AES_128_CBC_SHA", "TLS_AES_128_GCM_SHA256"))
    assert found.spelt == {0x002F}


def test_a_suite_by_both_names_is_mapped() -> None:
    assert not read(custom("AES128-SHA", "TLS_RSA_WITH_AES_128_CBC_SHA")).spelt


REFUSALS = {
    "TLS 1.3 suites with VersionTLS13": (custom("TLS_AES_128_GCM_SHA256", minimum="VersionTLS13"), "cannot be conf"),
    "no ciphers": (custom(), "no cipher suite"),
    "no HTTP/2": (custom("AES128-SHA"), "HTTP/2"),
    "only TLS 1.3": (custom("TLS_AES_128_GCM_SHA256"), "HTTP/2"),
    "unknown": (custom("ECDHE-RSA-AES128-GCM-SHA256", "RC5"), "'RC5' is no cipher suite"),
    "no text": (custom("ECDHE-RSA-AES128-GCM-SHA256", 7), "7 is not the name of a cipher suite"),
    "version": (custom("ECDHE-RSA-AES128-GCM-SHA256", minimum="TLS1.2"), "write VersionTLS12"),
    "curves": (custom("ECDHE-RSA-AES128-GCM-SHA256", curves=[]), "the field is called groups"),
    "group": (custom("ECDHE-RSA-AES128-GCM-SHA256", groups=["P-256"]), "write secp256r1"),
}


@pytest.mark.parametrize(("said", "remark"), REFUSALS.values(), ids=REFUSALS)
def test_what_admission_refuses_is_a_remark(said: dict[str, Any], remark: str) -> None:
    found = read(said)
    assert any(remark in each and each.startswith("admission refuses: Object/x: ") for each in found.remarks), found
    assert found.profile is not None


def test_go_speaks_its_three_with_version_tls13() -> None:
    found = profile(read({"type": "Custom", "custom": {"minTLSVersion": "VersionTLS13"}}))
    assert (found.min_version, found.suites) == (TLS13, TLS13_SUITES)


ROUTER = {
    "TLS 1.3 with its suites": (custom("TLS_AES_128_GCM_SHA256", minimum="VersionTLS13"), None),
    "TLS 1.3 without": (custom("AES128-SHA", minimum="VersionTLS13"), "no TLS 1.3 cipher suite"),
    "nothing": (custom(), "is empty"),
    "TLS 1.2 with suites of 1.3 only": (custom("TLS_AES_128_GCM_SHA256"), "only TLS 1.3"),
    "no version": ({"type": "Custom", "custom": {"ciphers": ["AES128-SHA"]}}, "minTLSVersion is not set"),
    "no name": (custom("AES128-SHA", "@STRENGTH"), "does not look like the name"),
    "a set": (custom("AES128-SHA", "HIGH"), "the suites that OpenSSL selects for HIGH are unknown"),
    "an exclusion": (custom("AES128-SHA", "AES256-SHA", "!AES128-SHA"), None),
    "an exclusion of many": (custom("AES128-SHA", "!SHA1"), "cannot read OpenSSL's exclusion '!SHA1'"),
}


@pytest.mark.parametrize(("said", "reason"), ROUTER.values(), ids=ROUTER)
def test_what_the_ingress_operator_admits(said: dict[str, Any], reason: str | None) -> None:
    found = read(said, INGRESS_OPERATOR).profile
    assert found is not None
    if isinstance(found, Unknown):
        assert reason is not None
        assert reason in found.reason
    else:
        assert reason is None


def test_an_exclusion_takes_out() -> None:
    assert profile(read(custom("AES128-SHA", "AES256-SHA", "!AES128-SHA"), INGRESS_OPERATOR)).suites == (
        suite_code("AES256-SHA"),
    )


def test_groups_need_a_release_that_has_them() -> None:
    said = custom("ECDHE-RSA-AES128-GCM-SHA256", groups=["X25519"])
    assert profile(read(said)).groups == (0x001D,)
    older = declared(
        Fields({"x": said}), ("x",), LIBRARY_GO, "Object/x", lambda type_: load_profile(type_, release="4.22")
    )
    assert profile(older).groups is None


def test_hundreds_of_complaints_are_bounded() -> None:
    assert len(read(custom(*(f"no{number}" for number in range(400)))).remarks) <= 20


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=8)
    | st.sampled_from(["Old", "Custom", "VersionTLS13"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["type", "custom", "ciphers", "minTLSVersion", "groups", "old", "x"]), inner)
    ),
    max_leaves=20,
)


@given(said=JSON, reader=st.sampled_from(READERS))
def test_whatever_it_says_somebody_makes_something_of_it(said: object, reader: Reader) -> None:
    found = read(said, reader)
    assert found.said
    assert found.profile is None or isinstance(found.profile, Profile | Unknown)


def test_profiles_are_found_at_any_depth_of_a_spec() -> None:
    """The outermost first, and none inside of another; a deep one is not looked for."""
    old, modern = {"type": "Old", "tlsSecurityProfile": {}}, {"type": "Modern"}
    deep: dict[str, Any] = {"tlsSecurityProfile": modern}
    for _ in range(8):
        deep = {"a": deep}
    spec = {
        "servers": [{"name": "a"}, {"tls": {"tlsSecurityProfile": modern}}],
        "tlsSecurityProfile": old,
        "text": {"tlsSecurityProfile": "Modern"},
        "inner": deep["a"]["a"],
        "deep": deep["a"],
    }
    found = [(each.type, each.steps) for each in nested_profiles(Fields({"spec": spec, "tlsSecurityProfile": old}))]
    assert found == [
        ("Old", ("spec", "tlsSecurityProfile")),
        ("Modern", ("spec", "servers", 1, "tls", "tlsSecurityProfile")),
        ("Modern", ("spec", "inner", *("a",) * 6, "tlsSecurityProfile")),
    ]
    assert list(nested_profiles(Fields({"spec": [{"tlsSecurityProfile": "x"}, 7]}))) == []
