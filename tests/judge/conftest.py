"""A failure of these tests may be due to the sample that they share: then it names the sample's file."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress

import pytest

from tests.judge.cases import TO_DO, failing


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    with suppress(Exception):  # a rule may raise one
        if report.failed and (rules := failing()):
            report.sections.append(("sample", f"{TO_DO}: {', '.join(rules)}"))
    return report
