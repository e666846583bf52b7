"""``docs/expectations.md`` says what the code does."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from scanner.config.component_catalogue import load_catalogue
from scanner.expect import Expectations
from scanner.expect.ingress_controller import STATS_PORT
from scanner.expect.process_flags import COMPONENT_BASE, ETCD
from scanner.expect.rollout import CHANGE_TAKES, OPERATOR_TAKES
from scanner.kube.api_server import SPELLINGS
from scanner.kube.kinds import MICROSHIFT_CONFIG
from scanner.kube.tls_profile import (
    HYPERSHIFT,
    INGRESS_OPERATOR,
    LIBRARY_GO,
    MACHINE_CONFIG,
    MICROSHIFT_INGRESS,
    Reader,
)
from scanner.model.scan_policy import ScanPolicy
from tests.expect import stories

PAGE, POLICY = ((Path(__file__).parents[2] / "docs" / name).read_text() for name in ("expectations.md", "policy.md"))

WORDS = {
    "intermediate": "Intermediate",
    "inherit": "the APIServer's, else Intermediate",
    "refused": "refused",
    "undefined": "not defined: unknown",
}
ROWS: dict[str, Reader] = {
    "library-go": LIBRARY_GO,
    "the ingress operator": INGRESS_OPERATOR,
    "the machine config operator": MACHINE_CONFIG,
    "HyperShift": HYPERSHIFT,
    "MicroShift's router": MICROSHIFT_INGRESS,
}


@pytest.mark.parametrize("start", ROWS)
def test_the_table_of_readers(start: str) -> None:
    reader = ROWS[start]
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| {start}") and line.count("|") == 5]
    cells = [cell.strip() for cell in row.strip("|").split("|")[1:]]
    said = [cells[0] if cell == "the same" else cell for cell in cells]
    assert said == [WORDS[each] for each in (reader.nil, reader.empty, reader.no_custom)]


@pytest.mark.parametrize("spelling", [each for each in SPELLINGS if each])
def test_every_spelling_is_there(spelling: str) -> None:
    assert f"`{spelling}`" in PAGE


def test_names_and_numbers() -> None:
    names = ", ".join(f"`--{each}`" for each in (COMPONENT_BASE.minimum, COMPONENT_BASE.suites, COMPONENT_BASE.groups))
    assert f"{names}; etcd: `--{ETCD.suites}`" in PAGE.replace("\n  ", " ")
    assert f"port {STATS_PORT}" in PAGE
    assert f"`kind: {MICROSHIFT_CONFIG.name}`" in PAGE
    assert timedelta(hours=1) == OPERATOR_TAKES
    assert "for less than an hour" in " ".join(PAGE.split())
    assert timedelta(minutes=15) == CHANGE_TAKES
    assert "15 minutes after the last change" in " ".join(PAGE.split())


@pytest.mark.parametrize(("story", "binding"), [("modern-strict", "must-follow"), ("old-legacy", "not-enforced")])
def test_the_example_of_a_catalogue_means_what_its_comments_say(story: str, binding: str, tmp_path: Path) -> None:
    """``docs/policy.md``: a layered product owes the profile under strict adherence, and none under legacy."""
    text = POLICY[POLICY.index("kind: ComponentCatalogue") :].partition("```")[0]
    (tmp_path / "ours.yaml").write_text(f"apiVersion: adhere/v1\n{text}")
    catalogue = load_catalogue("openshift", [str(tmp_path / "ours.yaml")])
    expectations = Expectations(stories.load(story).snapshot, catalogue, ScanPolicy())
    owed = expectations.of(stories.endpoint("Deployment/vault/vault:8200", {}))
    assert (owed.standing, owed.binding, owed.component) == ("layered", binding, "vault")
