"""Hosts that two objects claim."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

from scanner.kube.kinds import HTTP_PROXY, INGRESS, INGRESS_CLASS
from scanner.kube.objects import KubeObject
from scanner.kube.references import ingress_class
from scanner.lint.contour.uses import VHOST, is_contours
from scanner.model.declared import Declared
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_SHOWN: Final = 3


def _class(found: KubeObject) -> str:
    """Two Contours may serve one host each; without a class it is the usual one's."""
    return ingress_class(found) or "contour"


def _host(proxy: KubeObject) -> str:
    return proxy.text(*VHOST, "fqdn").lower()


def check_fqdn(subject: Subject) -> Iterator[Flaw]:
    """A host is claimed by one HTTPProxy."""
    key = (_host(subject.object), _class(subject.object))
    if not key[0]:
        return
    at = (*VHOST, "fqdn")
    proxies = subject.declared.once(_proxies).get(key, ())
    if len(proxies) > 1:
        others = (each for each in proxies if each is not subject.object)
        claim = _for(len(proxies) - 1, "claims", "claim")
        yield Flaw(
            message=f"{_listed(others, len(proxies) - 1)} also {claim} {key[0]}: "
            "Contour calls all of them invalid (DuplicateVhost)",
            at=at,
            fix=f"{subject.object.reference}: keep one of them",
        )
    ingresses = subject.declared.once(_ingresses).get(key[0], ())
    if ingresses:
        have = _for(len(ingresses), "has", "have")
        yield Flaw(
            message=f"{_listed(ingresses, len(ingresses))} also {have} rules for {key[0]}: "
            "whose TLS settings hold is left to chance",
            at=at,
            severity="medium",
            fix=f"{subject.object.reference}: keep one of them",
        )


def _for(count: int, one: str, several: str) -> str:
    return one if count == 1 else several


def _listed(found: Iterable[KubeObject], count: int) -> str:
    more = f" and {count - _SHOWN} more" if count > _SHOWN else ""
    return ", ".join(str(each.reference) for each in islice(found, _SHOWN)) + more


def _proxies(declared: Declared) -> Mapping[tuple[str, str], tuple[KubeObject, ...]]:
    found: dict[tuple[str, str], list[KubeObject]] = {}
    for each in declared.every(HTTP_PROXY):
        found.setdefault((_host(each), _class(each)), []).append(each)
    return {key: tuple(each) for key, each in found.items()}


def _ingresses(declared: Declared) -> Mapping[str, tuple[KubeObject, ...]]:
    found: dict[str, list[KubeObject]] = {}
    for each in declared.every(INGRESS):
        if is_contours(declared, each):
            for host in {rule.text("host").lower() for rule in each.each("spec", "rules")}:
                found.setdefault(host, []).append(each)
    return {key: tuple(each) for key, each in found.items()}


FQDN = ObjectRule(
    id="contour-fqdn",
    subjects=(HTTP_PROXY,),
    reads=(INGRESS, INGRESS_CLASS),
    check=check_fqdn,
)


def check_slash(subject: Subject) -> Iterator[Flaw]:
    """An Ingress names a Secret without a namespace."""
    of_contour = is_contours(subject.declared, subject.object)
    for steps, each in subject.items("spec", "tls"):
        namespace, slash, name = each.text("secretName").partition("/")
        if slash:
            yield Flaw(
                message="the API server refuses a secretName with a slash: it must be the name of a Secret",
                at=(*steps, "secretName"),
                observed=(each.text("secretName"),),
                fix=f"{subject.object.reference}: "
                + (
                    "give the namespace in projectcontour.io/tls-cert-namespace"
                    if of_contour
                    else f"name a Secret in {subject.object.namespace}"
                ),
                correction=f"metadata:\n  annotations:\n    projectcontour.io/tls-cert-namespace: {namespace}\n"
                f"spec:\n  tls:\n  - secretName: {name}"
                if of_contour
                else f"spec:\n  tls:\n  - secretName: {name}",
            )


SLASH = ObjectRule(
    id="contour-ingress-slash",
    subjects=(INGRESS,),
    reads=(INGRESS_CLASS,),
    check=check_slash,
)
