"""``adhere tls-scanner`` and ``adhere import tls-scanner-policy``: what a job of tls-scanner has, read by adhere."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from scanner.config.scan_policy import load_scan_policy
from scanner.model.scan_policy import Selector
from tests.cli.calling import Call, assert_refused
from tests.cli.conftest import Farm, Place

UPSTREAM = """rules:
  - {namespace: openshift-e2e-loki, profile: exempt}
  - {namespace: openshift-ingress, profile: ingress}
  - {process: kubelet, profile: kubelet}
  - {port: 10250, profile: kubelet}
  - {port: 10255, profile: kubelet}
"""
"""The rules of its internal/scanner/policy.yaml at 78fd85a."""
ACCEPTED = ("--owner", "team-ci", "--reason", 'CI only: no "flags"', "--until", "2099-12-31")


def same(err: str) -> list[str]:
    """The printed call of ``adhere scan``, as a shell reads it."""
    (line,) = [line for line in err.splitlines() if "adhere scan" in line]
    return shlex.split(line[line.index("adhere scan") :])


def test_targets_are_scanned_as_by_the_printed_call(call: Call, farm: Farm, tmp_path: Path) -> None:
    good, bad = farm["intermediate-rsa"].target, farm["tls10"].target
    flags = ("-targets", f"{good}, {bad}", "-j=4", "-artifact-dir", tmp_path, "-tls-profile-type=Intermediate")
    answer = call("tls-scanner", *flags, "--connect-timeout", "3", "-json-file", "results.json", "-dry-run=false")
    assert answer.code == 1, answer.err
    arguments = ["--concurrency=4", "--timeout=3", f"--compat=tls-scanner={tmp_path}", "--profile=intermediate", "--"]
    assert same(answer.err) == ["adhere", "scan", *arguments, good, bad]
    assert {each.name for each in tmp_path.iterdir()} == {"results.json", "results.csv", "junit_tls_scan.xml"}
    assert call(*same(answer.err)[1:]).code == 1
    host, _, port = good.partition("://")[2].partition("#")[0].rpartition(":")
    one = call("tls-scanner", "-host", host, "-port", port, "-q")
    assert (one.code, one.err) == (0, "")


@pytest.mark.parametrize(
    ("flags", "arguments"),
    [
        (["-targets", "fd2e::1:8443,[::1]:5432", "-starttls-ports", "postgres=5432:6432"],
         ["--", "[fd2e::1]:8443", "postgres://[::1]:5432"]),
        (["-targets", "a.test:25", "-all-pods", "-starttls-ports=smtp=25", "-sni-hostname=b.test", "-pqc-check=1"],
         ["--require=postQuantum", "--sni=b.test", "--", "smtp://a.test:25"]),
        (["-j", "0", "-scan-timeout-per-target", "90"], ["--deadline=90", "--", "127.0.0.1:443"]),
    ],
)  # fmt: skip
def test_flags_become_options(call: Call, flags: list[str], arguments: list[str]) -> None:
    answer = call("tls-scanner", *flags, "-dry-run")
    assert answer.code == 0, answer.err
    assert [each for each in same(answer.err)[2:] if each != "--dry-run"] == arguments
    assert "would be probed" in answer.out


def test_pods_are_the_listeners_of_the_cluster(call: Call, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The profile is that of -tls-profile-type, as an override of every listener."""
    monkeypatch.setenv("KUBECONFIG", str(place.kubeconfig))
    filters = ("-namespace-filter", " openshift-etcd, openshift-monitoring", "-component-filter", "etcd,prometheus")
    plain = call("tls-scanner", "--all-pods", *filters, "-dry-run", "-exclude-labels", "a=b")
    names = ["--cluster", "--namespace=openshift-etcd,openshift-monitoring"]
    selected = ["--include=component=etcd,component=prometheus", "--exclude=label=a=b"]
    assert same(plain.err) == ["adhere", "scan", "--dry-run", *names, *selected]
    answer = call("tls-scanner", "--all-pods", *filters, "-dry-run", "-tls-profile-type", "Old")
    assert "profile: old" in answer.err
    assert same(answer.err)[-2:] == ["--policy", "adhere.yaml"]
    judged = [line for line in answer.out.splitlines() if "://" in line]
    assert judged
    assert all("/old" in line for line in judged)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["-expected-groups", "x25519"], "-expected-groups has no equivalent"),
        (["-expected-groups-mode=exact"], "-expected-groups-mode has no equivalent"),
        (["-attestation-file", "a.json"], "-attestation-file has no equivalent"),
        (["-template", "t.yaml"], "adhere scan --targets"),
        (["-json-file", "mine.json"], "-json-file: adhere writes results.json"),
        (["-tls-profile-type", "Custom"], "write Old, Intermediate or Modern"),
        (["-tls-profile-type", ""], "-tls-profile-type is empty"),
        (["-namespace-filter", "a"], "-namespace-filter: only for pods"),
        (["-all-pods", "-sni-hostname", "a"], "-sni-hostname is for targets"),
        (["-all-pods", "-starttls-ports", "postgres=6432"], "does not take postgres at port 6432"),
        (["-all-pods", "-starttls-ports", "smtp=:"], "unknown 'smtp=:'"),
        (["-all-pods", "-starttls-ports", f"smtp={'9' * 5000}"], "unknown 'smtp=999"),
        (["-starttls-ports", "lmtp=24"], "unknown 'lmtp=24'"),
        (["-all-pods=maybe"], "does not take a value"),
        (["-all-pod"], "adhere:"),
        (["extra"], "unexpected extra argument"),
    ],
)  # fmt: skip
def test_what_adhere_cannot_follow_is_refused(call: Call, flags: list[str], said: str) -> None:
    assert_refused(call("tls-scanner", *flags), said)


def test_what_only_changes_logs_is_named(call: Call, farm: Farm) -> None:
    logs = ("-log-level", "debug", "-timing-file", "t.json", "-limit-ips", "5")
    answer = call("tls-scanner", "-targets", farm["intermediate-rsa"].target, *logs)
    assert answer.code == 0
    named = {line.split(" is ")[0] for line in answer.err.splitlines() if "not used" in line}
    assert named == {"adhere: -limit-ips", "adhere: -log-level", "adhere: -timing-file"}


def policy(call: Call, tmp_path: Path, text: str, *options: str) -> tuple[list[tuple[str, Selector]], str]:
    """The waivers of the printed policy, read as ``--policy`` does, and the notes."""
    (tmp_path / "policy.yaml").write_text(text)
    answer = call("import", "tls-scanner-policy", tmp_path / "policy.yaml", *options)
    assert answer.code == 0, answer.err
    (tmp_path / "adhere.yaml").write_text(answer.out)
    read = load_scan_policy(str(tmp_path / "adhere.yaml"), ("tls-version", "tls-cipher-suite"))
    assert {(each.owner, each.reason) for each in read.waivers} <= {("team-ci", 'CI only: no "flags"')}
    return [(each.rule, each.selector) for each in read.waivers], answer.err


def test_exempt_rules_become_waivers(call: Call, tmp_path: Path) -> None:
    waivers, notes = policy(call, tmp_path, UPSTREAM, *ACCEPTED)
    loki = Selector(namespaces=("openshift-e2e-loki",))
    assert waivers == [("tls-version", loki), ("tls-cipher-suite", loki)]
    assert notes.count("adhere takes the profile from the cluster's objects") == 4
    waivers, notes = policy(call, tmp_path, UPSTREAM)
    assert waivers == []
    assert "exempt {namespace: openshift-e2e-loki}: a waiver needs --owner" in notes


@pytest.mark.parametrize(
    ("rules", "selectors"),
    [
        ([{"namespace": "a-.*|b\\.c|d.+", "port": 9}], [Selector(namespaces=("a-*", "b.c", "d?*"), ports=(9,))]),
        ([{"component": "etcd"}, {"process": "x", "namespace": "a"}], [Selector(components=("etcd",))]),
        ([{"namespace": "a[bc]"}, {"namespace": "(a|b)"}, {"namespace": "a|"}, {"namespace": "a*"}, {}], []),
        ([{"namespace": "a", "profile": "kubelet"}, {"namespace": "b"}, {"port": 9}], [Selector(namespaces=("b",))]),
        ([{"port": 10, "profile": "ingress"}, {"namespace": "a.*", "port": 9}],
         [Selector(namespaces=("a*",), ports=(9,))]),
        ([{"namespace": "a.b", "profile": "apiserver"}, {"namespace": "a-b"}], []),
    ],
)  # fmt: skip
def test_a_waiver_selects_no_more_than_the_rule(
    call: Call, tmp_path: Path, rules: list[dict[str, object]], selectors: list[Selector]
) -> None:
    text = json.dumps({"rules": [{"profile": "exempt", **each} for each in rules]})
    waivers, notes = policy(call, tmp_path, text, *ACCEPTED)
    assert [selector for rule, selector in waivers if rule == "tls-version"] == selectors
    assert notes.count("left out") == len(rules) - len(selectors)


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("rules: [{namespace: a, profile: none}]", (), "policy.yaml:1:"),
        ("rules: [{name: a, profile: exempt}]", (), "name"),
        ("[]", (), "policy.yaml:1:1"),
        (UPSTREAM, ACCEPTED[:4], "all of --owner, --until and --reason"),
        (UPSTREAM, (*ACCEPTED[:5], "2020-01-01"), "in the past"),
        (UPSTREAM, (*ACCEPTED[:5], "soon"), "is no day"),
        (UPSTREAM, ("--owner", "", *ACCEPTED[2:]), "owner"),
    ],
)  # fmt: skip
def test_a_wrong_policy_is_refused(call: Call, tmp_path: Path, text: str, options: tuple[str, ...], said: str) -> None:
    (tmp_path / "policy.yaml").write_text(text)
    assert_refused(call("import", "tls-scanner-policy", tmp_path / "policy.yaml", *options), said)
