"""ServiceMonitors and PodMonitors."""

from __future__ import annotations

import pytest

from tests.discover.objects import found, only, origins
from tests.discover.samples import TARGET, monitor


@pytest.mark.parametrize(
    ("endpoint", "certainty"),
    [
        ("port: metrics, scheme: https", "declared"),
        ("port: metrics, scheme: HTTPS", "declared"),
        ("targetPort: 9187, scheme: https", "declared"),
        ("targetPort: metrics, scheme: https", "declared"),
        ("port: metrics, scheme: http", "candidate"),
        ("port: metrics", "candidate"),
        ("port: other, scheme: https", "candidate"),
    ],
)
@pytest.mark.parametrize("kind", ["ServiceMonitor", "PodMonitor"])
def test_scraping_by_https_declares_tls(kind: str, endpoint: str, certainty: str) -> None:
    assert only(found(TARGET + monitor(endpoint, kind=kind))).certainty == certainty


def test_the_server_name_of_a_monitor_is_sent() -> None:
    one = only(found(TARGET + monitor("port: metrics, scheme: https, tlsConfig: {serverName: db.shop.svc}")))
    assert (one.id, one.server_name) == ("StatefulSet/shop/db:9187#db.shop.svc", "db.shop.svc")
    assert origins(one)[0] == "ServiceMonitor/shop/db port metrics"


@pytest.mark.parametrize(
    ("selection", "certainty"),
    [
        ("selector: {}", "declared"),
        ("selector: {matchExpressions: [{key: app, operator: In, values: [db, x]}]}", "declared"),
        ("selector: {matchExpressions: [{key: app, operator: NotIn, values: [db]}]}", "candidate"),
        ("selector: {matchExpressions: [{key: app, operator: NotIn, values: [web]}]}", "declared"),
        ("selector: {matchExpressions: [{key: tier, operator: NotIn, values: [web]}]}", "declared"),
        ("selector: {matchExpressions: [{key: tier, operator: In, values: [web]}]}", "candidate"),
        ("selector: {matchExpressions: [{key: app, operator: Exists}]}", "declared"),
        ("selector: {matchExpressions: [{key: app, operator: DoesNotExist}]}", "candidate"),
        ("selector: {matchExpressions: [{key: app, operator: Odd}]}", "candidate"),
        ("selector: {matchLabels: {app: db, tier: x}}", "candidate"),
        ("selector: {matchLabels: {app: db}}, namespaceSelector: {any: true}", "declared"),
        ("selector: {matchLabels: {app: db}}, namespaceSelector: {matchNames: [other]}", "candidate"),
        ("selector: {matchLabels: {app: db}}, namespaceSelector: {matchNames: [other, shop]}", "declared"),
    ],
)
def test_selection(selection: str, certainty: str) -> None:
    assert only(found(TARGET + monitor("port: metrics, scheme: https", selection))).certainty == certainty


def test_a_monitor_without_a_port_s_name_does_not_mean_the_one_without_a_name() -> None:
    unnamed = TARGET.replace("{name: metrics, port:", "{port:")
    assert only(found(unnamed + monitor("targetPort: 9187, scheme: https"))).certainty == "declared"
    assert only(found(unnamed + monitor("targetPort: 9188, scheme: https"))).certainty == "candidate"


@pytest.mark.parametrize("port", ["portNumber", "targetPort"])
def test_a_pod_monitor_may_name_the_number(port: str) -> None:
    one = only(found(TARGET + monitor(f"{port}: 9187, scheme: https", kind="PodMonitor")))
    assert (one.certainty, origins(one)[0]) == ("declared", "PodMonitor/shop/db port 9187")
