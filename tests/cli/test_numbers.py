"""Numbers on the command line."""

from __future__ import annotations

import click
import pytest

from scanner.cli.shared_options import COUNT, RATE, SECONDS
from scanner.config.scan_policy import parse_config
from scanner.errors import InputError
from scanner.files.yaml_values import load


@pytest.mark.parametrize(
    ("kind", "text", "number"),
    [(SECONDS, "5", 5.0), (SECONDS, "0.25", 0.25), (SECONDS, "1e3", 1000.0), (RATE, "1000000", 1e6), (COUNT, "1", 1)],
)
def test_numbers(kind: click.ParamType[float], text: str, number: float) -> None:
    assert kind.convert(text, None, None) == number


@pytest.mark.parametrize("kind", [SECONDS, RATE, COUNT])
@pytest.mark.parametrize("text", ["0", "-1", "nan", "-nan", "inf", "-inf", "1e400", "", "five", "1,5", "99999999"])
def test_refused(kind: click.ParamType[float], text: str) -> None:
    with pytest.raises(click.BadParameter):
        kind.convert(text, None, None)


@pytest.mark.parametrize(
    ("field", "most"), [("timeout", 86_400), ("deadline", 86_400), ("rate", 1_000_000), ("concurrency", 100_000)]
)
def test_a_configuration_has_the_same_limits(field: str, most: int) -> None:
    kinds: dict[str, click.ParamType[float]] = {"rate": RATE, "concurrency": COUNT}
    kind = kinds.get(field, SECONDS)
    assert kind.convert(str(most), None, None) == getattr(
        parse_config(load(f"{field}: {most}".encode(), "x.yaml")), field
    )
    with pytest.raises(click.BadParameter):
        kind.convert(str(most + 1), None, None)
    with pytest.raises(InputError):
        parse_config(load(f"{field}: {most + 1}".encode(), "x.yaml"))
