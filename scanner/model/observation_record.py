"""``observations.jsonl``: what a scan saw, one endpoint a line, to be judged again without a handshake.

Each line is whole by itself, so that lines can be filtered and joined: ``{"record": "adhere.observation/v2",
"endpoint": {...}, "observation": {...}}``, and ``"opinion": {...}`` where sslyze was asked, too. Certificates are kept
as they were served (DER, base64) and read again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

from scanner.errors import InputError
from scanner.files.regular_file import opened
from scanner.kube.snapshot import YEARS
from scanner.model.endpoint import Endpoint
from scanner.model.observation import Observation
from scanner.model.opinion import Opinion
from scanner.model.serialization import DecodeError, codec

T = TypeVar("T")

RECORD = "adhere.observation/v2"
_FORMER = "adhere.observation/v1"
"""Its endpoints have at most 20 origins, as text: not enough to judge by."""

MOST_BYTES = 16 * 2**20
"""Of one line: a hundred certificates of the largest size that TLS carries, and all that can be said of them."""
_HINT = "this must be a file that adhere scan --save wrote, whole"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One endpoint and what it did."""

    endpoint: Endpoint
    observation: Observation
    opinion: Opinion | None = None
    """What the second witness saw of it, where one was asked."""


def encode(seen: Seen) -> str:
    """One line, without its end, in ASCII."""
    said = {
        "record": RECORD,
        "endpoint": codec(Endpoint).encode(seen.endpoint),
        "observation": codec(Observation).encode(seen.observation),
    }
    if seen.opinion is not None:
        said["opinion"] = codec(Opinion).encode(seen.opinion)
    return json.dumps(said, separators=(",", ":"), allow_nan=False)


def decode(line: str | bytes, where: str) -> Seen:
    """The value of one line. Raises ``InputError`` that starts with ``where``, which is ``file:line``."""
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"{where}:{error.colno}: {error.msg}", hint=_HINT) from error
    except (UnicodeDecodeError, RecursionError, ValueError) as error:
        raise InputError(f"{where}: not a line of JSON in UTF-8", hint=_HINT) from error
    if not isinstance(value, dict) or value.get("record") != RECORD:
        former = isinstance(value, dict) and value.get("record") == _FORMER
        hint = "an earlier release wrote it: scan again, or use that release" if former else _HINT
        raise InputError(f"{where}: not an {RECORD}", hint=hint)
    try:
        endpoint = _member(value, "endpoint", Endpoint)
        observation = _member(value, "observation", Observation)
        opinion = _member(value, "opinion", Opinion) if "opinion" in value else None
    except DecodeError as error:
        raise InputError(f"{where}: {error.path}: {error.problem}", hint=_HINT) from error
    if not 0 < endpoint.port < 65536:
        raise InputError(f"{where}: endpoint.port: {endpoint.port} is no port", hint=_HINT)
    if observation.at.year not in YEARS:
        raise InputError(f"{where}: observation.at: nothing was seen in the year {observation.at.year}", hint=_HINT)
    return Seen(endpoint=endpoint, observation=observation, opinion=opinion)


def _member(value: dict[str, object], name: str, kind: type[T]) -> T:
    try:
        return cast("T", codec(kind).decode(value.get(name)))
    except DecodeError as error:
        raise error.inside(name) from None


def read(path: Path) -> Iterator[Seen]:
    """Everything in a file, one after another. Raises ``InputError`` with file and line for what is no record, and
    for a last line that has no end: its writer was killed, and what it wanted to say is not known."""
    with opened(path) as source:
        for number, line in enumerate(_lines(source, path), start=1):
            yield decode(line, f"{path}:{number}")


def _lines(source: BinaryIO, path: Path) -> Iterator[bytes]:
    number = 0
    while line := source.readline(MOST_BYTES + 1):
        number += 1
        if len(line) > MOST_BYTES:
            raise InputError(f"{path}:{number}: longer than {MOST_BYTES} bytes", hint=_HINT)
        if not line.endswith(b"\n"):
            raise InputError(f"{path}:{number}: cut off in the middle", hint=f"{_HINT}; delete that line to go on")
        yield line.rstrip(b"\r\n")
