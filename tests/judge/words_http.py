"""Words of examples for what is served beside a handshake under the listener's own name: certificates as they are
sent, other names, and answers in HTTP."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from scanner.kube.maybe import Unknown
from scanner.model.observation import Answered, Reach, Stray
from tests.judge.described import certificate, chain
from tests.judge.drafts import Draft, Word


def _sent(draft: Draft, value: Iterable[Mapping[str, Any]]) -> None:
    """Leaf first."""
    draft.observation["chain"] = chain(value)


def _alert(draft: Draft, value: str) -> None:
    """It ends every handshake with this one."""
    draft.observation |= {"reach": Reach.REJECTED, "detail": f"alert {value}", "chain": Unknown(f"alert {value}")}


def _server_names(draft: Draft, value: Iterable[Mapping[str, Any]]) -> None:
    """Each with the alert, or with the certificate that it is answered with."""
    draft.observation["strays"] = tuple(_stray(**each) for each in value)


def _stray(*, name: str | None, alert: str = "", clientCertificate: Any = "none", **sent: Any) -> Stray:  # noqa: ANN401, N803 - words of examples
    if alert:
        return Stray(name=name, answer="refused")
    return Stray(name=name, answer="served", leaf=certificate(sent), client_certificate=clientCertificate)


def _without_tls(draft: Draft, value: Mapping[str, Any]) -> None:
    """The answer to a request without TLS; a redirect counts by where it leads."""
    draft.observation["cleartext"] = _first_line(**value).partition("://")[0]


def _port_80(draft: Draft, value: Mapping[str, Any]) -> None:
    draft.observation["plain_port"] = _first_line(**value)


def _first_line(*, status: int, location: str = "") -> str:
    return f"HTTP/1.1 {status}" + (f" to {location}" if location else "")


def _requests(draft: Draft, value: Iterable[Mapping[str, Any]]) -> None:
    """In HTTP/1.1, the one protocol that the listener agrees upon."""
    draft.observation |= {"answered": tuple(_answered(**each) for each in value), "alpn": "http/1.1"}


def _answered(*, serverName: str, host: str, status: int = 0, etag: str = "", alert: str = "") -> Answered:  # noqa: N803 - words of examples
    answer = Unknown(f"alert {alert}") if alert else f"{status}" + (f"; etag: {etag}" if etag else "")
    return Answered(server_name=serverName, authority=host, answer=answer)


HTTP: Mapping[str, Word] = {
    "sent": _sent,
    "alert": _alert,
    "serverNames": _server_names,
    "withoutTLS": _without_tls,
    "port80": _port_80,
    "requests": _requests,
}
