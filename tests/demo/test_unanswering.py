"""Closed and filtered ports, also where the system cannot play them. On Linux: ``tests/test_servers.py`` as well."""

from __future__ import annotations

import errno
import socket

import pytest

from scanner.demo.unanswering import closed_port, filtered_port


def test_a_closed_port_stays_ours() -> None:
    with closed_port("127.0.0.7") as sockaddr, socket.socket() as other:
        assert sockaddr[0] == "127.0.0.7"
        with pytest.raises(OSError, match="in use"):
            other.bind(sockaddr)


def test_nothing_is_filtered_where_a_full_queue_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    class Answering(socket.socket):
        """As on a system that answers every SYN."""

        def listen(self, backlog: int = 0, /) -> None:
            super().listen(64)

    monkeypatch.setattr(socket, "socket", Answering)
    with filtered_port() as sockaddr:
        assert sockaddr is None


def test_nothing_is_filtered_where_a_connect_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket.socket, "connect_ex", lambda _self, _address: errno.ECONNREFUSED, raising=False)
    with filtered_port() as sockaddr:
        assert sockaddr is None


def test_only_127_0_0_1_where_the_system_has_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    class LikeMacos(socket.socket):
        """Has one loopback address."""

        def bind(self, address: tuple[str, int], /) -> None:  # type: ignore[override]
            if address[0] != "127.0.0.1":
                raise OSError(errno.EADDRNOTAVAIL, "Can't assign requested address")
            super().bind(address)

    monkeypatch.setattr(socket, "socket", LikeMacos)
    with closed_port("127.0.0.7") as sockaddr:
        assert sockaddr[0] == "127.0.0.1"
