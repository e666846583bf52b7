"""A saved scan (``adhere scan --save``): the names of its files, ``scan.json``, and ``observations.jsonl``.

The latter has one endpoint per line, to be judged again without a handshake. Lines are independent, so that they can be
filtered and joined: ``{"record": "adhere.observation/v2", "endpoint": {...}, "observation": {...}}``, and ``"opinion":
{...}`` if sslyze was used. Certificates are kept as served (DER, base64).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

from msgspec import Struct

from scanner.errors import InputError
from scanner.files.regular_file import opened
from scanner.kube.tls_profile import Profile
from scanner.model.endpoint import Endpoint
from scanner.model.observation import Observation, Opinion
from scanner.model.report import Coverage, FailOn
from scanner.model.scan_policy import Policy
from scanner.model.serialization import DecodeError, codec

SCHEMA = "adhere.saved/v1"
EARLIER = "earlier"
"""Directory of the ``--previous`` snapshots."""
PARTS = "observations*.jsonl"
"""The files of observations; in an object store they have several."""
HEAD, ROWS, FINDINGS, OBSERVATIONS, POLICY, COMPONENTS, TARGETS, SHARDS, NODES = (
    "scan.json",
    "rows.jsonl",
    "findings.jsonl",
    "observations.jsonl",
    "policy.yaml",
    "components",
    "targets.jsonl",
    "shards",
    "nodes.json",
)


class Selection(Struct, frozen=True, kw_only=True):
    """The options that decide which listeners of the clusters are probed, as on the command line."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    namespace: tuple[str, ...] = ()
    via: str | None = None
    allow_external: bool = False
    allow_loopback: bool = False


class Speed(Struct, frozen=True, kw_only=True):
    """The options of speed of the scan. None is "not set": the option's default applies."""

    timeout: float | None = None
    deadline: float | None = None
    concurrency: int | None = None
    per_host: int | None = None
    rate: float | None = None


class Head(Struct, frozen=True, kw_only=True):
    """The input of the scan: all that judging it again, and going on with it, needs."""

    schema: str = SCHEMA
    mode: str = "inventory"
    clusters: tuple[str, ...] = ()
    """Names of the clusters, in the order of the snapshots; none for a list of targets."""
    release: str = ""
    """Release of the first cluster, ``4.22``, which defines the meaning of profiles."""
    profile: Profile | None = None
    """The profile of all targets; of clusters, the user's floor where no platform requires one."""
    anchors: tuple[bytes, ...] = ()
    anchor_source: str = ""
    policy: bool = False
    """True if there was a policy file; a copy is kept."""
    thresholds: Policy = Policy()
    """Thresholds of the rules."""
    earlier: int = 0
    """Number of earlier snapshots in ``earlier/``."""
    components: int = 0
    """Number of the user's component catalogue files in ``components/``."""
    confirm: bool | None = None
    deep: bool | None = None
    """Use of sslyze (``--confirm``, ``--deep``). None: by a release that did not keep its results."""
    interrupted: str | None = None
    """The reason of an early stop: ``SIGTERM``."""
    started: str = ""
    """RFC 3339, UTC."""
    coverage: Coverage | None = None
    """None: by a release that did not keep it."""
    outcomes: dict[str, int] | None = None
    """Endpoints by outcome. None: by a release that did not keep it."""
    scan: str = ""
    """Random id of the scan: its shards are below it. Empty: by a release that could not resume."""
    fail_on: FailOn = "medium"
    unfinished: bool = False
    """True until the scan ends: ``adhere scan --resume`` goes on with it."""
    finished: str = ""
    """RFC 3339, UTC."""
    arguments: tuple[str, ...] = ()
    """Command line."""
    targets: int | None = None
    """Number of targets in the list; None for clusters and nodes, and by a release that did not keep it."""
    profile_source: str = ""
    """Option or file that chose the profile of the targets."""
    active_http: bool = False
    selection: Selection = Selection()
    speed: Speed = Speed()
    nodes: tuple[str, ...] = ()
    """Nodes whose listening sockets were scanned; none for a scan of a cluster's objects or of targets."""


def cluster_of(endpoint: str, clusters: Collection[str]) -> str | None:
    """The cluster of the endpoint with this id; None if it belongs to none.

    With several clusters, ids begin with the cluster's name. If contexts are called ``a`` and ``a/b``, the longest
    matching name is right.
    """
    if len(clusters) == 1:
        (only,) = clusters
        return only
    return max((each for each in clusters if endpoint.startswith(f"{each}/")), key=len, default=None)


T = TypeVar("T")

RECORD = "adhere.observation/v2"
_FORMER = "adhere.observation/v1"
"""Its endpoints have at most 20 origins, as text: not enough to judge."""

MOST_BYTES = 16 * 2**20
"""Bytes of one line: a hundred certificates of the largest size in TLS, and all their results."""
_HINT = "use a complete file of adhere scan --save"


class Seen(Struct, frozen=True, kw_only=True):
    """One endpoint with its results."""

    endpoint: Endpoint
    observation: Observation
    opinion: Opinion | None = None
    """The result of sslyze, if it was used."""
    place: int | None = None
    """Place of its job in the whole scan; endpoints at several addresses share one. None: by a release that did not
    keep it."""
    beside: int = 1
    """Number of endpoints of that job; fewer are recorded if the process was killed between them."""


def encode(seen: Seen) -> str:
    """One line in ASCII, without the line end. The place comes second, so that a file can be indexed quickly."""
    record = {
        "record": RECORD,
        **({} if seen.place is None else {"place": seen.place}),
        **({} if seen.beside == 1 else {"beside": seen.beside}),
        "endpoint": codec(Endpoint).encode(seen.endpoint),
        "observation": codec(Observation).encode(seen.observation),
    }
    if seen.opinion is not None:
        record["opinion"] = codec(Opinion).encode(seen.opinion)
    return json.dumps(record, separators=(",", ":"), allow_nan=False)


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
        place = _member(value, "place", int) if "place" in value else None
        beside = _member(value, "beside", int) if "beside" in value else 1
    except DecodeError as error:
        raise InputError(f"{where}: {error.path}: {error.problem}", hint=_HINT) from error
    if not 0 < endpoint.port < 65536:
        raise InputError(f"{where}: endpoint.port: {endpoint.port} is not a port", hint=_HINT)
    from scanner.kube.snapshot import YEARS  # noqa: PLC0415 - only a saved scan is read here

    if observation.at.year not in YEARS:
        raise InputError(f"{where}: observation.at: invalid year {observation.at.year}", hint=_HINT)
    return Seen(endpoint=endpoint, observation=observation, opinion=opinion, place=place, beside=beside)


def _member(value: dict[str, object], name: str, kind: type[T]) -> T:
    try:
        return cast("T", codec(kind).decode(value.get(name)))
    except DecodeError as error:
        raise error.inside(name) from None


def read(path: Path) -> Iterator[Seen]:
    """All records of a file. Raises ``InputError`` with file and line for an invalid record, and for a last line
    without an end, whose writer was killed."""
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
            raise InputError(f"{path}:{number}: incomplete line", hint=f"{_HINT}, or delete that line")
        yield line.rstrip(b"\r\n")
