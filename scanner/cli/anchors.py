"""``--ca FILE|system``: the trust anchors that the clients of the targets use."""

from __future__ import annotations

import ssl
import warnings
from contextlib import suppress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from scanner.errors import InputError, ResourceError, ScannerError

LIMIT = 16 * 1024 * 1024
"""Bytes; the bundle of all public roots is a hundredth of that."""

BEGIN = b"-----BEGIN CERTIFICATE-----"


def load_anchors(name: str) -> tuple[tuple[bytes, ...], str]:
    """DER of every certificate in the PEM file ``name``, or in this system's bundle, and where they come from.

    Raises ``InputError`` (not readable, no certificate in it) and ``ResourceError`` (no system bundle here).
    """
    path = _system_bundle() if name == "system" else Path(name)
    try:
        with path.open("rb") as source:
            text = source.read(LIMIT + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot read the trust anchors: {error.strerror}") from error
    if len(text) > LIMIT:
        raise InputError(f"{path}: larger than {LIMIT} bytes", hint="--ca wants a PEM bundle of certificates")
    anchors = tuple(_certificates(path, text, tolerant=name == "system"))
    if not anchors:
        raise InputError(f"{path}: no certificate in it", hint="--ca wants PEM: -----BEGIN CERTIFICATE-----")
    return anchors, str(path)


def public_anchors() -> tuple[bytes, ...]:
    """This system's public roots, or none where it has none that can be read."""
    with suppress(ScannerError):
        return load_anchors("system")[0]
    return ()


def _certificates(path: Path, text: bytes, *, tolerant: bool) -> list[bytes]:
    """DER of each; ``tolerant`` leaves out what cannot be read: nobody who scans can mend the system's bundle."""
    parts = text.split(BEGIN)[1:]
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # public roots with a serial number of 0, which cryptography still accepts
        for number, part in enumerate(parts, start=1):
            try:
                found.append(x509.load_pem_x509_certificate(BEGIN + part).public_bytes(Encoding.DER))
            except ValueError as error:
                if tolerant:
                    continue
                raise InputError(f"{path}: certificate {number} cannot be read: {error}") from error
    return found


def _system_bundle() -> Path:
    place = ssl.get_default_verify_paths().cafile
    if place is None:
        raise ResourceError("this system has no bundle of trust anchors", hint="give a file: --ca FILE")
    return Path(place)
