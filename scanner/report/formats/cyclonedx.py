"""CycloneDX 1.6, a bill of materials of cryptography (CBOM): protocols, cipher suites, groups and certificates.

It has what the endpoints were observed to use, each once, with the number of its endpoints. What is unknown is not
there: the metadata count its endpoints. Identifiers are made of the content, so the same observations give the same
document, except for its time.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, TextIO
from uuid import UUID, uuid5

from scanner.model.inventory import moment
from scanner.model.report import CertificateRow, EndpointRow, Report
from scanner.report.escape import plain
from scanner.report.stream import dumps
from scanner.tls.names import suite_code

_NAMESPACE: Final = UUID("6f1d2f0e-6f5c-4b0e-9d67-0c8a6a1b9a11")
_PROTOCOLS: Final = {
    "SSLv2": ("ssl", "2.0"),
    "SSLv3": ("ssl", "3.0"),
    "TLSv1": ("tls", "1.0"),
    "TLSv1.1": ("tls", "1.1"),
    "TLSv1.2": ("tls", "1.2"),
    "TLSv1.3": ("tls", "1.3"),
}
_LONGEST: Final = 1000
_CURVE: Final = re.compile(r"sec|x25519|x448|brainpool", re.IGNORECASE)


class _Bill:
    """The protocols, groups and certificates of the rows, each once, with its number of endpoints."""

    def __init__(self) -> None:
        self.protocols: Counter[str] = Counter()
        self.suites: dict[str, dict[str, None]] = {}
        """Suites by version."""
        self.groups: Counter[str] = Counter()
        self.certificates: Counter[str] = Counter()
        self.facts: dict[str, CertificateRow] = {}
        self.undetermined = 0
        self.incomplete: Counter[str] = Counter()
        """Endpoints by version whose suites are not all known."""

    def add(self, row: EndpointRow) -> None:
        """Add an endpoint."""
        observed = row["observed"]
        versions = observed["versions"]
        self.undetermined += versions is None or None in versions.values()
        for name, version in (versions or {}).items():
            if name in _PROTOCOLS and version and version["suites"] != []:
                self.protocols[name] += 1
                self.suites.setdefault(name, {}).update(dict.fromkeys(version["suites"] or ()))
                self.incomplete[name] += not version["enumerated"]
        self.groups.update(set(observed["groups"] or ()))
        for each in observed["chain"] or ():
            self.facts.setdefault(each["sha256"], each)
        self.certificates.update({each["sha256"] for each in observed["chain"] or ()})


def write(report: Report, out: TextIO) -> None:
    """Write the document, a component a line."""
    bill = _Bill()
    for row in report.rows():
        bill.add(row)
    digest = hashlib.sha256()
    for encoded in _components(bill):
        digest.update(encoded.encode())
    head = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid5(_NAMESPACE, digest.hexdigest())}",
        "version": 1,
        "metadata": _metadata(report, bill),
    }
    out.write(dumps(head).removesuffix("}") + ',"components":[')
    before = "\n"
    for encoded in _components(bill):
        out.write(before + encoded)
        before = ",\n"
    out.write("\n]}\n")


def _metadata(report: Report, bill: _Bill) -> dict[str, object]:
    when = moment(report.finished)
    scanner = report.scanner
    return {
        **({"timestamp": when.isoformat()} if when else {}),
        "tools": {"components": [{"type": "application", "name": scanner["name"], "version": scanner["version"]}]},
        "properties": [
            _property("endpoints", report.summary.endpoints),
            _property("endpoints-not-determined", bill.undetermined),
            _property("complete", str(report.coverage["complete"]).lower()),
        ],
    }


def _components(bill: _Bill) -> Iterator[str]:
    for name in sorted(bill.groups):
        yield dumps(_group(name, bill.groups[name]))
    for name in sorted(bill.protocols):
        yield dumps(_protocol(name, bill))
    for digest in sorted(bill.facts):
        yield dumps(_certificate(bill.facts[digest], bill.certificates[digest]))


def _asset(ref: str, name: str, count: int, properties: dict[str, Any], **more: int) -> dict[str, Any]:
    counts = {"endpoints": count, **{key: value for key, value in more.items() if value}}
    return {
        "type": "cryptographic-asset",
        "bom-ref": ref,
        "name": plain(name, _LONGEST) or "unnamed",
        "cryptoProperties": properties,
        "properties": [_property(key.replace("_", "-"), value) for key, value in counts.items()],
    }


def _property(name: str, value: object) -> dict[str, str]:
    return {"name": f"adhere:{name}", "value": str(value)}


def _ref(kind: str, name: str) -> str:
    """Return a reference that is the same for the same content."""
    return f"{kind}/{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:20]}"


def _group(name: str, count: int) -> dict[str, object]:
    """Return a group. One with ML-KEM and a curve combines two algorithms."""
    hybrid = "MLKEM" in name and name.strip("0123456789") != "MLKEM"
    primitive = "combiner" if hybrid else "kem" if "MLKEM" in name else "key-agree"
    curve = {"curve": plain(name, 100)} if _CURVE.match(name) and not hybrid else {}
    properties = {"primitive": primitive, **curve, "cryptoFunctions": ["keygen", "keyderive"]}
    if "MLKEM" in name:
        properties["cryptoFunctions"] = ["keygen", "encapsulate", "decapsulate"]
    return _asset(_ref("group", name), name, count, {"assetType": "algorithm", "algorithmProperties": properties})


def _protocol(name: str, bill: _Bill) -> dict[str, object]:
    kind, number = _PROTOCOLS[name]
    suites = [{"name": plain(suite, _LONGEST), **_identifiers(suite)} for suite in sorted(bill.suites[name])]
    properties = {"type": kind, "version": number, "cipherSuites": suites}
    described = {"assetType": "protocol", "protocolProperties": properties}
    incomplete = bill.incomplete[name]
    return _asset(f"protocol/{kind}-{number}", name, bill.protocols[name], described, suites_not_enumerated=incomplete)


def _identifiers(suite: str) -> dict[str, list[str]]:
    try:
        code = suite_code(suite)
    except KeyError:
        return {}
    return {"identifiers": [f"0x{code >> 8:02X}", f"0x{code & 0xFF:02X}"]}


def _certificate(facts: CertificateRow, count: int) -> dict[str, object]:
    """Return a certificate; fields that cannot be read are left out."""
    times = {"notValidBefore": facts["not_before"], "notValidAfter": facts["not_after"]}
    names = {"subjectName": facts["subject"], "issuerName": facts["issuer"]}
    properties = {
        **{key: plain(text, _LONGEST) for key, text in names.items() if text},
        **{key: text for key, text in times.items() if moment(text)},
        "certificateFormat": "X.509",
    }
    described = {"assetType": "certificate", "certificateProperties": properties}
    asset = _asset(f"certificate/{facts['sha256']}", facts["subject"] or facts["sha256"], count, described)
    key = " ".join(str(part) for part in (facts["key"]["algorithm"], facts["key"]["size"]) if part)
    said = [("key", key), ("signature", facts["signature"] or ""), ("sha256", facts["sha256"])]
    more = [_property(name, plain(text, _LONGEST)) for name, text in said if text]
    return {**asset, "properties": [*asset["properties"], *more]}
