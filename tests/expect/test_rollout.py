"""When the previous profile is accepted beside the new one: the limits of time, and what is not known."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from scanner.expect.authority import Wishes
from scanner.expect.facts import Facts
from scanner.expect.partial_expectation import Partial
from scanner.expect.rollout import CHANGE_TAKES, Revision, overdue, resolve, revision_of, settling
from scanner.kube.profile_catalogue import load_profile
from scanner.model.components import Catalogue, Component, Listener
from scanner.model.scan_policy import ScanPolicy
from tests.expect.declared_objects import made
from tests.expect.stories import TAKEN_AT, endpoint, snapshot_of

OLD, MODERN = load_profile("old"), load_profile("modern")
HOUR, MOMENT = timedelta(hours=1), timedelta(seconds=1)
CLOCKS = timedelta(minutes=10)
UNKNOWN_BEFORE = "the previous profile is unknown, so a deviation is inconclusive during the rollout"
API = "StaticPod/openshift-kube-apiserver/kube-apiserver:6443"
ENTRY = Listener(component="kube-apiserver", listener="api", namespaces=(), ports=(6443,), governor="apiserver")


def facts(*objects: dict[str, Any], **unreadable: str) -> Facts:
    gaps = {f"{kind}.config.openshift.io": why for kind, why in unreadable.items()}
    components = (Component(name="kube-apiserver", operator="kube-apiserver"),)
    catalogue = Catalogue(listeners=(ENTRY,), components=components)
    return Facts(snapshot_of(list(objects), unreadable=gaps), catalogue, ScanPolicy(), (), Wishes())


def partial(**fields: Any) -> Partial:  # noqa: ANN401 - of a Partial
    where = endpoint(API, {"node": "m"})
    return Partial(endpoint=where, **{"profile": MODERN, "decided_by": "APIServer/cluster spec", **fields})


@pytest.mark.parametrize(
    ("since", "fields", "binding", "said"),
    [
        (None, {}, "must-follow", "x; but its start is unknown, so the profile is enforced"),
        (TAKEN_AT - HOUR, {}, "settling", "x"),
        (TAKEN_AT + CLOCKS, {}, "settling", "x"),
        (
            TAKEN_AT + CLOCKS + MOMENT,
            {},
            "must-follow",
            "x; but its start 2026-11-21 12:10 UTC is in the future, so the profile is enforced",
        ),
        (TAKEN_AT, {"binding": "not-enforced"}, "not-enforced", "x"),
        (TAKEN_AT, {"decided_by": "--profile"}, "must-follow", "x; but an assumed profile is not rolled out"),
    ],
)
def test_a_rollout_with_a_known_start_accepts_the_previous_profile(
    since: datetime | None, fields: dict[str, Any], binding: str, said: str
) -> None:
    found = settling(facts(), partial(**fields), "Object/a", "status", "x", since, HOUR, [OLD])
    assert (found.binding, found.alternatives) == (binding, (OLD,) if binding == "settling" else ())
    assert [(each.source, each.field, each.said) for each in found.because] == [("Object/a", "status", said)]
    ends = min(since or TAKEN_AT, TAKEN_AT) + HOUR
    assert found.settles_by == (ends if binding == "settling" else None)


def test_of_two_rollouts_the_longer_one_and_both_previous_profiles_count() -> None:
    first = settling(facts(), partial(), "a", "", "x", TAKEN_AT, HOUR)
    assert first.remarks == (UNKNOWN_BEFORE,)
    both = settling(facts(), settling(facts(), partial(), "a", "", "x", TAKEN_AT, HOUR, [OLD]), "b", "", "y", TAKEN_AT,
                    HOUR / 2, [MODERN, OLD])  # fmt: skip
    assert (both.settles_by, both.alternatives, both.remarks) == (TAKEN_AT + HOUR, (OLD, MODERN), ())


@pytest.mark.parametrize(
    ("ends", "binding", "kept"),
    [(TAKEN_AT, "settling", True), (TAKEN_AT - MOMENT, "settling", False), (TAKEN_AT - HOUR, "not-enforced", True),
     (None, "settling", True)],
)  # fmt: skip
def test_a_rollout_that_should_be_finished_is_none(ends: datetime | None, binding: Any, *, kept: bool) -> None:  # noqa: ANN401
    before = partial(binding=binding, settles_by=ends, alternatives=(OLD,), remarks=("other", UNKNOWN_BEFORE))
    after = overdue(facts(), before)
    assert (after == before) is kept
    if not kept:
        assert (after.binding, after.alternatives, after.settles_by, after.remarks) == (
            "must-follow",
            (),
            None,
            ("other",),
        )
        assert after.because[-1].said == (
            "the rollout should have finished by 2026-11-21 11:59 UTC: the profile is enforced again"
        )


@pytest.mark.parametrize(("ago", "binding"), [(CHANGE_TAKES, "settling"), (CHANGE_TAKES + MOMENT, "must-follow")])
def test_a_change_is_recent_for_a_quarter_of_an_hour(ago: timedelta, binding: str) -> None:
    found = resolve(facts(), partial(changed=TAKEN_AT - ago, skewed=(OLD,)))
    assert found.binding == binding
    said = [(each.source, each.field, each.said) for each in found.because]
    changed = "changed at 2026-11-21 11:45 UTC: the previous profile is accepted for 15 minutes"
    assert said == ([("APIServer/cluster", "spec", changed)] if binding == "settling" else [])


# --- Operators --------------------------------------------------------------------------------------------------------

PROGRESSING = {
    "type": "Progressing",
    "status": "True",
    "lastTransitionTime": "2026-11-21T11:30:00Z",
    "message": "1 of 3",
}


def operator(**condition: str) -> dict[str, Any]:
    status = {"conditions": [{**PROGRESSING, **condition}]}
    return made("ClusterOperator", None, "kube-apiserver", "config.openshift.io/v1", status=status)


def revisions(current: int | None, newest: int | None, target: int = 0, *, installing: str = "") -> dict[str, Any]:
    status: dict[str, Any] = {"latestAvailableRevision": newest}
    status["nodeStatuses"] = [
        {"nodeName": "other", "currentRevision": 1, "targetRevision": 9},
        {"nodeName": "m", "currentRevision": current, "targetRevision": target},
    ]
    if installing:
        at = "2026-11-21T11:50:00Z"
        status["conditions"] = [{"type": "NodeInstallerProgressing", "status": installing, "lastTransitionTime": at}]
    return made("KubeAPIServer", None, "cluster", "operator.openshift.io/v1", status=status)


@pytest.mark.parametrize(
    ("objects", "binding", "said"),
    [
        ([], "must-follow", []),
        ([operator()], "settling", ["True: 1 of 3"]),
        ([operator(message="")], "settling", ["True"]),
        ([operator(status="False")], "must-follow", []),
        ([operator(lastTransitionTime="2026-11-21T01:00:00Z")], "must-follow", ["True: 1 of 3", "the rollout should"]),
        ([operator(), revisions(7, 7)], "must-follow", ["revision 7, the newest is 7: the profile is enforced"]),
        ([operator(), revisions(8, 7)], "must-follow", ["revision 8, the newest is 7: the profile is enforced"]),
        ([operator(status="False"), revisions(7, 7)], "must-follow", []),
        ([operator(), revisions(6, 7)], "settling", ["revision 6, the newest is 7"]),
        ([operator(), revisions(6, 7, 7)], "settling", ["revision 6, the newest is 7, 7 is being installed"]),
        ([operator(), revisions(6, 7, 6)], "settling", ["revision 6, the newest is 7"]),
        ([operator(status="False"), revisions(6, 7)], "must-follow", ["revision 6, the newest is 7; but its start is"]),
        ([operator(status="False"), revisions(6, 7, installing="True")], "settling", ["revision 6, the newest is 7"]),
        (
            [revisions(6, 7, installing="False")],
            "must-follow",
            ["revision 6, the newest is 7; but its start is unknown"],
        ),
        ([operator(), revisions(None, 7)], "settling", ["True: 1 of 3"]),
        ([operator(), revisions(6, None)], "settling", ["True: 1 of 3"]),
    ],
)
def test_an_operator_at_work_and_the_revision_of_the_node(
    objects: list[dict[str, Any]], binding: str, said: list[str]
) -> None:
    found = resolve(facts(*objects), partial(entry=ENTRY, skewed=(OLD,)))
    assert (found.binding, found.remarks) == (binding, ())
    assert len(found.because) == len(said)
    assert all(each.said.startswith(start) for each, start in zip(found.because, said, strict=True))


def test_operators_that_could_not_be_read_are_a_remark() -> None:
    for entry, remarks in ((ENTRY, 1), (None, 0)):
        found = resolve(facts(clusteroperators="HTTP 403"), partial(entry=entry))
        assert len(found.remarks) == remarks
        assert all(each.endswith("rolling out a change: HTTP 403") for each in found.remarks)


def test_the_revision_says_where_it_stands_and_since_when() -> None:
    bare = revisions(0, 7)
    del bare["status"]["nodeStatuses"][1]["targetRevision"]
    assert str(revision_of(facts(bare), partial(entry=ENTRY))) == "revision 0, the newest is 7"
    seen = facts(revisions(6, 7, 7, installing="True"))
    assert revision_of(seen, partial(entry=ENTRY)) == Revision(
        source="KubeAPIServer/cluster",
        field="status.nodeStatuses[m]",
        current=6,
        newest=7,
        target=7,
        since=TAKEN_AT - timedelta(minutes=10),
    )
