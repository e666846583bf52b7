"""Names to addresses."""

from __future__ import annotations

import socket
from ipaddress import ip_address

import trio

SECONDS = 10.0
"""For one name."""


class NotResolved(Exception):
    """The name has no address, or nobody said; the text says which."""


async def addresses(host: str, port: int) -> tuple[str, ...]:
    """The IP addresses of ``host``, each once, in the resolver's order; an address is returned as it is.

    Each address of a name is a listener of its own: judging one of them says nothing of the others. Raises
    ``NotResolved``.
    """
    try:
        ip_address(host)
    except ValueError:
        return await _look_up(host, port)
    return (host,)


async def _look_up(host: str, port: int) -> tuple[str, ...]:
    try:
        with trio.fail_after(SECONDS):
            found = await trio.socket.getaddrinfo(
                host, port, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG | socket.AI_NUMERICSERV
            )
    except trio.TooSlowError:
        raise NotResolved("the resolver did not answer") from None
    except (OSError, UnicodeError) as error:
        raise NotResolved(f"the name does not resolve ({getattr(error, 'strerror', None) or error})") from None
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))
