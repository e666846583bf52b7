"""Snapshots as directories: write one, without keys, and read one of ours, a must-gather, or manifests.

``adhere-snapshot.json`` is the index; the objects of each kind are in ``objects/<resource>.json``, a Kubernetes List
with one object per line. The index is written last: without it the directory is no snapshot.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn, get_args

from scanner.cluster.manifests import SUFFIXES, Found, contents, manifests
from scanner.cluster.retention import Pruner
from scanner.cluster.snapshot_objects import config_map, kept
from scanner.errors import InputError, ResourceError, UsageError
from scanner.files.begun import BEGUN, may_be_filled
from scanner.files.problems import MOST
from scanner.files.source_positions import shown
from scanner.kube.kinds import CONFIG_MAP, Kind
from scanner.kube.objects import Fields, KubeObject
from scanner.kube.snapshot import YEARS, Gap, Origin, Snapshot, Unreadable

FORMAT = "adhere.snapshot/v1"
HEAD = "adhere-snapshot.json"
OBJECTS = "objects"


def save(snapshot: Snapshot, directory: str | Path) -> None:
    """Write ``snapshot`` into ``directory``, which is created, is empty, or has a snapshot to replace.

    Raises ``UsageError`` if the directory has other content, and ``ResourceError`` if it cannot be written.
    """
    target = Path(directory)
    try:
        _prepare(target)
        for kind in snapshot.objects:
            with (target / OBJECTS / f"{kind.resource}.json").open("w", encoding="ascii", newline="\n") as file:
                file.writelines(_lines(snapshot.objects[kind]))
        (target / HEAD).write_text(json.dumps(head(snapshot), indent=2) + "\n", encoding="ascii")
        (target / BEGUN).unlink()
    except OSError as error:
        raise ResourceError(
            f"{directory}: the snapshot cannot be written: {error.strerror or error}",
            hint="choose a directory that is empty or can be created",
        ) from None


def _prepare(target: Path) -> None:
    """Only the owner may read the objects of a cluster."""
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not may_be_filled(target, HEAD):
        raise UsageError(f"{target}: it has other content", hint="choose an empty directory, or another snapshot")
    (target / BEGUN).touch()
    (target / HEAD).unlink(missing_ok=True)
    objects = target / OBJECTS
    objects.mkdir(mode=0o700, exist_ok=True)
    for old in objects.glob("*.json"):
        old.unlink()


def head(snapshot: Snapshot) -> dict[str, object]:
    """The index: everything but the objects."""
    origin = snapshot.origin
    return {
        "format": FORMAT,
        "taken_at": snapshot.taken_at.isoformat(),
        "origin": {"name": origin.name, "server": origin.server, "git_version": origin.git_version},
        "warnings": list(snapshot.warnings),
        "kinds": [_kind(snapshot, kind) for kind in snapshot.objects],
    }


def _kind(snapshot: Snapshot, kind: Kind) -> dict[str, object]:
    said: dict[str, object] = {"resource": kind.resource, "objects": len(snapshot.objects[kind])}
    if kind in snapshot.absent:
        said["absent"] = True
    missing = snapshot.unreadable.get(kind)
    if missing is not None:
        option = {"option": missing.option} if missing.option else {}
        said["unreadable"] = {"gap": missing.gap, "reason": missing.reason, **option}
    if kind in snapshot.requested:
        said["sought"] = [
            {"namespace": namespace, "name": name} for namespace, name in sorted(snapshot.requested[kind])
        ]
    return said


def _lines(objects: tuple[KubeObject, ...]) -> Iterator[str]:
    yield '{"apiVersion": "v1", "kind": "List", "items": ['
    pruner = Pruner()
    for number, each in enumerate(objects):
        # Again: no key may be written, wherever the objects come from.
        clean = kept(each.kind, dict(each.raw), pruner)
        if clean is not None and clean.kind == CONFIG_MAP:
            clean = config_map(clean)
        if clean is not None:
            yield (",\n" if number else "\n") + json.dumps(clean.raw)
    yield "\n]}\n"


_SHOWN = 5
"""Names in one reason."""


def load(directory: str | Path, kinds: Iterable[Kind]) -> Snapshot:
    """The objects of ``kinds`` in a directory (or one file of manifests).

    Only a snapshot of ours can show that a kind has no (more) objects. Elsewhere, kinds without objects are unreadable,
    and so are namespaced kinds, since others save only some namespaces. Raises ``InputError`` for unreadable files of a
    snapshot or manifests; in a must-gather these make their kind unreadable.
    """
    path, wanted = Path(directory), tuple(dict.fromkeys(kinds))
    if not path.exists():
        raise InputError(f"{directory}: there is no such directory", hint="check the path")
    if (path / HEAD).is_file():
        return _own(path, wanted)
    packed = path.is_file() and path.suffix not in SUFFIXES
    found = Found() if packed else manifests(path, wanted)
    if not found.files:
        hint = "extract the archive first" if packed else "check the path of the directory"
        raise InputError(f"{directory}: not a snapshot, a must-gather or manifests", hint=hint)
    if found.bad and not found.gathered:
        _refuse([text for _, text in found.bad])
    return _foreign(path, wanted, found)


def _refuse(complaints: list[str]) -> NoReturn:
    more = [f"and {len(complaints) - MOST} more files"] if len(complaints) > MOST else []
    raise InputError("\n".join([*complaints[:MOST], *more]), hint="correct or remove these files")


def _foreign(path: Path, wanted: tuple[Kind, ...], found: Found) -> Snapshot:
    unreadable = {
        kind: Unreadable(kind=kind, gap="not-saved", reason=reason)
        for kind in wanted
        if (reason := _not_saved(path, kind, found))
    }
    for kind, complaint in found.bad:
        if kind is not None:
            unreadable[kind] = Unreadable(kind=kind, gap="failed", reason=complaint)
    return Snapshot(
        taken_at=found.newest,
        origin=Origin(name=path.resolve().name, replayed=True),
        objects={kind: tuple(found.objects.get(kind, {}).values()) for kind in wanted},
        unreadable=unreadable,
        warnings=tuple(complaint for _, complaint in found.bad[:MOST]),
    )


def _not_saved(path: Path, kind: Kind, found: Found) -> str | None:
    """The reason why there may be more of a kind; None for cluster-scoped kinds, which are saved completely."""
    objects = found.objects.get(kind, {})
    if not objects:
        return f"{path} has none; whether the cluster has any is unknown"
    if kind.named:
        left = [f"{namespace}/{name}" for namespace, name in kind.named if (namespace, name) not in objects]
        return f"{path} does not have all objects that adhere reads: {_some(left)}" if left else None
    if not kind.namespaced and kind not in found.partial:
        return None
    what = "a must-gather has" if found.gathered else "these manifests have"
    if not kind.namespaced:
        return f"{what} only: {_some(sorted(name for _, name in objects))}"
    namespaces = sorted({namespace or "" for namespace, _ in objects})
    return f"{what} only {'namespace' if len(namespaces) == 1 else 'namespaces'} {_some(namespaces)}"


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(name or "(none)" for name in names[:_SHOWN]) + more


def _own(path: Path, wanted: tuple[Kind, ...]) -> Snapshot:
    head = _head(path)
    said = {each.text("resource"): each for each in head.each("kinds")}
    known = {kind: said[kind.resource] for kind in wanted if kind.resource in said}
    origin = head.fields("origin")
    return Snapshot(
        taken_at=_moment(head, path),
        origin=Origin(
            name=origin.text("name"),
            server=origin.text("server"),
            git_version=origin.text("git_version"),
            replayed=True,
        ),
        objects=_all_objects(path, wanted, known),
        absent=frozenset(kind for kind, each in known.items() if each.flag("absent")),
        unreadable={kind: gap for kind in wanted if (gap := _gap(path, kind, known.get(kind)))},
        requested={kind: _sought(each) for kind, each in known.items() if each.has("sought")},
        warnings=head.texts("warnings"),
    )


def _head(path: Path) -> Fields:
    file = path / HEAD
    (document,) = contents(file, path)
    head = Fields(document if isinstance(document, dict) else {})
    if head.text("format") != FORMAT:
        raise InputError(
            f"{file}: the format is {shown(head.at('format'))}, not {FORMAT}",
            hint="use the version of adhere that wrote it",
        )
    return head


def _moment(head: Fields, path: Path) -> datetime:
    try:
        at = datetime.fromisoformat(head.text("taken_at"))
    except ValueError:
        at = None
    if at is None or at.year not in YEARS:
        raise InputError(f"{path / HEAD}: taken_at is not a time: {shown(head.at('taken_at'))}")
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _gap(path: Path, kind: Kind, said: Fields | None) -> Unreadable | None:
    if said is None:
        return Unreadable(kind=kind, gap="not-saved", reason=f"{kind.resource} was not read when {path} was saved")
    if not said.has("unreadable"):
        return None
    gap, reason = said.text("unreadable", "gap"), said.text("unreadable", "reason")
    known: Gap = "failed"
    for each in get_args(Gap):
        known = each if each == gap else known
    return Unreadable(kind=kind, gap=known, reason=reason, option=said.text("unreadable", "option"))


def _sought(said: Fields) -> frozenset[tuple[str, str]]:
    return frozenset((each.text("namespace"), each.text("name")) for each in said.each("sought"))


def _all_objects(path: Path, wanted: tuple[Kind, ...], known: dict[Kind, Fields]) -> dict[Kind, tuple[KubeObject, ...]]:
    pruner, found, bad = Pruner(), dict[Kind, tuple[KubeObject, ...]](), []
    for kind in wanted:
        try:
            found[kind] = _objects(path, kind, known[kind], pruner) if kind in known else ()
        except InputError as error:
            bad.append(error.message)
    if bad:
        _refuse(bad)
    return found


def _objects(path: Path, kind: Kind, said: Fields, pruner: Pruner) -> tuple[KubeObject, ...]:
    file = path / OBJECTS / f"{kind.resource}.json"
    (document,) = contents(file, path)
    items = document.get("items") if isinstance(document, dict) else None
    objects = [each for item in (items if isinstance(items, list) else []) if (each := kept(kind, item, pruner))]
    if len(objects) != said.number("objects"):
        counts = f"{len(objects)} objects, but {HEAD} says {shown(said.at('objects'))}"
        raise InputError(f"{file}: {counts}", hint="save the snapshot again")
    return tuple(objects)
