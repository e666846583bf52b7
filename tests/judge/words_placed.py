"""Words of examples for where a listener is, and for what leads there: what rules across listeners look at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scanner.kube.objects import Reference
from scanner.model.endpoint import Owner
from scanner.model.expectation import PassedOn
from scanner.model.observation import Reach
from tests.judge.cases import ENDPOINT
from tests.judge.drafts import Draft, Word


def _listener(draft: Draft, value: str) -> None:
    """``Deployment/shop/web:8443``: the workload that listens, and its port."""
    whose, _, port = value.rpartition(":")
    kind, namespace, name = whose.split("/")
    owner = Owner(kind=kind, namespace=namespace, name=name)
    draft.endpoint |= {"id": value, "instance": f"{value} @ {ENDPOINT.address}", "port": int(port), "owner": owner}


def _address(draft: Draft, value: str) -> None:
    """Of one of its replicas."""
    draft.endpoint |= {"address": value, "instance": f"{draft.endpoint['id']} @ {value}"}


def _server_name(draft: Draft, value: str | None) -> None:
    draft.endpoint["server_name"] = value


def _object(draft: Draft, value: str) -> None:
    """What makes it a frontend."""
    kind, namespace, name = value.split("/")
    subject = Reference(kind=kind, namespace=namespace, name=name)
    draft.endpoint |= {"subject": subject, "segment": "Frontend"}


def _passed_to(draft: Draft, value: list[str]) -> None:
    """Ids of the listeners that its object has it passed through to."""
    source = f"{draft.endpoint['subject']} spec.tls.termination: passthrough"
    name = draft.endpoint["server_name"]
    passed_on = PassedOn(source=source, here=draft.endpoint["id"], backends=tuple(value), name=name)
    draft.expectation["passed_on"] = passed_on


def _reach(draft: Draft, value: str) -> None:
    draft.observation["reach"] = Reach(value)


def _alpn(draft: Draft, value: Any) -> None:  # noqa: ANN401 - text or nothing
    draft.observation["alpn"] = value


PLACED: Mapping[str, Word] = {
    "listener": _listener,
    "address": _address,
    "serverName": _server_name,
    "object": _object,
    "passthroughTo": _passed_to,
    "reach": _reach,
    "alpn": _alpn,
}
