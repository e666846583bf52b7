"""Permissions around a Route: of the router and of others on the Secret, and of the user who applies the Route."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from scanner.kube.ingress import Route
from scanner.kube.kinds import ROUTE
from scanner.kube.objects import KubeObject
from scanner.kube.rbac import Review
from scanner.lint import authorization
from scanner.lint.authorization import (
    ACCOUNT,
    Access,
    Grant,
    Identity,
    Request,
    access,
    account,
    allowed_names,
    decide,
    review_of,
    subjects,
)
from scanner.lint.openshift.route_certificate import EXTERNAL
from scanner.model.declared import Declared
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_ROUTER: Final = account("openshift-ingress", "router")
"""The account in library-go's validation, which ignores IngressControllers with another account."""
_GROUPS: Final = ("system:serviceaccounts", "system:serviceaccounts:openshift-ingress", "system:authenticated")
_VERBS: Final = ("get", "list", "watch")
_WRITES: Final = ("update", "patch", "delete")
_HOST: Final = "routes/custom-host"
_ROUTES: Final = "route.openshift.io"
_MOST_SUBJECTS: Final = 500
"""Subjects of one namespace that are checked."""
_NAMED: Final = 5
_PLATFORM: Final = (
    "system:kube-",
    "system:node",
    "system:masters",
    "system:serviceaccount:kube-",
    "system:serviceaccount:openshift-",
    "system:serviceaccounts:kube-",
    "system:serviceaccounts:openshift-",
)
"""Prefixes of the platform's own users, service accounts and groups, which may do more without a Route."""

_Candidate: TypeAlias = tuple[Identity, frozenset[str] | None]
_HOST_FIELD: Final = ("spec", "host")
_SUBDOMAIN: Final = ("spec", "subdomain")
_HOST_ERROR: Final = "you do not have permission to set the host field of the route"
_SUBDOMAIN_ERROR: Final = "you do not have permission to set the subdomain field of the route"
_TLS_ERROR: Final = "you do not have permission to set certificate fields on the route"
_TLS: Final = ("spec", "tls")

# --- The router -------------------------------------------------------------------------------------------------------


def check_access(subject: Subject) -> Iterator[Flaw]:
    """The router may read the Secret of a Route's external certificate."""
    name, declared = Route.of(subject.object).external_secret, subject.declared
    if not name:
        return
    requests = {verb: _reading(subject, verb, name) for verb in _VERBS}
    found = {verb: access(declared, _ROUTER, request) for verb, request in requests.items()}
    answers = {verb: decide(declared, _ROUTER, request, found[verb]) for verb, request in requests.items()}
    if all(answers.values()):
        return
    by_group = {verb: _by_group(declared, request) for verb, request in requests.items()}
    some_granted = any(each.grants for each in found.values()) or any(by_group.values())
    refused = [
        verb
        for verb, each in found.items()
        if answers[verb] is False or (answers[verb] is None and some_granted and each.known is False)
    ]
    for verb in refused:
        yield Flaw(
            message=f"router serviceaccount does not have permission to {verb} this secret",
            at=EXTERNAL,
            expected=_VERBS,
            fix=f"bind a Role with get, list and watch on Secret {name} to {_ROUTER.name}",
            correction=_role(subject, name),
            evidence=by_group[verb],
        )
    open_ones = [each.unseen for verb, each in found.items() if answers[verb] is None and verb not in refused]
    unseen = next(filter(None, open_ones), None)
    if unseen is not None:
        yield undecided(unseen, EXTERNAL, "whether the router may read the Secret")


def route_reviews(route: KubeObject) -> Iterator[Review]:
    """The access reviews in the API server's validation of a Route: for the router's account, without groups."""
    name = Route.of(route).external_secret
    for verb in _VERBS if name and route.namespace else ():
        request = Request(verb=verb, resource="secrets", namespace=route.namespace, name=name)
        yield review_of(_ROUTER, request)


def _reading(subject: Subject, verb: str, name: str) -> Request:
    return Request(verb=verb, resource="secrets", namespace=subject.object.namespace, name=name)


def _by_group(declared: Declared, request: Request) -> tuple[str, ...]:
    found = access(declared, Identity(name=_ROUTER.name, groups=_GROUPS), request).grants
    return tuple(f"{each} allows it to a group, but the API server's check ignores groups" for each in found[:1])


def _role(subject: Subject, name: str) -> str:
    where = f", namespace: {subject.object.namespace}" if subject.object.namespace else ""
    return (
        "apiVersion: rbac.authorization.k8s.io/v1\n"
        "kind: Role\n"
        f"metadata: {{name: {name}-reader{where}}}\n"
        f'rules: [{{apiGroups: [""], resources: [secrets], resourceNames: [{name}], verbs: [get, list, watch]}}]\n'
        "---\n"
        "apiVersion: rbac.authorization.k8s.io/v1\n"
        "kind: RoleBinding\n"
        f"metadata: {{name: {name}-reader{where}}}\n"
        f"roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: {name}-reader}}\n"
        "subjects: [{kind: ServiceAccount, name: router, namespace: openshift-ingress}]"
    )


def check_wide(subject: Subject) -> Iterator[Flaw]:
    """The router may read only the Secrets that it needs."""
    name = Route.of(subject.object).external_secret
    if not name:
        return
    wide: dict[str, Grant] = {}
    for verb in _VERBS:
        for grant in access(subject.declared, _ROUTER, _reading(subject, verb, name)).grants:
            if not grant.by_name or grant.cluster_wide:
                wide.setdefault(str(grant), grant)
    for source, grant in wide.items():
        where = "in every namespace" if grant.cluster_wide else "in the namespace"
        what = f"Secrets with the name {name} {where}" if grant.by_name else f"all Secrets {where}"
        yield Flaw(
            message=f"the router may read {what}, by {source}",
            at=EXTERNAL,
            severity="high" if grant.cluster_wide and not grant.by_name else "low",
            fix=f"{grant.role.reference}: name the Secret in resourceNames, in a Role of the Route's namespace",
            correction=_role(subject, name),
        )


# --- Others, on the Secret --------------------------------------------------------------------------------------------


def check_writers(subject: Subject) -> Iterator[Flaw]:
    """A user who may replace a Route's external certificate may also set one in the Route."""
    name, declared = Route.of(subject.object).external_secret, subject.declared
    if not name:
        return
    found = [
        who.name or f"group {_name(who)}"
        for who, names in _candidates(declared, subject.object.namespace)
        if names is None or name in names
    ]
    if found:
        count = f"{len(found)} user or group" if len(found) == 1 else f"{len(found)} users or groups"
        yield Flaw(
            message=f"{count} may change Secret {name}, and so the Route's certificate, without the permission {_HOST} "
            "that a certificate in the Route needs",
            at=EXTERNAL,
            observed=tuple(found[:_NAMED]),
            fix=f"remove their write access to Secret {name}, or allow them {_HOST}",
        )
    elif any(declared.gap(kind) for kind in authorization.READS):
        yield Flaw(
            message="unknown: who may replace the certificate; not all roles and bindings were read",
            at=EXTERNAL,
            verdict="inconclusive",
            severity="info",
        )


def _candidates(declared: Declared, namespace: str | None) -> tuple[_Candidate, ...]:
    """Subjects without the permission on Routes in a namespace, and the Secrets that they may write there (None: all);
    computed once for each namespace."""
    known = declared.once(_by_namespace)
    if namespace not in known:
        hosts = [
            Request(verb=verb, resource=_HOST, group=_ROUTES, namespace=namespace) for verb in ("create", "update")
        ]
        lacking = (
            who
            for who in subjects(declared, namespace)[:_MOST_SUBJECTS]
            if not _name(who).startswith(_PLATFORM)
            and all(access(declared, who, request).known is False for request in hosts)
        )
        known[namespace] = tuple((who, _written(declared, who, namespace)) for who in lacking)
    return known[namespace]


def _name(who: Identity) -> str:
    return who.name or who.groups[0]


def _by_namespace(_: Declared) -> dict[str | None, tuple[_Candidate, ...]]:
    return {}


def _written(declared: Declared, who: Identity, namespace: str | None) -> frozenset[str] | None:
    found: frozenset[str] = frozenset()
    for verb in _WRITES:
        names = allowed_names(declared, who, Request(verb=verb, resource="secrets", namespace=namespace))
        if names is None:
            return None
        found |= names
    return found


# --- The user who applies the Route -----------------------------------------------------------------------------------


def identity(user: str, groups: tuple[str, ...] = ()) -> Identity:
    """A user with the groups that the API server adds: for all users, and for service accounts."""
    own: tuple[str, ...] = ()
    if user.startswith(ACCOUNT):
        namespace = user.removeprefix(ACCOUNT).partition(":")[0]
        own = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    return Identity(name=user, groups=tuple(dict.fromkeys((*groups, *own, "system:authenticated"))))


def check_custom_host(subject: Subject) -> Iterator[Flaw]:
    """The user who applies a Route may set its host and certificates."""
    user = subject.declared.user
    if user is None:
        return
    who = identity(user, subject.declared.groups)
    before = Route.of(subject.before) if subject.before is not None else None
    for at, error, verbs in _required(Route.of(subject.object), before):
        requests = [_request(subject.object, verb) for verb in verbs]
        found = [access(subject.declared, who, each) for each in requests]
        answers = [decide(subject.declared, who, request, each) for request, each in zip(requests, found, strict=True)]
        if not any(answers):
            open_ones = [each for each, known in zip(found, answers, strict=True) if known is None]
            yield _not_allowed(user, at, error, verbs, open_ones, named=any(each.named for each in found))


def custom_host_reviews(item: KubeObject, user: str, groups: tuple[str, ...]) -> Iterator[Review]:
    """The access reviews of the API server when ``user`` applies the Route."""
    route = Route.of(item)
    if route.namespace and (route.host or route.subdomain or any(_certificates(route))):
        for verb in ("create", "update"):
            yield review_of(identity(user, groups), _request(route, verb))


def _request(route: KubeObject, verb: str) -> Request:
    return Request(verb=verb, resource=_HOST, group=_ROUTES, namespace=route.namespace)


def _required(route: Route, before: Route | None) -> Iterator[tuple[tuple[str, ...], str, tuple[str, ...]]]:
    """Field, the API server's error, and the verbs, one required (library-go ``hostassignment``)."""
    certified = _certificates(route)
    if before is None:
        if route.host:
            yield _HOST_FIELD, _HOST_ERROR, ("create",)
        elif any(certified):
            yield _TLS, _TLS_ERROR, ("create",)
        return
    if route.host and route.host != before.host:
        yield _HOST_FIELD, _HOST_ERROR, ("update",)
    if route.subdomain != before.subdomain:
        yield _SUBDOMAIN, _SUBDOMAIN_ERROR, ("update",)
    if any(certified) and (certified != _certificates(before) or route.tls.external):
        yield _TLS, _TLS_ERROR, ("update", "create")


def _certificates(route: Route) -> tuple[str, ...]:
    tls = route.tls
    return tls.certificate, tls.key, tls.ca_certificate, tls.destination_ca, tls.external


def _not_allowed(
    user: str, at: tuple[str, ...], error: str, verbs: tuple[str, ...], open_ones: list[Access], *, named: bool
) -> Flaw:
    """``open_ones``: undecided permissions. ``named``: true if bindings that were seen name the user."""
    unseen = next((each.unseen for each in open_ones if not (named and each.known is False)), None)
    if unseen is not None:
        return undecided(unseen, at, f"whether {user} may set it")
    return Flaw(
        message=f"the API server refuses it from {user}: {error}",
        at=at,
        fix=f"allow {user} to {' or '.join(verbs)} routes/custom-host in the namespace, or remove the field",
        correction=f"apiGroups: [route.openshift.io]\nresources: [routes/custom-host]\nverbs: [{', '.join(verbs)}]",
    )


ACCESS = ObjectRule(id="route-router-access", subjects=(ROUTE,), check=check_access, reads=authorization.READS)
WIDE = ObjectRule(id="route-router-access-wide", subjects=(ROUTE,), check=check_wide, reads=authorization.READS)
WRITERS = ObjectRule(id="route-secret-writers", subjects=(ROUTE,), check=check_writers, reads=authorization.READS)
CUSTOM_HOST = ObjectRule(id="route-custom-host", subjects=(ROUTE,), check=check_custom_host, reads=authorization.READS)
