"""The table of APIs, held against every definition that is fetched: no kind and version of theirs is a mistake."""

from __future__ import annotations

import pytest

from scanner.cluster.api_versions import VERSIONS, misnamed
from tests.e2e.conftest import definitions_of
from tests.e2e.definitions import REPORTS, SETS


@pytest.mark.parametrize("which", [each for each in SETS if each != REPORTS])
def test_nothing_that_is_defined_is_taken_for_a_mistake(which: str) -> None:
    wrong = []
    looked = 0
    for each in definitions_of(which):
        group, kind = each["spec"]["group"], each["spec"]["names"]["kind"]
        for version in each["spec"]["versions"]:
            wrong += [(group, kind, version["name"])] if misnamed(f"{group}/{version['name']}", kind) else []
            looked += kind in VERSIONS.get(group, {})
    assert wrong == []
    assert looked
