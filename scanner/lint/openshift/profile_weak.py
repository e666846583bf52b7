"""What a Custom profile lists: weak suites, and suites for one kind of key only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from scanner.kube.kinds import API_SERVER, INGRESS_CONTROLLER, KUBELET_CONFIG, Kind
from scanner.lint.openshift.profiles import SUBJECTS, Declaration, declarations
from scanner.model.custom_profile import GO_SUITES, VERSIONS, suite_named
from scanner.model.finding import Severity
from scanner.model.ingress_admission import is_a_set, is_open
from scanner.model.object_rule import Flaw, ObjectRule, Subject
from scanner.model.weak_suites import weakness
from scanner.tls.names import authentication, is_tls13

_MOST: Final = 500
_TLS13: Final = VERSIONS[-1]
_KEYS: Final = ("RSA", "ECDSA")
_MOSTLY: Final[Mapping[Kind, str]] = {API_SERVER: "RSA", INGRESS_CONTROLLER: "RSA", KUBELET_CONFIG: "ECDSA"}
"""The keys of most certificates that are served under the profile of such an object. Operators make RSA keys unless PKI
configures others; a kubelet gets a certificate for an ECDSA key, whatever is configured."""


def check_weak(subject: Subject) -> Iterator[Flaw]:
    """A Custom profile lists no weak cipher suite."""
    for each in declarations(subject.object):
        value = each.custom.at("ciphers")
        for index, name in enumerate(value[:_MOST] if isinstance(value, list) else ()):
            flaw = _weak(each, name, index) if isinstance(name, str) else None
            if flaw is not None:
                yield flaw


def _weak(each: Declaration, name: str, index: int) -> Flaw | None:
    at, code = (*each.steps, "custom", "ciphers", index), suite_named(name)
    if each.object.kind == INGRESS_CONTROLLER and is_a_set(name):
        message = f"{name} stands for suites among which are broken ones"
        return (
            Flaw(message=message, at=at, severity="high", fix="list the suites that are wanted")
            if is_open(name)
            else None
        )
    found = weakness(code) if code is not None else None
    if code is None or found is None:
        return None
    dropped = code not in GO_SUITES and each.object.kind not in (API_SERVER, INGRESS_CONTROLLER)
    return Flaw(
        message=f"{name} {found.why}" + (", and its reader drops it" if dropped else ""),
        at=at,
        severity="low" if dropped else found.severity,
        observed=(name,),
        fix="remove it",
    )


def check_keys(subject: Subject) -> Iterator[Flaw]:
    """A Custom profile has TLS 1.2 suites for RSA and for ECDSA keys."""
    for each in declarations(subject.object):
        if each.custom.raw and each.custom.text("minTLSVersion") != _TLS13:
            yield from _one_sided(each)


def _one_sided(each: Declaration) -> Iterator[Flaw]:
    names, at = each.custom.texts("ciphers")[:_MOST], (*each.steps, "custom", "ciphers")
    if odd := next(filter(is_a_set, names), None):
        message = f"cannot be decided here: for which keys {odd} has suites, which OpenSSL decides"
        yield Flaw(message=message, at=at, verdict="inconclusive")
        return
    codes = [suite_named(name) for name in names]
    kinds = {authentication(code) for code in codes if code is not None and not is_tls13(code)}
    lacking = [key for key in _KEYS if key not in kinds]
    if len(lacking) == 1:
        other = _KEYS[1 - _KEYS.index(lacking[0])]
        message = f"all of its TLS 1.2 suites are for {other} keys: a server with an {lacking[0]} key refuses TLS 1.2"
        severity: Severity = "medium" if _MOSTLY.get(each.object.kind) == lacking[0] else "low"
        yield Flaw(message=message, at=at, severity=severity, fix=f"add ECDHE-{lacking[0]}-AES128-GCM-SHA256")
    elif lacking and not all(code is not None and is_tls13(code) for code in codes):
        message = "it has no TLS 1.2 suite for RSA or ECDSA keys, and no server has another kind"
        yield Flaw(message=message, at=at, severity="high", fix="add ECDHE-RSA-AES128-GCM-SHA256")


WEAK = ObjectRule(
    id="tls-profile-weak-suites",
    subjects=SUBJECTS,
    check=check_weak,
)
KEYS = ObjectRule(
    id="tls-profile-key-types",
    subjects=SUBJECTS,
    check=check_keys,
)
