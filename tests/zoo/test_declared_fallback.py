"""Contour's fallback certificate, which has no check of names behind it, against Envoy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.zoo.envoy import Chain
from tests.zoo.test_declared_envoy import Contour

pytestmark = pytest.mark.zoo

MISDIRECTED = "tls-misdirected"


@pytest.mark.parametrize("alpn", [(), ("h2", "http/1.1")], ids=["HTTP/1.1", "HTTP/2"])
@pytest.mark.parametrize(
    ("answers", "verdict"),
    [({"plain.example": 202}, "pass"), ({"plain.example": 202, "strict.example": 200}, "fail")],
)
async def test_who_takes_no_part_in_it_is_not_had_through_it(
    tmp_path: Path, answers: Mapping[str, int], verdict: str, alpn: tuple[str, ...]
) -> None:
    case = Contour(tmp_path)
    case.active_http = True
    said = "tls: {secretName: certs/plain-tls}"
    case.texts = {said: "tls: {secretName: certs/plain-tls, enableFallbackCertificate: true}"}
    case.front(0, answers={"strict.example": 200})
    case.front(1, answers={"plain.example": 202})
    fallback = case.public.leaf(names=("fallback.example",))
    case.chains["front"].append(Chain(credential=fallback, answers=answers, alpn=alpn))
    told = await case.all()
    name = f"port {case.where['front'][1]}"
    found = told.rows[name][MISDIRECTED]
    assert found["verdict"] == verdict, found
    assert (found["severity"] == "critical") == (verdict == "fail"), found
    assert any("HTTP/2" in each for each in found["observed"]) == (verdict == "fail" and "h2" in alpn), found
