"""Ways into a real API server: client certificates, rotated service account tokens, plugins, and none of them."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from scanner.cluster import Access, access, read
from scanner.errors import ScannerError
from scanner.kube import kinds
from tests.e2e.accounts import Account, account, reading
from tests.e2e.control_plane import ControlPlane
from tests.e2e.writing import Writer

PLUGIN = """\
import json, pathlib, sys
calls = pathlib.Path(sys.argv[1])
numbers = len(calls.read_text().splitlines()) if calls.exists() else 0
with calls.open("a") as file:
    print(json.dumps(__import__("os").environ["KUBERNETES_EXEC_INFO"]), file=file)
statuses = json.loads(pathlib.Path(sys.argv[2]).read_text())
status = statuses[min(numbers, len(statuses) - 1)]
print(json.dumps({"apiVersion": sys.argv[3], "kind": "ExecCredential", "status": status}))
"""
"""Gives the first of its statuses at the first call, the last for ever, and keeps what it was told."""


@pytest.fixture(scope="module")
def reader(cluster: ControlPlane, writer: Writer) -> Account:
    """May read nodes."""
    return account(cluster, writer, [reading("", "nodes")])


async def nodes(at: Access) -> int:
    """How many there are for whoever comes by ``at``; forbidden or failed counts as a failure."""
    snapshot = await read(at, [kinds.NODE])
    assert snapshot.unreadable == {}
    return len(snapshot.every(kinds.NODE))


async def test_a_client_certificate_is_who_it_says(cluster: ControlPlane, writer: Writer, tmp_path: Path) -> None:
    leaf = cluster.client_authority.leaf(names=(), common_name="certified", eku=("clientAuth",))
    certificate, key = leaf.write(tmp_path, "client")
    kubeconfig = cluster.kubeconfig(tmp_path / "c", {"client-certificate": str(certificate), "client-key": str(key)})
    snapshot = await read(access(str(kubeconfig)), [kinds.NODE])
    assert 'User "certified" cannot list resource "nodes"' in snapshot.unreadable[kinds.NODE].reason


async def test_a_pod_reads_its_own_cluster(cluster: ControlPlane, reader: Account, tmp_path: Path) -> None:
    assert await nodes(in_pod(cluster, tmp_path, reader.token().value)) == 2


async def test_a_token_that_was_rotated_is_read_again(
    cluster: ControlPlane, reader: Account, writer: Writer, tmp_path: Path
) -> None:
    """The first is bound to an object that is gone, so the API server refuses it well before it expires."""
    at = in_pod(cluster, tmp_path, reader.void_token(writer))
    await at.source.credential()  # now it is the one that would be used for a minute
    before = len(cluster.audited())
    (tmp_path / "token").write_text(reader.token().value)
    assert await nodes(at) == 2
    codes = [each["responseStatus"]["code"] for each in cluster.audited()[before:]]  # type: ignore[index]
    assert codes.count(401) == 1


async def test_a_refused_token_ends_the_reading_with_one_clear_error(
    cluster: ControlPlane, reader: Account, writer: Writer, tmp_path: Path
) -> None:
    token = reader.void_token(writer)
    with pytest.raises(ScannerError) as told:
        await read(in_pod(cluster, tmp_path, token), [kinds.NODE])
    assert "Unauthorized" in str(told.value) or "401" in str(told.value)
    assert token not in f"{told.value}{told.value.hint}"


def in_pod(plane: ControlPlane, directory: Path, token: str) -> Access:
    """Access as a pod has it, with the directory that its kubelet would mount."""
    (directory / "ca.crt").write_bytes(plane.api_authority.pem)
    (directory / "token").write_text(token)
    variables = {
        "KUBERNETES_SERVICE_HOST": plane.api.address,
        "KUBERNETES_SERVICE_PORT": str(plane.api.port),
        "HOME": str(directory),
    }
    return access(environment=variables, service_account=directory)


@dataclass(frozen=True)
class Plugin:
    """A credential plugin and what it was asked."""

    at: Access
    calls: Path

    def told(self) -> list[dict[str, object]]:
        """KUBERNETES_EXEC_INFO of every call."""
        return [json.loads(json.loads(line)) for line in self.calls.read_text().splitlines()]


def plugin(plane: ControlPlane, directory: Path, version: str, *statuses: dict[str, str]) -> Plugin:
    """Access by a plugin that gives ``statuses`` one after the other."""
    script, calls, given = directory / "plugin.py", directory / "calls", directory / "statuses.json"
    script.write_text(PLUGIN)
    given.write_text(json.dumps(statuses))
    user = {
        "exec": {
            "apiVersion": version,
            "command": sys.executable,
            "args": [str(script), str(calls), str(given), version],
            "interactiveMode": "Never",
            "provideClusterInfo": True,
        }
    }
    return Plugin(access(str(plane.kubeconfig(directory / "kubeconfig", user))), calls)


@pytest.mark.parametrize("version", ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"])
async def test_a_plugins_token_is_used_until_it_expires(
    cluster: ControlPlane, reader: Account, tmp_path: Path, version: str
) -> None:
    token = reader.token()
    asked = plugin(cluster, tmp_path, version, {"token": token.value, "expirationTimestamp": token.expires})
    assert await nodes(asked.at) == 2
    assert await nodes(asked.at) == 2
    (told,) = asked.told()
    assert told["apiVersion"] == version
    assert told["spec"]["cluster"]["server"] == cluster.api.url  # type: ignore[index]


async def test_a_plugin_is_called_again_when_its_token_has_expired(
    cluster: ControlPlane, reader: Account, tmp_path: Path
) -> None:
    expired = {"token": "was-good-once", "expirationTimestamp": "2020-01-01T00:00:00Z"}
    fresh = reader.token()
    asked = plugin(
        cluster, tmp_path, "client.authentication.k8s.io/v1",
        expired, {"token": fresh.value, "expirationTimestamp": fresh.expires},
    )  # fmt: skip
    assert await nodes(asked.at) == 2
    assert len(asked.told()) == 2


async def test_a_plugin_is_called_again_when_its_token_is_refused(
    cluster: ControlPlane, reader: Account, writer: Writer, tmp_path: Path
) -> None:
    asked = plugin(
        cluster, tmp_path, "client.authentication.k8s.io/v1",
        {"token": reader.void_token(writer)}, {"token": reader.token().value},
    )  # fmt: skip
    assert await nodes(asked.at) == 2
    assert len(asked.told()) == 2
