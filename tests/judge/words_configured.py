"""Objects in examples, as the words that say the same: what an example's listener is configured with.

An example may begin with objects and a policy file, each a document with a ``kind``. ``words`` reads the fields that
decide something for a listener. ``test_examples`` applies the rules on fields to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

Object: TypeAlias = Mapping[str, Any]
Words: TypeAlias = dict[str, Any]


def words(objects: Iterable[Object], observed: Words) -> Words:
    """The words of several objects, beside those of what is ``observed``. Raises ``KeyError`` for an unknown kind."""
    found: Words = {}
    for each in objects:
        for word, value in _KINDS[each["kind"]](each, observed).items():
            found[word] = found[word] | value if isinstance(found.get(word), dict) else value
    return found


def _name(each: Object) -> str:
    metadata = each["metadata"]
    return "/".join(filter(None, (each["kind"], metadata.get("namespace"), metadata["name"])))


def _policy(each: Object, observed: Words) -> Words:
    found = {word: each[word] for word in ("thresholds", "require") if word in each}
    for override in each.get("overrides", ()):
        texts = {word: override[word] for word in ("profile", "justification")}
        found["override"] = {"listener": observed.pop("role"), **texts}
    return found


def _route(each: Object, observed: Words) -> Words:
    found: Words = {}
    if policy := each["spec"]["tls"].get("insecureEdgeTerminationPolicy"):
        found["insecureEdgeTerminationPolicy"] = policy
    if each["spec"].get("wildcardPolicy") == "Subdomain":
        found["subdomain"] = {"object": _name(each), "name": observed["serverNames"][0]["name"]}
    return found


def _gateway(each: Object, observed: Words) -> Words:
    found: Words = {}
    tls = each["spec"].get("tls", {})
    if "status" in each:
        found["conditions"] = [
            {word: condition[word] for word in ("type", "status", "reason")}
            for listener in each["status"]["listeners"]
            for condition in listener["conditions"]
        ]
    elif "serverNames" in observed:
        word = "clientsValidated" if "frontend" in tls else "notServed"
        found[word] = {"name": observed["serverNames"][0]["name"], "object": _name(each)}
    else:
        ref = tls.get("backend", {}).get("clientCertificateRef")
        secret = (
            {} if ref is None else {"clientCertificateRef": f"Secret/{each['metadata']['namespace']}/{ref['name']}"}
        )
        found["calledBy"] = {"gateway": _name(each), **secret}
    return found


def _backend_policy(each: Object, _: Words) -> Words:
    roots = each["spec"]["validation"].get("wellKnownCACertificates")
    return {"calledBy": {"policy": _name(each), **({} if roots is None else {"wellKnownCACertificates": roots})}}


def _class(each: Object, _: Words) -> Words:
    return {"calledBy": {"controllerName": each["spec"]["controllerName"]}}


def _webhook(each: Object, _: Words) -> Words:
    called = [hook["clientConfig"] for hook in each["webhooks"]]
    return {
        "clients": [
            {
                "object": _name(each),
                "caBundle": config["caBundle"].removeprefix("CA_DATA(").removesuffix(")"),
                "name": f"{config['service']['name']}.{config['service']['namespace']}.svc",
            }
            for config in called
        ]
    }


def _proxy(each: Object, _: Words) -> Words:
    host = each["spec"]["virtualhost"]
    guarded = {"clientCertificate": "required"} if "clientValidation" in host["tls"] else {}
    return {"neighbour": {"name": host["fqdn"], "object": _name(each), **guarded}}


def _intermediate(each: Object, _: Words) -> Words:
    """The profile of a listener without fault."""
    assert each["spec"]["tlsSecurityProfile"] == {"type": "Intermediate", "intermediate": {}}
    return {}


_KINDS: Mapping[str, Callable[[Object, Words], Words]] = {
    "APIServer": _intermediate,
    "BackendTLSPolicy": _backend_policy,
    "Gateway": _gateway,
    "GatewayClass": _class,
    "HTTPProxy": _proxy,
    "Ingress": lambda each, _: {"hosts": [host for tls in each["spec"]["tls"] for host in tls["hosts"]]},
    "IngressController": lambda each, _: {"clientTLS": each["spec"]["clientTLS"]},
    "Route": _route,
    "ScanPolicy": _policy,
    "ValidatingWebhookConfiguration": _webhook,
}
