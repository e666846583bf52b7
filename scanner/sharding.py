"""Shards: the parts of one scan that several processes probe, each the listeners of its own nodes and hosts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256

from msgspec import Struct

from scanner.errors import UsageError
from scanner.jobs import Job
from scanner.probe.limits import host_of
from scanner.values import replace

MOST = 10_000
INDEX, COUNT = "JOB_COMPLETION_INDEX", "JOB_COMPLETIONS"
"""Environment of an Indexed Job: Kubernetes sets the first, the manifest the second."""
_SHARD = re.compile(r"(\d{1,5})/(\d{1,5})", re.ASCII)
_NAME = re.compile(r"(\d{1,5})-of-(\d{1,5})", re.ASCII)


class Shard(Struct, frozen=True):
    """One of ``count`` shards, numbered from 0 as the pods of an Indexed Job."""

    index: int
    count: int

    @property
    def name(self) -> str:
        """The name of its directory."""
        return f"{self.index}-of-{self.count}"

    def of(self, jobs: Iterable[Job]) -> Iterator[Job]:
        """Yield the jobs of this shard, with their place in the whole list. All listeners of a node or host are in one
        shard, so that the limit of connections at once holds."""
        for place, job in enumerate(jobs):
            digest = sha256(host_of(job.endpoint).encode()).digest()
            if int.from_bytes(digest[:8]) % self.count == self.index:
                yield job if job.place is not None else replace(job, place=place)


def parse_shard(text: str, environment: Mapping[str, str]) -> Shard:
    """Parse ``I/N``, or ``auto`` for the environment of an Indexed Job. Raises ``UsageError``."""
    source = "--shard"
    if text == "auto":
        missing = [name for name in (INDEX, COUNT) if not environment.get(name)]
        if missing:
            hint = f"run it in an Indexed Job whose pod template sets {COUNT}, or write --shard INDEX/COUNT"
            raise UsageError(f"--shard auto: {' and '.join(missing)} is not set", hint=hint)
        source, text = f"{INDEX}/{COUNT}", f"{environment[INDEX]}/{environment[COUNT]}"
    found = _SHARD.fullmatch(text)
    if not found or not int(found[1]) < int(found[2]) <= MOST:
        raise UsageError(
            f"{source}: not a shard: {text[:40]!r}", hint=f"INDEX/COUNT, from 0/1 to {MOST - 1}/{MOST}: --shard 0/4"
        )
    return Shard(int(found[1]), int(found[2]))


def shard_of_directory(name: str) -> Shard | None:
    """Return the shard whose directory has this name; None for another directory."""
    found = _NAME.fullmatch(name)
    return Shard(int(found[1]), int(found[2])) if found and int(found[1]) < int(found[2]) <= MOST else None
