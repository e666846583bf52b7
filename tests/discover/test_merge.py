"""What several objects say of one listener: the strongest certainty counts, whichever comes first."""

from __future__ import annotations

from itertools import product
from typing import get_args

import pytest

from scanner.discover.merge import rank, stronger
from scanner.model.endpoint import Certainty
from tests.discover.objects import found, only

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
