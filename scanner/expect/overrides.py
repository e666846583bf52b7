"""The user's policy file: another profile for some endpoints, each with its justification. It has the last word."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from scanner.expect.draft import Draft
from scanner.expect.facts import Facts
from scanner.model.scan_policy import Override

_WEBHOOKS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "CustomResourceDefinition")
_API = "APIService"
_MONITORS = ("ServiceMonitor", "PodMonitor")
_METRICS = ("metrics", "rbac-proxy")


def resolve(facts: Facts, draft: Draft) -> Draft:
    """The first override that matches counts, as in the file's order."""
    for each in facts.policy.overrides:
        if each.selector.matches(draft.endpoint):
            return _overridden(facts, draft, each)
    return draft


def _overridden(facts: Facts, draft: Draft, override: Override) -> Draft:
    profile = facts.overrides[override.profile]
    said = f"{profile.name}: {override.justification}"
    found = draft.owes(profile, override.source, "overrides", said)
    found = replace(
        found,
        binding="must-follow" if override.binding else "not-enforced",
        groups_configurable=True,
        settles_by=None,
        overridden=_role(draft),
        tls13_suites_configurable=False,
    )
    if found.overridden is None:
        return found
    rule = "such listeners should follow the cluster's, justified or not"
    return found.remark(f"{override.source} overrides the profile of a listener ({found.overridden}): {rule}")


def _role(draft: Draft) -> Literal["metrics", "webhook", "api"] | None:
    """Whether it serves metrics, webhooks or an aggregated API, by what led to it."""
    endpoint, entry = draft.endpoint, draft.entry
    subject = endpoint.subject.kind if endpoint.subject else ""
    listener = entry.listener if entry else ""
    leading = {each.reference.kind for each in endpoint.origins if each.reference and not each.foreign}
    if subject in _WEBHOOKS or "webhook" in listener or not leading.isdisjoint(_WEBHOOKS):
        return "webhook"
    if subject == _API or _API in leading:
        return "api"
    if any(each in listener for each in _METRICS) or not leading.isdisjoint(_MONITORS):
        return "metrics"
    return None
