"""Certificates in files: a container that mounts one has it to serve TLS, or to show it to a server.

No Secret is read: a Service's annotation (service CA), cert-manager's Certificates, and for the platform the names that
its operators use say which Secrets have one. Some volumes are certificates by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from scanner.discover import balanced, hints, workloads
from scanner.discover.alike import Alike
from scanner.discover.containers import Container
from scanner.discover.draft import Claim, Found, Omission, Source
from scanner.discover.view import View
from scanner.model import service_ca
from scanner.model.endpoint import Owner
from scanner.model.kinds import CERTIFICATE
from scanner.model.objects import Fields
from scanner.model.pki_names import load_names

MAX_VOLUMES = 200
"""Of one pod."""
_SERVED = ("serving", "peer")
_DRIVERS = {"csi.cert-manager.io": "a certificate of cert-manager's CSI driver"}
"""Drivers whose volumes are certificates (cert-manager/csi-driver)."""


class _Mount(NamedTuple):
    """A volume of a container."""

    secret: str
    """The Secret's name, or ""."""
    what: str
    """What it is where it is no Secret."""
    container: Container


def _find(view: View) -> Iterator[Found]:
    known = _known(view)

    def told(containers: tuple[Container, ...], volumes: object, owner: Owner) -> tuple[list[tuple[int, Claim]], int]:
        """What each port of a pod owes to what is mounted, and how many volumes were not looked at."""
        mounts, cut = _told(containers, volumes)
        return [each for mount in mounts for each in _claims(mount, _named(view, known, owner, mount), owner)], cut

    replicas = Alike(told)
    for pod in view.workloads.pods:
        volumes = pod.raw.at("spec", "volumes")
        claims, cut = replicas(pod.containers, volumes, pod.owner) if volumes else ([], 0)
        if cut:
            yield Omission(f"volumes of one pod beyond the first {MAX_VOLUMES}: cut, not looked at", cut, cut=True)
        for number, claim in claims:
            yield from view.of_pod(pod, number, claim)


def _claims(mount: _Mount, what: str, owner: Owner) -> Iterator[tuple[int, Claim]]:
    origin = f"{owner.kind}/{owner.namespace}/{owner.name} container {mount.container.name} mounts {what}"
    for number in _ports(mount.container) if what else ():
        yield number, Claim(certainty="hinted", origin=origin[:300])


def _known(view: View) -> dict[tuple[str, str], str]:
    """Secrets with a certificate, and who says so."""
    found = {}
    for each in view.snapshot.every(CERTIFICATE):
        key = (each.namespace or "", each.text("spec", "secretName"))
        found[key] = f"Secret/{key[0]}/{key[1]} of {each.reference}"
    for service in view.balanced.services.values():
        name = service_ca.secret(service.raw)
        if name:
            found[service.namespace, name] = f"Secret/{service.namespace}/{name} of the service CA"
    return found


def _named(view: View, known: dict[tuple[str, str], str], owner: Owner, mount: _Mount) -> str:
    """What a mount is; the platform's names mean something in the platform's namespaces only."""
    namespace = owner.namespace or ""
    found = mount.what or known.get((namespace, mount.secret), "")
    return found or (_by_name(namespace, mount.secret) if view.trust.is_platform(namespace) else "")


def _by_name(namespace: str, name: str) -> str:
    """The platform's own serving certificates, by the names that their operators give the Secrets."""
    found = (each for _, each in load_names().secrets.find(f"{namespace}/{name}") if each.category in _SERVED)
    known = next(found, None) if name else None
    return f"Secret/{namespace}/{name}, known as {known.name}" if known else ""


def _told(containers: tuple[Container, ...], volumes: object) -> tuple[list[_Mount], int]:
    """What each container mounts that may be a certificate, and how many volumes were not looked at."""
    every = list(Fields({"volumes": volumes}).each("volumes"))
    inside = {each.text("name"): held for each in every[:MAX_VOLUMES] if (held := list(_inside(each)))}
    found = [
        _Mount(secret, what, each)
        for each in (containers if inside else ())
        for name in dict.fromkeys(mount.text("name") for mount in each.raw.each("volumeMounts"))
        for secret, what in inside.get(name, ())
    ]
    return found, max(len(every) - MAX_VOLUMES, 0)


def _inside(volume: Fields) -> Iterator[tuple[str, str]]:
    """The Secrets in a volume, or what it is (core/v1 Volume)."""
    if volume.has("secret", "secretName"):
        yield volume.text("secret", "secretName"), ""
    for each in volume.each("projected", "sources"):
        if each.has("secret", "name"):
            yield each.text("secret", "name"), ""
        if each.has("podCertificate"):  # certificates.k8s.io PodCertificateRequest: the kubelet has one made
            yield "", "a certificate of the pod's own (podCertificate)"
    if volume.text("csi", "driver") in _DRIVERS:
        yield "", _DRIVERS[volume.text("csi", "driver")]


def _ports(container: Container) -> Iterator[int]:
    """Its TCP ports, but for those that say that they are plain HTTP."""
    found = ((each.number, each.name) for each in container.ports if each.protocol == "TCP")
    yield from dict.fromkeys(number for number, name in found if number and not hints.is_plain(number, name))


SOURCE = Source(name="mounted certificates", reads=(CERTIFICATE, *workloads.READS, *balanced.READS), find=_find)
