"""The story ``tests/clusters/pki-names``: every certificate that the enhancement names, as its maker makes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from scanner.tls.certificate import CertificateFacts
from tests.pki.making import made, subject
from tests.yaml_documents import document

STORY = Path(__file__).parent.parent / "clusters" / "pki-names" / "certificates.yaml"


class Row(NamedTuple):
    """One of them."""

    name: str
    category: str
    common_name: str
    secret: str = ""
    organization: str = ""
    issuer: str | None = None
    usages: tuple[str, ...] = ()
    sans: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    """Names that the certificate alone does not tell it from."""


def _row(each: dict[str, Any]) -> Row:
    said: dict[str, Any] = {"common_name": each.pop("commonName")}
    said |= {name: tuple(value) if isinstance(value, list) else value for name, value in each.items()}
    return Row(**said)


ROWS: tuple[Row, ...] = tuple(map(_row, document(STORY.read_text(encoding="utf-8"))))


def certificate(row: Row) -> CertificateFacts:
    """Really made."""
    name = subject(row.common_name, *((row.organization,) if row.organization else ()))
    return made(name, row.issuer, ca=row.category == "signer", eku=row.usages, sans=row.sans)
