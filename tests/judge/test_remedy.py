from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.judge import remedy
from scanner.model.expectation import Because, Expectation
from scanner.tls.codepoints import VERSIONS
from scanner.tls.names import version_code
from tests.judge.cases import BECAUSE_ARGUMENT, BECAUSE_OBJECT, ENDPOINT, PROFILE


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
    assert remedy.target(replace(ENDPOINT, **fields)) == target


@given(name=st.text(min_size=1, max_size=20))
def test_a_hostile_server_name_stays_one_word_of_the_shell(name: str) -> None:
    command = remedy.ask(replace(ENDPOINT, server_name=name))
    assert shlex.split(command) == ["adhere", "ask", f"tls://127.0.0.1:443#{name}"]


def test_ask_names_versions_suites_and_groups() -> None:
    assert remedy.ask(ENDPOINT, 0x0303, suites=(0x002F, 0xFAFA)) == (
        "adhere ask tls://127.0.0.1:443#a.example --version 1.2 --suites TLS_RSA_WITH_AES_128_CBC_SHA,0xFAFA"
    )
    assert remedy.ask(ENDPOINT, 0x0304, groups=(0x0019,)).endswith("--version 1.3 --groups secp521r1")


@pytest.mark.parametrize("version", VERSIONS)
def test_ask_spells_versions_as_it_reads_them(version: int) -> None:
    spelt = remedy.ask(ENDPOINT, version).split()[-1]
    assert version_code(spelt) == version


def test_scan() -> None:
    assert remedy.scan(ENDPOINT) == "adhere scan tls://127.0.0.1:443#a.example"


def test_scan_under_other_names_and_none() -> None:
    assert remedy.scan_as(ENDPOINT, ["nobody.example", None, "nobody.example"]) == (
        "adhere scan tls://127.0.0.1:443#nobody.example tls://127.0.0.1:443"
    )


def test_a_request_for_another_name_and_one_without_tls() -> None:
    resolved = "--resolve a.example:443:127.0.0.1 -H 'Host: b.example' https://a.example:443/"
    assert remedy.head(ENDPOINT, "b.example") == f"curl -gskI --http1.1 {resolved}"
    assert remedy.head(ENDPOINT, "b.example", http="h2") == f"curl -gskI --http2 {resolved}"
    assert remedy.head(ENDPOINT, "a.example", port=8080, path="/x?y=1;z") == (
        "curl -gsI --http1.1 --resolve a.example:8080:127.0.0.1 'http://a.example:8080/x?y=1;z'"
    )
    nameless = replace(ENDPOINT, server_name=None, address="::1")
    assert remedy.head(nameless, "b.example") == "curl -gskI --http1.1 -H 'Host: b.example' 'https://[::1]:443/'"


@pytest.mark.parametrize("path", ["x", "/a b", "/\n", "/\x1b[2J", "/" + "a" * 2000])
def test_a_path_that_is_none_is_not_in_the_command(path: str) -> None:
    """As none is sent."""
    assert remedy.head(ENDPOINT, "a.example", port=80, path=path).endswith(" http://a.example:80/")


def test_a_client_that_nobody_trusts() -> None:
    made, shown = remedy.as_a_stranger(ENDPOINT).split(" && ")
    assert shlex.split(made)[:3] == ["openssl", "req", "-x509"]
    assert shown == ("openssl s_client -connect 127.0.0.1:443 -servername a.example -key nobody.key -cert nobody.pem")
    assert " -noservername " in remedy.as_a_stranger(replace(ENDPOINT, server_name=None))


def test_the_fix_names_the_object_that_asks_for_it_and_its_field() -> None:
    expectation = Expectation(profile=PROFILE, because=(BECAUSE_ARGUMENT, BECAUSE_OBJECT))
    assert remedy.in_the_listener(ENDPOINT, expectation, "set X") == (
        "set X in the listener's own configuration: APIServer/cluster spec.tlsSecurityProfile asks for it"
    )


def test_the_step_that_decided_is_named() -> None:
    release = Because(source="ClusterVersion/version", field="status.desired.version", said="4.22.3")
    decided = Because(source="KubeletConfig/workers", field="spec.tlsSecurityProfile", said="Old", decides=True)
    expectation = Expectation(profile=PROFILE, because=(release, BECAUSE_OBJECT, decided, replace(release, field="x")))
    assert remedy.in_the_listener(ENDPOINT, expectation, "set X").endswith(
        "KubeletConfig/workers spec.tlsSecurityProfile asks for it"
    )


def test_under_strict_adherence_a_component_of_the_platform_has_a_bug() -> None:
    strict = Expectation(
        profile=PROFILE, because=(BECAUSE_OBJECT,), standing="platform", adherence="StrictAllComponents"
    )
    command = f"adhere explain {shlex.quote(ENDPOINT.id)} --bug --results DIR"
    assert f"has a bug: report it ({command})" in remedy.in_the_listener(ENDPOINT, strict, "set X")
    layered = replace(strict, standing="layered")
    assert "bug" not in remedy.in_the_listener(ENDPOINT, layered, "set X")


@pytest.mark.parametrize("source", ["--profile", "targets.txt:3", "./Profile/x.yaml", "/etc/profile.yaml"])
def test_the_fix_names_no_object_where_there_is_none(source: str) -> None:
    expectation = Expectation(profile=PROFILE, because=(replace(BECAUSE_OBJECT, source=source),))
    assert remedy.in_the_listener(ENDPOINT, expectation, "set X") == "set X in the listener's own configuration"
