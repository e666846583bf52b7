"""The options of ``adhere scan``: what they mean, and that the command line wins over the file."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from scanner.cli.commands.scan import scan
from scanner.cli.scan_work import Asked, policy_of, requirements_of, settings_of, targets_of
from scanner.config.scan_policy import load_config
from scanner.errors import ScannerError, UsageError
from scanner.jobs import TargetRequirements
from scanner.model.scan_policy import Config, Policy, ScanPolicy
from scanner.probe.limits import Limits
from scanner.scan import Settings
from tests.cli.calling import PATIENCE, ROOT, Call, assert_refused, context, environment
from tests.cli.conftest import Farm
from tests.servers import closed_port

pytestmark = pytest.mark.crypto


def asked(*arguments: str) -> Asked:
    """The options as click gives them to the command."""
    known = set(Asked.__struct_fields__)
    given = scan.make_context("scan", list(arguments), parent=context()).params
    return Asked(**{name: value for name, value in given.items() if name in known})


def settings(*arguments: str, config: Config = Config()) -> Settings:  # noqa: B008 - a frozen value
    given = asked(*arguments)
    return settings_of(given, config, owed(*arguments, config=config).profile.name, policy_of(given, config))


def owed(*arguments: str, config: Config = Config()) -> TargetRequirements:  # noqa: B008 - a frozen value
    return requirements_of(asked(*arguments), config)


def ids(*arguments: str, config: Config = Config()) -> list[str]:  # noqa: B008 - a frozen value
    return [target.canonical for target in targets_of(asked(*arguments), config)]


def config_file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "adhere.yaml"
    path.write_text(text)
    return path


# --- defaults and precedence ------------------------------------------------------------------------------------------


def test_the_defaults() -> None:
    chosen = settings("a")
    assert chosen.profile == "openshift/4.23/intermediate"
    assert owed("a").profile_source == "the default"
    assert chosen.mode == "inventory"
    assert chosen.policy == ScanPolicy()
    assert chosen.limits == Limits()
    assert (chosen.confirm, chosen.deep) == (False, False)
    assert owed("a").anchors == ()


def test_the_help_tells_the_defaults() -> None:
    limits = Limits()
    page = " ".join(scan.get_help(click.Context(scan, parent=context())).split())
    for told in (f"{limits.timeout:g}", f"{limits.deadline:g}", f"{limits.concurrency}", f"{limits.per_host}"):
        assert f"[default: {told}]" in page


_FILE = Config(
    profile="old", mode="verdict", timeout=2, deadline=20, concurrency=3, per_host=2, rate=7, sni="file.example",
    targets=("file",), policy=Policy(expires_within_days=7),
)  # fmt: skip


def test_the_file_is_heard() -> None:
    chosen = settings("a", config=_FILE)
    assert chosen.profile == "openshift/4.23/old"
    assert chosen.mode == "verdict"
    assert chosen.policy.thresholds.expires_within_days == 7
    assert chosen.limits == Limits(timeout=2, deadline=20, concurrency=3, per_host=2, rate=7)
    assert ids(config=_FILE) == ["tls://file:443#file.example"]


def test_the_command_line_wins() -> None:
    options = "--profile modern --mode inventory --timeout 1 --deadline 10 --concurrency 5 --per-host 1 --rate 9"
    chosen = settings("a", *options.split(), config=_FILE)
    assert chosen.profile == "openshift/4.23/modern"
    assert owed("a", *options.split(), config=_FILE).profile_source == "--profile"
    assert chosen.mode == "inventory"
    assert chosen.limits == Limits(timeout=1, deadline=10, concurrency=5, per_host=1, rate=9)
    assert ids("given", "--sni", "line.example", config=_FILE) == ["tls://given:443#line.example"]


def test_a_short_deadline_alone_shortens_the_timeout() -> None:
    assert settings("a", "--deadline", "2").limits.timeout == 2
    with pytest.raises(UsageError, match="--timeout 3 is longer than --deadline 2"):
        settings("a", "--deadline", "2", config=Config(timeout=3))


@pytest.mark.parametrize("option", ["--confirm", "--deep"])
def test_what_needs_sslyze_says_so(monkeypatch: pytest.MonkeyPatch, option: str) -> None:
    monkeypatch.setattr("scanner.probe.sslyze_pool.available", lambda: None)
    with pytest.raises(UsageError, match=f"{option} needs sslyze") as raised:
        settings("a", option)
    assert "adhere[sslyze]" in raised.value.hint


def test_the_whole_file_end_to_end(call: Call, farm: Farm, tmp_path: Path) -> None:
    report = tmp_path / "from-the-file.json"
    path = config_file(
        tmp_path,
        f"profile: mozilla/5.8/old\nmode: verdict\nfail_on: never\ntargets: ['{farm['tls10'].target}']\n"
        f"formats: ['json={report}', text]\n",
    )
    answer = call("scan", "--config", path, "--quiet")
    assert (answer.code, answer.err) == (0, "")
    assert "mozilla/5.8/old  verdict" in answer.out
    assert report.exists()
    told = call("scan", "--config", path, "--profile", "intermediate@4.23", "--fail-on", "low", "--format", "json")
    assert told.code == 1
    said = "openshift/4.23/intermediate (requested as intermediate@4.23)"
    assert told.document["scanner"]["profile"] == said
    assert told.document["scanner"]["mode"] == "verdict"
    assert told.document["endpoints"][0]["origins"] == [f"{path}: target 1"]
    assert told.document["endpoints"][0]["expected"]["because"] == [f"--profile: {said}"]


def test_a_policy_decides(call: Call, farm: Farm, tmp_path: Path) -> None:
    path = config_file(tmp_path, "fail_on: low\nmode: verdict\npolicy:\n  expires_within_days: 5\n")
    assert call("scan", farm["expiring"].target, "--fail-on", "low", "--mode", "verdict").code == 1
    assert call("scan", farm["expiring"].target, "--config", path).code == 0


@pytest.mark.parametrize("mode", ["verdict", "inventory"])
def test_post_quantum_groups_can_be_required(call: Call, farm: Farm, tmp_path: Path, mode: str) -> None:
    """The first listener has only TLS 1.2; the second one chooses X25519MLKEM768 where its library has it."""
    policy = tmp_path / "adhere.yaml"
    policy.write_text("apiVersion: adhere/v1\nkind: ScanPolicy\nrequire: {postQuantum: true, severity: critical}\n")
    targets = (farm["mtls-requested-12"].target, farm["modern"].target)
    for severity, option in (("high", ("--require", "postQuantum")), ("critical", ("--policy", policy))):
        answer = call("scan", *targets, "--mode", mode, "--format", "json", "--quiet", *option)
        findings = [
            next(each for each in row["findings"] if each["rule"] == "tls-pq-readiness")
            for row in answer.document["endpoints"]
        ]
        assert answer.code == 1
        assert [each["severity"] for each in findings] == [severity] * 2
        ready = answer.document["endpoints"][1]["observed"]["negotiated"]["group"] == "X25519MLKEM768"
        assert [each["verdict"] for each in findings] == ["fail", "pass" if ready else "fail"]


def test_the_files_of_tls_scanner_are_written_beside_the_report(call: Call, farm: Farm, tmp_path: Path) -> None:
    answer = call("scan", farm["intermediate-rsa"].target, "--compat", f"tls-scanner={tmp_path / 'a' / 'b'}")
    assert answer.code == 0
    assert "SUMMARY" in answer.out
    assert {each.name for each in (tmp_path / "a" / "b").iterdir()} == {
        "results.json", "results.csv", "junit_tls_scan.xml"}  # fmt: skip


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("testssl=x", "unknown scanner 'testssl'"),
        ("tls-scanner", "the directory is missing"),
        ("tls-scanner=/dev/null/x", "cannot create /dev/null/x"),
    ],
)
def test_a_wrong_compat_is_told_before_anything_is_dialled(call: Call, value: str, complaint: str) -> None:
    assert_refused(call("scan", "127.0.0.1:1", "--compat", value), complaint)


def test_a_profile_from_a_file(call: Call, farm: Farm, tmp_path: Path) -> None:
    """An APIServer object with a Custom profile that allows what Intermediate does not."""
    path = config_file(
        tmp_path,
        "apiVersion: config.openshift.io/v1\nkind: APIServer\nmetadata: {name: cluster}\nspec:\n"
        "  tlsSecurityProfile:\n    type: Custom\n    custom:\n      minTLSVersion: VersionTLS12\n"
        "      ciphers: [ECDHE-RSA-AES128-GCM-SHA256, ECDHE-RSA-AES256-GCM-SHA384, AES128-GCM-SHA256,"
        " ECDHE-RSA-CHACHA20-POLY1305]\n",
    )
    target = farm["rsa-key-exchange"].target
    assert call("scan", target, "--mode", "verdict").code == 1
    assert call("scan", target, "--mode", "verdict", "--profile", path).code == 0


# --- targets ----------------------------------------------------------------------------------------------------------


def test_arguments_and_files_are_one_list_without_duplicates(tmp_path: Path) -> None:
    file = tmp_path / "targets.txt"
    file.write_text("b:1\nA:1\n\n# c:1\nd:1 # the last\n")
    assert ids("a:1", "tls://A:1", "a:1#a", "--targets", str(file)) == ["tls://a:1", "tls://b:1", "tls://d:1"]


def test_targets_of_the_file_are_for_when_none_is_given(tmp_path: Path) -> None:
    file = tmp_path / "targets.txt"
    file.write_text("listed\n")
    config = Config(targets=("configured",))
    assert ids("given", config=config) == ["tls://given:443"]
    assert ids("--targets", str(file), config=config) == ["tls://listed:443"]
    assert ids(config=config) == ["tls://configured:443"]


def test_a_server_name_of_a_targets_own_is_kept() -> None:
    told = ids("a", "192.0.2.1", "b#own.example", "--sni", "Sent.example.")
    assert told == ["tls://a:443#sent.example", "tls://192.0.2.1:443#sent.example", "tls://b:443#own.example"]


def test_one_name_for_two_targets_makes_them_one() -> None:
    assert ids("a#x.example", "a", "--sni", "x.example") == ["tls://a:443#x.example"]


@pytest.mark.parametrize("line", ["a:0", "--sni @ a", "--targets /nonexistent/file", ""])
def test_a_mistake_is_told_before_anything_is_dialled(line: str) -> None:
    """That is: by the call, and not by the first use of what it returns."""
    with pytest.raises(ScannerError):
        targets_of(asked(*line.split()), Config())


def test_a_mistake_in_a_file_is_told_before_anything_is_dialled(tmp_path: Path) -> None:
    file = tmp_path / "targets.txt"
    file.write_text("a\nb:0\n")
    with pytest.raises(ScannerError, match=f"{file}:2:3: port 0"):
        targets_of(asked("--targets", str(file)), Config())


def test_targets_of_a_file_are_scanned_once(tmp_path: Path) -> None:
    file = tmp_path / "targets.txt"
    file.write_text("".join(f"h{number}\n" for number in range(100)) + "h7\nh7:443\nh100\n")
    assert ids("h3", "h5", "--targets", str(file)) == [
        f"tls://h{number}:443" for number in (3, 5, *(each for each in range(101) if each not in (3, 5)))
    ]


def test_targets_from_standard_input(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    with closed_port() as (address, port):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"# one\n{address}:{port}\n".encode())))
        answer = call("scan", "--targets", "-", "--format", "json")
    assert answer.code == 3
    assert [row["origins"] for row in answer.document["endpoints"]] == [["standard input:2"]]


def test_the_same_endpoint_is_scanned_once(call: Call, farm: Farm) -> None:
    modern = farm["modern"]
    before = modern.connections
    answer = call("scan", modern.target, modern.target, "--mode", "verdict", "--format", "json")
    (row,) = answer.document["endpoints"]
    assert modern.connections - before == row["observed"]["connections"] == answer.document["summary"]["connections"]


def test_sni_decides_what_is_sent_and_judged(call: Call, farm: Farm) -> None:
    listener = farm["name-required"]
    bare = f"{listener.address}:{listener.port}"
    assert call("scan", bare).code == 3
    (row,) = call("scan", bare, "--sni", "name-required.demo.example", "--format", "json").document["endpoints"]
    assert (row["verdict"], row["server_name"]) == ("pass", "name-required.demo.example")
    assert row["id"] == f"tls://{bare}#name-required.demo.example"


# --- anchors ----------------------------------------------------------------------------------------------------------


def _chain_finding(answer: Any) -> tuple[str, str]:  # noqa: ANN401 - JSON
    (row,) = answer.document["endpoints"]
    (finding,) = [each for each in row["findings"] if each["rule"] == "cert-chain"]
    return finding["verdict"], finding["status"]


def test_chains_are_judged_by_the_anchors_that_are_given(call: Call, farm: Farm) -> None:
    def judged(name: str, *options: object) -> tuple[str, str]:
        return _chain_finding(call("scan", farm[name].target, "--mode", "verdict", "--format", "json", *options))

    assert judged("modern", "--ca", farm.ca) == ("pass", "ok")
    assert judged("self-signed", "--ca", farm.ca) == ("fail", "violation")
    assert judged("self-signed")[1] == "informational"
    assert judged("modern", "--ca", "system") == ("fail", "violation")


# --- what a user sees -------------------------------------------------------------------------------------------------


def test_quiet_says_nothing_and_verbose_says_everything(call: Call, farm: Farm, tmp_path: Path) -> None:
    line = ["scan", *farm.targets("modern", "closed"), "--mode", "verdict", "--format", f"json={tmp_path / 'r.json'}"]
    wrote = f"adhere: wrote {tmp_path / 'r.json'}\n"
    assert call(*line).err == f"{wrote}exit 3: not complete: 1 endpoint could not be judged\n"
    assert call(*line, "--quiet").err == ""
    assert call(*line, "-q").err == ""
    told = call(*line, "--verbose").err.splitlines()
    assert {tuple(row.split()[:2]) for row in told[:2]} == {
        ("pass", farm["modern"].target),
        ("inconclusive", farm["closed"].target),
    }
    assert told[2:] == [wrote.strip(), "exit 3: not complete: 1 endpoint could not be judged"]


def test_the_example_in_the_docs_is_a_configuration(tmp_path: Path) -> None:
    example = (ROOT / "docs/profiles.md").read_text().split("## The configuration file")[1]
    for text in _yaml_blocks(example):
        load_config(str(config_file(tmp_path, text)))


def _yaml_blocks(page: str) -> Iterator[str]:
    parts = page.split("```yaml\n")[1:]
    assert parts
    yield from (part.partition("```")[0] for part in parts)


# --- size -------------------------------------------------------------------------------------------------------------

MEMORY = """
import resource, sys
from scanner.cli import run

def peak_mb(count, port):
    with open("targets.txt", "w") as file:
        file.writelines(f"tls://127.0.0.1:{port}#n{number}.example\\n" for number in range(count))
    line = ["scan", "--targets", "targets.txt", "--quiet", "--per-host", "50"]
    assert run([*line, "--format", "json=report.json", "--format", "junit=report.xml"]) == 3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 1024 * 1024)

port = int(sys.argv[1])
warm = peak_mb(100, port)
print(peak_mb(2000, port) - warm)
"""

MOST_MB = 8
"""How much 1,900 more targets may add to the peak; it is under 1, and their rows as values would be some 40."""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_targets(tmp_path: Path) -> None:
    with closed_port() as (_, port):
        ended = subprocess.run(
            [sys.executable, "-c", MEMORY, str(port)],
            capture_output=True, text=True, cwd=tmp_path, env=environment(), timeout=PATIENCE, check=True,
        )  # fmt: skip
    assert float(ended.stdout) < MOST_MB
    lines = (tmp_path / "report.json").read_text().splitlines()
    assert sum(line.startswith('{"id":') for line in lines) == 2000


@pytest.mark.parametrize("option", ["--targets", "--profile", "--sni", "--ca"])
def test_an_empty_value_is_no_default(call: Call, option: str) -> None:
    """As of a shell variable that is not set: judging by something else than was meant could pass."""
    assert_refused(call("scan", "127.0.0.1:1", option, ""), f"{option} is empty")
