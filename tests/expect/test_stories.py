"""What the endpoints of each story in ``tests/clusters`` owe."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest

import scanner.expect
from scanner.config.component_catalogue import load_catalogue
from scanner.expect import RESOLVERS, Expectations, passthrough
from scanner.kube.kinds import API_SERVER
from scanner.kube.maybe import Unknown
from scanner.kube.objects import KubeObject
from scanner.kube.profile_catalogue import load_profile
from scanner.kube.tls_profile import Profile
from scanner.model.expectation import Because, Expectation, Lever
from scanner.model.scan_policy import ScanPolicy
from scanner.tls.codepoints import TLS13
from scanner.tls.names import group_code, is_tls13, suite_code, version_name
from scanner.values import replace
from tests.expect import stories
from tests.report.golden import assert_golden


@pytest.mark.parametrize("story", stories.names())
def test_each_endpoint_owes_what_is_expected(story: str) -> None:
    told = stories.load(story)
    for name, wanted in told.expected.items():
        try:
            _owes(told.owed(name), wanted)
        except Exception as error:
            error.add_note(f"tests/clusters/{story}/expected.yaml: {name} (tests/clusters/README.md has the fields)")
            raise


def _owes(owed: Expectation, wanted: Mapping[str, Any]) -> None:
    reasons = [f"{each.source} {each.field}: {each.said}; {each.beat}" for each in owed.because]
    assert owed.binding == wanted["binding"], reasons
    _profile(owed, wanted.get("owes"), wanted.get("unknown"))
    for field in wanted.keys() & stories.COMPARED:
        assert getattr(owed, field) == wanted[field], (field, reasons)
    if "min" in wanted:
        assert version_name(_known(owed).min_version) == wanted["min"]
    if "suites" in wanted:
        assert set(_known(owed).suites) == {suite_code(each) for each in wanted["suites"]}
    if "groups" in wanted:
        assert _known(owed).groups == tuple(group_code(each) for each in wanted["groups"])
    if "with" in wanted:
        assert {suite_code(each) for each in wanted["with"]} <= set(_known(owed).suites)
    for field in wanted.keys() & {"alternatives", "skewed"}:
        assert [each.name for each in getattr(owed, field)] == wanted[field]
    if "cause" in wanted:
        assert (owed.lever.told or None if owed.lever else None) == wanted["cause"]
    _said(wanted.get("because", ()), reasons)
    remarks = (*_notes(owed), *owed.remarks)
    _said(wanted.get("remarks", ()), remarks)
    if "all_remarks" in wanted:
        _said(wanted["all_remarks"], remarks)
        assert len(wanted["all_remarks"]) == len(remarks), ("and no others", remarks)


def _profile(owed: Expectation, name: str | None, unknown: str | None) -> None:
    if unknown is not None:
        assert isinstance(owed.profile, Unknown), owed
        assert unknown in owed.profile.reason
    else:
        assert _known(owed).name == name


def _notes(owed: Expectation) -> tuple[str, ...]:
    return () if isinstance(owed.profile, Unknown) else owed.profile.notes


def _known(owed: Expectation) -> Profile:
    assert not isinstance(owed.profile, Unknown), owed
    return owed.profile


def _said(wanted: Iterable[str], said: Iterable[str]) -> None:
    """Each is part of some text, in this order."""
    texts = iter(said)
    for each in wanted:
        assert any(each in text for text in texts), (each, list(said))


def test_every_predefined_profile_is_told() -> None:
    told = {"/".join(str(each.get("owes")).split("/")[-1:]) for _, each in _all()}
    assert {"old", "intermediate", "modern"} <= told


@pytest.mark.parametrize("story", stories.names())
def test_every_step_has_a_source_and_words_and_one_decides(story: str) -> None:
    told = stories.load(story)
    for name in told.endpoints:
        owed = told.owed(name)
        assert all(each.source and each.said for each in owed.because), name
        assert sum(each.decides for each in owed.because) == 1, name


@pytest.mark.parametrize("story", stories.names())
def test_whatif_asks_for_another_profile(story: str) -> None:
    told = stories.load(story, profile=load_profile("modern"), adherence="StrictAllComponents", release="4.23")
    for name in told.endpoints:
        sources = {each.source for each in told.owed(name).because}
        hosted = any(each.startswith("Hosted") for each in sources)
        assert "--profile" in sources or hosted, (name, sources)


def _all() -> list[tuple[str, dict[str, object]]]:
    return [(name, dict(fields)) for story in stories.names() for name, fields in stories.load(story).expected.items()]


@pytest.mark.parametrize("story", ["ingress-rollout", "operator-progressing", "updating-pool"])
def test_nobody_rolls_out_what_is_only_assumed(story: str) -> None:
    """``whatif`` asks who would have to change: what a listener does today is no excuse."""
    told = stories.load(story, profile=load_profile("modern"), adherence="StrictAllComponents")
    owed = [told.owed(name) for name in told.endpoints]
    asked = [each for each in owed if _deciding(each)[0].source == "--profile"]
    assert all(each.binding == "must-follow" and not each.alternatives for each in asked)
    assert asked


def profiled(where: str, applied_by: str) -> Lever:
    return Lever(where=where, field="spec.tlsSecurityProfile", applied_by=applied_by)


ROUTER = "Deployment/openshift-ingress/router-default:443"
LEVERS = [
    ("custom", "StaticPod/openshift-etcd/etcd:2379", profiled("APIServer/cluster", "etcd")),
    ("compact", "Node/m0:10250", profiled("KubeletConfig/masters", "kubelet")),
    ("custom", ROUTER, profiled("IngressController/openshift-ingress-operator/default", "router")),
    ("microshift", ROUTER, Lever(where="/etc/microshift/config.yaml", field="ingress.tlsSecurityProfile")),
    (
        "gateway-legacy",
        "Deployment/openshift-ingress/front-openshift-default:443",
        profiled("APIServer/cluster", "gateway"),
    ),
    (
        "contour-gateway",
        "Deployment/edge/contour-front:8001",
        Lever(
            where="Gateway/edge/front",
            field="spec.listeners[].tls.options",
            others=("the configuration of the controller 'projectcontour.io/gateway-controller'",),
        ),
    ),
    (
        "contour",
        "DaemonSet/projectcontour/envoy:8443#plain.example",
        Lever(where="HTTPProxy/shop/plain", field="spec.virtualhost.tls.minimumProtocolVersion"),
    ),
    (
        "contour-gateway",
        "DaemonSet/edge/envoy-front:8443#web.example",
        Lever(where="ContourConfiguration/edge/contourconfig-front", field="spec.envoy.listener.tls"),
    ),
    (
        "kubeadm",
        "StaticPod/kube-system/etcd:2379",
        Lever(
            where="Pod/kube-system/etcd-cp",
            minimum="--tls-min-version",
            suites="--cipher-suites",
            spelling="etcd",
            container="etcd",
            files=("/etc/kubernetes/manifests/etcd.yaml",),
            others=("ConfigMap/kube-system/kubeadm-config",),
        ),
    ),
    (
        "kubeadm",
        "Node/cp:10250",
        Lever(
            where="the kubelet of Node/cp",
            minimum="tlsMinVersion",
            suites="tlsCipherSuites",
            spelling="component-base",
            files=("/var/lib/kubelet/config.yaml",),
            others=("ConfigMap/kube-system/kubelet-config",),
        ),
    ),
]


@pytest.mark.parametrize(("story", "name", "lever"), LEVERS)
def test_a_fix_knows_where_the_profile_is_set(story: str, name: str, lever: Lever) -> None:
    assert stories.load(story).owed(name).lever == lever


def test_the_profile_that_a_user_asks_for_is_named_with_its_release() -> None:
    """Several releases have the same lists, under the name of one of them."""
    told = stories.load("modern-strict", profile=load_profile("old@4.14"))
    asked = [_deciding(told.owed(name))[0].said for name in told.endpoints]
    assert any(each.endswith(" (requested as old@4.14)") for each in asked), asked


@pytest.mark.parametrize("story", stories.names())
def test_nothing_beats_itself(story: str) -> None:
    """The same field read by two readers, or for two releases, is one authority."""
    told = stories.load(story)
    for name in told.endpoints:
        for step in told.owed(name).because:
            assert not (step.beat or "").startswith(f"{step.source} {step.field}:"), (name, step)


def test_remarks_are_these_and_no_others() -> None:
    """Of every endpoint of every story, so that a remark that comes or goes is seen."""
    lines = []
    for story in stories.names():
        told = stories.load(story)
        for name in told.endpoints:
            if remarks := told.owed(name).remarks:
                lines += [f"{story} {name}", *(f"  {each}" for each in remarks)]
    assert_golden("remarks.txt", "\n".join(lines) + "\n")


def test_no_flag_lowers_an_assumed_profile() -> None:
    """ "May we go to TLS 1.3?" is asked of the cluster: what flags say today is no answer."""
    told = stories.load("kubeadm", profile=load_profile("modern"))
    owed = {name: told.owed(name) for name in told.endpoints}
    assert {(_known(each).name.split(",")[0], _known(each).min_version) for each in owed.values()} == {
        ("mozilla/5.8/modern", TLS13)
    }


@pytest.mark.parametrize(
    ("was", "minutes", "binding"), [("Old", 14, "settling"), ("Old", 16, "must-follow"), ("Modern", 1, "must-follow")]
)
def test_without_managed_fields_the_first_snapshot_that_shows_a_change_counts(
    was: str, minutes: int, binding: str
) -> None:
    """Of snapshots of another cluster nothing is known: ``assessment`` leaves them out."""
    now = stories.load("modern-strict").snapshot
    server = now.every(API_SERVER)[0]
    profile = {**server.fields("spec", "tlsSecurityProfile").raw, "type": was}
    spec = {**server.fields("spec").raw, "tlsSecurityProfile": profile}
    before = KubeObject({**server.raw, "spec": spec}, server.kind)
    day, first = now.taken_at - timedelta(days=1), now.taken_at - timedelta(minutes=minutes)
    earlier = [
        replace(now, taken_at=first),
        replace(now, taken_at=day, objects={**now.objects, API_SERVER: (before,)}),
    ]
    told = stories.load("modern-strict", earlier=earlier)
    owed = told.owed(KUBE_APISERVER)
    assert owed.binding == binding, owed.because


def test_an_assumed_adherence_ignores_what_the_gate_does() -> None:
    told = stories.load("gate-off", adherence="StrictAllComponents")
    owed = told.owed("Deployment/openshift-cluster-version/cluster-version-operator:9099")
    assert (owed.binding, owed.adherence) == ("must-follow", "StrictAllComponents")
    assert any("the feature gate TLSAdherence is off" in each for each in owed.remarks)


KUBE_APISERVER = "StaticPod/openshift-kube-apiserver/kube-apiserver:6443"
HOSTED = "Deployment/clusters-prod/kube-apiserver:6443"


@pytest.mark.parametrize(
    ("story", "assumed", "name", "profile"),
    [
        ("custom-tls13-conflict", {"profile": load_profile("modern")}, ROUTER, "openshift/4.23/modern"),
        ("old-legacy", {"release": "4.22"}, KUBE_APISERVER, "openshift/4.22/old"),
        ("hypershift", {"release": "4.23"}, HOSTED, "openshift/4.23/old"),
        ("hypershift", {}, HOSTED, "openshift/4.21/old"),
    ],
    ids=["a router that inherits", "another release", "another release of a hosted cluster", "its own release"],
)
def test_an_assumed_profile_or_release_reaches_what_inherits_it(
    story: str, assumed: dict[str, Any], name: str, profile: str
) -> None:
    owed = stories.load(story, **assumed).owed(name)
    assert _known(owed).name == profile
    assert ("--release" in {each.source for each in owed.because}) == ("release" in assumed)


@pytest.mark.parametrize(
    ("listed", "added"),
    [
        ("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", {0xC02F}),
        ("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", set()),
        ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", set()),
    ],
)
def test_microshift_adds_a_suite_where_http2_would_have_none(listed: str, added: set[int]) -> None:
    file = {"apiVersion": "microshift/v1", "kind": "MicroShiftConfig", "metadata": {"name": "node"}}
    said = {"name": "microshift-version", "namespace": "kube-public"}
    release = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": said, "data": {"version": "4.21.3"}}
    where = stories.endpoint("Node/edge:6443", {})
    snapshot = stories.snapshot_of([release, {**file, "apiServer": {"tls": {"cipherSuites": [listed]}}}])
    told = Expectations(snapshot, load_catalogue("microshift"), ScanPolicy(), endpoints=(where,)).of(where)
    profile = _known(told)
    assert {code for code in profile.suites if not is_tls13(code)} - {suite_code(listed)} == added


def test_a_key_that_is_there_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="a is there twice"):
        stories.strictly("endpoints: {a: {}, b: {}, a: {}}")


@pytest.mark.parametrize(
    "text", ["endpoints: {}\nnote: a", *(f"endpoints: {{a: {{{field}: b}}}}" for field in ("owed", "pod", "component"))]
)
def test_an_unknown_field_or_name_is_refused(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stories, "CLUSTERS", tmp_path)
    (tmp_path / "made-up").mkdir()
    (tmp_path / "made-up/cluster.yaml").touch()
    (tmp_path / "made-up/expected.yaml").write_text(text)
    with pytest.raises(ValueError, match=r"made-up/expected.yaml: (a|made-up): (unknown field '(owed|note)'|.* 'b')"):
        stories.expected("made-up")


def _deciding(owed: Expectation) -> list[Because]:
    return [each for each in owed.because if each.decides]


def test_every_resolver_is_registered() -> None:
    modules = [
        import_module(f"{scanner.expect.__name__}.{each.name}") for each in iter_modules(scanner.expect.__path__)
    ]
    registered = {*RESOLVERS, *scanner.expect._LAST, passthrough.resolve}
    left = [each.__name__ for each in modules if getattr(each, "resolve", passthrough.resolve) not in registered]
    assert left == [], "add it to RESOLVERS in scanner/expect/__init__.py"
