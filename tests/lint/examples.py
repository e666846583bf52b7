"""The examples on rules' pages, as objects: what a page shows is what the tests run.

A page cannot show certificates that are valid today. Where an example has ``CERTIFICATE(web.shop.example)`` or
``KEY(web.shop.example)``, there is a base64 of a leaf for these names (commas between them), or of its key;
``EXPIRED(...)`` is one of last year, ``CLIENT(...)`` and ``CLIENT_KEY(...)`` are for clients, and ``CA(clients)`` the
PEM of a CA of that name, in JSON's quotes; ``CA_DATA(clients)`` a base64 of it. ``PEM(...)``, ``PEM_KEY(...)`` and
``PEM_EXPIRED(...)`` are the like of a leaf, for fields that hold text. ``CRL(clients)`` is a revocation list of that
CA, and ``CRL_EXPIRED(clients)`` one of last year.
"""

from __future__ import annotations

import base64
import json
import re
import textwrap
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import CertificateRevocationListBuilder

from scanner.cluster.lint_input import read_manifests
from scanner.cluster.manifest_documents import Manifests
from scanner.kube.snapshot import Origin, Snapshot
from scanner.lint import READS, Linted, lint
from scanner.linting import declared
from scanner.model.finding import Finding
from scanner.model.object_rule import ObjectRule
from scanner.model.rule import AnyRule
from tests.certs import Authority, Credential

_SECTION = re.compile(
    r"^## (?P<title>Example that (?:fails|passes)).*?\n(?P<body>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL
)
_FENCED = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WHOLE = "# All that there is in a cluster:"
_USER = re.compile(r"^# adhere lint --as (\S+)$", re.MULTILINE)
"""In an example, how it is to be linted."""
_TOKEN = re.compile(
    r"\b(CERTIFICATE|KEY|EXPIRED|CLIENT|CLIENT_KEY|CA|CA_DATA|PEM|PEM_KEY|PEM_EXPIRED|CRL|CRL_EXPIRED)\(([^)]*)\)"
)


def examples(rule: AnyRule, which: str) -> list[str]:
    """The YAML of every example on the rule's page that ``fails`` or ``passes``."""
    bodies = [each["body"] for each in _SECTION.finditer(rule.page) if each["title"].endswith(which)]
    return [textwrap.dedent(text) for body in bodies for text in _FENCED.findall(body)]


def manifests(directory: Path, text: str) -> Manifests:
    """The text of an example, with certificates in place of their names."""
    file = directory / "example.yaml"
    file.write_text(with_certificates(text), encoding="utf-8")
    return read_manifests([str(file)], READS)


def with_certificates(text: str) -> str:
    """A text with certificates where it has their names."""
    return _TOKEN.sub(lambda token: _made(token[1], token[2]), text)


def user_of(text: str) -> str | None:
    """The user whose permissions an example is linted with."""
    user = _USER.search(text)
    return user[1] if user else None


def linted(
    directory: Path, text: str, rules: Iterable[ObjectRule], cluster: Snapshot | None = None
) -> tuple[list[Linted], Manifests]:
    """Apply rules to the objects in a text."""
    given = manifests(directory, text)
    known = cluster or (empty() if text.startswith(WHOLE) else None)
    return list(lint(declared(given, known, user_of(text)), rules)), given


def findings_of(rule: ObjectRule, directory: Path, *texts: str) -> list[Finding]:
    """What a rule finds in objects, all of which can be read."""
    found, given = linted(directory, "\n---\n".join(texts), [rule])
    assert not given.bad
    return [each.finding for one in found for each in one.findings]


def empty() -> Snapshot:
    """A cluster without any object, in which every kind was read."""
    return Snapshot(taken_at=datetime.now(UTC), origin=Origin(name="empty"), objects=dict.fromkeys(READS, ()))


@cache
def authority(name: str = "examples") -> Authority:
    """Made once; the keys take time."""
    return Authority(name)


@cache
def leaf(names: str, *, expired: bool = False, client: bool = False) -> Credential:
    """For these names; the same each time."""
    every = tuple(each.strip() for each in names.split(","))
    then = authority().now - timedelta(days=400)
    if expired:
        return authority().leaf(names=every, not_before=then, not_after=then + timedelta(days=90))
    return authority().leaf(names=every, eku=("clientAuth",) if client else ("serverAuth",))


def revocation_list(issuer: Authority, *, expired: bool = False) -> bytes:
    """One that the CA has issued, in PEM; it revokes nothing."""
    begins = issuer.now - timedelta(days=400 if expired else 1)
    builder = CertificateRevocationListBuilder(issuer.certificate.subject, begins, begins + timedelta(days=30))
    algorithm = None if isinstance(issuer.key, Ed25519PrivateKey) else SHA256()
    return builder.sign(issuer.key, algorithm).public_bytes(Encoding.PEM)


def _made(what: str, names: str) -> str:
    if what == "CA":
        return json.dumps(authority(names).pem.decode())
    if what == "CA_DATA":
        return base64.b64encode(authority(names).pem).decode()
    if what.startswith("CRL"):
        return json.dumps(revocation_list(authority(names), expired=what.endswith("EXPIRED")).decode())
    made = leaf(names, expired=what.endswith("EXPIRED"), client=what.startswith("CLIENT"))
    content = made.key_pem if what.endswith("KEY") else made.pem
    return json.dumps(content.decode()) if what.startswith("PEM") else base64.b64encode(content).decode()
