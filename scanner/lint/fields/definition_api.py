"""The fields of CustomResourceDefinitions: how objects are converted (k8s.io/apiextensions-apiserver
``pkg/apis/apiextensions/validation``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from scanner.kube import kinds
from scanner.kube.kinds import Kind
from scanner.kube.objects import Fields
from scanner.lint.fields.kubernetes_api import CLIENT_CONFIG
from scanner.lint.fields.shape import Clash, Items, Record, Text, anything

_REVIEWS: Final = frozenset({"v1", "v1beta1"})
"""ConversionReviews that API servers speak."""


def _unknown(webhook: Fields) -> bool:
    return webhook.has("conversionReviewVersions") and not _REVIEWS & {*webhook.texts("conversionReviewVersions")}


def _twice(webhook: Fields) -> bool:
    versions = webhook.texts("conversionReviewVersions")
    return len({*versions}) < len(versions)


_WEBHOOK: Final = Record(
    {
        "clientConfig": CLIENT_CONFIG,
        "conversionReviewVersions": Items(
            Text(pattern="^[a-z]([-a-z0-9]*[a-z0-9])?$", longest=63, meant="a version, such as v1"), 1
        ),
    },
    ("conversionReviewVersions",),
    clashes=(
        Clash(_unknown, "must include at least one of v1, v1beta1", ("conversionReviewVersions",), fix="name v1"),
        Clash(_twice, "duplicate version", ("conversionReviewVersions",)),
    ),
)
_CONVERSION: Final = Record(
    {"strategy": Text(enum=("None", "Webhook")), "webhook": _WEBHOOK},
    ("strategy",),
    clashes=(
        Clash(
            lambda conversion: (
                conversion.text("strategy") == "Webhook" and not conversion.has("webhook", "clientConfig")
            ),
            "webhook.clientConfig is required when strategy is set to Webhook",
            ("webhook",),
            fix="say which webhook converts",
        ),
    ),
)
_OTHERS: Final = anything("group", "names", "preserveUnknownFields", "scope", "versions")

DEFINITION_API: Final[Mapping[Kind, Record]] = {
    kinds.CUSTOM_RESOURCE_DEFINITION: Record(
        {"spec": Record({"conversion": _CONVERSION, **_OTHERS}, ("group", "names", "scope", "versions"))}, ("spec",)
    ),
}
FORMER_DEFINITIONS: Final[Mapping[tuple[Kind, str], Record]] = {
    (kinds.CUSTOM_RESOURCE_DEFINITION, "v1beta1"): Record(anything("spec"), ("spec",)),
}
"""No API server of today takes it."""
