"""TLS fields of former or later releases, or of no release: the API server removes them without an error."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from scanner.files.source_positions import Steps, dotted
from scanner.kube.kinds import CUSTOM_RESOURCE_DEFINITION
from scanner.lint.fields.gateway_releases import EACH, FORMER, LATER, Former, Installed, Later, installed, kept_at
from scanner.model.finding import Severity
from scanner.model.object_rule import Flaw, ObjectRule, Subject

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_LONGEST: Final = 1 << 19
"""Characters of the annotation; all annotations together have at most 262,144 bytes (apimachinery
``ValidateAnnotationsSize``)."""
_MOST: Final = 64


def check_pruned(subject: Subject) -> Iterator[Flaw]:
    """No manifest sets a TLS field that the API server removes."""
    version = subject.object.api_version.rpartition("/")[2]
    applied = _applied(subject)
    crd = installed(subject)
    for later in LATER.get(subject.object.kind, ()) if crd else ():
        if crd and crd.lacks(later) and any(True for _ in _places(subject.object.raw, later.path)):
            yield _too_early(subject, later, crd)
    for former in FORMER.get(subject.object.kind, ()):
        if version in former.versions:
            continue
        there = list(_places(subject.object.raw, former.path))
        for steps in there:
            yield _flaw(subject, former, steps)
        if not there and any(True for _ in _places(applied, former.path)):
            yield Flaw(
                message=f"the applied manifest has {'.'.join(former.path)}, which the API server removed",
                at=("metadata", "annotations", LAST_APPLIED),
                fix=_fix(subject, former),
            )


def _too_early(subject: Subject, later: Later, crd: Installed) -> Flaw:
    channel = "experimental" if crd.experimental else "standard"
    return Flaw(
        message=(
            f"{dotted(later.path)} needs a CRD of release 1.{later.standard} or later (experimental: "
            f"1.{later.experimental}); installed: {channel}, 1.{crd.minor}; the API server removes the field"
        ),
        at=later.path,
        fix=f"upgrade the CRD {subject.object.kind.resource} before you apply {subject.object.reference}",
    )


def _flaw(subject: Subject, former: Former, steps: Steps) -> Flaw:
    crd = installed(subject)
    kept = crd is not None and crd.experimental and crd.minor in former.minors
    if kept:
        message = f"{dotted(steps)} was removed in release 1.4; the installed CRD still has it"
    elif former.versions or not former.minors:
        message = f"{dotted(steps)} is in no CRD of this version: the API server removes it"
    else:
        message = f"{dotted(steps)} was only in experimental CRDs before release 1.4: the API server removes it"
    severity: Severity | None = "medium" if kept else None
    return Flaw(message=message, at=steps, severity=severity, fix=_fix(subject, former, later=kept))


def _fix(subject: Subject, former: Former, *, later: bool = False) -> str:
    """``later``: the field stays until the CRD is upgraded."""
    owner = "" if subject.object.kind in LATER else " of its Gateway"
    field = f"{former.now}, with the CRDs of a later release" if later else kept_at(subject, former.now)
    return f"{subject.object.reference}: move it to {field}{owner}"


def _applied(subject: Subject) -> object:
    text = subject.object.annotations.get(LAST_APPLIED, "")
    try:
        return json.loads(text) if 0 < len(text) <= _LONGEST else None
    except (ValueError, RecursionError):
        return None


def _places(value: object, path: tuple[str, ...]) -> Iterator[Steps]:
    """The steps to each occurrence of a field; ``[]`` stands for each item of a list."""
    if not path:
        yield from () if value is None else ((),)
    elif path[0] == EACH and isinstance(value, list):
        yield from ((index, *rest) for index, each in enumerate(value[:_MOST]) for rest in _places(each, path[1:]))
    elif isinstance(value, dict) and path[0] != EACH:
        yield from ((path[0], *rest) for rest in _places(value.get(path[0]), path[1:]))


PRUNED = ObjectRule(
    id="gateway-field-pruned",
    subjects=tuple(FORMER),
    check=check_pruned,
    reads=(CUSTOM_RESOURCE_DEFINITION,),
)
