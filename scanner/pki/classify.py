"""What each certificate is: its name, its category, and whether the PKI object governs it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from scanner.model.held_certificate import HeldCertificate, Place
from scanner.model.well_known import Names, WellKnown
from scanner.pki.recognition import Use, given_there, recognise, suits, use_of
from scanner.tls.certificate import CertificateFacts


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


def classify(held: HeldCertificate, names: Names) -> Classified:
    """What a certificate is, where it was found. Never fails, whatever the certificate says."""
    use = use_of(held.facts)
    place = held.place
    if place.user_provided is not None:
        because = f"it was given, not made: {place.user_provided}"
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
    governed, why = _ungoverned(place, names)
    because = "neither its place nor its subject is that of a certificate which is known"
    return Classified(category=use, use=use, because=because, governed=governed, why=why)


def _category(found: Iterable[WellKnown], use: Use) -> Use:
    categories = {each.category for each in found}
    return categories.pop() if len(categories) == 1 else use


def _odd(found: Iterable[WellKnown], facts: CertificateFacts) -> str:
    """A remark where the Secret says one thing and the certificate in it another."""
    return "" if any(suits(each, facts) for each in found) else ", though the certificate is for something else"


def _ungoverned(place: Place, names: Names) -> tuple[bool | None, str]:
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
        return False, "whoever asked for it made its key"
    if reference.namespace is None:
        return False, "its owner wrote it there, not the platform"
    if not names.is_platform(reference.namespace):
        return False, f"namespace {reference.namespace} is its users', not the platform's"
    return None, f"it lies in the platform's namespace {reference.namespace}, and nothing says who made it"


def _unplaced(place: Place) -> tuple[bool | None, str]:
    if not place.endpoint:
        return None, "a file does not say who made it"
    if place.component is None:
        return False, "its listener belongs to no component of the platform that is known"
    return None, f"{place.component} serves it, and nothing says who made it"
