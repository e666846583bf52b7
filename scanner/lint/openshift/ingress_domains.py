"""Which domain an IngressController has, and whose it is already."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from scanner.kube.kinds import INGRESS_CONFIG, INGRESS_CONTROLLER
from scanner.kube.objects import KubeObject
from scanner.lint.openshift.controllers import NAMESPACE, domain_of
from scanner.model.declared import Declared, Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_SPEC: Final = ("spec",)
_DOMAIN: Final = ("spec", "domain")
_MOST: Final = 50
"""Domains of one namespace that are kept beside the one that nobody saw."""


def check_domain(subject: Subject) -> Iterator[Flaw]:
    """An IngressController is where its operator looks, with a domain of its own."""
    controller = subject.object
    if controller.namespace not in (None, NAMESPACE):
        message = f"nobody looks at it: IngressControllers are in the namespace {NAMESPACE}"
        yield Flaw(message=message, at=("metadata", "namespace"), severity="medium", fix=f"create it in {NAMESPACE}")
    at = _DOMAIN if controller.has(*_DOMAIN) else _SPEC
    known = subject.declared.once(_by_domain)
    own = domain_of(subject.declared, controller)
    beside = [each for each in known.get(_key(controller, own), ()) if each is not controller]
    if beside and own:
        where = own if isinstance(own, str) else "the cluster's"
        message = f"{beside[0].reference} has the same domain, {where}: the operator admits one of them"
        observed = tuple(str(each.reference) for each in beside[:5])
        yield Flaw(message=message, at=at, observed=observed, fix="give it a domain of its own")
    elif unseen := _unseen(subject.declared, controller, own):
        yield undecided(unseen, at, "whether another IngressController has the same domain")


def _key(controller: KubeObject, domain: str | Missing) -> tuple[str | None, str | Missing]:
    return controller.namespace, domain


def _by_domain(declared: Declared) -> Mapping[tuple[str | None, str | Missing], list[KubeObject]]:
    """The IngressControllers of each namespace and domain; those that have the cluster's are together, where nobody saw
    which that is."""
    found: dict[tuple[str | None, str | Missing], list[KubeObject]] = {}
    for each in declared.every(INGRESS_CONTROLLER):
        found.setdefault(_key(each, domain_of(declared, each)), []).append(each)
    return found


def _domains(declared: Declared) -> Mapping[str | None, set[str | Missing]]:
    """Those of each namespace that has IngressControllers: one of them, the one that nobody saw, and some others."""
    found: dict[str | None, set[str | Missing]] = {}
    for namespace, domain in declared.once(_by_domain):
        several = found.setdefault(namespace, set())
        if len(several) < _MOST or isinstance(domain, Missing):
            several.add(domain)
    return found


def _unseen(declared: Declared, controller: KubeObject, own: str | Missing) -> Missing | None:
    """What keeps anybody from telling whether a domain is another's."""
    domains = declared.once(_domains).get(controller.namespace, set())
    if isinstance(own, Missing):
        return own if len(domains) > 1 else None
    return next((each for each in domains if isinstance(each, Missing)), None)


DOMAIN = ObjectRule(
    id="ingress-controller-domain",
    subjects=(INGRESS_CONTROLLER,),
    check=check_domain,
    reads=(INGRESS_CONFIG,),
)
