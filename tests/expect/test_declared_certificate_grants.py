"""Certificates of other namespaces that nobody has let an object name."""

from __future__ import annotations

from typing import Any

import pytest

from scanner.kube.maybe import Unknown
from scanner.model.expectation import DeclaredCertificates, Expectation
from scanner.values import replace
from tests.expect.declared_objects import (
    FACTS,
    GATEWAY_API,
    PROXY,
    delegation,
    gateway,
    grant,
    listener,
    made,
    proxy,
    secret,
)
from tests.expect.rejected_listeners import LISTENER, SAYS, at, owed
from tests.expect.stories import endpoint

pytestmark = pytest.mark.crypto

SHARED = {"name": "shared", "namespace": "certs"}
HELD = secret("certs", "shared")


def listened(*objects: dict[str, Any], **more: Any) -> Expectation:  # noqa: ANN401 - as owed
    return owed(at(LISTENER), gateway(listener("https", SHARED)), HELD, *objects, **more)


def declared(found: Expectation) -> DeclaredCertificates:
    assert found.certificate.declared is not None
    return found.certificate.declared


def places(found: Expectation) -> list[str]:
    return [each.place for each in declared(found).leaves]


def test_a_gateway_without_a_grant_is_to_serve_nothing() -> None:
    found = listened()
    (ungranted,) = found.certificate.missing_grants
    assert (ungranted.who, ungranted.secret, ungranted.doubt) == (LISTENER, "Secret/certs/shared", "")
    assert not isinstance(ungranted.leaf, Unknown)
    assert ungranted.leaf.sha256 == FACTS.sha256
    assert found.certificate.declared is None
    assert found.rejection == f"{LISTENER} refers to Secret/certs/shared without a grant"


def test_of_several_secrets_the_others_are_served() -> None:
    """Of the one that is refused nothing stays unread: it cannot be what is served."""
    found = owed(at(LISTENER), gateway(listener("https", {"name": "web"}, SHARED)), HELD, secret("edge", "web"))
    assert found.rejection == ""
    assert [each.secret for each in found.certificate.missing_grants] == ["Secret/certs/shared"]
    assert declared(found).unread == ()
    assert places(found) == ["Secret/edge/web data[tls.crt]"]


@pytest.mark.parametrize("to", [{}, {"name": "shared"}])
def test_with_a_grant_it_is_to_serve_it(to: dict[str, str]) -> None:
    found = listened(grant(**to))
    assert (found.certificate.missing_grants, found.rejection) == ((), "")
    assert [each.sha256 for each in declared(found).leaves] == [FACTS.sha256]


ELSEWHERE = {**grant(), "metadata": {"name": "edge", "namespace": "edge"}}
SETS = {"group": "gateway.networking.k8s.io", "kind": "ListenerSet", "namespace": "edge"}
FOR_SETS = {**grant(), "spec": {"from": [SETS], "to": [{"group": "", "kind": "Secret"}]}}


@pytest.mark.parametrize(
    "other", [grant(name="other"), ELSEWHERE, FOR_SETS], ids=["another Secret", "another namespace", "another kind"]
)
def test_a_grant_for_something_else_grants_nothing(other: dict[str, Any]) -> None:
    assert listened(other).rejection


def test_a_listener_set_has_none_of_its_gateways_grants() -> None:
    parent = {"name": "gw", "namespace": "edge"}
    spec = {"parentRef": parent, "listeners": [listener("https", SHARED)]}
    more = made("ListenerSet", "edge", "more", GATEWAY_API, spec=spec)
    assert owed(at("ListenerSet/edge/more listener https"), more, gateway(), grant()).rejection


def test_where_grants_could_not_be_read_nobody_knows() -> None:
    found = listened(unreadable={"referencegrants.gateway.networking.k8s.io": "403 Forbidden"})
    (ungranted,) = found.certificate.missing_grants
    assert ungranted.doubt == "a ReferenceGrant in certs may allow it: 403 Forbidden"
    assert found.rejection == ""
    assert "unknown whether Gateway/edge/gw listener https may refer to Secret/certs/shared" in declared(found).unread


def test_a_listener_for_more_names_may_answer_this_one() -> None:
    """With a certificate of its own. What a backend at the same place may serve excuses nothing."""
    many = {**listener("many", {"name": "web"}), "hostname": "*.example"}
    one = {**listener("https", SHARED), "hostname": "web.example"}
    beside = at("Gateway/edge/gw listener many", "Deployment/edge/proxy:8443#adhere-probe.example")
    beside = replace(beside, port=at(LISTENER).port)
    found = owed(at(LISTENER), gateway(one, many), HELD, secret("edge", "web"), beside=(beside,))
    assert found.rejection == ""
    assert found.certificate.beside == {FACTS.sha256}
    behind = replace(beside, segment="Backend")
    found = owed(at(LISTENER), gateway(one, many), HELD, secret("edge", "web"), beside=(behind,))
    assert found.certificate.beside == frozenset()
    assert found.rejection
    other = {**many, "hostname": "*.other"}
    assert owed(at(LISTENER), gateway(one, other), HELD, beside=(beside,)).rejection


def proxied(*objects: dict[str, Any], **more: Any) -> Expectation:  # noqa: ANN401 - as owed
    return owed(at(SAYS), proxy(secretName="certs/shared"), HELD, *objects, **more)


@pytest.mark.parametrize("namespaces", [("shop",), ("other", "shop"), ("*",)])
def test_a_delegation_allows_it(namespaces: tuple[str, ...]) -> None:
    found = proxied(delegation("shared", *namespaces))
    assert (found.certificate.missing_grants, found.rejection) == ((), "")


@pytest.mark.parametrize(("name", "namespaces"), [("shared", ("other", "*")), ("*", ("shop",)), ("other", ("shop",))])
def test_an_asterisk_beside_others_means_itself(name: str, namespaces: tuple[str, ...]) -> None:
    found = proxied(delegation(name, *namespaces))
    assert found.rejection == f"{SAYS} spec.virtualhost.tls refers to Secret/certs/shared without a grant"


def test_a_delegation_of_the_former_group_is_a_doubt() -> None:
    (ungranted,) = proxied(delegation("shared", group="contour.heptio.com/v1beta1")).certificate.missing_grants
    assert "contour.heptio.com" in ungranted.doubt


@pytest.mark.parametrize("group", ["projectcontour.io", "contour.heptio.com"])
def test_where_delegations_could_not_be_read_nobody_knows(group: str) -> None:
    found = proxied(unreadable={f"tlscertificatedelegations.{group}": "403 Forbidden"})
    (ungranted,) = found.certificate.missing_grants
    assert ungranted.doubt == "a TLSCertificateDelegation in certs may allow it: 403 Forbidden"
    assert found.rejection == ""


def test_an_ingress_with_contours_annotation_needs_one_too() -> None:
    one = annotated(None)
    assert owed(at("Ingress/shop/web"), one, HELD).rejection
    assert not owed(at("Ingress/shop/web"), one, HELD, delegation("shared")).rejection


def annotated(classed: str | None, given: str = "spec") -> dict[str, Any]:
    """An Ingress, perhaps of a class, whose annotation names another namespace for its Secrets if Contour reads it."""
    annotations = {"projectcontour.io/tls-cert-namespace": "certs"}
    spec: dict[str, Any] = {"tls": [{"hosts": ["web.example"], "secretName": "shared"}]}
    if classed and given == "spec":
        spec["ingressClassName"] = classed
    elif classed:
        annotations["kubernetes.io/ingress.class"] = classed
    return made("Ingress", "shop", "web", "networking.k8s.io/v1", metadata={"annotations": annotations}, spec=spec)


@pytest.mark.parametrize("given", ["spec", "annotation"])
def test_of_a_class_of_unknown_controller_nobody_knows_whether_the_annotation_means_anything(given: str) -> None:
    one = annotated("public", given)
    found = owed(at("Ingress/shop/web"), one, HELD, secret("shop", "shared"))
    assert found.rejection == ""
    (ungranted,) = found.certificate.missing_grants
    assert "it is unknown whether class 'public' is Contour's" in ungranted.doubt
    assert "Secret/shop/shared data[tls.crt]" in places(found)
    assert owed(at("Ingress/shop/web"), one, HELD, delegation("shared")).certificate.missing_grants == ()


@pytest.mark.parametrize("given", ["spec", "annotation"])
def test_to_another_controllers_class_the_annotation_says_nothing(given: str) -> None:
    found = owed(at("Ingress/shop/web"), annotated("nginx", given), HELD, secret("shop", "shared"))
    assert (found.rejection, found.certificate.missing_grants) == ("", ())
    assert places(found) == ["Secret/shop/shared data[tls.crt]"]


@pytest.mark.parametrize(
    ("controllers", "is_served_by_contour"),
    [
        ({"public": "projectcontour.io/ingress-controller"}, True),
        ({"other": "k8s.io/ingress-nginx", "public": "projectcontour.io/ingress-controller"}, True),
        ({"public": "k8s.io/ingress-nginx"}, False),
        ({"other": "projectcontour.io/ingress-controller", "public": "k8s.io/ingress-nginx"}, False),
    ],
)
def test_the_class_that_an_ingress_names_says_whose_it_is(
    controllers: dict[str, str], is_served_by_contour: bool
) -> None:
    classes = [
        made("IngressClass", "", name, "networking.k8s.io/v1", spec={"controller": controller})
        for name, controller in controllers.items()
    ]
    found = owed(at("Ingress/shop/web"), annotated("public"), *classes, HELD, secret("shop", "shared"))
    assert bool(found.rejection) is is_served_by_contour
    assert [each.doubt for each in found.certificate.missing_grants] == ([""] if is_served_by_contour else [])


def test_of_a_class_that_was_not_found_another_class_says_nothing() -> None:
    other = made("IngressClass", "", "other", "networking.k8s.io/v1", spec={"controller": "k8s.io/ingress-nginx"})
    found = owed(at("Ingress/shop/web"), annotated("public"), other, HELD, secret("shop", "shared"))
    assert [bool(each.doubt) for each in found.certificate.missing_grants] == [True]


def test_the_fallback_certificate_is_for_those_it_is_delegated_to() -> None:
    falls = proxy(secretName="web", enableFallbackCertificate=True)
    spec = {"httpproxy": {"fallbackCertificate": SHARED}}
    contour = made("ContourConfiguration", "edge", "contour", "projectcontour.io/v1alpha1", spec=spec)
    bare = endpoint(PROXY.partition("#")[0], {"address": "10.0.0.1"})
    for objects, refused in (([], ["HTTPProxy/shop/web enableFallbackCertificate"]), ([delegation("shared")], [])):
        found = owed(bare, falls, contour, HELD, *objects, beside=(at(SAYS),))
        assert [each.who for each in found.certificate.missing_grants] == refused
    other = {**falls, "metadata": {"name": "web", "namespace": "apart"}}
    both = (at(SAYS), at("HTTPProxy/apart/web", PROXY.replace("web.example", "b.example")))
    found = owed(bare, falls, other, contour, HELD, delegation("shared"), beside=both)
    assert (found.certificate.missing_grants, len(places(found))) == ((), 1)  # one may have it served
    found = owed(bare, falls, other, contour, HELD, beside=both)
    assert len(found.certificate.missing_grants) == 2
