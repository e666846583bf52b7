"""Which NetworkPolicies explain silence, and which do not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.judge import judge
from scanner.judge.network_policy import READS, NetworkPolicies, explain
from scanner.kube.kinds import NETWORK_POLICY
from scanner.kube.objects import KubeObject, Reference
from scanner.model.endpoint import Endpoint
from scanner.model.observation import Reach
from scanner.values import replace
from tests.judge.cases import WEB, case


def policy(spec: object, name: str = "p", namespace: str = "shop") -> KubeObject:
    return KubeObject({"metadata": {"name": name, "namespace": namespace}, "spec": spec}, NETWORK_POLICY)


def closing(*policies: KubeObject, endpoint: Endpoint = WEB) -> list[str]:
    return [str(each) for each in NetworkPolicies(policies).closing(endpoint)]


NOBODY = "NetworkPolicy/shop/p selects the pod and admits no client to this port"


def only(whom: str) -> str:
    return f"NetworkPolicy/shop/p admits to this port only {whom}"


MONITORING = {"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}

EXPRESSIONS = [
    {"key": "a", "operator": "In", "values": ["1", "2", "3", "4"]},
    {"key": "b", "operator": "Exists"},
    {"key": "c", "operator": "In", "values": ["4"]},
    {"key": "d", "operator": "Exists"},
]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"podSelector": {}}, [NOBODY]),
        ({}, [NOBODY]),
        ({"podSelector": {}, "policyTypes": ["Egress"]}, []),
        ({"podSelector": {"matchLabels": {"app": "web"}}, "ingress": []}, [NOBODY]),
        ({"podSelector": {"matchLabels": {"app": "db"}}}, []),
        ({"podSelector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}}, [NOBODY]),
        ({"podSelector": {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}}, []),
        ({"podSelector": {"matchExpressions": [{"key": "tier", "operator": "Exists"}]}}, [NOBODY]),
        ({"podSelector": {"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}}, []),
        ({"podSelector": {"matchExpressions": [{"key": "tier", "operator": "Invented"}]}}, []),
        ({"ingress": [{}]}, []),
        ({"ingress": [{"ports": [{"port": 8443}]}]}, []),
        ({"ingress": [{"ports": [{"port": 443}]}]}, [NOBODY]),
        ({"ingress": [{"ports": [{"port": 8000, "endPort": 9000}]}]}, []),
        ({"ingress": [{"ports": [{"port": 8443, "protocol": "UDP"}]}]}, [NOBODY]),
        ({"ingress": [{"ports": [{"port": "https"}]}]}, []),
        ({"ingress": [{"from": [MONITORING]}]}, [only("namespaces with name=monitoring")]),
        ({"ingress": [{"from": [{"namespaceSelector": {}}]}]}, []),
        ({"ingress": [{"from": [{"podSelector": {}}]}]}, [only("pods of its own namespace")]),
        (
            {"ingress": [{"from": [{"podSelector": {"matchLabels": {"a": "b"}}, "namespaceSelector": {}}]}]},
            [only("pods with a=b of all namespaces")],
        ),
        ({"ingress": [{"from": [{"podSelector": {"matchExpressions": EXPRESSIONS}}]}]},
         [only("pods with a In (1, 2, 3), b Exists, c In (4) of its own namespace")]),
        ({"ingress": [{"from": [{"namespaceSelector": {"matchExpressions": EXPRESSIONS[1:2]}}]}]},
         [only("namespaces with b Exists")]),
        ({"ingress": [{"ports": [{"port": 8000, "endPort": 8443}]}]}, []),
        ({"ingress": [{"ports": [{"port": 8000, "endPort": 8442}]}]}, [NOBODY]),
        ({"ingress": [{"ports": [{"port": 8444, "endPort": 9000}]}]}, [NOBODY]),
        ({"ingress": [{"ports": [{"port": 443}, {"port": 8443}]}]}, []),
        ({"ingress": [{"ports": [{"port": 443}]}, {"from": [MONITORING]}]}, [only("namespaces with name=monitoring")]),
        ({"ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}]}, [only("addresses in 10.0.0.0/8")]),
        ({"ingress": [{"from": [{"ipBlock": {"cidr": "::/0", "except": ["fd00::/8"]}}]}]}, [only("addresses in ::/0")]),
        ({"ingress": [{"from": [{"ipBlock": {"cidr": "::/0"}}]}]}, []),
        ({"ingress": [{"from": [{"ipBlock": {"cidr": "0.0.0.0/0"}}]}]}, []),
        (
            {"ingress": [{"from": [MONITORING] * 5}]},
            [only(f"{', '.join(['namespaces with name=monitoring'] * 3)} and 2 more")],
        ),
    ],
)  # fmt: skip
def test_what_one_policy_says(spec: object, said: list[str]) -> None:
    assert closing(policy(spec)) == said


def test_four_policies_explain_by_three_of_them() -> None:
    of = case(observation={"reach": Reach.FILTERED})
    closed = NetworkPolicies([policy({}, name) for name in "abcd"])
    told = explain(closed, WEB, of.observation, judge(of).findings)
    assert len(told.blocked_by) == len(told.findings[0].evidence) == 3
    assert told.findings[0].fix == (
        "admit the scanner to port 8443 in NetworkPolicy/shop/a, or scan from a client that it admits"
    )


def test_policies_add_up() -> None:
    assert closing(policy({}), policy({"ingress": [{}]}, "open")) == []
    assert closing(policy({}), policy({}, "elsewhere", "other")) == [NOBODY]


def test_the_network_of_the_node_has_no_policies() -> None:
    assert closing(policy({}), endpoint=replace(WEB, node="worker-1")) == []
    assert closing(policy({}), endpoint=replace(WEB, pod=None)) == []


def test_silence_is_explained_on_its_finding() -> None:
    of = case(observation={"reach": Reach.FILTERED})
    told = explain(NetworkPolicies([policy({})]), WEB, of.observation, judge(of).findings)
    (finding,) = told.findings
    assert (finding.rule, finding.verdict) == ("tls-reach", "inconclusive")
    assert finding.evidence[-1] == NOBODY
    assert finding.fix is not None
    assert "NetworkPolicy/shop/p" in finding.fix
    assert told.blocked_by == (Reference(kind="NetworkPolicy", namespace="shop", name="p"),)


@pytest.mark.parametrize("reach", [Reach.TLS, Reach.CLOSED, Reach.SILENT])
def test_what_answered_needs_no_explanation(reach: Reach) -> None:
    of = case(observation={"reach": reach})
    findings = judge(of).findings
    told = explain(NetworkPolicies([policy({})]), WEB, of.observation, findings)
    assert (told.findings, told.blocked_by) == (findings, ())


_JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(("podSelector", "matchLabels", "matchExpressions", "ingress", "ports", "from", "port",
                         "ipBlock",
                         "cidr", "namespaceSelector", "policyTypes", "key", "operator", "values", "endPort")),
        inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(_JSON)
def test_no_object_is_too_strange(spec: object) -> None:
    assert len(closing(policy(spec))) <= 1


def test_what_it_reads() -> None:
    assert READS == (NETWORK_POLICY,)
