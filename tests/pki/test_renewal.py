"""Renewal and lifetimes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from scanner.kube.objects import Reference
from scanner.model.held_certificate import Place, Role
from scanner.model.scan_policy import Policy, ScanPolicy
from scanner.model.well_known import Owner, Recognition, WellKnown
from scanner.pki.renewal import LIFE, RENEWAL, renewal
from scanner.tls.certificate import CertificateFacts
from scanner.values import replace
from tests.pki.subjects import DAY, LEAF, NAME, NOW, SECRET, SERVED, classified, subject

pytestmark = pytest.mark.crypto

NEVER = replace(NAME, name="kube-apiserver-lb-signer", rotates="never", days=3650, refresh_days=2920)
ROUTER = replace(NEVER, name="router-ca", days=730, refresh_days=None)
DAY_ONE = replace(NAME, name="kubelet-signer", rotates="day-1", days=1, refresh_days=None)
NODE = "CN=system:node:a,O=system:nodes"
KUBELET = replace(
    NAME, name="kubelet-serving", days=30, refresh_days=None, owner=Owner(name="kubelet", implements=False)
)
GIVEN = classified(governed=False, why="Route/shop/web spec.tls.certificate")


def aged(days: float, of: float) -> CertificateFacts:
    """A certificate of a kubelet of that age, in days, and that life."""
    return replace(LEAF, subject=NODE, not_before=NOW - days * DAY, not_after=NOW + (of - days) * DAY)


@pytest.mark.parametrize(
    ("facts", "name"),
    [
        (aged(100, 1095), NAME),
        (aged(930, 1095), NAME),  # a tenth of the time to the end has not passed
        (aged(0.5, 1), DAY_ONE),
        (aged(2900, 3650), NEVER),
        (aged(580, 730), ROUTER),
        (aged(26, 30), KUBELET),  # renewed with a tenth left at the latest
    ],
)
def test_in_time_is_no_news(facts: CertificateFacts, name: WellKnown) -> None:
    assert list(RENEWAL.check(RENEWAL, subject(facts, told=classified(name)))) == []


@pytest.mark.parametrize(
    ("facts", "name", "severity", "status", "words"),
    [
        (aged(940, 1095), NAME, "medium", "violation", "its renewal was due by"),
        (aged(3, 10), DAY_ONE, "medium", "violation", "its renewal was due by 2026-11-19"),
        (
            aged(1094, 1095),
            NAME,
            "high",
            "violation",
            "by 2026-05-23, and it expires in 24 hours (2026-11-22 00:00 UTC)",
        ),
        (aged(25, 30), DAY_ONE, "medium", "violation", "and it expires in 5 days"),
        (aged(28, 30), KUBELET, "high", "violation", "it expires in 2 days"),
        (aged(58, 60), NEVER, "high", "needs-forced-rotation", "it expires in 2 days"),
        (aged(3640, 3650), NEVER, "medium", "needs-forced-rotation", "it expires in 10 days"),
        (aged(2930, 3650), NEVER, "low", "needs-forced-rotation", "no component renews it"),
        (aged(600, 730), ROUTER, "low", "needs-forced-rotation", "no component renews it"),
        (aged(1100, 1095), NAME, "high", "violation", "it expired 5 days ago (2026-11-16"),
        (aged(3660, 3650), NEVER, "high", "violation", "it expired 10 days ago"),
    ],
)
def test_too_late_fails(facts: CertificateFacts, name: WellKnown, severity: str, status: str, words: str) -> None:
    (finding,) = RENEWAL.check(RENEWAL, subject(facts, told=classified(name)))
    assert (finding.verdict, finding.severity, finding.status) == ("fail", severity, status)
    assert words in finding.message
    assert finding.fix


def test_what_ends_before_it_begins_has_no_short_life() -> None:
    facts = replace(LEAF, not_before=NOW + 3 * DAY, not_after=NOW + DAY)
    (finding,) = RENEWAL.check(RENEWAL, subject(facts, told=GIVEN))
    assert (finding.verdict, finding.severity) == ("fail", "high")


def test_a_late_operator_is_to_be_asked_and_a_forgotten_secret_deleted() -> None:
    (late,) = RENEWAL.check(RENEWAL, subject(aged(940, 1095)))
    assert late.fix == "read the conditions of ClusterOperator/etcd, which renews it"
    (forgotten,) = RENEWAL.check(RENEWAL, subject(aged(2930, 3650), told=classified(NEVER)))
    assert (forgotten.fix or "").startswith("delete Secret openshift-etcd/etcd-serving-a")
    assert "that breaks" in (forgotten.fix or "")
    (of_none,) = RENEWAL.check(RENEWAL, subject(aged(28, 30), told=classified(KUBELET)))
    assert (of_none.fix or "").startswith("delete Secret openshift-etcd/etcd-serving-a")


def test_what_is_of_two_names_is_judged_by_the_one_that_lasts() -> None:
    other = replace(NAME, name="other", refresh_days=1000)
    assert list(RENEWAL.check(RENEWAL, subject(aged(940, 1095), told=classified(NAME, other)))) == []


@pytest.mark.parametrize(("role", "count"), [("trusted", 0), ("issuer", 0), ("request", 0), ("leaf", 1), ("client", 1)])
def test_old_signers_in_bundles_are_normal(role: Role, count: int) -> None:
    place = replace(SECRET, role=role)
    assert len(list(RENEWAL.check(RENEWAL, subject(aged(1100, 1095), place=place)))) == count


@pytest.mark.parametrize(("name", "count"), [("etcd-client-7", 0), ("etcd-client", 1), ("etcd-serving-7", 1)])
def test_what_a_former_revision_had_stays_as_it_was(name: str, count: int) -> None:
    namespace = "openshift-kube-apiserver"
    known = replace(NAME, recognition=Recognition(secrets=(f"{namespace}/etcd-client", f"{namespace}/etcd-client-*")))
    place = replace(SECRET, reference=Reference(kind="Secret", namespace=namespace, name=name))
    found = RENEWAL.check(RENEWAL, subject(aged(1100, 1095), told=classified(known), place=place))
    assert len(list(found)) == count


def test_what_nothing_renews_is_seen_in_a_bundle_too_until_it_has_ended() -> None:
    bundle = replace(SECRET, role="trusted")
    old, ended = (subject(aged(days, 3650), told=classified(NEVER), place=bundle) for days in (2930, 3660))
    assert [each.status for each in RENEWAL.check(RENEWAL, old)] == ["needs-forced-rotation"]
    assert list(RENEWAL.check(RENEWAL, ended)) == []


def test_an_end_that_cannot_be_read_is_never_a_pass() -> None:
    (finding,) = RENEWAL.check(RENEWAL, subject(replace(LEAF, not_after=None)))
    assert (finding.verdict, finding.status) == ("inconclusive", "not-tested")
    for name in (NAME, NEVER, DAY_ONE):
        assert list(RENEWAL.check(RENEWAL, subject(replace(LEAF, not_before=None), told=classified(name)))) == []


def test_the_last_year_of_the_calendar_does_no_harm() -> None:
    odd = replace(
        LEAF, not_before=datetime.max.replace(tzinfo=NOW.tzinfo), not_after=datetime.max.replace(tzinfo=NOW.tzinfo)
    )
    assert list(RENEWAL.check(RENEWAL, subject(odd))) == []


@pytest.mark.parametrize(
    ("days", "place", "count"),
    [(80, SECRET, 1), (40, SECRET, 0), (100, SECRET, 1), (80, SERVED, 0)],
)
def test_what_users_gave_ends_within_the_policys_days(days: int, place: Place, count: int) -> None:
    policy = ScanPolicy(thresholds=Policy(expires_within_days=21))
    found = list(RENEWAL.check(RENEWAL, subject(aged(days, 90), told=GIVEN, place=place, policy=policy)))
    assert len(found) == count
    severity = "medium" if days < 90 else "high"
    assert all(each.severity == severity and "outside of the PKI object" in each.message for each in found)


FILE = Place(role="leaf", file="/etc/pki/web.pem")
NAMELESS = classified(governed=None, why="nothing says who made it")


@pytest.mark.parametrize(
    ("days", "place", "severity"),
    [
        (91, FILE, "high"),
        (91, replace(FILE, role="client"), "high"),
        (88, FILE, "high"),
        (80, FILE, "medium"),
        (70, FILE, "low"),
        (40, FILE, None),
        (91, replace(FILE, role="trusted"), None),
        (91, SECRET, "low"),
        (80, SECRET, "low"),
        (40, SECRET, None),
        (91, SERVED, None),
    ],
)
def test_what_nobody_can_tell_whose_it_is_ends_too(days: int, place: Place, severity: str | None) -> None:
    """Of what lies in the platform's namespaces nothing says whether it is in use."""
    found = list(RENEWAL.check(RENEWAL, subject(aged(days, 90), told=NAMELESS, place=place)))
    assert [each.severity for each in found] == ([severity] if severity else [])
    assert all("It is unknown whether the PKI object governs it" in each.message for each in found)


def test_a_numbered_secret_of_nobody_known_may_be_a_former_revisions() -> None:
    place = replace(SECRET, reference=Reference(kind="Secret", namespace="openshift-kube-x", name="user-cert-7"))
    assert list(RENEWAL.check(RENEWAL, subject(aged(91, 90), told=NAMELESS, place=place))) == []
    assert len(list(RENEWAL.check(RENEWAL, subject(aged(91, 90), told=GIVEN, place=place)))) == 1


def test_what_a_listener_serves_is_said_by_the_rules_of_listeners_unless_its_operator_is_late() -> None:
    assert list(RENEWAL.check(RENEWAL, subject(aged(1100, 1095), place=SERVED))) == []
    assert list(RENEWAL.check(RENEWAL, subject(aged(29, 30), told=classified(KUBELET), place=SERVED))) == []
    assert len(list(RENEWAL.check(RENEWAL, subject(aged(1094, 1095), place=SERVED)))) == 1


@pytest.mark.parametrize(
    ("life", "name", "usual"),
    [
        (1095, NAME, None),
        (600, NAME, None),
        (2200, NAME, "1095 days"),
        (30, NAME, "1095 days"),
        (365, replace(NAME, days=None), None),
        (3650, replace(NAME, days=None), "30 to 365 days"),
    ],
)
def test_lifetimes_far_from_the_usual_are_told(life: int, name: WellKnown, usual: str | None) -> None:
    found = list(LIFE.check(LIFE, subject(aged(1, life), told=classified(name))))
    assert [each.expected for each in found] == ([(usual,)] if usual else [])
    assert all((each.verdict, each.status, each.severity) == ("pass", "informational", "info") for each in found)


@pytest.mark.parametrize("life", [1, 36500])
def test_no_lifetime_is_usual_for_a_name_of_which_none_is_known_whatever_else_it_is_called(life: int) -> None:
    peer = replace(NAME, days=None, category="peer")
    for told in (classified(peer), classified(peer, NAME), classified(NAME, peer)):
        assert list(LIFE.check(LIFE, subject(aged(0, life), told=told))) == []


def test_of_several_names_whatever_one_allows_is_usual() -> None:
    told = classified(NAME, replace(NAME, days=90))
    assert list(LIFE.check(LIFE, subject(aged(1, 60), told=told))) == []
    assert list(LIFE.check(LIFE, subject(aged(1, 2000), told=told))) == []
    (found,) = LIFE.check(LIFE, subject(aged(1, 30), told=told))
    assert found.expected == ("90 to 1095 days",)


def test_no_lifetime_is_usual_for_what_has_no_name() -> None:
    assert list(LIFE.check(LIFE, subject(aged(1, 36500), told=GIVEN))) == []
    assert list(LIFE.check(LIFE, subject(replace(LEAF, not_after=None)))) == []


def test_a_signer_in_whose_place_another_one_signs_needs_no_rotation() -> None:
    old = subject(aged(2930, 3650), told=classified(NEVER), place=replace(SECRET, role="trusted"))
    assert len(list(RENEWAL.check(RENEWAL, old))) == 1
    assert list(RENEWAL.check(RENEWAL, replace(old, successor=LEAF))) == []


MADE = datetime(2026, 1, 1, tzinfo=UTC)
END = datetime(2027, 1, 1, tzinfo=UTC)
OPERATED = WellKnown(
    name="x",
    origin="enhancement",
    category="serving",
    shipped_category="serving",
    owner=Owner(name="o", implements=True),
    rotates="operator",
    days=365,
    refresh_days=30,
    recognition=Recognition(),
)
SLOWER = replace(OPERATED, refresh_days=60)
UNTIMED = replace(OPERATED, refresh_days=None)
ROTATION_NEVER = replace(OPERATED, rotates="never")
FIRST = replace(OPERATED, rotates="day-1")


@pytest.mark.parametrize(
    ("names", "rotates", "by", "ends"),
    [
        ((OPERATED,), "operator", MADE + timedelta(days=30), False),
        ((OPERATED, SLOWER), "operator", MADE + timedelta(days=60), False),
        ((UNTIMED,), "operator", END, True),
        ((), "operator", END, True),
        ((ROTATION_NEVER,), "never", None, False),
        ((ROTATION_NEVER, UNTIMED), "operator", MADE + timedelta(days=30), False),
        ((FIRST,), "day-1", MADE + timedelta(days=1), False),
    ],
)
def test_by_when(names: tuple[WellKnown, ...], rotates: str, by: datetime | None, ends: bool) -> None:
    found = renewal(names, MADE, END)
    assert (found.rotates, found.by, found.ends) == (rotates, by, ends)


def test_dates_that_cannot_be_read_or_have_no_day_after() -> None:
    assert renewal((OPERATED,), None, END).by == END
    assert renewal((FIRST,), None, None).by is None
    assert renewal((OPERATED,), datetime(9999, 12, 31, tzinfo=UTC), None).by is None
