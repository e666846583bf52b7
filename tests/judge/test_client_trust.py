"""Clients that are known one by one, each with a trust of its own."""

from __future__ import annotations

import pytest

from scanner.kube.maybe import Unknown
from scanner.model.expectation import Binding, CertificateExpectation, Client
from scanner.model.finding import Finding
from scanner.tls.certificate import parse_certificate
from scanner.values import replace
from tests.certs import Authority
from tests.judge.cases import NOW, case, finding, findings

pytestmark = pytest.mark.crypto

ROOT, OTHER = Authority("Root", now=NOW), Authority("Other", now=NOW)
LEAF = parse_certificate(ROOT.leaf(names=("hook.shop.svc",)).der)
HOOK = Client(
    who="ValidatingWebhookConfiguration/hook webhook a.example",
    source="ValidatingWebhookConfiguration/hook webhooks[0].clientConfig.caBundle",
    anchors=(ROOT.der,),
    name="hook.shop.svc",
)
ROUTER = Client(who="Route/shop/web", source="Route/shop/web spec.tls.x", anchors=(ROOT.der,), name=None)


def said(*clients: Client, chain: object = (LEAF,), binding: Binding = "must-follow") -> Finding:
    expected = {"certificate": CertificateExpectation(clients=clients), "binding": binding}
    return finding("cert-clients", case(expectation=expected, observation={"chain": chain}))


def test_clients_that_can_all_verify_it_pass() -> None:
    found = said(HOOK, ROUTER, replace(HOOK, anchors=(OTHER.der, ROOT.der)))
    assert (found.verdict, found.status) == ("pass", "ok")
    assert found.expected[0].endswith(
        "can verify with ValidatingWebhookConfiguration/hook webhooks[0].clientConfig.caBundle"
    )


@pytest.mark.parametrize(
    ("client", "why"),
    [
        (replace(HOOK, anchors=(OTHER.der,)), "the issuer is neither sent nor an anchor: CN=Root"),
        (replace(HOOK, name="hook.till.svc"), "it is not valid for hook.till.svc"),
        (replace(ROUTER, anchors=(OTHER.der,)), "neither sent nor an anchor"),
    ],
)
def test_one_that_cannot_fails_with_the_field_that_holds_its_trust(client: Client, why: str) -> None:
    found = said(HOOK, client)
    assert (found.verdict, found.severity) == ("fail", "medium")
    (only,) = found.observed
    assert only.startswith(f"{client.who}, which trusts {client.source}: ")
    assert why in only


@pytest.mark.parametrize(
    ("binding", "status"), [("must-follow", "violation"), ("settling", "converging"), ("not-enforced", "violation")]
)
def test_what_an_object_declares_binds_users_too(binding: Binding, status: str) -> None:
    assert said(HOOK, replace(HOOK, anchors=(OTHER.der,)), binding=binding).status == status


def test_several_that_cannot_are_counted() -> None:
    wrong = replace(HOOK, anchors=(OTHER.der,))
    assert "2 clients that an object configures" in said(wrong, replace(wrong, who="APIService/v1.x")).message


@pytest.mark.parametrize(
    ("client", "chain"),
    [
        (replace(HOOK, anchors=()), (LEAF,)),
        (replace(HOOK, anchors=(b"odd",)), (LEAF,)),
        (HOOK, Unknown("it broke off")),
        (HOOK, ()),
        (HOOK, (replace(LEAF, dns_names=None),)),
        (replace(HOOK, name="\udcff"), (LEAF,)),
    ],
)
def test_what_cannot_be_told_is_never_a_pass(client: Client, chain: object) -> None:
    found = said(ROUTER if chain == (LEAF,) else HOOK, client, chain=chain)
    assert (found.verdict, found.status) == ("inconclusive", "not-tested")


def test_a_failure_is_not_lost_for_what_cannot_be_told() -> None:
    found = said(replace(HOOK, anchors=()), replace(HOOK, anchors=(OTHER.der,)))
    assert found.verdict == "fail"
    assert any("contains no readable certificate" in each for each in found.evidence)


def test_without_clients_nothing_is_said() -> None:
    assert findings("cert-clients", case()) == []


def test_one_of_several_names_will_do_and_a_uri_is_one() -> None:
    spiffe = replace(LEAF, other_names=("URI:spiffe://shop/web",))
    either = replace(HOOK, name="hook.till.svc", others=("spiffe://shop/web",))
    assert said(either, chain=(spiffe,)).verdict == "pass"
    assert said(replace(HOOK, name="spiffe://shop/web"), chain=(spiffe,)).verdict == "pass"
    found = said(replace(either, others=("spiffe://shop/we",)), chain=(spiffe,))
    assert found.verdict == "fail"
    assert "not valid for hook.till.svc or spiffe://shop/we" in found.observed[0]
    odd = replace(spiffe, other_names=None, unreadable={"other_names": "odd"})
    assert said(either, chain=(odd,)).verdict == "inconclusive"


def test_a_ca_that_nobody_read_is_open_and_no_doubt_about_the_listener() -> None:
    unread = replace(HOOK, anchors=(), missing="ConfigMap/shop/ca was not read")
    found = said(HOOK, unread)
    assert (found.verdict, found.severity) == ("inconclusive", "info")
    assert "ConfigMap/shop/ca was not read" in found.message
    assert said(unread, replace(HOOK, anchors=())).severity == "medium"
    assert said(unread, replace(HOOK, anchors=(OTHER.der,))).verdict == "fail"


def test_trust_that_holds_no_certificate_is_unknown_for_each_client_by_its_own_field() -> None:
    empty = replace(HOOK, anchors=())
    found = said(empty, replace(empty, who="APIService/v1.a", source="APIService/v1.a spec.caBundle"), HOOK)
    assert found.verdict == "inconclusive"
    for source in (empty.source, "APIService/v1.a spec.caBundle"):
        assert any(f"{source} contains no readable certificate" in each for each in (found.message, *found.evidence))
