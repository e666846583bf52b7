"""Servers that the API server calls: webhooks, conversion, aggregated APIs."""

from __future__ import annotations

import pytest

from tests.discover.objects import by_id, found, instances, left_out, only, origins
from tests.discover.samples import BACKEND, webhook

CONFIGURATION = "ValidatingWebhookConfiguration/guard"
METADATA = "metadata: {name: policy, namespace: guard}"
SERVICE = "service: {namespace: guard, name: policy}"


CALLERS = [
    (webhook(SERVICE), "ValidatingWebhookConfiguration/guard webhook a.guard.io"),
    (webhook(SERVICE, "MutatingWebhookConfiguration"), "MutatingWebhookConfiguration/guard webhook a.guard.io"),
    (webhook("url: 'https://policy.guard.svc:443/x'"), "ValidatingWebhookConfiguration/guard webhook a.guard.io"),
    (
        """
---
{kind: CustomResourceDefinition, metadata: {name: a.b},
 spec: {conversion: {strategy: Webhook, webhook: {clientConfig: {service: {namespace: guard, name: policy}}}}}}
""",
        "CustomResourceDefinition/a.b conversion",
    ),
    (f"\n---\n{{kind: APIService, metadata: {{name: v1.a}}, spec: {{{SERVICE}}}}}", "APIService/v1.a"),
]


@pytest.mark.parametrize(("caller", "origin"), CALLERS)
def test_a_call_declares_tls_under_the_service_s_name_and_is_asked_once(caller: str, origin: str) -> None:
    one = only(found(BACKEND + caller))
    assert one.instance == "Deployment/guard/policy:9443#policy.guard.svc @ 10.128.0.8:9443"
    assert (one.certainty, one.server_name) == ("declared", "policy.guard.svc")
    assert origins(one)[0] == origin
    assert "Service/guard/policy port 443" in origins(one)
    assert str(one.subject) == origin.split(maxsplit=1)[0]
    assert one.aliases == ("policy.guard.svc:443", "172.30.0.8:443")


def test_two_callers_of_one_service_are_one_endpoint() -> None:
    assert len(only(found(BACKEND + CALLERS[0][0] + CALLERS[1][0])).origins) == 4


def test_a_local_api_and_a_crd_without_webhook_lead_nowhere() -> None:
    text = """
{kind: APIService, metadata: {name: v1.}, spec: {service: null}}
---
{kind: CustomResourceDefinition, metadata: {name: a.b}, spec: {conversion: {strategy: None}}}
---
{kind: CustomResourceDefinition, metadata: {name: c.d},
 spec: {conversion: {strategy: None, webhook: {clientConfig: {service: {namespace: guard, name: policy}}}}}}
"""
    discovery = found(text + webhook(""))
    assert not discovery.endpoints
    assert not [each for each in left_out(discovery) if "calls of the API server" in each]


@pytest.mark.parametrize(
    "text",
    [
        webhook(SERVICE),
        BACKEND + webhook("service: {namespace: guard, name: policy, port: 8443}"),
        f"{webhook(SERVICE)}---\n{{kind: Service, {METADATA}, spec: {{type: ExternalName}}}}",
        f"{webhook(SERVICE)}---\n{{kind: Service, {METADATA}, spec: {{ports: [{{port: 443}}]}}}}",
    ],
)
def test_a_call_that_leads_nowhere_is_never_lost(text: str) -> None:
    discovery = found(text.replace("metadata: {name: guard}", "metadata: {name: guard, labels: {team: x}}"))
    one = next(each for each in discovery.endpoints if each.server_name)
    assert (str(one.subject), one.labels) == (CONFIGURATION, (("team", "x"),))
    assert (one.address, one.host, one.certainty, one.ready) == ("", "policy.guard.svc", "declared", False)
    assert one.id.startswith("Service/guard/policy:")


@pytest.mark.parametrize(
    ("url", "instance"),
    [
        ("https://hooks.example/x", f"{CONFIGURATION}/hooks.example:443#hooks.example @ hooks.example:443"),
        ("https://203.0.113.9:8443/", f"{CONFIGURATION}/203.0.113.9:8443 @ 203.0.113.9:8443"),
        ("https://10.128.0.8:9443/", "Deployment/guard/policy:9443 @ 10.128.0.8:9443"),
        ("https://172.30.0.8/", "Deployment/guard/policy:9443 @ 10.128.0.8:9443"),
    ],
)
def test_urls(url: str, instance: str) -> None:
    assert instance in instances(found(BACKEND + webhook(f"url: '{url}'")))


def test_what_a_url_names_outside_of_the_scope_is_kept_for_the_scan_to_refuse() -> None:
    discovery = found(webhook("url: 'https://203.0.113.9/'"))
    assert (only(discovery).certainty, only(discovery).sampled) == ("declared", False)
    assert discovery.scope.refusal("203.0.113.9")


@pytest.mark.parametrize("service", ["namespace: guard, name: policy, port: 0", "namespace: guard, name: ''"])
def test_a_service_that_cannot_exist_is_left_out(service: str) -> None:
    assert left_out(found(webhook(f"service: {{{service}}}"))) == {
        "calls of the API server with an invalid Service name or port": 1
    }


def test_a_url_that_is_no_text_is_one_that_cannot_be_asked() -> None:
    assert left_out(found(webhook("url: 5"))) == {"URLs of webhooks other than https://host": 1}


@pytest.mark.parametrize(
    "url", ["http://a.example", "https://", "https://[::1", "https://a b/", "https://a:99999/", "https://-/"]
)
def test_urls_that_are_none(url: str) -> None:
    assert left_out(found(webhook(f"url: '{url}'"))) == {"URLs of webhooks other than https://host": 1}


def test_two_names_that_clients_verify_are_two_certificates_to_ask_for() -> None:
    other = BACKEND.split("---", 2)[2].replace("policy", "alias")
    text = f"{BACKEND}---{other}{webhook(SERVICE)}{CALLERS[4][0].replace('name: policy', 'name: alias')}"
    assert sorted(by_id(found(text))) == [
        "Deployment/guard/policy:9443#alias.guard.svc",
        "Deployment/guard/policy:9443#policy.guard.svc",
    ]
