"""A scan in parts: killed and resumed, in shards, merged; each gives the report of an undisturbed scan."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from scanner.cli import resumed_scan, running, scan_work
from scanner.cli.resumed_scan import saved_targets
from scanner.jobs import Job
from scanner.model.endpoint import Endpoint, Target
from scanner.model.expectation import Expectation
from scanner.model.saved_scan import HEAD, OBSERVATIONS, SHARDS, TARGETS, decode
from scanner.probe import dial
from scanner.probe.limits import Gate, Limits
from scanner.sharding import Shard
from tests.cli.calling import COMMAND, PATIENCE, Call, assert_refused, environment
from tests.cli.conftest import Farm, Place

LIMITS = ("--timeout", "3")
TIMES = ("started", "finished", "scanner")


def report(text: str) -> dict[str, Any]:
    """A JSON report without times and the command line."""
    found: dict[str, Any] = json.loads(text)
    return {name: value for name, value in found.items() if name not in TIMES}


@pytest.fixture
def whole(place: Place) -> dict[str, Any]:
    return report(place.answer.out)


@pytest.fixture
def prepared(place: Place, tmp_path: Path) -> Path:
    """The saved scan of the cluster, as it was before its first observation."""
    return unfinished(place.kept, tmp_path / "saved")


def unfinished(kept: Path, into: Path) -> Path:
    copytree(kept, into)
    head = json.loads((into / HEAD).read_text())
    head = {**head, "unfinished": True, "coverage": None, "outcomes": None, "finished": "", "interrupted": None}
    (into / HEAD).write_text(json.dumps(head))
    for name in ("rows.jsonl", "findings.jsonl", OBSERVATIONS):
        (into / name).unlink()
    return into


def _shards(saved: Path) -> Path:
    return saved / SHARDS / str(json.loads((saved / HEAD).read_text())["scan"])


def spread(kept: Path, into: Path, count: int) -> None:
    """Distribute the observations of a scan as its shards would have made them."""
    lines = (kept / OBSERVATIONS).read_text().splitlines(keepends=True)
    seen = [(line, decode(line, "line").endpoint) for line in lines]
    for index in range(count):
        shard = Shard(index, count)
        directory = _shards(into) / shard.name
        directory.mkdir(parents=True)
        mine = {id(job.endpoint) for job in shard.of(Job(endpoint=each, owes=_unused) for _, each in seen)}
        (directory / OBSERVATIONS).write_text("".join(line for line, each in seen if id(each) in mine))
        head = json.loads((into / HEAD).read_text())
        (directory / HEAD).write_text(json.dumps({**head, "unfinished": False, "finished": "2026-11-23T00:00:00Z"}))


def _unused(endpoint: Endpoint) -> Expectation:
    raise NotImplementedError(endpoint.id)


@pytest.mark.parametrize("count", [2, *(pytest.param(count, marks=pytest.mark.slow) for count in (1, 7, 40))])
def test_merged_shards_equal_the_whole_scan(
    place: Place, whole: dict[str, Any], prepared: Path, call: Call, count: int
) -> None:
    spread(place.kept, prepared, count)
    answer = call("merge", prepared, "--format", "json")
    assert answer.code == place.answer.code
    assert report(answer.out) == whole


def test_a_missing_shard_makes_the_scan_incomplete_and_is_named(place: Place, prepared: Path, call: Call) -> None:
    spread(place.kept, prepared, 3)
    (_shards(prepared) / "1-of-3" / OBSERVATIONS).unlink()
    (_shards(prepared) / "1-of-3" / HEAD).unlink()
    answer = call("merge", prepared, "--fail-on", "never")
    assert answer.code == 3
    assert "stopped by missing shards 1 of 3: " in answer.out
    assert " not started" in answer.out.splitlines()[-1]


def test_shards_of_two_sizes_are_refused(place: Place, prepared: Path, call: Call) -> None:
    spread(place.kept, prepared, 3)
    assert_refused(call("scan", "--resume", prepared, "--shard", "0/4"), "shards of 3 parts")
    (_shards(prepared) / "0-of-4").mkdir()
    assert_refused(call("merge", prepared), "shards of 3 and 4 parts")


def test_nothing_recorded_is_asked_again(place: Place, whole: dict[str, Any], prepared: Path, call: Call) -> None:
    lines = (place.kept / OBSERVATIONS).read_text().splitlines(keepends=True)
    # The last line was being written when the process was killed.
    (prepared / OBSERVATIONS).write_text("".join(lines[:-2]) + lines[-2][:100])
    assert_refused(
        call("scan", "--resume", prepared, "--format", "json", "--allow-loopback"),
        "--allow-loopback and --resume cannot be combined",
    )
    answer = call("scan", "--resume", prepared, "--format", "json", *LIMITS)
    assert answer.code == place.answer.code
    now = report(answer.out)
    recorded = (prepared / OBSERVATIONS).read_text().splitlines(keepends=True)
    assert recorded[: len(lines) - 2] == lines[:-2]
    asked = {decode(line, "line").endpoint.instance for line in lines[-2:]}
    assert {decode(line, "line").endpoint.instance for line in recorded[len(lines) - 2 :]} == asked
    assert len(recorded) == len(lines)
    for then, fresh in zip(whole["endpoints"], now["endpoints"], strict=True):
        assert fresh == then or fresh["instance"] in asked
        assert (fresh["instance"], fresh["verdict"], fresh["status"]) == (
            then["instance"],
            then["verdict"],
            then["status"],
        )


def test_a_scan_that_did_not_end_is_no_result(prepared: Path, call: Call) -> None:
    assert_refused(call("whatif", prepared), "this scan did not end", f"adhere scan --resume {prepared}")


def test_a_fleet(place: Place, whole: dict[str, Any], prepared: Path, call: Call, tmp_path: Path) -> None:
    """Another cluster of the same kind, with a name of its own."""
    other = tmp_path / "other"
    copytree(place.kept, other)
    name = json.loads((other / HEAD).read_text())["clusters"][0]
    for path in (other / HEAD, other / "snapshot" / "adhere-snapshot.json"):
        path.write_text(path.read_text().replace(f'"{name}"', '"second"'))
    answer = call("merge", place.kept, other, "--format", "json")
    told = report(answer.out)
    ids = [row["id"] for row in told["endpoints"]]
    assert len(ids) == 2 * len(whole["endpoints"])
    assert {each.partition("/")[0] for each in ids} == {name, "second"}
    verdicts = [row["verdict"] for row in told["endpoints"]]
    assert sorted(verdicts) == sorted(2 * [row["verdict"] for row in whole["endpoints"]])
    assert call("merge", place.kept, prepared).code == 2  # the same cluster twice


@pytest.mark.slow
def test_killed_at_any_moment(farm: Farm, call: Call, tmp_path: Path) -> None:
    """kill -9 of the whole scan and of its shards, then the rest: as if nothing had happened."""
    targets = [each.target for each in farm.listeners.values()]
    options = ("--ca", farm.ca, "--profile", "intermediate", *LIMITS)
    undisturbed = report(call("scan", *targets, *options, "--format", "json").out)
    saved = tmp_path / "saved"
    answer = call("scan", *targets, *options, "--dry-run", "--save", saved)
    assert (answer.code, len((saved / TARGETS).read_text().splitlines())) == (0, len(targets))
    _killed(saved, "--concurrency", "1")
    _killed(saved, "--concurrency", "1", "--shard", "0/2")
    before = _lines(saved)
    assert 0 < before < len(undisturbed["endpoints"])
    for index in (0, 1):
        answer = call("scan", "--resume", saved, "--shard", f"{index}/2", *LIMITS)
        assert answer.code == 0, answer.err
        assert answer.err.splitlines()[-1].startswith("exit 0: ")
    assert call("scan", "--resume", saved, "--shard", "1/2", *LIMITS).code == 0
    assert _lines(saved) == len(undisturbed["endpoints"])
    merged = report(call("merge", saved, "--format", "json").out)
    assert judged(merged) == judged(undisturbed)
    assert merged["coverage"] == undisturbed["coverage"]


@pytest.mark.slow
def test_any_number_of_workers_gives_the_same(farm: Farm, call: Call) -> None:
    targets = [each.target for each in farm.listeners.values()]
    options = (*targets, "--ca", farm.ca, "--profile", "intermediate", *LIMITS, "--format", "json")
    alone, several = (report(call("scan", *options, "--workers", number).out) for number in (1, 3))
    assert judged(several) == judged(alone)
    assert several["coverage"] == alone["coverage"]


def test_what_was_cut_off_is_asked_again_wherever_it_is_recorded(listed: Path, call: Call) -> None:
    """A worker that was killed leaves endpoints that were cut off before others that were finished."""
    assert call("scan", "--resume", listed, "--format", "json", *LIMITS).code == 1
    first, second = (listed / OBSERVATIONS).read_text().splitlines(keepends=True)
    seen = json.loads(first)
    cut = json.dumps({**seen, "observation": {**seen["observation"], "stopped": "a kill"}}, separators=(",", ":"))
    (listed / OBSERVATIONS).write_text(f"{cut}\n{second}")
    answer = call("scan", "--resume", listed, "--format", "json", *LIMITS)
    assert answer.code == 1, answer.err
    assert answer.document["coverage"]["complete"]
    again = (listed / OBSERVATIONS).read_text().splitlines(keepends=True)
    assert again[0] == second
    assert decode(again[1], "line").endpoint == decode(first, "line").endpoint


def _killed(saved: Path, *options: str) -> None:
    """Run the rest of a scan, and kill it without a warning after some observations."""
    before = _lines(saved)
    command = [*COMMAND, "scan", "--resume", str(saved), "--quiet", *options]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL, start_new_session=True) as process:
        end = time.monotonic() + PATIENCE
        while _lines(saved) < before + 3 and process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)


def _lines(saved: Path) -> int:
    found = [saved / OBSERVATIONS, *(saved / SHARDS).glob(f"*/*/{OBSERVATIONS}")]
    return sum(each.read_bytes().count(b"\n") for each in found if each.exists())


def judged(document: dict[str, Any]) -> list[tuple[object, ...]]:
    return [
        (
            row["instance"],
            row["verdict"],
            row["status"],
            [(f["rule"], f["verdict"], f["message"]) for f in row["findings"]],
        )
        for row in document["endpoints"]
    ]


@pytest.fixture
def listed(farm: Farm, call: Call, tmp_path: Path) -> Path:
    """A saved scan of two targets, not started; one of them fails."""
    saved = tmp_path / "listed"
    targets = farm.targets("modern", "intermediate-rsa")
    answer = call("scan", *targets, "--ca", farm.ca, "--profile", "modern", "--dry-run", "--save", saved)
    assert answer.code == 0, answer.err
    return saved


def test_an_address_that_was_not_asked_makes_the_merged_scan_incomplete(listed: Path, call: Call) -> None:
    """Of a host with two addresses, the process was killed between them."""
    assert call("scan", "--resume", listed, "--fail-on", "never", *LIMITS).code == 0
    first, second = (listed / OBSERVATIONS).read_text().splitlines(keepends=True)
    (listed / OBSERVATIONS).write_text(first.replace('"place":', '"beside":2,"place":', 1) + second)
    assert call("merge", listed).code == 2  # the place comes second
    head, rest = first.split(',"endpoint"', 1)
    (listed / OBSERVATIONS).write_text(f'{head},"beside":2,"endpoint"{rest}{second}')
    answer = call("merge", listed, "--fail-on", "never")
    assert (answer.code, "1 not started" in answer.out) == (3, True)
    assert "stopped by missing observations" in answer.out


@pytest.fixture
def named(farm: Farm, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The saved scan of a name with two addresses, complete; the resolver fails from then on."""
    saved, port = tmp_path / "named", farm["modern"].port

    async def two(_: str, __: int) -> tuple[str, ...]:
        return "127.0.0.1", "127.0.0.2"

    async def none(_: str, __: int) -> tuple[str, ...]:
        raise dial.NotResolved("the name does not resolve (test)")

    monkeypatch.setattr(dial, "addresses", two)
    options = ("--ca", farm.ca, "--profile", "modern", "--fail-on", "never", "--save", saved, *LIMITS)
    assert call("scan", f"two.test:{port}", *options).code in {0, 3}
    assert len((saved / OBSERVATIONS).read_text().splitlines()) == 2
    monkeypatch.setattr(dial, "addresses", none)
    return saved


def test_a_name_whose_addresses_were_asked_is_not_resolved_again(named: Path, call: Call) -> None:
    kept = (named / OBSERVATIONS).read_text()
    rows = [decode(line, "line").endpoint.instance for line in kept.splitlines()]
    answer = call("scan", "--resume", named, "--format", "json", *LIMITS)
    assert [row["instance"] for row in answer.document["endpoints"]] == rows
    assert (named / OBSERVATIONS).read_text() == kept


def test_what_an_address_answered_is_kept_when_its_name_is_gone(named: Path, call: Call) -> None:
    """The process was killed between the addresses of a name, which then does not resolve."""
    first = (named / OBSERVATIONS).read_text().splitlines(keepends=True)[0]
    (named / OBSERVATIONS).write_text(first)
    for command in (("scan", "--resume", named, *LIMITS), ("merge", named), ("scan", "--resume", named, *LIMITS)):
        answer = call(*command, "--format", "json")
        one, other = answer.document["endpoints"]
        assert one["instance"] == decode(first, "line").endpoint.instance
        assert (other["reach"], other["verdict"], answer.code) == ("unreachable", "inconclusive", 3), other


def test_a_sharded_scan_that_is_finished_alone_has_all_observations(listed: Path, call: Call, tmp_path: Path) -> None:
    assert call("scan", "--resume", listed, "--shard", "0/1", *LIMITS).code == 0
    assert call("scan", "--resume", listed, *LIMITS).code == 1
    answer = call("whatif", listed, "--profile", "intermediate")
    assert "only in the first judgement" not in answer.out
    (listed / OBSERVATIONS).write_text("")
    answer = call("whatif", listed, "--profile", "intermediate")
    assert answer.code == 3
    assert "2 endpoints of the saved scan without an observation" in answer.out


def test_shards_of_another_scan_are_not_used(farm: Farm, listed: Path, call: Call, tmp_path: Path) -> None:
    assert call("scan", "--resume", listed, "--shard", "0/1", *LIMITS).code == 0
    other = tmp_path / "other"
    assert call("scan", *farm.targets("plaintext-http"), "--dry-run", "--save", other).code == 0
    copytree(listed / SHARDS, other / SHARDS)
    answer = call("merge", other)
    assert (answer.code, "stopped by the end of its process" in answer.out) == (3, True), answer.out
    scan = json.loads((other / HEAD).read_text())["scan"]
    (other / SHARDS / json.loads((listed / HEAD).read_text())["scan"]).rename(other / SHARDS / scan)
    assert_refused(call("merge", other), "in the place of")


def test_a_target_that_was_changed_is_refused(listed: Path, call: Call) -> None:
    assert call("scan", "--resume", listed, *LIMITS).code == 1
    lines = (listed / TARGETS).read_text().splitlines(keepends=True)
    (listed / TARGETS).write_text("".join(reversed(lines)))
    for command in (("merge", listed), ("scan", "--resume", listed, *LIMITS)):
        assert_refused(call(*command), "its files were changed")


def test_a_dry_run_keeps_no_list_of_its_endpoints(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scan in parts begins with one, also of a million targets."""
    steps = list[str]()

    def read(directory: str) -> Iterator[Target]:
        for each in saved_targets(directory):
            steps.append("read")
            yield each

    monkeypatch.setattr(resumed_scan, "saved_targets", read)
    monkeypatch.setattr(scan_work, "show", lambda _: steps.append("shown"))
    assert call("scan", "127.0.0.1:1", "127.0.0.1:2", "--dry-run", "--save", tmp_path / "saved").code == 0
    assert steps == ["read", "shown", "read", "shown", "shown"]


def test_a_list_that_was_cut_is_refused(listed: Path, call: Call) -> None:
    assert call("scan", "--resume", listed, *LIMITS).code == 1
    for name in (TARGETS, OBSERVATIONS):
        (listed / name).write_text((listed / name).read_text().splitlines(keepends=True)[0])
    for command in (("merge", listed), ("scan", "--resume", listed)):
        assert_refused(call(*command), "it has 1 targets, not 2")


def test_an_observation_of_another_address_is_no_result(listed: Path, call: Call) -> None:
    assert call("scan", "--resume", listed, *LIMITS).code == 1
    first, rest = (listed / OBSERVATIONS).read_text().split("\n", 1)
    instance = decode(first, "line").endpoint.instance
    (listed / OBSERVATIONS).write_text(first.replace(instance, f"{instance}0") + "\n" + rest)
    answer = call("merge", listed, "--fail-on", "never")
    assert (answer.code, "1 not started" in answer.out) == (3, True), answer.out


def test_a_directory_of_an_earlier_release_is_refused(listed: Path, call: Call) -> None:
    head = json.loads((listed / HEAD).read_text())
    (listed / HEAD).write_text(json.dumps({name: head[name] for name in head if name not in ("scan", "selection")}))
    for command in (("merge", listed), ("scan", "--resume", listed)):
        assert_refused(call(*command), "an earlier release saved it")


def test_one_process_writes_at_a_time(listed: Path, call: Call) -> None:
    descriptor = os.open(listed, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    assert_refused(call("scan", "--resume", listed, *LIMITS), "another process writes there")
    os.close(descriptor)


def test_files_that_are_none_of_adhere(listed: Path, call: Call) -> None:
    (listed / OBSERVATIONS).unlink()
    os.mkfifo(listed / OBSERVATIONS)
    for command in (("merge", listed), ("scan", "--resume", listed)):
        assert_refused(call(*command), "not a regular file")
    (listed / OBSERVATIONS).unlink()
    (listed / OBSERVATIONS).symlink_to("/etc/passwd")
    assert_refused(call("merge", listed), "leads out of the directory")


def test_the_input_of_a_merge_is_not_its_output(listed: Path, call: Call) -> None:
    for inside in (listed, listed / SHARDS, listed.parent):
        assert_refused(call("merge", listed, "--save", inside), "or above it")


def test_the_severity_of_the_scan_counts_in_its_parts(farm: Farm, call: Call, tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    options = ("--profile", "modern", "--ca", farm.ca, "--fail-on", "never")
    assert call("scan", *farm.targets("intermediate-rsa"), *options, "--save", saved, *LIMITS).code == 0
    assert call("merge", saved).code == 0
    assert call("merge", saved, "--fail-on", "high").code == 1
    assert call("scan", "--resume", saved, *LIMITS).code == 0
    assert_refused(call("scan", "--resume", saved, "--shard", "0/1", "--format", "json"), "--format is for the report")


@pytest.mark.parametrize(
    ("options", "timeout", "rate"),
    [((), 2.0, 5.0), (("--rate", "9"), 2.0, 9.0), (("--shard", "0/4"), 2.0, 1.25), (("--timeout", "1"), 1.0, 5.0)],
)
def test_the_speed_of_the_scan_counts_in_its_parts(
    farm: Farm, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...], timeout: float, rate: float,
) -> None:  # fmt: skip
    saved, used, config = tmp_path / "saved", list[Limits](), tmp_path / "config.yaml"
    config.write_text("timeout: 2\n")
    limited = ("--rate", "5", "--config", config, "--dry-run", "--save", saved)
    assert call("scan", *farm.targets("plaintext-http"), *limited).code == 0

    def gate(limits: Limits) -> Gate:
        used.append(limits)
        return Gate(limits)

    monkeypatch.setattr(running, "Gate", gate)
    call("scan", "--resume", saved, *options)
    assert [(each.timeout, each.rate) for each in used] == [(timeout, rate)]


def test_a_speed_that_cannot_be(listed: Path, call: Call) -> None:
    head = json.loads((listed / HEAD).read_text())
    for name, value in (("rate", 0), ("rate", -1), ("concurrency", 2**40)):
        (listed / HEAD).write_text(json.dumps({**head, "speed": {name: value}}))
        assert_refused(call("scan", "--resume", listed), f"speed.{name}: not more than 0")


def test_a_wrong_target_leaves_the_former_scan(listed: Path, call: Call, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.txt"
    wrong.write_text("good.test:443\nbad.test:99999\n")
    assert call("scan", "--targets", wrong, "--save", listed).code == 2
    assert len((listed / TARGETS).read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("text", "environment", "said"),
    [
        ("4/4", {}, "not a shard"),
        ("0/0", {}, "not a shard"),
        ("a/b", {}, "not a shard"),
        ("auto", {}, "JOB_COMPLETION_INDEX and JOB_COMPLETIONS is not set"),
        ("auto", {"JOB_COMPLETION_INDEX": "1"}, "JOB_COMPLETIONS is not set"),
        ("auto", {"JOB_COMPLETION_INDEX": "9", "JOB_COMPLETIONS": "3"}, "JOB_COMPLETION_INDEX/JOB_COMPLETIONS: not a"),
    ],
)
def test_a_shard_that_cannot_be(
    call: Call, monkeypatch: pytest.MonkeyPatch, prepared: Path, text: str, environment: dict[str, str], said: str
) -> None:
    for name in ("JOB_COMPLETION_INDEX", "JOB_COMPLETIONS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert_refused(call("scan", "--resume", prepared, "--shard", text), said)


def test_merge_waits_for_shards_that_have_not_begun(
    place: Place, whole: dict[str, Any], prepared: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resumed_scan, "sleep", lambda _: spread(place.kept, prepared, 2))
    answer = call("merge", prepared, "--wait", "60", "--format", "json")
    assert report(answer.out) == whole
