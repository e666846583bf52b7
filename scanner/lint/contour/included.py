"""Which HTTPProxies bring which routes onto their hosts, through includes of includes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeVar

from scanner.kube.kinds import HTTP_PROXY
from scanner.kube.objects import KubeObject
from scanner.lint.contour.uses import TLS, VHOST
from scanner.model.contour_includes import includes
from scanner.model.declared import Declared, Identity, Missing, identity

T = TypeVar("T")

_MOST: Final = 20
"""Roots of one object, and objects below one, that are told: all of both would grow with the square of either."""


def has_tls(proxy: KubeObject) -> bool:
    """Whether it is a root with TLS, so that Contour leads its routes to TLS and those that it includes."""
    return bool(proxy.fields(*TLS).raw)


def roots_of(declared: Declared, proxy: KubeObject) -> list[KubeObject]:
    """The first roots with TLS that include ``proxy``, or what includes it."""
    return declared.once(_roots).get(identity(proxy), [])


def unlooked_below(declared: Declared, included: Identity) -> list[KubeObject | Missing]:
    """The first of what is included, itself and below, that no rule looks at for its own sake: objects of the cluster
    that have a route without TLS, and those that may exist."""
    return declared.once(_unlooked).get(included, [])


def _roots(declared: Declared) -> Mapping[Identity, list[KubeObject]]:
    below: dict[Identity, list[Identity]] = {}
    for proxy in declared.every(HTTP_PROXY):
        below[identity(proxy)] = [
            found for found, each in _included(declared, proxy) if not isinstance(each, Missing) and not _is_root(each)
        ]
    roots = ((identity(each), each) for each in declared.every(HTTP_PROXY) if has_tls(each))
    return _reached(roots, lambda each: below.get(each, []))


def _unlooked(declared: Declared) -> Mapping[Identity, list[KubeObject | Missing]]:
    above: dict[Identity, list[Identity]] = {}
    found: dict[Identity, KubeObject | Missing] = {}
    given = frozenset(identity(each.object) for each in declared.given)
    for proxy in declared.every(HTTP_PROXY):
        for place, each in _included(declared, proxy):
            above.setdefault(place, []).extend([] if _is_root(proxy) else [identity(proxy)])
            if each.gap if isinstance(each, Missing) else place not in given and _is_open(each):
                found[place] = each
    return _reached(found.items(), lambda each: above.get(each, []))


def _included(declared: Declared, proxy: KubeObject) -> Iterator[tuple[Identity, KubeObject | Missing]]:
    for each in includes(proxy):
        found = (HTTP_PROXY, each.namespace, each.name)
        yield found, declared.find(HTTP_PROXY, each.name, each.namespace)


def _is_open(proxy: KubeObject) -> bool:
    return not _is_root(proxy) and any(route.flag("permitInsecure") for route in proxy.each("spec", "routes"))


def _is_root(proxy: KubeObject) -> bool:
    """A root is served under its own name, and not where it is included."""
    return proxy.has(*VHOST)


def _reached(
    starts: Iterable[tuple[Identity, T]], following: Callable[[Identity], Iterable[Identity]]
) -> Mapping[Identity, list[T]]:
    """Of each object the first from which it is reached."""
    found: dict[Identity, list[T]] = defaultdict(list)
    for start, told in starts:
        waiting = [start]
        while waiting:
            each = waiting.pop()
            known = found[each]
            if len(known) < _MOST and not (known and known[-1] is told):  # the last: one start after the other
                known.append(told)
                waiting += following(each)
    return found
