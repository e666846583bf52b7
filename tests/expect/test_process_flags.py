"""Flags of static pods, the kubelet's configuration and MicroShift's."""

from __future__ import annotations

import pytest

from scanner.config.component_catalogue import load_catalogue
from scanner.expect import Expectations
from scanner.expect.authority import Wishes, of_microshift
from scanner.expect.facts import Facts
from scanner.expect.partial_expectation import Partial
from scanner.expect.process_flags import (
    COMPONENT_BASE,
    ETCD,
    Flags,
    ProcessSettings,
    bounded,
    by_configuration,
    by_flags,
    groups_of,
    profile_of_process,
)
from scanner.kube.kinds import POD
from scanner.kube.kubelet import KubeletConfiguration
from scanner.kube.maybe import Unknown
from scanner.kube.pod import Pod
from scanner.kube.profile_catalogue import load_profile
from scanner.kube.tls_profile import Declared, Profile
from scanner.model.components import Catalogue
from scanner.model.expectation import Lever
from scanner.model.scan_policy import Policy, ScanPolicy
from scanner.tls.codepoints import TLS10, TLS12, TLS13
from scanner.tls.names import TLS13_SUITES, is_tls13
from scanner.values import replace
from tests.expect.declared_objects import made
from tests.expect.stories import endpoint, snapshot_of


def pod(*words: str) -> Pod:
    return Pod({"spec": {"containers": [{"command": list(words[:1]), "args": list(words[1:])}]}}, POD)


CASES: list[tuple[Flags, tuple[str, ...], ProcessSettings]] = [
    (COMPONENT_BASE, ("kube-apiserver",), ProcessSettings()),
    (COMPONENT_BASE, ("x", "--tls-min-version=VersionTLS13"), ProcessSettings(minimum="VersionTLS13")),
    (COMPONENT_BASE, ("x", "--tls-min-version", "VersionTLS13", "--v=2"), ProcessSettings(minimum="VersionTLS13")),
    (COMPONENT_BASE, ("x", "-tls-min-version=VersionTLS13"), ProcessSettings(minimum="VersionTLS13")),
    (COMPONENT_BASE, ("x", "--tls-min-version=a", "--tls-min-version=b"), ProcessSettings(minimum="b")),
    (COMPONENT_BASE, ("x", "--tls-cipher-suites=A, B,"), ProcessSettings(suites=("A", "B"))),
    (ETCD, ("etcd", "--cipher-suites=A", "--tls-cipher-suites=B"), ProcessSettings(suites=("A",))),
    (COMPONENT_BASE, ("x", "--tls-curve-preferences=23,29"), ProcessSettings(groups=("23", "29"))),
    (COMPONENT_BASE, ("x", "--tls-curve-preferences", "23"), ProcessSettings(groups=("23",))),
    (
        COMPONENT_BASE,
        ("x", "--tls-curve-preferences=23", "-tls-curve-preferences=a,"),
        ProcessSettings(groups=("23", "a", "")),
    ),
    (ETCD, ("etcd", "--tls-curve-preferences=23"), ProcessSettings()),
    (COMPONENT_BASE, ("sh", "-c", "exec x --tls-min-version=VersionTLS10"), ProcessSettings()),
]


@pytest.mark.parametrize(("flags", "words", "told"), CASES)
def test_flags(flags: Flags, words: tuple[str, ...], told: ProcessSettings) -> None:
    assert by_flags(pod(*words), flags) == told
    assert told.anything is bool(told.minimum or told.suites or told.groups)


def test_configuration() -> None:
    kubelet = KubeletConfiguration({"tlsMinVersion": "VersionTLS12", "tlsCipherSuites": ["A", 7]})
    assert by_configuration(kubelet) == ProcessSettings(minimum="VersionTLS12", suites=("A",))


GO_26 = "which is no group of Go 1.26"


@pytest.mark.parametrize(
    ("value", "written", "found"),
    [
        (None, (), ()),
        ([], (), ()),
        ([4588, 29, 23], ("4588", "29", "23"), (0x11EC, 0x1D, 0x17)),
        ([23, 23], ("23", "23"), "has '23' twice; no server starts with it"),
        ([23, 30], ("23", "30"), f"has '30', {GO_26}"),
        ([0], ("0",), f"has '0', {GO_26}"),
        ([65_536], ("65536",), f"has '65536', {GO_26}"),
        ([-23], ("-23",), GO_26),
        ([23, "29"], ("23", "'29'"), GO_26),
        ([True], ("True",), GO_26),
        (23.0, ("23.0",), GO_26),
    ],
)
def test_groups_are_go_s_numbers_and_no_other_value_is_dropped(
    value: object, written: tuple[str, ...], found: tuple[int, ...] | str
) -> None:
    assert by_configuration(KubeletConfiguration({"tlsCurvePreferences": value})).groups == written
    groups = groups_of(written, "x")
    if isinstance(found, str):
        assert isinstance(groups, Unknown)
        assert found in groups.reason
    else:
        assert groups == found


@pytest.mark.parametrize(
    ("text", "code"), [("0x17", 0x17), ("017", None), (" 23", None), ("", None), ("secp256r1", None)]
)
def test_a_number_is_as_go_reads_it(text: str, code: int | None) -> None:
    groups = groups_of([text], "x")
    assert (groups == (code,)) is (code is not None)


MODERN = (0x11EC, 0x1D, 0x17, 0x18)


@pytest.mark.parametrize(
    ("flag", "version", "enforced", "groups", "stated", "remark"),
    [
        ("23", "v1.36.3", False, (0x17,), (0x17,), ""),
        ("24,4588,23,29", "v1.36.3", False, MODERN, (0x18, 0x11EC, 0x17, 0x1D), ""),
        (
            "23,25",
            "v1.36.3",
            False,
            (0x17, 0x19),
            (0x17, 0x19),
            "(secp521r1): groups: enforced in the policy would forbid",
        ),
        ("23,25", "v1.36.3", True, (0x17,), (0x17, 0x19), "(secp521r1): they are not allowed"),
        ("25", "v1.36.3", True, MODERN, (0x19,), "(secp521r1): they are not allowed"),
        ("23,99", "v1.36.3", False, MODERN, "'99', which is no group", ""),
        ("23", "v1.35.9", False, MODERN, None, "exists since Kubernetes 1.36, but its release is v1.35.9"),
        ("23", "", False, (0x17,), (0x17,), ""),
        (None, "v1.36.3", False, MODERN, None, ""),
    ],
)
def test_groups_that_a_flag_states_are_required(
    flag: str | None,
    version: str,
    enforced: bool,
    groups: tuple[int, ...],
    stated: tuple[int, ...] | str | None,
    remark: str,
) -> None:
    words = ["kube-apiserver", *([f"--tls-curve-preferences={flag}"] if flag else [])]
    labels = {"labels": {"component": "kube-apiserver"}}
    server = made("Pod", "kube-system", "a", metadata=labels, spec={"containers": [{"name": "a", "command": words}]})
    policy = ScanPolicy(thresholds=Policy(groups="enforced" if enforced else "informational"))
    where = endpoint("StaticPod/kube-system/kube-apiserver:6443", {"pod": "kube-system/a", "node": "m"})
    found = Expectations(snapshot_of([server], version=version), load_catalogue("kubernetes"), policy).of(where)
    assert isinstance(found.profile, Profile)
    assert found.profile.groups == groups
    said = found.stated_groups
    if isinstance(stated, str):
        assert said is not None
        assert stated in said.unknown
    else:
        assert (said.codes if said else None) == stated
    assert said is None or said.setting == "Pod/kube-system/a --tls-curve-preferences"
    assert found.groups_configurable is (said is not None)
    assert any(remark in each for each in (*found.remarks, "" if not remark else "-"))
    reasons = [each.said for each in found.because if "curve" in each.field]
    assert all("groups secp" in each for each in reasons)
    assert bool(reasons) is (stated is not None)


@pytest.mark.parametrize("enforced", [False, True])
def test_etcd_has_no_setting_for_groups(*, enforced: bool) -> None:
    etcd = made("Pod", "kube-system", "etcd-m", spec={"containers": [{"name": "etcd", "command": ["etcd"]}]})
    policy = ScanPolicy(thresholds=Policy(groups="enforced" if enforced else "informational"))
    where = endpoint("StaticPod/kube-system/etcd:2379", {"pod": "kube-system/etcd-m", "node": "m"})
    found = Expectations(snapshot_of([etcd]), load_catalogue("kubernetes"), policy).of(where)
    assert (found.without_groups, found.groups_configurable) == ("etcd", False)
    assert any("etcd has no setting for groups" in each.said for each in found.because) is enforced


def known(told: ProcessSettings, version: str = "v1.34.0") -> Profile:
    found = profile_of_process(told, "Pod/x", version)
    assert isinstance(found, Profile)
    return found


def test_defaults_of_go() -> None:
    assert known(ProcessSettings()).min_version == TLS12
    now = {0xC02B, 0xC02F, 0xC02C, 0xC030, 0xCCA9, 0xCCA8, 0xC009, 0xC013, 0xC00A, 0xC014}
    assert now == {each for each in known(ProcessSettings(), "v1.30.0").suites if not is_tls13(each)}
    # Before Go 1.22 suites without forward secrecy were on.
    before = {0x009C, 0x009D, 0x002F, 0x0035, 0x000A, 0xC012}
    assert now | before == {each for each in known(ProcessSettings(), "v1.29.4").suites if not is_tls13(each)}


@pytest.mark.parametrize(("text", "version"), [("VersionTLS10", TLS10), ("VersionTLS13", TLS13)])
def test_versions(text: str, version: int) -> None:
    assert known(ProcessSettings(minimum=text)).min_version == version


def test_what_starts_no_server_is_unknown() -> None:
    for minimum in ("SSL", "TLS1.1", "TLSv1.3", "VersionTLS14", "versiontls12", "1.3"):
        assert isinstance(profile_of_process(ProcessSettings(minimum=minimum), "Pod/x", ""), Unknown)
    assert isinstance(profile_of_process(ProcessSettings(suites=("TLS_NO_SUCH",)), "Pod/x", ""), Unknown)


def test_suites_that_go_lacks_are_left_out_and_named() -> None:
    told = known(
        ProcessSettings(suites=("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256"))
    )
    assert set(told.suites) == {0xC02F, 0x1301, 0x1302, 0x1303}
    assert told.notes == ("Pod/x lists 'TLS_DHE_RSA_WITH_AES_128_GCM_SHA256', which Go does not support",)


def on_microshift(release: str, *suites: str) -> Declared:
    version = made("ConfigMap", "kube-public", "microshift-version", data={"version": release})
    file = made("MicroShiftConfig", None, "node", "microshift/v1", apiServer={"tls": {"cipherSuites": list(suites)}})
    found = of_microshift(snapshot_of([version, file]), Wishes())
    assert found is not None
    assert found.fixed is not None
    return found.fixed


def test_microshift_has_each_suite_of_tls13_once_and_remarks_on_what_it_refuses() -> None:
    listed = ("TLS_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_RSA_WITH_AES_128_CBC_SHA")
    found = on_microshift("4.21.3", *listed)
    assert isinstance(found.profile, Profile)
    assert found.profile.suites == (*TLS13_SUITES, 0xC02F)
    assert found.remarks == ("MicroShift does not start with the cipher suite 'TLS_RSA_WITH_AES_128_CBC_SHA'",)


def test_of_a_release_that_is_not_known_no_list_of_suites_means_anything() -> None:
    found = on_microshift("nightly", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256")
    assert isinstance(found.profile, Unknown)


def test_a_flag_is_changed_at_the_container_of_the_component() -> None:
    containers = [{"name": "beside"}, {"name": "etcd", "command": ["etcd", "--cipher-suites=A"]}]
    etcd = made(
        "Pod", "kube-system", "etcd-m", metadata={"labels": {"component": "etcd"}}, spec={"containers": containers}
    )
    where = endpoint("Pod/kube-system/etcd-m:2379", {"pod": "kube-system/etcd-m", "node": "m"})
    found = Expectations(snapshot_of([etcd]), load_catalogue("kubernetes"), ScanPolicy()).of(where)
    assert found.lever is not None
    assert found.lever.container == "etcd"


# --- Beside the profile that is required -----------------------------------------------------------------------------

FLOOR = replace(load_profile("mozilla/intermediate"), name="floor", suites=(*TLS13_SUITES, 0xC02B, 0xC02F, 0xC030))
GCM, CBC, CBC256 = (f"TLS_{each}" for each in ("ECDHE_RSA_WITH_AES_128_GCM_SHA256", "RSA_WITH_AES_128_CBC_SHA",
                                               "RSA_WITH_AES_256_CBC_SHA"))  # fmt: skip
ONE = "0303 1301 1302 1303 C02F"


@pytest.mark.parametrize(
    ("minimum", "suites", "allowed", "weaker", "remarks"),
    [
        ("", (), "", "7 more cipher suites", 0),
        ("VersionTLS13", (), "0304 1301 1302 1303", "", 0),
        ("VersionTLS12", (GCM,), ONE, "", 0),
        ("", (GCM, CBC), ONE, "1 more cipher suite", 0),
        ("VersionTLS10", (GCM, CBC, CBC256), ONE, "TLSv1 and 2 more cipher suites", 0),
        ("", (CBC,), "", "1 more cipher suite", 1),  # none in common
        ("SSLv3.5", (), "", "", 1),
        ("VersionTLS12", (GCM, "NONE"), ONE, "", 1),
    ],
)
def test_a_process_is_held_to_what_is_stricter_and_what_is_weaker_is_the_cause(
    minimum: str, suites: tuple[str, ...], allowed: str, weaker: str, remarks: int
) -> None:
    told, lever = ProcessSettings(minimum=minimum, suites=suites), Lever(where="Pod/a/b", minimum="--m")
    before = Partial(endpoint=endpoint("Pod/a/b:1", {}), profile=FLOOR, decided_by="--profile")
    facts = Facts(snapshot_of([]), Catalogue(), ScanPolicy(), (), Wishes())
    found = bounded(facts, before, told, "Pod/a/b", "--m", lever, "v1.34.0")
    assert isinstance(found.profile, Profile)
    limits = " ".join(f"{each:04X}" for each in (found.profile.min_version, *found.profile.suites))
    name = "floor, tightened" if allowed else "floor"
    assert (limits if allowed else "", found.profile.name) == (allowed, name)
    assert allowed or found.profile == FLOOR
    text = told.said if told.anything else "not set, which means Go's defaults"
    assert [each.said for each in found.because] == [f"{text}: weaker than floor, with {weaker}" if weaker else text]
    assert found.lever == replace(lever, told=(told.said if told.anything else "not set") if weaker else "")
    assert len(found.remarks) == remarks
    unknown = replace(before, profile=Unknown("not read"))
    assert bounded(facts, unknown, told, "Pod/a/b", "--m", lever, "v1.34.0") == replace(unknown, lever=lever)


@pytest.mark.parametrize("static", [True, False])
def test_where_flags_are_set(static: bool) -> None:
    annotations = {"kubernetes.io/config.mirror": "1"} if static else {}
    metadata = {"labels": {"component": "etcd"}, "annotations": annotations}
    spec = {"nodeName": "m", "containers": [{"name": "main", "command": ["etcd", "--tls-min-version=TLS1.3"]}]}
    etcd = made("Pod", "kube-system", "etcd-m", metadata=metadata, spec=spec)
    where = endpoint(
        "Deployment/kube-system/etcd:2379", {"node": "m", **({} if static else {"pod": "kube-system/etcd-m"})}
    )
    found = Expectations(snapshot_of([etcd]), load_catalogue("kubernetes"), ScanPolicy()).of(where)
    assert found.lever == Lever(
        where="Pod/kube-system/etcd-m" if static else "Deployment/kube-system/etcd",
        minimum="--tls-min-version",
        suites="--cipher-suites",
        spelling="etcd",
        container="main",
        files=("/etc/kubernetes/manifests/etcd.yaml",) if static else (),
        others=("ConfigMap/kube-system/kubeadm-config",) if static else (),
    )
    elsewhere = replace(where, node="other", pod=None)
    found = Expectations(snapshot_of([etcd]), load_catalogue("kubernetes"), ScanPolicy()).of(elsewhere)
    assert "the flags of etcd could not be read: its pod was not found" in found.remarks
