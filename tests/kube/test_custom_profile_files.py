"""Files with a custom profile: names of suites and groups, refused values, and values without an effect."""

from __future__ import annotations

import re

import pytest

from scanner.errors import InputError
from scanner.files.yaml_values import load
from scanner.kube import tls_profile
from scanner.kube.profile_catalogue import load_profile, profile_of_file
from scanner.kube.tls_profile import Profile
from scanner.tls.codepoints import TLS10, TLS12, TLS13
from scanner.tls.names import GO_SUITES, group_code, suite_code

MIXED = ("ECDHE-RSA-AES128-GCM-SHA256", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "TLS_AES_128_GCM_SHA256")


def custom(body: str, *, kind: str = "APIServer", release: str | None = None, file: str = "p.yaml") -> Profile:
    """The profile of an object whose ``custom`` is ``body``: its first line is line 6, indented by six."""
    lines = "".join(f"      {line}\n" for line in body.splitlines())
    text = f"kind: {kind}\nspec:\n  tlsSecurityProfile:\n    type: Custom\n    custom:\n{lines}"
    return profile_of_file(load(text.encode(), file), lambda type_: load_profile(type_, release=release))


def flow(minimum: str, *ciphers: str, more: str = "") -> str:
    return f"minTLSVersion: {minimum}\nciphers: [{', '.join(ciphers)}]\n{more}"


def test_both_kinds_of_names() -> None:
    profile = custom(flow("VersionTLS12", *MIXED), file="dir/my.yaml")
    assert profile.name == "custom (my.yaml)"
    assert profile.min_version == TLS12
    assert profile.suites == (0xC02F, 0xC030, 0x1301)
    assert profile.groups is None
    assert profile.source == "dir/my.yaml:6:7"


def test_the_documents_example_with_iana_names_is_taken_and_noted() -> None:
    names = ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384")
    profile = custom(flow("VersionTLS12", *names))
    assert profile.suites == (0xC02F, 0xC02C)
    assert f"a cluster drops these names, because it accepts only OpenSSL names: {', '.join(names)}" in profile.notes


def test_what_go_drops_is_kept_and_noted() -> None:
    dropped = ("DHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES256-SHA384", "TLS_AES_128_CCM_SHA256", "CAMELLIA128-SHA")
    profile = custom(flow("VersionTLS10", "ECDHE-RSA-AES128-GCM-SHA256", *dropped))
    assert profile.min_version == TLS10
    assert profile.suites == (0xC02F, 0x009E, 0xC028, 0x1304, 0x0041)
    assert f"Go's servers do not implement, and drop: {', '.join(dropped)}" in profile.notes
    assert "Go's servers also accept the three TLS 1.3 suites, whatever is configured" in profile.notes


def test_a_minimum_that_is_not_set_is_tls_12() -> None:
    profile = custom("ciphers: [ECDHE-RSA-AES128-GCM-SHA256]")
    assert profile.min_version == TLS12
    assert "minTLSVersion is not set, which means VersionTLS12" in profile.notes


@pytest.mark.parametrize("more", ["", "ciphers:\n", "ciphers: []\n"])
def test_tls_13_has_its_three_suites(more: str) -> None:
    profile = custom(f"minTLSVersion: VersionTLS13\n{more}")
    assert profile.min_version == TLS13
    assert profile.suites == (0x1301, 0x1302, 0x1303)


@pytest.mark.parametrize("kind", ["APIServer", "KubeletConfig", "OLSConfig"])
def test_ciphers_with_tls_13_are_refused(kind: str) -> None:
    with pytest.raises(InputError) as caught:
        custom("ciphers:\n  - TLS_AES_128_GCM_SHA256\nminTLSVersion: VersionTLS13", kind=kind)
    assert caught.value.message == (
        "p.yaml:6:7: spec.tlsSecurityProfile.custom.ciphers: "
        "Cipher suites cannot be configured when minTLSVersion is VersionTLS13. "
        "TLS 1.3 cipher suites are hardcoded by the Go runtime."
    )
    assert caught.value.hint == "remove ciphers, or write 'minTLSVersion: VersionTLS12'"


def test_duplicates_are_noted() -> None:
    name, iana = "ECDHE-RSA-AES128-GCM-SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
    profile = custom(flow("VersionTLS12", name, name, iana))
    assert profile.suites == (0xC02F,)
    assert profile.notes[:2] == (f"{name} is listed twice", f"{iana} is listed twice, also as {name}")


def test_groups() -> None:
    listed = ", ".join(tls_profile.GROUPS)
    profile = custom(f"minTLSVersion: VersionTLS13\ngroups: [{listed}]")
    assert profile.groups == (29, 23, 24, 25, 4588, 4587, 4589)
    assert profile.groups == tuple(map(group_code, tls_profile.GROUPS))


def test_groups_before_the_field_existed_have_no_effect() -> None:
    profile = custom("minTLSVersion: VersionTLS13\ngroups: [secp256r1]", release="4.22")
    assert profile.groups is None
    assert "groups has no effect: the release does not have the field" in profile.notes


def test_a_router_honours_tls_13_suites() -> None:
    profile = custom(flow("VersionTLS13", "TLS_AES_256_GCM_SHA384"), kind="IngressController")
    assert profile.suites == (0x1302,)
    assert profile.notes == ("groups is not set: each component uses its own, and they are not judged",)


def test_a_router_without_tls_13_suites_keeps_openssls() -> None:
    profile = custom(flow("VersionTLS12", "AES128-SHA"), kind="IngressController")
    assert profile.suites == (0x002F,)
    assert "no TLS 1.3 suite is listed, so HAProxy uses all of OpenSSL's, and TLS 1.3 stays enabled" in profile.notes


@pytest.mark.parametrize("kind", ["KubeletConfig", "HostedCluster", "OLSConfig"])
def test_no_server_of_gos_starts_without_a_suite_that_http2_requires(kind: str) -> None:
    with pytest.raises(InputError, match="no cipher suite that HTTP/2 requires"):
        custom(flow("VersionTLS12", "AES128-SHA"), kind=kind)


def test_a_router_needs_a_version() -> None:
    with pytest.raises(InputError, match=r"custom\.minTLSVersion: minTLSVersion is not set"):
        custom("ciphers: [AES128-SHA]", kind="IngressController")


def test_a_router_understands_exclusions() -> None:
    body = flow("VersionTLS12", "AES128-SHA", "AES256-SHA", "'!AES256-SHA'")
    assert custom(body, kind="IngressController").suites == (0x002F,)
    with pytest.raises(InputError, match="adhere cannot read OpenSSL's exclusion '!SHA1'"):
        custom(flow("VersionTLS12", "AES128-SHA", "'!SHA1'"), kind="IngressController")


WAY = "spec.tlsSecurityProfile.custom"
HTTP2 = "ECDHE-RSA-AES128-GCM-SHA256"
SUPPORTED = 'supported values: "VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"'
IGNORED = "is no cipher suite: OpenShift ignores it without an error"
REFUSED: dict[str, tuple[str, ...]] = {
    "empty": ("{}", "6:7: ciphers: no supported cipher suite found", "for example ECDHE-RSA-AES128-GCM-SHA256"),
    "no suites": (flow("VersionTLS12"), "7:16: ciphers: no supported cipher suite found", "list OpenSSL's names"),
    "only what Go has not": (
        flow("VersionTLS10", "DHE-RSA-AES128-GCM-SHA256", "AES256-SHA256"),
        "7:16: ciphers: no supported cipher suite found",
        "list OpenSSL's names",
    ),
    "nothing for HTTP/2": (
        flow("VersionTLS12", "ECDHE-RSA-AES256-GCM-SHA384", "TLS_AES_128_GCM_SHA256"),
        "7:16: ciphers: no cipher suite that HTTP/2 requires",
        "add ECDHE-RSA-AES128-GCM-SHA256 or ECDHE-ECDSA-AES128-GCM-SHA256",
    ),
    "unknown suite": (
        flow("VersionTLS12", HTTP2, "ECDHE-RSA-AES128-GCM-SHA265"),
        f"7:46: ciphers[1]: 'ECDHE-RSA-AES128-GCM-SHA265' {IGNORED}",
        "did you mean 'ECDHE-RSA-AES128-GCM-SHA256'?",
    ),
    "case": (
        flow("VersionTLS12", HTTP2.lower()),
        f"7:17: ciphers[0]: '{HTTP2.lower()}' {IGNORED}",
        f"did you mean '{HTTP2}'?",
    ),
    "a number": (flow("VersionTLS12", "'0x1301'"), f"7:17: ciphers[0]: '0x1301' {IGNORED}"),
    "a signal": (flow("VersionTLS12", "TLS_FALLBACK_SCSV"), f"7:17: ciphers[0]: 'TLS_FALLBACK_SCSV' {IGNORED}"),
    "an exclusion": (
        flow("VersionTLS12", "'!AES128-SHA'"),
        f"7:17: ciphers[0]: '!AES128-SHA' {IGNORED}",
        "did you mean 'AES128-SHA'?",
    ),
    "nonsense": (flow("VersionTLS12", "HIGH"), f"7:17: ciphers[0]: 'HIGH' {IGNORED}", "remove it"),
    "not a list": (f"minTLSVersion: VersionTLS12\nciphers: {HTTP2}", f"7:16: ciphers: must be a list, not '{HTTP2}'"),
    "not text": (flow("VersionTLS12", "17"), "7:17: ciphers[0]: 17 is not the name of a cipher suite"),
    "too many": (flow("VersionTLS12", *["AES128-SHA"] * 501), "7:16: ciphers: has 501 items, more than 500"),
    "unknown version": (
        flow("VersionTLS14", HTTP2),
        f"6:22: minTLSVersion: Unsupported value: 'VersionTLS14': {SUPPORTED}",
        "did you mean 'VersionTLS13'?",
    ),
    "another spelling": (
        flow("TLSv1.2", HTTP2),
        f"6:22: minTLSVersion: Unsupported value: 'TLSv1.2': {SUPPORTED}",
        "write VersionTLS12",
    ),
    "a number as version": (
        flow("1.3", HTTP2),
        f"6:22: minTLSVersion: Unsupported value: 1.3: {SUPPORTED}",
        "write VersionTLS13",
    ),
    "SSL 3": (
        flow("VersionSSL30", HTTP2),
        f"6:22: minTLSVersion: Unsupported value: 'VersionSSL30': {SUPPORTED}",
        "did you mean 'VersionTLS13'?",
    ),
    "unknown field": (
        flow("VersionTLS12", HTTP2, more="cipherSuites: []"),
        "8:7: cipherSuites: unknown field 'cipherSuites'",
        "did you mean 'ciphers'?",
    ),
    "curves": (
        flow("VersionTLS12", HTTP2, more="curves: [X25519]"),
        "8:7: curves: unknown field 'curves'",
        "the field is called groups",
    ),
    "no groups": (
        "minTLSVersion: VersionTLS13\ngroups: []",
        "7:15: groups: it has 0 groups, but 1 to 7 are allowed",
        "remove groups",
    ),
    "unknown group": (
        "minTLSVersion: VersionTLS13\ngroups: [X25519, X448]",
        "7:24: groups[1]: unknown group 'X448'",
        "use one of: X25519, secp256r1",
    ),
    "misspelt group": (
        "minTLSVersion: VersionTLS13\ngroups: [secp265r1]",
        "7:16: groups[0]: unknown group 'secp265r1'",
        "did you mean 'secp256r1'?",
    ),
    "another name of a group": (
        "minTLSVersion: VersionTLS13\ngroups: [prime256v1]",
        "7:16: groups[0]: unknown group 'prime256v1'",
        "write secp256r1",
    ),
    "a group twice": (
        "minTLSVersion: VersionTLS13\ngroups: [X25519, X25519]",
        "7:24: groups[1]: Duplicate value: 'X25519'",
        "remove it",
    ),
    "groups is no list": ("minTLSVersion: VersionTLS13\ngroups: X25519", "7:15: groups: must be a list, not 'X25519'"),
    "all at once": (
        flow("1.2", "AES", more="groups: [P-256]\nnonsense: 1"),
        (
            f"6:22: minTLSVersion: Unsupported value: 1.2: {SUPPORTED} (write VersionTLS12)\n"
            f"7:17: ciphers[0]: 'AES' {IGNORED} (remove it)\n"
            "8:16: groups[0]: unknown group 'P-256' (write secp256r1)\n"
            "9:7: nonsense: unknown field 'nonsense' (use one of: ciphers, minTLSVersion, groups)"
        ),
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what: str) -> None:
    body, said, *hints = REFUSED[what]
    with pytest.raises(InputError) as caught:
        custom(body)
    assert caught.value.message == re.sub(r"^(\d+:\d+: )", rf"p.yaml:\1{WAY}.", said, flags=re.MULTILINE)
    assert all(hint in caught.value.hint for hint in hints)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (flow("VersionTLS13"), "the list of ciphers is empty"),
        (flow("VersionTLS13", "AES128-SHA"), "no TLS 1.3 cipher suite is listed with VersionTLS13"),
        (flow("VersionTLS12"), "the list of ciphers is empty"),
        (
            flow("VersionTLS12", "TLS_AES_128_GCM_SHA256"),
            "only TLS 1.3 cipher suites are listed, and minTLSVersion is lower than VersionTLS13",
        ),
    ],
)
def test_refused_for_a_router(body: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        custom(body, kind="IngressController")
    assert caught.value.message == f"p.yaml:7:16: {WAY}.ciphers: {message}"


def test_go_suites_are_the_openshift_lists_without_what_go_lacks() -> None:
    listed = {code for release in ("4.21", "4.22", "4.23") for code in load_profile(f"old@{release}").suites}
    # Mapped by library-go although no shipped profile has it.
    assert listed & GO_SUITES == GO_SUITES - {suite_code("ECDHE-RSA-DES-CBC3-SHA")}
    assert set(load_profile("old@4.22").suites) == listed & GO_SUITES
