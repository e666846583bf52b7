"""A control plane on loopback: a real etcd that demands client certificates, and a real kube-apiserver before it.

Nothing else of a cluster: no kubelet, no controllers, no scheduler. What those would write (endpoints, statuses), the
tests write through the API.
"""

from __future__ import annotations

import csv
import json
import random
import secrets
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import Literal

import httpx2
import yaml

from scanner.demo.certificates import Authority, Credential
from tests.e2e.programs import running

SERVICE_NETWORK = "127.96.0.0/16"
"""Service addresses: on loopback, so that nothing here ever leads off this machine."""

ETCD_PORT, API_PORT, KUBELET_PORT = 2379, 6443, 10250
"""Where they are in every cluster, which is how they are known."""

SNI_NAME = "api.e2e.example"
"""The API server shows another certificate to who asks for this name."""

AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}

INTERMEDIATE = (
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
)
"""TLS 1.2 suites that the API server is told, as OpenShift's operator would. etcd is told none and takes Go's."""

USERS = {"admin": ("system:masters",), "nobody": ()}
"""Static tokens (``--token-auth-file``): name and groups. What others may do, each test grants itself."""


@dataclass(frozen=True, slots=True)
class Listener:
    """An address that speaks TLS."""

    address: str
    port: int

    @property
    def authority(self) -> str:
        return f"{self.address}:{self.port}"

    @property
    def url(self) -> str:
        return f"https://{self.authority}"


@dataclass(frozen=True, kw_only=True)
class ControlPlane:
    """A control plane that is running."""

    directory: Path
    etcd: Listener
    api: Listener
    etcd_authority: Authority
    api_authority: Authority
    client_authority: Authority
    kubelet_authority: Authority
    tokens: dict[str, str]
    service_account_key: Credential
    """Its key signs the tokens of service accounts."""
    audit_log: Path
    _clients: ExitStack = field(default_factory=ExitStack)

    @property
    def ca_file(self) -> Path:
        """What clients trust the API server by."""
        return self.directory / "api-ca.pem"

    def trust(self) -> ssl.SSLContext:
        """For clients of the API server."""
        return ssl.create_default_context(cadata=self.api_authority.pem.decode())

    def client(self, token: str | None) -> httpx2.Client:
        """A plain HTTP client of the API server, with ``token`` where given; closed with the control plane."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        client = httpx2.Client(base_url=self.api.url, verify=self.trust(), headers=headers, trust_env=False, timeout=30)
        return self._clients.enter_context(client)

    @cached_property
    def admin(self) -> httpx2.Client:
        """May do anything."""
        return self.client(self.tokens["admin"])

    def etcd_client(self) -> httpx2.Client:
        """etcd's JSON gateway, with a certificate that etcd accepts."""
        context = ssl.create_default_context(cadata=self.etcd_authority.pem.decode())
        context.load_cert_chain(self.directory / "etcd-client.pem", self.directory / "etcd-client.key")
        return self._clients.enter_context(
            httpx2.Client(base_url=self.etcd.url, verify=context, trust_env=False, timeout=30)
        )

    def kubeconfig(self, path: Path, user: Mapping[str, object], *, namespace: str = "default") -> Path:
        """Write one whose only context, ``e2e``, is ``user`` (the value of ``users[].user``) at this API server."""
        cluster = {"server": self.api.url, "certificate-authority": str(self.ca_file)}
        context = {"cluster": "e2e", "user": "someone", "namespace": namespace}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "e2e", "cluster": cluster}],
            "users": [{"name": "someone", "user": dict(user)}],
            "contexts": [{"name": "e2e", "context": context}],
            "current-context": "e2e",
        }
        path.write_text(yaml.safe_dump(document))
        return path

    def audited(self) -> list[dict[str, object]]:
        """Every request of adhere's so far, as the API server recorded it (audit.k8s.io/v1 Event).

        It writes its record when an answer is already on its way, so this asks for something and waits for that. Its
        own watches and lists, which end and begin whenever they like, are left out.
        """
        mark = f"/version?mark={secrets.token_hex(8)}"
        self.admin.get(mark)
        until = time.monotonic() + 20
        while mark not in (text := self.audit_log.read_text()):
            assert time.monotonic() < until, f"the API server never recorded {mark}"
            time.sleep(0.02)
        events = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
        return [each for each in events if str(each.get("userAgent")).startswith("adhere/")]

    def compact(self) -> None:
        """Let etcd forget everything but what is there now (etcd API v3, KV.Compact)."""
        etcd = self.etcd_client()
        answer = etcd.post("/v3/kv/range", json={"key": "AA==", "range_end": "AA==", "count_only": True})
        revision = answer.json()["header"]["revision"]
        assert etcd.post("/v3/kv/compaction", json={"revision": revision, "physical": True}).is_success

    def close(self) -> None:
        """End the clients' connections."""
        self._clients.close()


def free_address(*ports: int) -> str:
    """A loopback address of our own, drawn from all of 127.0.0.0/8, where these ports were free a moment ago."""
    draw = random.SystemRandom()
    while True:
        address = f"127.{draw.randrange(1, 80)}.{draw.randrange(256)}.{draw.randrange(1, 255)}"
        with ExitStack() as stack, suppress(OSError):
            for port in ports:
                stack.enter_context(socket.socket()).bind((address, port))
            return address


@contextmanager
def control_plane(programs: Path, directory: Path, *, service_network: str = SERVICE_NETWORK) -> Iterator[ControlPlane]:
    """Start both servers in ``directory``, and end them with the block. Raises ``DidNotStartError``."""
    plane = ControlPlane(
        directory=directory,
        etcd=Listener(free_address(ETCD_PORT, ETCD_PORT + 1), ETCD_PORT),
        api=Listener(free_address(API_PORT), API_PORT),
        etcd_authority=Authority("etcd CA"),
        api_authority=Authority("API CA", key="rsa2048"),
        client_authority=Authority("Client CA"),
        kubelet_authority=Authority("Kubelet CA"),
        tokens={name: secrets.token_urlsafe(24) for name in USERS},
        service_account_key=Authority("unused").leaf(names=("service-accounts",), key="rsa2048"),
        audit_log=directory / "audit.log",
    )
    _write_files(plane)
    with ExitStack() as stack:
        stack.callback(plane.close)
        api_server = [*_kube_apiserver(programs, plane), f"--service-cluster-ip-range={service_network}"]
        for name, argv, client, path in (
            ("etcd", _etcd(programs, plane), plane.etcd_client(), "/health"),
            (
                "kube-apiserver",
                api_server,
                plane.admin,
                "/readyz",
            ),
        ):
            stack.enter_context(running(argv, directory / f"{name}.log", partial(answers, client, path)))
        yield plane


def answers(client: httpx2.Client, path: str) -> bool:
    """Whether a program is there, and says that it is ready."""
    try:
        return client.get(path).status_code == 200
    except httpx2.TransportError:
        return False


def _write_files(plane: ControlPlane) -> None:
    files = plane.directory
    both: tuple[Literal["serverAuth", "clientAuth"], ...] = ("serverAuth", "clientAuth")
    later = datetime.now(UTC) + timedelta(days=365)
    plane.etcd_authority.leaf(names=(plane.etcd.address, "localhost"), eku=both).write(files, "etcd-server")
    plane.etcd_authority.leaf(names=("kube-apiserver",), eku=("clientAuth",)).write(files, "etcd-client")
    api_names = (plane.api.address, "kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost")
    plane.api_authority.leaf(names=api_names, key="rsa2048", not_after=later).write(files, "api-server")
    plane.api_authority.leaf(names=(SNI_NAME,)).write(files, "api-sni")
    plane.kubelet_authority.leaf(names=("kube-apiserver-kubelet-client",), eku=("clientAuth",)).write(
        files, "kubelet-client"
    )
    plane.service_account_key.write(files, "service-accounts")
    for name, authority in (
        ("etcd-ca", plane.etcd_authority),
        ("api-ca", plane.api_authority),
        ("client-ca", plane.client_authority),
        ("kubelet-ca", plane.kubelet_authority),
    ):
        (files / f"{name}.pem").write_bytes(authority.pem)
    (files / "audit-policy.yaml").write_text(yaml.safe_dump(AUDIT_POLICY))
    with (files / "tokens.csv").open("w", newline="") as opened:
        rows = csv.writer(opened)
        rows.writerows((plane.tokens[name], name, name, ",".join(groups)) for name, groups in USERS.items())


def _flags(values: dict[str, str | Path]) -> list[str]:
    return [f"--{name}={value}" for name, value in values.items()]


def _etcd(programs: Path, plane: ControlPlane) -> list[str]:
    files = plane.directory
    peers = f"https://{plane.etcd.address}:{plane.etcd.port + 1}"
    return [
        str(programs / "etcd"),
        *_flags(
            {
                "data-dir": files / "etcd",
                "listen-client-urls": plane.etcd.url,
                "advertise-client-urls": plane.etcd.url,
                "cert-file": files / "etcd-server.pem",
                "key-file": files / "etcd-server.key",
                "client-cert-auth": "true",
                "trusted-ca-file": files / "etcd-ca.pem",
                "listen-peer-urls": peers,
                "initial-advertise-peer-urls": peers,
                "initial-cluster": f"default={peers}",
                "peer-cert-file": files / "etcd-server.pem",
                "peer-key-file": files / "etcd-server.key",
                "peer-client-cert-auth": "true",
                "peer-trusted-ca-file": files / "etcd-ca.pem",
                "unsafe-no-fsync": "true",
                "log-level": "warn",
            }
        ),
    ]


def _kube_apiserver(programs: Path, plane: ControlPlane) -> list[str]:
    files = plane.directory
    return [
        str(programs / "kube-apiserver"),
        *_flags(
            {
                "etcd-servers": plane.etcd.url,
                "etcd-cafile": files / "etcd-ca.pem",
                "etcd-certfile": files / "etcd-client.pem",
                "etcd-keyfile": files / "etcd-client.key",
                "bind-address": plane.api.address,
                "advertise-address": plane.api.address,
                "secure-port": str(plane.api.port),
                # The kubernetes Service's EndpointSlice would name our address, and none may name loopback.
                "endpoint-reconciler-type": "none",
                "tls-cert-file": files / "api-server.pem",
                "tls-private-key-file": files / "api-server.key",
                "tls-sni-cert-key": f"{files / 'api-sni.pem'},{files / 'api-sni.key'}",
                "tls-min-version": "VersionTLS12",
                "tls-cipher-suites": ",".join(INTERMEDIATE),
                "client-ca-file": files / "client-ca.pem",
                "token-auth-file": files / "tokens.csv",
                "authorization-mode": "RBAC",
                "kubelet-client-certificate": files / "kubelet-client.pem",
                "kubelet-client-key": files / "kubelet-client.key",
                "kubelet-certificate-authority": files / "kubelet-ca.pem",
                # Not by name first: that would ask a DNS server, off this machine.
                "kubelet-preferred-address-types": "InternalIP",
                "service-account-issuer": "https://kubernetes.default.svc",
                "service-account-key-file": files / "service-accounts.pem",
                "service-account-signing-key-file": files / "service-accounts.key",
                # There is no controller that makes every namespace's default service account.
                "disable-admission-plugins": "ServiceAccount",
                "audit-policy-file": files / "audit-policy.yaml",
                "audit-log-path": plane.audit_log,
                # A page of a list may come from a copy that outlives etcd's compaction; without it, 410 can be seen.
                "feature-gates": "ListFromCacheSnapshot=false",
                "v": "1",
            }
        ),
    ]
