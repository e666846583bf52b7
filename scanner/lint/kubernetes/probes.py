"""Probes with a scheme or port that contradicts other claims about the port."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.files.source_positions import shown
from scanner.kube.kinds import SERVICE
from scanner.kube.pod import WORKLOADS
from scanner.kube.service import Service
from scanner.lint.kubernetes.ports import READS, SCHEMES, Claim, Probe, http_probes, is_replica, of_pod, of_port
from scanner.model.object_rule import Flaw, ObjectRule, Subject


def check_probes(subject: Subject) -> Iterator[Flaw]:
    """Probes use the protocol of their port."""
    if is_replica(subject.declared, subject.object):
        return
    for probe in http_probes(subject.object):
        yield from _invalid(subject, probe)
    for number, claims in of_pod(subject.declared, subject.object).items():
        for place, claim in enumerate(claims):
            # Two probes that contradict each other have one finding.
            later = [each for each in claims[place + 1 :] if not each.steps]
            others = [each for each in claims[:place] + later if each.tls != claim.tls]
            if claim.steps and others:
                yield _contradicted(subject, number, claim, others)


def _invalid(subject: Subject, probe: Probe) -> Iterator[Flaw]:
    scheme, port = probe.get.scheme, probe.get.port
    if scheme and scheme not in SCHEMES:
        valid = scheme.upper() if scheme.upper() in SCHEMES else "<HTTP or HTTPS>"
        yield Flaw(
            message=f"the API server refuses the {probe.what}: Unsupported value: {shown(scheme)}; valid are HTTP and "
            "HTTPS, in capitals",
            at=probe.scheme_steps,
            severity="high",
            expected=SCHEMES,
            observed=(scheme,),
            fix=f"{subject.object.reference}: set scheme to {valid}",
            correction=f"scheme: {valid}",
        )
    if isinstance(port, str) and probe.number is None:
        yield Flaw(
            message=f"the {probe.what} uses port {shown(port)}, but its container has no port with this name",
            at=(*probe.get.steps, "port"),
            expected=tuple(probe.named)[:10],
            observed=(port,),
            fix=f"{subject.object.reference}: set the name or number of a port of the container",
        )


def _contradicted(subject: Subject, number: int, claim: Claim, others: list[Claim]) -> Flaw:
    scheme, other = ("HTTPS", "HTTP") if claim.tls else ("HTTP", "HTTPS")
    return Flaw(
        message=f"{claim.what} uses {scheme} to port {number}, but the port is declared as {other} elsewhere",
        at=claim.steps,
        severity=None if any(each.certain for each in others) else "low",
        expected=(other,),
        observed=(scheme,),
        evidence=tuple(each.what for each in others[:10]),
        fix=f"{subject.object.reference}: correct the probe or the other declaration",
        correction=f"scheme: {other}",
    )


PROBES = ObjectRule(id="probe-scheme", subjects=WORKLOADS, reads=READS, check=check_probes)


def check_protocol(subject: Subject) -> Iterator[Flaw]:
    """The appProtocol and the name of a Service's port agree."""
    for port in Service.of(subject.object).ports:
        claims = list(of_port(subject.object, port))
        if len({each.tls for each in claims}) > 1:
            yield Flaw(
                message=f"appProtocol {port.app_protocol} contradicts the port's name {port.name}",
                at=(*port.steps, "appProtocol"),
                observed=(port.app_protocol, port.name),
                fix=f"{subject.object.reference}: correct the appProtocol or the name",
            )


PROTOCOL = ObjectRule(id="service-app-protocol", subjects=(SERVICE,), check=check_protocol)
