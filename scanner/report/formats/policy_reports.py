"""Reports of the Policy Working Group and of OpenReports: a list that ``kubectl apply`` takes, or ``--publish`` writes.

Both APIs have the same results: ``openreports.io/v1alpha1`` and its ancestor ``wgpolicyk8s.io/v1alpha2``. Each scanned
object has a report of its own, because etcd limits the size of an object. Replicas of a listener share a result, with
the worst one. ``resultID`` is the fingerprint, so that viewers know a result again.

``error`` is the result of what could not be determined; ``warn`` is a violation that the exit code does not count.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final, TextIO, TypeAlias

from msgspec import Struct, field

from scanner.kube.kinds import KINDS, OPEN_REPORTS, POLICY_REPORTS, Kind
from scanner.model.endpoint import host_port
from scanner.model.finding import outcome as outcome_of
from scanner.model.fingerprint import fingerprint
from scanner.model.inventory import moment
from scanner.model.report import EndpointRow, FindingRow, OwnerRow, Report
from scanner.report import headline
from scanner.report.escape import plain
from scanner.report.issues import VERDICT, gaps, stated
from scanner.report.stream import dumps

MOST: Final = 1_000_000
"""Bytes of the results of a report, the most important first. The summary counts all. An API server refuses 1.5 MiB."""
_LONGEST: Final = 1000
_ITEMS: Final = 10
_RESULTS: Mapping[str, str] = {
    "fail": "fail",
    "deviates": "warn",
    "inconclusive": "error",
    "pass": "pass",
    "not_applicable": "skip",
}
_SCORES: Final = ("pass", "fail", "warn", "error", "skip")
_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_GROUPS: Mapping[str, str] = {
    "Deployment": "apps/v1",
    "DaemonSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "ReplicaSet": "apps/v1",
    "Job": "batch/v1",
    **{kind.name: "v1" for kind in KINDS if not kind.group},
}
"""API versions of the owners that every cluster has."""


class Api(Struct, frozen=True, kw_only=True):
    """One of the two APIs."""

    version: str
    kinds: tuple[Kind, Kind]
    """The reports of a namespace and those of the cluster."""
    sourced: bool
    """True if a report names its source."""


APIS: Mapping[str, Api] = {
    "openreports": Api(version="v1alpha1", kinds=OPEN_REPORTS, sourced=True),
    "policyreport": Api(version="v1alpha2", kinds=POLICY_REPORTS, sourced=False),
}
"""By the names of the formats."""
MANAGED_BY: Final = ("app.kubernetes.io/managed-by", "adhere")
"""The label of every report, with its value."""
Document: TypeAlias = Mapping[str, Any]
"""A report as JSON."""
_COVERAGE: Final = "coverage"


class _Results(Struct):
    """The results of one object."""

    found: dict[str, tuple[tuple[int, int], str, str]] = field(default_factory=dict)
    """Badness, result and its JSON, by fingerprint."""

    def add(self, finding: FindingRow, about: str, row: EndpointRow | None, now: dict[str, int]) -> None:
        """Add a finding; of several with one fingerprint the worst one stays."""
        name, rank = fingerprint(finding, about), headline.badness(finding)
        if name in self.found and self.found[name][0] <= rank:
            return
        result = _RESULTS[outcome_of(finding["verdict"], finding["status"])]
        self.found[name] = rank, result, dumps(_result(finding, result, name, about, row, now))

    def counts(self) -> dict[str, int]:
        """Return the summary."""
        counted = Counter(result for _, result, _ in self.found.values())
        return {each: counted[each] for each in _SCORES}


def write(report: Report, out: TextIO) -> None:
    """Write reports of ``openreports.io``."""
    _write(report, out, APIS["openreports"])


def write_policy_reports(report: Report, out: TextIO) -> None:
    """Write reports of ``wgpolicyk8s.io``."""
    _write(report, out, APIS["policyreport"])


def _write(report: Report, out: TextIO, api: Api) -> None:
    out.write('{"apiVersion":"v1","kind":"List","items":[')
    before = "\n"
    for each in encoded(report, api):
        out.write(before + each)
        before = ",\n"
    out.write("\n]}\n")


def encoded(report: Report, api: Api) -> Iterator[str]:
    """Yield each report as JSON: first the cluster's, with what was not read, then one for each owner."""
    now = _timestamp(report.finished)
    wide = _Results()
    for text in gaps(report):
        what, _, rest = text.partition(": ")
        has_counts = what == "not complete"  # no identity has numbers
        about = what if has_counts or not rest else f"{what} {rest.partition(':')[0]}"
        wide.add(stated(_COVERAGE, "inconclusive", "not-tested", text), about, None, now)
    for finding in report.findings:
        wide.add(finding, "objects", None, now)
    if wide.found:
        yield _document(api, None, wide)
    owners: dict[tuple[str | None, ...], tuple[OwnerRow, _Results]] = {}
    for row in report.rows():
        owner = row["owner"]
        _, results = owners.setdefault((owner["kind"], owner["namespace"], owner["name"]), (owner, _Results()))
        for finding in row["findings"]:
            results.add(finding, row["id"], row, now)
        if all(each["verdict"] != row["verdict"] for each in row["findings"]):
            verdict = stated(VERDICT, row["verdict"], row["status"], headline.reason(row))
            results.add(verdict, row["id"], row, now)
    for owner, results in owners.values():
        yield _document(api, owner, results)


def place(owner: OwnerRow | None) -> tuple[str | None, str]:
    """Return the namespace and the name of an object's report; None: the cluster's."""
    namespace = owner["namespace"] if owner and _NAMESPACE.fullmatch(owner["namespace"] or "") else None
    parts = (owner["kind"], owner["namespace"] or "", owner["name"]) if owner else ("cluster",)
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:20]
    return namespace, f"adhere-{digest}"


def with_earlier(report: Document, earlier: Document) -> Document:
    """Return ``report`` with the results of ``earlier``, the same object's, about listeners that it does not have."""
    results, counts = list(report["results"]), Counter[str](report["summary"])
    if counts.total() > len(results):  # it is full, and does not show all listeners
        return report
    known = {each["properties"]["about"] for each in results}
    room = MOST - len(json.dumps(results))
    found = earlier.get("results")
    for each in found if isinstance(found, list) else ():
        if not isinstance(each, dict) or each.get("rule") == _COVERAGE or each.get("result") not in _SCORES:
            continue
        properties = each.get("properties")
        if isinstance(properties, dict) and properties.get("about") not in known:
            counts[each["result"]] += 1
            room -= len(json.dumps(each)) + 1
            results += [each] if room >= 0 else []
    return {**report, "summary": dict(counts), "results": results}


def _document(api: Api, owner: OwnerRow | None, results: _Results) -> str:
    namespace, name = place(owner)
    kind = api.kinds[namespace is None]
    head = {
        "apiVersion": f"{kind.group}/{api.version}",
        "kind": kind.name,
        "metadata": {
            "name": name,
            **({"namespace": namespace} if namespace else {}),
            "labels": dict([MANAGED_BY]),
        },
        **({"source": "adhere"} if api.sourced else {}),
        **({"scope": _scope(owner)} if owner and owner["kind"] != "Target" else {}),
        "summary": results.counts(),
    }
    shown, room = list[str](), MOST
    ranked = sorted((rank, name, text) for name, (rank, _, text) in results.found.items())  # the same in every scan
    for _, _, text in ranked:
        room -= len(text.encode()) + 1
        if room < 0:
            break
        shown.append(text)
    return f'{dumps(head).removesuffix("}")},"results":[{",".join(shown)}]}}'


def _scope(owner: OwnerRow) -> dict[str, str]:
    version = {"apiVersion": _GROUPS[owner["kind"]]} if owner["kind"] in _GROUPS else {}
    namespace = {"namespace": plain(owner["namespace"], 63)} if owner["namespace"] else {}
    return {**version, "kind": plain(owner["kind"], 63), **namespace, "name": plain(owner["name"], 253)}


def _result(
    finding: FindingRow, result: str, name: str, about: str, row: EndpointRow | None, now: dict[str, int]
) -> dict[str, object]:
    address = host_port(row["address"], row["port"]) if row else ""
    words = {
        "resultID": name,
        "about": finding["about"] or about,
        "address": address,
        "status": finding["status"],
        "observed": ", ".join(finding["observed"][:_ITEMS]),
        "expected": ", ".join(finding["expected"][:_ITEMS]),
        "fix": finding["fix"] or "",
        "waiver": finding["waiver"] or "",
    }
    return {
        "policy": "adhere",
        "rule": plain(finding["rule"], 100),
        "category": "TLS",
        "severity": finding["severity"],
        "result": result,
        "scored": result != "warn",
        "source": "adhere",
        "message": plain(finding["message"], _LONGEST),
        "timestamp": now,
        "properties": {key: plain(text, _LONGEST) for key, text in words.items() if text},
    }


def _timestamp(text: str) -> dict[str, int]:
    found = moment(text)
    return {"seconds": int(found.timestamp()) if found else 0, "nanos": 0}
