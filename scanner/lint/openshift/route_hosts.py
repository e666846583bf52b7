"""Hosts: who else has the name, and whether the router's default certificate covers it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Final

from scanner.kube.kinds import INGRESS_CONFIG, INGRESS_CONTROLLER, ROUTE
from scanner.kube.objects import KubeObject
from scanner.lint import references
from scanner.lint.openshift.controllers import uncovered
from scanner.lint.openshift.route_policy import controllers, shared_between_namespaces
from scanner.lint.openshift.routes import TLS, external, has_tls, hosts, inline, terminates, termination
from scanner.model.declared import Declared, Missing
from scanner.model.lint_report import NOT_GIVEN
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_HOST: Final = ("spec", "host")
_OTHERS: Final = 50
"""Routes of one host that are looked at."""


def check_same_host(subject: Subject) -> Iterator[Flaw]:
    """Routes of one host agree."""
    route = subject.object
    host = route.text(*_HOST).lower()
    others = subject.declared.once(_by_host).get(host, ()) if host else ()
    shared = len(others) > 1 and shared_between_namespaces(subject.declared, route)
    said: set[str] = set()
    for other in islice((each for each in others if each is not route and _name(each) != _name(route)), _OTHERS):
        message = _differs(route, other, shared=shared)
        if message and message not in said:
            said.add(message)
            fix = "give each Route a host of its own, or make them agree"
            yield Flaw(message=f"{other.reference} has the host too, and {message}", at=_HOST, fix=fix)


def _name(route: KubeObject) -> tuple[str | None, str]:
    return route.namespace, route.name


def _by_host(declared: Declared) -> Mapping[str, list[KubeObject]]:
    found: dict[str, list[KubeObject]] = {}
    for each in declared.every(ROUTE):
        found.setdefault(each.text(*_HOST).lower(), []).append(each)
    return found


def _differs(route: KubeObject, other: KubeObject, *, shared: bool) -> str | None:
    if route.namespace != other.namespace and not shared:
        return "is in another namespace: the older one has it, and the other is rejected (HostAlreadyClaimed)"
    if (route.text("spec", "path") or "/") == (other.text("spec", "path") or "/"):
        return "the same path: the older one has it, and the other is rejected (HostAlreadyClaimed)"
    if not (has_tls(route) and has_tls(other)):
        return None
    if (termination(route) == "passthrough") != (termination(other) == "passthrough"):
        return "only one of them is passed through: that one takes the name from the other"
    ours, theirs = _certificate(route), _certificate(other)
    return "brings another certificate: which one is served nobody has decided" if ours != theirs else None


def _certificate(route: KubeObject) -> str:
    return f"Secret {external(route)}" if external(route) else route.text(*TLS, "certificate")


def check_default(subject: Subject) -> Iterator[Flaw]:
    """A Route without a certificate has a host that the router's default one covers."""
    route, declared = subject.object, subject.declared
    if not terminates(route) or external(route) or inline(route) is not None or not route.text(*_HOST):
        return
    known = controllers(declared, route)
    bare: list[str] = []
    unseen: Missing | None = None
    for each in known:
        found = uncovered(declared, each, hosts(route))
        if isinstance(found, Missing):
            unseen = found
        elif not found:
            return
        else:
            bare = list(found)
    if not known:
        gap = declared.gap(INGRESS_CONTROLLER) or "none is there that looks at this Route"
        unseen = Missing(name=INGRESS_CONTROLLER.name, gap=gap)
    if unseen is not None:
        flaw = undecided(unseen, _HOST, "whether the router's default certificate covers the host")
        # IngressControllers come with the cluster, and no repository of Routes has them.
        yield replace(flaw, severity="info", unseen=None) if unseen.gap == NOT_GIVEN else flaw
    elif bare:
        yield Flaw(
            message=f"the router's default certificate does not cover {', '.join(bare[:5])}",
            at=_HOST,
            fix="name a Secret with a certificate for the host in externalCertificate",
            correction="tls:\n  termination: edge\n  externalCertificate:\n    name: NAME",
        )


SAME_HOST = ObjectRule(
    id="route-same-host",
    subjects=(ROUTE,),
    check=check_same_host,
    reads=(INGRESS_CONTROLLER,),
)
DEFAULT = ObjectRule(
    id="route-default-certificate",
    subjects=(ROUTE,),
    check=check_default,
    reads=(INGRESS_CONTROLLER, INGRESS_CONFIG, *references.READS),
)
