from __future__ import annotations

import shlex
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.judge import remediation
from scanner.model.endpoint import Owner
from scanner.model.expectation import Because, Expectation, Lever, StatedGroups
from scanner.model.observation import OTHER_EXTENSIONS, WITH_ALPN, Attempt
from scanner.tls.codepoints import TLS12, TLS13, VERSIONS
from scanner.tls.names import version_code
from scanner.values import replace
from tests.judge.cases import BECAUSE_OBJECT, ENDPOINT, PROFILE


@pytest.mark.parametrize(
    ("fields", "target"),
    [
        ({}, "tls://127.0.0.1:443#a.example"),
        ({"server_name": None}, "tls://127.0.0.1:443"),
        ({"transport": "smtp", "port": 25, "server_name": None}, "smtp://127.0.0.1:25"),
        ({"address": "::1"}, "'tls://[::1]:443#a.example'"),
        ({"server_name": "a; reboot"}, "'tls://127.0.0.1:443#a; reboot'"),
    ],
)
def test_target(fields: dict[str, Any], target: str) -> None:
    assert remediation.target(replace(ENDPOINT, **fields)) == target


@given(name=st.text(min_size=1, max_size=20))
def test_a_hostile_server_name_stays_one_word_of_the_shell(name: str) -> None:
    command = remediation.ask(replace(ENDPOINT, server_name=name))
    assert shlex.split(command) == ["adhere", "ask", f"tls://127.0.0.1:443#{name}"]


def test_ask_names_versions_suites_and_groups() -> None:
    assert remediation.ask(ENDPOINT, 0x0303, suites=(0x002F, 0xFAFA)) == (
        "adhere ask tls://127.0.0.1:443#a.example --version 1.2 --suites TLS_RSA_WITH_AES_128_CBC_SHA,0xFAFA"
    )
    assert remediation.ask(ENDPOINT, 0x0304, groups=(0x0019,)).endswith("--version 1.3 --groups secp521r1")


OTHER = f"TLSv1.2{OTHER_EXTENSIONS}"
SELECTED = "TLSv1.2 TLS_RSA_WITH_AES_128_CBC_SHA"


@pytest.mark.parametrize(
    ("attempts", "options"),
    [
        ({}, ""),
        ({"TLSv1.2": SELECTED}, ""),
        ({OTHER: SELECTED}, " --extensions other"),
        ({OTHER + WITH_ALPN: f"{SELECTED} secp256r1"}, " --extensions other --alpn h2,http/1.1"),
        ({OTHER + WITH_ALPN: SELECTED, OTHER: SELECTED}, " --extensions other"),
        ({f"TLSv1.2 suites{WITH_ALPN}": SELECTED}, " --alpn h2,http/1.1"),
        ({OTHER + WITH_ALPN: SELECTED, "TLSv1.2": SELECTED}, ""),
        ({OTHER + WITH_ALPN: SELECTED, "TLSv1.2": f"{SELECTED}256"}, " --extensions other --alpn h2,http/1.1"),
        ({OTHER + WITH_ALPN: "alert 40 handshake_failure", "TLSv1.2": SELECTED}, ""),
    ],
)
def test_ask_has_the_extensions_without_which_nothing_was_accepted(attempts: dict[str, str], options: str) -> None:
    made = [Attempt(offer=offer, reply=reply, seconds=0.1) for offer, reply in attempts.items()]
    command = remediation.ask(ENDPOINT, TLS12, suites=(0x002F, 0x0035), attempts=made)
    assert command.partition("_256_CBC_SHA")[2] == options


@pytest.mark.parametrize("version", VERSIONS)
def test_ask_spells_versions_as_it_reads_them(version: int) -> None:
    spelt = remediation.ask(ENDPOINT, version).split()[-1]
    assert version_code(spelt) == version


def test_scan() -> None:
    assert remediation.scan(ENDPOINT) == "adhere scan tls://127.0.0.1:443#a.example"


def test_scan_under_other_names_and_none() -> None:
    assert remediation.scan_as(ENDPOINT, ["nobody.example", None, "nobody.example"]) == (
        "adhere scan tls://127.0.0.1:443#nobody.example tls://127.0.0.1:443"
    )


def test_a_request_for_another_name_and_one_without_tls() -> None:
    resolved = "--resolve a.example:443:127.0.0.1 -H 'Host: b.example' https://a.example:443/"
    assert remediation.head(ENDPOINT, "b.example") == f"curl -gskI --http1.1 {resolved}"
    assert remediation.head(ENDPOINT, "b.example", http="h2") == f"curl -gskI --http2 {resolved}"
    assert remediation.head(ENDPOINT, "a.example", port=8080, path="/x?y=1;z") == (
        "curl -gsI --http1.1 --resolve a.example:8080:127.0.0.1 'http://a.example:8080/x?y=1;z'"
    )
    nameless = replace(ENDPOINT, server_name=None, address="::1")
    assert remediation.head(nameless, "b.example") == "curl -gskI --http1.1 -H 'Host: b.example' 'https://[::1]:443/'"


@pytest.mark.parametrize("path", ["x", "/a b", "/\n", "/\x1b[2J", "/" + "a" * 2000])
def test_a_path_that_is_none_is_not_in_the_command(path: str) -> None:
    """As none is sent."""
    assert remediation.head(ENDPOINT, "a.example", port=80, path=path).endswith(" http://a.example:80/")


def test_a_client_that_nobody_trusts() -> None:
    made, shown = remediation.with_untrusted_certificate(ENDPOINT).split(" && ")
    assert shlex.split(made)[:3] == ["openssl", "req", "-x509"]
    assert shown == (
        "openssl s_client -connect 127.0.0.1:443 -servername a.example -key untrusted.key -cert untrusted.pem"
    )
    assert " -noservername " in remediation.with_untrusted_certificate(replace(ENDPOINT, server_name=None))


DECIDES = replace(BECAUSE_OBJECT, decides=True)
COMPONENT = replace(ENDPOINT, owner=Owner(kind="Deployment", namespace="shop", name="web"))
FLAGS = Lever(
    where="Pod/kube-system/etcd-cp",
    container="etcd",
    minimum="--tls-min-version",
    suites="--cipher-suites",
    spelling="etcd",
    files=("/etc/kubernetes/manifests/etcd.yaml",),
    others=("ConfigMap/kube-system/kubeadm-config",),
    told="TLS1.1, 1 cipher suite",
)
APISERVER = Lever(where="APIServer/cluster", field="spec.tlsSecurityProfile", applied_by="etcd")
BUG = f"adhere explain {shlex.quote(ENDPOINT.id)} --bug --results DIR"


def expectation(lever: Lever | None = None, **fields: Any) -> Expectation:  # noqa: ANN401
    return Expectation(**{"profile": PROFILE, "because": (DECIDES,), "lever": lever, **fields})


def test_without_a_known_setting_the_fix_names_the_workload_and_what_requires_it() -> None:
    assert remediation.minimum(COMPONENT, expectation(), TLS12) == (
        "set the minimum version to TLSv1.2 in the configuration of Deployment/shop/web;"
        " APIServer/cluster spec.tlsSecurityProfile requires it"
    )
    layered = remediation.minimum(COMPONENT, expectation(standing="layered"), TLS12)
    assert layered.endswith("add an override with its justification to the --policy file")


def test_the_step_that_decided_is_named() -> None:
    """Neither a release nor what was beaten nor a user's namespace requires anything."""
    release = Because(source="ClusterVersion/version", field="status.desired.version", said="4.22.3")
    decided = Because(source="KubeletConfig/workers", field="spec.tlsSecurityProfile", said="Old", decides=True)
    steps = (release, BECAUSE_OBJECT, decided, replace(release, field="x"))
    assert remediation.required_by(expectation(because=steps)) == "KubeletConfig/workers spec.tlsSecurityProfile"
    assert remediation.required_by(expectation(because=(release,))) == ""


@pytest.mark.parametrize(("source", "named"), [("--profile", False), ("pol.yaml:5:3", True), ("targets.txt:3", True)])
def test_a_policy_file_is_named_and_the_command_line_is_not(source: str, *, named: bool) -> None:
    asked = replace(DECIDES, source=source, field="overrides")
    fix = remediation.minimum(COMPONENT, expectation(because=(asked,)), TLS12)
    assert fix.endswith(f"; {source} overrides requires it" if named else "in the configuration of Deployment/shop/web")


def test_a_flag_is_written_for_its_program_with_container_file_and_what_it_says_now() -> None:
    place = (
        "for container etcd of Pod/kube-system/etcd-cp (/etc/kubernetes/manifests/etcd.yaml on its node),"
        " and in ConfigMap/kube-system/kubeadm-config"
    )
    by_user = expectation(FLAGS, because=(replace(DECIDES, source="--profile", field=""),))
    assert remediation.minimum(ENDPOINT, by_user, TLS12) == (
        f"set --tls-min-version=TLS1.2 {place}; the current value is TLS1.1, 1 cipher suite"
    )
    assert remediation.suites(ENDPOINT, by_user, (0x1301, 0xC02F, 0xC030)) == (
        "set --cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"
        f" {place}; the current value is TLS1.1, 1 cipher suite"
    )
    assert remediation.suites(ENDPOINT, by_user, (0x1301,)).startswith("set --tls-min-version=TLS1.3 ")
    assert remediation.groups(ENDPOINT, by_user, (0x001D,)) == (
        "Pod/kube-system/etcd-cp has no setting for groups: the Go release of its build decides"
    )


def test_groups_are_a_flag_of_kubernetes_from_one_release_on() -> None:
    pod = "Pod/kube-system/kube-apiserver-cp"
    flags = Lever(
        where=pod, minimum="--tls-min-version", suites="x", spelling="component-base", container="kube-apiserver"
    )
    since = "(Kubernetes 1.36 or later; earlier releases have no setting for groups)"
    assert remediation.groups(ENDPOINT, expectation(flags), (0x11EC, 0x001D, 0x0017)) == (
        f"set --tls-curve-preferences=4588,29,23 for container kube-apiserver of {pod} {since}"
    )
    kubelet = Lever(where="the kubelet of Node/w", minimum="tlsMinVersion", suites="x", spelling="component-base")
    assert remediation.groups(ENDPOINT, expectation(kubelet), (0x001D, 0x0017)) == (
        f"set tlsCurvePreferences: [29,23] for the kubelet of Node/w {since}"
    )
    router = expectation(Lever(where="IngressController/default", field="spec.tlsSecurityProfile"))
    assert "curve" not in remediation.groups(ENDPOINT, router, (0x001D,))


def test_groups_that_are_set_already_are_not_recommended() -> None:
    flags = Lever(where="Pod/x", minimum="--tls-min-version", suites="x", spelling="component-base")
    stated = StatedGroups(setting="Pod/x --tls-curve-preferences", codes=(0x0017,))
    owed = replace(expectation(flags), stated_groups=stated)
    already = (
        "Pod/x --tls-curve-preferences allows only the expected groups already: restart the process if it is older"
    )
    assert remediation.groups(ENDPOINT, owed, (0x001D, 0x0017)) == already
    assert remediation.groups(ENDPOINT, owed, (0x001D,)).startswith("set --tls-curve-preferences=29 for Pod/x")
    unknown = replace(owed, stated_groups=replace(stated, codes=(), unknown="x"))
    assert remediation.groups(ENDPOINT, unknown, (0x001D,)).startswith("set --tls-curve-preferences=29 for Pod/x")
    assert remediation.post_quantum(ENDPOINT, owed).endswith(": add 4588 to Pod/x --tls-curve-preferences")
    hybrid = replace(owed, stated_groups=replace(stated, codes=(0x11EC,)))
    assert remediation.post_quantum(ENDPOINT, hybrid).startswith(
        "Pod/x --tls-curve-preferences has it already: restart"
    )


def test_flags_that_say_it_already_ask_for_a_restart() -> None:
    kubelet = Lever(where="the kubelet of Node/w", minimum="tlsMinVersion", suites="x", spelling="component-base")
    fix = remediation.minimum(ENDPOINT, expectation(kubelet), TLS13)
    assert fix == (
        "set tlsMinVersion: VersionTLS13 for the kubelet of Node/w; if it is already set, restart the process;"
        " APIServer/cluster spec.tlsSecurityProfile requires it"
    )


@pytest.mark.parametrize("adherence", ["StrictAllComponents", "LegacyAdheringComponentsOnly"])
def test_what_an_object_says_already_is_looked_for_by_doctor_and_a_bug_comes_last(adherence: str) -> None:
    """Under legacy adherence too: of what its operator configures, nobody can set anything."""
    fix = remediation.minimum(ENDPOINT, expectation(APISERVER, standing="platform", adherence=adherence), TLS12)
    assert fix == (
        "APIServer/cluster spec.tlsSecurityProfile requires it already: run 'adhere doctor etcd', which follows the"
        f" profile from there to the process; if it finds no fault, report a bug in the component ({BUG})"
    )


def test_what_nothing_binds_is_told_by_what_it_would_be() -> None:
    loose = expectation(
        APISERVER, standing="platform", binding="not-enforced", adherence="LegacyAdheringComponentsOnly"
    )
    assert remediation.minimum(ENDPOINT, loose, TLS12) == (
        "APIServer/cluster spec.tlsSecurityProfile is not enforced for this component;"
        " spec.tlsAdherence: StrictAllComponents would enforce it"
    )


def test_what_is_only_assumed_or_overridden_names_the_field_that_it_would_come_from() -> None:
    assumed = expectation(APISERVER, because=(replace(DECIDES, source="--profile", field=""),))
    assert remediation.minimum(ENDPOINT, assumed, TLS13) == (
        "set the minimum version to TLSv1.3 in spec.tlsSecurityProfile of APIServer/cluster"
    )
    gateway = Lever(where="Gateway/edge/front", field="spec.listeners[].tls.options", others=("its controller",))
    assert remediation.suites(ENDPOINT, expectation(gateway), (0x1301,)) == (
        "allow only the expected suites in spec.listeners[].tls.options of Gateway/edge/front, or in its controller;"
        " APIServer/cluster spec.tlsSecurityProfile requires it"
    )


def test_an_object_without_an_operator_of_ours_has_a_reader() -> None:
    proxy = Lever(where="APIServer/cluster", field="spec.x")
    assert remediation.minimum(ENDPOINT, expectation(proxy), TLS12).endswith("that its controller applied it")


def test_the_client_certificate_is_required_by_what_says_so() -> None:
    """The cluster's profile says nothing of client certificates."""
    source = "component catalogue etcd/client"
    asked = expectation(APISERVER, client_source=source, standing="platform")
    assert remediation.client_certificate(ENDPOINT, asked, "required").startswith(f"{source} requires it already: ")
    flags = remediation.client_certificate(ENDPOINT, expectation(FLAGS, client_source=source), "required")
    assert flags.startswith("set --client-cert-auth=true for container etcd of Pod/kube-system/etcd-cp (")
    assert flags.endswith(f": {source} expects that a client certificate is required")
    plain = remediation.client_certificate(COMPONENT, expectation(client_source="Gateway/a/b"), "required")
    assert plain == (
        "set the client certificate to required in the configuration of Deployment/shop/web: Gateway/a/b requires it"
    )
