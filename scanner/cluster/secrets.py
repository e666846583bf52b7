"""Secrets: of those that somebody asks for by name, the certificates. A key is looked at once, and dropped."""

from __future__ import annotations

import base64
import binascii

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key
from cryptography.x509 import load_pem_x509_certificate

from scanner.cluster.prune import Pruner
from scanner.cluster.scrub import scrubbed
from scanner.cluster.shapes import METADATA
from scanner.model.objects import Fields

KEPT = ("tls.crt", "ca.crt")
_KEY = "tls.key"
_LARGE = 4096
"""Bytes, some more than RSA-4096 has. Whether the numbers of larger keys are primes takes OpenSSL seconds to minutes to
find out, and whoever writes the Secret chooses them; to compare the public half needs none of it."""
_CHECK = "adhere"
"""Of a Secret, what adhere found out about it: ``keyMatches`` is true, false, or why it cannot be told."""


def without_key(raw: dict[str, object], pruner: Pruner) -> dict[str, object]:
    """A Secret as it is kept: name, type, certificates, and whether its key belongs to them.

    Of a manifest that has ``stringData`` this reads as ``data`` does, as the API server would have it.
    """
    fields = Fields(raw)
    data = {name: _bytes(fields, name) for name in (*KEPT, _KEY)}
    kept: dict[str, object] = {name: pruner.copy(raw[name]) for name in ("apiVersion", "kind", "type") if name in raw}
    kept["metadata"] = pruner.keep(raw.get("metadata"), METADATA)
    kept["data"] = {
        name: base64.b64encode(certificates).decode() for name in KEPT if (certificates := _public(data[name]))
    }
    known = fields.at(_CHECK, "keyMatches")
    matches = (
        known if isinstance(known, bool | str) and data[_KEY] is None else key_matches(data["tls.crt"], data[_KEY])
    )
    kept[_CHECK] = {"keyMatches": matches}
    return kept


def _public(content: bytes | None) -> bytes | None:
    """``content`` if it may be kept: some people put the key into tls.crt too."""
    if content is None:
        return None
    return scrubbed(content.decode("utf-8", "replace")).encode()


def _bytes(fields: Fields, name: str) -> bytes | None:
    text = fields.at("stringData", name)
    if isinstance(text, str):
        return text.encode("utf-8", "replace")
    coded = fields.at("data", name)
    if not isinstance(coded, str):
        return None
    try:
        return base64.b64decode("".join(coded.split()), validate=True)
    except (binascii.Error, ValueError):
        return b""


def key_matches(certificate: bytes | None, key: bytes | None) -> bool | str:
    """Whether the key is that of the first certificate, or why that cannot be told."""
    if not key:
        return "there is no tls.key"
    if not certificate:
        return "there is no tls.crt"
    try:
        public_key = load_pem_x509_certificate(certificate).public_key()
    except (ValueError, UnsupportedAlgorithm):
        return "tls.crt does not begin with a certificate in PEM"
    try:
        unchecked = len(key) > _LARGE
        private_key = load_pem_private_key(key, password=None, unsafe_skip_rsa_key_validation=unchecked)
    except TypeError:
        return "tls.key is encrypted"
    except (ValueError, UnsupportedAlgorithm):
        return "tls.key is no private key in PEM"
    form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return private_key.public_key().public_bytes(*form) == public_key.public_bytes(*form)
