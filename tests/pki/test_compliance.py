"""Keys against the configuration, as of when each certificate was made."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Literal

import pytest

from scanner.kube.maybe import Unknown
from scanner.kube.objects import Reference
from scanner.model.finding import Finding
from scanner.model.held_certificate import HeldCertificate, Place
from scanner.model.pki_config import RSA_2048, Key, PkiConfig, Rule
from scanner.model.well_known import Owner, Recognition, Rotation, WellKnown
from scanner.pki.compliance import KEY, check_key
from scanner.pki.config import RECOMMENDED
from scanner.pki.governing import Past
from scanner.pki.recognition import Classified, Use
from scanner.pki.subject import Subject
from scanner.tls.certificate import CertificateFacts
from scanner.values import replace

pytestmark = pytest.mark.crypto

CHANGED = datetime(2026, 10, 1, tzinfo=UTC)
NOW = datetime(2026, 11, 21, tzinfo=UTC)
P384 = Key(algorithm="ECDSA", curve="P384")
CONFIG = PkiConfig(
    source="PKI/cluster",
    shape="document",
    defaults=Rule(key=P384, field="spec.defaults.key"),
    platform={"serving": RSA_2048, "client": RSA_2048, "signer": RSA_2048},
    platform_said="the platform's default",
    since=CHANGED,
)
PLATFORM = replace(CONFIG, defaults=None)
RSA = CertificateFacts(
    der=b"x", sha256="ab" * 32, subject="CN=etcd", key_algorithm="RSA", key_size=2048,
    not_before=CHANGED - timedelta(days=10), not_after=CHANGED + timedelta(days=355),
)  # fmt: skip
EC = replace(RSA, key_algorithm="ECDSA", key_size=None, curve="P-384")
HERE = Place(
    role="leaf", reference=Reference(kind="Secret", namespace="openshift-etcd", name="x"), field="data[tls.crt]"
)
NAME = WellKnown(
    name="etcd-server",
    origin="enhancement",
    category="serving",
    shipped_category="serving",
    owner=Owner(name="cluster-etcd-operator", implements=True),
    rotates="operator",
    delete=("openshift-etcd/etcd-serving-*",),
    breaks="clients of etcd for a minute",
    recognition=Recognition(),
)
LATER = CHANGED + timedelta(days=1)


def classified(*names: WellKnown, governed: bool | None = True) -> Classified:
    return Classified(
        names=names, category="serving", use="serving", because="its Secret says so", governed=governed, why="made"
    )


def judged(
    facts: CertificateFacts,
    *names: WellKnown,
    config: PkiConfig = CONFIG,
    governed: bool | None = True,
    history: tuple[Past, ...] = (),
    category: Use = "serving",
    place: Place = HERE,
) -> list[Finding]:
    held = HeldCertificate(facts=facts, place=place)
    told = replace(classified(*names, governed=governed), category=category)
    subject = Subject(held=held, classified=told, config=config, now=NOW, history=history)
    return list(check_key(KEY, subject))


@pytest.mark.parametrize(
    ("facts", "name", "config", "verdict", "status"),
    [
        (EC, NAME, CONFIG, "pass", "ok"),
        (replace(EC, curve="P-521"), NAME, CONFIG, "pass", "informational"),
        (RSA, NAME, CONFIG, "fail", "pending-rotation"),
        (replace(RSA, not_before=LATER), NAME, CONFIG, "fail", "violation"),
        # Made within the time by which signers back-date: it may be older than the change.
        (replace(RSA, not_before=CHANGED + timedelta(minutes=30)), NAME, CONFIG, "fail", "pending-rotation"),
        (RSA, replace(NAME, rotates="never"), CONFIG, "fail", "needs-forced-rotation"),
        (replace(RSA, not_before=LATER), replace(NAME, rotates="never"), CONFIG, "fail", "violation"),
        (RSA, replace(NAME, owner=Owner(name="x", implements=False)), CONFIG, "fail", "not-implemented"),
        (RSA, NAME, replace(CONFIG, since=None), "inconclusive", "not-tested"),
        (replace(RSA, not_before=None), NAME, CONFIG, "inconclusive", "not-tested"),
        (replace(RSA, key_algorithm=None), NAME, CONFIG, "inconclusive", "not-tested"),
        (RSA, NAME, replace(CONFIG, reason="unreadable"), "inconclusive", "not-tested"),
        (RSA, NAME, replace(CONFIG, defaults=Rule(key=Unknown("P385"), field="x")), "inconclusive", "not-tested"),
        # Nothing is configured: the platform's own minimum, which always held.
        (RSA, NAME, replace(CONFIG, defaults=None), "pass", "ok"),
        (replace(RSA, key_size=1024), NAME, replace(CONFIG, defaults=None), "fail", "violation"),
        (replace(RSA, key_algorithm="Ed25519", key_size=None, not_before=LATER), NAME, CONFIG, "fail", "violation"),
        (replace(RSA, key_algorithm="RSA-PSS", key_size=4096, not_before=LATER), NAME, CONFIG, "fail", "violation"),
        (replace(RSA, key_algorithm="ML-DSA-65", key_size=None, not_before=LATER), NAME, CONFIG, "fail", "violation"),
        (replace(RSA, key_algorithm="SLH-DSA-SHA2-128s", key_size=None), NAME, PLATFORM, "fail", "violation"),
    ],
)  # fmt: skip
def test_the_verdict_respects_when_it_was_made(
    facts: CertificateFacts, name: WellKnown, config: PkiConfig, verdict: str, status: str
) -> None:
    (finding,) = judged(facts, name, config=config)
    assert (finding.verdict, finding.status) == (verdict, status)
    assert finding.about == "Secret/openshift-etcd/x data[tls.crt]"


@pytest.mark.parametrize("governed", [False, None])
def test_what_the_configuration_does_not_govern_is_not_judged_by_it(governed: bool | None) -> None:
    assert judged(RSA, governed=governed) == []


def test_nothing_required_is_nothing_said() -> None:
    unmanaged = PkiConfig(source="PKI/cluster", reason="unmanaged", platform_said="mode is Unmanaged")
    assert judged(replace(RSA, key_size=512), NAME, config=unmanaged) == []


def test_a_pending_one_says_when_it_will_be_done() -> None:
    (by_end,) = judged(RSA, NAME)
    assert "is renewed before it expires on 2027-09-21" in by_end.message
    (by_age,) = judged(RSA, replace(NAME, refresh_days=60))
    assert "should have been renewed by 2026-11-20" in by_age.message
    (soon,) = judged(RSA, replace(NAME, refresh_days=62))
    assert "is renewed by 2026-11-22" in soon.message


VAGUE = replace(CONFIG, since_vague=True)


@pytest.mark.parametrize(
    ("made", "asked", "verdict", "status"),
    [
        (CHANGED - timedelta(days=10), "unknown", "fail", "pending-rotation"),
        (LATER, "unknown", "inconclusive", "not-tested"),
        (LATER, "another", "fail", "violation"),
        (LATER, "nothing", "fail", "pending-rotation"),
    ],
)
def test_without_the_time_of_the_change_what_came_between_is_no_violation(
    made: datetime, asked: str, verdict: str, status: str
) -> None:
    known = {"unknown": (), "another": before(P384), "nothing": before(None)}[asked]
    past = tuple(replace(each, since=made, until=made) for each in known)
    (finding,) = judged(replace(RSA, not_before=made), NAME, config=VAGUE, history=past)
    assert (finding.verdict, finding.status) == (verdict, status)


def test_the_reason_for_doubt_names_the_latest_time_of_the_change_where_that_is_known() -> None:
    (finding,) = judged(replace(RSA, not_before=LATER), NAME, config=replace(VAGUE, until=LATER))
    assert f"and by {LATER.date()}, and its managedFields do not show" in finding.message
    (finding,) = judged(replace(RSA, not_before=LATER), NAME, config=VAGUE)
    assert " and by " not in finding.message


def test_a_stronger_key_names_what_is_configured_also_where_that_is_more_than_one_key() -> None:
    config = replace(
        CONFIG,
        defaults=None,
        categories={"serving": Rule(key=P384, field="x"), "client": Rule(key=RSA_2048, field="y")},
    )
    cases: tuple[tuple[Literal["peer", "serving"], str], ...] = (
        ("peer", "ECDSA P384 and RSA 2048"),
        ("serving", "ECDSA P384"),
    )
    for category, said in cases:
        own = replace(NAME, name="own", category=category)
        (finding,) = judged(replace(EC, curve="P-521"), own, config=config, category=category)
        assert finding.message.endswith(f"its key is ECDSA P521, stronger than what is configured ({said})")


def test_a_violation_says_what_to_delete_and_who_feels_it() -> None:
    (finding,) = judged(replace(RSA, not_before=LATER), NAME)
    assert finding.fix == (
        "delete the Secret that holds it (openshift-etcd/etcd-serving-*), and its operator issues it again; "
        "that breaks clients of etcd for a minute"
    )
    assert finding.expected == ("ECDSA P384",)
    assert any("spec.defaults.key: ECDSA P384, over RSA 2048 or stronger" in step for step in finding.evidence)


PEER = replace(NAME, name="etcd-peer-server", delete=("openshift-etcd/etcd-peer-*",), breaks="nothing")
DISCARDED = replace(NAME, rotates="never", delete=(), breaks="the kubeconfig of the installation")


@pytest.mark.parametrize(
    ("secret", "names", "fix"),
    [
        ("etcd-peer-a", (NAME, PEER), ("delete Secret openshift-etcd/etcd-peer-a, and its operator issues it again; "
         "that breaks nothing")),
        ("x", (NAME, PEER), ("delete the Secret that holds it (openshift-etcd/etcd-serving-* or "
         "openshift-etcd/etcd-peer-*), and its operator issues it again; that breaks clients of etcd for a minute, "
         "or nothing")),
        ("x", (replace(NAME, delete=("a/b",)), replace(PEER, delete=("a/b",), breaks="")),
         "delete Secret a/b, and its operator issues it again; that breaks clients of etcd for a minute"),
        ("x", (replace(NAME, delete=("a/b",), breaks=""),), "delete Secret a/b, and its operator issues it again"),
        ("x", (DISCARDED,), ("deleting a Secret does not renew it; replacing it breaks the kubeconfig of "
         "the installation")),
    ],
)  # fmt: skip
def test_no_other_secret_is_named_than_the_one_that_holds_it(
    secret: str, names: tuple[WellKnown, ...], fix: str
) -> None:
    place = replace(HERE, reference=Reference(kind="Secret", namespace="openshift-etcd", name=secret))
    (finding,) = judged(replace(RSA, not_before=LATER), *names, place=place)
    assert finding.fix == fix


@pytest.mark.parametrize("algorithm", ["Ed25519", "RSA-PSS", "ML-DSA-65", "SLH-DSA-SHAKE-256f", "1.2.3.4"])
def test_other_algorithms_are_named(algorithm: str) -> None:
    for made in (RSA.not_before, LATER, None):  # no configuration can have asked for one
        (finding,) = judged(replace(RSA, key_algorithm=algorithm, key_size=None, not_before=made), NAME)
        assert (finding.verdict, finding.status) == ("fail", "violation")
        assert f"its key is {algorithm}, and ECDSA P384 is required" in finding.message


def before(key: Key | None, **changes: object) -> tuple[Past, ...]:
    """What a snapshot of the day before the change says; None: that nothing was configured."""
    rule = Rule(key=key, field="spec.defaults.key") if key else None
    config = replace(CONFIG, defaults=rule, since=None, reason=None if key else "absent", platform={})
    until = CHANGED - timedelta(days=1)
    past = Past(config=config, since=until - timedelta(days=1000), until=until, text="the snapshot of then")
    return (replace(past, **changes),)  # type: ignore[arg-type] # its fields


RSA_4096 = Key(algorithm="RSA", size=4096)
NEVER = replace(NAME, rotates="never")


@pytest.mark.parametrize(
    ("history", "name", "status", "known"),
    [
        (before(RSA_2048), NAME, "pending-rotation", "RSA 2048 was required (the snapshot of then)"),
        (before(None), NAME, "pending-rotation", "nothing was required (the snapshot of then)"),
        (before(RSA_2048), NEVER, "needs-forced-rotation", "RSA 2048 was required (the snapshot of then)"),
        ((), NAME, "pending-rotation", "is unknown (--previous)"),
        ((), NEVER, "needs-forced-rotation", "is unknown (--previous)"),
        # The snapshot tells nothing of the time at which it was made.
        (before(RSA_4096, since=CHANGED - timedelta(days=2)), NAME, "pending-rotation", "is unknown (--previous)"),
        # An install-config tells of signers only, and this is none.
        (
            before(RSA_4096, config=replace(CONFIG, shape="install-config")),
            NAME,
            "pending-rotation",
            "is unknown (--previous)",
        ),
    ],
)
def test_an_older_one_says_whether_it_was_right_when_it_was_made(
    history: tuple[Past, ...], name: WellKnown, status: str, known: str
) -> None:
    (finding,) = judged(RSA, name, history=history)
    assert finding.status == status
    assert finding.evidence[-1].endswith(known)


@pytest.mark.parametrize("name", [NAME, NEVER])
def test_an_older_one_that_was_wrong_already_is_a_violation(name: WellKnown) -> None:
    (finding,) = judged(RSA, name, history=before(RSA_4096))
    assert (finding.verdict, finding.status, finding.severity) == ("fail", "violation", "medium")
    assert "when RSA 4096 was required (the snapshot of then)" in finding.message


def test_the_signers_of_the_installation_are_as_the_install_config_asked() -> None:
    history = before(RSA_2048, config=replace(CONFIG, shape="install-config", categories={}, defaults=None))
    (finding,) = judged(RSA, NEVER, history=history, category="signer")
    assert finding.evidence[-1].endswith("was required (the snapshot of then)")


def test_what_operators_choose_by_themselves_holds_from_when_that_was_said() -> None:
    """Mode Default, or the gate on and no object: what is older could not know, and the API's text lets operators go on
    as they always did. A key that was never right is none of theirs."""
    default = replace(CONFIG, defaults=None, platform=RECOMMENDED)
    (older,) = judged(RSA, NAME, config=default)
    (newer,) = judged(replace(RSA, not_before=LATER), NAME, config=default)
    (unknown,) = judged(RSA, NAME, config=replace(default, since=None))
    (known,) = judged(RSA, NAME, config=replace(default, since=None), history=before(None))
    (weak,) = judged(replace(RSA, key_size=1024, not_before=LATER), NAME, config=default)
    assert weak.status == "violation"
    assert [each.status for each in (older, newer, unknown, known)] == [
        "pending-rotation", "not-implemented", "not-implemented", "pending-rotation",
    ]  # fmt: skip


def test_times_at_the_ends_of_the_calendar_are_compared() -> None:
    for made in (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)):
        for since in (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)):
            config = replace(CONFIG, since=since)
            (finding,) = judged(replace(RSA, not_before=made), NAME, config=config, history=before(None))
            assert finding.verdict == "fail"


@pytest.mark.parametrize(("asked", "severity"), [(NAME.name, "low"), ("another", "info")])
def test_only_an_override_by_name_raises_a_key_that_its_operator_cannot_make(asked: str, severity: str) -> None:
    stuck = replace(NAME, owner=Owner(name="x", implements=False))
    config = replace(CONFIG, overrides={asked: Rule(key=P384, field="spec.overrides[0].key")})
    (found,) = judged(RSA, stuck, config=config)
    assert (found.status, found.severity) == ("not-implemented", severity)
    assert ("asks for it by name" in found.message) is (asked == NAME.name)


def test_hypershifts_secrets_are_overridden_by_the_name_of_the_secret() -> None:
    maker = Owner(name="hypershift", implements=True)
    told = replace(classified(governed=True), maker=maker, judged=True)
    place = replace(HERE, reference=Reference(kind="Secret", namespace="clusters-a", name=NAME.name))
    config = replace(CONFIG, overrides={NAME.name: Rule(key=RSA_2048, field="x")})
    for where, verdict in ((place, "pass"), (HERE, "fail")):
        held = HeldCertificate(facts=replace(RSA, not_before=LATER), place=where)
        (found,) = check_key(KEY, Subject(held=held, classified=told, config=config, now=NOW))
        assert found.verdict == verdict


@pytest.mark.parametrize(("rotates", "is_deleted"), [("operator", True), ("never", False)])
def test_a_secret_is_deleted_only_where_an_operator_renews_it_under_each_of_its_names(
    rotates: Rotation, *, is_deleted: bool
) -> None:
    one = replace(NAME, delete=())
    (found,) = judged(replace(RSA, not_before=LATER), one, replace(one, name="other", rotates=rotates))
    assert found.status == "violation"
    assert (found.fix or "").startswith("delete Secret") is is_deleted


@pytest.mark.parametrize(
    ("until", "verdict", "status"),
    [
        (None, "inconclusive", "not-tested"),
        (LATER + timedelta(days=1), "inconclusive", "not-tested"),
        (LATER - timedelta(days=1), "fail", "violation"),
    ],
)
def test_what_was_made_after_the_latest_possible_change_is_a_violation(
    until: datetime | None, verdict: str, status: str
) -> None:
    (found,) = judged(replace(RSA, not_before=LATER), NAME, config=replace(VAGUE, until=until))
    assert (found.verdict, found.status) == (verdict, status)


def test_a_key_that_nobody_knows_the_requirement_of_says_why() -> None:
    config = replace(CONFIG, reason="unreadable", platform_said="403 Forbidden")
    (finding,) = judged(RSA, NAME, config=config)
    assert (finding.verdict, finding.status) == ("inconclusive", "not-tested")
    assert "it is unknown whether that is correct: PKI/cluster: 403 Forbidden" in finding.message


@pytest.mark.parametrize(
    ("facts", "name", "severity", "is_fixed"),
    [
        (replace(RSA, not_before=LATER), NAME, KEY.severity, True),
        (RSA, replace(NAME, rotates="never"), "low", True),
        (RSA, NAME, KEY.severity, False),  # the operator renews it by itself
    ],
)
def test_a_fix_is_named_where_somebody_has_to_act(
    facts: CertificateFacts, name: WellKnown, severity: str, *, is_fixed: bool
) -> None:
    (finding,) = judged(facts, name)
    assert (finding.severity, bool(finding.fix)) == (severity, is_fixed)
