"""What FIPS mode leaves of a Custom profile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from scanner.kube.kinds import API_SERVER, CONFIG_MAP, HOSTED_CLUSTER, HOSTED_CONTROL_PLANE, INGRESS_CONTROLLER
from scanner.kube.maybe import Known, Unknown
from scanner.lint.openshift.profiles import SUBJECTS, Declaration, declarations
from scanner.model.custom_profile import GROUPS, VERSIONS, suite_named
from scanner.model.finding import Severity
from scanner.model.fips import CHACHA20, FIPS_TLS13, NOT_FIPS_GROUPS, in_fips_mode
from scanner.model.ingress_admission import TLS13_NAMES
from scanner.model.object_rule import Flaw, ObjectRule, Subject
from scanner.tls.names import group_code, is_tls13

_MOST: Final = 500


class _Loss(NamedTuple):
    """Something of which nothing is left in FIPS mode."""

    field: str
    message: str
    fix: str


def check_fips(subject: Subject) -> Iterator[Flaw]:
    """FIPS mode leaves something of a Custom profile."""
    lost = [(each, loss) for each in declarations(subject.object) for loss in _losses(each)]
    mode = _mode(subject) if lost else False
    for each, loss in lost:
        at = (*each.steps, "custom", loss.field)
        if isinstance(mode, Unknown):
            message = f"cannot be decided here: in FIPS mode {loss.message}; {mode.reason}"
            yield Flaw(message=message, at=at, verdict="inconclusive")
        elif mode:
            severity: Severity = "medium" if loss.field == "groups" else "high"
            yield Flaw(message=f"the cluster is in FIPS mode: {loss.message}", at=at, severity=severity, fix=loss.fix)


def _mode(subject: Subject) -> Known[bool]:
    """Of a hosted control plane its own object says it (hypershift ``HostedClusterSpec.FIPS``)."""
    if subject.object.kind in (HOSTED_CLUSTER, HOSTED_CONTROL_PLANE):
        return subject.object.at("spec", "fips") is True
    return in_fips_mode(subject.declared.known)


def _losses(each: Declaration) -> Iterator[_Loss]:
    names = each.custom.texts("ciphers")[:_MOST]
    codes = {name: code for name in names if (code := suite_named(name)) is not None}
    thirteen = [code for name, code in codes.items() if name in TLS13_NAMES]
    if each.object.kind in (INGRESS_CONTROLLER, API_SERVER) and thirteen and FIPS_TLS13.isdisjoint(thirteen):
        heir = " that inherits it" if each.object.kind == API_SERVER else ""
        message = f"none of its TLS 1.3 suites is left, and an IngressController{heir} is not admitted"
        yield _Loss("ciphers", message, "add TLS_AES_128_GCM_SHA256")
    old = [code for code in codes.values() if not is_tls13(code)]
    if old and CHACHA20.issuperset(old) and each.custom.text("minTLSVersion") != VERSIONS[-1]:
        yield _Loss("ciphers", "none of its TLS 1.2 suites is left", "add ECDHE-RSA-AES128-GCM-SHA256")
    groups = [group_code(name) for name in each.custom.texts("groups")[:_MOST] if name in GROUPS]
    if groups and NOT_FIPS_GROUPS.issuperset(groups):
        yield _Loss("groups", "none of its groups is left, and others are spoken", "add secp256r1")


FIPS = ObjectRule(
    id="tls-profile-fips",
    subjects=SUBJECTS,
    check=check_fips,
    reads=(CONFIG_MAP,),
)
