"""Reports of the scanners, compared with what the listeners are configured to do.

A report becomes facts by kind. A kind that is missing is one that the scanner does not ask for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa

from scanner.tls.names import group_code, suite_code, version_code
from tests.zoo import golang
from tests.zoo.cases import pki
from tests.zoo.observing import PROFILES
from tests.zoo.truth import Settings

KINDS = ("versions", "suites", "forbidden", "groups", "key", "certificate")
"""Accepted versions, accepted suites of each version, what Intermediate forbids of both, accepted groups, the kind and
size of the certificate's key, and its SHA-256."""

Facts = Mapping[str, frozenset[Hashable]]
Report = Iterator[tuple[str, Facts]]
"""Facts by address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Facts of one kind, of all listeners."""

    right: int
    configured: int
    wrong: int
    """Reported, but not configured."""


def found(reported: Mapping[str, Facts], configured: Mapping[str, Facts]) -> dict[str, Share]:
    """Compare by kind. A kind that no report has is left out; a listener without a report has none of its facts."""
    shares = {}
    for kind in KINDS:
        if any(kind in facts for facts in reported.values()):
            pairs = [(reported.get(one, {}).get(kind, frozenset()), facts[kind]) for one, facts in configured.items()]
            shares[kind] = Share(
                right=sum(len(said & real) for said, real in pairs),
                configured=sum(len(real) for _, real in pairs),
                wrong=sum(len(said - real) for said, real in pairs),
            )
    return shares


def configured(settings: Settings) -> Facts:
    """Facts of a listener of the Go server."""
    truth = golang.truth(settings)
    certificate = pki().certificate(settings.key).read_text()
    return _facts(
        versions=truth.versions,
        suites={(version, suite) for version, suites in truth.suites.items() for suite in suites},
        groups={group for groups in truth.groups.values() for group in groups},
        certificate=certificate,
    )


def _facts(
    *,
    versions: Iterable[int],
    suites: Iterable[tuple[int, int]],
    groups: Iterable[int] | None = None,
    key: tuple[str, int] | None = None,
    certificate: str | None = None,
    sha256: str | None = None,
) -> Facts:
    """``certificate``: PEM, which has both the key and the fingerprint."""
    versions, suites = frozenset(versions), frozenset(suites)
    profile = PROFILES["intermediate"]
    facts: dict[str, frozenset[Hashable]] = {
        "versions": versions,
        "suites": suites,
        "forbidden": frozenset(
            [version for version in versions if version < profile.min_version]
            + [suite for version, suite in suites if version >= profile.min_version and suite not in profile.suites]
        ),
    }
    if certificate:
        parsed = x509.load_pem_x509_certificate(certificate.encode())
        public: Any = parsed.public_key()
        key = ("rsa" if isinstance(public, rsa.RSAPublicKey) else "ec", public.key_size)
        sha256 = parsed.fingerprint(hashes.SHA256()).hex()
    if groups is not None:
        facts["groups"] = frozenset(groups)
    if key:
        facts["key"] = frozenset({key})
    if sha256:
        facts["certificate"] = frozenset({sha256.lower()})
    return facts


def _key(algorithm: str, size: object) -> tuple[str, int]:
    return "rsa" if algorithm.lower().startswith("rsa") else "ec", int(str(size))


def adhere(directory: Path) -> Report:
    """``--format json``."""
    for endpoint in json.loads((directory / "adhere.json").read_text())["endpoints"]:
        seen = endpoint["observed"]
        rows = {version_code(name): row for name, row in seen["versions"].items() if row["suites"]}
        leaf = seen["chain"][0] if seen["chain"] else None
        yield (
            endpoint["address"],
            _facts(
                versions=rows,
                suites={(version, suite_code(name)) for version, row in rows.items() for name in row["suites"]},
                groups={group_code(name) for name in seen["groups"]},
                key=_key(leaf["key"]["algorithm"], leaf["key"]["size"]) if leaf else None,
                sha256=leaf and leaf["sha256"],
            ),
        )


def sslscan(directory: Path) -> Report:
    """``--xml``, a file for each listener. It has no fingerprint."""
    for path in directory.glob("sslscan-*.xml"):
        test = ElementTree.parse(path).find("ssltest")
        if test is not None:
            pk = test.find("certificates/certificate/pk")
            key = {} if pk is None else pk.attrib
            curve = re.search(r"\d{3}", key.get("curve_name", ""))  # the bits of a curve are its strength
            yield (
                test.attrib["host"],
                _facts(
                    versions={
                        version_code(f"{one.attrib['type']}v{one.attrib['version']}")
                        for one in test.findall("protocol")
                        if one.attrib["enabled"] == "1"
                    },
                    suites={
                        (version_code(one.attrib["sslversion"]), int(one.attrib["id"], 16))
                        for one in test.findall("cipher")
                    },
                    key=_key(key["type"], curve[0] if curve else key["bits"]) if key else None,
                    groups=[int(one.attrib["id"], 16) for one in test.findall("group")] or None,
                ),
            )


def nmap(directory: Path) -> Report:
    """``-oX``. Groups are those of the accepted suites alone, so it does not ask."""
    for host in ElementTree.parse(directory / "nmap.xml").findall("host"):
        address = host.find("address")
        pem = host.findtext(".//script[@id='ssl-cert']/elem[@key='pem']")
        rows = [
            (version_code(table.attrib["key"]), name.text or "")
            for table in host.findall(".//script[@id='ssl-enum-ciphers']/table")
            for name in table.findall("table[@key='ciphers']/table/elem[@key='name']")
        ]
        if address is not None:
            yield (
                address.attrib["addr"],
                _facts(
                    versions={version for version, _ in rows},
                    suites={(version, suite_code(name.replace("_AKE_WITH_", "_"))) for version, name in rows},
                    certificate=pem,
                ),
            )


def sslyze(directory: Path) -> Report:
    """``--json_out``."""
    for server in json.loads((directory / "sslyze.json").read_text())["server_scan_results"]:
        results = {name: (each["result"] or {}) for name, each in (server["scan_result"] or {}).items() if each}
        versions = {
            version_code(re.sub("[^0-9A-Z]", "", result["tls_version_used"]).replace("TLS1", "TLS1_").lower()): result
            for name, result in results.items()
            if name.endswith("cipher_suites") and result.get("is_tls_version_supported")
        }
        deployments = results.get("certificate_info", {}).get("certificate_deployments")
        yield (
            server["server_location"]["ip_address"],
            _facts(
                versions=versions,
                suites={
                    (version, suite_code(row["cipher_suite"]["name"]))
                    for version, result in versions.items()
                    for row in result["accepted_cipher_suites"]
                },
                groups={
                    group_code(curve["name"])
                    for curve in results.get("elliptic_curves", {}).get("supported_curves") or []
                },
                certificate=deployments[0]["received_certificate_chain"][0]["as_pem"] if deployments else None,
            ),
        )


def _lines(path: Path) -> Iterator[Any]:
    return (json.loads(line) for line in path.read_text().splitlines() if line.startswith("{"))


def tlsx(directory: Path) -> Report:
    """``-json``. It does not report the key."""
    for row in _lines(directory / "tlsx.json"):
        enumerated = {_tlsx_version(one["version"]): one["ciphers"] for one in row.get("cipher_enum") or []}
        yield (
            row["ip"],
            _facts(
                versions={_tlsx_version(name) for name in row.get("version_enum") or []},
                suites={
                    (version, suite_code(name))
                    for version, levels in enumerated.items()
                    for names in levels.values()
                    for name in names
                },
                sha256=row.get("fingerprint_hash", {}).get("sha256"),
            ),
        )


def _tlsx_version(name: str) -> int:
    return version_code("sslv3" if name == "ssl30" else f"tls1.{name[-1]}")


def zgrab2(directory: Path) -> Report:
    """One handshake: the version, suite and certificate that were negotiated."""
    for row in _lines(directory / "zgrab2.json"):
        seen = (row["data"]["tls"].get("result") or {}).get("handshake_log") or {}
        hello = seen.get("server_hello") or {}
        version = hello.get("supported_versions", {}).get("selected_version") or hello.get("version")
        leaf = (seen.get("server_certificates") or {}).get("certificate")
        pem = leaf and f"-----BEGIN CERTIFICATE-----\n{leaf['raw']}\n-----END CERTIFICATE-----\n"
        yield (
            row["ip"],
            _facts(
                versions={version["value"]} if version else (),
                suites={(version["value"], hello["cipher_suite"]["value"])} if version else (),
                certificate=pem,
            ),
        )


def testssl(directory: Path) -> Report:
    """``--jsonfile``: one list of findings."""
    rows = json.loads((directory / "testssl.json").read_text())
    said = {row["id"]: row["finding"] for row in rows}
    names = {"SSLv2": "sslv2", "SSLv3": "sslv3", "TLS1": "tls1", **{f"TLS1_{n}": f"tls1_{n}" for n in range(1, 4)}}
    suites = [re.fullmatch(r"cipher-(\w+)_x(\w+)", name) for name in said]
    curves = next((text for name, text in said.items() if name.endswith("FS_ECDHE_curves")), "")
    key = said.get("cert_keySize", "").split()
    yield (
        max(row["ip"].split("/")[-1] for row in rows),  # those of its own have none
        _facts(
            versions={version_code(name) for id_, name in names.items() if said.get(id_, "").startswith("offered")},
            suites={(version_code(one[1]), int(one[2], 16)) for one in suites if one},
            groups={group_code(name) for name in curves.split()},
            key=_key(key[0], key[1]) if key else None,
            sha256=said.get("cert_fingerprintSHA256"),
        ),
    )
