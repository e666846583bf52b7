"""Monitors whose scheme contradicts their own settings, or what else is said of the port."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from scanner.files.source_positions import Steps, shown
from scanner.kube.kinds import POD_MONITOR, PROBE, SCRAPE_CONFIG, SERVICE_MONITOR
from scanner.kube.objects import Fields, KubeObject
from scanner.lint.kubernetes.ports import (
    EVERYWHERE,
    MOST,
    READS,
    Claim,
    labelled_pods,
    labelled_services,
    named_ports,
    of_pod,
    of_port,
    selected,
)
from scanner.lint.kubernetes.unverified import configurations
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_RELABELINGS: Final = ("relabelings", "relabelConfigs")
_SCHEME: Final = "__scheme__"
_SPELLINGS: Final = ("", "http", "https", "HTTP", "HTTPS")
"""Older definitions take small letters alone, and any text before that."""


def check_monitor(subject: Subject) -> Iterator[Flaw]:
    """A monitor speaks what is spoken on its port."""
    for steps, each in configurations(subject):
        place: Steps = (*steps, "prober") if subject.object.kind == PROBE else steps
        said = scheme(subject.object, each)
        if said is None:
            message = "cannot be decided here: which scheme it has; relabeling sets it by the target"
            yield Flaw(message=message, at=steps, verdict="inconclusive", severity="info")
        elif said not in _SPELLINGS:
            yield Flaw(
                message=f"there is no scheme {shown(said)}: http and https, in small letters or capitals",
                at=(*place, "scheme"),
                expected=("http", "https"),
                observed=(said,),
                fix=f"{subject.object.reference}: write http or https",
                correction=f"scheme: {said.lower() if said.lower() in _SPELLINGS else 'https'}",
            )
        elif each.fields("tlsConfig").raw and said.lower() != "https":
            yield Flaw(
                message="tlsConfig has no effect: the scheme is http",
                at=(*steps, "tlsConfig"),
                expected=("https",),
                observed=(said or "no scheme",),
                fix=f"{subject.object.reference}: set the scheme to https",
                correction="scheme: https",
            )
        elif subject.object.kind in (SERVICE_MONITOR, POD_MONITOR):
            yield from _contradicted(subject, place, each, tls=said.lower() == "https")


def scheme(monitor: KubeObject, endpoint: Fields) -> str | None:
    """As it is written, or as relabeling sets it; None where that depends on the target."""
    holder = endpoint.fields("prober") if monitor.kind == PROBE else endpoint
    said: str | None = holder.text("scheme")
    for each in (one for name in _RELABELINGS for one in endpoint.each(name)):
        if each.text("targetLabel") == _SCHEME:
            plain = each.text("action").lower() in ("", "replace") and not each.at("sourceLabels")
            said = each.text("replacement") if plain and "$" not in each.text("replacement") else None
    return said


def _contradicted(subject: Subject, steps: Steps, endpoint: Fields, *, tls: bool) -> Iterator[Flaw]:
    find = _of_services if subject.object.kind == SERVICE_MONITOR else _of_pods
    others = list(islice((each for each in find(subject, endpoint) if each.tls != tls), MOST))
    if others:
        scheme, other = ("https", "http") if tls else ("http", "https")
        yield Flaw(
            message=f"the scheme is {scheme}, and others say {other} of the port",
            at=(*steps, "scheme"),
            severity=None if any(each.certain for each in others) else "low",
            expected=(other,),
            observed=(scheme,),
            evidence=tuple(each.what for each in others[:10]),
            fix=f"{subject.object.reference}: set the scheme, or correct what contradicts it",
            correction=f"scheme: {other}",
        )


def _namespaces(subject: Subject) -> tuple[str | None, ...]:
    """Those in which it selects."""
    if subject.object.flag("spec", "namespaceSelector", "any"):
        return (EVERYWHERE,)
    return subject.object.texts("spec", "namespaceSelector", "matchNames")[:MOST] or (subject.object.namespace,)


def services(subject: Subject) -> Iterator[KubeObject]:
    """Those that a ServiceMonitor selects."""
    index = subject.declared.once(labelled_services)
    chosen = selected(index, _namespaces(subject), subject.object.fields("spec", "selector"))
    return islice(chosen, MOST)


def _of_services(subject: Subject, endpoint: Fields) -> Iterator[Claim]:
    for service in services(subject):
        for port in islice(service.each("spec", "ports"), MOST):
            if _leads_to(endpoint, port):
                yield from of_port(service, port)


def _leads_to(endpoint: Fields, port: Fields) -> bool:
    """By the Service's own name of the port, or by what is behind it (Endpoint port, targetPort)."""
    if endpoint.text("port"):
        return port.text("name") == endpoint.text("port")
    target = endpoint.at("targetPort")
    return target is not None and target == (port.at("targetPort") or port.at("port"))


def _of_pods(subject: Subject, endpoint: Fields) -> Iterator[Claim]:
    index = subject.declared.once(labelled_pods)
    chosen = selected(index, _namespaces(subject), subject.object.fields("spec", "selector"))
    for workload in islice(chosen, MOST):
        number = endpoint.number("portNumber") or named_ports(workload).get(endpoint.text("port"))
        if number is not None:
            yield from of_pod(subject.declared, workload).get(number, ())


MONITOR_SCHEME = ObjectRule(
    id="monitor-scheme",
    subjects=(SERVICE_MONITOR, POD_MONITOR, PROBE, SCRAPE_CONFIG),
    reads=READS,
    check=check_monitor,
)
