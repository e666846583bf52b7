"""Revocation lists (RFC 5280 section 5): whose they are, until when, and the whole of each for its signature."""

from __future__ import annotations

import warnings
from base64 import b64encode
from collections.abc import Iterator
from itertools import islice
from typing import Final

from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import CertificateRevocationList, load_pem_x509_crl

from scanner.tls.revocation import LONGEST

_BEGIN: Final = b"-----BEGIN X509 CRL-----"
_END: Final = b"-----END X509 CRL-----"
_MOST: Final = 20
"""Lists of one text."""
_LONGEST_NAME: Final = 1000
"""Characters of an issuer's name."""


def revocation_lists(content: bytes) -> list[dict[str, str]]:
    """Of each list in PEM its ``issuer`` (RFC 4514), ``thisUpdate`` and ``nextUpdate`` (RFC 3339), as far as it has
    them, and ``der`` in base64, where it is not too long; of one that cannot be read ``unreadable``, which says why."""
    return [_facts(each) for each in islice(_blocks(content), _MOST)]


def _blocks(content: bytes) -> Iterator[bytes | None]:
    """Each with its lines; None for one without an end."""
    at = content.find(_BEGIN)
    while at >= 0:
        end = content.find(_END, at)
        yield content[at : end + len(_END)] if end >= 0 else None
        at = content.find(_BEGIN, at + len(_BEGIN))


def _facts(block: bytes | None) -> dict[str, str]:
    if block is None:
        return {"unreadable": "it has no end"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _read(load_pem_x509_crl(block))
        except Exception:  # noqa: BLE001 - as ``parse_certificate``: more is raised than is documented
            return {"unreadable": "it is no revocation list (RFC 5280 section 5.1)"}


def _read(found: CertificateRevocationList) -> dict[str, str]:
    ends = found.next_update_utc
    facts = {"issuer": found.issuer.rfc4514_string()[:_LONGEST_NAME], "thisUpdate": found.last_update_utc.isoformat()}
    der = found.public_bytes(Encoding.DER)
    whole = {"der": b64encode(der).decode()} if len(der) <= LONGEST else {}
    return facts | ({"nextUpdate": ends.isoformat()} if ends is not None else {}) | whole
