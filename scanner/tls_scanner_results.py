"""``adhere import tls-scanner``: results of openshift/tls-scanner as a saved scan, to judge and compare them.

Keys are those of its ``results.json`` (``internal/scanner/types.go``, releases of 2026). It reports what a listener
accepts, and no evidence of a refusal: what it does not list is unknown here, so that no import passes by silence.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from msgspec import Struct

from scanner.assessment import Viewpoint
from scanner.errors import InputError
from scanner.files.regular_file import content
from scanner.jobs import at, endpoint_of
from scanner.judge.waivers import WaiverLedger
from scanner.kube.hostnames import parse_zoned_address
from scanner.model.endpoint import Target
from scanner.model.inventory import moment
from scanner.model.observation import Answers, Observation, Reach
from scanner.model.report import Coverage, Summary
from scanner.model.saved_scan import Head, Seen
from scanner.report.escape import plain
from scanner.report.stream import dumps
from scanner.saved_scan import SavedScanWriter, rejudge
from scanner.tls import names
from scanner.tls.codepoints import TLS13
from scanner.values import replace

_MOST_BYTES = 256 << 20
_MOST_NAMES, _MOST_TEXT = 1000, 200
_NO_LISTENER = frozenset({"LOCALHOST_ONLY", "NO_PORTS", "PROBE_PORT"})
"""Status of ports that it did not probe."""
_UNASKED = "tls-scanner does not report refusals"
_NO_DETAIL = "tls-scanner reports {}, which does not say what answered"


class Imported(Struct, frozen=True):
    """The number of ports, and names of suites and groups that no registry has."""

    ports: int
    inconclusive: int
    lost: int
    """Hosts and ports that it could not scan."""
    unknown: tuple[str, ...]


def save_results(path: str, directory: str, head: Head) -> Imported:
    """Save the ports of ``results.json`` as a scan of targets in ``directory``, judged by ``head.profile``.

    Raises ``ScannerError``.
    """
    document = _document(path)
    scanned = _time(path, document)
    unknown: dict[str, None] = {}
    ports = [_seen(path, ip, port, scanned, unknown) for ip, port in _ports(path, document)]
    if not ports:
        raise InputError(f"{path}: it has no port", hint="use the results.json of a scan that probed something")
    summary, rows = Summary(), []
    with SavedScanWriter(directory, head, ()) as writer:
        judged = rejudge(directory, head, Viewpoint(profile=head.profile))
        ledger = WaiverLedger((), scanned.date())
        for seen in ports:
            writer.record(seen)
            row = judged.judged(seen, ledger)
            summary.add(row)
            rows.append(dumps(row))
        missing, lost = summary.verdicts["inconclusive"], _lost(document)
        with NamedTemporaryFile("w", encoding="utf-8", suffix=".jsonl") as file:
            file.writelines(f"{row}\n" for row in rows)
            file.flush()
            coverage = Coverage(
                endpoints=summary.endpoints,
                judged=summary.endpoints - missing,
                not_judged=missing,
                interrupted=None,
                complete=not (missing or summary.unsettled or lost),
            )
            writer.finish(Path(file.name), (), coverage, scanned.isoformat(), summary.outcomes)
    return Imported(ports=len(ports), inconclusive=missing, lost=lost, unknown=tuple(unknown))


def _time(path: str, document: dict[str, Any]) -> datetime:
    found = moment(_text(document.get("timestamp")))
    try:
        if found is not None:
            return found.astimezone(UTC)
    except OverflowError:  # at the first or last day that Python knows
        pass
    raise _invalid(path, "timestamp: no RFC 3339 time")


def _lost(document: dict[str, Any]) -> int:
    """Return the number of hosts and ports that tls-scanner reports as not scanned."""
    hosts = _objects(document.get("ip_results"))
    silent = sum(not _objects(each.get("port_results")) and _status(each) != "NO_PORTS" for each in hosts)
    total, scanned = document.get("total_ips"), document.get("scanned_ips")
    missed = total - scanned if type(total) is int and type(scanned) is int else 0
    return max(missed, silent, 0) + len(_objects(document.get("scan_errors")))


def _invalid(path: str, what: str) -> InputError:
    return InputError(f"{path}: {what}", hint="use the results.json of openshift/tls-scanner")


def _document(path: str) -> dict[str, Any]:
    data = content(path, _MOST_BYTES)
    try:
        document = json.loads(data) if len(data) <= _MOST_BYTES else None
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise _invalid(path, f"no JSON object of at most {_MOST_BYTES >> 20} MiB")
    return document


def _ports(path: str, document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each port with its address."""
    for number, host in enumerate(_objects(document.get("ip_results"))):
        ip = _text(host.get("ip"))
        if parse_zoned_address(ip) is None:
            raise _invalid(path, f"ip_results[{number}].ip: no IP address")
        for port in _objects(host.get("port_results")):
            if _status(port) not in _NO_LISTENER:
                yield ip, port


def _objects(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _text(value: object) -> str:
    return value[:_MOST_TEXT] if isinstance(value, str) else ""


def _texts(value: object) -> list[str]:
    return (
        [each[:_MOST_TEXT] for each in value[:_MOST_NAMES] if isinstance(each, str)] if isinstance(value, list) else []
    )


def _status(port: dict[str, Any]) -> str:
    return _text(port.get("status"))


def _seen(path: str, ip: str, port: dict[str, Any], scanned: datetime, unknown: dict[str, None]) -> Seen:
    number = port.get("port")
    if type(number) is not int or not 0 < number < 65536:
        raise _invalid(path, f"a port of {ip} is no number from 1 to 65535")
    endpoint = at(endpoint_of(Target(host=ip, port=number, origin="tls-scanner")), ip)

    def codes(listed: object, code: Callable[[str], int]) -> list[int]:
        found = []
        for name in _texts(listed):
            try:
                found.append(code(name))
            except KeyError:
                unknown[name] = None
        return list(dict.fromkeys(found))

    versions = codes(port.get("tls_versions"), names.version_code)
    if not versions:
        detail = _NO_DETAIL.format(plain(_status(port) or "no status", 60))
        observation = Observation(
            instance=endpoint.instance, at=scanned, reach=Reach.INTERRUPTED, detail=detail, dialled=False
        )
        return Seen(endpoint=replace(endpoint, origins=()), observation=observation)
    suites = codes(port.get("tls_ciphers"), names.suite_code)
    exchange = port.get("tls_key_exchange")
    exchange = exchange if isinstance(exchange, dict) else {}
    secrecy = exchange.get("forward_secrecy")
    kems = secrecy.get("kems") if isinstance(secrecy, dict) else None
    groups = codes([*_texts(exchange.get("groups")), *_texts(kems)], names.group_code)
    older = max((each for each in versions if each != TLS13), default=None)
    by_version = {each: [code for code in suites if names.is_tls13(code)] if each == TLS13 else [] for each in versions}
    if older is not None:  # tls-scanner does not say which version a suite is of
        by_version[older] = [code for code in suites if not names.is_tls13(code)]
    observation = Observation(
        instance=endpoint.instance,
        at=scanned,
        reach=Reach.TLS,
        detail="tls-scanner",
        versions=_answers(versions),
        suites={version: _answers(found) for version, found in by_version.items()},
        groups={TLS13: _answers(groups)} if TLS13 in versions and groups else {},
    )
    return Seen(endpoint=endpoint, observation=observation)


def _answers(accepted: list[int]) -> Answers:
    return Answers(accepted=tuple(accepted), unasked=_UNASKED)
