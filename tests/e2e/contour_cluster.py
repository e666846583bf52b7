"""A cluster whose Envoy Contour programs: its objects are in a real API server, and its pods answer on loopback."""

from __future__ import annotations

import itertools
import json
import socket
import ssl
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, Self

from scanner.assessment import READS
from scanner.cli.inputs import bundles, needed_secrets
from scanner.cluster import access, read
from scanner.files.yaml_values import documents
from scanner.kube.kinds import ENDPOINT_SLICE, SECRET
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Snapshot
from scanner.scan import Settings
from scanner.tls.certificate import parsed_once
from scanner.values import replace
from tests.e2e.contour import HTTP, HTTPS, NAMESPACE, Contour, contour, controller, made, namespaces
from tests.e2e.control_plane import ControlPlane
from tests.e2e.programs import running
from tests.e2e.writing import Object
from tests.lint.examples import authority, leaf, manifests
from tests.zoo import declared, envoy
from tests.zoo.declared import SETTINGS, Told
from tests.zoo.envoy import Chain
from tests.zoo.processes import free_address

TOLD: Final = """enableExternalNameService: true
tls: {fallback-certificate: {name: fallback, namespace: certs}}
"""
"""What Contour's file says. A Service of type ExternalName may lead to loopback, and an EndpointSlice may not."""

PLAINTEXT: Final = ("plain.wild.example", "open.wild.example", "loose.wild.example", "ingress.wild.example")
"""Names under which the third pod answers."""


class Cluster:
    """The objects, Contour, its Envoy and three pods: TLS is passed through to one, Envoy speaks it to another, and
    the third answers without.

    Contour ends with ``without_contour``; Envoy then keeps what it has.
    """

    def __init__(self, plane: ControlPlane, directory: Path, text: str, told: str = TOLD) -> None:
        self.plane, self.directory, self.text, self.told_contour = plane, directory, text, told
        self.pods = {name: free_address() for name in ("secure", "backend", "web")}
        self.stack, self.without_contour = ExitStack(), ExitStack()
        self.contour: Contour
        self._numbers = itertools.count()

    @contextmanager
    def running(self) -> Iterator[Self]:
        """With all of its objects; all is ended, and they are gone, with the block."""
        with self.stack, self.without_contour:
            started = contour(controller(), self.plane, self.directory, self.told_contour)
            self.contour = self.without_contour.enter_context(started)
            namespaces(self.contour.writer, NAMESPACE, "shop", "certs")
            self.stack.enter_context(self._backends())
            self.with_objects(self.text)
            self.stack.enter_context(self.contour.envoy())
            yield self

    def with_objects(self, text: str) -> None:
        """Create these until the end."""
        self.stack.enter_context(made(self.contour.writer, *self.objects(text)))

    def replace(self, text: str, kind: str, name: str) -> None:
        """Put this object, as ``text`` has it, in the place of what there is."""
        (item,) = (each for each in self.objects(text) if (each["kind"], each["metadata"]["name"]) == (kind, name))
        writer = self.contour.writer
        response = writer.client.put(f"{writer.path(item)}/{name}", json=item)
        assert response.is_success, response.text

    def read(self, kind: str, name: str) -> Object:
        """One of its objects as it is now."""
        return self.contour.read(self._named(kind, name))

    def delete(self, kind: str, name: str) -> None:
        """Delete one of its objects."""
        self.contour.writer.delete(self._named(kind, name))

    def _named(self, kind: str, name: str) -> Object:
        every = self.objects(self.text)
        (item,) = (each for each in every if (each["kind"], each["metadata"]["name"]) == (kind, name))
        return item

    def objects(self, text: str) -> list[Object]:
        """With certificates and places in it."""
        for name, (address, port) in self.pods.items():
            text = text.replace(f"{name.upper()}_ADDRESS", address).replace(f"{name.upper()}_PORT", str(port))
        text = text.replace("ENVOY_ADDRESS", self.contour.address).replace("TOLD", json.dumps(self.told_contour))
        manifests(self.directory, text)
        found: list[Any] = list(documents((self.directory / "example.yaml").read_bytes(), "example"))
        return list(filter(None, found))

    @contextmanager
    def _backends(self) -> Iterator[None]:
        places = {name: f"{address}:{port}" for name, (address, port) in self.pods.items()}
        chains: dict[str, Sequence[Chain]] = {
            places["secure"]: [Chain(credential=leaf("through.example"))],
            places["backend"]: [Chain(credential=authority("backends").leaf(names=("backend.example",)))],
            places["web"]: [Chain(plain=True, answers=dict.fromkeys(PLAINTEXT, 200))],
        }
        launch = envoy.launch(chains, self.directory)
        with running(launch.argv, self.directory / "pods.log", lambda: all(map(_listens, self.pods.values()))):
            yield

    def settle(self) -> None:
        """Wait until Envoy has what Contour makes of all objects that there are: also of a name that was made last."""
        self.contour.settle()
        with self.contour.mark() as name:
            self.contour.until(lambda: served(self.contour, name) == name)
        self.contour.until(lambda: served(self.contour, name) != name)

    async def snapshot(self) -> Snapshot:
        """What the API server has, and what it would have with addresses that it takes: the slices."""
        kubeconfig = self.plane.kubeconfig(self.directory / "kubeconfig", {"token": self.plane.tokens["admin"]})
        found = await read(
            access(str(kubeconfig)),
            (*READS, SECRET),
            secrets=needed_secrets(secrets=True),
            config_maps=bundles,
            permitted={"lint"},
        )
        slices = tuple(self._slice(name) for name in ("envoy", *self.pods))
        return replace(found, objects={**found.objects, ENDPOINT_SLICE: slices})

    def _slice(self, name: str) -> KubeObject:
        front = name == "envoy"
        address = self.contour.address if front else self.pods[name][0]
        ports = {"https": HTTPS, "http": HTTP} if front else {"https": self.pods[name][1]}
        namespace = NAMESPACE if front else "shop"
        target = {"kind": "Pod", "name": f"{name}-a", "namespace": namespace}
        raw = {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                "name": f"{name}-x",
                "namespace": namespace,
                "labels": {"kubernetes.io/service-name": name},
            },
            "addressType": "IPv4",
            "ports": [{"name": each, "port": port, "protocol": "TCP"} for each, port in ports.items()],
            "endpoints": [{"addresses": [address], "conditions": {"ready": True}, "targetRef": target}],
        }
        return KubeObject(raw, ENDPOINT_SLICE)

    async def told(self, snapshot: Snapshot | None = None, settings: Settings = SETTINGS) -> Told:
        """What a scan says of it; of an earlier ``snapshot``: as if the objects still said what they said then."""
        directory = self.directory / f"scan-{next(self._numbers)}"
        directory.mkdir()
        return await declared.scanned(snapshot or await self.snapshot(), directory, settings)


def served(contour: Contour, name: str | None) -> str | None:
    """The first name of the certificate that Envoy shows for a server name; None: it shows none."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        tcp = socket.create_connection((contour.address, HTTPS), timeout=10)
        with tcp, context.wrap_socket(tcp, server_hostname=name) as tls:
            der = tls.getpeercert(binary_form=True)
    except OSError:
        return None
    return next(iter(parsed_once(der).dns_names or ()), None) if der else None


def _listens(place: tuple[str, int]) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(place) == 0
