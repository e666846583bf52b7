"""Who the probe says it is where a listener asks for a client certificate: nobody that anybody knows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_VALID: Final = timedelta(days=1)
_CALLED: Final = "adhere: trusted by nobody"


class Identity(NamedTuple):
    """A client's certificate with its key, which never leaves the memory of this process."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


@cache
def stranger() -> Identity:
    """A client that no authority knows. Made once a run, for its key is of no worth to anybody."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, _CALLED)])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _VALID)
        .not_valid_after(now + 30 * _VALID)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
    )
    return Identity(builder.sign(key, hashes.SHA256()), key)
