"""Where the data files are; ``test_packaging`` looks into what gets installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from scanner import data
from scanner.data import Kind
from scanner.errors import ResourceError


@pytest.mark.parametrize(
    ("kind", "file"),
    [("profiles", "openshift/4.23.yaml"), ("templates", "report.html.j2"), ("rules", "tls-version.md")],
)
def test_in_a_checkout_they_lie_at_the_top(kind: Kind, file: str) -> None:
    found = data.data(kind).joinpath(*file.split("/"))
    assert found.is_file()
    assert Path(str(found)).is_relative_to(Path(__file__).parents[1])


@pytest.mark.parametrize("kind", ["profiles", "templates", "rules"])
def test_what_the_wheel_carries_comes_first(kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "_data" / kind).mkdir(parents=True)
    monkeypatch.setattr(data, "_PACKAGE", tmp_path)
    assert data.data(kind) == tmp_path / "_data" / kind


def test_a_broken_installation_says_where_it_looked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "_PACKAGE", tmp_path)
    monkeypatch.setattr(data, "_CHECKOUT", {"profiles": ("nowhere",)})
    with pytest.raises(ResourceError, match="the data files 'profiles' are missing") as raised:
        data.data("profiles")
    assert str(tmp_path / "_data" / "profiles") in raised.value.message
    assert raised.value.hint
