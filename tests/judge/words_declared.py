"""Words of examples for what objects say of a listener."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final, Literal

from scanner.model.expectation import (
    Because,
    Client,
    DeclaredCertificates,
    MissingGrant,
    Neighbour,
    OtherName,
    PlainPort,
    Upstream,
)
from tests.judge.described import stored
from tests.judge.drafts import Draft, Word
from tests.judge.words_owed import certificate
from tests.judge.words_served import authority

_INSECURE: Mapping[str, Literal["nothing", "redirect", "served"]] = {
    "None": "nothing",
    "Redirect": "redirect",
    "Allow": "served",
}
_WITHHELD: Final = {("Accepted", "False"), ("Conflicted", "True"), ("ResolvedRefs", "False")}
_NO_CERTIFICATE: Final = ("InvalidCertificateRef", "RefNotPermitted")
_CONTOUR: Final = "projectcontour.io/gateway-controller"
_GUARDED: Mapping[str, bool] = {"required": True, "none": False}
"""Of a neighbour, where the listener itself asks for none."""
_ROLES: Mapping[str, Literal["metrics", "webhook"] | None] = {"metrics": "metrics", "webhook": "webhook", "api": None}


def _stored(draft: Draft, value: Mapping[str, Any]) -> None:
    """What an object names for this listener and no other."""
    certificate(draft, declared=DeclaredCertificates(leaves=(stored(**value),), exact=True))


def _without_grant(draft: Draft, value: Mapping[str, Any]) -> None:
    """A Secret that an object names although nobody in its namespace allows it."""
    certificate(draft, missing_grants=(_ungranted(**value),))


def _ungranted(*, namedBy: str, place: str, certificates: Iterable[Mapping[str, Any]]) -> MissingGrant:  # noqa: N803 - words of examples
    return MissingGrant(who=namedBy, secret=place, leaf=stored(place, certificates))


def _clients(draft: Draft, value: Iterable[Mapping[str, str]]) -> None:
    certificate(draft, clients=tuple(_client(**each) for each in value))


def _client(*, object: str, caBundle: str, name: str) -> Client:  # noqa: A002, N803 - words of examples
    return Client(who=object, source=f"{object} caBundle", anchors=(authority(caBundle).der,), name=name)


def _conditions(draft: Draft, value: Iterable[Mapping[str, str]]) -> None:
    """What ``status.listeners`` of its Gateway says of the listener."""
    draft.expectation["rejection"] = ", ".join(filter(None, (_withheld(**each) for each in value)))


def _withheld(*, type: str, status: str, reason: str = "") -> str:  # noqa: A002 - as Kubernetes has it
    if (type, status) not in _WITHHELD or (type == "ResolvedRefs" and reason not in _NO_CERTIFICATE):
        return ""
    return f"Gateway/edge/front status.listeners[web]: {type} is {status}, {reason}"


def _other_name(
    owed: Literal["refused", "validated", "same"], says: str, draft: Draft, value: Mapping[str, str]
) -> None:
    """A name that an object says something of, and what that comes to."""
    draft.expectation["other_names"] = (_owed(owed, says, **value),)


def _owed(owed: Literal["refused", "validated", "same"], says: str, *, name: str, object: str) -> OtherName:  # noqa: A002 - a word of examples
    return OtherName(name=name, owed=owed, because=f"{object} {says}")


def _insecure(draft: Draft, value: str) -> None:
    because = "Route/shop/web spec.tls.insecureEdgeTerminationPolicy"
    draft.expectation["plain_port"] = PlainPort(port=80, path="/", owed=_INSECURE[value], because=because)


def _neighbour(draft: Draft, value: Mapping[str, str]) -> None:
    """Another name at the same place."""
    draft.expectation["neighbours"] = (_beside(**value),)


def _beside(*, name: str, object: str, clientCertificate: str = "none") -> Neighbour:  # noqa: A002, N803 - words of examples
    return Neighbour(name=name, guarded=_GUARDED[clientCertificate], because=object)


def _called_by(draft: Draft, value: Mapping[str, str]) -> None:
    """The Gateway that a BackendTLSPolicy has call this backend."""
    draft.expectation["upstreams"] = (_upstream(**value),)


def _upstream(
    *,
    gateway: str,
    policy: str = "BackendTLSPolicy/shop/web",
    clientCertificateRef: str = "",  # noqa: N803 - words of examples
    controllerName: str = "example.com/gateway-controller",  # noqa: N803
    wellKnownCACertificates: str = "",  # noqa: N803
) -> Upstream:
    opens = controllerName == _CONTOUR
    roots = f"it has wellKnownCACertificates: {wellKnownCACertificates}" if wellKnownCACertificates else ""
    return Upstream(
        gateway=gateway,
        policy=policy,
        identity=clientCertificateRef,
        fails_open=opens,
        plaintext=roots if opens else "",
    )


def _override(draft: Draft, value: Mapping[str, str]) -> None:
    """What the policy file says of this listener, and of which kind it is."""
    draft.expectation |= _overridden(**value)


def _overridden(*, listener: str, profile: str, justification: str) -> dict[str, Any]:
    said = f"{profile}: {justification}"
    because = Because(source="adhere.yaml", field="overrides", said=said, decides=True)
    return {"overridden": _ROLES[listener], "because": (because,)}


DECLARED: Mapping[str, Word] = {
    "stored": _stored,
    "withoutGrant": _without_grant,
    "clients": _clients,
    "conditions": _conditions,
    "notServed": partial(_other_name, "refused", "spec.listeners"),
    "clientsValidated": partial(_other_name, "validated", "spec.tls.frontend"),
    "subdomain": partial(_other_name, "same", "spec.wildcardPolicy"),
    "insecureEdgeTerminationPolicy": _insecure,
    "neighbour": _neighbour,
    "calledBy": _called_by,
    "override": _override,
}
