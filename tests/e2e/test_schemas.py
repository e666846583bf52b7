"""The shipped schemas are those of the pinned modules, and every kind that lint checks has one."""

from __future__ import annotations

import pytest

from scanner.data import data
from scanner.kube.kinds import PKI
from scanner.lint.fields.schemas import KINDS
from tests.e2e.assets import Missing
from tests.e2e.schemas import FOLLOWED, generated


def test_make_schemas_reproduces_the_files() -> None:
    try:
        files = dict(generated())
    except Missing as missing:
        pytest.skip(str(missing))
    assert {path.name: path.read_text() for path in data("schemas").iterdir()} == files, "run `make schemas`"


def test_every_kind_has_a_schema() -> None:
    assert set(FOLLOWED) == {*KINDS, PKI}
