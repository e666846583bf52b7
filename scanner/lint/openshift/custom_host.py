"""Whether somebody may apply a Route: hosts and certificates of one's own need a right of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.kube.kinds import ROUTE
from scanner.kube.objects import KubeObject
from scanner.lint import authorization
from scanner.lint.authorization import Access, Identity, Wish, access
from scanner.lint.openshift.routes import EXTERNAL, TLS
from scanner.lint.reviewing import answer, question
from scanner.model.access_review import Review
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_HOST: Final = ("spec", "host")
_SUBDOMAIN: Final = ("spec", "subdomain")
_CERTIFICATES: Final = ("certificate", "key", "caCertificate", "destinationCACertificate")
_SAYS_HOST: Final = "you do not have permission to set the host field of the route"
_SAYS_SUBDOMAIN: Final = "you do not have permission to set the subdomain field of the route"
_SAYS_TLS: Final = "you do not have permission to set certificate fields on the route"
_ACCOUNT: Final = "system:serviceaccount:"


def identity(user: str, groups: tuple[str, ...] = ()) -> Identity:
    """Somebody as the API server sees them: in the groups that everybody is in, and service accounts in theirs."""
    own: tuple[str, ...] = ()
    if user.startswith(_ACCOUNT):
        own = ("system:serviceaccounts", f"system:serviceaccounts:{user.removeprefix(_ACCOUNT).partition(':')[0]}")
    return Identity(name=user, groups=tuple(dict.fromkeys((*groups, *own, "system:authenticated"))))


def check_custom_host(subject: Subject) -> Iterator[Flaw]:
    """Whoever applies a Route may set its host and certificates."""
    user = subject.declared.user
    if user is None:
        return
    who = identity(user, subject.declared.groups)
    for at, says, verbs in _asked(subject.object, subject.before):
        wishes = [_wish(subject.object, verb) for verb in verbs]
        found = [access(subject.declared, who, each) for each in wishes]
        answers = [answer(subject.declared, who, wish, each) for wish, each in zip(wishes, found, strict=True)]
        if not any(answers):
            open_ones = [each for each, known in zip(found, answers, strict=True) if known is None]
            yield from _refused(user, at, says, verbs, open_ones, named=any(each.named for each in found))


def custom_host_reviews(route: KubeObject, user: str, groups: tuple[str, ...]) -> Iterator[Review]:
    """What the API server asks of itself when ``user`` applies the Route."""
    if route.namespace and (route.text(*_HOST) or route.text(*_SUBDOMAIN) or any(_certificates(route))):
        for verb in ("create", "update"):
            yield question(identity(user, groups), _wish(route, verb))


def _wish(route: KubeObject, verb: str) -> Wish:
    return Wish(verb=verb, resource="routes/custom-host", group="route.openshift.io", namespace=route.namespace)


def _asked(route: KubeObject, before: KubeObject | None) -> Iterator[tuple[tuple[str, ...], str, tuple[str, ...]]]:
    """Field, the API server's words, and the verbs of which one will do (library-go ``hostassignment``)."""
    certified = _certificates(route)
    if before is None:
        if route.text(*_HOST):
            yield _HOST, _SAYS_HOST, ("create",)
        elif any(certified):
            yield TLS, _SAYS_TLS, ("create",)
        return
    if route.text(*_HOST) and route.text(*_HOST) != before.text(*_HOST):
        yield _HOST, _SAYS_HOST, ("update",)
    if route.text(*_SUBDOMAIN) != before.text(*_SUBDOMAIN):
        yield _SUBDOMAIN, _SAYS_SUBDOMAIN, ("update",)
    if any(certified) and (certified != _certificates(before) or route.text(*EXTERNAL, "name")):
        yield TLS, _SAYS_TLS, ("update", "create")


def _certificates(route: KubeObject) -> tuple[str, ...]:
    return (*(route.text(*TLS, name) for name in _CERTIFICATES), route.text(*EXTERNAL, "name"))


def _refused(
    user: str, at: tuple[str, ...], says: str, verbs: tuple[str, ...], open_ones: list[Access], *, named: bool
) -> Iterator[Flaw]:
    """``open_ones``: rights of which nobody can tell. ``named``: whether bindings that were seen name the user."""
    unseen = next((each.unseen for each in open_ones if not (named and each.known is False)), None)
    if unseen is not None:
        yield undecided(unseen, at, f"whether {user} may set it")
        return
    listed = " or ".join(verbs)
    yield Flaw(
        message=f"the API server refuses it from {user}: {says}",
        at=at,
        fix=f"allow {user} to {listed} routes/custom-host in the namespace, or leave the field out",
        correction=f"apiGroups: [route.openshift.io]\nresources: [routes/custom-host]\nverbs: [{', '.join(verbs)}]",
    )


CUSTOM_HOST = ObjectRule(
    id="route-custom-host",
    subjects=(ROUTE,),
    check=check_custom_host,
    reads=authorization.READS,
)
