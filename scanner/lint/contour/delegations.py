"""TLSCertificateDelegations: references that need one, and delegations without effect or too broad."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from scanner.files.source_positions import Steps, shown
from scanner.kube import rbac
from scanner.kube.contour import EVERYWHERE, CertificateDelegation, Delegation, HTTPProxy, SecretName
from scanner.kube.kinds import (
    CLUSTER_ROLE_BINDING,
    HTTP_PROXY,
    INGRESS,
    INGRESS_CLASS,
    NAMESPACE,
    ROLE_BINDING,
    TLS_CERTIFICATE_DELEGATION,
    Kind,
)
from scanner.kube.rbac import Binding
from scanner.lint import authorization
from scanner.lint.authorization import Identity, Request, access, account, allows
from scanner.lint.contour import contour_configuration
from scanner.lint.contour.contour_configuration import configurations, unseen
from scanner.lint.contour.contour_secrets import (
    DELEGATIONS,
    FALLBACK,
    USERS,
    Permission,
    Use,
    of_object,
    permission,
    unusable,
)
from scanner.lint.referenced_certificates import leaf_of
from scanner.lint.references import READS as SECRETS
from scanner.lint.references import secret_of
from scanner.model.declared import Declared, Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided
from scanner.values import replace

# --- References -------------------------------------------------------------------------------------------------------

_REASONS: Final = {
    "the CA of a service": "CACertificateNotDelegated",
    "the CA of the JWKS": "RemoteJWKSCACertificateNotDelegated",
}
"""Reasons in the status of an HTTPProxy; for other references ``DelegationNotPermitted``."""
_EFFECTS: Final[dict[Kind, str]] = {
    HTTP_PROXY: "Contour marks the HTTPProxy invalid ({reason}) and does not serve it",
    INGRESS: "Contour serves the hosts of the Ingress without TLS, and reports this only in its log",
}


def check_delegation(subject: Subject) -> Iterator[Flaw]:
    """A reference to a Secret of another namespace has a delegation."""
    for use in of_object(subject):
        effect = _EFFECTS.get(subject.object.kind, "Contour refuses the reference")
        yield from _judged(subject, use, effect.format(reason=_REASONS.get(use.what, "DelegationNotPermitted")))
    if subject.object.kind == HTTP_PROXY and HTTPProxy.of(subject.object).tls.enable_fallback_certificate:
        yield from _fallbacks(subject)


def _fallbacks(subject: Subject) -> Iterator[Flaw]:
    found = [each.fallback for each in configurations(subject.declared) if each.fallback]
    for secret in dict.fromkeys(found):
        use = Use(steps=FALLBACK, secret=secret, what="the fallback certificate")
        yield from _judged(subject, use, "Contour marks the HTTPProxy invalid (FallbackNotDelegated)")
    missing = unseen(subject.declared)
    if missing and not found:
        yield undecided(missing, FALLBACK, "whether the fallback certificate is delegated to this namespace")


def _judged(subject: Subject, use: Use, effect: str) -> Iterator[Flaw]:
    found = permission(subject.declared, subject.object, use.secret)
    here = subject.object.namespace or ""
    if found.missing:
        yield undecided(found.missing, use.steps, f"whether {use.secret} is delegated to {here}")
    elif not found.allowed:
        yield Flaw(
            message=f"{use.what}, {use.secret}, is not delegated to {here}: {effect}",
            at=use.steps,
            observed=tuple(_observed(found)),
            fix=f"add a TLSCertificateDelegation in {use.secret.namespace} that delegates the Secret to {here}",
            correction=(
                "apiVersion: projectcontour.io/v1\nkind: TLSCertificateDelegation\n"
                f"metadata: {{name: {use.secret.name}, namespace: {use.secret.namespace}}}\nspec:\n  delegations:\n"
                f"  - secretName: {use.secret.name}\n    targetNamespaces: [{here}]"
            ),
        )


def _observed(found: Permission) -> Iterator[str]:
    for holder, each in found.near[:10]:
        yield f"{holder.reference} delegates it to {', '.join(each.targets[:20]) or 'no namespace'}"
        if "*" in each.targets:
            yield "* has no effect beside other namespaces"


DELEGATION = ObjectRule(
    id="contour-delegation",
    subjects=USERS,
    reads=(*DELEGATIONS, *contour_configuration.READS, INGRESS_CLASS),
    check=check_delegation,
)


# --- Target namespaces ------------------------------------------------------------------------------------------------

_DELEGATIONS: Final = ("spec", "delegations")
_MOST_TARGETS: Final = 100
"""Namespaces of one delegation that are checked."""


def check_target(subject: Subject) -> Iterator[Flaw]:
    """The target namespaces of a delegation exist and use the Secret."""
    unseen: dict[str, Missing] = {}
    for each in CertificateDelegation.of(subject.object).delegations:
        if not each.targets:
            yield Flaw(
                message="a delegation to no namespace permits nothing",
                at=(*each.steps, "targetNamespaces"),
                fix=f"{subject.object.reference}: name the namespaces",
                correction='targetNamespaces: ["<namespace>"]',
            )
        for index, name in enumerate(each.targets[:_MOST_TARGETS]):
            is_redundant = name == "*" and index > each.targets.index("*")
            flaw = None if is_redundant else _target_flaw(subject, each, name, unseen)
            if flaw is not None:
                yield replace(flaw, at=(*each.steps, "targetNamespaces", index))
    for question, missing in unseen.items():
        yield replace(undecided(missing, _DELEGATIONS, question), severity="info")


def _target_flaw(subject: Subject, each: Delegation, name: str, unseen: dict[str, Missing]) -> Flaw | None:
    """The first fault of a target; questions that cannot be decided are added to ``unseen``."""
    reference = subject.object.reference
    if name == "*" and each.targets != EVERYWHERE:
        others = [other for other in each.targets if other != "*"]
        return Flaw(
            message=f"* beside other namespaces has no effect: {each.secret} is delegated to "
            f"{', '.join(others[:20]) or 'no namespace'} only",
            expected=("only *, or only names",),
            observed=each.targets[:20],
            fix=f"{reference}: remove *, or remove all other namespaces",
            correction=f"targetNamespaces: [{', '.join(others[:20]) or chr(34) + '*' + chr(34)}]",
        )
    if name == subject.object.namespace:
        message = f"a delegation to {name}, the Secret's own namespace, has no effect"
        return Flaw(message=message, severity="low", fix=f"{reference}: remove it")
    if not name or "/" in name or ("*" in name and name != "*"):
        message = f"{shown(name)} is not a namespace: use full names, or only *"
        return Flaw(message=message, observed=(name,), fix=f"{reference}: name each namespace in full")
    found = subject.declared.namespace(name) if name != "*" else None
    if isinstance(found, Missing) and not found.gap:
        message = f"namespace {name} does not exist"
        return Flaw(
            message=message, severity="low", observed=(name,), fix=f"{reference}: correct the name or remove it"
        )
    if isinstance(found, Missing):
        unseen.setdefault("whether all of these namespaces exist", found)
    return _unused(subject, each, name, unseen)


def is_name(secret: str) -> bool:
    """True if it may be the name of a Secret."""
    return bool(secret) and "/" not in secret and "*" not in secret


def _unused(subject: Subject, each: Delegation, name: str, unseen: dict[str, Missing]) -> Flaw | None:
    users = subject.declared.once(_users).get(SecretName(subject.object.namespace, each.secret), set())
    if users if name == "*" else name in users:
        return None
    secret = secret_of(subject, each.secret) if is_name(each.secret) else None
    if secret is None or (isinstance(secret, Missing) and secret.gap is None):
        return None  # contour-delegation-secret reports it
    kind = subject.declared.once(_unseen_kind)
    if kind:
        missing = Missing(name=f"any other {kind.name}", gap=subject.declared.gap(kind))
        unseen.setdefault("whether all of these namespaces refer to these Secrets", missing)
        return None
    where = "any other namespace" if name == "*" else name
    return Flaw(
        message=f"no object in {where} refers to {each.secret}",
        severity="low",
        fix=f"{subject.object.reference}: remove it",
    )


def _unseen_kind(declared: Declared) -> Kind | None:
    """A kind that refers to Secrets and was not read completely."""
    return next((kind for kind in (*USERS, *contour_configuration.READS) if declared.gap(kind)), None)


def _users(declared: Declared) -> Mapping[SecretName, set[str | None]]:
    """The other namespaces with references to a Secret, by Secret."""
    found: dict[SecretName, set[str | None]] = {}
    for kind in USERS:
        for user in declared.every(kind):
            for use in of_object(Subject(user, declared)):
                if use.secret.namespace != user.namespace:
                    found.setdefault(use.secret, set()).add(user.namespace)
    proxies = map(HTTPProxy.of, declared.every(HTTP_PROXY))
    with_fallback = {each.namespace for each in proxies if each.tls.enable_fallback_certificate}
    for each in configurations(declared):
        if each.fallback:
            found.setdefault(each.fallback, set()).update(with_fallback)
    return found


TARGET = ObjectRule(
    id="contour-delegation-target",
    subjects=(TLS_CERTIFICATE_DELEGATION,),
    reads=(NAMESPACE, *SECRETS, *USERS, *contour_configuration.READS, INGRESS_CLASS),
    check=check_target,
)


# --- Delegated Secrets ------------------------------------------------------------------------------------------------


def check_secret(subject: Subject) -> Iterator[Flaw]:
    """A delegated Secret exists, with a certificate, a CA or a revocation list."""
    for each in CertificateDelegation.of(subject.object).delegations:
        if is_name(each.secret):
            yield from unusable(subject, secret_of(subject, each.secret), (*each.steps, "secretName"))
        else:
            yield _misnamed(subject, each)


def _misnamed(subject: Subject, each: Delegation) -> Flaw:
    plain = each.secret.rpartition("/")[2].replace("*", "") or "<name>"
    return Flaw(
        message=f"secretName {shown(each.secret)} is not a valid name, so no reference matches it",
        at=(*each.steps, "secretName"),
        expected=("the name of a Secret in this namespace",),
        observed=(each.secret,),
        fix=f"{subject.object.reference}: name the Secret without a namespace",
        correction=f"secretName: {plain}",
    )


SECRET_OF_DELEGATION = ObjectRule(
    id="contour-delegation-secret",
    subjects=(TLS_CERTIFICATE_DELEGATION,),
    reads=SECRETS,
    check=check_secret,
)


def check_broad(subject: Subject) -> Iterator[Flaw]:
    """Only a wildcard certificate is delegated to all namespaces."""
    for each in CertificateDelegation.of(subject.object).delegations:
        if each.targets == EVERYWHERE and is_name(each.secret):
            yield from _for_all(subject, each)


def _for_all(subject: Subject, each: Delegation) -> Iterator[Flaw]:
    at = (*each.steps, "targetNamespaces")
    found = secret_of(subject, each.secret)
    if isinstance(found, Missing):
        if found.gap:
            yield undecided(found, at, "whether the certificate is for a wildcard")
        return
    leaf = leaf_of(found)
    if leaf is None:
        return  # a CA or a revocation list, which is public; contour-delegation-secret reports other content
    if leaf.dns_names is None:
        yield Flaw(message=f"the names of {found.reference} cannot be read", at=at, verdict="inconclusive")
    elif not any(name.startswith("*.") for name in leaf.dns_names):
        yield Flaw(
            message=f"{found.reference} is delegated to all namespaces, but its certificate has no wildcard",
            at=at,
            expected=("the namespaces that serve its hosts",),
            observed=leaf.dns_names[:5],
            fix=f"{subject.object.reference}: name the namespaces that serve these hosts",
            correction='targetNamespaces: ["<namespace>"]',
        )


BROAD = ObjectRule(
    id="contour-delegation-broad",
    subjects=(TLS_CERTIFICATE_DELEGATION,),
    reads=SECRETS,
    check=check_broad,
)


# --- Permission to delegate -------------------------------------------------------------------------------------------

_WRITING: Final = ("create", "update", "patch")
_MOST_SUBJECTS: Final = 50
"""Subjects of one binding that are checked."""


def check_creators(subject: Subject) -> Iterator[Flaw]:
    """A user who may delegate a namespace's Secrets may also read them."""
    if not any(allows(subject.declared, subject.object, _delegating(subject, verb)) for verb in _WRITING):
        return
    for item in Binding.of(subject.object).subjects[:_MOST_SUBJECTS]:
        if who := _identity(item, subject.object.namespace):
            yield from _without_secrets(subject, who, item.steps)


def _identity(item: rbac.Subject, namespace: str | None) -> Identity | None:
    name = item.name
    if not name:
        return None
    if item.kind == "ServiceAccount":
        home = item.namespace or namespace
        return account(home, name) if home else None
    return {"User": Identity(name=name), "Group": Identity(name="", groups=(name,))}.get(item.kind)


def _delegating(subject: Subject, verb: str) -> Request:
    kind = TLS_CERTIFICATE_DELEGATION
    return Request(verb=verb, resource=kind.plural, group=kind.group, namespace=subject.object.namespace)


def _without_secrets(subject: Subject, who: Identity, at: Steps) -> Iterator[Flaw]:
    reads = access(subject.declared, who, Request(verb="get", resource="secrets", namespace=subject.object.namespace))
    where = f"in {subject.object.namespace}" if subject.object.kind == ROLE_BINDING else "in all namespaces"
    name = who.name or f"the group {', '.join(who.groups)}"
    if reads.allowed is None and reads.unseen:
        yield undecided(reads.unseen, at, f"whether {name}, who may delegate Secrets {where}, may read them")
    elif not reads.allowed:
        groups = " (unless by a group)" if who.name and not who.name.startswith("system:serviceaccount:") else ""
        yield Flaw(
            message=f"{name} may delegate Secrets {where}, but may not read them{groups}",
            at=at,
            fix=f"{subject.object.reference}: bind the role only to users who may read the Secrets",
        )


CREATORS = ObjectRule(
    id="contour-delegation-creators",
    subjects=(ROLE_BINDING, CLUSTER_ROLE_BINDING),
    reads=authorization.READS,
    check=check_creators,
)
