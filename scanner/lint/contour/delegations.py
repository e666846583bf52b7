"""TLSCertificateDelegations: references that need one, and what each of them permits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
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
from scanner.lint.certificates import chain_of
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
from scanner.lint.references import READS as SECRETS
from scanner.lint.references import secret_of
from scanner.model.declared import Declared, Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

# --- References -------------------------------------------------------------------------------------------------------

_REASONS: Final = {
    "the CA of a service": "CACertificateNotDelegated",
    "the CA of the JWKS": "RemoteJWKSCACertificateNotDelegated",
}
"""In the status of an HTTPProxy; of all else it is ``DelegationNotPermitted``."""
_MEANS: Final[dict[Kind, str]] = {
    HTTP_PROXY: "Contour calls the HTTPProxy invalid ({reason}) and serves none of it",
    INGRESS: "Contour leaves the TLS of the Ingress out, says so in its log alone, and serves its hosts without TLS",
}


def check_delegation(subject: Subject) -> Iterator[Flaw]:
    """A Secret of another namespace is referred to with a delegation."""
    for use in of_object(subject):
        means = _MEANS.get(subject.object.kind, "Contour refuses the reference")
        yield from _judged(subject, use, means.format(reason=_REASONS.get(use.what, "DelegationNotPermitted")))
    if subject.object.kind == HTTP_PROXY and HTTPProxy.of(subject.object).tls.enable_fallback_certificate:
        yield from _fallbacks(subject)


def _fallbacks(subject: Subject) -> Iterator[Flaw]:
    found = [each.fallback for each in configurations(subject.declared) if each.fallback]
    for secret in dict.fromkeys(found):
        use = Use(steps=FALLBACK, secret=secret, what="the fallback certificate")
        yield from _judged(subject, use, "Contour calls the HTTPProxy invalid (FallbackNotDelegated)")
    missing = unseen(subject.declared)
    if missing and not found:
        yield undecided(missing, FALLBACK, "whether the fallback certificate is delegated to this namespace")


def _judged(subject: Subject, use: Use, means: str) -> Iterator[Flaw]:
    found = permission(subject.declared, subject.object, use.secret)
    if found.missing:
        yield undecided(found.missing, use.steps, f"whether {use.secret} is delegated to {_here(subject)}")
    elif not found.allowed:
        yield Flaw(
            message=f"{use.what}, {use.secret}, is not delegated to {_here(subject)}: {means}",
            at=use.steps,
            observed=tuple(_said(found)),
            fix=f"a TLSCertificateDelegation in {use.secret.namespace}: delegate the Secret to {_here(subject)}",
            correction=_correction(subject, use),
        )


def _here(subject: Subject) -> str:
    return subject.object.namespace or ""


def _said(found: Permission) -> Iterator[str]:
    for holder, each in found.near[:10]:
        yield f"{holder.reference} delegates it to {', '.join(each.targets[:20]) or 'nobody'}"
        if "*" in each.targets:
            yield "beside other namespaces * does not mean all of them"


def _correction(subject: Subject, use: Use) -> str:
    return (
        "apiVersion: projectcontour.io/v1\nkind: TLSCertificateDelegation\n"
        f"metadata: {{name: {use.secret.name}, namespace: {use.secret.namespace}}}\nspec:\n  delegations:\n"
        f"  - secretName: {use.secret.name}\n    targetNamespaces: [{_here(subject)}]"
    )


DELEGATION = ObjectRule(
    id="contour-delegation",
    subjects=USERS,
    reads=(*DELEGATIONS, *contour_configuration.READS, INGRESS_CLASS),
    check=check_delegation,
)


# --- Namespaces that are named ----------------------------------------------------------------------------------------

_Users = Mapping[SecretName, frozenset[str | None]]
_DELEGATIONS: Final = ("spec", "delegations")
_MOST_TARGETS: Final = 100
"""Namespaces of one delegation that are looked at."""


def check_target(subject: Subject) -> Iterator[Flaw]:
    """Delegations reach the namespaces that they name."""
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
            again = name == "*" and index > each.targets.index("*")
            flaw = None if again else _of_target(subject, each, name, unseen)
            if flaw is not None:
                yield replace(flaw, at=(*each.steps, "targetNamespaces", index))
    for question, missing in unseen.items():
        yield replace(undecided(missing, _DELEGATIONS, question), severity="info")


def _of_target(subject: Subject, each: Delegation, name: str, unseen: dict[str, Missing]) -> Flaw | None:
    """The first thing that is wrong with it. ``unseen``: to which it adds what cannot be decided."""
    reference = subject.object.reference
    if name == "*" and each.targets != EVERYWHERE:
        others = [other for other in each.targets if other != "*"]
        return Flaw(
            message=f"* beside other namespaces has no effect: {each.secret} is delegated to "
            f"{', '.join(others[:20]) or 'no namespace'} alone",
            expected=("* alone, or only names",),
            observed=each.targets[:20],
            fix=f"{reference}: remove the star, or everything else",
            correction=f"targetNamespaces: [{', '.join(others[:20]) or chr(34) + '*' + chr(34)}]",
        )
    if name == subject.object.namespace:
        message = f"a delegation to {name}, the Secret's own namespace, has no effect"
        return Flaw(message=message, severity="low", fix=f"{reference}: remove it")
    if not name or "/" in name or ("*" in name and name != "*"):
        message = f"{shown(name)} is no namespace: use a name in full, or * alone"
        return Flaw(message=message, observed=(name,), fix=f"{reference}: name each namespace in full")
    found = subject.declared.namespace(name) if name != "*" else None
    if isinstance(found, Missing) and not found.gap:
        message = f"namespace {name} does not exist"
        return Flaw(
            message=message, severity="low", observed=(name,), fix=f"{reference}: correct the name or remove it"
        )
    if isinstance(found, Missing):
        unseen.setdefault("whether all of these namespaces exist", found)
    return _idle(subject, each, name, unseen) if _is_there(subject, each) else None


def _is_there(subject: Subject, each: Delegation) -> bool:
    """Whether the Secret may be: what is wrong with it another rule says."""
    if not is_name(each.secret):
        return False
    found = secret_of(subject, each.secret)
    return not isinstance(found, Missing) or found.gap is not None


def is_name(secret: str) -> bool:
    """Whether a Secret can be called so."""
    return bool(secret) and "/" not in secret and "*" not in secret


def _idle(subject: Subject, each: Delegation, name: str, unseen: dict[str, Missing]) -> Flaw | None:
    users = subject.declared.once(_users).get(SecretName(subject.object.namespace, each.secret), frozenset())
    if users if name == "*" else name in users:
        return None
    kind = subject.declared.once(_unseen_kind)
    if kind:
        missing = Missing(name=f"any other {kind.name}", gap=subject.declared.gap(kind))
        unseen.setdefault("whether all of these namespaces refer to these Secrets", missing)
        return None
    where = "any other namespace" if name == "*" else name
    return Flaw(
        message=f"nothing in {where} refers to {each.secret}",
        severity="low",
        fix=f"{subject.object.reference}: remove it",
    )


def _unseen_kind(declared: Declared) -> Kind | None:
    """A kind of which there may be objects that refer to Secrets and were not seen."""
    return next((kind for kind in (*USERS, *contour_configuration.READS) if declared.gap(kind)), None)


def _users(declared: Declared) -> _Users:
    """By Secret, the other namespaces from which something refers to it."""
    found: dict[SecretName, set[str | None]] = {}
    for kind in USERS:
        for user in declared.every(kind):
            for use in of_object(Subject(user, declared)):
                if use.secret.namespace != user.namespace:
                    found.setdefault(use.secret, set()).add(user.namespace)
    proxies = map(HTTPProxy.of, declared.every(HTTP_PROXY))
    falling = {each.namespace for each in proxies if each.tls.enable_fallback_certificate}
    for each in configurations(declared):
        if each.fallback:
            found.setdefault(each.fallback, set()).update(falling)
    return {secret: frozenset(namespaces) for secret, namespaces in found.items()}


TARGET = ObjectRule(
    id="contour-delegation-target",
    subjects=(TLS_CERTIFICATE_DELEGATION,),
    reads=(NAMESPACE, *SECRETS, *USERS, *contour_configuration.READS, INGRESS_CLASS),
    check=check_target,
)


# --- Secrets that are delegated ---------------------------------------------------------------------------------------


def check_secret(subject: Subject) -> Iterator[Flaw]:
    """A delegated Secret is there, and holds something that Contour takes."""
    for each in CertificateDelegation.of(subject.object).delegations:
        if is_name(each.secret):
            yield from unusable(subject, secret_of(subject, each.secret), (*each.steps, "secretName"))
        else:
            yield _misnamed(subject, each)


def _misnamed(subject: Subject, each: Delegation) -> Flaw:
    plain = each.secret.rpartition("/")[2].replace("*", "") or "<name>"
    return Flaw(
        message=f"secretName {shown(each.secret)} is no Secret's name, and no reference matches it",
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
    """Only what is meant for all is delegated to all."""
    for each in CertificateDelegation.of(subject.object).delegations:
        if each.targets == EVERYWHERE and is_name(each.secret):
            yield from _for_all(subject, each)


def _for_all(subject: Subject, each: Delegation) -> Iterator[Flaw]:
    at = (*each.steps, "targetNamespaces")
    found = secret_of(subject, each.secret)
    if isinstance(found, Missing):
        if found.gap:
            yield undecided(found, at, "whether the certificate is one that all namespaces may serve")
        return
    leaf = next(iter(chain_of(found)), None)
    if leaf is None:
        return  # a CA or a revocation list, which is public; another rule says what cannot be used
    if leaf.dns_names is None:
        yield Flaw(message=f"the names of {found.reference} cannot be read", at=at, verdict="inconclusive")
    elif not any(name.startswith("*.") for name in leaf.dns_names):
        yield Flaw(
            message=f"{found.reference} is delegated to all namespaces, and its certificate is for no wildcard",
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


# --- People who may delegate ------------------------------------------------------------------------------------------

_WRITING: Final = ("create", "update", "patch")
_MOST_SUBJECTS: Final = 50
"""Subjects of one binding that are looked at."""


def check_creators(subject: Subject) -> Iterator[Flaw]:
    """Whoever may delegate a namespace's Secrets may read them."""
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
            message=f"{name} may delegate Secrets {where} and may not read them{groups}",
            at=at,
            fix=f"{subject.object.reference}: give the right to those who keep the Secrets",
        )


CREATORS = ObjectRule(
    id="contour-delegation-creators",
    subjects=(ROLE_BINDING, CLUSTER_ROLE_BINDING),
    reads=authorization.READS,
    check=check_creators,
)
