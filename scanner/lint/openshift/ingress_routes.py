"""Ingresses that OpenShift turns into Routes, by their annotations (ingress-to-route controller)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.files.problems import did_you_mean
from scanner.files.source_positions import shown
from scanner.kube.kinds import INGRESS
from scanner.lint import references
from scanner.lint.certificates import chain_of
from scanner.lint.references import secret_of
from scanner.model.declared import Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_TERMINATION: Final = "route.openshift.io/termination"
_DESTINATION: Final = "route.openshift.io/destination-ca-certificate-secret"
_TERMINATIONS: Final = ("edge", "passthrough", "reencrypt")
_ANNOTATIONS: Final = ("metadata", "annotations")


def check_ingress(subject: Subject) -> Iterator[Flaw]:
    """The annotations by which an Ingress becomes a Route mean something."""
    said = subject.object.annotations.get(_TERMINATION)
    if said is not None and said not in _TERMINATIONS:
        yield Flaw(
            message=f"{_TERMINATION} is {shown(said)}, which is no termination",
            at=(*_ANNOTATIONS, _TERMINATION),
            expected=_TERMINATIONS,
            observed=(said[:60],),
            fix=did_you_mean(said, _TERMINATIONS),
        )
    name = subject.object.annotations.get(_DESTINATION)
    if name:
        yield from _destination(subject, name, said)


def _destination(subject: Subject, name: str, said: str | None) -> Iterator[Flaw]:
    at = (*_ANNOTATIONS, _DESTINATION)
    if said != "reencrypt":
        message = f"{_DESTINATION} means nothing without {_TERMINATION}: reencrypt"
        yield Flaw(message=message, at=at, fix=f"add {_TERMINATION}: reencrypt, or remove it")
    secret = secret_of(subject, name)
    if isinstance(secret, Missing):
        if secret.gap:
            yield undecided(secret, at, "whether the router can verify the backend")
        else:
            yield Flaw(message=f"{secret.name} does not exist", at=at, fix=f"create {secret.name}")
    elif not chain_of(secret):
        message = f"{secret.reference} has no certificate in tls.crt, where the CA is looked for"
        yield Flaw(message=message, at=at, fix=f"{secret.reference}: put the CA's certificate into tls.crt")


INGRESS_ROUTE = ObjectRule(
    id="route-from-ingress",
    subjects=(INGRESS,),
    check=check_ingress,
    reads=references.READS,
)
