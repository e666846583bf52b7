"""The examples on pages of rules on keys and certificates, judged as ``adhere certs`` judges a cluster.

An example is all that there is in a cluster: objects, with certificates by ``example_certificates``. A document of
``kind: ScanPolicy`` is the policy file; one with ``listener`` is what a Service's listener serves, and the profile
that it owes.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scanner.certificates import READS, Certificates
from scanner.cluster.lint_input import read_manifests
from scanner.config.scan_policy import parse
from scanner.files.yaml_values import load
from scanner.kube.kinds import SECRET
from scanner.kube.snapshot import Origin, Snapshot, union
from scanner.kube.tls_profile import Profile
from scanner.model.endpoint import Owner
from scanner.model.expectation import Expectation
from scanner.model.finding import Finding
from scanner.model.rule import ScanRule
from scanner.model.scan_policy import ScanPolicy
from scanner.tls.certificate import parse_certificate
from scanner.tls.codepoints import TLS12
from scanner.tls.names import suite_code
from scanner.values import replace
from tests.judge.cases import CONFORMING, ENDPOINT
from tests.pki.example_certificates import Making
from tests.yaml_documents import document

_APART = re.compile(r"^---\n", re.MULTILINE)
_KINDS = union((READS, (SECRET,)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What came of an example."""

    certificates: Certificates
    looked_at: int
    """Objects and listeners that were there to judge."""

    def of(self, rule: ScanRule) -> list[Finding]:
        """What one rule says, also where everything is as it should be."""
        met = (each for entry in self.certificates.inventory.entries() for each in entry.findings)
        every = (*self.certificates.findings(), *(each for each in met if each.status == "ok"))
        return [each for each in every if each.rule == rule.id]


def judged(directory: Path, text: str) -> Judged:
    """The example as a cluster, looked through."""
    making = Making()
    documents = _APART.split(making.fill(text))
    policies = [each for each in documents if "kind: ScanPolicy" in each]
    served = [each for each in documents if re.search(r"^listener:", each, re.MULTILINE)]
    snapshot = _snapshot(directory, [each for each in documents if each not in (*policies, *served)], making)
    policy = parse(load(policies[0].encode(), "policy.yaml"), ()) if policies else ScanPolicy()
    certificates = Certificates(snapshot, policy)
    for each in served:
        _serve(certificates, **document(each))
    count = sum(map(len, snapshot.objects.values())) + len(served)
    return Judged(certificates=certificates, looked_at=count)


def _snapshot(directory: Path, documents: list[str], making: Making) -> Snapshot:
    file = directory / "example.yaml"
    file.write_text("---\n".join(documents), encoding="utf-8")
    given = read_manifests([str(file)], _KINDS)
    assert [*given.bad, *given.misnamed] == []
    assert given.others + given.not_objects == 0
    return Snapshot(
        taken_at=making.now,
        origin=Origin(name="example"),
        objects={kind: tuple(each.object for each in given.objects if each.object.kind == kind) for kind in _KINDS},
    )


def _serve(certificates: Certificates, *, listener: str, serves: str, ciphers: list[str]) -> None:
    """``listener``: namespace, name and port. ``ciphers``: of the profile that it owes, up to TLS 1.2."""
    place, _, port = listener.rpartition(":")
    namespace, _, name = place.partition("/")
    owner = Owner(kind="Deployment", namespace=namespace, name=name)
    endpoint = replace(ENDPOINT, id=f"Deployment/{listener}", port=int(port), owner=owner)
    facts = tuple(_certificates(serves))
    suites = tuple(suite_code(each) for each in ciphers)
    profile = Profile(name="custom", min_version=TLS12, suites=suites, groups=None, source="APIServer/cluster")
    certificates.serve(endpoint, replace(CONFORMING, chain=facts), Expectation(profile=profile))


def _certificates(coded: str) -> Iterator[Any]:
    for each in base64.b64decode(coded).split(b"-----END CERTIFICATE-----\n")[:-1]:
        yield parse_certificate(base64.b64decode(b"".join(each.splitlines()[1:])))
