"""Certificates in volumes: a container that mounts one serves TLS with it, or presents it to a server.

No Secret is read. A Service's annotation (service CA), cert-manager's Certificates, and the names of the platform's
operators show which Secrets are certificates. Some volumes are certificates by their type.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from scanner.config.certificate_names import load_names
from scanner.discover import hints
from scanner.discover.index import Index, Source
from scanner.discover.listener_claims import Claim, Found
from scanner.discover.sources.declared_ports import MAX_PORTS
from scanner.discover.truncation import Omission
from scanner.discover.workloads import Container, MemoisedByIdentity
from scanner.kube.kinds import CERTIFICATE
from scanner.kube.objects import Reference
from scanner.kube.pod import PodSpec, Volume
from scanner.kube.secrets import Certificate, service_ca_secret
from scanner.model.endpoint import Origin, Owner

MAX_VOLUMES = 200
"""Limit of volumes per pod, and of Secrets in them."""
_SERVED = ("serving", "peer")
_DRIVERS = {"csi.cert-manager.io": "a certificate of cert-manager's CSI driver"}
"""CSI drivers whose volumes are certificates (cert-manager/csi-driver)."""


class _Volume(NamedTuple):
    """A possible certificate in a volume."""

    volume: str
    secret: str
    """The Secret's name, or ""."""
    what: str
    """Description of a certificate without a Secret."""


class _Mounted(NamedTuple):
    """A certificate in a volume."""

    volume: str
    secret: Reference | None
    what: str
    """Reason why it is known to be a certificate."""


def _find(view: Index) -> Iterator[Found]:
    known = _known(view)

    def port_claims(
        containers: tuple[Container, ...], volumes: object, owner: Owner
    ) -> tuple[list[tuple[int, Claim]], int]:
        """The claims of a pod's ports by its mounts, and the number of volumes that were not read."""
        candidates, cut = _candidates(volumes)
        named = [
            _Mounted(each.volume, _secret(owner, each), what)
            for each in candidates
            if (what := _named(view, known, owner, each))
        ]
        return [each for container in containers for each in _claims(container, named, owner)] if named else [], cut

    replicas = MemoisedByIdentity(port_claims)
    for pod in view.workloads.pods:
        volumes = pod.raw.spec.volume_values
        claims, cut = replicas(pod.containers, volumes, pod.owner) if volumes else ([], 0)
        if cut:
            what = f"volumes of one pod, or Secrets in them, beyond the first {MAX_VOLUMES}"
            yield Omission(f"{what}: truncated, not read", cut, cut=True)
        for number, claim in claims[:MAX_PORTS]:  # the source of pods reports more as truncated
            yield from view.of_pod(pod, number, claim)


def _claims(container: Container, named: list[_Mounted], owner: Owner) -> Iterator[tuple[int, Claim]]:
    """One claim per port for all certificates that the container mounts."""
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


def _secret(owner: Owner, volume: _Volume) -> Reference | None:
    return Reference(kind="Secret", name=volume.secret, namespace=owner.namespace) if volume.secret else None


def _known(view: Index) -> dict[tuple[str | None, str], str]:
    """Secrets with a certificate, and the reason."""
    found: dict[tuple[str | None, str], str] = {}
    for each in view.snapshot.every(CERTIFICATE):
        found[each.namespace, Certificate.of(each).secret_name] = f"of {each.reference}"
    for service in view.services.by_name.values():
        name = service_ca_secret(service.raw)
        if name:
            found[service.namespace, name] = "of the service CA"
    return found


def _named(view: Index, known: dict[tuple[str | None, str], str], owner: Owner, volume: _Volume) -> str:
    """The reason why a volume is known to have a certificate, or "". The platform's names count only in its
    namespaces."""
    found = volume.what or known.get((owner.namespace, volume.secret))
    return found or (_by_name(owner.namespace, volume.secret) if view.authority.is_platform(owner.namespace) else "")


def _by_name(namespace: str | None, name: str) -> str:
    """The reason by the name of the Secret: operators of the platform use fixed names."""
    found = (each for _, each in load_names().secrets.find(f"{namespace}/{name}") if each.category in _SERVED)
    known = next(found, None) if name else None
    return f"known as {known.name}" if known else ""


def _candidates(volumes: object) -> tuple[list[_Volume], int]:
    """Possible certificates in the volumes, and the number of volumes that were not read."""
    every = PodSpec({"volumes": volumes}).volumes
    volume = [_Volume(each.name, *one) for each in every[:MAX_VOLUMES] for one in _certificates_in(each)]
    return volume[:MAX_VOLUMES], max(len(every) - MAX_VOLUMES, 0) + max(len(volume) - MAX_VOLUMES, 0)


def _certificates_in(volume: Volume) -> Iterator[tuple[str, str]]:
    """The Secrets in a volume, or its description (core/v1 Volume)."""
    if volume.secret:
        yield volume.secret, ""
    for each in volume.projected:
        if each.secret:
            yield each.secret, ""
        if each.has_pod_certificate:  # certificates.k8s.io PodCertificateRequest, made by the kubelet
            yield "", "a certificate of the pod's own (podCertificate)"
    if volume.csi_driver in _DRIVERS:
        yield "", _DRIVERS[volume.csi_driver]


def _ports(container: Container) -> Iterator[int]:
    """TCP ports of a container, except those that indicate plaintext HTTP."""
    found = ((each.number, each.name) for each in container.ports[:MAX_PORTS] if each.protocol == "TCP")
    yield from dict.fromkeys(number for number, name in found if number and not hints.is_plain(number, name))


SOURCE = Source(name="mounted certificates", reads=(CERTIFICATE,), find=_find)
