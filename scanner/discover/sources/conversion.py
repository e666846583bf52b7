"""Conversion webhooks of CustomResourceDefinitions (apiextensions.k8s.io/v1 ``spec.conversion.webhook``)."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.discover.balanced import READS
from scanner.discover.calls import of_service, of_url
from scanner.discover.draft import Found, Source
from scanner.discover.view import View
from scanner.kube.kinds import CUSTOM_RESOURCE_DEFINITION
from scanner.model.endpoint import Origin


def _find(view: View) -> Iterator[Found]:
    for definition in view.snapshot.every(CUSTOM_RESOURCE_DEFINITION):
        if definition.text("spec", "conversion", "strategy") != "Webhook":
            continue
        origin = Origin(role="conversion", reference=definition.reference)
        client = definition.fields("spec", "conversion", "webhook", "clientConfig")
        if client.has("url"):
            yield from of_url(view, client.text("url"), origin, definition)
        elif client.has("service"):
            yield from of_service(view, client.fields("service"), origin, definition)


SOURCE = Source(name="conversion webhooks", reads=(CUSTOM_RESOURCE_DEFINITION, *READS), find=_find)
