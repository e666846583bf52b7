"""Declarations of an Ingress, against nginx as its controller."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from scanner.values import replace
from tests.certs import Authority, Credential
from tests.zoo import declared, openssl
from tests.zoo.declared import Told
from tests.zoo.processes import Launch, free_address, program, serving

pytestmark = pytest.mark.zoo

STORED, CHAIN, CLEARTEXT = "cert-stored", "cert-stored-chain", "tls-cleartext"
NAMES = ("one.example", "two.example")


@cache
def leaves() -> Mapping[str, Credential]:
    """Certificates of the Ingress's Secrets, by server name."""
    signer = Authority("Intermediate", issuer=Authority("Public"))
    return {name: signer.leaf(names=(name,)) for name in NAMES}


@cache
def fake() -> Credential:
    """The certificate of a controller without a configured one."""
    return Authority("Fake").leaf(names=("ingress.local",))


def launch(address: str, port: int, served: Mapping[str, Credential], directory: Path, directives: str = "") -> Launch:
    """A server block for each name, with these ``directives``, and one for all others."""
    if not program("nginx"):
        pytest.skip("not installed: nginx")
    blocks = []
    for name, credential in {"_": fake(), **served}.items():
        certificate, key = credential.write(directory, name)
        first = " default_server" if name == "_" else ""
        blocks.append(
            f"server {{ listen {address}:{port} ssl{first}; server_name {name};"
            f" ssl_certificate {certificate}; ssl_certificate_key {key}; {directives} location / {{ return 204; }} }}"
        )
    temporary = "".join(
        f"{kind}_temp_path {directory}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    configuration = directory / "nginx.conf"
    configuration.write_text(
        f"daemon off; worker_processes 1; pid {directory}/nginx.pid; error_log stderr;\n"
        f"events {{ worker_connections 256; }}\nhttp {{ access_log off; {temporary}\n" + "\n".join(blocks) + "\n}\n"
    )
    argv = [program("nginx") or "nginx", "-e", "stderr", "-p", str(directory), "-c", str(configuration)]
    return Launch(argv=argv, env=openssl.PLAIN)


async def told(directory: Path, served: Mapping[str, Credential], *, active_http: bool = False) -> Told:
    """The Ingress's Secrets are those of ``leaves``, whatever nginx serves."""
    address, port = free_address()
    secrets = [
        declared.secret(f"shop/{name.removesuffix('.example')}-tls", leaf.pem) for name, leaf in leaves().items()
    ]
    settings = replace(declared.SETTINGS, active_http=active_http)
    async with serving(launch(address, port, served, directory), address, port, directory / "log"):
        places = {"10.128.0.20": address, "18443": str(port)}
        return await declared.told("declared-ingress", directory, places, *secrets, settings=settings)


async def test_each_name_has_the_certificate_of_its_secret(tmp_path: Path) -> None:
    found = await told(tmp_path, leaves())
    for rule in (STORED, CHAIN):
        assert [found.verdict(name, rule) for name in NAMES] == ["pass", "pass"]
    assert found.verdict("one.example", CLEARTEXT) is None


async def test_a_name_with_the_controllers_fake_certificate_fails(tmp_path: Path) -> None:
    found = await told(tmp_path, {"one.example": leaves()["one.example"]})
    assert [found.verdict(name, STORED) for name in NAMES] == ["pass", "fail"]


async def test_a_name_without_its_intermediate_fails(tmp_path: Path) -> None:
    """The file that was made of the Secret has its first certificate alone."""
    found = await told(tmp_path, {**leaves(), "two.example": replace(leaves()["two.example"], issuers=())})
    assert [found.verdict(name, STORED) for name in NAMES] == ["pass", "pass"]
    assert [found.verdict(name, CHAIN) for name in NAMES] == ["pass", "fail"]
    assert found.rows["two.example"][CHAIN]["severity"] == "medium"


async def test_nginx_refuses_requests_without_tls_with_400(tmp_path: Path) -> None:
    found = await told(tmp_path, leaves(), active_http=True)
    assert found.verdict("one.example", CLEARTEXT) == "pass"


# --- client certificates: nginx completes every handshake, and refuses requests ------------------------------------

CLIENT, UNTRUSTED = "tls-client-certificate", "tls-untrusted-client"
_FABRIC = "error_page 495 496 = @refused; location @refused { return 444; }"
"""As NGINX Gateway Fabric's template has it: the connection is closed without an answer."""
ENFORCED = {
    "on": "ssl_verify_client on;",
    "fabric": f"ssl_verify_client on; {_FABRIC}",
    "by itself": "ssl_verify_client optional_no_ca; if ($ssl_client_verify != SUCCESS) { return 444; }",
}


async def gateway(directory: Path, directives: str, *, active_http: bool) -> Told:
    """A Gateway with ``AllowValidOnly``, behind nginx."""
    address, port = free_address()
    clients = directory / "clients.pem"
    clients.write_bytes(Authority("Clients").pem)
    launched = launch(address, port, leaves(), directory, f"ssl_client_certificate {clients}; {directives}")
    settings = replace(declared.SETTINGS, active_http=active_http)
    async with serving(launched, address, port, directory / "log"):
        places = {"10.128.0.20": address, "18443": str(port)}
        return await declared.told("declared-gateway", directory, places, settings=settings)


@pytest.mark.parametrize("directives", ENFORCED.values(), ids=ENFORCED)
async def test_nginx_that_verifies_clients_passes_where_requests_may_be_sent(tmp_path: Path, directives: str) -> None:
    found = await gateway(tmp_path, directives, active_http=True)
    for name in NAMES:
        assert [found.verdict(name, rule) for rule in (CLIENT, UNTRUSTED)] == ["pass", "pass"], found.rows[name]


@pytest.mark.parametrize("directives", ENFORCED.values(), ids=ENFORCED)
async def test_without_requests_nginx_is_inconclusive_and_never_a_violation(tmp_path: Path, directives: str) -> None:
    found = (await gateway(tmp_path, directives, active_http=False)).rows["one.example"]
    for rule in (CLIENT, UNTRUSTED):
        assert (found[rule]["verdict"], "--active-http" in found[rule]["message"]) == ("inconclusive", True), found


@pytest.mark.parametrize(
    ("directives", "verdicts"),
    [("ssl_verify_client optional_no_ca;", ["fail", "fail"]), ("ssl_verify_client optional;", ["fail", "pass"])],
    ids=["anybody", "nobody needs one"],
)
async def test_nginx_that_lets_clients_in_fails(tmp_path: Path, directives: str, verdicts: list[str]) -> None:
    found = await gateway(tmp_path, directives, active_http=True)
    assert [found.verdict("one.example", rule) for rule in (CLIENT, UNTRUSTED)] == verdicts, found.rows["one.example"]
    assert found.rows["one.example"][CLIENT]["evidence"] == [
        "a request without a client certificate is answered with 204"
    ]
