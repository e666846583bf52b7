"""The private key in a Route: looked at once, whether it belongs to the certificate beside it, and dropped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from scanner.cluster.scrub import scrubbed
from scanner.cluster.secrets import key_blocks, key_matches
from scanner.kube.objects import Fields
from scanner.model.removed import REMOVED

_TLS: Final = ("spec", "tls")
_LONGEST: Final = 1 << 20
_MOST_BLOCKS: Final = 5
_PRIVATE: Final = "PRIVATE KEY-----"
_TEXTS: Final = ("certificate", "caCertificate", "destinationCACertificate")


def without_key(raw: Mapping[str, object]) -> dict[str, object]:
    """A Route as it was written, but for its key; ``adhere.keyMatches`` says of the key what it says of a Secret's
    (``secrets``)."""
    fields = Fields(raw)
    spec, tls = fields.fields("spec").raw, dict(fields.fields(*_TLS).raw)
    if not any(isinstance(tls.get(name), str) and tls[name] for name in (*_TEXTS, "key")):
        return dict(raw)
    matches, key = _matches(fields), fields.text(*_TLS, "key")
    blocks = key_blocks(key.encode("utf-8", "replace")) if len(key) <= _LONGEST else ()
    blocks = blocks or fields.texts("adhere", "keyBlocks")[:_MOST_BLOCKS]
    checked: dict[str, object] = {"keyMatches": matches, **({"keyBlocks": list(blocks)} if blocks else {})}
    tls.update({name: scrubbed(text) for name in _TEXTS if isinstance(text := tls.get(name), str)})
    if tls.get("key"):
        tls["key"] = REMOVED
    return {**raw, "spec": {**spec, "tls": tls}, "adhere": checked}


def _matches(fields: Fields) -> bool | str:
    certificate, key = fields.text(*_TLS, "certificate"), fields.text(*_TLS, "key")
    if key == REMOVED or (not key and REMOVED in certificate):  # of a snapshot, which may have been told before
        known = fields.at("adhere", "keyMatches")
        return known if isinstance(known, bool | str) else "the key was removed before"
    if len(certificate) + len(key) > _LONGEST:
        return "certificate or key is longer than 1 MiB"
    if not key and _PRIVATE in certificate:  # which the router takes as well
        key = certificate[certificate.rfind("-----BEGIN", 0, certificate.find(_PRIVATE)) :]
    begin = certificate.find("-----BEGIN CERTIFICATE-----")
    leaf = certificate[begin:] if begin >= 0 else certificate
    private = key.encode("utf-8", "replace") or None  # as in Go an empty field is none
    return key_matches(leaf.encode("utf-8", "replace"), private, checked=False)
