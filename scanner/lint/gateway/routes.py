"""Routes as rules look at them: their parents, hostnames and backends (Gateway API apis/v1 ``CommonRouteSpec``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from scanner.files.source_positions import Steps
from scanner.kube.kinds import GRPC_ROUTE, HTTP_ROUTE, TCP_ROUTE, TLS_ROUTE, UDP_ROUTE, Kind
from scanner.kube.objects import Fields, KubeObject
from scanner.model.declared import Declared
from scanner.model.object_rule import Subject

ROUTES: Final[tuple[Kind, ...]] = (HTTP_ROUTE, GRPC_ROUTE, TLS_ROUTE, TCP_ROUTE, UDP_ROUTE)
_NAMES: Final = 1024
_RULES: Final = 64
_BACKENDS: Final = 64
"""As many as the CRDs admit: what is beyond, no API server has."""
_SENDING: Final = ("requestMirror", "externalAuth")
"""Filters with a backend of their own (``HTTPRequestMirrorFilter``, ``HTTPExternalAuthFilter``)."""


@dataclass(frozen=True, slots=True)
class Backend:
    """A Service that a route leads to."""

    route: KubeObject
    steps: Steps
    namespace: str | None
    name: str
    port: int | None


def hostnames(route: KubeObject) -> tuple[str, ...]:
    """In lower case; none: every name that the listener takes."""
    return tuple(map(str.lower, route.texts("spec", "hostnames")[:_NAMES]))


def backends(route: KubeObject, declared: Declared) -> Iterator[Backend]:
    """The Services that the rules lead to."""
    for rule, fields in islice(Subject(route, declared).items("spec", "rules"), _RULES):
        for place, each in enumerate(islice(fields.each("backendRefs"), _BACKENDS)):
            if (_group(each, ""), each.text("kind") or "Service") == ("", "Service"):
                namespace = each.text("namespace") or route.namespace
                yield Backend(route, (*rule, "backendRefs", place), namespace, each.text("name"), each.number("port"))


def filter_backends(route: KubeObject, declared: Declared) -> Iterator[Backend]:
    """The Services to which filters of the rules and of their backends send requests: mirrors and authorization."""
    for rule, fields in islice(Subject(route, declared).items("spec", "rules"), _RULES):
        filters = [((*rule, "filters", index), each) for index, each in enumerate(fields.each("filters"))]
        for place, backend in enumerate(islice(fields.each("backendRefs"), _BACKENDS)):
            way = (*rule, "backendRefs", place, "filters")
            filters += [((*way, index), each) for index, each in enumerate(backend.each("filters"))]
        for steps, each in filters[:_BACKENDS]:
            for name in _SENDING:
                reference = each.fields(name, "backendRef")
                if reference.raw and (_group(reference, ""), reference.text("kind") or "Service") == ("", "Service"):
                    namespace = reference.text("namespace") or route.namespace
                    at = (*steps, name, "backendRef")
                    yield Backend(route, at, namespace, reference.text("name"), reference.number("port"))


def strangers(route: KubeObject, declared: Declared) -> Iterator[tuple[Steps, Fields]]:
    """The backends that are no Services."""
    for rule, fields in islice(Subject(route, declared).items("spec", "rules"), _RULES):
        for place, each in enumerate(islice(fields.each("backendRefs"), _BACKENDS)):
            if (_group(each, ""), each.text("kind") or "Service") != ("", "Service"):
                yield (*rule, "backendRefs", place), each


def _group(reference: Fields, default: str) -> str:
    """An empty group is the core's, none the default."""
    return reference.text("group") if reference.has("group") else default


def leading_to(declared: Declared) -> Mapping[tuple[str | None, str], list[Backend]]:
    """By namespace and name of a Service, every reference to it. Ask by ``declared.once``."""
    found: dict[tuple[str | None, str], list[Backend]] = {}
    for kind in ROUTES:
        for route in declared.every(kind):
            for each in (*backends(route, declared), *filter_backends(route, declared)):
                found.setdefault((each.namespace, each.name), []).append(each)
    return found
