"""The files of openshift/tls-scanner, for those who read them today: JSON, CSV and JUnit.

Keys, columns, suite and test names are its own (``internal/scanner/types.go``, ``internal/output`` of the releases of
2026), so that histories by test name continue. The answers are adhere's. Where tls-scanner skips what it could not
probe, an undetermined listener is ``UNDETERMINED`` in JSON and CSV and ``<error>`` in JUnit; a listener without TLS is
``NO_TLS`` and ``<skipped>``. A test exists for each workload and port, with the worst result of its replicas. It passes
only if its rules have passed: a rule that is switched off is ``<error>``, and a failure that does not count (waived,
not enforced) is ``<skipped>``. The error ``coverage`` is there only if the scan is not complete.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Final, Literal, TextIO
from xml.etree import ElementTree

from scanner.model.component_tally import HONOURED_BY
from scanner.model.report import NEVER_FAILS, EndpointRow, FindingRow, Report
from scanner.report import headline
from scanner.report.escape import plain
from scanner.report.formats.junit import Case, Suite, coverage_case, suite_element
from scanner.report.stream import dumps
from scanner.tls import names

Source = Literal["ingress", "api_server", "kubelet"]

_SOURCES: Final[dict[str | None, Source]] = {"router": "ingress", "kubelet": "kubelet"}
"""Components whose profile is not the API server's."""
_ML_KEM: Final = "tls-pq-readiness"
_JUDGED: Final = frozenset({*HONOURED_BY, "tls-reach"})
_COMPLIANCE: Final = ("tls-version", "tls-cipher-suite")
"""Rules that must have a result before a listener follows its profile."""
_NO_TLS: Final = frozenset({"plaintext", "starttls-needed"})
_CLOSED: Final = frozenset({"closed", "unreachable"})
_SUITE: Final = "TLSSecurityScan"
_LIMIT: Final = 2000


def _source(row: EndpointRow) -> Source:
    return _SOURCES.get(row["component"], "api_server")


def _status(row: EndpointRow) -> Literal["OK", "NO_TLS", "UNDETERMINED"]:
    if headline.spoken(row):
        return "OK"
    return "NO_TLS" if row["reach"] in _NO_TLS or row["verdict"] == "not_applicable" else "UNDETERMINED"


def _openssl(suite: str) -> str:
    try:
        return names.openssl_name(names.suite_code(suite)) or suite
    except KeyError:
        return suite


def _ciphers(row: EndpointRow) -> list[str]:
    versions = (row["observed"]["versions"] or {}).values()
    suites = (suite for version in versions if version for suite in version["suites"] or ())
    return list(dict.fromkeys(map(_openssl, suites)))


def _kems(row: EndpointRow) -> list[str]:
    return [group for group in row["observed"]["groups"] or () if "MLKEM" in group.upper()]


def _signatures(row: EndpointRow) -> list[str]:
    return list(dict.fromkeys(each["signature"] for each in row["observed"]["chain"] or () if each["signature"]))


def _complies(row: EndpointRow, rule: str) -> bool | None:
    """True if the listener follows its profile in this, None if that could not be determined."""
    verdicts = {each["verdict"] for each in row["findings"] if each["rule"] == rule}
    return False if "fail" in verdicts else True if verdicts == {"pass"} else None


def _compliance(row: EndpointRow) -> dict[str, object]:
    profile = row["expected"]["profile"]
    return {
        "configured_profile": profile or "",
        "version": _complies(row, "tls-version"),
        "ciphers": _complies(row, "tls-cipher-suite"),
    }


# --- JSON -----------------------------------------------------------------------------------------------------------


def write_json(report: Report, out: TextIO) -> None:
    """Write ``results.json``. Pods that share the address of their node are apart."""
    hosts: dict[tuple[str, str], list[EndpointRow]] = {}
    config: dict[str, object] = {}
    for row in report.rows():
        hosts.setdefault((row["address"], _workload(row)), []).append(row)
        _configured(config, row)
    document = {
        "timestamp": report.started,
        "total_ips": len(hosts),
        "scanned_ips": sum(any(row["observed"]["connections"] for row in rows) for rows in hosts.values()),
        "ip_results": [_host(address, rows) for (address, _), rows in hosts.items()],
        "tls_security_config": config,
    }
    out.write(dumps(document) + "\n")


def _configured(config: dict[str, object], row: EndpointRow) -> None:
    """Add the profile of a source, from the first listener that must follow it."""
    expected, source = row["expected"], _source(row)
    if expected["adherence"]:
        config.setdefault("tls_adherence", expected["adherence"])
    if not expected["profile"]:
        return
    minimum = expected["min_version"] or ""
    ciphers = list(map(_openssl, expected["suites"]))
    if source == "kubelet":
        config.setdefault("kubelet_config", {"tls_cipher_suites": ciphers, "tls_min_version": minimum})
        return
    key = "ingress_controller" if source == "ingress" else "api_server"
    config.setdefault(key, {"type": expected["profile"], "min_tls_version": minimum, "ciphers": ciphers})


def _host(address: str, rows: list[EndpointRow]) -> dict[str, object]:
    first = rows[0]
    host: dict[str, object] = {
        "ip": address,
        "status": "scanned",
        "open_ports": sorted({row["port"] for row in rows if row["reach"] not in _CLOSED | {"filtered"}}),
        "port_results": list(map(_port, rows)),
    }
    if first["component"]:
        host["openshift_component"] = {"component": first["component"], "source_location": "", "is_bundle": False}
    if namespace := first["owner"]["namespace"]:
        name = (first["pod"] or first["owner"])["name"]
        host["pod"] = {"Name": name, "Namespace": namespace, "IPs": [address]}
    return host


def _port(row: EndpointRow) -> dict[str, object]:
    status, kems = _status(row), _kems(row)
    found: dict[str, object] = {
        "port": row["port"],
        "protocol": "tcp",
        "state": "closed" if row["reach"] in _CLOSED else "filtered" if row["reach"] == "filtered" else "open",
        "service": "ssl/tls" if status == "OK" else "",
        "status": status,
        "reason": headline.reason(row),
    }
    if row["transport"] != "tls":
        found["starttls_protocol"] = row["transport"]
    if status == "UNDETERMINED":
        found["error"] = headline.reason(row)
    if status != "OK":
        return found
    spoken = headline.spoken(row)
    tls13 = "TLSv1.3" in spoken
    forward = {"supported": bool(row["observed"]["groups"]), "ecdhe": row["observed"]["groups"] or [], "kems": kems}
    readiness = {"tls13_offered": tls13, "tls12_only": spoken == ["TLSv1.2"], "pqc_capable": tls13 and bool(kems)}
    return {
        **found,
        "tls_versions": list(map(_version, spoken)),
        "tls_ciphers": _ciphers(row),
        "tls_key_exchange": {"groups": row["observed"]["groups"] or [], "forward_secrecy": forward},
        "tls_cert_signature_algorithms": _signatures(row),
        f"{_source(row)}_tls_config_compliance": _compliance(row),
        "tls13_supported": tls13,
        "mlkem_supported": bool(kems),
        "mlkem_kems": kems,
        "all_kems": kems,
        "tls_readiness": {**readiness, "mlkem_kems": kems, "all_kems": kems, "notes": _notes(row)},
    }


def _version(name: str) -> str:
    return "TLSv1.0" if name == "TLSv1" else name


def _notes(row: EndpointRow) -> str:
    return next((each["message"] for each in row["findings"] if each["rule"] == _ML_KEM), "")


# --- CSV ------------------------------------------------------------------------------------------------------------

_COLUMNS: Final = (
    *("IP", "Port", "Protocol", "Service", "STARTTLS Protocol", "Pod Name", "Namespace", "Component Name"),
    *("Component Maintainer", "Process", "TLS Ciphers", "TLS Version", "TLS Supported Groups"),
    *("Cert Signature Algorithms", "Status", "Reason", "Listen Address", "TLS 1.3 Supported", "ML-KEM Supported"),
    *("ML-KEM KEMs", "All KEMs", "TLS 1.3 Offered", "TLS 1.2 Only", "PQC Capable", "Readiness Notes"),
    *("Ingress Configured Profile", "Ingress Configured MinVersion", "Ingress MinVersion Compliance"),
    *("Ingress Configured Ciphers", "Ingress Cipher Compliance", "API Configured Profile"),
    *("API Configured MinVersion", "API MinVersion Compliance", "API Configured Ciphers", "API Cipher Compliance"),
    *("Kubelet Configured MinVersion", "Kubelet MinVersion Compliance", "Kubelet Configured Ciphers"),
    "Kubelet Cipher Compliance",
)
_PREFIX: Final[dict[Source, str]] = {"ingress": "Ingress", "api_server": "API", "kubelet": "Kubelet"}
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""First characters of a cell that a spreadsheet would run as a formula."""


def write_csv(report: Report, out: TextIO) -> None:
    """Write ``results.csv``: a line for each endpoint; missing values are ``N/A``, items are joined by a comma."""
    writer = csv.DictWriter(out, _COLUMNS, restval="N/A", lineterminator="\n")
    writer.writeheader()
    for row in report.rows():
        writer.writerow({name: _cell(value) for name, value in _line(row).items()})


def _line(row: EndpointRow) -> dict[str, object]:
    status, kems, spoken, pod = _status(row), _kems(row), headline.spoken(row), row["pod"]
    tls13, source, expected = "TLSv1.3" in spoken, _PREFIX[_source(row)], row["expected"]
    line: dict[str, object] = {
        "IP": row["address"],
        "Port": row["port"],
        "Protocol": "tcp",
        "Service": "ssl/tls" if status == "OK" else None,
        "STARTTLS Protocol": row["transport"] if row["transport"] != "tls" else None,
        "Pod Name": pod and pod["name"],
        "Namespace": row["owner"]["namespace"],
        "Component Name": row["component"],
        "Status": status,
        "Reason": headline.reason(row),
    }
    if status != "OK":
        return line
    return {
        **line,
        "TLS Ciphers": _ciphers(row),
        "TLS Version": list(map(_version, spoken)),
        "TLS Supported Groups": row["observed"]["groups"],
        "Cert Signature Algorithms": _signatures(row),
        "TLS 1.3 Supported": tls13,
        "ML-KEM Supported": bool(kems),
        "ML-KEM KEMs": kems,
        "All KEMs": kems,
        "TLS 1.3 Offered": tls13,
        "TLS 1.2 Only": spoken == ["TLSv1.2"],
        "PQC Capable": tls13 and bool(kems),
        "Readiness Notes": _notes(row),
        **({} if source == "Kubelet" else {f"{source} Configured Profile": expected["profile"]}),
        f"{source} Configured MinVersion": expected["min_version"],
        f"{source} MinVersion Compliance": _complies(row, "tls-version"),
        f"{source} Configured Ciphers": list(map(_openssl, expected["suites"])),
        f"{source} Cipher Compliance": _complies(row, "tls-cipher-suite"),
    }


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    text = ", ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)
    text = plain(text)
    return f"'{text}" if text.startswith(_FORMULA) else text or "N/A"


# --- JUnit ----------------------------------------------------------------------------------------------------------


def write_junit(report: Report, out: TextIO) -> None:
    """Write ``junit_tls_scan.xml``."""
    cases: dict[str, Case] = {}
    for row in report.rows():
        for name, findings, needed in _tests(row):
            case = cases.setdefault(name, Case(name, classname=_workload(row), type="TLSComplianceCheck"))
            _add(case, row, findings, needed)
    if (coverage := coverage_case(report)).outcome != "pass":
        cases[coverage.name] = coverage
    suite = Suite(name=_SUITE, cases=[cases[name] for name in sorted(cases)])
    out.write('<?xml version="1.0" encoding="UTF-8"?>\n')
    out.write(ElementTree.tostring(suite_element(suite, report.started), "unicode") + "\n")


def _workload(row: EndpointRow) -> str:
    owner = row["owner"]
    name = f"{owner['kind'].lower()}/{owner['name']}"
    return f"{owner['namespace']}/{name}" if owner["namespace"] else name


def _tests(row: EndpointRow) -> Iterator[tuple[str, list[FindingRow], tuple[str, ...]]]:
    """Yield the name of each test of a listener, with the findings that decide it, and the rules that must be among
    them.

    The tag of the feature gate stands in tests of listeners that must follow the profile, and in no other.
    """
    owner = row["owner"]
    if owner["namespace"]:
        subject = f"ns/{owner['namespace']} {owner['kind'].lower()}/{owner['name']} port/{row['port']}"
    else:
        subject = f"host/{owner['name'] or row['address']} port/{row['port']}"
    profile = [each for each in row["findings"] if each["rule"] in _JUDGED]
    if row["binding"] == "not-enforced":
        yield f"[sig-security] {subject} TLS profile scan", profile, _COMPLIANCE
    else:
        gate = "[sig-security][OCPFeatureGate:TLSAdherence]"
        yield f"{gate} {subject} should comply with the cluster TLS profile", profile, _COMPLIANCE
    required = [each for each in row["findings"] if each["rule"] == _ML_KEM and each["status"] != "informational"]
    if required:
        yield f"[sig-security] {subject} should be PQC ready with TLS 1.3 and ML-KEM", required, (_ML_KEM,)


def _add(case: Case, row: EndpointRow, findings: list[FindingRow], needed: tuple[str, ...]) -> None:
    """Add a replica to a test. Findings that the exit code does not count cannot fail it, and it does not pass."""
    pod = row["pod"]["name"] if row["pod"] else row["owner"]["name"]
    where = f"pod {pod} ({row['address']}:{row['port']})"
    failed = [each for each in findings if each["verdict"] == "fail" and each["status"] not in NEVER_FAILS]
    excused = [each for each in findings if each["verdict"] == "fail" and each["status"] in NEVER_FAILS]
    unclear = [each for each in findings if each["verdict"] == "inconclusive" and each["severity"] != "info"]
    if _status(row) == "NO_TLS" and not failed:
        case.add("skipped", headline.reason(row), "")
    elif failed:
        case.add("failure", "TLS Compliance Failed", _text(where, failed))
    elif unclear or _status(row) != "OK":
        why = unclear[0]["message"] if unclear else headline.reason(row)
        case.add("error", why, _text(where, unclear) or f"{where}: {why}")
    elif unknown := [rule for rule in needed if _complies(row, rule) is None]:
        why = f"no result of {' and '.join(unknown)}: not determined, or switched off in the policy"
        case.add("error", why, f"{where}: {why}")
    elif excused:
        first = excused[0]
        why = first["waiver"] or first["message"]
        case.add("skipped", headline.kind(first["status"]) + why, _text(where, excused))
    else:
        case.add("pass", "", "")


def _text(where: str, findings: list[FindingRow]) -> str:
    parts = (
        f"{where}: {each['message']}"
        + (f" ({', '.join(each['observed'][:5])})" if each["observed"] else "")
        + (f"; fix: {each['fix']}" if each["fix"] else "")
        for each in findings
    )
    return "\n".join(plain(each, _LIMIT) for each in parts)
