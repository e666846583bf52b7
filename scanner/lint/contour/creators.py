"""Who may delegate Secrets that they may not read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from scanner.kube.kinds import CLUSTER_ROLE_BINDING, ROLE_BINDING, TLS_CERTIFICATE_DELEGATION
from scanner.kube.objects import Fields
from scanner.lint import authorization
from scanner.lint.authorization import Identity, Wish, access, account, allows
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_WRITING: Final = ("create", "update", "patch")
_MOST: Final = 50
"""Subjects of one binding that are looked at."""


def check_creators(subject: Subject) -> Iterator[Flaw]:
    """Whoever may delegate a namespace's Secrets may read them.

    ## What it requires

    That those to whom a binding gives the right to create or change TLSCertificateDelegations may also `get` the
    Secrets of that namespace, by any binding.

    ## Why

    A delegation hands the use of a certificate to other namespaces: they serve it, and its name is theirs. Contour
    asks nobody whether who wrote it may read the Secret. The right to write delegations is therefore worth the right
    to the Secrets, and whoever has only the first has more than their other rights say.

    ## What fails

    A user, group or service account that may write delegations and may not get Secrets there: medium.

    ## What is inconclusive

    Whether they may get Secrets, where bindings or roles were not given. Groups of a user are in no object: what
    they allow is not seen, and a finding on a user says so.

    ## Example that fails

    ```yaml
    # All that there is in a cluster:
    apiVersion: rbac.authorization.k8s.io/v1
    kind: RoleBinding
    metadata: {name: delegators, namespace: certificates}
    roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: delegator}
    subjects: [{kind: User, name: ann}]
    ---
    apiVersion: rbac.authorization.k8s.io/v1
    kind: Role
    metadata: {name: delegator, namespace: certificates}
    rules:
    - {apiGroups: [projectcontour.io], resources: [tlscertificatedelegations], verbs: [create]}
    ```

    ## Example that passes

    ```yaml
    # All that there is in a cluster:
    apiVersion: rbac.authorization.k8s.io/v1
    kind: RoleBinding
    metadata: {name: delegators, namespace: certificates}
    roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: delegator}
    subjects: [{kind: User, name: ann}]
    ---
    apiVersion: rbac.authorization.k8s.io/v1
    kind: Role
    metadata: {name: delegator, namespace: certificates}
    rules:
    - {apiGroups: [projectcontour.io], resources: [tlscertificatedelegations], verbs: [create]}
    - {apiGroups: [""], resources: [secrets], verbs: [get]}
    ```

    ## How to fix

    Take the right to write delegations away, or give it to those who keep the Secrets.
    """
    if not any(allows(subject.declared, subject.object, _delegating(subject, verb)) for verb in _WRITING):
        return
    for index, item in enumerate(islice(subject.object.each("subjects"), _MOST)):
        if who := _identity(item, subject.object.namespace):
            yield from _without_secrets(subject, who, ("subjects", index))


def _identity(item: Fields, namespace: str | None) -> Identity | None:
    kind, name = item.text("kind"), item.text("name")
    if not name:
        return None
    if kind == "ServiceAccount":
        home = item.text("namespace") or namespace
        return account(home, name) if home else None
    return {"User": Identity(name=name), "Group": Identity(name="", groups=(name,))}.get(kind)


def _delegating(subject: Subject, verb: str) -> Wish:
    kind = TLS_CERTIFICATE_DELEGATION
    return Wish(verb=verb, resource=kind.plural, group=kind.group, namespace=subject.object.namespace)


def _without_secrets(subject: Subject, who: Identity, at: tuple[str | int, ...]) -> Iterator[Flaw]:
    reads = access(subject.declared, who, Wish(verb="get", resource="secrets", namespace=subject.object.namespace))
    where = f"in {subject.object.namespace}" if subject.object.kind == ROLE_BINDING else "in all namespaces"
    name = who.name or f"the group {', '.join(who.groups)}"
    if reads.allowed is None and reads.unseen:
        yield undecided(reads.unseen, at, f"whether {name}, who may delegate Secrets {where}, may read them")
    elif not reads.allowed:
        groups = " (unless by a group)" if who.name and not who.name.startswith("system:serviceaccount:") else ""
        yield Flaw(
            message=f"{name} may delegate Secrets {where} and may not read them{groups}",
            at=at,
            fix=f"{subject.object.reference}: give the right to those who keep the Secrets",
        )


CREATORS = ObjectRule(
    id="contour-delegation-creators",
    title="Whoever may delegate a namespace's Secrets may read them",
    severity="medium",
    subjects=(ROLE_BINDING, CLUSTER_ROLE_BINDING),
    reads=authorization.READS,
    check=check_creators,
    references=(
        "Contour design/tls-certificate-delegation.md, Security Considerations",
        "Kubernetes plugin/pkg/auth/authorizer/rbac/rbac.go",
    ),
)
