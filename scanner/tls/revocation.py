"""Certificate revocation lists (CRL): the issuer's signature (RFC 5280 section 6.3.3, steps f and g)."""

from __future__ import annotations

import warnings
from typing import Final, Literal

from cryptography import x509

Signed = Literal["signed", "not with its key", "not a signer of lists", "unknown"]
"""``not a signer of lists``: the signature is valid, and the CA's keyUsage lacks cRLSign."""

LONGEST: Final = 1 << 20
"""Longest list in bytes whose signature is verified: the limit of a Secret (etcd's limit on an object)."""


def signed(revocation_list: bytes, issuer: bytes) -> Signed:
    """Verify that the CA of the certificate ``issuer`` has signed the list, both in DER; never raises.

    ``unknown``: one of them cannot be parsed, or ``cryptography`` does not support the key or algorithm.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            certificate = x509.load_der_x509_certificate(issuer)
            found = x509.load_der_x509_crl(revocation_list)
            if not found.is_signature_valid(certificate.public_key()):  # type: ignore[arg-type]
                return "not with its key"
            return "signed" if _signs_lists(certificate) else "not a signer of lists"
        except Exception:  # noqa: BLE001 - as ``parse_certificate``: more is raised than is documented
            return "unknown"


def _signs_lists(certificate: x509.Certificate) -> bool:
    """True if keyUsage allows cRLSign; without keyUsage everything is allowed (RFC 5280 section 4.2.1.3)."""
    try:
        return certificate.extensions.get_extension_for_class(x509.KeyUsage).value.crl_sign
    except x509.ExtensionNotFound:
        return True
