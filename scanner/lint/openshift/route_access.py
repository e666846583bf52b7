"""Whether the router may read the Secret of a Route's external certificate, and how many others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.kube.kinds import ROUTE
from scanner.kube.objects import KubeObject
from scanner.lint import authorization
from scanner.lint.authorization import Grant, Identity, Wish, access, account
from scanner.lint.openshift.routes import EXTERNAL, external
from scanner.lint.reviewing import answer, question
from scanner.model.access_review import Review
from scanner.model.declared import Declared
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_ROUTER: Final = account("openshift-ingress", "router")
"""The name is written into library-go's validation; an IngressController of another account does not count there."""
_GROUPS: Final = ("system:serviceaccounts", "system:serviceaccounts:openshift-ingress", "system:authenticated")
_VERBS: Final = ("get", "list", "watch")


def check_access(subject: Subject) -> Iterator[Flaw]:
    """The router may read the Secret of a Route's external certificate."""
    name, declared = external(subject.object), subject.declared
    if not name:
        return
    wishes = {verb: _reading(subject, verb, name) for verb in _VERBS}
    found = {verb: access(declared, _ROUTER, wish) for verb, wish in wishes.items()}
    answers = {verb: answer(declared, _ROUTER, wish, found[verb]) for verb, wish in wishes.items()}
    if all(answers.values()):
        return
    by_group = {verb: _by_group(declared, wish) for verb, wish in wishes.items()}
    meant = any(each.grants for each in found.values()) or any(by_group.values())
    refused = [
        verb
        for verb, each in found.items()
        if answers[verb] is False or (answers[verb] is None and meant and each.known is False)
    ]
    for verb in refused:
        yield Flaw(
            message=f"router serviceaccount does not have permission to {verb} this secret",
            at=EXTERNAL,
            expected=_VERBS,
            fix=f"a Role with get, list and watch on Secret {name}, bound to {_ROUTER.name}",
            correction=_role(subject, name),
            evidence=by_group[verb],
        )
    open_ones = [each.unseen for verb, each in found.items() if answers[verb] is None and verb not in refused]
    unseen = next(filter(None, open_ones), None)
    if unseen is not None:
        yield undecided(unseen, EXTERNAL, "whether the router may read the Secret")


def route_reviews(route: KubeObject) -> Iterator[Review]:
    """What the API server's own validation of a Route asks of itself: of the router's account, without groups."""
    name = external(route)
    for verb in _VERBS if name and route.namespace else ():
        wish = Wish(verb=verb, resource="secrets", namespace=route.namespace, name=name)
        yield question(_ROUTER, wish)


def _reading(subject: Subject, verb: str, name: str) -> Wish:
    return Wish(verb=verb, resource="secrets", namespace=subject.object.namespace, name=name)


def _by_group(declared: Declared, wish: Wish) -> tuple[str, ...]:
    found = access(declared, Identity(name=_ROUTER.name, groups=_GROUPS), wish).grants
    return tuple(f"{each} allows it to a group, which the API server's check leaves out" for each in found[:1])


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
    """The router may read no more Secrets than it must."""
    name = external(subject.object)
    if not name:
        return
    wide: dict[str, Grant] = {}
    for verb in _VERBS:
        for grant in access(subject.declared, _ROUTER, _reading(subject, verb, name)).grants:
            if not grant.by_name or grant.cluster_wide:
                wide.setdefault(str(grant), grant)
    for said, grant in wide.items():
        where = "of every namespace" if grant.cluster_wide else "of the namespace"
        what = f"Secrets called {name} {where}" if grant.by_name else f"all Secrets {where}"
        yield Flaw(
            message=f"the router may read {what}, by {said}",
            at=EXTERNAL,
            severity="high" if grant.cluster_wide and not grant.by_name else "low",
            fix=f"{grant.role.reference}: name the Secret in resourceNames, in a Role of the Route's namespace",
            correction=_role(subject, name),
        )


ACCESS = ObjectRule(
    id="route-router-access",
    subjects=(ROUTE,),
    check=check_access,
    reads=authorization.READS,
)
WIDE = ObjectRule(
    id="route-router-access-wide",
    subjects=(ROUTE,),
    check=check_wide,
    reads=authorization.READS,
)
