"""Manifests that SOPS has encrypted, as repositories keep Secrets (getsops.io): only whoever has the key can tell what
is in them."""

from __future__ import annotations

from typing import Final

from scanner.kube.objects import Fields

ENCRYPTED: Final = "ENC["
_OWN: Final = "sops"
_TLS: Final = "kubernetes.io/tls"


def is_encrypted(raw: Fields) -> bool:
    """Whether any value is, and not only SOPS's own block says so."""
    return raw.has(_OWN, "mac") and any(_is_in(value) for key, value in raw.raw.items() if key != _OWN)


def may_serve(raw: Fields) -> bool:
    """Whether what is encrypted may be a certificate that is served: not so of a Secret that says otherwise."""
    said = raw.text("type")
    return raw.text("kind") != "Secret" or said == _TLS or said.startswith(ENCRYPTED)


def _is_in(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_is_in, value.values()))
    if isinstance(value, list):
        return any(map(_is_in, value))
    return isinstance(value, str) and value.startswith(ENCRYPTED)
