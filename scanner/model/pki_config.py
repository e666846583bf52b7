"""PKI configuration: keys that the PKI object in each of its shapes, MicroShift's file or an install-config requires,
and the key that a certificate has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

from scanner.files.source_positions import Steps, dotted
from scanner.kube.maybe import Known, Unknown
from scanner.model.expectation import Because
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


Usage = Literal["signer", "serving", "client"]
"""A category that a configuration knows."""
USAGES: Final[tuple[Usage, ...]] = ("signer", "serving", "client")

Shape = Literal["document", "shipped", "interim", "install-config", "none"]
"""``document``: ``spec.{defaults,categories,overrides}``, as the enhancement has it, and MicroShift's ``pki``.
``shipped``: ``spec.certificateManagement.custom.signerCertificates`` and so on. ``interim``: the document's lists
inside of ``certificateManagement.custom``. ``none``: nothing that tells the shape is there."""

Reason = Literal["gate-off", "crd-absent", "absent", "deleted", "empty", "unmanaged", "unreadable"]
"""Why nobody has configured anything. ``deleted``: an earlier snapshot had the object. ``unreadable``: there may be a
configuration that nobody saw."""

Fit = Literal["unrequired", "met", "stronger", "unknown", "violated"]
"""How a key stands to what is required. ``stronger``: exactly another key is configured, and this one is stronger,
which is worth a remark only. From the best to the worst."""
FITS: Final[tuple[Fit, ...]] = ("unrequired", "met", "stronger", "unknown", "violated")


@dataclass(frozen=True, slots=True)
class Complaint:
    """What the API would not take."""

    steps: Steps
    """The way to the value, from the top of the object."""
    message: str
    """In the API's words."""

    def __str__(self) -> str:
        return f"{dotted(self.steps)}: {self.message}" if self.steps else self.message


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One key that somebody configured."""

    key: Known[Key]
    """Unknown for what the API would have refused: nobody can tell what operators make of it."""
    field: str
    """``spec.categories[1].certificate.key``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PkiConfig:
    """A configuration, and what holds where it says nothing."""

    source: str
    """``PKI/cluster``, a file, ``ConfigMap/kube-system/cluster-config-v1``."""
    shape: Shape = "none"
    mode: str = ""
    """``Unmanaged``, ``Default``, ``Custom`` of ``spec.certificateManagement``; empty where the shape has none."""
    defaults: Rule | None = None
    categories: Mapping[Usage, Rule] = field(default_factory=dict)
    overrides: Mapping[str, Rule] = field(default_factory=dict)
    """By certificate name."""
    registered: Mapping[str, Usage] = field(default_factory=dict)
    """Certificate names beside the well-known ones, and their categories (PKICertificateDefinition)."""
    platform: Mapping[Usage, Key] = field(default_factory=dict)
    """What the platform takes where nothing is configured: a minimum. Empty: nothing is required."""
    platform_said: str = ""
    """For people: where ``platform`` comes from, or why there is none."""
    reason: Reason | None = None
    """Why nothing is configured, or None. But for ``absent`` and ``deleted`` with the feature gate on, nothing is
    required then: only the policy file's minimum is left to judge by. ``unreadable``: nothing passes."""
    since: datetime | None = None
    """The last change of the spec; None where nothing tells."""
    since_vague: bool = False
    """Whether it was changed after ``since``, too, and nothing tells when."""
    until: datetime | None = None
    """Where ``since_vague``: the latest time at which that can have been, if that is known."""
    since_said: str = ""
    """Why ``since`` was chosen, where nothing tells it: a clause for people."""
    problems: tuple[Complaint, ...] = ()
    unknown_fields: tuple[str, ...] = ()
    """Fields that no shape has: kept, and without effect."""
    remarks: tuple[str, ...] = ()
    asked: dict[tuple[str, tuple[str, ...]], Required] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )
    """What it was found to ask, by category and names: of thousands of certificates the same few questions."""

    @property
    def in_force(self) -> bool:
        """Whether what it says counts for anybody."""
        return self.reason is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Required:
    """What the key of one certificate must be, and who says so.

    At most one of ``key``, ``unknown``, ``all_of`` and ``one_of`` is set; none of them: nothing is required.
    """

    key: Key | None = None
    exact: bool = False
    """Configured: exactly ``key``. Else it is the platform's own, a minimum."""
    because: tuple[Because, ...] = ()
    unknown: str | None = None
    """Why nobody can tell; then nothing passes."""
    all_of: tuple[Required, ...] = ()
    """Each must be met: a certificate with both usages, in a shape without a category for it."""
    one_of: tuple[Required, ...] = ()
    """One of these, and nobody knows which: a name or a category that is ambiguous. A verdict stands only if it is the
    same for all."""

    @property
    def asks(self) -> bool:
        """Whether it asks for anything, known or not."""
        return bool(self.key or self.unknown is not None or self.all_of or self.one_of)

    def fit(self, key: Key) -> Fit:
        """How ``key`` stands to this."""
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
    """Of a key that is another one. What no table gives a strength (Ed25519, ML-DSA) meets nothing."""
    if key.strength is None or required.strength is None:
        return "violated"
    if exact:
        # Larger and of the same strength, RSA 9216 beside 8192, is no weaker either.
        bigger = key.algorithm == required.algorithm and (key.size or 0) > (required.size or 0)
        return "stronger" if key.strength > required.strength or bigger else "violated"
    return "met" if key.strength >= required.strength else "violated"
