"""A snapshot as a directory: readable, without keys, and equal when it is read back.

``adhere-snapshot.json`` says what the rest is; each kind's objects stand in ``objects/<resource>.json``, a Kubernetes
List with one object a line. The former is written last: without it the directory is no snapshot.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from scanner.cluster.keeping import config_map, kept
from scanner.cluster.prune import Pruner
from scanner.errors import ResourceError, UsageError
from scanner.kube.kinds import CONFIG_MAP, Kind
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Snapshot

FORMAT = "adhere.snapshot/v1"
HEAD = "adhere-snapshot.json"
OBJECTS = "objects"


def save(snapshot: Snapshot, directory: str | Path) -> None:
    """Write ``snapshot`` into ``directory``, which is made, or is empty, or holds a snapshot that is replaced.

    Raises ``UsageError`` for a directory with something else in it, and ``ResourceError`` where it cannot be written.
    """
    target = Path(directory)
    try:
        _prepare(target)
        for kind in snapshot.objects:
            with (target / OBJECTS / f"{kind.resource}.json").open("w", encoding="ascii", newline="\n") as file:
                file.writelines(_lines(snapshot.objects[kind]))
        (target / HEAD).write_text(json.dumps(head(snapshot), indent=2) + "\n", encoding="ascii")
    except OSError as error:
        raise ResourceError(
            f"{directory}: the snapshot cannot be written: {error.strerror or error}",
            hint="name a directory that is empty or can be made",
        ) from None


def _prepare(target: Path) -> None:
    """Only the owner may read what a cluster looks like."""
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not (target / HEAD).is_file() and any(target.iterdir()):
        raise UsageError(
            f"{target}: there is something else in it", hint="name an empty directory, or another snapshot"
        )
    (target / HEAD).unlink(missing_ok=True)
    objects = target / OBJECTS
    objects.mkdir(mode=0o700, exist_ok=True)
    for old in objects.glob("*.json"):
        old.unlink()


def head(snapshot: Snapshot) -> dict[str, object]:
    """What is said of the snapshot beside its objects."""
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
    if kind in snapshot.sought:
        said["sought"] = [{"namespace": namespace, "name": name} for namespace, name in sorted(snapshot.sought[kind])]
    return said


def _lines(objects: tuple[KubeObject, ...]) -> Iterator[str]:
    yield '{"apiVersion": "v1", "kind": "List", "items": ['
    pruner = Pruner()
    for number, each in enumerate(objects):
        # Once more: whoever made these objects, no key leaves.
        clean = kept(each.kind, dict(each.raw), pruner)
        if clean is not None and clean.kind == CONFIG_MAP:
            clean = config_map(clean)
        if clean is not None:
            yield (",\n" if number else "\n") + json.dumps(clean.raw)
    yield "\n]}\n"
