"""Whose a listener is, where neither its name nor its namespace says so."""

from __future__ import annotations

from typing import Any

import pytest

from scanner.config.component_catalogue import load_catalogue
from scanner.expect import Expectations
from scanner.kube.kinds import DEPLOYMENT
from scanner.kube.objects import Reference
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Expectation
from scanner.model.scan_policy import ScanPolicy
from scanner.values import replace
from tests.expect.declared_objects import made
from tests.expect.stories import endpoint, snapshot_of

CENTRAL = "Deployment/made-up/central:8443"
API_VERSION = "platform.made-up.io/v1alpha1"


def version(**metadata: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    owned = [{"name": "centrals.platform.made-up.io", "kind": "Central", "version": "v1alpha1"}]
    spec = {"customresourcedefinitions": {"owned": owned}}
    return made("ClusterServiceVersion", "operators", "made-up-operator.v4", "operators.coreos.com/v1alpha1",
                metadata=metadata, spec=spec)  # fmt: skip


def owned(kind: str, name: str, by: str = "Central", api_version: str = API_VERSION) -> dict[str, Any]:
    owners = [{"apiVersion": api_version, "kind": by, "name": "made-up-central", "controller": True}]
    group = {"Deployment": "apps/v1"}.get(kind, "v1")
    return made(kind, "made-up", name, group, metadata={"ownerReferences": owners})


def owes(where: Endpoint, *objects: dict[str, Any], distribution: str = "openshift") -> Expectation:
    catalogue = load_catalogue(distribution)
    return Expectations(snapshot_of(list(objects)), catalogue, ScanPolicy(), endpoints=(where,)).of(where)


def at(name: str = CENTRAL) -> Endpoint:
    pod = Reference(kind="Pod", name="central-1", namespace="made-up")
    return replace(endpoint(name, {}), pod=pod, aliases=("central.made-up.svc:443", "172.30.0.4:443"))


@pytest.mark.parametrize("kind", ["Pod", "Service", "Deployment"])
def test_what_an_object_of_a_layered_product_owns_is_layered(kind: str) -> None:
    found = owes(at(), version(), owned(kind, "central-1" if kind == "Pod" else "central"))
    assert found.standing == "layered"
    said = f"owns the kind of Central/made-up-central, which owns {kind}/made-up/central"
    (because,) = [each for each in found.because if each.field == "spec.customresourcedefinitions.owned"]
    assert because.source == "ClusterServiceVersion/operators/made-up-operator.v4"
    assert because.said.startswith(said)


@pytest.mark.parametrize(("labels", "standing"), [({"olm.owner": "made-up"}, "layered"), ({"olm": "made-up"}, "user")])
def test_what_olm_labels_is_layered(labels: dict[str, str], standing: str) -> None:
    assert owes(replace(at(), labels=tuple(labels.items()))).standing == standing


@pytest.mark.parametrize(
    "objects",
    [
        (owned("Service", "central"),),
        (version(), owned("Service", "other")),
        (version(), owned("Service", "central", by="Other")),
        (version(), owned("Service", "central", api_version="other.example/v1")),
        (version(labels={"olm.copiedFrom": "operators"}), owned("Service", "central")),
    ],
)
def test_anything_else_stays_a_users(objects: tuple[dict[str, Any], ...]) -> None:
    assert owes(at(), *objects).standing == "user"


WORKLOAD = made("Deployment", "made-up", "central", "apps/v1")


@pytest.mark.parametrize(
    ("objects", "name", "why"),
    [
        ((version(),), CENTRAL, "deployments were not read"),
        ((version(), WORKLOAD), CENTRAL, None),  # nobody's
        ((), CENTRAL, None),  # there are no layered products
        ((version(), owned("Service", "central")), CENTRAL, None),  # another object knows
        ((version(),), "Service/made-up/central:8443", None),
    ],
)
def test_ownership_that_is_not_visible_is_said(objects: tuple[dict[str, Any], ...], name: str, why: str | None) -> None:
    """The base role reads no Deployments, and the pod of one names its ReplicaSet."""
    whole = snapshot_of(list(objects))
    read = {kind: held for kind, held in whole.objects.items() if held or kind is not DEPLOYMENT}
    catalogue, where = load_catalogue("openshift"), at(name)
    found = Expectations(replace(whole, objects=read), catalogue, ScanPolicy(), endpoints=(where,)).of(where)
    said = [each.said for each in found.because if each.field == "metadata.ownerReferences"]
    told = "if an object of a layered product owns it, it is layered and not a user workload"
    assert said == ([f"not visible ({why}): {told}"] if why else [])


@pytest.mark.parametrize("distribution", ["openshift", "kubernetes"])
@pytest.mark.parametrize("port", [443, 6443])
def test_the_api_server_is_the_platform_s_whatever_its_slices_say(port: int, distribution: str) -> None:
    found = owes(endpoint(f"Service/default/kubernetes:{port}", {}), distribution=distribution)
    assert (found.standing, found.component) == ("platform", "kube-apiserver")
    assert owes(endpoint(f"Service/default/web:{port}", {}), distribution="kubernetes").component is None


def test_an_operand_that_only_has_the_name_of_a_users_workload_says_nothing_of_it() -> None:
    """A Service of that name counts where it leads there, or where nothing but the Service is known."""
    apart = replace(at(), aliases=())
    assert owes(apart, version(), owned("Service", "central")).standing == "user"
    alone = endpoint("Service/made-up/central:8443", {})
    assert owes(alone, version(), owned("Service", "central")).standing == "layered"
