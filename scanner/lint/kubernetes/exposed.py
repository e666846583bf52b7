"""Private keys that stand where everybody reads them. None is printed, nor kept: objects lose them when they are read
(``scanner/cluster/secret_contents.py``), and what is left in their place is looked for here."""

from __future__ import annotations

import marshal
from collections.abc import Iterator, Mapping
from typing import Any, Final

from scanner.files.source_positions import Steps
from scanner.kube import kinds
from scanner.kube.kinds import CONFIG_MAP, POD, ROUTE, SECRET, Kind
from scanner.kube.objects import KubeObject
from scanner.kube.secrets import Secret
from scanner.model.finding import Severity
from scanner.model.object_rule import Flaw, ObjectRule, Subject
from scanner.model.pem import CONTAINER, REMOVED

_MARSHAL: Final = 2
"""Texts are written as they are, in UTF-8."""
_MARKS: Final = (REMOVED.encode(), CONTAINER.encode())
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_OF_SECRETS: Final[Mapping[str, tuple[Steps, Severity | None, str]]] = {
    "tls.crt": (("data", "tls.crt"), None, "which is for certificates, and is handed to who may not see the key"),
    "ca.crt": (("data", "ca.crt"), None, "which is for certificates, and is handed to who may not see the key"),
    "last-applied": (
        ("metadata", "annotations", _LAST_APPLIED),
        "low",
        "which kubectl apply left, and which what shows no data of Secrets may show",
    ),
}
"""What was found when the Secret was read (``scanner/cluster/secrets.py``)."""
_ELSEWHERE: Final = (ROUTE, ("spec", "tls", "key"))
"""``route-inline-key`` says so."""


def check_exposed(subject: Subject) -> Iterator[Flaw]:
    """No private key stands where it can be read."""
    if subject.object.kind == SECRET:
        yield from _of_secret(subject)
    if _is_marked(subject.object):
        for steps, mark in _marks(subject.object.raw, ()):
            if steps[:1] != ("adhere",) and (subject.object.kind, steps) != _ELSEWHERE:
                yield _flaw(subject, steps, mark)


def _flaw(subject: Subject, steps: Steps, mark: str) -> Flaw:
    if mark == CONTAINER:
        message = "a PKCS #12 container: without its password it is unknown whether it has a private key"
        return Flaw(message=message, at=steps, verdict="inconclusive", severity="info")
    readers = f"who may read {subject.object.kind.plural}" if subject.object.kind != SECRET else "every reader of it"
    return Flaw(
        message=f"a private key stands here, where {readers} can take it",
        at=steps,
        fix=f"{subject.object.reference}: put a new key into a Secret, and take this one out",
    )


def _of_secret(subject: Subject) -> Iterator[Flaw]:
    for name in Secret.of(subject.object).exposed:
        if name in _OF_SECRETS:
            steps, severity, what = _OF_SECRETS[name]
            yield Flaw(
                message=f"a private key stands in {steps[-1]}, {what}",
                at=steps,
                severity=severity,
                fix=f"{subject.object.reference}: keep the key in tls.key alone",
            )


def _is_marked(item: KubeObject) -> bool:
    """Without walking through it: nearly no object is."""
    whole: Any = item.raw
    try:
        written = marshal.dumps(whole, _MARSHAL)
    except ValueError:
        return True
    return any(mark in written for mark in _MARKS)


def _marks(value: object, steps: Steps) -> Iterator[tuple[Steps, str]]:
    """Where a mark stands, and which. Nesting is bounded when an object is read."""
    if isinstance(value, str):
        if mark := next((each for each in (REMOVED, CONTAINER) if each in value), None):
            yield steps, mark
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _marks(item, (*steps, index))
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _marks(name, steps)
            yield from _marks(item, (*steps, str(name)))


_SUBJECTS: Final[tuple[Kind, ...]] = (
    SECRET,
    CONFIG_MAP,
    ROUTE,
    POD,
    kinds.DEPLOYMENT,
    kinds.STATEFUL_SET,
    kinds.DAEMON_SET,
    kinds.SERVICE,
    kinds.INGRESS,
    kinds.GATEWAY,
    kinds.LISTENER_SET,
    kinds.BACKEND_TLS_POLICY,
    kinds.HTTP_ROUTE,
    kinds.HTTP_PROXY,
    kinds.INGRESS_ROUTE,
    kinds.VALIDATING_WEBHOOK,
    kinds.MUTATING_WEBHOOK,
    kinds.CUSTOM_RESOURCE_DEFINITION,
    kinds.API_SERVICE,
    kinds.SERVICE_MONITOR,
    kinds.POD_MONITOR,
    kinds.PROBE,
    kinds.CERTIFICATE,
)

EXPOSED = ObjectRule(id="private-key-exposed", subjects=_SUBJECTS, check=check_exposed)
