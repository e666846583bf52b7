"""``python -m scanner``, and how little it loads for a short answer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from unittest.mock import Mock

import pytest

from scanner import __main__ as module
from tests.cli.calling import PATIENCE, called, environment

HEAVY = ("trio", "rich", "jinja2", "cryptography", "OpenSSL", "pydantic", "yaml", "sslyze", "scanner.scan")
"""From 20 to 200 ms each."""

_LOADED = """
import sys
from scanner.cli import run
code = run(sys.argv[1:])
print(code, *sorted({name for name in sys.modules}), file=sys.stderr)
"""


def loaded(*arguments: str) -> set[str]:
    """The modules that a command has imported at its end."""
    ended = subprocess.run(
        [sys.executable, "-c", _LOADED, *arguments],
        capture_output=True, text=True, env=environment(), timeout=PATIENCE, check=True,
    )  # fmt: skip
    code, *names = ended.stderr.split()
    assert code == "0"
    return set(names)


@pytest.mark.parametrize("arguments", [("--version",), ("--help",)])
def test_nothing_heavy_is_imported_for_a_short_answer(arguments: tuple[str, ...]) -> None:
    names = loaded("--version")
    assert "click" in names
    assert names.isdisjoint(HEAVY)


def test_profiles_are_listed_without_network_and_cryptography() -> None:
    assert loaded("profiles").isdisjoint({"trio", "OpenSSL", "cryptography", "rich", "pydantic"})


def test_as_a_module() -> None:
    assert called("--version").out.startswith("adhere ")
    assert called("nothing").code == 2


def test_the_code_is_what_it_exits_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scanner.cli.run", lambda: 42)
    monkeypatch.setattr(module, "gc", Mock())  # this process goes on
    monkeypatch.setattr(signal, "signal", Mock())
    with pytest.raises(SystemExit) as ended:
        module.main()
    assert ended.value.code == 42


def test_sigterm_ends_a_command_before_its_own_handlers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = signal.getsignal(signal.SIGTERM)

    def run() -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr("scanner.cli.run", run)
    monkeypatch.setattr(module, "gc", Mock())
    try:
        with pytest.raises(SystemExit) as ended:
            module.main()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert ended.value.code == 3
    said = "adhere: stopped by SIGTERM; there is no report\nexit 3: not complete: stopped by SIGTERM\n"
    assert capsys.readouterr().err == said
