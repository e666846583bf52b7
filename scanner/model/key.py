"""The key of a certificate: what a configuration asks for, and what a certificate has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from scanner.kube.maybe import Known, Unknown
from scanner.tls.certificate import CertificateFacts

Algorithm = Literal["RSA", "ECDSA"]

_RSA_BITS = {2048: 112, 3072: 128, 4096: 152, 5120: 168, 6144: 176, 7168: 192, 8192: 200}
_CURVE_BITS = {"P256": 128, "P384": 192, "P521": 256}
_CURVES = {"P-256": "P256", "P-384": "P384", "P-521": "P521"}
"""The certificate's name of a curve, and the API's."""
CURVES = tuple(_CURVES.values())
"""Those that the API knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """Algorithm and size, as ``config.openshift.io`` has them."""

    algorithm: str
    """``RSA``, ``ECDSA``; of a certificate also ``Ed25519``, ``ML-DSA-65`` or an OID."""
    size: int | None = None
    """Bits, of RSA."""
    curve: str | None = None
    """``P256``, ``P384``, ``P521``, of ECDSA; another curve of a certificate by its own name."""

    @property
    def strength(self) -> int | None:
        """Bits of security (NIST SP 800-57 part 1, table 2, and library-go ``pkg/pki`` for the sizes between); None
        where no table has it."""
        if self.algorithm == "RSA" and self.size is not None:
            return max((bits for size, bits in _RSA_BITS.items() if size <= self.size), default=0)
        return _CURVE_BITS.get(self.curve or "") if self.algorithm == "ECDSA" else None

    def __str__(self) -> str:
        return " ".join(str(part) for part in (self.algorithm, self.size or self.curve) if part)


RSA_2048 = Key(algorithm="RSA", size=2048)
"""The platform's own default where nothing is configured."""


def key_of(facts: CertificateFacts) -> Known[Key]:
    """The key that a certificate has."""
    if facts.key_algorithm is None:
        return Unknown(f"the key cannot be read: {facts.unreadable.get('key_algorithm', 'no reason stated')}")
    if facts.key_algorithm == "RSA":
        if facts.key_size is None:
            return Unknown("the size of the RSA key cannot be read")
        return Key(algorithm="RSA", size=facts.key_size)
    if facts.key_algorithm == "ECDSA":
        if facts.curve is None:
            return Unknown("the curve of the key cannot be read")
        return Key(algorithm="ECDSA", curve=_CURVES.get(facts.curve, facts.curve))
    return Key(algorithm=facts.key_algorithm)
