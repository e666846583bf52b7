"""Probes whose scheme contradicts what else is said of their port."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.files.source_positions import shown
from scanner.kube.kinds import SERVICE
from scanner.kube.pod import WORKLOADS
from scanner.kube.service import Service
from scanner.lint.kubernetes.ports import READS, SCHEMES, Claim, Probe, http_probes, of_pod, of_port, replica
from scanner.model.object_rule import Flaw, ObjectRule, Subject


def _spoken(tls: bool) -> str:  # noqa: FBT001 - one word for each
    return "HTTPS" if tls else "HTTP"


def check_probes(subject: Subject) -> Iterator[Flaw]:
    """Probes speak what is spoken on their port."""
    if replica(subject.declared, subject.object):
        return
    for probe in http_probes(subject.object):
        yield from _written(subject, probe)
    for number, claims in of_pod(subject.declared, subject.object).items():
        for place, claim in enumerate(claims):
            if claim.steps:
                others = [each for each in claims[:place] + _said(claims[place + 1 :]) if each.tls != claim.tls]
                yield from _contradicted(subject, number, claim, others)


def _written(subject: Subject, probe: Probe) -> Iterator[Flaw]:
    scheme, port = probe.get.scheme, probe.get.port
    if scheme and scheme not in SCHEMES:
        meant = scheme.upper() if scheme.upper() in SCHEMES else "<HTTP or HTTPS>"
        yield Flaw(
            message=f"the API server refuses the {probe.what}: Unsupported value: {shown(scheme)}; there are HTTP and "
            "HTTPS, in capitals",
            at=probe.scheme_steps,
            severity="high",
            expected=SCHEMES,
            observed=(scheme,),
            fix=f"{subject.object.reference}: write {meant}",
            correction=f"scheme: {meant}",
        )
    if isinstance(port, str) and probe.number is None:
        yield Flaw(
            message=f"the {probe.what} asks port {shown(port)}, and its container has none of that name",
            at=(*probe.get.steps, "port"),
            expected=tuple(probe.named)[:10],
            observed=(port,),
            fix=f"{subject.object.reference}: name a port of the container, or give its number",
        )


def _said(claims: list[Claim]) -> list[Claim]:
    """Without probes: of two that contradict each other, one finding says it."""
    return [each for each in claims if not each.steps]


def _contradicted(subject: Subject, number: int, claim: Claim, others: list[Claim]) -> Iterator[Flaw]:
    if others:
        yield Flaw(
            message=f"{claim.what} speaks {_spoken(claim.tls)} to port {number}, and others say "
            f"{_spoken(not claim.tls)}",
            at=claim.steps,
            severity=None if any(each.certain for each in others) else "low",
            expected=(_spoken(not claim.tls),),
            observed=(_spoken(claim.tls),),
            evidence=tuple(each.what for each in others[:10]),
            fix=f"{subject.object.reference}: correct whichever is wrong",
            correction=f"scheme: {_spoken(not claim.tls)}",
        )


PROBES = ObjectRule(id="probe-scheme", subjects=WORKLOADS, reads=READS, check=check_probes)


def check_protocol(subject: Subject) -> Iterator[Flaw]:
    """A Service says the same of a port by its protocol and its name."""
    for port in Service.of(subject.object).ports:
        claims = list(of_port(subject.object, port))
        if len({each.tls for each in claims}) > 1:
            yield Flaw(
                message=f"appProtocol {port.app_protocol} contradicts the port's name {port.name}",
                at=(*port.steps, "appProtocol"),
                observed=(port.app_protocol, port.name),
                fix=f"{subject.object.reference}: correct whichever is wrong",
            )


PROTOCOL = ObjectRule(id="service-app-protocol", subjects=(SERVICE,), check=check_protocol)
