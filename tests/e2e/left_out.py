"""What examples of HTTPProxies leave out, and Contour wants: routes, Services and Secrets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tests.e2e.writing import Object
from tests.lint.examples import authority, leaf


def with_what_is_left_out(objects: Iterable[Object]) -> list[Object]:
    """The objects, HTTPProxies last and without the status that an example gives them, and what they refer to."""
    every = list(objects)
    proxies = [_routed(each) for each in every if each["kind"] == "HTTPProxy"]
    others = [each for each in every if each["kind"] != "HTTPProxy"]
    there = {_key(each) for each in others}
    for proxy in proxies:
        for each in (*_services(proxy), *_secrets(proxy)):
            if _key(each) not in there:
                there.add(_key(each))
                others.append(each)
    return [*others, *proxies]


def _key(item: Object) -> tuple[str, str, str]:
    return item["kind"], item["metadata"].get("namespace", "default"), item["metadata"]["name"]


def _routed(proxy: Object) -> Object:
    """With something to route to."""
    spec = dict(proxy["spec"])
    if not {"routes", "includes", "tcpproxy"} & spec.keys():
        to = {"services": [{"name": "left-out", "port": 80}]}
        passed = spec["virtualhost"].get("tls", {}).get("passthrough")
        spec |= {"tcpproxy": to} if passed else {"routes": [to]}
    return {**{key: value for key, value in proxy.items() if key != "status"}, "spec": spec}


def _backends(proxy: Object) -> Iterator[dict[str, Any]]:
    spec = proxy["spec"]
    for each in (*spec.get("routes", ()), spec.get("tcpproxy", {})):
        yield from each.get("services", ())


def _services(proxy: Object) -> Iterator[Object]:
    for each in _backends(proxy):
        spec = {"ports": [{"port": each["port"]}]}
        yield {"apiVersion": "v1", "kind": "Service", **_named(proxy, each["name"]), "spec": spec}


def _secrets(proxy: Object) -> Iterator[Object]:
    virtual = proxy["spec"].get("virtualhost", {})
    tls = virtual.get("tls", {})
    if tls.get("secretName"):
        made = leaf(virtual["fqdn"])
        pair = {"tls.crt": made.pem.decode(), "tls.key": made.key_pem.decode()}
        yield _secret(proxy, tls["secretName"], pair)
    for each in (tls.get("clientValidation", {}), *(each.get("validation", {}) for each in _backends(proxy))):
        if each.get("caSecret"):
            yield _secret(proxy, each["caSecret"], {"ca.crt": authority("clients").pem.decode()})


def _secret(proxy: Object, name: str, content: dict[str, str]) -> Object:
    return {"apiVersion": "v1", "kind": "Secret", **_named(proxy, name), "type": "Opaque", "stringData": content}


def _named(proxy: Object, text: str) -> Object:
    """``name`` or ``namespace/name``."""
    namespace, slash, name = text.partition("/")
    home = proxy["metadata"].get("namespace", "default")
    return {"metadata": {"name": name, "namespace": namespace} if slash else {"name": text, "namespace": home}}
