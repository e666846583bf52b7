"""Certificates in files: a container that mounts one has it to serve TLS, or to show it to a server.

No Secret is read: a Service's annotation (service CA), cert-manager's Certificates, and for the platform the names that
its operators use say which Secrets have one. Some volumes are certificates by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from scanner.config.certificate_names import load_names
from scanner.discover import hints, services, workloads
from scanner.discover.index import Index, Source
from scanner.discover.listener_claims import Claim, Found
from scanner.discover.sources.pods import MAX_PORTS
from scanner.discover.truncation import Omission
from scanner.discover.workloads import Alike, Container
from scanner.kube.kinds import CERTIFICATE
from scanner.kube.objects import Reference
from scanner.kube.pod import PodSpec, Volume
from scanner.kube.secrets import Certificate, service_ca_secret
from scanner.model.endpoint import Origin, Owner

MAX_VOLUMES = 200
"""Of one pod, and as many Secrets in them."""
_SERVED = ("serving", "peer")
_DRIVERS = {"csi.cert-manager.io": "a certificate of cert-manager's CSI driver"}
"""Drivers whose volumes are certificates (cert-manager/csi-driver)."""


class _Held(NamedTuple):
    """What a volume holds."""

    volume: str
    secret: str
    """The Secret's name, or ""."""
    what: str
    """What it is where it is no Secret."""


class _Mounted(NamedTuple):
    """A certificate in a volume."""

    volume: str
    secret: Reference | None
    what: str
    """Why it is known to be one."""


def _find(view: Index) -> Iterator[Found]:
    known = _known(view)

    def told(containers: tuple[Container, ...], volumes: object, owner: Owner) -> tuple[list[tuple[int, Claim]], int]:
        """What each port of a pod owes to what is mounted, and how much in its volumes was not looked at."""
        held, cut = _held(volumes)
        named = [
            _Mounted(each.volume, _secret(owner, each), what)
            for each in held
            if (what := _named(view, known, owner, each))
        ]
        return [each for container in containers for each in _claims(container, named, owner)] if named else [], cut

    replicas = Alike(told)
    for pod in view.workloads.pods:
        volumes = pod.raw.spec.volume_values
        claims, cut = replicas(pod.containers, volumes, pod.owner) if volumes else ([], 0)
        if cut:
            what = f"volumes of one pod, or Secrets in them, beyond the first {MAX_VOLUMES}"
            yield Omission(f"{what}: cut, not looked at", cut, cut=True)
        for number, claim in claims[:MAX_PORTS]:  # that there are more is said by the source of pods
            yield from view.of_pod(pod, number, claim)


def _claims(container: Container, named: list[_Mounted], owner: Owner) -> Iterator[tuple[int, Claim]]:
    """One for each port, whatever the container mounts."""
    ports = list(_ports(container))
    mounted = {each.name for each in container.raw.volume_mounts}
    reference = Reference(kind=owner.kind, name=owner.name, namespace=owner.namespace)
    origins = dict.fromkeys(
        Origin(role="mount", reference=reference, container=container.name, through=each.secret, part=each.what)
        for each in named
        if each.volume in mounted
    )
    if origins:
        first, *beside = origins
        claim = Claim(certainty="hinted", origin=first, beside=tuple(beside))
        yield from ((number, claim) for number in ports)


def _secret(owner: Owner, held: _Held) -> Reference | None:
    return Reference(kind="Secret", name=held.secret, namespace=owner.namespace) if held.secret else None


def _known(view: Index) -> dict[tuple[str, str], str]:
    """Secrets with a certificate, and what says so."""
    found = {}
    for each in view.snapshot.every(CERTIFICATE):
        key = (each.namespace or "", Certificate.of(each).secret_name)
        found[key] = f"of {each.reference}"
    for service in view.balanced.services.values():
        name = service_ca_secret(service.raw)
        if name:
            found[service.namespace, name] = "of the service CA"
    return found


def _named(view: Index, known: dict[tuple[str, str], str], owner: Owner, held: _Held) -> str:
    """Why a volume is known to hold a certificate, or "". The platform's names count in its namespaces only."""
    namespace = owner.namespace or ""
    found = held.what or known.get((namespace, held.secret), "")
    return found or (_by_name(namespace, held.secret) if view.trust.is_platform(namespace) else "")


def _by_name(namespace: str, name: str) -> str:
    """The platform's own serving certificates, by the names that their operators give the Secrets."""
    found = (each for _, each in load_names().secrets.find(f"{namespace}/{name}") if each.category in _SERVED)
    known = next(found, None) if name else None
    return f"known as {known.name}" if known else ""


def _held(volumes: object) -> tuple[list[_Held], int]:
    """What the volumes hold that may be a certificate, and how much of it was not looked at."""
    every = PodSpec({"volumes": volumes}).volumes
    held = [_Held(each.name, *one) for each in every[:MAX_VOLUMES] for one in _inside(each)]
    return held[:MAX_VOLUMES], max(len(every) - MAX_VOLUMES, 0) + max(len(held) - MAX_VOLUMES, 0)


def _inside(volume: Volume) -> Iterator[tuple[str, str]]:
    """The Secrets in a volume, or what it is (core/v1 Volume)."""
    if volume.secret:
        yield volume.secret, ""
    for each in volume.projected:
        if each.secret:
            yield each.secret, ""
        if each.has_pod_certificate:  # certificates.k8s.io PodCertificateRequest: the kubelet has one made
            yield "", "a certificate of the pod's own (podCertificate)"
    if volume.csi_driver in _DRIVERS:
        yield "", _DRIVERS[volume.csi_driver]


def _ports(container: Container) -> Iterator[int]:
    """Its TCP ports, but for those that say that they are plain HTTP."""
    found = ((each.number, each.name) for each in container.ports[:MAX_PORTS] if each.protocol == "TCP")
    yield from dict.fromkeys(number for number, name in found if number and not hints.is_plain(number, name))


SOURCE = Source(name="mounted certificates", reads=(CERTIFICATE, *workloads.READS, *services.READS), find=_find)
