"""PKI configuration: the required keys, from any shape of the PKI object, MicroShift's file or an install-config,
and the key of a certificate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

from msgspec import Struct

from scanner.files.source_positions import Steps, dotted
from scanner.kube.maybe import Known, Unknown
from scanner.model.expectation import Because
from scanner.tls.certificate import CertificateFacts

Algorithm = Literal["RSA", "ECDSA"]

_RSA_BITS = {2048: 112, 3072: 128, 4096: 152, 5120: 168, 6144: 176, 7168: 192, 8192: 200}
_CURVE_BITS = {"P256": 128, "P384": 192, "P521": 256}
_CURVES = {"P-256": "P256", "P-384": "P384", "P-521": "P521"}
"""Names of curves in certificates and in the API."""
CURVES = tuple(_CURVES.values())
"""Curves of the API."""


class Key(Struct, frozen=True, kw_only=True):
    """Algorithm and size, as in ``config.openshift.io``."""

    algorithm: str
    """``RSA``, ``ECDSA``; of a certificate also ``Ed25519``, ``ML-DSA-65`` or an OID."""
    size: int | None = None
    """Bits of an RSA key."""
    curve: str | None = None
    """``P256``, ``P384``, ``P521``; other curves of certificates by their own names."""

    @property
    def strength(self) -> int | None:
        """Bits of security (NIST SP 800-57 part 1, table 2, and library-go ``pkg/pki`` for sizes between); None if
        unknown."""
        if self.algorithm == "RSA" and self.size is not None:
            return max((bits for size, bits in _RSA_BITS.items() if size <= self.size), default=0)
        return _CURVE_BITS.get(self.curve or "") if self.algorithm == "ECDSA" else None

    def __str__(self) -> str:
        return " ".join(str(part) for part in (self.algorithm, self.size or self.curve) if part)


RSA_2048 = Key(algorithm="RSA", size=2048)
"""The platform's default without a configuration."""


def key_of(facts: CertificateFacts) -> Known[Key]:
    """The key of a certificate."""
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


Usage = Literal["signer", "serving", "client"]
"""A category of configurations."""
USAGES: Final[tuple[Usage, ...]] = ("signer", "serving", "client")

Shape = Literal["document", "shipped", "interim", "install-config", "none"]
"""``document``: ``spec.{defaults,categories,overrides}``, as in the enhancement, and MicroShift's ``pki``.
``shipped``: ``spec.certificateManagement.custom.signerCertificates`` and so on. ``interim``: the document's lists
inside of ``certificateManagement.custom``. ``none``: no field identifies the shape."""

Reason = Literal["gate-off", "crd-absent", "absent", "deleted", "empty", "unmanaged", "unreadable"]
"""The reason for no configuration. ``deleted``: an earlier snapshot had the object. ``unreadable``: there may be
one, but it could not be read."""

Fit = Literal["unrequired", "met", "stronger", "unknown", "violated"]
"""Result of comparing a key with the requirement, from best to worst. ``stronger``: exactly another key is
configured, and this one is stronger, which is only a remark."""
FITS: Final[tuple[Fit, ...]] = ("unrequired", "met", "stronger", "unknown", "violated")


class Complaint(Struct, frozen=True):
    """An error of the API."""

    steps: Steps
    """Path of the value from the top of the object."""
    message: str
    """The API's message."""

    def __str__(self) -> str:
        return f"{dotted(self.steps)}: {self.message}" if self.steps else self.message


class Rule(Struct, frozen=True, kw_only=True):
    """One configured key."""

    key: Known[Key]
    """The key; unknown if the API would have refused it, since the behaviour of operators is undefined."""
    field: str
    """``spec.categories[1].certificate.key``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PkiConfig:
    """A configuration, and the defaults for what it does not set."""

    source: str
    """``PKI/cluster``, a file, ``ConfigMap/kube-system/cluster-config-v1``."""
    shape: Shape = "none"
    mode: str = ""
    """``Unmanaged``, ``Default``, ``Custom`` of ``spec.certificateManagement``; empty in shapes without it."""
    defaults: Rule | None = None
    categories: Mapping[Usage, Rule] = field(default_factory=dict)
    overrides: Mapping[str, Rule] = field(default_factory=dict)
    """Rules by certificate name."""
    registered: Mapping[str, Usage] = field(default_factory=dict)
    """Further certificate names and their categories (PKICertificateDefinition)."""
    platform: Mapping[Usage, Key] = field(default_factory=dict)
    """The platform's minimum without a configuration. Empty: no requirement."""
    platform_said: str = ""
    """Source of ``platform``, or why there is none, for people."""
    reason: Reason | None = None
    """The reason for no configuration, or None. Except for ``absent`` and ``deleted`` with the feature gate on,
    nothing is required then, except by the policy file. ``unreadable``: nothing passes."""
    since: datetime | None = None
    """Last change of spec; None if unknown."""
    since_vague: bool = False
    """True if it also changed after ``since``, at an unknown time."""
    until: datetime | None = None
    """With ``since_vague``: the latest possible time of that change, if known."""
    since_said: str = ""
    """The reason for ``since`` if it is assumed: a clause for people."""
    problems: tuple[Complaint, ...] = ()
    unknown_fields: tuple[str, ...] = ()
    """Unknown fields: kept, without effect."""
    remarks: tuple[str, ...] = ()
    asked: dict[tuple[str, tuple[str, ...]], Required] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )
    """Cached requirements by category and names, which few thousands of certificates share."""

    @property
    def in_force(self) -> bool:
        """True if it applies."""
        return self.reason is None


class Required(Struct, frozen=True, kw_only=True):
    """The requirement on the key of one certificate, and its source.

    At most one of ``key``, ``unknown``, ``all_of`` and ``one_of`` is set; none of these: nothing is required.
    """

    key: Key | None = None
    exact: bool = False
    """True for a configured key, which must be exactly ``key``; else it is the platform's minimum."""
    because: tuple[Because, ...] = ()
    unknown: str | None = None
    """The reason why it is unknown; then nothing passes."""
    all_of: tuple[Required, ...] = ()
    """Requirements that must all be met: a certificate with both usages, in a shape without a category for it."""
    one_of: tuple[Required, ...] = ()
    """Possible requirements of an ambiguous name or category. A verdict holds only if it is the same for all."""

    @property
    def asks(self) -> bool:
        """True if there is any requirement, known or not."""
        return bool(self.key or self.unknown is not None or self.all_of or self.one_of)

    def fit(self, key: Key) -> Fit:
        """The result of comparing ``key``."""
        if self.all_of:
            return _worst(each.fit(key) for each in self.all_of)
        if self.one_of:
            fits = {each.fit(key) for each in self.one_of}
            return fits.pop() if len(fits) == 1 else "unknown"
        if self.unknown is not None:
            return "unknown"
        if self.key is None:
            return "unrequired"
        if key == self.key:
            return "met"
        return _unequal(key, self.key, exact=self.exact)


def _worst(fits: Iterable[Fit]) -> Fit:
    return max(fits, key=FITS.index)


def _unequal(key: Key, required: Key, *, exact: bool) -> Fit:
    """The result for a different key. Keys of unknown strength (Ed25519, ML-DSA) never comply."""
    if key.strength is None or required.strength is None:
        return "violated"
    if exact:
        # Larger and of the same strength, RSA 9216 beside 8192, is no weaker either.
        bigger = key.algorithm == required.algorithm and (key.size or 0) > (required.size or 0)
        return "stronger" if key.strength > required.strength or bigger else "violated"
    return "met" if key.strength >= required.strength else "violated"
