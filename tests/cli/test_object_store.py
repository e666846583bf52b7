"""A saved scan in an object store: an S3 server on this machine gives what a directory gives."""

from __future__ import annotations

import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from scanner import object_store
from scanner.cli import resumed_scan
from scanner.errors import ResourceError
from scanner.model.saved_scan import HEAD, OBSERVATIONS, SHARDS
from scanner.object_store import Mirror
from tests.cli.calling import COMMAND, PATIENCE, Call, environment
from tests.cli.conftest import Farm, Place
from tests.cli.test_parts import LIMITS, judged, report, spread, unfinished

BUCKET = "results"
slow = pytest.mark.slow
"""Most tests with the S3 server: it takes seconds to start."""
anywhere = pytest.mark.parametrize("store", ["file", pytest.param("s3", marks=slow)], indirect=True)


@pytest.fixture(autouse=True)
def installed() -> None:
    for name in ("fsspec", "s3fs"):
        pytest.importorskip(name, reason="the extra s3 is not installed")


class Store:
    """The objects of a bucket, by name."""

    def __init__(self, root: str, **options: object) -> None:
        from fsspec.core import url_to_fs

        self.root = root
        self._files, self._bucket = url_to_fs(root, use_listings_cache=False, **options)

    def names(self, prefix: str) -> list[str]:
        start = f"{self._bucket}/{prefix}/"
        return sorted(str(each).removeprefix(start) for each in self._files.find(start))

    def read(self, name: str) -> bytes:
        content: bytes = self._files.cat_file(f"{self._bucket}/{name}")
        return content

    def write(self, name: str, content: bytes) -> None:
        self._files.pipe_file(f"{self._bucket}/{name}", content)

    def remove(self, name: str) -> None:
        self._files.rm_file(f"{self._bucket}/{name}")

    def segments(self, prefix: str) -> list[str]:
        return [each for each in self.names(prefix) if each.rpartition("/")[2].startswith("observations-")]

    def lines(self, prefix: str) -> int:
        return sum(self.read(f"{prefix}/{each}").count(b"\n") for each in self.segments(prefix))


def _server(port: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.05)
        else:
            return process
    raise AssertionError("the S3 server did not start")


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The URL of an S3 server with a bucket."""
    pytest.importorskip("moto", reason="the S3 server of the tests is not installed")
    port = _free_port()
    process = _server(port)
    try:
        url = f"http://127.0.0.1:{port}"
        with urlopen(Request(f"{url}/{BUCKET}", method="PUT")):
            yield url
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Store:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    if getattr(request, "param", "s3") == "file":
        return Store(f"file://{tmp_path}/{BUCKET}", auto_mkdir=True)
    server: str = request.getfixturevalue("server")
    monkeypatch.setenv("AWS_ENDPOINT_URL", server)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret-of-the-tests")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    return Store(f"s3://{BUCKET}", endpoint_url=server)


@pytest.fixture
def url(store: Store, request: pytest.FixtureRequest) -> Callable[[str], str]:
    """URLs that only one test uses."""
    return lambda name: f"{store.root}/{request.node.name.replace('[', '-').rstrip(']')}/{name}"


def prefix(url: str) -> str:
    return url.partition(f"/{BUCKET}/")[2]


@slow
def test_shards_of_a_cluster_merged_from_the_store(
    place: Place, store: Store, url: Callable[[str], str], call: Call, tmp_path: Path
) -> None:
    """Each shard judges what a directory would have recorded; nothing is asked again."""
    whole = report(place.answer.out)
    options = ("--kubeconfig", place.kubeconfig, "--allow-loopback", "--timeout", "3")
    assert call("scan", "--cluster", *options, "--dry-run", "--save", url("a")).code == 3, "it may not read one kind"
    assert {HEAD, "snapshot/adhere-snapshot.json", "snapshot/objects/services.json"} <= set(
        store.names(prefix(url("a")))
    )
    scan = json.loads(store.read(f"{prefix(url('a'))}/{HEAD}"))["scan"]
    for index in range(3):
        answer = call("scan", "--resume", url("a"), "--shard", f"{index}/3", *LIMITS)
        assert answer.code == 0, answer.err
        assert f"of shard {index} of 3 recorded in {url('a')}" in answer.err
    names = store.names(prefix(url("a")))
    assert {each for each in names if each.endswith(HEAD)} == {
        HEAD,
        *(f"{SHARDS}/{scan}/{i}-of-3/{HEAD}" for i in range(3)),
    }
    answer = call("merge", url("a"), "--format", "json")
    assert answer.code == place.answer.code
    assert judged(report(answer.out)) == judged(whole)
    assert report(answer.out)["coverage"] == whole["coverage"]
    # A copy of the objects is a directory.
    for name in names:
        path = tmp_path / "copy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(store.read(f"{prefix(url('a'))}/{name}"))
    assert report(call("merge", tmp_path / "copy", "--format", "json").out) == report(answer.out)
    assert not [each for each in tmp_path.iterdir() if each.name.startswith("adhere-")]


@pytest.fixture
def stored(place: Place, store: Store, url: Callable[[str], str], tmp_path: Path) -> str:
    """The saved scan of the cluster in the store, in three shards."""
    local = unfinished(place.kept, tmp_path / "saved")
    spread(place.kept, local, 3)
    _upload(store, local, prefix(url("b")))
    return url("b")


def _upload(store: Store, local: Path, into: str) -> None:
    for each in local.rglob("*"):
        if each.is_file():
            name = each.name if each.name != OBSERVATIONS else "observations-0123abcd-000000.jsonl"
            store.write(f"{into}/{each.relative_to(local).with_name(name)}", each.read_bytes())


@anywhere
def test_the_merge_equals_that_of_a_directory(place: Place, stored: str, call: Call, tmp_path: Path) -> None:
    answer = call("merge", stored, "--format", "json", "--save", tmp_path / "whole")
    assert (answer.code, report(answer.out)) == (place.answer.code, report(place.answer.out))
    answer = call("whatif", tmp_path / "whole", "--profile", "intermediate")
    assert "without an observation" not in answer.out


@slow
def test_a_merge_is_saved_in_the_store(stored: str, store: Store, url: Callable[[str], str], call: Call) -> None:
    assert call("merge", stored, "--save", f"{stored}/below").code == 2
    answer = call("merge", stored, "--save", url("whole"), "--format", "json")
    assert "rows.jsonl" in store.names(prefix(url("whole")))
    assert json.loads(store.read(f"{prefix(url('whole'))}/{HEAD}"))["unfinished"] is False
    assert report(call("merge", url("whole"), "--format", "json").out) == report(answer.out)


@slow
def test_a_missing_shard_makes_the_scan_incomplete(stored: str, store: Store, call: Call) -> None:
    (head,) = [each for each in store.names(prefix(stored)) if each.endswith(f"1-of-3/{HEAD}")]
    store.remove(f"{prefix(stored)}/{head}")
    answer = call("merge", stored, "--fail-on", "never")
    assert answer.code == 3
    assert "stopped by missing shards 1 of 3" in answer.out


@slow
def test_a_segment_that_is_missing_or_cut_is_no_pass(stored: str, store: Store, call: Call) -> None:
    (name,) = [each for each in store.segments(prefix(stored)) if "/2-of-3/" in each]
    name = f"{prefix(stored)}/{name}"
    content = store.read(name)
    store.write(name, content[:-1])
    answer = call("merge", stored, "--fail-on", "never")
    assert (answer.code, f"s3://{BUCKET}/{name}: incomplete" in answer.err) == (2, True), answer.err
    store.write(name, content[: content.index(b"\n") + 1])
    answer = call("merge", stored, "--fail-on", "never")
    assert (answer.code, "stopped by missing observations" in answer.out) == (3, True)
    store.remove(name)
    assert call("merge", stored, "--fail-on", "never").code == 3


@slow
def test_an_object_of_the_input_that_is_missing(stored: str, store: Store, call: Call) -> None:
    store.remove(f"{prefix(stored)}/snapshot/objects/services.json")
    answer = call("merge", stored)
    assert (answer.code, f"{stored}/snapshot/objects/services.json" in answer.err) == (2, True), answer.err
    store.remove(f"{prefix(stored)}/{HEAD}")
    answer = call("merge", stored)
    assert (answer.code, f"{stored}/{HEAD}: cannot be read" in answer.err) == (2, True), answer.err


@slow
def test_only_known_names_are_read(stored: str, store: Store, call: Call, place: Place, tmp_path: Path) -> None:
    for name in (f"{SHARDS}/../../../evil.jsonl", "/etc/evil", "snapshot/objects/.hidden.json", "observations-x.jsonl"):
        store.write(f"{prefix(stored)}/{name}", b"evil\n")
    assert report(call("merge", stored, "--format", "json").out) == report(place.answer.out)
    head = json.loads(store.read(f"{prefix(stored)}/{HEAD}"))
    store.write(f"{prefix(stored)}/{HEAD}", json.dumps({**head, "scan": "../../../evil"}).encode())
    answer = call("scan", "--resume", stored, "--shard", "0/1")
    assert (answer.code, f"{stored}/{HEAD}: scan: not an id" in answer.err) == (2, True), answer.err
    assert not list(tmp_path.rglob("*evil*"))


@slow
def test_killed_shards_go_on(farm: Farm, store: Store, url: Callable[[str], str], call: Call) -> None:
    """kill -9 loses at most the observations of the last seconds."""
    targets = [each.target for each in farm.listeners.values()]
    options = ("--ca", farm.ca, "--profile", "intermediate", *LIMITS)
    undisturbed = report(call("scan", *targets, *options, "--format", "json").out)
    saved = url("killed")
    assert call("scan", *targets, *options, "--dry-run", "--save", saved).code == 0
    command = [*COMMAND, "scan", "--resume", saved, "--shard", "0/2", "--quiet", "--concurrency", "1"]
    start = (
        "import sys; from scanner import object_store; object_store.SECONDS = 0.1; from scanner.__main__ import main; "
    )
    command = [sys.executable, "-c", f"{start}sys.argv = {['adhere', *command[3:]]!r}; main()"]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL, start_new_session=True) as process:
        end = time.monotonic() + PATIENCE
        while store.lines(prefix(saved)) < 3 and process.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
    before = store.segments(prefix(saved))
    recorded = store.lines(prefix(saved))
    assert 0 < recorded < len(undisturbed["endpoints"])
    assert call("merge", saved, "--fail-on", "never").code == 3
    for index in (0, 1):
        answer = call("scan", "--resume", saved, "--shard", f"{index}/2", "--workers", 2, *LIMITS)
        assert answer.code == 0, answer.err
    assert set(before) <= set(store.segments(prefix(saved)))
    assert store.lines(prefix(saved)) == len(undisturbed["endpoints"]), "nothing recorded is asked again"
    merged = report(call("merge", saved, "--wait", "5", "--format", "json").out)
    assert judged(merged) == judged(undisturbed)
    assert merged["coverage"] == undisturbed["coverage"]
    answer = call("scan", "--resume", saved, "--format", "json", *LIMITS)
    assert judged(report(answer.out)) == judged(undisturbed)
    assert json.loads(store.read(f"{prefix(saved)}/{HEAD}"))["unfinished"] is False


@anywhere
def test_a_new_scan_replaces_the_former(farm: Farm, store: Store, url: Callable[[str], str], call: Call) -> None:
    first, second = url("same"), farm.targets("modern")
    assert call("scan", *farm.targets("intermediate-rsa", "modern"), "--save", first, *LIMITS).code in (0, 1)
    old = store.names(prefix(first))
    assert {"rows.jsonl", "targets.jsonl"} <= set(old)
    assert call("scan", *second, "--dry-run", "--save", first).code == 0
    assert store.names(prefix(first)) == [HEAD, "targets.jsonl"]
    store.write(f"{prefix(url('other'))}/notes.txt", b"mine")
    answer = call("scan", *second, "--dry-run", "--save", url("other"))
    assert (answer.code, f"{url('other')}: it has other content: notes.txt" in answer.err) == (2, True), answer.err
    assert store.names(prefix(url("other"))) == ["notes.txt"]


@slow
def test_wrong_buckets_and_credentials(
    farm: Farm, server: str, stored: str, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan = ("scan", *farm.targets("modern"), "--dry-run", "--save")
    for command in (
        ("merge", "s3://no-bucket/x"),
        (*scan, "s3://no-bucket/x"),
        ("scan", "--resume", "s3://no-bucket/x"),
    ):
        answer = call(*command)
        assert answer.code == 2
        assert "s3://no-bucket/x: cannot be read: The specified bucket does not exist" in answer.err
        assert "names of the bucket" in answer.err
    with urlopen(_auth(server, b"0")):
        for name in ("AKIAIOSFODNN7EXAMPLE", None):
            if name is None:
                monkeypatch.delenv("AWS_ACCESS_KEY_ID")
                monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
            for command in (("merge", stored), (*scan, stored), ("scan", "--resume", stored, "--shard", "0/3")):
                answer = call(*command)
                assert (answer.code, "check the credentials" in answer.err) == (2, True), answer.err
                assert f"{stored}: cannot be read" in answer.err
                assert "a-secret" not in answer.err + answer.out
                assert "Traceback" not in answer.err
    with urlopen(_auth(server, b"1000000000")):
        pass


def _auth(server: str, count: bytes) -> Request:
    """The server checks the credentials after so many requests."""
    url = f"{server}/moto-api/reset-auth"
    return Request(url, data=count, method="POST", headers={"Content-Type": "text/plain"})


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("s3://user:secret@bucket/x", "the URL of the saved scan has a password"),
        ("s3://bucket/../x", "not the URL of an object store"),
        ("s3://bucket/a*b", "not the URL of an object store"),
        ("s3://bucket/x?versionId=1", "not the URL of an object store"),
        ("simplecache::s3://bucket/x", "not the URL of an object store"),
        ("nosuch://bucket/x", "Protocol not known"),
    ],
)
def test_a_url_that_cannot_be_used(farm: Farm, call: Call, place: str, said: str) -> None:
    for command in (("merge", place), ("scan", "--resume", place), ("scan", *farm.targets("modern"), "--save", place)):
        answer = call(*command)
        assert (answer.code, said in answer.err) == (2, True), answer.err
        assert "secret" not in answer.err
        assert len(answer.err.splitlines()) == 2


def test_other_commands_need_a_directory(call: Call, tmp_path: Path) -> None:
    answer = call("whatif", "s3://bucket/x")
    assert (answer.code, "cannot be read" in answer.err) == (2, True)


@slow
def test_a_merge_waits_for_the_shards_in_the_store(
    place: Place, store: Store, url: Callable[[str], str], call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    local = unfinished(place.kept, tmp_path / "saved")
    _upload(store, local, prefix(url("a")))
    spread(place.kept, local, 2)
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        _upload(store, local, prefix(url("a")))

    listed = Mirror._list

    def fails_once(mirror: Mirror) -> dict[str, object]:
        if waited == [5.0]:
            waited.append(0.0)
            raise ResourceError("s3://bucket: cannot be read: SlowDown")
        return listed(mirror)

    monkeypatch.setattr(resumed_scan, "sleep", sleep)
    monkeypatch.setattr(Mirror, "_list", fails_once)
    answer = call("merge", url("a"), "--wait", "60", "--format", "json")
    assert report(answer.out) == report(place.answer.out)
    assert waited == [5.0, 0.0, 5.0]
    answer = call("scan", "--resume", url("nothing"), "--shard", "0/1")
    assert (answer.code, f"{url('nothing')}/{HEAD}: cannot be read" in answer.err) == (2, True), answer.err


@slow
def test_sigterm_keeps_what_was_observed(farm: Farm, store: Store, url: Callable[[str], str], call: Call) -> None:
    saved = url("stopped")
    targets = [each.target for each in farm.listeners.values()]
    assert call("scan", *targets, "--ca", farm.ca, "--dry-run", "--save", saved).code == 0
    command = [*COMMAND, "scan", "--resume", saved, "--shard", "0/1", "-v", "--concurrency", "1"]
    with subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        first = process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        err = first + process.stderr.read()
    assert process.returncode == 3, err
    assert f"recorded in {saved}" in err.splitlines()[-1], err
    assert store.lines(prefix(saved)) > 0
    answer = call("merge", saved, "--fail-on", "never")
    assert (answer.code, "stopped by missing shards 0 of 1" in answer.out) == (3, True)
    assert call("scan", "--resume", saved, "--shard", "0/1", *LIMITS).code == 0
    assert "missing shards" not in call("merge", saved).out


def test_a_large_observation_is_uploaded_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only complete lines go up, in one object for each MiB or period."""
    (tmp_path / "scratch").mkdir()
    mirror = Mirror(f"file://{tmp_path}/store", f"{tmp_path}/scratch/saved")
    observations = tmp_path / "scratch/saved" / OBSERVATIONS
    with observations.open("wb", buffering=0) as out:
        out.write(b"x" * 100 + b"\n")
        mirror.recorded(observations)
        assert not (tmp_path / "store").exists(), "the period is not over"
        out.write(b"y" * 2**20 + b"\nrest")
        mirror.recorded(observations)
        end = time.monotonic() + PATIENCE
        while not list((tmp_path / "store").glob("*")) and time.monotonic() < end:
            time.sleep(0.01)
    mirror.close()
    (segment,) = (tmp_path / "store").glob("observations-*-000000.jsonl")
    assert segment.read_bytes() == observations.read_bytes()[: -len(b"rest")]


@slow
def test_a_store_that_goes_away(farm: Farm, store: Store, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stops after the input was uploaded: the scan ends with an error, and not with a result."""
    port = _free_port()
    process = _server(port)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    monkeypatch.setattr(object_store, "SECONDS", 0.05)
    monkeypatch.setattr("s3fs.S3FileSystem.retries", 1)
    urlopen(Request(f"http://127.0.0.1:{port}/{BUCKET}", method="PUT")).close()
    before = Mirror.upload_input

    def uploaded(mirror: Mirror) -> None:
        before(mirror)
        process.kill()
        process.wait()

    monkeypatch.setattr(Mirror, "upload_input", uploaded)
    targets = [each.target for each in farm.listeners.values()]
    answer = call("scan", *targets, "--save", f"s3://{BUCKET}/gone", *LIMITS)
    assert answer.code == 2
    assert f"s3://{BUCKET}/gone: cannot be written: Could not connect to the endpoint URL" in answer.err
    assert "Traceback" not in answer.err


def test_without_the_library(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    known = vars(importlib.import_module("fsspec.registry"))["_registry"]
    monkeypatch.delitem(known, "s3", raising=False)
    monkeypatch.setitem(sys.modules, "s3fs", None)
    answer = call("merge", "s3://bucket/x")
    assert (answer.code, "pip install 'adhere[s3]'" in answer.err) == (2, True), answer.err
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    assert "pip install 'adhere[s3]'" in call("merge", "s3://bucket/x").err
