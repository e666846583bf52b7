from __future__ import annotations

from typing import Any

import pytest

from scanner.kube.maybe import Unknown
from scanner.kube.objects import Reference
from tests.judge.cases import case, finding, findings

RULE = "tls-cleartext"


@pytest.mark.parametrize(
    ("seen", "verdict"),
    [
        (None, "pass"),
        ("HTTP/1.1 400", "pass"),
        ("HTTP/1.1 426", "pass"),
        ("HTTP/1.1 301 to https", "pass"),
        ("HTTP/1.1 200", "fail"),
        ("HTTP/1.1 404", "fail"),
        ("HTTP/1.1 302 to http", "fail"),
        ("HTTP/1.1 302", "fail"),
        (Unknown("it gave no answer in time"), "inconclusive"),
    ],
)
def test_what_is_served_without_tls_fails(seen: Any, verdict: str) -> None:  # noqa: ANN401 - known or unknown
    found = finding(RULE, case(observation={"cleartext": seen}))
    assert found.verdict == verdict
    if verdict == "fail":
        assert found.severity == "high"
        assert seen in found.observed[0]
        assert found.reproduce == "adhere scan tls://127.0.0.1:443#a.example --active-http"


def test_without_active_http_only_a_policys_backends_are_mentioned() -> None:
    assert findings(RULE, case()) == []
    subject = Reference(kind="BackendTLSPolicy", name="web", namespace="shop")
    found = finding(RULE, case(endpoint={"subject": subject}))
    assert (found.verdict, found.status) == ("not_applicable", "informational")
    assert "--active-http" in found.message
