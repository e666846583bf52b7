"""Settings that cannot be read or have another form, of Contour's file and of a hosting cluster."""

from __future__ import annotations

import pytest

from scanner.expect import Expectations
from scanner.kube.maybe import Unknown
from scanner.model.expectation import Expectation
from scanner.model.scan_policy import ScanPolicy
from tests.expect.stories import catalogue, endpoint, load, objects, resolved, snapshot_of


def under(text: str) -> Expectation:
    every = objects("contour-config-map")
    changed = [{**each, "data": {"contour.yaml": text}} if each["kind"] == "ConfigMap" else each for each in every]
    said = {"address": "10.2.0.5", "subject": "HTTPProxy/shop/strict", "segment": "Frontend"}
    where = endpoint("DaemonSet/projectcontour/envoy:8443#strict.example", said)
    return resolved(snapshot_of(changed), endpoints=(where,)).of(where)


@pytest.mark.parametrize(
    ("text", "is_read"), [("", True), ("# nothing", True), ("{}", True), ("- a", False), ("a", False)]
)
def test_a_file_of_contours_is_a_mapping_or_empty(text: str, is_read: bool) -> None:
    found = under(text)
    words = (*found.remarks, found.profile.reason if isinstance(found.profile, Unknown) else "")
    assert any("has no contour.yaml that is a mapping" in each for each in words) is not is_read


def test_where_the_hosting_clusters_settings_could_not_be_read_no_other_profile_is_as_good() -> None:
    every = objects("hypershift")
    snapshot = snapshot_of(
        [each for each in every if each["kind"] != "APIServer"],
        unreadable={"apiservers.config.openshift.io": "forbidden"},
    )
    hosting = catalogue("openshift", ("clusters-prod", "clusters-test"))
    name = "Deployment/clusters-test/oauth-openshift:6443"
    found = Expectations(snapshot, hosting, ScanPolicy()).of(load("hypershift").endpoints[name])
    assert any(each.endswith("of the hosting cluster governs it, but its value is unknown") for each in found.remarks)
    assert found.skewed == ()
    assert not isinstance(found.profile, Unknown)
