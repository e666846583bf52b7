"""Certificates that listeners served."""

from __future__ import annotations

from datetime import UTC, datetime

from scanner.model.endpoint import Endpoint, Owner
from scanner.model.observation import Observation, Reach
from scanner.pki.served import served
from scanner.pki.stored import held
from scanner.tls.certificate import parse_certificate
from tests.certs import Authority
from tests.pki.objects import snapshot

ROOT = Authority("Root")
MIDDLE = parse_certificate(Authority("Middle", issuer=ROOT).der)
LEAF = parse_certificate(ROOT.leaf(names=("web.example",)).der)
OTHER = parse_certificate(ROOT.leaf(names=("web.example",), key="rsa2048").der)

ENDPOINT = Endpoint(
    id="Deployment/shop/web:8443", instance="10.0.0.7:8443", address="10.0.0.7", port=8443, component="web",
    owner=Owner(kind="Deployment", name="web", namespace="shop"),
)  # fmt: skip
SEEN = Observation(instance="10.0.0.7:8443", at=datetime(2026, 11, 21, tzinfo=UTC), reach=Reach.TLS)


def test_every_chain_each_certificate_once() -> None:
    seen = Observation(
        instance=SEEN.instance, at=SEEN.at, reach=Reach.TLS, chain=(LEAF, MIDDLE), other_chains=((OTHER, MIDDLE),)
    )
    first, issuer, other = served(ENDPOINT, seen)
    assert [each.facts for each in (first, issuer, other)] == [LEAF, MIDDLE, OTHER]
    assert [each.place.role for each in (first, issuer, other)] == ["leaf", "issuer", "leaf"]
    assert (first.chain, issuer.chain, other.chain) == ((MIDDLE,), (), (MIDDLE,))
    assert (first.place.endpoint, first.place.port, first.place.component) == (ENDPOINT.id, 8443, "web")
    assert str(first.place) == ENDPOINT.id


def test_a_chain_that_was_not_seen_has_nothing() -> None:
    assert list(served(ENDPOINT, SEEN)) == []


def test_what_a_user_gave_is_known_again_where_it_is_served() -> None:
    given = ROOT.leaf(names=("web.example",))
    tls = {"certificate": given.pem.decode()}
    route = {"kind": "Route", "metadata": {"name": "r", "namespace": "shop"}, "spec": {"tls": tls}}
    who = {each.facts.sha256: each.place.user_provided or "" for each in held(snapshot("", route))}
    seen = Observation(instance=SEEN.instance, at=SEEN.at, reach=Reach.TLS, chain=(parse_certificate(given.der), LEAF))
    first, second = served(ENDPOINT, seen, who)
    assert first.place.user_provided == "Route/shop/r spec.tls.certificate"
    assert second.place.user_provided is None
