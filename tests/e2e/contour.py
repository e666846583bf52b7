"""Contour's own control plane beside the API server of the tests, and an Envoy that it programs.

Both as its manifests start them (``examples/contour/03-contour.yaml``, ``03-envoy.yaml``), but for places: everything
listens on one loopback address, on ports that need no privilege.
"""

from __future__ import annotations

import itertools
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

import httpx2
import pytest

from scanner.demo.certificates import Authority
from tests.e2e import assets
from tests.e2e.control_plane import ControlPlane, Listener, answers, free_address
from tests.e2e.programs import running
from tests.e2e.writing import Object, RefusedError, Writer
from tests.zoo import envoy
from tests.zoo.processes import tail

XDS, METRICS, DEBUG, STATS, HTTP, HTTPS = 8001, 8000, 6060, 8002, 8080, 8443
"""Contour's usual ports."""
NAMESPACE: Final = "projectcontour"
MARKS: Final = "projectcontour-marks"
"""Where what marks a moment has its Secret."""
API: Final = "projectcontour.io/v1"
WITHIN: Final = 30.0
"""Seconds; Contour gathers changes for half a second at most."""
_BOTH: Final[tuple[Literal["serverAuth", "clientAuth"], ...]] = ("serverAuth", "clientAuth")


def controller() -> Path:
    """Contour's program; skips, with the reason, where nobody built it."""
    try:
        return assets.controller()
    except assets.Missing as missing:
        pytest.skip(str(missing))


@dataclass(frozen=True, kw_only=True)
class Contour:
    """A Contour that is running."""

    program: Path
    directory: Path
    address: str
    """Of all of its listeners, and Envoy's."""
    writer: Writer
    authority: Authority
    """Of xDS, and of the certificates of marks."""
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    @property
    def https(self) -> Listener:
        return Listener(self.address, HTTPS)

    def settle(self) -> None:
        """Wait until Contour has said of all objects that there are what it has to say.

        Watches keep an order for each kind alone. So a Secret, a delegation, a Service and an HTTPProxy that needs all
        of them are made last: when Contour calls that one valid, it has seen whatever was there before. Statuses are
        written one after another: all of that moment are written when a second such HTTPProxy has its own.
        """
        for _ in range(2):
            with self.mark():
                pass

    @contextmanager
    def mark(self) -> Iterator[str]:
        """A virtual host of which Contour has just said that it is valid: its name."""
        name = f"mark-{next(self._numbers)}"
        with made(self.writer, *self._marking(name)) as (*_, proxy):
            self.until(lambda: self.read(proxy).get("status", {}).get("currentStatus") == "valid")
            yield f"{name}.example"

    def _marking(self, name: str) -> Iterator[Object]:
        leaf = self.authority.leaf(names=(f"{name}.example",))
        content = {"tls.crt": leaf.pem.decode(), "tls.key": leaf.key_pem.decode()}
        here, there = ({"name": name, "namespace": each} for each in (NAMESPACE, MARKS))
        targets = {"secretName": name, "targetNamespaces": [NAMESPACE]}
        virtual = {"fqdn": f"{name}.example", "tls": {"secretName": f"{MARKS}/{name}"}}
        routes = [{"services": [{"name": name, "port": 80}]}]
        yield {"apiVersion": "v1", "kind": "Secret", "metadata": there, "type": "Opaque", "stringData": content}
        yield {"apiVersion": "v1", "kind": "Service", "metadata": here, "spec": {"ports": [{"port": 80}]}}
        kind = "TLSCertificateDelegation"
        yield {"apiVersion": API, "kind": kind, "metadata": there, "spec": {"delegations": [targets]}}
        spec = {"virtualhost": virtual, "routes": routes}
        yield {"apiVersion": API, "kind": "HTTPProxy", "metadata": here, "spec": spec}

    def read(self, item: Object) -> Object:
        """The object as it is now. Raises ``RefusedError``."""
        response = self.writer.client.get(f"{self.writer.path(item)}/{item['metadata']['name']}")
        if not response.is_success:
            raise RefusedError(response)
        found: Object = response.json()
        return found

    def until(self, happened: Callable[[], bool]) -> None:
        """Raises ``AssertionError`` with Contour's last words."""
        until = time.monotonic() + WITHIN
        while not happened():
            assert time.monotonic() < until, f"never happened; Contour wrote:\n{tail(self.directory / 'contour.log')}"
            time.sleep(0.05)

    @contextmanager
    def envoy(self) -> Iterator[None]:
        """Run an Envoy that asks this Contour, until the block ends. Raises ``DidNotStartError``."""
        bootstrap, admin = self.directory / "envoy.json", self.directory / "admin.sock"
        keys = [f"--envoy-{name}={self.directory / file}" for name, file in _ENVOYS.items()]
        places = [f"--xds-address={self.address}", f"--xds-port={XDS}", f"--admin-address={admin}"]
        subprocess.run([self.program, "bootstrap", bootstrap, *keys, *places], check=True, capture_output=True)
        options = ["--service-cluster", NAMESPACE, "--service-node", "envoy-a", "--concurrency", "1"]
        argv = [envoy.found() or "envoy", "-c", str(bootstrap), "--disable-hot-restart", *options]
        client = httpx2.Client(base_url=f"http://{self.address}:{STATS}", trust_env=False)
        with client, running(argv, self.directory / "envoy.log", lambda: answers(client, "/ready")):
            yield


_ENVOYS: Final = {"cafile": "xds-ca.pem", "cert-file": "envoy.pem", "key-file": "envoy.key"}


@contextmanager
def contour(
    program: Path, plane: ControlPlane, directory: Path, told: str = "", arguments: Sequence[str] = ()
) -> Iterator[Contour]:
    """Run Contour, ``told`` what is in its file, until the block ends. Raises ``DidNotStartError``."""
    address = free_address(XDS, METRICS, DEBUG, STATS, HTTP, HTTPS)
    authority, writer = Authority("Contour CA"), Writer(plane.admin)
    namespaces(writer, NAMESPACE, MARKS)
    for each in ("contour", "envoy"):
        authority.leaf(names=(each,), eku=_BOTH).write(directory, each)
    (directory / "xds-ca.pem").write_bytes(authority.pem)
    (directory / "contour.yaml").write_text(told)
    argv = [str(program), "serve", *_serving(plane, directory, address), *arguments]
    client = httpx2.Client(base_url=f"http://{address}:{METRICS}", trust_env=False)
    with client, running(argv, directory / "contour.log", lambda: answers(client, "/healthz")):
        yield Contour(program=program, directory=directory, address=address, writer=writer, authority=authority)


def _serving(plane: ControlPlane, directory: Path, address: str) -> Iterator[str]:
    yield f"--kubeconfig={plane.kubeconfig(directory / 'kubeconfig', {'token': plane.tokens['admin']})}"
    yield f"--config-path={directory / 'contour.yaml'}"
    yield "--disable-leader-election"
    for what, port in (("xds", XDS), ("http", METRICS), ("health", METRICS), ("debug-http", DEBUG), ("stats", STATS)):
        yield from (f"--{what}-address={address}", f"--{what}-port={port}")
    for what, port in (("http", HTTP), ("https", HTTPS)):
        yield from (f"--envoy-service-{what}-address={address}", f"--envoy-service-{what}-port={port}")
    for what, file in {"cafile": "xds-ca.pem", "cert-file": "contour.pem", "key-file": "contour.key"}.items():
        yield f"--contour-{what}={directory / file}"


def namespaces(writer: Writer, *names: str) -> None:
    """Make those that are not there. They stay: nobody is here who would let them go."""
    for each in dict.fromkeys(names):
        if not writer.client.get(f"/api/v1/namespaces/{each}").is_success:
            writer.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": each}})


def reasons_of(proxy: Object) -> set[str]:
    """Of the errors that Contour has with an HTTPProxy; none: it calls it valid. It has looked at what is there now."""
    (condition,) = (each for each in proxy["status"]["conditions"] if each["type"] == "Valid")
    assert condition["observedGeneration"] == proxy["metadata"]["generation"]
    errors = {each["reason"] for each in condition.get("errors", ())}
    assert bool(errors) == (condition["status"] == "False"), condition
    return errors


@contextmanager
def made(writer: Writer, *objects: Object) -> Iterator[list[Object]]:
    """Create these objects, and delete them in the end."""
    with ExitStack() as stack:
        created = []
        for each in objects:
            created.append(writer.create(each))
            stack.callback(_gone, writer, each)
        yield created


def _gone(writer: Writer, item: Object) -> None:
    """At once, also a pod; a story may have taken it away."""
    path = f"{writer.path(item)}/{item['metadata']['name']}"
    answer = writer.client.delete(path, params={"gracePeriodSeconds": 0})
    assert answer.status_code in {200, 404}, answer.text
