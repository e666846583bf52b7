"""Saved scans in an object store (the extra ``adhere[s3]``): any URL that fsspec knows, such as s3://bucket/prefix.

A ``Mirror`` gives the rest of adhere a directory with the files of the saved scan. An object cannot be appended to, so
observations are uploaded as segments: numbered objects with complete lines, whose names differ for each process. The
description, ``scan.json``, is uploaded after all that it describes: it says that the save, or the shard, is complete.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from threading import Event, Thread
from typing import Any, TypeVar

from scanner.errors import InputError, ResourceError, ScannerError, UsageError
from scanner.model.saved_scan import (
    COMPONENTS,
    EARLIER,
    FINDINGS,
    HEAD,
    MOST_BYTES,
    NODES,
    OBSERVATIONS,
    POLICY,
    ROWS,
    SHARDS,
    TARGETS,
)
from scanner.report.escape import plain

SECONDS = 10.0
"""Longest time from an observation to its upload: what ``kill -9`` can lose."""
_LARGE = 2**20
"""Bytes that are uploaded at once, before the time is up."""
_URL = re.compile(r"[a-z][a-z0-9]*://[\w.~+=,@/-]+", re.ASCII)
_FILES = "|".join(map(re.escape, (HEAD, ROWS, FINDINGS, POLICY, TARGETS, NODES)))
_SEGMENT = r"observations-[0-9a-f]{8}-[0-9]{6}\.jsonl"
_NAME = re.compile(
    rf"(?:{_FILES}|{_SEGMENT}|{COMPONENTS}/[0-9]{{1,5}}\.yaml"
    rf"|{SHARDS}/[0-9a-f]{{16}}/[0-9]{{1,5}}-of-[0-9]{{1,5}}/(?:{re.escape(HEAD)}|{_SEGMENT})"
    rf"|(?:snapshot|(?:snapshots|{EARLIER})/[0-9]{{1,5}})/(?:adhere-snapshot|objects/[a-z0-9][a-z0-9.-]*)\.json)"
)
"""The names of a saved scan. Others are not read: who may write to the store could name a file outside."""
_OPTIONS: dict[str, dict[str, Any]] = {
    # Each request is tried 3 times, and up to 5 times if there is no connection.
    "s3": {"config_kwargs": {"retries": {"mode": "standard", "total_max_attempts": 3}}},
    "file": {"auto_mkdir": True},
}
_SECRETS = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID")

T = TypeVar("T")


def is_url(place: str) -> bool:
    """True for the URL of an object store, False for a directory."""
    return "://" in place


class Mirror:
    """A directory with the files of a saved scan in an object store."""

    def __init__(self, url: str, directory: str) -> None:
        """Raises ``UsageError`` for a URL that cannot be used, ``ResourceError`` without the library for it."""
        self.url, self.directory = _checked(url).rstrip("/"), directory
        Path(directory).mkdir()
        self._had: dict[str, object] = {}
        self._files, root = self._do("opened", _file_system, self.url)
        self._start = f"{root.rstrip('/')}/"
        self._process = token_hex(4)
        self._observations = Path(directory, OBSERVATIONS)
        self._sent, self._segments = 0, 0
        self._uploader: Thread | None = None
        self._due, self._ended = Event(), False
        self._failed: ScannerError | None = None

    def fetch_heads(self) -> None:
        """Download the descriptions of the scan, its nodes and its shards. Raises ``ScannerError``."""
        self._fetch(lambda name: name.endswith(HEAD) or name == NODES)

    def fetch(self, shard: str | None = None) -> None:
        """Download the input of the scan, and the observations; of a shard, only what it made itself. Call
        ``fetch_heads`` before: all segments of a shard are there before its description. Raises ``ScannerError``."""

        def is_needed(name: str) -> bool:
            other = shard is not None and name.startswith(SHARDS) and f"/{shard}/" not in name
            return not other and not name.endswith((HEAD, ROWS, FINDINGS))

        self._fetch(is_needed)

    def upload_input(self) -> None:
        """Replace the saved scan in the store by that of the directory. Raises ``ScannerError``."""
        listed = self._list()
        strange = next((each for each in listed if not _NAME.fullmatch(each)), None)
        if strange is not None and HEAD not in listed:
            hint = "choose an empty prefix, or that of a saved scan"
            raise UsageError(f"{self.url}: it has other content: {plain(strange, 100)}", hint=hint)
        old = [each for each in listed if _NAME.fullmatch(each)]
        # The description first: what is left of an interrupted upload is no saved scan.
        for names in ([HEAD] if HEAD in old else [], [each for each in old if each != HEAD]):
            if names:
                self._do("written", self._files.rm, [self._start + each for each in names])
        top = Path(self.directory)
        names = sorted(str(each.relative_to(top)) for each in top.rglob("*") if each.is_file())
        self._put(each for each in names if _NAME.fullmatch(each) and each != HEAD)
        self._put([HEAD])

    def recorded(self, observations: Path) -> None:
        """Upload the new lines of the file soon. Raises ``ScannerError`` if an upload before has failed."""
        if self._failed:
            raise self._failed
        if self._uploader is None:  # not earlier: the processes that probe are forked before
            self._observations = observations
            self._uploader = Thread(target=self._upload, daemon=True)
            self._uploader.start()
        if observations.stat().st_size - self._sent >= _LARGE:
            self._due.set()

    def finish(self, directory: Path) -> None:
        """Upload what is left in ``directory``, its description last. Raises ``ScannerError``."""
        self._stop()
        self._upload_segments()
        below = directory.relative_to(self.directory)
        self._put(str(below / each) for each in (ROWS, FINDINGS) if (directory / each).is_file())
        self._put([str(below / HEAD)])

    def close(self) -> None:
        """Upload the last observations of a scan that has failed, if the store did not fail itself."""
        if self._ended:
            return
        self._stop()
        if not self._failed:
            with suppress(ScannerError):
                self._upload_segments()

    def _stop(self) -> None:
        self._ended = True
        self._due.set()
        if self._uploader:
            self._uploader.join()

    def _upload(self) -> None:
        """Upload segments until ``_stop``: in a thread of its own, so that no handshake waits for the store."""
        try:
            while not self._ended:
                self._due.wait(SECONDS)
                self._due.clear()
                self._upload_segments()
        except ScannerError as error:
            self._failed = error
        except OSError as error:  # such as too many open files
            self._failed = ResourceError(
                f"{self._observations}: cannot be read: {error.strerror or error}",
                hint="results are not in the store: scan again",
            )

    def _upload_segments(self) -> None:
        while lines := self._new_lines():
            name = f"observations-{self._process}-{self._segments:06}.jsonl"
            path = str(self._observations.with_name(name).relative_to(self.directory))
            self._do("written", self._files.pipe_file, self._start + path, lines)
            self._sent += len(lines)
            self._segments += 1

    def _new_lines(self) -> bytes:
        """Return the complete lines that are not in the store."""
        if not self._observations.is_file():
            return b""
        with self._observations.open("rb") as source:
            source.seek(self._sent)
            data = source.read(2 * MOST_BYTES)
        return data[: data.rfind(b"\n") + 1]

    def _list(self) -> dict[str, object]:
        """Return the objects below the prefix, by name."""
        found = self._do("read", self._files.find, self._start, detail=True)
        start = self._start
        return {path.removeprefix(start): each for path, each in found.items() if path.startswith(start)}

    def _fetch(self, is_needed: Callable[[str], bool]) -> None:
        """Download the objects that are new or have changed."""
        listed = {name: each for name, each in self._list().items() if _NAME.fullmatch(name) and is_needed(name)}
        names = [name for name, each in listed.items() if self._had.get(name) != each]
        paths = [Path(self.directory, each) for each in names]
        for each in {path.parent for path in paths}:
            each.mkdir(parents=True, exist_ok=True)
        if names:
            self._do("read", self._files.get, [self._start + each for each in names], list(map(str, paths)))
        for path in paths:
            if path.suffix == ".jsonl" and not _ends_with_line(path):
                raise InputError(f"{path}: incomplete", hint="remove this object, and run the shard or scan again")
        self._had.update((each, listed[each]) for each in names)

    def _put(self, names: Iterable[str]) -> None:
        names = list(names)
        local = [str(Path(self.directory, each)) for each in names]
        if names:
            self._do("written", self._files.put, local, [self._start + each for each in names])

    def _do(self, done: str, function: Callable[..., T], *arguments: object, **options: object) -> T:
        """Call a function of the store's library. Raises ``ScannerError``."""
        try:
            return function(*arguments, **options)
        except ImportError as error:
            extra = "adhere[s3]" if self.url.startswith("s3") else "adhere[s3] and the fsspec library of this store"
            reason = f"{self.url}: the library for this store is not installed"
            raise ResourceError(reason, hint=f"pip install '{extra}'") from error
        except Exception as error:  # the libraries of stores have no common base
            reason, hint = _explained(error)
            raise ResourceError(f"{self.url}: cannot be {done}: {reason}", hint=hint) from error


def _checked(url: str) -> str:
    """Raise ``UsageError`` for a URL that cannot be used. A message never has its password."""
    hint = "write s3://BUCKET/PREFIX"
    if re.match(r"[^/]*//[^/]*:[^/]*@", url):
        hint = "use the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY), or the identity of the pod"
        raise UsageError("the URL of the saved scan has a password", hint=hint)
    if not _URL.fullmatch(url) or {".", ".."} & set(url.split("/")):
        raise UsageError("not the URL of an object store, or with characters that are not allowed", hint=hint)
    return url


def _file_system(url: str) -> tuple[Any, str]:
    from fsspec.core import url_to_fs  # noqa: PLC0415 - an extra

    options = _OPTIONS.get(url.partition(":")[0], {})
    found: tuple[Any, str] = url_to_fs(url, use_listings_cache=False, skip_instance_cache=True, **options)
    return found


def _explained(error: Exception) -> tuple[str, str]:
    """Return the reason of an error, and what to do."""
    text = str(error) if isinstance(error, OSError) and not error.strerror else getattr(error, "strerror", str(error))
    text = re.sub(r"//[^/\s@]*@", "//", text or type(error).__name__)
    for name in _SECRETS:
        if len(secret := os.environ.get(name, "")) >= 8:
            text = text.replace(secret, f"({name})")
    hint = "check the URL (s3://BUCKET/PREFIX), AWS_ENDPOINT_URL, and that the store is reachable"
    if isinstance(error, PermissionError) or "Credential" in type(error).__name__:
        hint = "check the credentials in the environment, or the identity of the pod, and their right to list, read, "
        hint += "write and delete below the prefix"
    elif isinstance(error, FileNotFoundError):
        hint = "check the names of the bucket and the prefix; adhere does not create a bucket"
    elif getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
        hint = "set TMPDIR to a directory with room for the saved scan"
    return plain(text, 300), hint


def _ends_with_line(path: Path) -> bool:
    with path.open("rb") as source:
        if not source.seek(0, os.SEEK_END):
            return path.name == TARGETS
        source.seek(-1, os.SEEK_END)
        return source.read() == b"\n"
