"""Flags of static pods, the kubelet's configuration and MicroShift's."""

from __future__ import annotations

import pytest

from scanner.config.component_catalogue import load_catalogue
from scanner.expect import Expectations
from scanner.expect.authority import Wishes, of_microshift
from scanner.expect.process_flags import (
    COMPONENT_BASE,
    ETCD,
    Flags,
    ProcessSettings,
    by_configuration,
    by_flags,
    profile_of_process,
)
from scanner.kube.kinds import POD
from scanner.kube.kubelet import KubeletConfiguration
from scanner.kube.maybe import Unknown
from scanner.kube.pod import Pod
from scanner.kube.tls_profile import Declared, Profile
from scanner.model.scan_policy import ScanPolicy
from scanner.tls.codepoints import TLS10, TLS12, TLS13
from scanner.tls.names import TLS13_SUITES, is_tls13
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
    (COMPONENT_BASE, ("sh", "-c", "exec x --tls-min-version=VersionTLS10"), ProcessSettings()),
]


@pytest.mark.parametrize(("flags", "words", "told"), CASES)
def test_flags(flags: Flags, words: tuple[str, ...], told: ProcessSettings) -> None:
    assert by_flags(pod(*words), flags) == told
    assert told.anything is bool(told.minimum or told.suites)


def test_configuration() -> None:
    kubelet = KubeletConfiguration({"tlsMinVersion": "VersionTLS12", "tlsCipherSuites": ["A", 7]})
    assert by_configuration(kubelet) == ProcessSettings(minimum="VersionTLS12", suites=("A",))


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
