"""A cluster whose Envoy Contour programs as its Gateway says: beside a cluster of HTTPProxies, its own objects."""

from __future__ import annotations

import json
import re
import socket
import ssl
from collections.abc import Mapping
from http.client import HTTPResponse
from pathlib import Path
from typing import Final

from tests.e2e.contour import HTTPS, NAMESPACE
from tests.e2e.contour_cluster import Cluster, served
from tests.e2e.control_plane import ControlPlane

TOLD: Final = f"""enableExternalNameService: true
gateway: {{gatewayRef: {{namespace: {NAMESPACE}, name: edge}}}}
tls: {{minimum-protocol-version: "1.3"}}
"""
_HERE: Final = Path(__file__).parent
_PLACES: Final = re.compile(r"\bkind: (?:Service|ConfigMap|Pod)\b")


def text() -> str:
    """All objects: where Envoy and the pods are, and what the Gateway and its routes are."""
    places = filter(_PLACES.search, (_HERE / "contour_cluster.yaml").read_text().split("---\n"))
    return "---\n".join((*places, (_HERE / "contour_gateway_cluster.yaml").read_text()))


class GatewayCluster(Cluster):
    """Its Contour has one Gateway and no HTTPProxies."""

    def __init__(self, plane: ControlPlane, directory: Path) -> None:
        super().__init__(plane, directory, text(), TOLD)

    def change(self, text: str, kind: str, name: str) -> None:
        """Give an object the spec that ``text`` has for it; its status stays."""
        (item,) = (each for each in self.objects(text) if (each["kind"], each["metadata"]["name"]) == (kind, name))
        writer, merged = self.contour.writer, {"Content-Type": "application/merge-patch+json"}
        path = f"{writer.path(item)}/{name}"
        response = writer.client.patch(path, content=json.dumps({"spec": item["spec"]}), headers=merged)
        assert response.is_success, response.text

    def until_served(self, expected: Mapping[str, str | None]) -> None:
        """Wait until Envoy shows, for each server name, a certificate with that first name; None: it shows none."""
        self.contour.until(lambda: {name: served(self.contour, name) for name in expected} == expected)

    def until_answered(self, name: str, status: int) -> None:
        """Wait until a request for this host, through Envoy, is answered so."""
        self.contour.until(lambda: self._answer(name) == status)

    def _answer(self, name: str) -> int | None:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        try:
            tcp = socket.create_connection((self.contour.address, HTTPS), timeout=10)
            with tcp, context.wrap_socket(tcp, server_hostname=name) as tls:
                tls.sendall(f"GET / HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n".encode())
                with HTTPResponse(tls) as response:
                    response.begin()
                    return response.status
        except OSError:
            return None

    def reasons(self, listener: str) -> set[str]:
        """Of the conditions of a listener that are False."""
        (found,) = (each for each in self.read("Gateway", "edge")["status"]["listeners"] if each["name"] == listener)
        return {each["reason"] for each in found["conditions"] if each["status"] == "False"}
