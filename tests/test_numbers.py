"""The numbers that decide how much is read, asked, compared and shown.

``tests/golden/numbers.txt`` has them in one place. A lower limit loses objects of large clusters, a higher one costs
memory, time or connections to listeners, and a wrong number of a protocol is never answered. After a change that is
meant: ``ADHERE_GOLDEN=write .venv/bin/pytest tests/test_numbers.py``, then read the difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from tests.mutants import ROOT, files
from tests.report.golden import assert_golden


def numbers() -> Iterator[str]:
    """The constants of the modules that decide verdicts, each in the module that has it."""
    for file in files():
        module = import_module(file.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
        text = (ROOT / file).read_text()
        for name, value in vars(module).items():
            own = f"\n{name} = " in text or f"\n{name}: " in text
            if own and name.lstrip("_").isupper() and isinstance(value, int | float) and not isinstance(value, bool):
                yield f"{file.removeprefix('scanner/')} {name} {value}"


def test_these_are_the_numbers() -> None:
    found = "\n".join(sorted(numbers())) + "\n"
    assert_golden("numbers.txt", found)
