"""A saved scan judged again: what sslyze answered and what policies explain is judged again too, or said not to be."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from scanner.assessment import Viewpoint
from scanner.cli.commands.whatif import compared
from scanner.errors import InputError, ResourceError
from scanner.kube.maybe import Unknown
from scanner.kube.tls_profile import Profile
from scanner.model.expectation import Because, Expectation, Lever
from scanner.model.observation import Answers, Observation, Opinion, Reach
from scanner.model.report import EndpointRow
from scanner.model.saved_scan import HEAD, Head, Seen
from scanner.saved_scan import Rejudged, SavedScanWriter, load_head, outlook, rejudge
from scanner.tls.codepoints import TLS12, TLS13
from scanner.values import replace
from tests.expect.stories import snapshot_of
from tests.judge.cases import CONFORMING, ENDPOINT, PROFILE, TLS12_SUITES, WEB, all_suites, answers

CBC, RSA_CBC = 0xC013, 0x002F
ACCEPTS_CBC = replace(
    CONFORMING,
    suites={**CONFORMING.suites, TLS12: answers((*TLS12_SUITES, CBC, RSA_CBC), all_suites(TLS12))},
)
WIDE = replace(PROFILE, name="wide", suites=(*PROFILE.suites, RSA_CBC))
"""Under it the listener violates by one suite alone."""
ANSWERED = Opinion(
    witness="sslyze 6.3.1", highest=TLS12, suites={TLS12: Answers(refused=frozenset({CBC}), unasked="not asked")},
    flaws={"heartbleed": True, "robot": False},
)  # fmt: skip


def saved(
    directory: Path,
    head: Head,
    opinion: Opinion | None = None,
    observation: Observation = ACCEPTS_CBC,
    profile: Profile | None = None,
) -> Rejudged:
    """A scan of one target that was kept, as it would have come out from the same viewpoint."""
    rows = directory / "rows"
    rows.write_text("")
    kept = str(directory / "kept")
    with SavedScanWriter(kept, head, ()) as writer:
        writer.record(Seen(endpoint=ENDPOINT, observation=observation, opinion=opinion))
        writer.finish(rows)
    return rejudge(kept, load_head(kept), Viewpoint(profile=profile))


def suites(row: EndpointRow) -> dict[str, Any]:
    (found,) = [each for each in row["findings"] if each["rule"] == "tls-cipher-suite"]
    return {name: found[name] for name in ("verdict", "second_opinion")}


def flaws(row: EndpointRow) -> dict[str, str]:
    return {each["rule"]: each["verdict"] for each in row["findings"] if each["rule"].startswith("vuln-")}


def test_what_sslyze_answered_is_judged_again(tmp_path: Path) -> None:
    once = saved(tmp_path, Head(profile=WIDE, confirm=True, deep=True), ANSWERED)
    (row,) = once.rows()
    assert suites(row) == {"verdict": "inconclusive", "second_opinion": "contradicted"}
    assert (flaws(row)["vuln-heartbleed"], flaws(row)["vuln-robot"]) == ("fail", "pass")
    assert flaws(row)["vuln-compression"] == "inconclusive"  # nobody asked


def test_a_violation_that_it_was_not_asked_of_stays_one(tmp_path: Path) -> None:
    once = saved(tmp_path, Head(profile=WIDE, confirm=True, deep=False), ANSWERED, profile=PROFILE)
    (row,) = once.rows()
    assert suites(row) == {"verdict": "fail", "second_opinion": "not-visible-to-sslyze"}
    assert flaws(row) == {}
    assert any("confirmation of new violations" in each for each in once.not_judged())


@pytest.mark.parametrize(("head", "said"), [(Head(profile=WIDE), True), (Head(profile=WIDE, deep=False), False)])
def test_a_scan_that_kept_no_answers_says_so(tmp_path: Path, head: Head, said: bool) -> None:
    once = saved(tmp_path, head)
    (row,) = once.rows()
    assert (suites(row), flaws(row)) == ({"verdict": "fail", "second_opinion": None}, {})
    assert any("did not save them" in each for each in once.not_judged()) is said
    assert compared(once).not_judged == once.not_judged()


def test_a_directory_of_an_older_release_is_read(tmp_path: Path) -> None:
    saved(tmp_path, Head(profile=WIDE, deep=True))
    file = tmp_path / "kept" / HEAD
    value = json.loads(file.read_text())
    del value["deep"], value["confirm"]
    file.write_text(json.dumps(value))
    assert load_head(str(file.parent)).deep is None


def test_targets_without_a_profile_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"scan\.json: profile: a list of targets needs one"):
        saved(tmp_path, Head())
    assert saved(tmp_path, Head(), profile=PROFILE).of_targets


ASKED = Because(source="--profile", field="", said="modern", decides=True)
TAKES = Lever(where="APIServer/cluster", field="spec.tlsSecurityProfile", applied_by="etcd")
REFUSES_13 = replace(CONFORMING, versions=Answers(accepted=(TLS12,), refused=frozenset({TLS13})))
MODERN = replace(PROFILE, min_version=TLS13)


@pytest.mark.parametrize(
    ("met", "observation", "kind"),
    [
        (True, CONFORMING, "follows"),
        (False, CONFORMING, "does-not-follow"),
        (True, REFUSES_13, "cannot"),
        # What was not told stands in nobody's way.
        (True, replace(CONFORMING, versions=Answers(accepted=(TLS12,))), "follows"),
    ],
)
def test_what_becomes_of_a_listener_that_takes_its_profile_from_an_object(
    met: bool, observation: Observation, kind: str
) -> None:
    found = outlook(Expectation(profile=MODERN, because=(ASKED,), lever=TAKES), observation, met_then=met)
    assert found is not None
    assert (found.kind, found.source) == (kind, "APIServer/cluster spec.tlsSecurityProfile")


@pytest.mark.parametrize(
    "expectation",
    [
        Expectation(profile=MODERN, because=(ASKED,)),
        Expectation(profile=MODERN, because=(replace(ASKED, source="adhere.yaml:3:3"),), lever=TAKES),
        Expectation(profile=MODERN, because=(ASKED,), lever=Lever(where="Pod/a/b", minimum="--tls-min-version")),
        Expectation(profile=Unknown("no"), because=(ASKED,), lever=TAKES),
    ],
)
def test_what_takes_it_from_elsewhere_follows_nothing(expectation: Expectation) -> None:
    """Flags, a policy's override, and what nobody configures have to be changed by somebody."""
    assert outlook(expectation, CONFORMING, met_then=True) is None


POLICY = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "NetworkPolicy",
    "metadata": {"name": "closed", "namespace": "shop"},
    "spec": {"podSelector": {}},
}


@pytest.mark.parametrize("readable", [True, False])
def test_policies_explain_silence_again(tmp_path: Path, readable: bool) -> None:
    unreadable = {} if readable else {"networkpolicies.networking.k8s.io": "forbidden"}
    snapshot = snapshot_of([POLICY] if readable else [], unreadable=unreadable)
    seen = Seen(endpoint=WEB, observation=replace(CONFORMING, reach=Reach.FILTERED, versions=Answers(unasked="none")))
    (tmp_path / "rows").write_text("")
    with SavedScanWriter(str(tmp_path / "kept"), Head(clusters=("c",), deep=False), (snapshot,)) as writer:
        writer.record(seen)
        writer.finish(tmp_path / "rows")
    once = rejudge(str(tmp_path / "kept"), load_head(str(tmp_path / "kept")), Viewpoint())
    (row,) = once.rows()
    (reach,) = [each for each in row["findings"] if each["rule"] == "tls-reach"]
    said = "NetworkPolicy/shop/closed selects the pod and admits no client to this port"
    assert (said in reach["evidence"]) is readable
    assert bool(row["blocked_by"]) is readable
    assert any("NetworkPolicies" in each for each in once.not_judged()) is not readable


def test_a_full_disk_hides_no_other_error(tmp_path: Path) -> None:
    def fails() -> None:
        with SavedScanWriter(str(tmp_path / "kept"), Head()) as writer:
            full = os.open("/dev/full", os.O_WRONLY)
            os.dup2(full, writer._out.fileno())
            os.close(full)
            with pytest.raises(ResourceError, match="No space left"):
                writer.record(Seen(endpoint=ENDPOINT, observation=ACCEPTS_CBC))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
