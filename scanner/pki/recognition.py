"""Recognition of certificates: well-known name, category, and whether the PKI object governs them.

The place counts more than the certificate's content: any user can create a certificate with ``CN=etcd-signer``, but
only the platform writes into its Secrets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, Literal

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.x509 import load_der_x509_certificate
from msgspec import Struct

from scanner.files.source_positions import shown
from scanner.model.held_certificate import HeldCertificate, Place
from scanner.model.well_known import Category, Inside, Names, Owner, WellKnown, fits
from scanner.tls.certificate import CertificateFacts

LONGEST: Final = 2000
"""Characters. No name of the platform comes near, though operators do not keep to the 64 of RFC 5280 appendix A.1."""

_PART: Final = re.compile(r"((?:[^\\,+]|\\.)*)([,+]|\Z)", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\([0-9A-Fa-f]{2}|.)", re.DOTALL)


def values(name: str, kind: str) -> tuple[str, ...]:
    """The values of every attribute ``kind`` (``CN``, ``O``) of a name, () of one longer than ``LONGEST``. An escaped
    separator is part of its value, so that ``CN=a\\,O=b`` has no O."""
    return _values(name, kind) if len(name) <= LONGEST else ()


@lru_cache(maxsize=4096)
def _values(name: str, kind: str) -> tuple[str, ...]:
    pairs = (part.group(1).partition("=") for part in _PART.finditer(name))
    return tuple(_plain(value) for attribute, _, value in pairs if attribute == kind)


def common_name(name: str | None) -> str | None:
    """The common name; "" if there is none or several, which are not recognised. None if the name cannot be read."""
    if name is None:
        return None
    found = values(name, "CN")
    return found[0] if len(found) == 1 else ""


def organizations(name: str | None) -> tuple[str, ...] | None:
    """The organizations. None of a name that cannot be read."""
    return None if name is None else values(name, "O")


def _plain(value: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)) if len(match[1]) == 2 else match[1], value)


Use = Literal["signer", "serving", "client", "peer", "unknown"]

LONGEST_SAN: Final = 253
"""Characters of a DNS name (RFC 1035 section 2.3.4)."""
_PURPOSES: Final = {"serverAuth": {"serving"}, "clientAuth": {"client"}, "anyExtendedKeyUsage": {"serving", "client"}}
_SUITS: Final[dict[Use, frozenset[Category]]] = {
    "signer": frozenset({"signer"}),
    "serving": frozenset({"serving", "peer"}),
    "client": frozenset({"client", "peer"}),
    "peer": frozenset({"serving", "client", "peer"}),
    "unknown": frozenset({"serving", "client", "peer"}),
}
"""The categories that a certificate of each usage may be of."""


def recognise(held: HeldCertificate, names: Names) -> tuple[tuple[WellKnown, ...], str]:
    """By Secret, by bundle, by listener, by subject and issuer: the first that finds any name."""
    for look in _WAYS:
        found, because = look(held, names)
        if found:
            return found, because
    return (), ""


def _path(place: Place, kind: str) -> str:
    """``namespace/name`` of the object, if it is of ``kind``."""
    reference = place.reference
    return f"{reference.namespace}/{reference.name}" if reference and reference.kind == kind else ""


def _by_secret(held: HeldCertificate, names: Names) -> tuple[tuple[WellKnown, ...], str]:
    """Only what the key belongs to: a signer is often kept behind what it signed. Of patterns that match, the most
    particular counts, as etcd-serving-metrics-* and not etcd-serving-*."""
    path = _path(held.place, "Secret")
    if not path or held.place.role not in ("leaf", "client"):
        return (), ""
    matching = [(len(pattern), each) for pattern, each in names.secrets.find(path)]
    most = max((length for length, _ in matching), default=0)
    return tuple(each for length, each in matching if length == most), f"its Secret is {path}"


def _by_bundle(held: HeldCertificate, names: Names) -> tuple[tuple[WellKnown, ...], str]:
    path = _path(held.place, "ConfigMap")
    if not path:
        return (), ""
    bundled = {each.name for _, each in names.bundles.find(path)}
    if not bundled:
        return (), ""
    found = tuple(each for each in _claimed(held.facts, names) if each.name in bundled)
    return found, f"ConfigMap {path} holds it, and its subject is {_subject(held.facts)}"


def _by_listener(held: HeldCertificate, names: Names) -> tuple[tuple[WellKnown, ...], str]:
    place = held.place
    if place.component is None or place.role != "leaf":
        return (), ""
    issuer = common_name(held.facts.issuer)
    found = tuple(
        each
        for each in names.all
        if any(
            component == place.component and (place.port is None or place.port in ports)
            for component, ports in each.recognition.listeners
        )
        and _signed_for(each, held.facts, issuer)
    )
    port = "" if place.port is None else f" on port {place.port}"
    return found, f"{place.component} serves it{port}, signed by {_issuer(held.facts)}"


def _by_subject(held: HeldCertificate, names: Names) -> tuple[tuple[WellKnown, ...], str]:
    """By what the certificate says, where it can be believed."""
    if user_provided(held.place, names) or inside(held.place, names):
        return (), ""
    believed = _believed(held.place, names)
    found = tuple(each for each in _claimed(held.facts, names) if believed(each))
    if found and not _only_platform_writes(held.place, names):
        found = found if has_known_key(held.facts, names) else ()
    return found, f"its subject is {_subject(held.facts)}, signed by {_issuer(held.facts)}"


_WAYS: Final = (_by_secret, _by_bundle, _by_listener, _by_subject)


def _only_platform_writes(place: Place, names: Names) -> bool:
    """True if the names in a certificate at this place can be trusted."""
    if place.reference is None:
        return not place.endpoint or place.component is not None
    if place.reference.namespace is None:
        return place.reference.kind == "CertificateSigningRequest"
    return names.is_platform(place.reference.namespace)


def claims(facts: CertificateFacts, names: Names) -> bool:
    """True if it has the name of a certificate, or signer, that the platform also uses outside its namespaces."""
    return any(each.recognition.anywhere or each.recognition.injected for each in _claimed(facts, names))


def has_known_key(facts: CertificateFacts, names: Names) -> bool | None:
    """True if it is a signer from the platform's own namespaces, or is signed by one: users can give a CA the name of
    the service CA. None if no such signer was seen."""
    keys = names.signers
    if not keys:
        return None
    if facts.is_ca:
        return facts.key_sha256 in keys
    return any(_signed(facts.der, der) for der in keys.values())


def _signed(der: bytes, signer: bytes) -> bool:
    try:
        load_der_x509_certificate(der).verify_directly_issued_by(load_der_x509_certificate(signer))
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


def _believed(place: Place, names: Names) -> Callable[[WellKnown], bool]:
    """A test for the names that a certificate at this place may have by its subject."""
    if place.reference is None:
        in_platform = not place.endpoint or place.component is not None  # a file, or a listener of the platform
    elif place.reference.namespace is not None:
        in_platform = names.is_platform(place.reference.namespace)
    elif place.reference.kind == "CertificateSigningRequest":
        in_platform = True
    else:
        return lambda each: each.recognition.injected
    return lambda each: in_platform or each.recognition.anywhere


def _claimed(facts: CertificateFacts, names: Names) -> Iterator[WellKnown]:
    """Every well-known name that fits the certificate's subject and issuer."""
    subject, owners = common_name(facts.subject), organizations(facts.subject)
    if subject is None or owners is None:
        return
    issuer = common_name(facts.issuer)
    for known in {each.name: each for _, each in names.subjects.find(subject)}.values():
        expected = known.recognition.organizations
        if (not expected or set(expected) <= set(owners)) and _signed_for(known, facts, issuer):
            yield known


def _signed_for(each: WellKnown, facts: CertificateFacts, issuer: str | None) -> bool:
    """True if its signer (``issuer`` is its common name), names and usage fit ``each``. Unreadable fields exclude
    nothing, unless the signer is the only criterion."""
    how = each.recognition
    if issuer is None and "*" in how.subjects:
        return False
    if how.issuers and issuer is not None and not fits(issuer, how.issuers):  # cheapest, most selective
        return False
    return suits(each, facts) and _is_for(how.sans, facts)


def _is_for(patterns: tuple[str, ...], facts: CertificateFacts) -> bool:
    if not patterns or facts.dns_names is None or facts.ip_addresses is None:
        return True
    names = (*facts.dns_names, *facts.ip_addresses)
    return any(len(name) <= LONGEST_SAN and fits(name, patterns) for name in names)


def _subject(facts: CertificateFacts) -> str:
    return shown(common_name(facts.subject) or "not to be read")


def _issuer(facts: CertificateFacts) -> str:
    return shown(common_name(facts.issuer) or "no readable issuer")


def user_provided(place: Place, names: Names) -> str | None:
    """The reason why a certificate at this place was not issued by the platform, or None."""
    secret, bundle = _path(place, "Secret"), _path(place, "ConfigMap")
    for each in names.outside:
        if (secret and fits(secret, each.secrets)) or (bundle and fits(bundle, each.config_maps)):
            return each.why
    return None


_OPERATORS: Final = re.compile(r"@([0-9]{9,10})\Z")
"""End of the common name of an operator's signer: the time of issue, in seconds."""


def made_by_name(facts: CertificateFacts) -> datetime | None:
    """The time at which a signer's key was created, from its name: a later cross-signed certificate of the same key has
    a later notBefore."""
    if not facts.is_ca or facts.self_issued:
        return None
    found = _OPERATORS.search(common_name(facts.subject) or "")
    return datetime.fromtimestamp(int(found[1]), UTC) if found else None


def likely(facts: CertificateFacts) -> str:
    """The reason why an unknown certificate in a place of the platform is probably the platform's own; "" if there is
    none. Certificates of administrators are signed by another CA."""
    subject, issuer = common_name(facts.subject), common_name(facts.issuer)
    for what, name in (("its name", subject), ("its signer's name", issuer)):
        if name is not None and _OPERATORS.search(name):
            return f"{what} has the spelling of operators ({shown(name)})"
    return "it is self-signed, not signed by a CA" if facts.self_issued else ""


def inside(place: Place, names: Names) -> Inside | None:
    """The owner of the certificates there without a well-known name, if there is one."""
    secret = _path(place, "Secret")
    return next((each for each in names.inside if secret and fits(secret, each.secrets)), None)


def use_of(facts: CertificateFacts) -> Use:
    """The certificate's use, from its extensions (RFC 5280 sections 4.2.1.9 and 4.2.1.12)."""
    if facts.is_ca:
        return "signer"
    if facts.is_ca is None:
        return "unknown"
    found: set[str] = set().union(*(_PURPOSES.get(each, set()) for each in facts.extended_key_usage or ()))
    if len(found) == 2:
        return "peer"
    return "serving" if "serving" in found else "client" if found else "unknown"


def suits(name: WellKnown, facts: CertificateFacts) -> bool:
    return facts.is_ca is None or name.category in _SUITS[use_of(facts)]


class Classified(Struct, frozen=True, kw_only=True):
    """Classification of one certificate."""

    names: tuple[WellKnown, ...] = ()
    """Possible well-known names; several if it is ambiguous."""
    category: Use
    """Category of its names in the enhancement, else ``use``."""
    use: Use
    """By the certificate alone: basicConstraints, then extendedKeyUsage."""
    because: str
    """Text on how it was recognised, or that it was not."""
    governed: bool | None
    """True if the PKI object governs its key; None if unknown."""
    why: str
    """The reason for ``governed``, a clause for people."""
    maker: Owner | None = None
    """Owner of a certificate without a well-known name, if known by its place."""
    likely: str = ""
    """Reason why it is probably the platform's own, if ``governed`` is None; "" if there is none."""
    judged: bool = False
    """True if it has no well-known name and is judged by its category alone."""

    @property
    def makers(self) -> tuple[Owner, ...]:
        """The possible owners."""
        return (self.maker,) if self.maker else tuple(each.owner for each in self.names)


_OWN: Final = frozenset({"leaf", "client"})
"""Roles of certificates with a private key in use."""


def classify(held: HeldCertificate, names: Names) -> Classified:
    """Classify a certificate by its place and content. Never raises, for any content."""
    use = use_of(held.facts)
    place = held.place
    if place.user_provided is not None:
        because = f"a user provided it: {place.user_provided}"
        return Classified(category=use, use=use, because=because, governed=False, why=because)
    found, because = recognise(held, names)
    if found:
        return Classified(
            names=found,
            category=_category(found, use),
            use=use,
            because=because + _odd(found, held.facts),
            governed=True,
            why=f"{found[0].owner.name} issues it",
        )
    because = "neither its location nor its subject is that of a well-known certificate"
    owned = inside(place, names)
    if owned is not None and place.role in _OWN:
        return Classified(
            category=use, use=use, because=because, governed=True, why=owned.why, maker=owned.owner, judged=True
        )
    governed, why = _ungoverned(held.facts, place, names)
    judged = governed is None and _is_platforms(place, names)
    return Classified(
        category=use,
        use=use,
        because=because,
        governed=governed,
        why=why,
        likely=likely(held.facts) if judged else "",
        judged=judged,
    )


def _is_platforms(place: Place, names: Names) -> bool:
    """True if certificates in use there are the platform's own, unless a user provided them."""
    if place.role not in _OWN:
        return False
    if place.reference is not None:
        return names.is_platform(place.reference.namespace or "")
    return place.component is not None and place.component not in names.serves_for_users


def _category(found: Iterable[WellKnown], use: Use) -> Use:
    categories = {each.category for each in found}
    return categories.pop() if len(categories) == 1 else use


def _odd(found: Iterable[WellKnown], facts: CertificateFacts) -> str:
    """A remark if the certificate's use does not fit its Secret."""
    return "" if any(suits(each, facts) for each in found) else ", but the certificate has another purpose"


def _ungoverned(facts: CertificateFacts, place: Place, names: Names) -> tuple[bool | None, str]:
    """``governed`` and its reason for a certificate without a well-known name: False or unknown."""
    why = user_provided(place, names)
    if why is not None:
        return False, why
    if place.role == "trusted":
        return False, "a trusted CA that is not a signer of the platform"
    reference = place.reference
    if reference is None:
        return _unplaced(place)
    if reference.kind == "CertificateSigningRequest":
        return False, "its requester generated the key"
    if reference.namespace is None:
        return False, "its owner created it, not the platform"
    if not names.is_platform(reference.namespace):
        if claims(facts, names) and has_known_key(facts, names) is None:
            return None, "its name is that of a service CA certificate, but the service CA was not read"
        return False, f"namespace {reference.namespace} belongs to users, not to the platform"
    return None, f"it is in the platform's namespace {reference.namespace}, and its creator is unknown"


def _unplaced(place: Place) -> tuple[bool | None, str]:
    if not place.endpoint:
        return None, "a file does not show who created it"
    if place.component is None:
        return False, "no known component of the platform owns its listener"
    return None, f"{place.component} serves it, and its creator is unknown"
