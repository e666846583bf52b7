"""Which object, file or option sets the profile of a control plane, and since when."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from scanner.expect.authority import Authority, Wishes, of_api_server, of_control_planes, of_microshift
from scanner.kube.api_server import LEGACY, STRICT
from scanner.kube.kinds import API_SERVER
from scanner.kube.maybe import Known, Unknown
from scanner.kube.profile_catalogue import load_profile
from scanner.kube.snapshot import Snapshot
from scanner.kube.tls_profile import Profile
from scanner.values import replace
from tests.expect.declared_objects import api_server, made, version
from tests.expect.stories import TAKEN_AT, resolved, snapshot_of

OLD, MODERN = load_profile("old"), load_profile("openshift/4.23/modern")
ASKED = Wishes(profile=MODERN)
MINUTE = timedelta(minutes=1)


def named(profile: Known[Profile] | None) -> str | None:
    if profile is None:
        return None
    return profile.reason if isinstance(profile, Unknown) else profile.name


def openshift(*objects: dict[str, Any], **more: Any) -> Snapshot:  # noqa: ANN401 - as snapshot_of
    return snapshot_of([version("4.22.0"), *objects], **more)


@pytest.mark.parametrize(
    ("wishes", "source", "said", "profile"),
    [
        (
            Wishes(),
            "--profile",
            "mozilla/5.8/intermediate, the default on plain Kubernetes",
            "mozilla/5.8/intermediate",
        ),
        (Wishes(default=MODERN, default_source="a.yaml"), "a.yaml", MODERN.said, MODERN.name),
        (Wishes(default=replace(OLD, asked="Old")), "--profile", "mozilla/5.8/old", "mozilla/5.8/old"),
        (ASKED, "--profile", MODERN.said, MODERN.name),
        (Wishes(profile=replace(OLD, asked="Old")), "--profile", "mozilla/5.8/old", "mozilla/5.8/old"),
    ],
)
@pytest.mark.parametrize("absent", [True, False])
def test_without_openshift_the_user_sets_it(wishes: Wishes, source: str, said: str, profile: str, absent: bool) -> None:
    found = of_api_server(snapshot_of([], absent=frozenset({API_SERVER} if absent else ())), wishes)
    declared = found.declared()
    assert (found.source, declared.said, named(declared.profile)) == (source, said, profile)
    assert (found.platform, found.adherence, found.overridden, found.is_set) == (False, None, None, True)
    note = "the snapshot has no object of OpenShift: treated as plain Kubernetes"
    if absent:
        note = "the cluster has no APIServer of config.openshift.io: the selected profile (--profile) is required"
    assert found.remarks == (note,)
    assert found.changed() is None


def test_an_api_server_that_could_not_be_read_leaves_the_profile_unknown_and_adherence_strict() -> None:
    found = of_api_server(openshift(unreadable={"apiservers.config.openshift.io": "HTTP 403"}), Wishes())
    assert named(found.declared().profile) == "APIServer/cluster could not be read: HTTP 403"
    assert found.adherence is not None
    assert (found.adherence.means, found.adherence.said) == (STRICT, f"could not be read, so {STRICT} is assumed")
    assert found.place == ("APIServer/cluster", "spec.tlsSecurityProfile")


OTHER = made("APIServer", None, "other", "config.openshift.io/v1", spec={"tlsSecurityProfile": {"type": "Old"}})
NONE = "there is no APIServer/cluster: its operators use the default profile"
USELESS = "an APIServer with another name than 'cluster' has no effect"


@pytest.mark.parametrize(
    ("objects", "profile", "is_set", "remarks"),
    [
        ([], "openshift/4.22/intermediate", False, (NONE,)),
        ([OTHER], "openshift/4.22/intermediate", False, (NONE, USELESS)),
        ([OTHER, api_server("Old")], "openshift/4.22/old", True, (USELESS,)),
        ([api_server("Modern")], "openshift/4.22/modern", True, ()),
    ],
)
def test_the_object_that_is_named_cluster_counts(
    objects: list[dict[str, Any]], profile: str, is_set: bool, remarks: tuple[str, ...]
) -> None:
    found = of_api_server(openshift(*objects), Wishes())
    assert (named(found.declared().profile), found.is_set, found.remarks) == (profile, is_set, remarks)
    assert named(of_api_server(openshift(*objects), Wishes(release="4.23.0")).declared().profile) == profile.replace(
        "4.22", "4.23"
    )


def test_the_options_of_the_user_replace_what_the_object_says() -> None:
    found = of_api_server(openshift(api_server("Old")), Wishes(profile=MODERN, adherence=LEGACY))
    assert (found.source, found.field, named(found.declared().profile)) == ("--profile", "", MODERN.name)
    assert found.overridden == "APIServer/cluster spec.tlsSecurityProfile: Old"
    assert found.place == ("APIServer/cluster", "spec.tlsSecurityProfile")
    assert found.adherence is not None
    assert (found.adherence.means, found.adherence.source, found.adherence.remarks) == (LEGACY, "--adherence", ())
    assert found.adherence.beat == f"APIServer/cluster spec.tlsAdherence: {STRICT}"
    only = of_api_server(openshift(api_server("Old")), Wishes(adherence=LEGACY))
    assert (only.source, only.overridden, named(only.declared().profile)) == (
        *("APIServer/cluster", None),
        "openshift/4.22/old",
    )


def gates(**named: str) -> dict[str, Any]:
    gate: dict[str, Any] = {"version": "4.22.0"}
    for name, state in named.items():
        gate.setdefault(state, []).append({"name": name})
    return made("FeatureGate", None, "cluster", "config.openshift.io/v1", status={"featureGates": [gate]})


def test_a_gate_that_is_off_stays_off_whatever_the_user_asks_for() -> None:
    removed = openshift(api_server("Old"), gates(TLSAdherence="disabled"))
    for wishes, means, remarks in ((Wishes(), LEGACY, 1), (Wishes(adherence=STRICT), STRICT, 1)):
        adherence = of_api_server(removed, wishes).adherence
        assert adherence is not None
        assert (adherence.means, len(adherence.remarks)) == (means, remarks)
        assert "the feature gate TLSAdherence is off" in adherence.remarks[0]


CUSTOM = api_server("Custom")
CUSTOM["spec"]["tlsSecurityProfile"]["custom"] = {
    "minTLSVersion": "VersionTLS12",
    "ciphers": ["ECDHE-RSA-AES128-GCM-SHA256"],
    "groups": ["X25519"],
}


@pytest.mark.parametrize("gate", ["enabled", "disabled"])
@pytest.mark.parametrize("release", ["4.22.0", "4.23.0"])
@pytest.mark.parametrize("server", [CUSTOM, api_server("Old")], ids=["Custom", "Old"])
def test_without_the_gate_a_custom_profile_has_no_groups(server: dict[str, Any], release: str, gate: str) -> None:
    """A named profile has those of its release."""
    found = of_api_server(openshift(server, gates(TLSGroupPreferences=gate)), Wishes()).declared(release)
    assert isinstance(found.profile, Profile)
    has = release == "4.23.0"
    assert bool(found.profile.groups) is (has and (gate == "enabled" or server is not CUSTOM))
    note = "the feature gate TLSGroupPreferences is off: no component gets a list of groups"
    assert (note in found.remarks) is (has and gate == "disabled")


# --- Since when -------------------------------------------------------------------------------------------------------


def taken(minutes: int, *objects: dict[str, Any]) -> Snapshot:
    """So many minutes ago."""
    return replace(openshift(*objects), taken_at=TAKEN_AT - minutes * MINUTE)


STRICTLY, LEGACY_OLD = api_server("Old"), api_server("Old")
LEGACY_OLD["spec"]["tlsAdherence"] = LEGACY


@pytest.mark.parametrize(
    ("earlier", "minutes"),
    [
        ([], None),
        ([taken(9, STRICTLY)], None),
        ([taken(9, api_server("Modern"))], 0),
        ([taken(9, api_server("Modern")), taken(5, STRICTLY)], 5),
        ([taken(5, STRICTLY), taken(9, api_server("Modern"))], 5),
        ([taken(9, api_server("Modern")), taken(7, STRICTLY), taken(5, LEGACY_OLD), taken(3, STRICTLY)], 3),
        ([taken(9, LEGACY_OLD)], 0),
        ([taken(9)], None),  # it was not read
    ],
)
def test_a_change_is_seen_between_two_snapshots(earlier: list[Snapshot], minutes: int | None) -> None:
    found = of_api_server(openshift(STRICTLY), Wishes(), earlier)
    assert found.changed() == (None if minutes is None else TAKEN_AT - minutes * MINUTE)


def test_the_time_that_the_object_itself_has_comes_first() -> None:
    at = "2026-11-21T11:00:00Z"
    fields: dict[str, Any] = {"f:spec": {"f:tlsAdherence": {}}}
    managed = {**STRICTLY, "metadata": {"name": "cluster", "managedFields": [{"time": at, "fieldsV1": fields}]}}
    found = of_api_server(openshift(managed), Wishes(), [taken(9, api_server("Modern"))])
    assert found.changed() == datetime.fromisoformat(at)
    assert of_api_server(openshift(managed), ASKED).changed() is None


# --- HyperShift and MicroShift ----------------------------------------------------------------------------------------


def hosted(kind: str, name: str, namespace: str, type_: str, **status: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    server = {"tlsSecurityProfile": {"type": type_}, "tlsAdherence": "Strict"}
    spec = {"configuration": {"apiServer": server}}
    return made(kind, namespace, name, "hypershift.openshift.io/v1beta1", spec=spec, status=status)


HISTORY = {"history": [{"state": "Partial", "version": "4.23.0"}, {"state": "Completed", "version": "4.22.0"}]}


@pytest.mark.parametrize("field", ["version", "versionStatus"])
def test_a_hosted_cluster_goes_before_the_copy_in_its_namespace(field: str) -> None:
    cluster = hosted("HostedCluster", "prod", "clusters", "Old", **{field: HISTORY})
    copy = hosted("HostedControlPlane", "prod", "clusters-prod", "Modern")
    found = of_control_planes(snapshot_of([cluster, copy]), Wishes())["clusters-prod"]
    assert (found.source, found.field) == (
        *("HostedCluster/clusters/prod",),
        "spec.configuration.apiServer.tlsSecurityProfile",
    )
    assert (found.implementation, named(found.declared().profile)) == ("hypershift", "openshift/4.23/old")
    assert (found.releases.desired, found.releases.previous, found.releases.upgrading) == ("4.23.0", "4.22.0", True)
    assert found.releases.step is not None
    assert found.releases.step.field == f"status.{field}.history[0].version"
    alone = of_control_planes(snapshot_of([copy]), ASKED)["clusters-prod"]
    assert (alone.source, alone.setting_of) == (
        *("--profile",),
        ("HostedControlPlane/clusters-prod/prod", "spec.configuration.apiServer.tlsSecurityProfile"),
    )


def test_an_unknown_adherence_of_a_control_plane_is_one_too() -> None:
    odd, server = hosted("HostedControlPlane", "prod", "clusters-prod", "Old"), api_server("Old")
    odd["spec"]["configuration"]["apiServer"]["tlsAdherence"] = server["spec"]["tlsAdherence"] = "Odd"
    found = resolved(openshift(server, odd)).unknown_adherences()
    assert [each.source for each in found] == ["APIServer/cluster", "HostedControlPlane/clusters-prod/prod"]


def microshift(**tls: object) -> Authority:
    release = made("ConfigMap", "kube-public", "microshift-version", data={"version": "4.22.0"})
    file = made("MicroShiftConfig", None, "node", "microshift/v1", apiServer={"tls": tls})
    found = of_microshift(snapshot_of([release, file]), Wishes())
    assert found is not None
    return found


GCM = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
ECDSA, CBC = GCM.replace("RSA", "ECDSA"), "TLS_RSA_WITH_AES_128_CBC_SHA"
ONLY = "custom (/etc/microshift/config.yaml)"


@pytest.mark.parametrize(
    ("minimum", "listed", "profile", "suites", "remarks"),
    [
        (None, [], "openshift/4.22/intermediate", None, 0),
        ("", [], "openshift/4.22/intermediate", None, 0),
        ("VersionTLS12", [], "openshift/4.22/intermediate", None, 0),
        ("VersionTLS13", [GCM], "openshift/4.22/modern", None, 0),
        ("VersionTLS11", [GCM], "minVersion is 'VersionTLS11', and MicroShift does not start with that", None, 0),
        (None, [GCM], ONLY, (0xC02F,), 0),
        (None, [ECDSA], ONLY, (0xC02B,), 0),
        (None, ["TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"], ONLY, (0xC030, 0xC02F), 1),
        (None, [GCM, CBC, "NONE"], ONLY, (0xC02F,), 2),
    ],
)
def test_the_file_of_microshift(
    minimum: str | None, listed: list[str], profile: str, suites: tuple[int, ...] | None, remarks: int
) -> None:
    declared = microshift(minVersion=minimum, cipherSuites=listed).declared()
    assert (named(declared.profile), len(declared.remarks)) == (profile, remarks)
    if suites:
        assert isinstance(declared.profile, Profile)
        assert declared.profile.suites == (0x1301, 0x1302, 0x1303, *suites)
