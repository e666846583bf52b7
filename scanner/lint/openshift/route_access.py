"""Who may read the Secret of a Route's external certificate, and who may replace it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from scanner.lint import authorization
from scanner.lint.authorization import Grant, Identity, Wish, access, account, nameable, subjects
from scanner.lint.openshift.routes import EXTERNAL, external
from scanner.model.declared import Declared
from scanner.model.kinds import ROUTE
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_ROUTER: Final = account("openshift-ingress", "router")
"""The name is written into library-go's validation; an IngressController of another account does not count there."""
_GROUPS: Final = ("system:serviceaccounts", "system:serviceaccounts:openshift-ingress", "system:authenticated")
_VERBS: Final = ("get", "list", "watch")
_WRITES: Final = ("update", "patch", "delete")
_HOST: Final = "routes/custom-host"
_ROUTES: Final = "route.openshift.io"
_EVERYBODY: Final = 500
"""Subjects of one namespace that are looked at."""
_NAMED: Final = 5

_Candidate: TypeAlias = tuple[Identity, frozenset[str] | None]


def check_access(subject: Subject) -> Iterator[Flaw]:
    """The router may read the Secret of a Route's external certificate.

    ## What it requires

    `system:serviceaccount:openshift-ingress:router` may get, list and watch the Secret that
    `spec.tls.externalCertificate` names: by Roles and RoleBindings, as the API server's authorizer decides it. Groups
    do not count: the API server's own review of the Route passes none, so what is bound to
    `system:serviceaccounts:openshift-ingress` lets the router read and the Route be refused all the same.

    ## Why

    The API server refuses the Route, and the router checks again at every change: when the right is taken away, the
    Route is rejected and its host shows the router's default certificate.

    ## What fails

    A verb that is not allowed: high, with the API server's words.

    ## What is inconclusive

    Roles or bindings that were not given, unless those that were allow it. Where they allow one of the verbs, or all of
    them to a group, they are taken for all that there is: who wrote them meant the others too.

    ## Example that fails

    ```yaml
    apiVersion: route.openshift.io/v1
    kind: Route
    metadata: {name: web, namespace: shop}
    spec:
      host: web.shop.example
      to: {kind: Service, name: web}
      tls: {termination: edge, externalCertificate: {name: web}}
    ---
    apiVersion: rbac.authorization.k8s.io/v1
    kind: Role
    metadata: {name: web-reader, namespace: shop}
    rules: [{apiGroups: [""], resources: [secrets], resourceNames: [web], verbs: [get]}]
    ---
    apiVersion: rbac.authorization.k8s.io/v1
    kind: RoleBinding
    metadata: {name: web-reader, namespace: shop}
    roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: web-reader}
    subjects: [{kind: ServiceAccount, name: router, namespace: openshift-ingress}]
    ```

    ## Example that passes

    ```yaml
    apiVersion: route.openshift.io/v1
    kind: Route
    metadata: {name: web, namespace: shop}
    spec:
      host: web.shop.example
      to: {kind: Service, name: web}
      tls: {termination: edge, externalCertificate: {name: web}}
    ---
    apiVersion: rbac.authorization.k8s.io/v1
    kind: Role
    metadata: {name: web-reader, namespace: shop}
    rules: [{apiGroups: [""], resources: [secrets], resourceNames: [web], verbs: [get, list, watch]}]
    ---
    apiVersion: rbac.authorization.k8s.io/v1
    kind: RoleBinding
    metadata: {name: web-reader, namespace: shop}
    roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: web-reader}
    subjects: [{kind: ServiceAccount, name: router, namespace: openshift-ingress}]
    ```

    ## How to fix

    A Role in the Route's namespace with the three verbs and the Secret's name, and a RoleBinding to the account;
    `--fix-hints` prints both.
    """
    name, declared = external(subject.object), subject.declared
    if not name:
        return
    wishes = {verb: _reading(subject, verb, name) for verb in _VERBS}
    found = {verb: access(declared, _ROUTER, wish) for verb, wish in wishes.items()}
    by_group = {verb: _by_group(declared, wish) for verb, wish in wishes.items()}
    meant = any(each.grants for each in found.values()) or any(by_group.values())
    refused = [verb for verb, each in found.items() if each.allowed is False or (meant and each.known is False)]
    for verb in refused:
        yield Flaw(
            message=f"router serviceaccount does not have permission to {verb} this secret",
            at=EXTERNAL,
            expected=_VERBS,
            fix=f"a Role with get, list and watch on Secret {name}, bound to {_ROUTER.name}",
            correction=_role(subject, name),
            evidence=by_group[verb],
        )
    unseen = next((each.unseen for verb, each in found.items() if each.allowed is None and verb not in refused), None)
    if unseen is not None:
        yield undecided(unseen, EXTERNAL, "whether the router may read the Secret")


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
    """The router may read no more Secrets than it must.

    ## What it requires

    What lets the router's service account read the Secret of a Route's `externalCertificate` names that Secret
    (`resourceNames`), and holds in its namespace only.

    ## Why

    The router faces the internet. The enhancement gives it Secrets one by one for that reason; a Role without names
    hands it every Secret of the namespace, tokens and other keys among them, and a ClusterRoleBinding those of all.

    ## What fails

    A grant without `resourceNames`: low in one namespace, which the enhancement allows; high in the whole cluster.

    ## What is inconclusive

    Nothing: a grant that nobody saw is `route-router-access`'s.

    ## Example that fails

    ```yaml
    apiVersion: route.openshift.io/v1
    kind: Route
    metadata: {name: web, namespace: shop}
    spec:
      host: web.shop.example
      to: {kind: Service, name: web}
      tls: {termination: edge, externalCertificate: {name: web}}
    ---
    apiVersion: rbac.authorization.k8s.io/v1
    kind: ClusterRole
    metadata: {name: secret-reader}
    rules: [{apiGroups: [""], resources: [secrets], verbs: [get, list, watch]}]
    ---
    apiVersion: rbac.authorization.k8s.io/v1
    kind: ClusterRoleBinding
    metadata: {name: router-secrets}
    roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: secret-reader}
    subjects: [{kind: ServiceAccount, name: router, namespace: openshift-ingress}]
    ```

    ## Example that passes

    ```yaml
    apiVersion: route.openshift.io/v1
    kind: Route
    metadata: {name: web, namespace: shop}
    spec:
      host: web.shop.example
      to: {kind: Service, name: web}
      tls: {termination: edge, externalCertificate: {name: web}}
    ---
    apiVersion: rbac.authorization.k8s.io/v1
    kind: Role
    metadata: {name: web-reader, namespace: shop}
    rules: [{apiGroups: [""], resources: [secrets], resourceNames: [web], verbs: [get, list, watch]}]
    ---
    apiVersion: rbac.authorization.k8s.io/v1
    kind: RoleBinding
    metadata: {name: web-reader, namespace: shop}
    roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: web-reader}
    subjects: [{kind: ServiceAccount, name: router, namespace: openshift-ingress}]
    ```

    ## How to fix

    Name the Secret in the Role's `resourceNames`, in a Role of the Route's namespace.
    """
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


def check_writers(subject: Subject) -> Iterator[Flaw]:
    """Who may replace a Route's external certificate may also set one in the Route.

    ## What it requires

    Whoever may update, patch or delete the Secret of `spec.tls.externalCertificate` may also create or update
    `routes/custom-host` in the namespace.

    ## Why

    To set a certificate on a Route takes that right, and the API server asks for it. The router follows the Secret and
    asks nobody: who may write it changes what the host shows, without the right (the enhancement, "Exception in
    Validations between API server and the router").

    ## What fails

    Users, service accounts and groups that may write the Secret and lack the right: low, the first five by name. Of
    manifests, those that were given are taken for all that there is.

    ## What is inconclusive

    Bindings that were not given, as information only.

    ## Example that fails

    ```yaml
    apiVersion: route.openshift.io/v1
    kind: Route
    metadata: {name: web, namespace: shop}
    spec:
      host: web.shop.example
      to: {kind: Service, name: web}
      tls: {termination: edge, externalCertificate: {name: web}}
    ---
    apiVersion: rbac.authorization.k8s.io/v1
    kind: Role
    metadata: {name: secrets, namespace: shop}
    rules: [{apiGroups: [""], resources: [secrets], verbs: [update]}]
    ---
    apiVersion: rbac.authorization.k8s.io/v1
    kind: RoleBinding
    metadata: {name: secrets, namespace: shop}
    roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: secrets}
    subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: eve}]
    ```

    ## Example that passes

    ```yaml
    apiVersion: route.openshift.io/v1
    kind: Route
    metadata: {name: web, namespace: shop}
    spec:
      host: web.shop.example
      to: {kind: Service, name: web}
      tls: {termination: passthrough}
    ```

    ## How to fix

    Name the Secrets that somebody may write in the Role's `resourceNames`, or allow them `routes/custom-host`.
    """
    name, declared = external(subject.object), subject.declared
    if not name:
        return
    found = list(_writers(declared, subject.object.namespace, name))
    if found:
        yield Flaw(
            message=f"{len(found)} may replace the certificate in Secret {name} and not set one on a Route",
            at=EXTERNAL,
            observed=tuple(found[:_NAMED]),
            fix=f"leave Secret {name} out of what they may write, or allow them {_HOST}",
        )
    elif any(declared.gap(kind) for kind in authorization.READS):
        yield Flaw(
            message="cannot be decided here: who may replace the certificate; not all roles and bindings were seen",
            at=EXTERNAL,
            verdict="inconclusive",
            severity="info",
        )


def _writers(declared: Declared, namespace: str | None, name: str) -> Iterator[str]:
    for who, names in _candidates(declared, namespace):
        if names is None or name in names:
            yield who.name or f"group {who.groups[0]}"


def _candidates(declared: Declared, namespace: str | None) -> tuple[_Candidate, ...]:
    """Who lacks the right on Routes in a namespace, and which Secrets they may write there (None: all); worked out once
    for each namespace."""
    known = declared.once(_by_namespace)
    if namespace not in known:
        hosts = [Wish(verb=verb, resource=_HOST, group=_ROUTES, namespace=namespace) for verb in ("create", "update")]
        lacking = (
            who
            for who in subjects(declared, namespace)[:_EVERYBODY]
            if all(access(declared, who, wish).known is False for wish in hosts)
        )
        known[namespace] = tuple((who, _written(declared, who, namespace)) for who in lacking)
    return known[namespace]


def _by_namespace(_: Declared) -> dict[str | None, tuple[_Candidate, ...]]:
    return {}


def _written(declared: Declared, who: Identity, namespace: str | None) -> frozenset[str] | None:
    found: frozenset[str] = frozenset()
    for verb in _WRITES:
        names = nameable(declared, who, Wish(verb=verb, resource="secrets", namespace=namespace))
        if names is None:
            return None
        found |= names
    return found


_ENHANCEMENT: Final = "Enhancement 'Route Secret Injection For External Certificate Management'"
_VALIDATION: Final = "openshift/library-go pkg/route/validation/validation.go (validateTLSExternalCertificate)"

ACCESS = ObjectRule(
    id="route-router-access",
    title="The router may read the Secret of a Route",
    severity="high",
    subjects=(ROUTE,),
    check=check_access,
    reads=authorization.READS,
    references=(_VALIDATION, f"{_ENHANCEMENT}, Implementation Details"),
)
WIDE = ObjectRule(
    id="route-router-access-wide",
    title="The router may read no more Secrets than it must",
    severity="high",
    subjects=(ROUTE,),
    check=check_wide,
    reads=authorization.READS,
    references=(f"{_ENHANCEMENT}, Drawbacks",),
)
WRITERS = ObjectRule(
    id="route-secret-writers",
    title="Who may replace a Route's certificate may also set one",
    severity="low",
    subjects=(ROUTE,),
    check=check_writers,
    reads=authorization.READS,
    references=(
        f"{_ENHANCEMENT}, Exception in Validations between API server and the router",
        "openshift/library-go pkg/route/hostassignment/assignment.go",
    ),
)
