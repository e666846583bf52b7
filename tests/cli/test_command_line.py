"""Suggestions, the environment, groups of options, completion, ``--quiet`` and ``--dry-run``."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import click
import pytest

from scanner.cli import COMMANDS, adhere
from scanner.cli.commands.scan import scan
from scanner.cli.shared_options import Grouped, long_name
from scanner.probe.session import Mode
from tests.cli.calling import PATIENCE, Call, assert_refused, program

SNAPSHOT = Path("tests/clusters/routes-under-modern")
KUBECONFIG = """apiVersion: v1
kind: Config
clusters: [{name: here, cluster: {server: 'https://127.0.0.1:1'}}]
contexts: [{name: blue, context: {cluster: here}}, {name: green, context: {cluster: here}}]
"""


@pytest.fixture(autouse=True)
def in_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])


@pytest.fixture
def completed(call: Call, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[str]]:
    """What a shell offers after some words."""

    def complete(words: str) -> list[str]:
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
        monkeypatch.setenv("_ADHERE_COMPLETE", "bash_complete")
        answer = call()
        assert (answer.code, answer.err) == (0, "")
        return [line.partition(",")[2] for line in answer.out.splitlines() if line]

    return complete


@pytest.mark.parametrize(
    ("typed", "meant"), [("scna", "; did you mean adhere scan?"), ("LINT", "; did you mean adhere lint?"), ("xyz", "")]
)
def test_a_mistyped_command_has_a_suggestion(call: Call, typed: str, meant: str) -> None:
    answer = call(typed)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == f"adhere: no command '{typed}'{meant}\nsee: adhere --help\n"


def test_help_is_a_command_too(call: Call) -> None:
    assert call("help").out == call("--help").out
    assert call("help", "rules", "show").out == call("rules", "show", "--help").out
    assert call("help", "nothing").code == 2


def test_every_command_has_quiet_and_a_variable_for_every_option() -> None:
    context = click.Context(adhere)
    for name in COMMANDS:
        command = adhere.get_command(context, name)
        assert command is not None
        for each in command.commands.values() if isinstance(command, click.Group) else [command]:
            options = {long_name(option): option.envvar for option in each.params if isinstance(option, click.Option)}
            assert "--quiet" in options, name
            assert all(
                str(variable).startswith(f"ADHERE_{name.upper().replace('-', '_')}_") for variable in options.values()
            )


def test_an_option_from_the_environment(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADHERE_SCAN_FORMAT", "json")
    assert call("scan", "127.0.0.1:1").document["schema"] == "adhere.scan/v1"
    monkeypatch.setenv("ADHERE_SCAN_TIMEOUT", "soon")
    assert_refused(call("scan", "127.0.0.1:1"), "'soon'", "(from ADHERE_SCAN_TIMEOUT in the environment)")
    assert call("scan", "127.0.0.1:1", "--timeout", "1").code == 3
    monkeypatch.setenv("ADHERE_SCAN_POLICY", "")
    assert call("scan", "127.0.0.1:1").err.startswith("adhere: ADHERE_SCAN_POLICY is empty\n")


def test_a_mistyped_variable_is_refused_and_one_of_kubernetes_is_not(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADHERE_SCAN_PORT_443_TCP_ADDR", "10.0.0.1")
    monkeypatch.setenv("ADHERE_SCAN_SERVICE_HOST", "10.0.0.1")
    assert call("scan", "--dry-run", "127.0.0.1:1").code == 0
    monkeypatch.setenv("ADHERE_SCAN_FAILON", "low")
    assert_refused(call("scan", "--dry-run", "127.0.0.1:1"), "ADHERE_SCAN_FAILON", "did you mean ADHERE_SCAN_FAIL_ON?")
    monkeypatch.delenv("ADHERE_SCAN_FAILON")
    monkeypatch.setenv("ADHERE_PORT", "tcp://10.0.0.1:443")  # of Kubernetes, for a Service adhere
    monkeypatch.setenv("ADHERE_IMAGE", "adhere:1")
    assert call("tls-scanner", "-dry-run").code == 0
    monkeypatch.setenv("ADHERE_FAIL_ON", "low")
    assert_refused(
        call("scan", "--dry-run", "127.0.0.1:1"),
        "ADHERE_FAIL_ON is set in the environment, and is no option",
        "did you mean ADHERE_SCAN_FAIL_ON?",
    )
    monkeypatch.delenv("ADHERE_FAIL_ON")
    monkeypatch.setenv("ADHERE_TLS_SCANNER_QUIET", "1")  # also the end of ADHERE_IMPORT_TLS_SCANNER_QUIET
    assert "RESULTS" in call("import", "tls-scanner").err
    assert call("scan", "--help").code == 0


@pytest.mark.parametrize("name", ["scan", "lint"])
def test_every_option_of_a_long_command_is_in_a_group_with_an_example(call: Call, name: str) -> None:
    text = " ".join(call(name, "--help").out.split())
    command = adhere.get_command(click.Context(adhere), name)
    assert isinstance(command, Grouped)
    grouped = [name for group in command.groups for name in group.options.split()]
    options = {long_name(each) for each in command.params if isinstance(each, click.Option)}
    assert sorted(grouped) == sorted(options)
    assert [group.example for group in command.groups if group.example not in text] == []


def test_the_modes_are_those_of_the_prober() -> None:
    (mode,) = (each for each in scan.params if each.name == "mode")
    assert isinstance(mode.type, click.Choice)
    assert tuple(mode.type.choices) == get_args(Mode)


@pytest.mark.parametrize("words", [["--help"], ["scan", "--help"]])
def test_a_help_text_imports_nothing_of_a_scan(words: list[str]) -> None:
    code = (
        "import sys\nfrom scanner.cli import run\nrun(sys.argv[1:])\n"
        "print(*{'trio', 'yaml', 'scanner.scan'}.intersection(sys.modules), file=sys.stderr)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    assert answer.stderr == "\n"


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("adhere sc", ["scan"]),
        ("adhere scan --allow", ["--allow-external", "--allow-loopback"]),
        ("adhere scan --format ju", ["junit"]),
        ("adhere lint --format ju", ["junit"]),
        ("adhere scan --profile openshift/4.23/m", ["openshift/4.23/modern"]),
        ("adhere profiles show openshift/4.23/m", ["openshift/4.23/modern"]),
        ("adhere rules show tls-pq", ["tls-pq-readiness"]),
        ("adhere scan --context ", ["blue", "green"]),
        ("adhere lint --context b", ["blue"]),
    ],
)
def test_completion(
    completed: Callable[[str], list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: str,
    offered: list[str],
) -> None:
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(KUBECONFIG)
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    assert completed(words) == offered


def test_listeners_are_completed_and_an_error_offers_nothing(
    completed: Callable[[str], list[str]], tmp_path: Path
) -> None:
    found = completed(f"adhere explain --snapshot {SNAPSHOT} ")
    assert len(found) > 5
    assert completed(f"adhere explain --snapshot {SNAPSHOT} {found[0]}") == [
        each for each in found if each.startswith(found[0])
    ]
    assert completed(f"adhere explain --snapshot {tmp_path / 'gone'} ") == []


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_script_of_a_shell(call: Call, shell: str) -> None:
    answer = call("completion", shell)
    assert answer.code == 0
    assert f"_ADHERE_COMPLETE={shell}_complete" in answer.out


def test_bash_runs_its_script(tmp_path: Path) -> None:
    adhere = program(tmp_path)
    words = f'COMP_WORDS=(adhere sc); COMP_CWORD=1; _adhere_completion {adhere}; echo "${{COMPREPLY[@]}}"'
    script = f'eval "$({adhere} completion bash)"; complete -p adhere; {words}'
    answer = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "_adhere_completion" in answer.stdout
    assert answer.stdout.splitlines()[-1] == "scan"


def test_a_dry_run_of_targets_dials_nothing(call: Call) -> None:
    answer = call("scan", "--dry-run", "gone.invalid:443", "smtp://127.0.0.1:25", "--profile", "mozilla/5.8/modern")
    assert answer.code == 0
    assert answer.out.splitlines() == [
        "tls://gone.invalid:443  tls://gone.invalid:443 as gone.invalid  mozilla/5.8/modern",
        "smtp://127.0.0.1:25  smtp://127.0.0.1:25  mozilla/5.8/modern",
        "exit 0: 2 endpoints would be probed, nothing dialled",
    ]


def test_a_dry_run_of_a_cluster_counts_what_a_scan_counts(call: Call) -> None:
    answer = call("scan", "--dry-run", "--snapshot", SNAPSHOT, "--quiet")
    assert (answer.code, answer.err) == (3, "")
    *listed, last = answer.out.splitlines()
    probed = [line for line in listed if not line.startswith(("left out: ", "could not be read: "))]
    assert last.startswith(f"exit 3: {len(probed)} endpoints would be probed, nothing dialled; ")
    assert any("openshift/4.22/modern" in line for line in probed)


def test_a_dry_run_says_what_could_not_be_read(call: Call, tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").write_text("")
    answer = call("scan", "--dry-run", "--snapshot", tmp_path)
    assert answer.code == 3
    assert "could not be read: " in answer.out
    assert answer.out.splitlines()[-1].endswith("kinds of objects could not be read")
