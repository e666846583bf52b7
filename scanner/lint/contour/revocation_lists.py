"""Revocation lists (CRLs) with which Envoy checks client certificates."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from scanner.files.source_positions import Steps
from scanner.kube.contour import ClientValidation, HTTPProxy, secret_name
from scanner.kube.kinds import HTTP_PROXY
from scanner.kube.objects import KubeObject
from scanner.kube.secrets import RevocationList, Secret
from scanner.lint.contour.contour_secrets import CRL, READS, TLS, permission
from scanner.lint.referenced_certificates import display_name, entry, of_text
from scanner.lint.references import secret_of
from scanner.model.certificate_faults import date, short
from scanner.model.declared import Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided
from scanner.tls.certificate import CertificateFacts
from scanner.tls.revocation import Signed, signed

_LISTS: Final = (*TLS, "clientValidation", "crlSecret")
_SHOWN: Final = 3
_MOST: Final = 20
"""CAs with the same name whose signature on a list is checked."""
_UNSIGNED: Final[dict[Signed, tuple[str, str]]] = {
    "not with its key": (
        "is not signed with the key of the CA of that name",
        f"{{lists}}: put a list signed by the CA in {{authority}} into {CRL}",
    ),
    "not a signer of lists": (
        "is signed by a CA whose keyUsage has no cRLSign,",
        "{authority}: issue a CA certificate with cRLSign for the same key",
    ),
}
"""Message and fix."""


def check_revocation(subject: Subject) -> Iterator[Flaw]:
    """No revocation list makes Envoy refuse every client."""
    validation = HTTPProxy.of(subject.object).tls.client_validation
    secret = _named(subject, validation.crl_secret)
    if isinstance(secret, Missing):
        if secret.gap:
            unseen = undecided(secret, _LISTS, "whether its revocation list is expired")
            yield Flaw(message=unseen.message, at=unseen.at, verdict=unseen.verdict, severity="info")
    elif secret is not None:
        lists = Secret.of(secret).crls
        yield from _aged(subject, secret, lists)
        yield from _signers(subject, validation, secret, lists)


def _named(subject: Subject, text: str) -> KubeObject | Missing | None:
    """The Secret of that name. None if it is not delegated: then only ``contour-delegation`` reports it, without its
    content."""
    name = secret_name(text, subject.object.namespace)
    if not text or permission(subject.declared, subject.object, name).allowed is False:
        return None
    return secret_of(subject, name.name, name.namespace)


def _flaw(secret: KubeObject, at: Steps, what: str) -> Flaw:
    fix = f"{secret.reference}: put a new list of the CA into {CRL}"
    return Flaw(message=f"{secret.reference}: {what}: Envoy refuses every client", at=at, fix=fix)


def _aged(subject: Subject, secret: KubeObject, lists: Sequence[RevocationList]) -> Iterator[Flaw]:
    now = subject.declared.known.taken_at
    for each in lists:
        name = f"the revocation list of {short(each.issuer)}"
        begins, ends = each.this_update, each.next_update
        if each.unreadable:
            yield _flaw(secret, _LISTS, f"a revocation list cannot be read, {each.unreadable}")
        elif ends is not None and ends < now:
            yield _flaw(secret, _LISTS, f"{name} expired on {date(ends)}")
        elif begins is not None and begins > now:
            yield _flaw(secret, _LISTS, f"{name} is not valid before {date(begins)}")


def _signers(
    subject: Subject, validation: ClientValidation, secret: KubeObject, lists: Sequence[RevocationList]
) -> Iterator[Flaw]:
    holder = _named(subject, validation.ca_secret)
    readable = [each for each in lists if not each.unreadable]
    if holder is None or isinstance(holder, Missing) or not readable:
        return
    authorities = [each for each in of_text(entry(holder, "ca.crt") or "") if each.subject is not None]
    found = [_signatures(each, authorities) for each in readable]
    if authorities and not any(found):
        yield _flaw(secret, _LISTS, f"no revocation list is of a CA in {holder.reference}")
        return
    for each, answers in zip(readable, found, strict=True):
        yield from _signature_flaws(secret, holder, each, frozenset(answers.values()))
    without = [each for place, each in enumerate(authorities) if _has_no_list(place, found)]
    if validation.crl_only_verify_leaf_cert:
        signers = {each.issuer for each in authorities if each.issuer != each.subject}
        without = [each for each in without if each.subject not in signers]
    if without:
        named = ", ".join(display_name(each) for each in without[:_SHOWN])
        yield Flaw(
            message=f"{secret.reference}: no revocation list is of {named}: Envoy refuses its clients",
            at=_LISTS,
            severity="medium",
            fix=f"{secret.reference}: put a list of each CA into {CRL}",
        )


def _signatures(each: RevocationList, authorities: list[CertificateFacts]) -> dict[int, Signed]:
    """The signature check with each CA that has the name of the list's issuer, by the CA's place."""
    places = [place for place, ca in enumerate(authorities) if ca.subject == each.issuer]
    checked = {place: _signed(each.der, authorities[place].der) for place in places[:_MOST]}
    return checked | dict.fromkeys(places[_MOST:], "unknown")


@lru_cache(maxsize=1024)  # many virtual hosts refer to the same few; the key is the text, still coded
def _signed(coded: str, authority: bytes) -> Signed:
    try:
        return signed(b64decode(coded, validate=True), authority)
    except ValueError:
        return "unknown"


def _has_no_list(place: int, found: list[dict[int, Signed]]) -> bool:
    """True if no list has the CA's name, or another CA of that name signed all that do."""
    of_name = [answers for answers in found if place in answers]
    if any(answers[place] in ("signed", "unknown") for answers in of_name):
        return False
    return all("signed" in answers.values() for answers in of_name)


def _signature_flaws(
    secret: KubeObject, holder: KubeObject, each: RevocationList, answers: frozenset[Signed]
) -> Iterator[Flaw]:
    name = f"{secret.reference}: the revocation list of {short(each.issuer)}"
    if not answers:
        what = f"is of no CA in {holder.reference}: it applies only to clients that send that CA's certificate"
        yield Flaw(message=f"{name} {what}", at=_LISTS, severity="info")
    elif "unknown" in answers and "signed" not in answers:
        what = f"is signed with the key of the CA of that name in {holder.reference}"
        yield Flaw(message=f"unknown: whether it {what}: {name}", at=_LISTS, verdict="inconclusive")
    elif "signed" not in answers:
        what, fix = _UNSIGNED["not a signer of lists" if "not a signer of lists" in answers else "not with its key"]
        message = f"{name} {what} in {holder.reference}: Envoy refuses its clients"
        yield Flaw(message=message, at=_LISTS, fix=fix.format(lists=secret.reference, authority=holder.reference))


REVOCATION = ObjectRule(id="contour-revocation-list", subjects=(HTTP_PROXY,), reads=READS, check=check_revocation)
