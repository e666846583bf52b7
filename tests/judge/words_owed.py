"""Words of examples for what a listener owes its clients, and for the policy that it is judged by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scanner.model.expectation import CertificateExpectation
from scanner.values import replace
from tests.judge.drafts import Draft, Word
from tests.judge.words_served import authority

_THRESHOLDS = {"expiresWithinDays": "expires_within_days", "minRsaBits": "min_rsa_bits", "groups": "groups"}
_POLICIES = {"Required": "required", "Optional": "requested"}
"""``spec.clientTLS.clientCertificatePolicy`` of an IngressController."""


def certificate(draft: Draft, **changes: Any) -> None:  # noqa: ANN401 - fields of many types
    """Changes what the served certificate must satisfy."""
    owed = draft.expectation.get("certificate", CertificateExpectation())
    draft.expectation["certificate"] = replace(owed, **changes)


def _hosts(draft: Draft, value: list[str]) -> None:
    certificate(draft, names=tuple(value))


def _anchors(draft: Draft, value: list[str]) -> None:
    certificate(draft, anchors=tuple(authority(each).der for each in value), anchor_source="ca.crt")


def _client_tls(draft: Draft, value: Mapping[str, str]) -> None:
    draft.expectation |= {
        "client_certificate": _POLICIES[value["clientCertificatePolicy"]],
        "client_trust": "IngressController/openshift-ingress-operator/default spec.clientTLS",
    }


def _thresholds(draft: Draft, value: Mapping[str, Any]) -> None:
    draft.policy |= {_THRESHOLDS[word]: said for word, said in value.items()}


def _require(draft: Draft, value: Mapping[str, Any]) -> None:
    assert value == {"postQuantum": True}
    draft.policy["post_quantum"] = "high"


OWED: Mapping[str, Word] = {
    "hosts": _hosts,
    "trustAnchors": _anchors,
    "clientTLS": _client_tls,
    "thresholds": _thresholds,
    "require": _require,
}
