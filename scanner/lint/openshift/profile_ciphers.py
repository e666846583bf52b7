"""Names of a Custom profile that nobody serves, and minimum versions that nobody should."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.kube.kinds import INGRESS_CONTROLLER
from scanner.lint.openshift.profiles import SUBJECTS, Declaration, declarations
from scanner.model.custom_profile import VERSIONS, suite_named
from scanner.model.dropped_ciphers import lost
from scanner.model.ingress_admission import TLS13_NAMES, is_a_set
from scanner.model.object_rule import Flaw, ObjectRule, Subject
from scanner.tls.names import is_tls13

_MOST: Final = 500
_GUESSED: Final = 20
"""Unknown names of one list for which a near one is looked for; the others get none."""


def check_ciphers(subject: Subject) -> Iterator[Flaw]:
    """Every name in a Custom profile's `ciphers` selects a suite."""
    for each in declarations(subject.object):
        value = each.custom.at("ciphers")
        guesses = _GUESSED
        seen: dict[int, str] = {}
        for index, name in enumerate(value[:_MOST] if isinstance(value, list) else ()):
            lost = _lost(each, name, guess=guesses > 0)
            at = (*each.steps, "custom", "ciphers", index)
            if lost:
                guesses -= 1
                yield Flaw(message=lost[0], at=at, fix=lost[1])
            elif idle := _idle(each, str(name), seen):
                yield Flaw(message=idle, at=at, severity="low", fix="remove it")
        yield from _left_on(each)


def _left_on(each: Declaration) -> Iterator[Flaw]:
    names = each.custom.texts("ciphers")[:_MOST]
    below = each.custom.text("minTLSVersion") in VERSIONS[:-1]
    if each.object.kind == INGRESS_CONTROLLER and below and names and TLS13_NAMES.isdisjoint(names):
        yield Flaw(
            message="no TLS 1.3 suite is listed, so that HAProxy keeps all of OpenSSL's, and TLS 1.3 stays on",
            at=(*each.steps, "custom", "ciphers"),
            severity="info",
            status="informational",
        )


def _idle(each: Declaration, name: str, seen: dict[int, str]) -> str | None:
    """Why a name that selects a suite changes nothing."""
    code = suite_named(name)
    if code is None:
        return None
    if code in seen:
        return f"{name} is listed already" + ("" if seen[code] == name else f", as {seen[code]}")
    seen[code] = name
    alone = each.object.kind == INGRESS_CONTROLLER and each.custom.text("minTLSVersion") == VERSIONS[-1]
    return f"{name} is of TLS 1.2, which VersionTLS13 leaves out" if alone and not is_tls13(code) else None


def _lost(each: Declaration, name: object, *, guess: bool) -> tuple[str, str] | None:
    """Why a name selects nothing for certain, and what to do; None where it selects a suite."""
    if isinstance(name, str) and each.consumer.suites is None and is_a_set(name):
        return f"{name} is OpenSSL's word for many suites, which nobody has looked at one by one", "list their names"
    loss = lost(name, each.consumer, guess=guess)
    return None if loss is None else (loss.reason, loss.fix)


CIPHERS = ObjectRule(
    id="tls-profile-ciphers",
    subjects=SUBJECTS,
    check=check_ciphers,
)
