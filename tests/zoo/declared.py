"""Clusters of ``tests/clusters`` whose listeners are real programs: surveyed and scanned as the product does it."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scanner.assessment import READS, Viewpoint, assess
from scanner.cluster import load
from scanner.kube.kinds import (
    CONFIG_MAP,
    HEPTIO_DELEGATION,
    LOCAL_KINDS,
    REFERENCE_GRANT,
    SECRET,
    TLS_CERTIFICATE_DELEGATION,
    TLS_ROUTE,
)
from scanner.kube.snapshot import Snapshot, with_local_files
from scanner.model.report import EndpointRow, FindingRow, exit_code
from scanner.probe.limits import Gate, Limits
from scanner.report.stream import RowFile
from scanner.scan import Settings, scan
from scanner.values import replace
from tests.expect.stories import CLUSTERS

WHOLE = (REFERENCE_GRANT, TLS_CERTIFICATE_DELEGATION, HEPTIO_DELEGATION, TLS_ROUTE)
"""Kinds that exist only in the test cluster."""
SETTINGS = Settings(mode="verdict", limits=Limits(timeout=10, deadline=120, concurrency=4))


@dataclass(frozen=True, kw_only=True)
class Told:
    """Results of a scan for the listeners of a test cluster."""

    rows: Mapping[str, Mapping[str, FindingRow]]
    """Findings by server name (or ``port 443``), with ``behind`` before those of backends, and by rule."""
    across: tuple[FindingRow, ...]
    reaches: Mapping[str, str]
    verdicts: Mapping[str, str]
    """Findings of the endpoints."""
    fails: bool
    """True if the exit code is 1, by findings of medium severity."""

    def verdict(self, name: str, rule: str) -> str | None:
        """None: the rule says nothing."""
        found = self.rows[name].get(rule)
        return found["verdict"] if found else None

    def passages(self) -> list[tuple[str, str]]:
        """Findings about passthrough: owner and verdict. They are on the endpoint, and a failure counts there."""
        found = [
            (name, told["passthrough-backend"]) for name, told in self.rows.items() if "passthrough-backend" in told
        ]
        assert all(self.verdicts[name] == "fail" for name, each in found if each["verdict"] == "fail")
        return [(name, each["verdict"]) for name, each in found]


async def told(
    story: str,
    directory: Path,
    places: Mapping[str, str],
    *secrets: dict[str, object],
    settings: Settings = SETTINGS,
) -> Told:
    """Scan the test cluster with ``places`` (texts of its file) replaced, and these Secrets added."""
    text = (CLUSTERS / story / "cluster.yaml").read_text()
    for old, new in places.items():
        assert old in text, old
        text = text.replace(old, new)
    home = directory / "cluster"
    home.mkdir()
    (home / "cluster.yaml").write_text("\n---\n".join([text, *map(json.dumps, secrets)]))
    return await scanned(_read(home), directory, settings)


async def scanned(snapshot: Snapshot, directory: Path, settings: Settings = SETTINGS) -> Told:
    """Scan this cluster."""
    found = assess(snapshot, Viewpoint(loopback=True))
    with RowFile(directory / "rows") as rows:
        report = await scan(found.jobs(), settings, rows, lambda _: None, Gate(settings.limits))
        every = list(report.rows())
    named = {_called(row): row for row in every}
    assert len(named) == len(every), [row["id"] for row in every]
    return Told(
        rows={name: {each["rule"]: each for each in row["findings"]} for name, row in named.items()},
        across=tuple(report.findings),
        reaches={name: row["reach"] for name, row in named.items()},
        verdicts={name: row["verdict"] for name, row in named.items()},
        fails=exit_code(report, "medium") == 1,
    )


def _read(home: Path) -> Snapshot:
    """With all of its ConfigMaps, also those that not every cluster has."""
    every = replace(CONFIG_MAP, named=())
    wanted = [every if kind == CONFIG_MAP else kind for kind in (*READS, SECRET, *LOCAL_KINDS)]
    read = with_local_files(load(home, wanted))
    maps = tuple(replace(each, kind=CONFIG_MAP) for each in read.objects[every])
    gaps = {kind: each for kind, each in read.unreadable.items() if kind not in WHOLE}
    return replace(read, objects={**read.objects, CONFIG_MAP: maps}, unreadable=gaps)


def _called(row: EndpointRow) -> str:
    name = row["server_name"] or f"port {row['port']}"
    return f"behind {name}" if row["segment"] == "Backend" else name


def secret(place: str, pem: bytes, key: str = "tls.crt") -> dict[str, object]:
    """``namespace/name``; without its private key, as adhere keeps it."""
    namespace, _, name = place.partition("/")
    data = {key: b64encode(pem).decode()}
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data}


def inline(pem: bytes) -> str:
    """PEM as one text of a YAML document."""
    return json.dumps(pem.decode())
