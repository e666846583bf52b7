"""Lint of the files of other projects is as recorded."""

from __future__ import annotations

import pytest

from tests.e2e import assets
from tests.test_behaviour import compare


def test_files_of_other_projects_are_linted_as_recorded() -> None:
    try:
        assets.suites()
    except assets.Missing as missing:
        pytest.skip(str(missing))
    compare("lint-projects")
