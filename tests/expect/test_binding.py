"""Components that follow the cluster's profile only from some release on, and those that pass connections on."""

from __future__ import annotations

from typing import Any

import pytest

from scanner.config.component_catalogue import load_catalogue
from scanner.expect import Expectations
from scanner.expect.authority import Wishes
from scanner.expect.facts import Facts
from scanner.kube.kinds import API_SERVER
from scanner.kube.maybe import Unknown
from scanner.kube.objects import Reference
from scanner.model.components import Catalogue, Component, Governor, Listener
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Expectation
from scanner.model.scan_policy import Override, ScanPolicy, Selector
from scanner.values import replace
from tests.expect.declared_objects import api_server, config_map, made, version
from tests.expect.stories import endpoint, snapshot_of

VAULT = "Deployment/openshift-vault/vault:8200"
API = "StaticPod/openshift-kube-apiserver/kube-apiserver:6443"
BALANCER = "StaticPod/openshift-kni-infra/haproxy:9445"
LISTENERS = (
    Listener(
        component="vault", listener="api", namespaces=("openshift-vault",), ports=(8200,), governor="apiserver",
        honours_since="4.22",
    ),
    Listener(
        component="kube-apiserver", listener="api", namespaces=("openshift-kube-apiserver",), ports=(6443,),
        governor="apiserver", client_certificate="requested",
    ),
    Listener(
        component="balancer", listener="api", namespaces=("openshift-kni-infra",), ports=(9445,), governor="backend",
    ),
)  # fmt: skip
CATALOGUE = Catalogue(listeners=LISTENERS, components=tuple(Component(name=each.component) for each in LISTENERS))


def owes(name: str, *objects: dict[str, Any], beside: tuple[Endpoint, ...] = ()) -> Expectation:
    where = endpoint(name, {"address": "10.0.0.1"})
    every = (where, *beside)
    return Expectations(snapshot_of(list(objects)), CATALOGUE, ScanPolicy(), endpoints=every).of(where)


@pytest.mark.parametrize(
    ("release", "binding"), [("4.20.9", "not-enforced"), ("4.21.0", "not-enforced"), ("4.22.0", "must-follow"),
                             ("4.23.1", "must-follow")],
)  # fmt: skip
def test_a_component_is_bound_from_the_release_on_that_follows(release: str, binding: str) -> None:
    found = owes(VAULT, version(release), api_server("Modern"))
    assert found.binding == binding
    said = [each.said for each in found.because if "since 4.22" in each.said]
    older = f"follows the cluster's profile since 4.22, but its release is {release}: not enforced"
    assert [each.partition(" (")[0] for each in said] == ([older] if binding == "not-enforced" else [])


def governed(governor: Governor, *objects: dict[str, Any], platform: bool = True) -> tuple[str, set[str]]:
    """The binding, and the reasons."""
    listener = replace(LISTENERS[0], governor=governor, honours_since=None)
    catalogue = Catalogue(listeners=(listener,), components=(Component(name="vault", platform=platform),))
    where = endpoint(VAULT, {})
    found = Expectations(snapshot_of([version("4.22.0"), *objects]), catalogue, ScanPolicy()).of(where)
    return found.binding, {each.said.partition(":")[0] for each in found.because}


@pytest.mark.parametrize(
    ("governor", "always"),
    [
        ("apiserver", "follows the cluster's profile whatever tlsAdherence says"),
        ("kubelet", "follows KubeletConfig, else the cluster's profile, whatever tlsAdherence says"),
        ("ingress", "follows its IngressController, else the cluster's profile, whatever tlsAdherence says"),
        ("backend", "passes connections on to what follows the cluster's profile"),
        ("flags", "follows its own flags"),
        ("apiserver-if-strict", None),
        ("gateway", None),
        ("own", None),
    ],
)
def test_who_sets_a_listeners_profile_says_whether_adherence_matters(governor: Governor, always: str | None) -> None:
    strict, legacy = (api_server("Modern") for _ in range(2))
    legacy["spec"]["tlsAdherence"] = "LegacyAdheringComponentsOnly"
    binding, why = governed(governor, strict)
    assert binding == "must-follow"
    assert (always or "under strict adherence every component follows the cluster's profile") in why
    binding, why = governed(governor, legacy)
    assert binding == ("must-follow" if always else "not-enforced")
    assert (always or "legacy adherence does not enforce the cluster's profile for this component") in why


def test_a_layered_products_own_flags_are_not_those_of_the_platform() -> None:
    legacy = api_server("Modern")
    legacy["spec"]["tlsAdherence"] = "LegacyAdheringComponentsOnly"
    assert governed("flags", legacy, platform=False)[0] == "not-enforced"


@pytest.mark.parametrize(
    ("name", "openshift", "standing", "source"),
    [
        ("Node/m:9999", True, "platform", "Node/m"),
        ("Node/m:9999", False, "platform", "Node/m"),
        ("Router/unknown:443", True, "platform", "Router/unknown"),
        ("Router/unknown:443", False, "user", "Router/unknown"),
        ("Deployment/openshift-made-up/web:443", True, "platform", "Namespace/openshift-made-up"),
        ("Deployment/openshift-made-up/web:443", False, "user", "Namespace/openshift-made-up"),
        ("Deployment/shop/web:443", True, "user", "Namespace/shop"),
        ("Target/web:443", True, "user", "Target/web"),
    ],
)
def test_what_no_catalogue_knows_is_classed_by_its_place(
    name: str, openshift: bool, standing: str, source: str
) -> None:
    snapshot = snapshot_of([version("4.22.0"), api_server("Modern")] if openshift else [])
    known = load_catalogue("openshift" if openshift else "kubernetes")
    found = Expectations(snapshot, known, ScanPolicy()).of(endpoint(name, {}))
    assert found.standing == standing
    assert source in [each.source for each in found.because]


def test_where_the_release_is_not_known_it_is_bound() -> None:
    assert owes(VAULT, api_server("Modern")).binding == "must-follow"


def test_what_passes_connections_on_to_the_api_server_owes_what_that_owes() -> None:
    behind = replace(endpoint(API, {"address": "10.0.0.2"}), component="kube-apiserver")
    other = replace(endpoint("StaticPod/openshift-kube-apiserver/kube-apiserver:17697", {}), component="kube-apiserver")
    found = owes(BALANCER, version("4.22.0"), api_server("Modern"), beside=(other, behind))
    assert not isinstance(found.profile, Unknown)
    assert found.profile.name == "openshift/4.22/modern"
    assert (found.binding, found.standing, found.client_certificate) == ("must-follow", "platform", None)
    assert any((each.source, each.field) == (API, "the backend") for each in found.because)


def test_without_a_known_api_server_behind_it_it_owes_the_clusters_profile() -> None:
    found = owes(BALANCER, version("4.22.0"), api_server("Modern"))
    assert not isinstance(found.profile, Unknown)
    assert found.profile.name == "openshift/4.22/modern"
    assert [each.said for each in found.because if each.field == "balancer"][-1:] == ["the API server's"]


SERVING = "service.beta.openshift.io/serving-cert-secret-name"


@pytest.mark.parametrize(
    ("server_name", "host", "aliases", "signed"),
    [
        (None, "", ("web.shop.svc:443", "172.30.0.5:443"), True),
        (None, "", ("other.shop.svc:443", "web.shop.svc:443"), True),
        (None, "", ("other.shop.svc:443",), False),
        ("web.shop.svc", "", (), True),
        (None, "web.shop.svc", ("other.shop.svc:443",), True),
        # A name that is asked decides: what else leads there says nothing about its certificate.
        ("other.shop.svc", "", ("web.shop.svc:443",), False),
    ],
)
def test_the_service_ca_signs_for_the_service_that_asks_and_by_the_name_that_is_asked(
    server_name: str | None, host: str, aliases: tuple[str, ...], signed: bool
) -> None:
    asking = made("Service", "shop", "web", metadata={"annotations": {SERVING: "web-tls"}})
    where = replace(
        endpoint("Deployment/shop/web:8443", {}), server_name=server_name, host=host, aliases=aliases,
        subject=Reference(kind="ServiceMonitor", name="web", namespace="shop"),
    )  # fmt: skip
    bundle = config_map("openshift-service-ca", "signing-cabundle", "ca-bundle.crt", b"service-ca")
    objects = [asking, made("Service", "shop", "other"), bundle, version("4.22.0"), api_server("Modern")]
    found = Expectations(snapshot_of(objects), CATALOGUE, ScanPolicy(), endpoints=(where,)).of(where)
    assert found.certificate.anchors == ((b"service-ca",) if signed else ())


def overridden(origin: str = "", *, foreign: bool = False, override: bool = True) -> Expectation:
    where = endpoint(VAULT, {"origins": [origin] if origin else []})
    where = replace(where, origins=tuple(replace(each, foreign=foreign) for each in where.origins))
    override_all = Override(selector=Selector(), profile="modern", justification="", source="a:1:1", binding=True)
    policy = ScanPolicy(overrides=(override_all,) if override else ())
    snapshot = snapshot_of([version("4.22.0"), api_server("Intermediate")])
    return Expectations(snapshot, CATALOGUE, policy, endpoints=(where,)).of(where)


def test_a_profile_of_the_policy_file_has_groups_also_where_the_component_applies_none() -> None:
    assert overridden().groups_configurable
    assert not overridden(override=False).groups_configurable


@pytest.mark.parametrize(
    ("origin", "foreign", "role"),
    [
        ("ServiceMonitor/openshift-vault/vault", False, "metrics"),
        ("APIService/v1.vault", False, "api"),
        ("ValidatingWebhookConfiguration/vault webhook vault", False, "webhook"),
        ("ServiceMonitor/openshift-vault/vault", True, None),
        ("Service/openshift-vault/vault", False, None),
    ],
)
def test_what_leads_to_an_overridden_listener_says_what_it_serves(
    origin: str, role: str | None, *, foreign: bool
) -> None:
    assert overridden(origin, foreign=foreign).overridden == role


def test_on_plain_kubernetes_no_component_is_let_off_for_want_of_adherence() -> None:
    """Only MicroShift's file is for some components and not for others."""
    where = endpoint("Deployment/kube-system/unheard-of:4443", {})
    snapshot = snapshot_of([], absent=frozenset({API_SERVER}))
    found = Expectations(snapshot, load_catalogue("kubernetes"), ScanPolicy(), endpoints=(where,)).of(where)
    assert (found.standing, found.binding) == ("platform", "must-follow")


def test_of_two_entries_of_a_component_the_one_of_the_namespace_is_meant() -> None:
    """Also where discovery knew the component, and no entry has the workload's name."""
    elsewhere, here = (
        Listener(
            component="vault", listener=namespace, namespaces=(namespace,), workloads=("vault",), ports=(8200,),
            governor="own", server_names=(f"{namespace}.example",),
        )
        for namespace in ("elsewhere", "here")
    )  # fmt: skip
    catalogue = Catalogue(listeners=(elsewhere, here), components=(Component(name="vault"),))
    where = replace(endpoint("Pod/here/another:8200", {}), component="vault")
    facts = Facts(snapshot_of([]), catalogue, ScanPolicy(), (where,), Wishes())
    assert facts.entry(where) == here
    # Discovery knows the component, whatever its namespace is called.
    assert facts.entry(replace(endpoint("Pod/third/another:8200", {}), component="vault")) == elsewhere
    assert facts.entry(replace(endpoint("Pod/here/another:8201", {}), component="vault")) is None
    assert facts.entry(endpoint("Pod/third/another:8200", {})) is None


def test_of_the_entries_of_the_ingress_operator_the_routers_is_meant() -> None:
    router = Listener(component="router", listener="a", namespaces=(), ports=(443,), governor="ingress")
    canary, plain = replace(router, component="canary"), replace(router, speaks="plain")
    catalogue = Catalogue(listeners=(replace(router, governor="own"), canary, plain, router))
    facts = Facts(snapshot_of([]), catalogue, ScanPolicy(), (), Wishes())
    assert (facts.router, facts.gateway) == (router, None)


def test_of_two_entries_of_a_component_the_one_of_the_workload_is_meant() -> None:
    others, own = (
        Listener(component="vault", listener=name, namespaces=("v",), workloads=(name,), ports=(8200,), governor="own")
        for name in ("other", "vault")
    )
    catalogue = Catalogue(listeners=(others, own), components=(Component(name="vault"),))
    where = replace(endpoint("Deployment/v/vault:8200", {}), component="vault")
    assert Facts(snapshot_of([]), catalogue, ScanPolicy(), (where,), Wishes()).entry(where) == own


def test_operators_that_could_not_be_read_leave_it_unsaid_whether_they_are_at_work() -> None:
    where, objects = endpoint(VAULT, {}), [version("4.22.0"), api_server("Modern")]
    said = [
        [each for each in found.remarks if "unknown whether its operator is rolling out a change" in each]
        for gaps in ({}, {"clusteroperators.config.openshift.io": "HTTP 403"})
        for found in [Expectations(snapshot_of(objects, unreadable=gaps), CATALOGUE, ScanPolicy()).of(where)]
    ]
    assert [len(each) for each in said] == [0, 1]
