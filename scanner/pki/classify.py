"""What each certificate is: its name, its category, and whether the PKI object governs it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from scanner.model.held_certificate import HeldCertificate, Place
from scanner.model.well_known import Names, Owner, WellKnown
from scanner.pki.recognition import Use, claims, given_there, has_known_key, inside, likely, recognise, suits, use_of
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
