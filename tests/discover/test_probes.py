"""Probes of blackbox exporters."""

from __future__ import annotations

import pytest

from tests.discover.objects import by_id, found, left_out, only, origins
from tests.discover.probes import probe, static
from tests.discover.samples import ENVOY, ROUTER, TARGET, ingress, proxy, route


@pytest.mark.parametrize(
    ("target", "module", "certainty"),
    [
        ("https://db.shop.svc:9000/health", "http_2xx", "declared"),
        ("HTTPS://db.shop.svc.cluster.local:9000", "http_2xx", "declared"),
        ("https://172.30.0.6:9000", "http_2xx", "declared"),
        ("https://10.128.0.60:9187", "http_2xx", "declared"),
        ("http://db.shop.svc:9000", "http_2xx", "candidate"),
        ("db.shop.svc:9000", "tcp_tls", "hinted"),
        ("db.shop.svc:9000", "tls_connect", "hinted"),
        ("db.shop.svc:9000", "tcp_connect", "candidate"),
        ("db.shop.svc:9000", "smtp_starttls", "candidate"),
        ("https://[", "http_2xx", "candidate"),
        ("https://db.shop.svc:99999", "http_2xx", "candidate"),
    ],
)
def test_a_static_target_is_what_its_url_or_module_says(target: str, module: str, certainty: str) -> None:
    assert only(found(TARGET + static(target, module=module))).certainty == certainty


def test_the_listener_is_the_one_behind_the_service_and_the_name_is_sent() -> None:
    one = only(found(TARGET + static("https://db.shop.svc:9000")))
    assert (one.id, one.address) == ("StatefulSet/shop/db:9187#db.shop.svc", "10.128.0.60")
    assert "Probe/shop/site target db.shop.svc" in origins(one)


@pytest.mark.parametrize(
    ("probes", "pods", "certainty"),
    [
        ("monitoring", "shop", "declared"),
        ("monitoring", "openshift-x", "candidate"),
        ("openshift-monitoring", "openshift-x", "declared"),
    ],
)
def test_a_probe_declares_for_users_and_only_the_platform_s_for_the_platform(
    probes: str, pods: str, certainty: str
) -> None:
    text = TARGET.replace("namespace: shop", f"namespace: {pods}")
    assert only(found(text + static(f"https://db.{pods}.svc:9000", namespace=probes))).certainty == certainty


def test_what_is_not_the_cluster_s_is_a_candidate_that_is_not_dialled_unless_it_may() -> None:
    text = static("https://203.0.113.9/", "https://example.com/", "https://169.254.169.254/")
    discovery = found(text)
    assert {(each.host, each.certainty) for each in discovery.endpoints} == {("example.com", "candidate")}
    assert sum(each for reason, each in left_out(discovery).items() if "outside of the dial scope" in reason) == 2
    external = by_id(found(text, allow_external=True))
    one = external["Probe/shop/site/203.0.113.9:443"]
    assert (one.address, one.sampled) == ("203.0.113.9", False)
    assert set(external) == {"Probe/shop/site/203.0.113.9:443", "Probe/shop/site/example.com:443#example.com"}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (ROUTER + route("edge"), "shop.apps.ex.com"),
        (ENVOY + proxy("secretName: a"), "shop.ex.com"),
        (ENVOY + ingress("{ip: 198.51.100.8}", "[b.ex.com, shop.ex.com]"), "shop.ex.com"),
    ],
    ids=["Route", "HTTPProxy", "Ingress"],
)
def test_a_name_that_is_published_is_asked_once(text: str, name: str) -> None:
    assert set(by_id(found(text + static(f"https://{name}/")))) == set(by_id(found(text)))


def test_nobody_hides_a_target_in_the_cluster_by_publishing_its_name() -> None:
    hides = ingress("{ip: 198.51.100.8}", "[db.shop.svc]").replace("namespace: shop", "namespace: evil")
    text = TARGET + static("https://db.shop.svc:9000")
    one = by_id(found(text + hides))["StatefulSet/shop/db:9187#db.shop.svc"]
    assert one.certainty == "declared"


def test_selected_ingresses_are_asked_by_their_names() -> None:
    text = ENVOY + ingress("{ip: 198.51.100.8}", "[shop.ex.com]").replace("name: shop,", "name: shop, labels: {a: b},")
    chosen = by_id(found(text + probe("ingress: {selector: {matchLabels: {a: b}}}")))
    one = chosen["DaemonSet/projectcontour/envoy:8443#shop.ex.com"]
    assert "Probe/shop/site of Ingress/shop/shop" in origins(one)
    other = by_id(found(text + probe("ingress: {selector: {matchLabels: {a: c}}}")))
    assert not any("Probe" in origin for each in other.values() for origin in origins(each))
    both = probe("ingress: {selector: {}}, staticConfig: {static: []}")
    assert not any("Probe" in origin for each in found(text + both).endpoints for origin in origins(each))


@pytest.mark.parametrize("url", ["db.shop.svc:9000", "db:9000", "db.shop:9000"])
def test_the_exporter_itself_where_it_is_asked_by_https(url: str) -> None:
    rest = f", prober: {{url: '{url}', scheme: https}}, tlsConfig: {{serverName: black.box}}"
    one = only(found(TARGET + probe("staticConfig: {static: []}", rest)))
    assert (one.id, one.certainty) == ("StatefulSet/shop/db:9187#black.box", "declared")
    plain = only(found(TARGET + probe("staticConfig: {static: []}", rest.replace("https", "http"))))
    assert plain.certainty == "candidate"


def test_an_exporter_elsewhere_is_counted() -> None:
    discovery = found(probe("staticConfig: {static: []}", ", prober: {url: 'box.example:9115', scheme: https}"))
    assert left_out(discovery) == {"probers of Probes outside of the cluster": 1}


def test_too_many_targets_are_cut_and_counted() -> None:
    discovery = found(TARGET + static(*(f"https://db.shop.svc:{1000 + number}" for number in range(1003))))
    assert left_out(discovery)["static targets of one Probe beyond the first 1,000: truncated, not read"] == 3
    assert discovery.truncated == 3
