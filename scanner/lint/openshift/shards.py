"""Which Routes more than one IngressController serves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.files.source_positions import Steps
from scanner.kube.kinds import INGRESS_CONTROLLER, ROUTE
from scanner.kube.kinds import NAMESPACE as NAMESPACES
from scanner.kube.label_selector import excludes, is_empty, selects
from scanner.kube.objects import KubeObject
from scanner.model.declared import Declared, Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_SPEC: Final = ("spec",)
_OF_NAMESPACES: Final = ("spec", "namespaceSelector")
_OF_ROUTES: Final = ("spec", "routeSelector")
_SELECTORS: Final = (_OF_NAMESPACES, _OF_ROUTES)
_TLS: Final = (("spec", "tlsSecurityProfile"), ("spec", "clientTLS"), ("spec", "defaultCertificate"))
_MOST: Final = 50
"""IngressControllers that are compared with one another."""


def check_shards(subject: Subject) -> Iterator[Flaw]:
    """A Route is served by one IngressController."""
    one = subject.object
    at = next((each for each in _SELECTORS if one.has(*each)), _SPEC)
    unclear: KubeObject | None = None
    controllers = subject.declared.every(INGRESS_CONTROLLER)
    if len(controllers) > _MOST:
        message = f"cannot be decided here: which Routes others serve; there are more than {_MOST} of them"
        yield Flaw(message=message, at=at, verdict="inconclusive")
        return
    for other in (each for each in controllers if each is not one and each.namespace == one.namespace):
        shared = _shared(subject.declared, one, other)
        if isinstance(shared, Missing):
            unclear = other
        elif shared:
            yield _both(one, other, shared, at)
    if unclear is not None:
        missing = _labels(subject.declared)
        yield undecided(missing, at, f"whether {unclear.reference} selects the same Routes")


def _both(one: KubeObject, other: KubeObject, shared: str, at: Steps) -> Flaw:
    differs = [".".join(steps) for steps in _TLS if one.at(*steps) != other.at(*steps)]
    return Flaw(
        message=f"{other.reference} serves {shared} as well"
        + (f", with another {', '.join(differs)}" if differs else ""),
        at=at,
        severity="medium" if differs else "low",
        observed=(str(other.reference),),
        fix=f"exclude in {one.reference} what {other.reference} selects, or the other way round",
    )


def _shared(declared: Declared, one: KubeObject, other: KubeObject) -> str | Missing:
    """The Routes that both serve, for people; "" where there are none."""
    pairs = [(one.fields(*steps), other.fields(*steps)) for steps in _SELECTORS]
    if any(excludes(*pair) for pair in pairs):
        return ""
    if all(is_empty(first) or is_empty(second) or first.raw == second.raw for first, second in pairs):
        return "every Route" if all(is_empty(each) for pair in pairs for each in pair) else "Routes of this one"
    routes = (each for each in declared.every(ROUTE) if _serves(declared, one, each) and _serves(declared, other, each))
    found = next(routes, None)
    if found is not None:
        return str(found.reference)
    missing = _labels(declared)
    return missing if missing.gap else ""


def _serves(declared: Declared, controller: KubeObject, route: KubeObject) -> bool:
    """Whether it is sure to select a Route."""
    of_namespaces = controller.fields(*_OF_NAMESPACES)
    if not selects(controller.fields(*_OF_ROUTES), route.labels):
        return False
    if is_empty(of_namespaces):
        return True
    found = declared.find(NAMESPACES, route.namespace or "")
    return not isinstance(found, Missing) and selects(of_namespaces, found.labels)


def _labels(declared: Declared) -> Missing:
    """On whose labels it depends, and why nobody knows them all."""
    kind = ROUTE if declared.gap(ROUTE) else NAMESPACES
    return Missing(name=kind.name, gap=declared.gap(kind))


SHARDS = ObjectRule(
    id="ingress-controller-shards",
    subjects=(INGRESS_CONTROLLER,),
    check=check_shards,
    reads=(ROUTE, NAMESPACES),
)
