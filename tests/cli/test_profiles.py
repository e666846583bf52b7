"""What ``adhere profiles`` prints."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from scanner.cli import adhere
from scanner.cli.commands.profiles import table
from scanner.errors import InputError, UsageError
from scanner.kube.profile_catalogue import profile_names, profiles


def printed(*arguments: str) -> list[str]:
    result = CliRunner().invoke(adhere, ["profiles", *arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout.splitlines()


@pytest.mark.parametrize("arguments", [(), ("list",)])
def test_list(arguments: tuple[str, ...]) -> None:
    heading, *lines = printed(*arguments)
    assert heading.split() == ["PROFILE", "MINIMUM", "SUITES", "GROUPS", "SOURCE"]
    assert [line.split()[0] for line in lines] == list(profile_names())
    assert lines[0].split()[:7] == [
        "openshift/4.23/old",
        "TLSv1",
        "24",
        "X25519MLKEM768",
        "x25519",
        "secp256r1",
        "secp384r1",
    ]
    (without_groups,) = (line for line in lines if line.startswith("openshift/4.21/intermediate "))
    assert without_groups.split()[1:4] == ["TLSv1.2", "11", "any"]
    assert "release-4.21" in without_groups
    for name in ("MINIMUM", "SUITES", "GROUPS", "SOURCE"):
        start = heading.index(name)
        assert all(line[start - 1] == " " and line[start] != " " for line in lines)


def test_show() -> None:
    lines = printed("show", "intermediate@4.21")
    assert lines[:2] == ["openshift/4.21/intermediate", "  minimum version  TLSv1.2"]
    assert "cipher suites (11)" in lines
    rows = [line.split() for line in lines]
    assert ["0xC02F", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"] in rows
    assert ["0x1301", "TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256"] in rows
    assert sum(row[:1] != [] and row[0].startswith("0x") for row in rows) == 11
    assert "groups: no list, every group is allowed" in lines
    assert lines[-1].startswith("  Go's servers do not implement, and drop: DHE-RSA-AES128-GCM-SHA256, DHE")
    assert lines[-2] == "notes"


def test_show_groups() -> None:
    lines = printed("show", "modern")
    at = lines.index("groups (4)")
    assert lines[at + 1 :] == [
        "  X25519MLKEM768 (0x11EC)",
        "  x25519 (0x001D)",
        "  secp256r1 (P-256, 0x0017)",
        "  secp384r1 (P-384, 0x0018)",
    ]


def test_show_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("type: Custom\ncustom:\n  ciphers: [ECDHE-RSA-AES128-GCM-SHA256]\n")
    lines = printed("show", str(path))
    assert lines[0] == "custom (mine.yaml)"
    assert f"  source           {path}:3:3" in lines
    assert "  minTLSVersion is not set, which means VersionTLS12" in lines


def test_a_file_name_commands_no_terminal(tmp_path: Path) -> None:
    path = tmp_path / "\x1b[2J.yaml"
    path.write_text("{type: Old, old: {}}")
    assert r"/\x1b[2J.yaml:1:1, " in printed("show", str(path))[2]


@pytest.mark.parametrize(("name", "error"), [("modren", UsageError), ("missing.yaml", InputError)])
def test_errors_are_left_to_the_caller(name: str, error: type[Exception]) -> None:
    assert isinstance(CliRunner().invoke(adhere, ["profiles", "show", name]).exception, error)


@pytest.mark.parametrize(("width", "columns"), [(80, 3), (100, 4), (200, 5), (None, 5)])
def test_the_list_leaves_out_what_has_no_room(width: int | None, columns: int) -> None:
    lines = table(profiles(), width)
    assert len(lines[0].split()) == columns
    assert len(lines) == len(list(profiles())) + 1
    assert width is None or max(map(len, lines)) <= width
