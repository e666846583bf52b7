"""A saved scan (``adhere scan --save``): the names of its files, ``scan.json``, and ``observations.jsonl``.

The latter has one endpoint a line, to be judged again without a handshake. Each line is whole by itself, so that lines
can be filtered and joined: ``{"record": "adhere.observation/v2", "endpoint": {...}, "observation": {...}}``, and
``"opinion": {...}`` where sslyze was asked too. Certificates are kept as they were served (DER, base64).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

from scanner.errors import InputError
from scanner.files.regular_file import opened
from scanner.kube.snapshot import YEARS
from scanner.kube.tls_profile import Profile
from scanner.model.endpoint import Endpoint
from scanner.model.observation import Observation, Opinion
from scanner.model.scan_policy import Policy
from scanner.model.serialization import DecodeError, codec

SCHEMA = "adhere.saved/v1"
EARLIER = "earlier"
"""The directory with what ``--previous`` had."""
HEAD, ROWS, FINDINGS, OBSERVATIONS, POLICY, COMPONENTS = (
    "scan.json",
    "rows.jsonl",
    "findings.jsonl",
    "observations.jsonl",
    "policy.yaml",
    "components",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What was scanned, as far as judging again needs it."""

    schema: str = SCHEMA
    mode: str = "inventory"
    clusters: tuple[str, ...] = ()
    """Names of the clusters, in the order of the snapshots; none for a list of targets."""
    release: str = ""
    """Of the first cluster, ``4.22``: profiles that are asked for later mean what they mean there."""
    profile: Profile | None = None
    """What every target owed; of clusters, the floor where no platform says what is required, if the user gave one."""
    anchors: tuple[bytes, ...] = ()
    anchor_source: str = ""
    policy: bool = False
    """Whether there was a policy file; a copy of it is kept."""
    thresholds: Policy = Policy()
    """What the rules compared with, wherever it was said."""
    earlier: int = 0
    """Snapshots of before, kept in ``earlier/``."""
    components: int = 0
    """Files of the component catalogue that the user gave, kept in ``components/``."""
    confirm: bool | None = None
    deep: bool | None = None
    """Whether sslyze was asked, and for what (``--confirm``, ``--deep``). None: by a release that did not keep its
    answers."""
    interrupted: str | None = None
    """Why the scan stopped early: ``SIGTERM``."""


def cluster_of(endpoint: str, clusters: Collection[str]) -> str | None:
    """Of which of the scan's clusters the endpoint with this id is; None where it is of none of them.

    With several clusters, the ids of a scan begin with the name of each. A context may be called ``a/b`` beside
    another one that is called ``a``: the longest name that fits is meant.
    """
    if len(clusters) == 1:
        (only,) = clusters
        return only
    return max((each for each in clusters if endpoint.startswith(f"{each}/")), key=len, default=None)


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
