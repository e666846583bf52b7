"""Arguments of processes that name their listeners: static pods (kubeadm's, OpenShift's) and sidecar proxies.

Arguments may be shell scripts; only ``--name=value`` and ``--name value`` of known names are read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from scanner.discover.index import Index, Source
from scanner.discover.listener_claims import Claim, Found, PlacedClaim
from scanner.discover.truncation import Omission
from scanner.discover.workloads import Container, MemoisedByIdentity, Pod
from scanner.kube.hostnames import parse_address, port
from scanner.kube.objects import Reference
from scanner.model.endpoint import Certainty, Origin

MAX_TEXT = 1 << 16
"""Limit of characters of one container's arguments."""


class Bound(NamedTuple):
    """A listener in a flag."""

    port: int
    certainty: Certainty
    host: str
    """Bind address; empty if the flag has none."""


def _number(value: str, bind: str) -> Iterator[Bound]:
    number = port(value)
    if number:
        yield Bound(number, "declared", bind)


def _listen(certainty: Certainty) -> Callable[[str, str], Iterator[Bound]]:
    def read(value: str, bind: str) -> Iterator[Bound]:  # noqa: ARG001
        host, _, number = value.rpartition(":")
        found = port(number)
        if found:
            yield Bound(found, certainty, host.strip("[]"))

    return read


def _urls(value: str, bind: str) -> Iterator[Bound]:  # noqa: ARG001
    for each in value.split(","):
        scheme, _, rest = each.partition("://")
        host, _, number = rest.rstrip("/").rpartition(":")
        found = port(number)
        if found and scheme == "https":
            yield Bound(found, "declared", host.strip("[]"))


_FLAGS: dict[str, Callable[[str, str], Iterator[Bound]]] = {
    "secure-port": _number,  # k8s.io/apiserver SecureServingOptions; 0 switches it off
    "https-port": _number,
    "secure-listen-address": _listen("declared"),  # kube-rbac-proxy
    "metrics-bind-address": _listen("candidate"),  # controller-runtime: another flag decides about TLS
    "listen-client-urls": _urls,  # etcd
    "listen-peer-urls": _urls,
    "listen-metrics-urls": _urls,
    "listen-client-http-urls": _urls,
}
"""Flags that name a listener, and the parser of their value with ``--bind-address``."""

_BIND = "bind-address"
_WORD = re.compile(rf"(?:^|[\s'\"])--?({'|'.join((*_FLAGS, _BIND))})(?:=|\s+)[\"']?([^\s\"'\\]{{1,2048}})")


def _find(view: Index) -> Iterator[Found]:
    words_of = MemoisedByIdentity(_words)
    for pod in view.workloads.pods:
        for container, words, cut in words_of(pod.containers):
            if cut:
                yield Omission(
                    f"arguments of one container beyond {MAX_TEXT:,} characters: truncated, not read", cut=True
                )
            for bound, flag in _bounds(words):
                yield from view.of_pod(pod, bound.port, _claim(pod, container.name, bound, flag))
            yield from _probed(view, pod, container, words)


def _words(containers: tuple[Container, ...]) -> list[tuple[Container, list[tuple[str, str]], bool]]:
    """The flags of the containers that have any, and whether the arguments were truncated."""
    found = []
    for each in containers:
        text = "\n".join(each.raw.arguments)
        words, cut = _WORD.findall(text[:MAX_TEXT]) if "--" in text else [], len(text) > MAX_TEXT
        found += [(each, words, cut)] if words or cut else []
    return found


def _bounds(words: list[tuple[str, str]]) -> Iterator[tuple[Bound, str]]:
    last = dict(words)  # of a repeated flag, Go's packages (flag, pflag) use the last
    bind = last.get(_BIND, "")
    for name, value in last.items():
        read = _FLAGS.get(name)
        for bound in read(value, bind) if read else ():
            yield bound, name


def _probed(view: Index, pod: Pod, container: Container, words: list[tuple[str, str]]) -> Iterator[PlacedClaim]:
    """The listener of ``--bind-address=127.0.0.1`` without a port (kubeadm's controller manager and scheduler): the
    port is that of the container's liveness probe."""
    bind = dict(words).get(_BIND, "")
    request = container.raw.liveness_probe.http_get
    number = pod.port_number(request.port)
    if bind and number and request.scheme.upper() == "HTTPS":
        bound = Bound(number, "declared", bind)
        yield from view.of_pod(pod, number, _claim(pod, container.name, bound, _BIND))


def _claim(pod: Pod, container: str, bound: Bound, flag: str) -> Claim:
    reference = Reference(kind="Pod", name=pod.name, namespace=pod.namespace)
    return Claim(
        certainty=bound.certainty,
        origin=Origin(role="flag", reference=reference, container=container, part=flag),
        loopback=_loopback(pod, bound.host),
    )


def _loopback(pod: Pod, host: str) -> bool | None:
    """True if ``host`` is only reachable from its own node or pod; None if unknown."""
    found = parse_address(host)
    if str(found) in pod.addresses:
        return False  # a cluster on loopback addresses, as the demo is
    return (host == "localhost" or (found is not None and found.is_loopback)) if host else None


SOURCE = Source(name="flags", find=_find)
