"""Admission webhooks: the API server calls each by HTTPS (admissionregistration.k8s.io/v1 WebhookClientConfig)."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.discover.balanced import READS
from scanner.discover.calls import of_service, of_url
from scanner.discover.draft import Found, Source
from scanner.discover.view import View
from scanner.kube.kinds import MUTATING_WEBHOOK, VALIDATING_WEBHOOK
from scanner.kube.objects import KubeObject
from scanner.model.endpoint import Origin

MAX_WEBHOOKS = 500
"""Of one configuration."""


def _find(view: View) -> Iterator[Found]:
    for kind in (VALIDATING_WEBHOOK, MUTATING_WEBHOOK):
        for configuration in view.snapshot.every(kind):
            yield from _of(view, configuration)


def _of(view: View, configuration: KubeObject) -> Iterator[Found]:
    every = configuration.each("webhooks")
    for webhook in view.cuts.first(every, MAX_WEBHOOKS, "webhooks of one configuration", configuration):
        origin = Origin(role="webhook", reference=configuration.reference, part=webhook.text("name"))
        client = webhook.fields("clientConfig")
        if client.has("url"):
            yield from of_url(view, client.text("url"), origin, configuration)
        elif client.has("service"):
            yield from of_service(view, client.fields("service"), origin, configuration)


SOURCE = Source(name="admission webhooks", reads=(VALIDATING_WEBHOOK, MUTATING_WEBHOOK, *READS), find=_find)
