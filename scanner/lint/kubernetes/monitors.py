"""Monitors whose scheme contradicts their own settings, or what else is said of the port."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from scanner.files.source_positions import Steps, shown
from scanner.kube.kinds import POD_MONITOR, PROBE, SCRAPE_CONFIG, SERVICE_MONITOR
from scanner.kube.objects import KubeObject
from scanner.kube.service import Service
from scanner.kube.service_callers import Monitor, Scrape
from scanner.lint.kubernetes.ports import (
    EVERYWHERE,
    MOST,
    READS,
    ByLabel,
    Claim,
    labelled_pods,
    labelled_services,
    named_ports,
    of_pod,
    of_port,
    selected,
)
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_SPELLINGS: Final = ("", "http", "https", "HTTP", "HTTPS")
"""Older definitions take small letters alone, and any text before that."""


def check_monitor(subject: Subject) -> Iterator[Flaw]:
    """A monitor speaks what is spoken on its port."""
    monitor = Monitor.of(subject.object)
    for each in monitor.scrapes:
        steps = each.steps
        place: Steps = (*steps, "prober") if monitor.kind == PROBE else steps
        said = monitor.scheme(each)
        if said is None:
            message = "not decided: which scheme it has; relabeling sets it by the target"
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
        elif each.tls_config and said.lower() != "https":
            yield Flaw(
                message="tlsConfig has no effect: the scheme is http",
                at=each.tls_config.steps,
                expected=("https",),
                observed=(said or "no scheme",),
                fix=f"{subject.object.reference}: set the scheme to https",
                correction="scheme: https",
            )
        elif subject.object.kind in (SERVICE_MONITOR, POD_MONITOR):
            yield from _contradicted(subject, place, each, tls=said.lower() == "https")


def _contradicted(subject: Subject, steps: Steps, endpoint: Scrape, *, tls: bool) -> Iterator[Flaw]:
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


def _selected(subject: Subject, index: ByLabel) -> Iterator[KubeObject]:
    selection = Monitor.of(subject.object).selection
    chosen = selection.namespace_selector
    namespaces = (EVERYWHERE,) if chosen.any else chosen.match_names[:MOST] or (subject.object.namespace,)
    return islice(selected(index, namespaces, selection.selector), MOST)


def services(subject: Subject) -> Iterator[Service]:
    """Those that a ServiceMonitor selects."""
    return map(Service.of, _selected(subject, subject.declared.once(labelled_services)))


def _of_services(subject: Subject, endpoint: Scrape) -> Iterator[Claim]:
    for service in services(subject):
        for port in service.ports[:MOST]:
            if endpoint.leads_to(port):
                yield from of_port(service, port)


def _of_pods(subject: Subject, endpoint: Scrape) -> Iterator[Claim]:
    for workload in _selected(subject, subject.declared.once(labelled_pods)):
        number = endpoint.port_number or named_ports(workload).get(endpoint.port)
        if isinstance(number, int):
            yield from of_pod(subject.declared, workload).get(number, ())


MONITOR_SCHEME = ObjectRule(
    id="monitor-scheme",
    subjects=(SERVICE_MONITOR, POD_MONITOR, PROBE, SCRAPE_CONFIG),
    reads=READS,
    check=check_monitor,
)
