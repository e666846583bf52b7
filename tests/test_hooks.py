"""The GitHub Action and the pre-commit hooks: what they run is run here, as far as no GitHub is needed for it."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from scanner.cli.lint import lint

ROOT = Path(__file__).parents[1]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
HOOKS: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
STEPS: dict[str, dict[str, Any]] = {each["name"]: each for each in ACTION["runs"]["steps"]}
OPTIONS = {name for each in lint.params for name in each.opts}

HEAD = "apiVersion: projectcontour.io/v1\nkind: TLSCertificateDelegation\nmetadata: {name: a, namespace: shop}\n"
FINE = f"{HEAD}spec: {{delegations: []}}\n"
WRONG = f"{HEAD}spec: {{delegation: []}}\n"


def environment(directory: Path, **inputs: str) -> dict[str, str]:
    """What the step of the action gets: its inputs, and an installation that is this one."""
    program = directory / "adhere/bin/adhere"
    if not program.exists():
        program.parent.mkdir(parents=True)
        program.write_text(f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(ROOT))} exec {sys.executable} -m scanner "$@"\n')
        program.chmod(0o755)
    defaults = {name: each["default"] for name, each in ACTION["inputs"].items()}
    given = {name.upper().replace("-", "_"): value for name, value in (defaults | inputs).items()}
    return {**os.environ, **given, "RUNNER_TEMP": str(directory), "GITHUB_OUTPUT": str(directory / "output")}


def ran(name: str, env: dict[str, str], where: Path) -> subprocess.CompletedProcess[str]:
    """A step, as GitHub runs it (docs.github.com, "Workflow syntax", ``shell: bash``)."""
    argv = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS[name]["run"]]
    return subprocess.run(argv, env=env, cwd=where, capture_output=True, text=True, timeout=60, check=False)


CASES: list[tuple[str, str, dict[str, str], str]] = [
    ("fine", FINE, {}, "0"),
    ("wrong", WRONG, {}, "1"),
    ("a threshold", WRONG, {"fail-on": "high"}, "0"),
    ("nothing", "a: 1\n", {}, "4"),
    ("nothing is fine", "a: 1\n", {"accept-empty": "true"}, "0"),
    ("two paths", FINE, {"paths": "a b.yaml\n\nmore\n"}, "1"),
    ("an option is none", FINE, {"paths": "--help"}, "2"),
    ("a command is none", FINE, {"paths": "$(touch hacked)", "fail-on": "low"}, "2"),
]


@pytest.mark.parametrize(("text", "inputs", "code"), [each[1:] for each in CASES], ids=[each[0] for each in CASES])
def test_the_action_lints_and_ends_with_its_code(tmp_path: Path, text: str, inputs: dict[str, str], code: str) -> None:
    where = tmp_path / "work"
    (where / "more").mkdir(parents=True)
    (where / "a b.yaml").write_text(text)
    if "\n" in inputs.get("paths", ""):
        (where / "more/b.yaml").write_text(WRONG)
    env = environment(tmp_path, **inputs)
    step = ran("Lint", env, where)
    assert step.returncode == 0, step.stderr
    assert (tmp_path / "output").read_text() == f"code={code}\n"
    assert (where / "adhere-lint.sarif").exists() == (code != "2")
    assert not (where / "hacked").exists()
    assert ran("Result", env | {"CODE": code}, where).returncode == int(code)


def test_the_action_passes_what_it_is_given_as_variables_only() -> None:
    assert [name for name, each in STEPS.items() if "${{" in each.get("run", "")] == []


def test_the_action_installs_its_own_revision() -> None:
    step = STEPS["Install adhere"]
    assert step["env"]["SOURCE"] == "${{ github.action_path }}"
    assert step["run"].rstrip().endswith('"$SOURCE"')


def test_the_inputs_of_the_action_are_those_that_its_steps_use() -> None:
    text = (ROOT / "action.yml").read_text()
    assert [name for name in ACTION["inputs"] if f"inputs.{name}" not in text] == []


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: str(hook["id"]))
def test_the_hooks_lint(hook: dict[str, Any], tmp_path: Path) -> None:
    program, command, *options = shlex.split(hook["entry"])
    assert (program, command, hook["language"]) == ("adhere", "lint", "python")
    assert set(options) <= OPTIONS
    for text, code in ((FINE, 0), (WRONG, 1), ("a: 1\n", 0)):
        (tmp_path / "a.yaml").write_text(text)
        files = hook.get("args", []) if hook.get("pass_filenames") is False else ["a.yaml"]
        argv = [sys.executable, "-m", "scanner", command, *options, *files]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        assert subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, check=False).returncode == code
