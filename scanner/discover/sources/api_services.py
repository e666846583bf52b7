"""APIServices: what the API server passes requests on to (apiregistration.k8s.io/v1). Without a service it is local."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.discover.balanced import READS
from scanner.discover.calls import of_service
from scanner.discover.draft import Found, Source
from scanner.discover.view import View
from scanner.kube.kinds import API_SERVICE
from scanner.model.endpoint import Origin


def _find(view: View) -> Iterator[Found]:
    for each in view.snapshot.every(API_SERVICE):
        if each.has("spec", "service"):
            origin = Origin(role="aggregation", reference=each.reference)
            yield from of_service(view, each.fields("spec", "service"), origin, each)


SOURCE = Source(name="APIServices", reads=(API_SERVICE, *READS), find=_find)
