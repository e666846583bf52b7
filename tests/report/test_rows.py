"""Null is not known, with its reason; an empty list is asked, and none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import get_args

import pytest

from scanner.kube.maybe import Unknown
from scanner.model.endpoint import Origin, Role
from scanner.model.observation import Answers, Observation, Reach
from scanner.model.report import EndpointRow
from scanner.report.rows import _FORMS, certificate_row, endpoint_row, origin_text, timestamp
from scanner.tls.certificate import CertificateFacts
from scanner.values import replace
from tests.report import samples
from tests.report.samples import EXPECTATION, TLS10, TLS12, TLS13, X25519, endpoint, speaking


def _row(observation: Observation) -> EndpointRow:
    return endpoint_row(endpoint("x", 1), EXPECTATION, observation, "pass", "ok", ())


def test_a_complete_observation() -> None:
    observed = _row(speaking("x"))["observed"]
    assert observed["versions"] is not None
    told = observed["versions"]["TLSv1.2"]
    assert told is not None
    assert told["suites"] is not None
    assert told["suites"][0] == "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"
    assert told["refused"] == sorted(told["refused"], key=told["refused"].index)
    assert "TLS_RSA_WITH_3DES_EDE_CBC_SHA" in told["refused"]
    assert told["enumerated"] is True
    assert told["preference"] == "server"
    assert observed["groups"] == ["X25519MLKEM768", "x25519", "secp256r1", "secp384r1"]
    assert observed["negotiated"] == {
        "version": "TLSv1.3",
        "suite": "TLS_AES_128_GCM_SHA256",
        "group": "X25519MLKEM768",
    }
    assert observed["connections"] == 8
    assert observed["attempts"][0] == "control: hello (2 ms)"


def test_each_role_of_an_origin_has_a_text() -> None:
    texts = {role: origin_text(Origin(role=role)) for role in _FORMS}
    assert set(get_args(Role)) == set(texts), "add the role to _FORMS in scanner/report/rows.py"


def test_versions_are_accepted_refused_or_not_known() -> None:
    row = _row(speaking("x"))
    versions = row["observed"]["versions"]
    assert versions is not None
    assert list(versions) == ["SSLv2", "SSLv3", "TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"]
    assert versions["SSLv2"] is None
    assert row["reasons"]["versions.SSLv2"] == "no SSLv2 hello was sent"
    refused = versions["TLSv1"]
    assert refused is not None
    assert refused["suites"] == []


def test_a_version_that_is_spoken_with_unknown_suites_is_not_refused() -> None:
    seen = replace(
        speaking("x"), versions=Answers(accepted=(TLS10,)), suites={TLS10: Answers(unasked="the deadline came")}
    )
    row = _row(seen)
    told = (row["observed"]["versions"] or {})["TLSv1"]
    assert told is not None
    assert told["suites"] is None
    assert told["enumerated"] is False
    assert row["reasons"]["versions.TLSv1.suites"] == "the deadline came"


def test_a_partial_enumeration_says_so() -> None:
    row = _row(replace(speaking("x"), suites={TLS12: Answers(accepted=(0xC02F,), unasked="the deadline came")}))
    told = (row["observed"]["versions"] or {})["TLSv1.2"]
    assert told is not None
    assert told["suites"] == ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]
    assert (told["enumerated"], row["reasons"]["versions.TLSv1.2.suites"]) == (False, "the deadline came")


def test_groups_none_against_unknown() -> None:
    assert _row(replace(speaking("x"), groups={TLS13: Answers()}))["observed"]["groups"] == []
    row = _row(replace(speaking("x"), groups={TLS12: Answers(unasked="the certificate is ECDSA")}))
    assert (row["observed"]["groups"], row["reasons"]["groups"]) == (None, "the certificate is ECDSA")
    both = {TLS12: Answers(unasked="the certificate is ECDSA"), TLS13: Answers(accepted=(X25519,))}
    row = _row(replace(speaking("x"), groups=both))
    assert (row["observed"]["groups"], row["reasons"]["groups"]) == (["x25519"], "the certificate is ECDSA")


def test_nothing_tested_is_null_with_reasons_everywhere() -> None:
    row = _row(Observation(instance="x", at=samples.NOW, reach=Reach.CLOSED))
    for key in ("versions", "groups", "client_certificate", "alpn", "ocsp_stapled", "negotiated", "chain"):
        assert row["observed"][key] is None
        assert row["reasons"][key]


def test_no_alpn_is_known_and_has_no_reason() -> None:
    row = _row(replace(speaking("x"), alpn=None))
    assert row["observed"]["alpn"] is None
    assert "alpn" not in row["reasons"]


def test_an_unknown_profile_and_one_without_an_opinion() -> None:
    owes = replace(EXPECTATION, profile=Unknown("forbidden"))
    row = endpoint_row(endpoint("x", 1), owes, speaking("x"), "inconclusive", "not-tested", ())
    assert (row["expected"]["profile"], row["reasons"]["expected.profile"]) == (None, "forbidden")
    silent = replace(EXPECTATION, profile=replace(samples.PROFILE, groups=None))
    row = endpoint_row(endpoint("x", 1), silent, speaking("x"), "pass", "ok", ())
    assert row["expected"]["groups"] is None
    assert "no opinion" in row["reasons"]["expected.groups"]


def test_because_names_what_was_beaten() -> None:
    assert _row(speaking("x"))["expected"]["because"] == [
        "--profile: intermediate, the newest release line, over the default"
    ]


def test_an_unreadable_certificate_keeps_its_hash() -> None:
    row = certificate_row(CertificateFacts(der=b"", sha256="ab" * 32, unreadable={"subject": "bad UTF-8"}))
    assert (row["sha256"], row["subject"], row["sans"], row["not_after"]) == ("ab" * 32, None, None, None)
    assert row["unreadable"] == {"subject": "bad UTF-8"}


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC), "2026-01-02T03:04:05Z"),
        (datetime(2026, 1, 2, 3, tzinfo=timezone(timedelta(hours=2))), "2026-01-02T01:00:00Z"),
        (datetime(50, 1, 1, tzinfo=UTC), "0050-01-01T00:00:00Z"),
        (datetime.max.replace(tzinfo=UTC), "9999-12-31T23:59:59Z"),
    ],
)
def test_timestamps(moment: datetime, text: str) -> None:
    assert timestamp(moment) == text
