"""The dial scope: where a scan may connect to, whatever the cluster's objects say.

A tenant can write a Route, an EndpointSlice or a webhook that points anywhere, and the scanner's pod is let through
NetworkPolicies. So what comes from cluster objects is dialled only at the cluster's own and published addresses.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from socket import AF_INET, inet_pton

from scanner.model.endpoint import Owner

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Published = tuple[Address, int, Owner]
"""An address and a port that are open to one owner's listeners: the object that published them."""

METADATA = frozenset(
    map(ip_address, ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254"))
)
"""Metadata services that are not link-local: Alibaba, Azure, Oracle, and IPv6 at AWS and Google."""
_NAT64 = IPv6Network("64:ff9b::/96")
"""IPv4 addresses for hosts that have IPv6 only (RFC 6052)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DialScope:
    """Addresses that belong to the cluster."""

    networks: tuple[Network, ...] = ()
    """Of pods and services."""
    addresses: frozenset[Address] = frozenset()
    """Of nodes and pods."""
    published: frozenset[Published] = frozenset()
    """Of Services, Ingresses, gateways, the API server: what each says of itself."""
    external: bool = False
    """``--allow-external``: others too, but never link-local and the like."""
    loopback: bool = False
    """``--allow-loopback``: loopback addresses of the above are dialled, because the cluster is on this machine."""

    def refusal(self, address: str, port: int | None = None, owner: Owner | None = None) -> str | None:
        """Why ``address`` (of an object, or what its name resolved to) is not dialled, or None if it may be.

        ``port`` and ``owner`` of the listener: what is published is open to whom published it alone.
        """
        meant = _parsed(address)
        if meant is None:
            return "not an IP address"
        if isinstance(meant, IPv6Address):
            meant = IPv4Address(int(meant) & 0xFFFFFFFF) if meant in _NAT64 else meant.ipv4_mapped or meant
        if meant.is_loopback and not self.loopback:
            return "a loopback address would be the scanner's own (--allow-loopback if the cluster is on this machine)"
        if meant.is_link_local or meant.is_multicast or meant.is_unspecified or meant in METADATA:
            return "link-local and multicast addresses are never dialled: cloud metadata services are there"
        if self.external or meant in self.addresses or any(meant in network for network in self.networks):
            return None
        if port is not None and owner is not None and (meant, port, owner) in self.published:
            return None
        return (
            "it is not the cluster's: neither a pod, service or node address nor a published one "
            "(--allow-external if you mean it)"
        )


def _parsed(address: str) -> Address | None:
    """The IP address, without the zone of one that is link-local, or None."""
    try:
        # Of IPv4 both take four decimal numbers without leading zeros and nothing else; the C library is faster.
        return ip_address(address.partition("%")[0]) if ":" in address else IPv4Address(inet_pton(AF_INET, address))
    except (ValueError, OSError):
        return None
