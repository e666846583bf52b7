"""Requests for one name on a connection for another, in HTTP/2, to servers that mind it and to those that do not."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import pytest

from scanner.kube.hostnames import NO_SUCH_NAME
from scanner.kube.maybe import Known
from scanner.model.observation import Attempt
from scanner.probe.dial import Where
from scanner.probe.exchange import Peer
from scanner.probe.http2 import heads
from tests.certs import Authority
from tests.zoo import envoy, golang, nginx, openssl
from tests.zoo.cases import PROGRAMS
from tests.zoo.certificates import Pki, make_pki
from tests.zoo.envoy import Chain
from tests.zoo.processes import Launch, free_address, program, serving

pytestmark = pytest.mark.zoo

HERE, OTHER = "here.example", "other.example"
STATUSES = {HERE: 200, OTHER: 202}


def by_nginx(pki: Pki, address: str, port: int, directory: Path, *, strict: bool) -> Launch:
    """nginx answers 421 where the other name's block verifies clients, and that of the connection is another."""
    own = f"ssl_certificate {pki.certificate('p256')}; ssl_certificate_key {pki.key('p256')};"
    verify = f"ssl_client_certificate {pki.authority}; ssl_verify_client optional;"
    nobodys = f"server {{ listen {address}:{port} ssl http2 default_server; {own} return 404; }}"
    own = f"{own} {verify if strict else ''}"
    listen = f"listen {address}:{port} ssl http2;"
    blocks = [f"server {{ {listen} server_name {name}; {own} return {status}; }}" for name, status in STATUSES.items()]
    return nginx.configured([nobodys, *blocks], directory)


def by_haproxy(pki: Pki, address: str, port: int, directory: Path, *, strict: bool) -> Launch:
    answer, asked = "  http-request return status", "if { req.hdr(host) -i %s }"
    rules = [f"{answer} {code} {asked % name}" for name, code in STATUSES.items()]
    minding = [f"{answer} 421 {asked % name} !{{ ssl_fc_sni {name} }}" for name in STATUSES]
    configuration = directory / "haproxy.cfg"
    configuration.write_text(
        "\n".join(
            [
                "defaults\n  mode http",
                *(f"  timeout {each} 10s" for each in ("client", "server", "connect")),
                f"frontend zoo\n  bind {address}:{port} ssl crt {pki.bundle('p256')} alpn h2,http/1.1",
                *(minding if strict else []),
                *rules,
                "  http-request return status 404\n",
            ]
        )
    )
    return Launch(argv=[program("haproxy") or "haproxy", "-db", "-f", str(configuration)], env=openssl.PLAIN)


def by_go(pki: Pki, address: str, port: int, directory: Path, *, strict: bool) -> Launch:
    listener: golang.Listener = {
        "address": f"{address}:{port}",
        "certificate": str(pki.certificate("p256")),
        "key": str(pki.key("p256")),
        "statuses": STATUSES,
        "strict": strict,
    }
    configuration = directory / "listeners.json"
    configuration.write_text(json.dumps([listener]))
    return Launch(argv=[str(golang.binary()), "-listeners", str(configuration)])


SERVERS: dict[Literal["nginx", "haproxy", "go"], Callable[..., Launch]] = {
    "nginx": by_nginx,
    "haproxy": by_haproxy,
    "go": by_go,
}


@pytest.mark.parametrize("strict", [False, True], ids=["lenient", "strict"])
@pytest.mark.parametrize("name", SERVERS)
async def test_what_each_gives(name: Literal["nginx", "haproxy", "go"], tmp_path: Path, *, strict: bool) -> None:
    if missing := PROGRAMS[name].missing():
        pytest.skip(missing)
    address, port = free_address()
    launch = SERVERS[name](make_pki(tmp_path), address, port, tmp_path, strict=strict)
    async with serving(launch, address, port, tmp_path / "log"):
        here = await statuses(address, port, HERE, [HERE, NO_SUCH_NAME, OTHER])
        there = await statuses(address, port, OTHER, [OTHER])
    nobodys = "421" if strict and name == "go" else "404"
    assert (here, there) == (["200", nobodys, "421" if strict else "202"], ["202"])


def leaving_nginx(pki: Pki, address: str, port: int, directory: Path) -> Launch:
    listen = f"listen {address}:{port} ssl http2; keepalive_requests 1;"
    own = f"ssl_certificate {pki.certificate('p256')}; ssl_certificate_key {pki.key('p256')};"
    blocks = [f"server {{ {listen} {own} server_name {name}; return {code}; }}" for name, code in STATUSES.items()]
    return nginx.configured(blocks, directory)


def leaving_envoy(_: Pki, address: str, port: int, directory: Path) -> Launch:
    credential = Authority("Envoy").leaf(names=tuple(STATUSES))
    chain = Chain(credential=credential, answers=STATUSES, alpn=("h2",), requests=1)
    return envoy.launch({f"{address}:{port}": [chain]}, directory)


@pytest.mark.parametrize(
    ("missing", "launch"),
    [(PROGRAMS["nginx"].missing, leaving_nginx), (envoy.missing, leaving_envoy)],
    ids=["nginx", "envoy"],
)
async def test_who_ends_the_connection_with_the_answer_has_answered(
    missing: Callable[[], str | None], launch: Callable[..., Launch], tmp_path: Path
) -> None:
    """Both say GOAWAY, Envoy before the answer."""
    if why := missing():
        pytest.skip(why)
    address, port = free_address()
    async with serving(launch(make_pki(tmp_path), address, port, tmp_path), address, port, tmp_path / "log"):
        assert await statuses(address, port, HERE, [HERE, OTHER], connections=2) == ["200", "202"]


async def statuses(
    address: str, port: int, server_name: str, names: Sequence[str], *, connections: int = 1
) -> list[str]:
    """In the order of ``names``."""
    peer = Peer(where=Where(address=address, port=port, timeout=20), server_name=server_name)
    attempts: list[Attempt] = []
    found: dict[str, Known[str]] = {}
    await heads(peer, names, attempts, found)
    assert len(attempts) == connections, attempts
    return [str(found[each]).partition(";")[0] for each in names]
