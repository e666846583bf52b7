"""What implementations make of profiles: the last clamp."""

from __future__ import annotations

import pytest

from scanner.expect.implementations import IMPLEMENTATIONS, effective
from scanner.kube.profile_catalogue import load_profile, profiles
from scanner.tls.codepoints import TLS10, TLS11, TLS12, TLS13
from scanner.tls.names import CHACHA20, GO_SUITES, TLS13_SUITES, suite_name
from scanner.values import replace


@pytest.mark.parametrize("release", ["4.21", "4.22", "4.23"])
def test_go_has_the_same_suites_in_every_release(release: str) -> None:
    """Facts, "effective Go set": 21 of Old and 9 of Intermediate, whatever the release lists."""
    old = effective(load_profile("old", release=release), "go").profile
    assert (len(old.suites), old.min_version) == (21, TLS10)
    assert len(effective(load_profile("intermediate", release=release), "go").profile.suites) == 9
    assert set(old.suites) <= GO_SUITES


def test_only_the_router_serves_dhe() -> None:
    listed = load_profile("intermediate", release="4.21")
    found = effective(listed, "haproxy")
    assert found.profile.suites == listed.suites
    assert found.tls13_configurable


@pytest.mark.parametrize(
    ("kind", "minimum"), [("go", TLS10), ("etcd", TLS12), ("haproxy", TLS11), ("istio", TLS12), ("hypershift", TLS10)]
)
def test_floors(kind: str, minimum: int) -> None:
    found = effective(load_profile("old"), kind)
    assert found.profile.min_version == minimum
    assert any("does not support versions below" in each for each in found.changes) is (minimum != TLS10)


def test_hyper_shift_maps_ten_names() -> None:
    found = effective(load_profile("old"), "hypershift").profile
    assert len(set(found.suites) - set(TLS13_SUITES)) == 10


@pytest.mark.parametrize("kind", IMPLEMENTATIONS)
def test_fips_takes_away_and_never_adds(kind: str) -> None:
    for profile in profiles():
        plain, fips = effective(profile, kind).profile, effective(profile, kind, fips=True).profile
        assert set(fips.suites) == set(plain.suites) - CHACHA20
        assert fips.groups is None or set(fips.groups) <= {0x0017, 0x0018, 0x0019}


@pytest.mark.parametrize(
    ("groups", "left"),
    [((0x001D,), (0x0017, 0x0018, 0x0019)), ((0x001D, 0x0018), (0x0018,)), ((0x0017,), (0x0017,)), (None, None)],
)
def test_in_fips_mode_the_nist_curves_stand_in_for_no_group(
    groups: tuple[int, ...] | None, left: tuple[int, ...] | None
) -> None:
    found = effective(replace(load_profile("modern"), groups=groups), "go", fips=True)
    assert found.profile.groups == left
    assert any("x25519" in each for each in found.changes) is (groups is not None and 0x001D in groups)


def test_chacha20_is_all_of_it() -> None:
    assert all("CHACHA20" in suite_name(code) for code in CHACHA20)


@pytest.mark.parametrize("kind", IMPLEMENTATIONS)
def test_a_second_time_changes_nothing(kind: str) -> None:
    """A backend's profile is read again at the listener that passes connections on to it."""
    for profile in profiles():
        once = effective(profile, kind, fips=True)
        twice = effective(once.profile, kind, fips=True)
        assert twice.profile == once.profile


@pytest.mark.parametrize("kind", ["go", "haproxy", "hypershift", "istio", "other"])
def test_from_tls13_on_no_suite_of_tls12_is_left(kind: str) -> None:
    found = effective(replace(load_profile("intermediate"), min_version=TLS13), kind)
    assert set(found.profile.suites) == set(TLS13_SUITES)
    assert any("uses TLS 1.3 only" in each for each in found.changes)
