"""What each certificate is: its name, its category, and whether the PKI object governs it.

The place decides before the certificate does: anybody can write ``CN=etcd-signer`` into a certificate of their own, and
only the platform writes into its Secrets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, Literal

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.x509 import load_der_x509_certificate

from scanner.files.source_positions import shown
from scanner.model.inventory import HeldCertificate, Place
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
    """The common name; "" where there is none or several, by which nothing is recognised. None of a name that cannot be
    read."""
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
    if given_there(held.place, names) or inside(held.place, names):
        return (), ""
    believed = _believed(held.place, names)
    found = tuple(each for each in _claimed(held.facts, names) if believed(each))
    if found and not _only_platform_writes(held.place, names):
        found = found if has_known_key(held.facts, names) else ()
    return found, f"its subject is {_subject(held.facts)}, signed by {_issuer(held.facts)}"


_WAYS: Final = (_by_secret, _by_bundle, _by_listener, _by_subject)


def _only_platform_writes(place: Place, names: Names) -> bool:
    """Whether a name in a certificate there needs no proof."""
    if place.reference is None:
        return not place.endpoint or place.component is not None
    if place.reference.namespace is None:
        return place.reference.kind == "CertificateSigningRequest"
    return names.is_platform(place.reference.namespace)


def claims(facts: CertificateFacts, names: Names) -> bool:
    """Whether it has the name, or the signer's name, of something that the platform spreads beyond its namespaces."""
    return any(each.recognition.anywhere or each.recognition.injected for each in _claimed(facts, names))


def has_known_key(facts: CertificateFacts, names: Names) -> bool | None:
    """Whether it is one of the signers that the platform's own namespaces hold, or one of them signed it: anybody can
    call a CA of theirs as the service CA is called. None where no such signer was seen."""
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
    """Which names a certificate there may claim by its subject."""
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
    """Every name that the certificate's subject and issuer are those of."""
    subject, owners = common_name(facts.subject), organizations(facts.subject)
    if subject is None or owners is None:
        return
    issuer = common_name(facts.issuer)
    for known in {each.name: each for _, each in names.subjects.find(subject)}.values():
        wanted = known.recognition.organizations
        if (not wanted or set(wanted) <= set(owners)) and _signed_for(known, facts, issuer):
            yield known


def _signed_for(each: WellKnown, facts: CertificateFacts, issuer: str | None) -> bool:
    """Whether its signer (``issuer`` is its common name), its names and its usage are those that ``each`` has. What
    cannot be read rules out nothing, unless the signer is all that there is to go by."""
    how = each.recognition
    if issuer is None and "*" in how.subjects:
        return False
    if how.issuers and issuer is not None and not fits(issuer, how.issuers):  # the cheapest, and what tells most apart
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


def given_there(place: Place, names: Names) -> str | None:
    """Why the platform did not make what lies there, if it did not."""
    secret, bundle = _path(place, "Secret"), _path(place, "ConfigMap")
    for each in names.outside:
        if (secret and fits(secret, each.secrets)) or (bundle and fits(bundle, each.config_maps)):
            return each.why
    return None


_OPERATORS: Final = re.compile(r"@([0-9]{9,10})\Z")
"""How operators end the common names of their signers: with the second at which each was made."""


def made_by_name(facts: CertificateFacts) -> datetime | None:
    """When a signer's key was made, as an operator wrote it into its name: a certificate that another signer makes for
    the same key later has a later notBefore."""
    if not facts.is_ca or facts.self_issued:
        return None
    found = _OPERATORS.search(common_name(facts.subject) or "")
    return datetime.fromtimestamp(int(found[1]), UTC) if found else None


def likely(facts: CertificateFacts) -> str:
    """Why a certificate without a known name, in a place where the platform writes, is probably the platform's own; ""
    where nothing in it says so. What an administrator brings is signed by somebody else's CA."""
    subject, issuer = common_name(facts.subject), common_name(facts.issuer)
    for said, name in (("its name", subject), ("its signer's name", issuer)):
        if name is not None and _OPERATORS.search(name):
            return f"{said} is spelt as operators spell them ({shown(name)})"
    return "it is self-signed, not signed by a CA" if facts.self_issued else ""


def inside(place: Place, names: Names) -> Inside | None:
    """The owner of everything there that has no name of its own, if there is one."""
    secret = _path(place, "Secret")
    return next((each for each in names.inside if secret and fits(secret, each.secrets)), None)


def use_of(facts: CertificateFacts) -> Use:
    """What the certificate itself says that it is for (RFC 5280 sections 4.2.1.9 and 4.2.1.12)."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Classified:
    """What one certificate is."""

    names: tuple[WellKnown, ...] = ()
    """All that it may be; of several, nothing tells which."""
    category: Use
    """Of its names as the enhancement has it, else ``use``."""
    use: Use
    """By the certificate alone: basicConstraints, then extendedKeyUsage."""
    because: str
    """How it was recognised, or that it was not: a clause for people."""
    governed: bool | None
    """Whether the PKI object says what its key must be; None where nobody can tell."""
    why: str
    """The reason for ``governed``, a clause for people."""
    maker: Owner | None = None
    """Of one without a name: who makes it, where its place tells."""
    likely: str = ""
    """Where ``governed`` is None: why it is probably the platform's own, a clause; "" where nothing tells."""
    judged: bool = False
    """Whether it has no name, and the PKI object is what there is to judge it by: by its category alone."""

    @property
    def makers(self) -> tuple[Owner, ...]:
        """Who makes it; of several, nothing tells which."""
        return (self.maker,) if self.maker else tuple(each.owner for each in self.names)


_OWN: Final = frozenset({"leaf", "client"})
"""Roles of what a key is kept for."""


def classify(held: HeldCertificate, names: Names) -> Classified:
    """What a certificate is, where it was found. Never fails, whatever the certificate says."""
    use = use_of(held.facts)
    place = held.place
    if place.user_provided is not None:
        because = f"it was provided, not generated: {place.user_provided}"
        return Classified(category=use, use=use, because=because, governed=False, why=because)
    found, because = recognise(held, names)
    if found:
        return Classified(
            names=found,
            category=_category(found, use),
            use=use,
            because=because + _odd(found, held.facts),
            governed=True,
            why=f"{found[0].owner.name} makes it",
        )
    because = "neither its place nor its subject is that of a certificate which is known"
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
    """Whether what is in use there is the platform's own, unless somebody gave it."""
    if place.role not in _OWN:
        return False
    if place.reference is not None:
        return names.is_platform(place.reference.namespace or "")
    return place.component is not None and place.component not in names.serves_for_users


def _category(found: Iterable[WellKnown], use: Use) -> Use:
    categories = {each.category for each in found}
    return categories.pop() if len(categories) == 1 else use


def _odd(found: Iterable[WellKnown], facts: CertificateFacts) -> str:
    """A remark where the Secret says one thing and the certificate in it another."""
    return "" if any(suits(each, facts) for each in found) else ", though the certificate is for something else"


def _ungoverned(facts: CertificateFacts, place: Place, names: Names) -> tuple[bool | None, str]:
    """What can be said of a certificate without a name: that the platform did not make it, or that nobody can tell."""
    given = given_there(place, names)
    if given is not None:
        return False, given
    if place.role == "trusted":
        return False, "a trusted CA that is none of the platform's signers"
    reference = place.reference
    if reference is None:
        return _unplaced(place)
    if reference.kind == "CertificateSigningRequest":
        return False, "its requester generated the key"
    if reference.namespace is None:
        return False, "its owner wrote it there, not the platform"
    if not names.is_platform(reference.namespace):
        if claims(facts, names) and has_known_key(facts, names) is None:
            return None, "it is named as one of the service CA's, whose own certificate was not seen"
        return False, f"namespace {reference.namespace} is its users', not the platform's"
    return None, f"it lies in the platform's namespace {reference.namespace}, and nothing says who made it"


def _unplaced(place: Place) -> tuple[bool | None, str]:
    if not place.endpoint:
        return None, "a file does not say who made it"
    if place.component is None:
        return False, "its listener belongs to no component of the platform that is known"
    return None, f"{place.component} serves it, and nothing says who made it"
