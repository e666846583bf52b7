"""Two scans of an unchanged cluster: what CI systems compare between runs does not differ.

Between the scans every pod is replaced (name, template hash, address) and every certificate is issued anew."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import pytest

from scanner.demo import layout
from scanner.demo.cluster import demo_cluster
from tests.cli.calling import Call, Called
from tests.cli.conftest import Place, called_once, scan_cluster
from tests.serving import serving
from tests.shared import Shared

pytestmark = pytest.mark.slow


@pytest.fixture
def scans(place: Place, shared: Shared, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Results of a scan before and after every pod was replaced."""

    def scan(here: Path) -> Called:
        letters = layout._letters
        monkeypatch.setattr(layout, "_letters", lambda text, count: letters(f"again {text}", count))
        monkeypatch.setattr("scanner.demo.cluster.BLOCKS", range(100, 120))
        with serving(demo_cluster) as cluster:
            return scan_cluster(cluster.kubeconfig(here / "kubeconfig"), here)

    answer, after = called_once(shared, "replaced", scan)
    assert answer.code == 1, answer.err
    return place.directory, after


def test_pods_and_addresses_differ(scans: tuple[Path, Path]) -> None:
    """Else the other tests prove nothing."""
    old, new = ({row["address"] for row in json.loads((each / "json").read_text())["endpoints"]} for each in scans)
    assert len(old) > 15
    assert len(old & new) < 3


def test_diff_is_empty(call: Call, scans: tuple[Path, Path]) -> None:
    answer = call("diff", scans[0] / "json", scans[1] / "json", "--format", "json", "--fail-on-new=low")
    told = json.loads(answer.out)
    assert (answer.code, told["findings"], told["endpoints"], told["gaps"]) == (0, [], [], [])
    assert told["summary"]["findings"]["unchanged"] > 5


def test_names_in_junit(scans: tuple[Path, Path]) -> None:
    first, second = (
        Counter(
            (case.get("classname"), case.get("name"), *(child.tag for child in case))
            for case in ET.parse(each / "junit").iter("testcase")
        )
        for each in scans
    )
    assert len(first) > 50
    assert first == second


@pytest.mark.parametrize("name", ["sarif", "gitlab", "openreports"])
def test_fingerprints(scans: tuple[Path, Path], name: str) -> None:
    first, second = (_fingerprints((each / name).read_text()) for each in scans)
    assert len(first) > 5
    assert first == second


def _fingerprints(text: str) -> Counter[str]:
    """Values of the keys by which a consumer knows a result again."""
    found: Counter[str] = Counter()

    def walk(value: object) -> None:
        if isinstance(value, dict):
            for key, child in value.items():
                if key in ("adhere/v1", "fingerprint", "resultID"):
                    found[str(child)] += 1
                walk(child)
        elif isinstance(value, list):
            for child in value:
                walk(child)

    walk(json.loads(text))
    return found
