"""The profile that an APIServer hands on to its IngressControllers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

from scanner.kube.kinds import API_SERVER, INGRESS_CONTROLLER
from scanner.kube.objects import KubeObject
from scanner.model.custom_profile import VERSIONS
from scanner.model.declared import Missing
from scanner.model.ingress_admission import refusals
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_PROFILE: Final = ("spec", "tlsSecurityProfile")
_SPEC: Final = ("spec",)
_MODERN: Final = "tlsSecurityProfile:\n  type: Modern\n  modern: {}"
_MOST: Final = 50


def check_inherited(subject: Subject) -> Iterator[Flaw]:
    """An IngressController can take the profile that it inherits."""
    if subject.object.kind == API_SERVER:
        yield from _handed_on(subject)
    elif _inherits(subject.object):
        yield from _taken(subject)


def _inherits(controller: KubeObject) -> bool:
    """Without a type it is as if it had none (cluster-ingress-operator ``hasTLSSecurityProfile``)."""
    return not controller.text(*_PROFILE, "type")


class _Conflict(NamedTuple):
    """Why a router's operator does not take a profile that the API server does."""

    why: str
    fix: str
    """What to do in the APIServer."""
    correction: str


def _conflict(server: KubeObject) -> _Conflict | None:
    custom = server.fields(*_PROFILE, "custom")
    if server.text(*_PROFILE, "type") != "Custom":
        return None
    names, alone = custom.texts("ciphers"), custom.text("minTLSVersion") == VERSIONS[-1]
    if bool(names) == alone:
        return None  # the API server refuses it: no ciphers, or some with VersionTLS13
    if alone:
        why = "is Custom with VersionTLS13, where ciphers are refused, and an IngressController must list some"
        return _Conflict(why, "write 'type: Modern'", _MODERN)
    found = next(refusals(custom), None)
    correction = "minTLSVersion: VersionTLS12" if found and found.field == "minTLSVersion" else ""
    why = f"is Custom, and none that the ingress operator takes: {found.message}" if found else ""
    return _Conflict(why, found.fix, correction) if found else None


def _handed_on(subject: Subject) -> Iterator[Flaw]:
    conflict = _conflict(subject.object)
    if conflict is None:
        return
    controllers = subject.declared.every(INGRESS_CONTROLLER)
    heirs = [each for each in islice(controllers, _MOST) if _inherits(each)]
    if heirs:
        yield Flaw(
            message=f"it {conflict.why}: {heirs[0].reference} inherits it, and is not admitted",
            at=(*_PROFILE, "custom"),
            observed=tuple(str(each.reference) for each in heirs[:5]),
            fix=f"{conflict.fix}, or give {heirs[0].reference} a profile of its own",
            correction=conflict.correction or None,
        )
    elif not controllers and (gap := subject.declared.gap(INGRESS_CONTROLLER)):
        missing = Missing(name=INGRESS_CONTROLLER.name, gap=gap)
        yield undecided(missing, (*_PROFILE, "custom"), "whether an IngressController inherits what it cannot take")


def _taken(subject: Subject) -> Iterator[Flaw]:
    at = _PROFILE if subject.object.has(*_PROFILE) else _SPEC
    server = subject.find(API_SERVER, "cluster")
    if isinstance(server, Missing):
        if server.gap:
            yield undecided(server, at, "whether the ingress operator takes the profile that it inherits")
    elif conflict := _conflict(server):
        yield Flaw(
            message=f"{server.reference} {conflict.why}: this one is not admitted, and the router keeps what it had",
            at=at,
            fix=f"{subject.object.reference}: add a tlsSecurityProfile of its own",
            correction=_MODERN,
        )


INHERITED = ObjectRule(
    id="ingress-profile-inherited",
    subjects=(API_SERVER, INGRESS_CONTROLLER),
    check=check_inherited,
)
