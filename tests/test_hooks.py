"""The GitHub Action, GitLab's jobs and the pre-commit hooks: their commands are run here, in a shell."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from scanner.cli import adhere
from tests.cli.calling import PATIENCE, Call, context, program

ROOT = Path(__file__).parents[1]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
HOOKS: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
STEPS: dict[str, dict[str, Any]] = {each["name"]: each for each in ACTION["runs"]["steps"]}
LINT = adhere.get_command(context(), "lint")
assert LINT is not None
OPTIONS = {name for each in LINT.params for name in each.opts}

HEAD = "apiVersion: projectcontour.io/v1\nkind: TLSCertificateDelegation\nmetadata: {name: a, namespace: shop}\n"
FINE = f"{HEAD}spec: {{delegations: []}}\n"
WRONG = f"{HEAD}spec: {{delegation: []}}\n"


def environment(directory: Path, **inputs: str) -> dict[str, str]:
    """What the step of the action gets: its inputs, and an interpreter that has the dependencies."""
    program = directory / "adhere/bin/python"
    if not program.exists():
        program.parent.mkdir(parents=True)
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
        program.chmod(0o755)
    defaults = {name: each["default"] for name, each in ACTION["inputs"].items()}
    given = {name.upper().replace("-", "_"): value for name, value in (defaults | inputs).items()}
    files = {name: str(directory / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    return {**os.environ, **given, **files, "RUNNER_TEMP": str(directory), "SOURCE": str(ROOT)}


def ran(name: str, env: dict[str, str], where: Path) -> subprocess.CompletedProcess[str]:
    """A step, as GitHub runs it (docs.github.com, "Workflow syntax", ``shell: bash``)."""
    argv = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS[name]["run"]]
    return subprocess.run(argv, env=env, cwd=where, capture_output=True, text=True, timeout=PATIENCE, check=False)


CASES: list[tuple[str, str, dict[str, str], str]] = [
    ("wrong", WRONG, {}, "1"),
    ("a command is none", FINE, {"paths": "$(touch hacked)", "fail-on": "low"}, "2"),
]
MORE_CASES: list[tuple[str, str, dict[str, str], str]] = [
    ("fine", FINE, {}, "0"),
    ("a threshold", WRONG, {"fail-on": "high"}, "0"),
    ("nothing", "a: 1\n", {}, "4"),
    ("nothing is fine", "a: 1\n", {"accept-empty": "true"}, "0"),
    ("two paths", FINE, {"paths": "a b.yaml\n\nmore\n"}, "1"),
    ("further options", WRONG, {"options": "--default-namespace\nshop\n"}, "1"),
    ("an option is none", FINE, {"paths": "--help"}, "2"),
    ("nor an option's", FINE, {"options": "$(touch hacked)"}, "2"),
]


@pytest.mark.parametrize(
    ("text", "inputs", "code"),
    [
        *(pytest.param(*each, id=name) for name, *each in CASES),
        *(pytest.param(*each, id=name, marks=pytest.mark.slow) for name, *each in MORE_CASES),
    ],
)
def test_the_action_lints_and_ends_with_its_code(tmp_path: Path, text: str, inputs: dict[str, str], code: str) -> None:
    where = tmp_path / "work"
    (where / "more").mkdir(parents=True)
    (where / "a b.yaml").write_text(text)
    (where / "yaml.py").write_text("raise SystemExit(70)")  # what a pull request may add
    if "\n" in inputs.get("paths", ""):
        (where / "more/b.yaml").write_text(WRONG)
    env = environment(tmp_path, **inputs)
    step = ran("Run", env, where)
    assert step.returncode == 0, step.stderr
    assert (tmp_path / "GITHUB_OUTPUT").read_text() == f"code={code}\nsarif=adhere-lint.sarif\n"
    written = code != "2"
    assert (where / "adhere-lint.sarif").exists() == (tmp_path / "GITHUB_STEP_SUMMARY").exists() == written
    assert ("::notice title=adhere::" in step.stdout or "::error title=adhere::" in step.stdout) == written
    assert ("::warning file=a b.yaml,line=4,col=" in step.stdout) == (text == WRONG and written)
    if written:
        assert (tmp_path / "GITHUB_STEP_SUMMARY").read_text().startswith("## adhere lint: ")
        assert f"exit {code}: " in (tmp_path / "GITHUB_STEP_SUMMARY").read_text().splitlines()[-1]
    assert not (where / "hacked").exists()
    assert ran("Result", env | {"CODE": code}, where).returncode == int(code)


def test_the_action_scans(tmp_path: Path) -> None:
    inputs = {
        "command": "scan",
        "targets": "127.0.0.1:1\n127.0.0.1:2\n",
        "sarif": "it.sarif",
        "options": "--mode\nverdict",
    }
    step = ran("Run", environment(tmp_path, **inputs), tmp_path)
    assert step.returncode == 0, step.stderr
    assert (tmp_path / "GITHUB_OUTPUT").read_text() == "code=3\nsarif=it.sarif\n"
    assert step.stdout.count("::warning title=") == 3  # each listener, and that the scan is not complete
    assert "inconclusive" in (tmp_path / "GITHUB_STEP_SUMMARY").read_text()
    assert (tmp_path / "it.sarif").exists()


def test_the_action_has_two_commands(tmp_path: Path) -> None:
    step = ran("Run", environment(tmp_path, command="ask"), tmp_path)
    assert (step.returncode, step.stderr) == (2, "adhere: the command is neither lint nor scan\n")


def test_the_action_passes_what_it_is_given_as_variables_only() -> None:
    assert [name for name, each in STEPS.items() if "${{" in each.get("run", "")] == []


def test_the_action_installs_the_lock_of_its_own_revision(tmp_path: Path) -> None:
    """Without a network: the programs that it would run write down how they are called."""
    python = tmp_path / "python"
    call = f"""'#!/bin/sh\\necho "$UV_PROJECT_ENVIRONMENT" "$@" >>{tmp_path}/%s.log\\n' "$name" >"$3/bin/$name\""""
    python.write_text(
        f'#!/bin/sh\nmkdir -p "$3/bin"\nfor name in pip uv; do\n  printf {call}\n  chmod +x "$3/bin/$name"\ndone\n'
    )
    python.chmod(0o755)
    step = ran("Install", environment(tmp_path, python=str(python)), tmp_path)
    assert step.returncode == 0, step.stderr
    (version,) = re.findall(r"^UV_VERSION := (\S+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert (tmp_path / "pip.log").read_text().split()[-1] == f"uv=={version}"
    environment_, sync, *options = (tmp_path / "uv.log").read_text().split()
    assert (environment_, sync) == (f"{tmp_path}/adhere", "sync")
    assert {"--locked", "--no-dev", "--no-install-project"} <= set(options)
    assert options[options.index("--project") + 1] == str(ROOT)
    assert STEPS["Install"]["env"]["SOURCE"] == STEPS["Run"]["env"]["SOURCE"] == "${{ github.action_path }}"


def test_the_steps_of_others_are_pinned_to_a_commit() -> None:
    used = [each["uses"] for each in STEPS.values() if "uses" in each]
    assert used
    assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", each) for each in used)


def test_zizmor_finds_nothing(tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("zizmor")
    if not program.exists():
        pytest.skip("zizmor is not installed: uv sync --group lint")
    (example,) = re.findall(r"```yaml\n(permissions:.*?)```", (ROOT / "docs/lint.md").read_text(), re.DOTALL)
    workflow = tmp_path / ".github/workflows/lint.yml"
    workflow.parent.mkdir(parents=True)
    pinned = example.replace("<owner>/adhere@<tag or commit>", f"example/adhere@{'0' * 40} # v1.0.0")
    workflow.write_text(f"name: lint\non: [pull_request]\n{pinned}")
    (tmp_path / "action.yml").write_text((ROOT / "action.yml").read_text())
    argv = [str(program), "--offline", "--no-progress", "--persona", "regular", str(tmp_path)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout
    (tmp_path / "action.yml").write_text((ROOT / "action.yml").read_text().replace("@8aad20d", "@v"))
    assert subprocess.run(argv, capture_output=True, timeout=PATIENCE, check=False).returncode != 0, "it can fail"


GITLAB: dict[str, Any] = yaml.safe_load((ROOT / "deploy/ci/adhere.gitlab-ci.yml").read_text())


@pytest.mark.parametrize(
    ("job", "variables", "code"),
    [
        ("adhere-lint", {}, 1),
        *(
            pytest.param("adhere-lint", variables, code, marks=pytest.mark.slow)
            for variables, code in (
                ({"ADHERE_LINT_FAIL_ON": "high"}, 0),
                ({"ADHERE_FAIL_ON": "high"}, 2),
                ({"ADHERE_PATHS": "more a.yaml"}, 1),
                ({"ADHERE_PATHS": "none.yaml"}, 2),
            )
        ),
        ("adhere-scan", {"ADHERE_LISTENERS": "127.0.0.1:1 127.0.0.1:2", "ADHERE_OPTIONS": "--mode verdict"}, 3),
    ],
)
def test_the_jobs_of_gitlab_write_their_reports(tmp_path: Path, job: str, variables: dict[str, str], code: int) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "a.yaml").write_text(WRONG)
    path = f"{program(tmp_path / 'bin').parent}:{os.environ['PATH']}"
    env = {**os.environ, **GITLAB["variables"], **variables, "PATH": path}
    (script,) = GITLAB[job]["script"]
    done = subprocess.run(
        ["sh", "-ec", script], cwd=tmp_path, env=env, capture_output=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == code, done.stderr
    artifacts = GITLAB[GITLAB[job]["extends"]]["artifacts"]
    assert set(artifacts["reports"].values()) <= set(artifacts["paths"])
    assert [name for name in artifacts["paths"] if (tmp_path / name).exists() == (code == 2)] == []


def test_the_inputs_of_the_action_are_those_that_its_steps_use() -> None:
    text = (ROOT / "action.yml").read_text()
    assert [name for name in ACTION["inputs"] if f"inputs.{name}" not in text] == []


def test_a_hook_begins_with_what_fails_the_commit(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    low = "apiVersion: route.openshift.io/v1\nkind: Route\nmetadata: {name: a, namespace: shop}\n"
    low += "spec: {host: a.example, to: {kind: Service, name: a}}\n"
    (tmp_path / "a.yaml").write_text(f"{low}---\n{WRONG}")
    monkeypatch.chdir(tmp_path)
    lines = call(*shlex.split(HOOKS[0]["entry"])[1:], "a.yaml").out.splitlines()
    places = [line for line in lines if line.startswith("a.yaml:")]
    assert len(places) > 1
    assert places[0].startswith("a.yaml:9:")
    assert ": medium: " in places[0]
    assert any(": low: " in line and line.startswith("a.yaml:4:") for line in places[1:])
    assert lines[-1].startswith("exit 1: ")


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: str(hook["id"]))
def test_the_hooks_lint(call: Call, hook: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, command, *options = shlex.split(hook["entry"])
    assert (program, command, hook["language"]) == ("adhere", "lint", "python")
    assert set(options) <= OPTIONS
    monkeypatch.chdir(tmp_path)
    for text, code in ((FINE, 0), (WRONG, 1), ("a: 1\n", 0)):
        (tmp_path / "a.yaml").write_text(text)
        files = hook.get("args", []) if hook.get("pass_filenames") is False else ["a.yaml"]
        assert call(command, *options, *files).code == code
