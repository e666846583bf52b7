"""The dial scope: the addresses to which a scan may connect, whatever the cluster's objects say.

A tenant can write a Route, an EndpointSlice or a webhook with any address, and NetworkPolicies allow the scanner's pod.
So addresses from objects are dialled only if they belong to the cluster, or if it publishes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from msgspec import Struct

from scanner.kube.hostnames import parse_zoned_address
from scanner.model.endpoint import Owner

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Published = tuple[Address, int, Owner]
"""An address and port for the listeners of one owner, the object that published them."""

METADATA = frozenset(
    map(ip_address, ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254"))
)
"""Metadata services that are not link-local: Alibaba, Azure, Oracle, and IPv6 at AWS and Google."""
_STANDS_FOR = (IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96"))
"""IPv6 notations of IPv4 addresses (RFC 4291, section 2.5.5.2), and NAT64 (RFC 6052)."""
_LOCAL_NAT64 = IPv6Network("64:ff9b:1::/48")
"""NAT64 with a prefix of the network's operator (RFC 8215)."""
_EMBEDS = (
    (IPv6Network("::/96"), 0),  # IPv4-compatible (RFC 4291, section 2.5.5.1)
    (IPv6Network("::ffff:0:0:0/96"), 0),  # IPv4-translated (RFC 2765, section 2.1)
    (IPv6Network("2002::/16"), 80),  # 6to4 (RFC 3056, section 2)
    (IPv6Network("2001::/32"), 64),  # Teredo's server (RFC 4380, section 4); its client is inverted
)
"""IPv6 networks through which a gateway or the kernel sends to an embedded IPv4 address, with its distance in bits
from the end."""
_ISATAP = 0x5EFE
"""The first half of an interface identifier whose other half is an IPv4 address (RFC 5214, section 6.1)."""


class DialScope(Struct, frozen=True, kw_only=True):
    """Addresses of the cluster."""

    networks: tuple[Network, ...] = ()
    """Networks of pods and services."""
    addresses: frozenset[Address] = frozenset()
    """Addresses of nodes and pods."""
    published: frozenset[Published] = frozenset()
    """Addresses that Services, Ingresses, gateways and the API server publish, each for itself."""
    external: bool = False
    """``--allow-external``: also other addresses, but never link-local and similar ones."""
    loopback: bool = False
    """``--allow-loopback``: also loopback addresses of the cluster, which runs on this machine."""

    def refusal(self, address: str, port: int | None = None, owner: Owner | None = None) -> str | None:
        """The reason why ``address`` (of an object, or resolved from its name) is not dialled, or None if it may be.

        ``port`` and ``owner`` of the listener: a published address is only for its owner.
        """
        meant = parse_zoned_address(address)
        if meant is None:
            return "not an IP address"
        if isinstance(meant, IPv6Address) and any(meant in network for network in _STANDS_FOR):
            meant = IPv4Address(int(meant) & 0xFFFFFFFF)
        inside = tuple(_embedded(meant)) if isinstance(meant, IPv6Address) else ()
        if any(each.is_loopback for each in (meant, *inside)) and not self.loopback:
            return "a loopback address would be the scanner's own (--allow-loopback if the cluster is on this machine)"
        forbidden = any(each.is_link_local or each in METADATA for each in (meant, *inside))
        if forbidden or meant.is_multicast or meant.is_unspecified:
            return "link-local and multicast addresses are never dialled: cloud metadata services are there"
        if self.external or meant in self.addresses or any(meant in network for network in self.networks):
            return None
        if port is not None and owner is not None and (meant, port, owner) in self.published:
            return None
        return "no pod, Service, node or load balancer of the cluster has this address (--allow-external dials it)"


def _embedded(address: IPv6Address) -> Iterator[IPv4Address]:
    """All IPv4 addresses at which a connection to ``address`` may end."""
    bits = int(address)
    found = [bits >> shift for network, shift in _EMBEDS if address in network]
    if address in _EMBEDS[-1][0]:
        found.append(~bits)
    if address in _LOCAL_NAT64:  # RFC 6052, section 2.2: for prefixes of 96, 64, 56 and 48 bits, around bits 64 to 71
        found += [bits, bits >> 24, bits >> 64 << 24 | bits >> 32 & 0xFFFFFF, bits >> 64 << 16 | bits >> 40 & 0xFFFF]
    if bits >> 32 & 0xFDFFFFFF == _ISATAP:
        found.append(bits)
    return (IPv4Address(each & 0xFFFFFFFF) for each in found)
