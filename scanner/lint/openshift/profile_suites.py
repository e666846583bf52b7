"""The suites of a Custom profile: weak ones, those for one key type only, and those that FIPS mode removes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from scanner.kube.cluster_facts import in_fips_mode
from scanner.kube.kinds import (
    API_SERVER,
    CONFIG_MAP,
    HOSTED_CLUSTER,
    HOSTED_CONTROL_PLANE,
    INGRESS_CONTROLLER,
    KUBELET_CONFIG,
    Kind,
)
from scanner.kube.maybe import Known, Unknown
from scanner.kube.objects import Steps
from scanner.kube.openshift import HostedCluster
from scanner.kube.tls_profile import GROUPS, VERSIONS, CustomProfile, nested_profiles
from scanner.lint.openshift.tls_profiles import SUBJECTS
from scanner.model.finding import Severity
from scanner.model.object_rule import Flaw, ObjectRule, Subject
from scanner.model.weak_suites import weakness
from scanner.tls.names import (
    CHACHA20,
    FIPS_TLS13,
    GO_SUITES,
    NOT_FIPS_GROUPS,
    TLS13_NAMES,
    authentication,
    group_code,
    is_a_set,
    is_open,
    is_tls13,
    suite_named,
)

_MOST: Final = 500
_TLS13: Final = VERSIONS[-1]
_KEYS: Final = ("RSA", "ECDSA")
_MOSTLY: Final[Mapping[Kind, str]] = {API_SERVER: "RSA", INGRESS_CONTROLLER: "RSA", KUBELET_CONFIG: "ECDSA"}
"""The key type of most certificates under such a profile. Operators create RSA keys unless PKI configures others; a
kubelet always has an ECDSA key."""


def check_weak(subject: Subject) -> Iterator[Flaw]:
    """A Custom profile lists no weak cipher suite."""
    for each in nested_profiles(subject.object):
        value = each.custom.raw_ciphers
        for index, name in enumerate(value[:_MOST] if isinstance(value, list) else ()):
            at = (*each.custom.steps, "ciphers", index)
            flaw = _weak(subject.object.kind, name, at) if isinstance(name, str) else None
            if flaw is not None:
                yield flaw


def _weak(kind: Kind, name: str, at: Steps) -> Flaw | None:
    code = suite_named(name)
    if kind == INGRESS_CONTROLLER and is_a_set(name):
        message = f"{name} includes broken suites"
        return Flaw(message=message, at=at, severity="high", fix="list the required suites") if is_open(name) else None
    found = weakness(code) if code is not None else None
    if code is None or found is None:
        return None
    dropped = code not in GO_SUITES and kind not in (API_SERVER, INGRESS_CONTROLLER)
    return Flaw(
        message=f"{name} {found.why}" + (", and the component ignores it" if dropped else ""),
        at=at,
        severity="low" if dropped else found.severity,
        observed=(name,),
        fix="remove it",
    )


def check_keys(subject: Subject) -> Iterator[Flaw]:
    """A Custom profile has TLS 1.2 suites for RSA and for ECDSA keys."""
    for each in nested_profiles(subject.object):
        if each.custom and each.custom.minimum != _TLS13:
            yield from _key_flaws(subject.object.kind, each.custom)


def _key_flaws(kind: Kind, custom: CustomProfile) -> Iterator[Flaw]:
    names, at = custom.ciphers[:_MOST], (*custom.steps, "ciphers")
    if group := next(filter(is_a_set, names), None):
        message = f"unknown: which key types the suites of {group} have; OpenSSL decides that"
        yield Flaw(message=message, at=at, verdict="inconclusive")
        return
    codes = [suite_named(name) for name in names]
    kinds = {authentication(code) for code in codes if code is not None and not is_tls13(code)}
    lacking = [key for key in _KEYS if key not in kinds]
    if len(lacking) == 1:
        other = _KEYS[1 - _KEYS.index(lacking[0])]
        message = f"all of its TLS 1.2 suites are for {other} keys: a server with an {lacking[0]} key refuses TLS 1.2"
        severity: Severity = "medium" if _MOSTLY.get(kind) == lacking[0] else "low"
        yield Flaw(message=message, at=at, severity=severity, fix=f"add ECDHE-{lacking[0]}-AES128-GCM-SHA256")
    elif lacking and not all(code is not None and is_tls13(code) for code in codes):
        message = "it has no TLS 1.2 suite for RSA or ECDSA keys, and servers have no other key types"
        yield Flaw(message=message, at=at, severity="high", fix="add ECDHE-RSA-AES128-GCM-SHA256")


WEAK = ObjectRule(id="tls-profile-weak-suites", subjects=SUBJECTS, check=check_weak)
KEYS = ObjectRule(id="tls-profile-key-types", subjects=SUBJECTS, check=check_keys)


# --- FIPS mode --------------------------------------------------------------------------------------------------------


class _Loss(NamedTuple):
    """A list whose entries FIPS mode removes, all of them."""

    field: str
    message: str
    fix: str


def check_fips(subject: Subject) -> Iterator[Flaw]:
    """A Custom profile has suites and groups that FIPS mode allows."""
    profiles = [each.custom for each in nested_profiles(subject.object)]
    lost = [(each, loss) for each in profiles for loss in _losses(subject.object.kind, each)]
    mode = _mode(subject) if lost else False
    for each, loss in lost:
        at = (*each.steps, loss.field)
        if isinstance(mode, Unknown):
            message = f"unknown: in FIPS mode {loss.message}; {mode.reason}"
            yield Flaw(message=message, at=at, verdict="inconclusive")
        elif mode:
            severity: Severity = "medium" if loss.field == "groups" else "high"
            yield Flaw(message=f"the cluster is in FIPS mode: {loss.message}", at=at, severity=severity, fix=loss.fix)


def _mode(subject: Subject) -> Known[bool]:
    """True in FIPS mode. A hosted control plane has its own field (hypershift ``HostedClusterSpec.FIPS``)."""
    if subject.object.kind in (HOSTED_CLUSTER, HOSTED_CONTROL_PLANE):
        return HostedCluster.of(subject.object).fips
    return in_fips_mode(subject.declared.known)


def _losses(kind: Kind, custom: CustomProfile) -> Iterator[_Loss]:
    names = custom.ciphers[:_MOST]
    codes = {name: code for name in names if (code := suite_named(name)) is not None}
    thirteen = [code for name, code in codes.items() if name in TLS13_NAMES]
    if kind in (INGRESS_CONTROLLER, API_SERVER) and thirteen and FIPS_TLS13.isdisjoint(thirteen):
        rejected = "each IngressController that inherits it" if kind == API_SERVER else "the IngressController"
        message = f"FIPS mode allows none of the listed TLS 1.3 suites; the ingress operator rejects {rejected}"
        yield _Loss("ciphers", message, "add TLS_AES_128_GCM_SHA256")
    old = [code for code in codes.values() if not is_tls13(code)]
    if old and CHACHA20.issuperset(old) and custom.minimum != VERSIONS[-1]:
        yield _Loss("ciphers", "none of the listed TLS 1.2 suites is allowed", "add ECDHE-RSA-AES128-GCM-SHA256")
    groups = [group_code(name) for name in custom.groups[:_MOST] if name in GROUPS]
    if groups and NOT_FIPS_GROUPS.issuperset(groups):
        yield _Loss("groups", "none of its groups is allowed, and servers use others", "add secp256r1")


FIPS = ObjectRule(id="tls-profile-fips", subjects=SUBJECTS, check=check_fips, reads=(CONFIG_MAP,))
