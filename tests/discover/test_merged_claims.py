"""Several claims on one listener: the strongest certainty counts, in any order."""

from __future__ import annotations

from itertools import product
from typing import get_args

import pytest

from scanner.discover.listener_claims import Claim, Naming, PlacedClaim
from scanner.discover.merged_claims import Listener, MergedClaims, rank, stronger
from scanner.discover.workloads import Place
from scanner.model.endpoint import Certainty
from scanner.values import replace
from tests.discover.objects import found, only
from tests.origins import origin

ORDER: tuple[Certainty, ...] = ("declared", "hinted", "candidate")


@pytest.mark.parametrize(("one", "other"), list(product(ORDER, ORDER)))
def test_the_stronger_of_two_certainties_counts(one: Certainty, other: Certainty) -> None:
    assert stronger(one, other) == ORDER[min(ORDER.index(one), ORDER.index(other))]


def test_every_certainty_has_a_rank_of_its_own() -> None:
    assert sorted(get_args(Certainty), key=rank) == list(ORDER)
    assert len({rank(each) for each in ORDER}) == len(ORDER)


@pytest.mark.parametrize(
    ("service", "container", "certainty"),
    [("https", "tcp", "hinted"), ("tcp", "https", "hinted"), ("tcp", "tcp", "candidate")],
)
def test_a_hint_of_either_object_is_a_hint(service: str, container: str, certainty: Certainty) -> None:
    text = f"""
---
{{kind: Service, metadata: {{name: web, namespace: shop}}, spec: {{clusterIP: 172.30.0.9, ports: [{{name: {service},
  port: 9000}}]}}}}
---
{{kind: EndpointSlice, metadata: {{name: web-1, namespace: shop, labels: {{kubernetes.io/service-name: web}}}},
  ports: [{{name: {service}, port: 9000}}], endpoints: [{{addresses: [10.128.0.7]}}]}}
---
{{kind: Pod, metadata: {{name: web, namespace: shop}}, spec: {{containers: [{{name: c, ports: [{{name: {container},
  containerPort: 9000}}]}}]}}, status: {{podIP: 10.128.0.7}}}}
"""
    assert only(found(text)).certainty == certainty


def test_as_many_origins_as_are_kept_are_cut_only_beyond_the_limit() -> None:
    """Another namespace's are counted apart: they push none out by which the listener is judged."""
    said = MergedClaims()
    for number in range(20):
        said.origin(replace(origin(f"Route/shop/r{number}"), foreign=True))
    for number in range(1_000):
        said.origin(origin(f"CustomResourceDefinition/x{number} conversion"))
    assert (len(said.origins), said.cut, said.cut_foreign) == (1_020, 0, 0)
    said.origin(origin("CustomResourceDefinition/more conversion"))
    assert (len(said.origins), said.cut, said.cut_foreign) == (1_020, 1, 0)
    said.origin(replace(origin("Route/shop/more"), foreign=True))
    assert (len(said.origins), said.cut, said.cut_foreign) == (1_020, 1, 1)


@pytest.mark.parametrize("count", [2, 40])
def test_an_origin_that_several_claims_share_is_kept_once(count: int) -> None:
    said = MergedClaims()
    every = [origin(f"CustomResourceDefinition/x{number} conversion") for number in range(count)]
    for each in (*every, *every):
        said.origin(each)
    assert said.origins == every


def test_what_one_draft_says_of_a_listener_is_kept_where_the_next_says_nothing() -> None:
    listener = Listener(Place("10.128.0.7", 9000))
    here = origin("Service/shop/web")
    listener.add(PlacedClaim(Claim(certainty="hinted", origin=here, app_protocol="postgresql"), listener.place))
    listener.add(PlacedClaim(Claim(certainty="hinted", origin=here), listener.place))
    assert listener.app_protocol == "postgresql"


def test_addresses_of_services_beyond_the_limit_are_counted_and_those_of_others_push_none_out() -> None:
    listener = Listener(Place("10.128.0.7", 9000))
    here = origin("Service/shop/web")

    def add(prefix: str, count: int, *, foreign: bool = False) -> None:
        claim = Claim(certainty="hinted", origin=replace(here, foreign=foreign))
        listener.add(
            PlacedClaim(claim, listener.place, aliases=tuple(f"{prefix}{number}:443" for number in range(count)))
        )

    add("other", 51, foreign=True)
    assert (len(listener.aliases), listener.cut_aliases) == (50, 0)
    add("own", 1_000)
    add("own", 1_000)
    assert (len(listener.aliases), listener.cut_aliases) == (1_050, 0)
    add("own", 1_001)
    assert (len(listener.aliases), listener.cut_aliases) == (1_050, 1)


@pytest.mark.parametrize(
    ("words", "naming"),
    [
        (("soft", "also"), "also"),
        (("also", "soft"), "also"),
        (("also", "only"), "only"),
        (("only", "also"), "only"),
        (("only", "soft"), "only"),
    ],
)
def test_how_a_name_is_asked_is_what_the_strongest_word_says(words: tuple[Naming, ...], naming: Naming) -> None:
    said = MergedClaims()
    for each in words:
        said.add(Claim(certainty="declared", origin=origin("Service/shop/web"), name="a.example", naming=each))
    assert said.naming == naming
