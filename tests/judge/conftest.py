"""A failure of these tests may be due to the sample that they share: then it names the sample's file."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress

import pytest

from tests.judge.cases import failing


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    with suppress(Exception):  # a rule may raise one
        if report.failed and (rules := failing()):
            text = f"tests/judge/cases.py: LEAF or CONFORMING fails these rules: correct the sample: {', '.join(rules)}"
            report.sections.append(("sample", text))
    return report
