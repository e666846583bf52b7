"""Names, numbers and protocols of ports that suggest TLS, or a protocol that upgrades to it."""

from __future__ import annotations

from functools import lru_cache

from scanner.kube.service import name_suggests_tls, protocol_suggests_tls
from scanner.model.endpoint import Certainty, Transport

WELL_KNOWN = frozenset(
    {443, 465, 636, 853, 989, 990, 993, 995, 2376, 4443, 5061, 5671, 5986, 6443, 6514, 8443, 8883, 9443}
    | {10250, 10257, 10259}
)
"""Ports that usually have TLS (IANA, and Kubernetes convention)."""

_STARTTLS_PORTS: dict[int, Transport] = {
    21: "ftp",
    25: "smtp",
    110: "pop3",
    143: "imap",
    389: "ldap",
    587: "smtp",
    3306: "mysql",
    5222: "xmpp",
    5269: "xmpp",
    5432: "postgres",
}
_STARTTLS_PROTOCOLS: dict[str, Transport] = {
    "ftp": "ftp",
    "imap": "imap",
    "ldap": "ldap",
    "mysql": "mysql",
    "pop3": "pop3",
    "postgres": "postgres",
    "postgresql": "postgres",
    "smtp": "smtp",
    "submission": "smtp",
    "xmpp": "xmpp",
    "xmpp-client": "xmpp",
    "xmpp-server": "xmpp",
}


@lru_cache(maxsize=4096)
def certainty(number: int, name: str, app_protocol: str) -> Certainty:
    """The certainty of TLS by a port's number, name and protocol."""
    if protocol_suggests_tls(app_protocol) or number in WELL_KNOWN or name_suggests_tls(name):
        return "hinted"
    return "candidate"


def is_plain(number: int, name: str) -> bool:
    """True if a port's number or name indicates plaintext HTTP."""
    return number == 80 or (name.startswith("http") and not name.startswith("https"))


def transport(number: int, app_protocol: str) -> Transport:
    """The start of TLS at a port, if no object declares TLS from the first byte."""
    return _STARTTLS_PROTOCOLS.get(app_protocol.lower()) or _STARTTLS_PORTS.get(number, "tls")
