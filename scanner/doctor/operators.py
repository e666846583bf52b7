"""What operators made of the profile: their ``observedConfig``, and the ConfigMaps that the platform fills in for them.

Facts by reading openshift/origin ``test/extended/tls`` and cluster-version-operator: the operators of the control
plane copy the profile into ``spec.observedConfig`` of their own object, whatever tlsAdherence says; into a ConfigMap
with the annotation ``config.openshift.io/inject-tls`` the cluster version operator writes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from shlex import quote

from scanner.doctor.patient import Patient
from scanner.errors import InputError
from scanner.expect.authority import Authority
from scanner.expect.implementations import effective
from scanner.files import yaml_values
from scanner.files.source_positions import shown
from scanner.kube import kinds
from scanner.kube.kinds import Kind
from scanner.kube.maybe import Unknown
from scanner.kube.objects import KubeObject
from scanner.kube.openshift import OperatorConfig, OperatorFile, ServingInfo
from scanner.kube.secrets import ConfigMap
from scanner.model.diagnosis import Answer, Outcome
from scanner.model.expectation import Because
from scanner.tls.codepoints import TLS13
from scanner.tls.names import is_tls13, suite_name, suite_named, version_code, version_name

INJECT = "config.openshift.io/inject-tls"
_WORST_FIRST: tuple[Outcome, ...] = ("stopped", "unknown", "ok")
_OBJECT = re.compile(r"[A-Z][A-Za-z0-9]*/[^\s]+")
"""A source of a reason that is an object of the cluster."""
_MOST = 5
_SERVING = ("spec", "observedConfig", "servingInfo")


@dataclass(frozen=True, slots=True, kw_only=True)
class Observer:
    """The object in which an operator keeps what it observed."""

    kind: Kind
    steps: tuple[str, ...] = _SERVING
    static: bool = False
    """Whether it runs static pods, in revisions."""
    in_guest: bool = False
    """Whether it runs in a guest cluster of HyperShift too."""


OBSERVERS: Mapping[str, Observer] = {
    "kube-apiserver": Observer(kind=kinds.KUBE_API_SERVER_OPERATOR, static=True),
    "kube-controller-manager": Observer(kind=kinds.KUBE_CONTROLLER_MANAGER_OPERATOR, static=True),
    "kube-scheduler": Observer(kind=kinds.KUBE_SCHEDULER_OPERATOR, static=True),
    "etcd": Observer(kind=kinds.ETCD_OPERATOR, static=True),
    "openshift-apiserver": Observer(kind=kinds.OPENSHIFT_API_SERVER_OPERATOR),
    "openshift-controller-manager": Observer(kind=kinds.OPENSHIFT_CONTROLLER_MANAGER_OPERATOR),
    "oauth-openshift": Observer(
        kind=kinds.AUTHENTICATION_OPERATOR, steps=("spec", "observedConfig", "oauthServer", "servingInfo")
    ),
    "image-registry": Observer(kind=kinds.IMAGE_REGISTRY_OPERATOR, in_guest=True),
}
"""By component."""

READS: tuple[Kind, ...] = tuple(dict.fromkeys(each.kind for each in OBSERVERS.values()))

INJECTED: frozenset[str] = frozenset(
    {
        "authentication-operator",
        "config-operator",
        "console-operator",
        "etcd-operator",
        "image-registry",
        "kube-apiserver-operator",
        "kube-controller-manager-operator",
        "kube-scheduler-operator",
        "openshift-apiserver-operator",
        "openshift-controller-manager-operator",
        "samples-operator",
        "service-ca-operator",
        "storage-operator",
    }
)
"""Components that read such a ConfigMap."""


def observer(patient: Patient) -> Observer | None:
    """The object that keeps what was observed for this component, where its cluster has one."""
    found = OBSERVERS.get(patient.component)
    if found is None or patient.world not in ("openshift", "hypershift"):
        return None
    return found if patient.world == "openshift" or found.in_guest else None


def observed(patient: Patient) -> Answer:
    """Whether the component's operator has seen the profile."""
    found = observer(patient)
    if found is None:
        own = _own(patient)
        said = tuple(f"{each.source} {each.field}: {each.said}, which decides for some or all of it" for each in own)
        return Answer(outcome="not-applicable", said=said or (_no_observer(patient),))
    snapshot = patient.facts.snapshot
    if gap := snapshot.gap(found.kind):
        option = "" if found.static else " --with doctor"
        may = f"adhere rbac{option} prints the role that may"
        return Answer(outcome="unknown", said=(f"{found.kind.name}/cluster could not be read: {gap}", may))
    each = snapshot.get(found.kind, "cluster")
    if each is None:
        return Answer(outcome="unknown", said=(f"there is no {found.kind.name}/cluster",))
    return _of(OperatorConfig.of(each), found, patient.authority)


def _own(patient: Patient) -> list[Because]:
    """Configuration of the component's own that decides instead of the cluster's: KubeletConfig, IngressController."""
    decided = [step for owed in patient.owed for step in owed.because if step.decides]
    found = [step for step in decided if step.source != patient.authority.source and _OBJECT.fullmatch(step.source)]
    return list(dict.fromkeys(replace(step, beat=None) for step in found))[:_MOST]


def _no_observer(patient: Patient) -> str:
    if patient.component not in OBSERVERS:
        return "its operator keeps what it observed in no object"
    return {
        "hypershift": "its operator runs with the hosted control plane, in another cluster",
        "hosted": "the control plane's own operator configures it from the HostedControlPlane",
        "microshift": "MicroShift has no operators: each process gets the file's profile",
    }.get(patient.world, "this cluster has no such operator")


def _of(each: OperatorConfig, found: Observer, authority: Authority) -> Answer:
    field = f"{each.reference} {'.'.join(found.steps)}"
    state = each.management_state
    if state in ("Unmanaged", "Removed"):
        return Answer(
            outcome="stopped", said=(f"{each.reference} spec.managementState: {state}: no controller applies it",)
        )
    if each.serving_info("spec", "unsupportedConfigOverrides", *found.steps[2:]).speaks_of_tls:
        said = f"{each.reference} spec.unsupportedConfigOverrides has a servingInfo of its own, which beats the profile"
        return Answer(outcome="stopped", said=(said,))
    return compared(field, each.serving_info(*found.steps), authority)


def compared(field: str, serving: ServingInfo, authority: Authority) -> Answer:
    """A ``servingInfo`` against the cluster's profile, as Go can have it: names of TLS 1.3 suites mean nothing."""
    declared = authority.declared()
    if declared.profile is None or isinstance(declared.profile, Unknown):
        reason = declared.profile.reason if declared.profile else declared.said
        return Answer(outcome="unknown", said=(f"what {field} should say is not known: {reason}",))
    wanted = effective(declared.profile, "go", spelt=declared.spelt).profile
    minimum = serving.min_tls_version
    if not minimum:
        return Answer(outcome="stopped", said=(f"{field} has no minTLSVersion: its operator has observed nothing",))
    says = f"{field}: {shown(minimum).strip(chr(39))}, {len(serving.cipher_suites)} cipher suites"
    if _version(minimum) != wanted.min_version:
        return Answer(outcome="stopped", said=(says, f"{authority.source} asks for {version_name(wanted.min_version)}"))
    if wanted.min_version >= TLS13:
        return Answer(outcome="ok", said=(says,))
    older = {code for code in wanted.suites if not is_tls13(code)}
    return _suites(says, serving.cipher_suites, older, custom=declared.custom)


def _suites(says: str, names: tuple[str, ...], wanted: set[int], *, custom: bool) -> Answer:
    codes = {code for name in names[:500] if (code := suite_named(name)) is not None and not is_tls13(code)}
    extra, missing = sorted(codes - wanted), sorted(wanted - codes)
    if extra:
        return Answer(outcome="stopped", said=(says, f"beyond the profile: {_names(extra)}"))
    if missing and (custom or not codes):
        return Answer(outcome="stopped", said=(says, f"without: {_names(missing)}"))
    # An operator may be built with the lists of another release, which leave out more.
    return Answer(
        outcome="ok", said=(says, *((f"narrower than the profile, without {_names(missing)}",) * bool(missing)))
    )


def _names(codes: list[int]) -> str:
    more = f" and {len(codes) - 5} more" if len(codes) > 5 else ""
    return ", ".join(suite_name(code) for code in codes[:5]) + more


def _version(name: str) -> int | None:
    try:
        return version_code(name[:40])
    except KeyError:
        return None


def observed_commands(patient: Patient) -> tuple[str, ...]:
    """Where to look."""
    found = observer(patient)
    if found is None:
        return tuple(dict.fromkeys(_object(step.source, patient.oc) for step in _own(patient)))
    return (f"oc get {found.kind.resource} cluster -o jsonpath='{{.{'.'.join(found.steps)}}}'",)


def _object(source: str, oc: str) -> str:
    """For ``Kind/name`` and ``Kind/namespace/name``."""
    kind, *names = source.split("/")
    where = f" -n {quote(names[0])}" if len(names) > 1 else ""
    return f"{oc} get {quote(kind.lower())}{where} {quote(names[-1])} -o yaml"


# --- ConfigMaps that the platform fills in ---------------------------------------------------------------------------


def injected(patient: Patient) -> Answer:
    """Whether the profile stands in the ConfigMaps of the component's namespaces that ask for it."""
    if patient.world not in ("openshift", "hypershift"):
        return Answer(outcome="not-applicable", said=("nothing here writes a profile into ConfigMaps",))
    if isinstance(patient.injected, Unknown):
        if patient.component not in INJECTED:
            return Answer(outcome="not-applicable", said=("no ConfigMap is known that the platform fills in for it",))
        return Answer(outcome="not-read", said=(patient.injected.reason,))
    mine = [each for each in patient.injected if each.namespace in patient.namespaces]
    if not mine:
        said = f"no ConfigMap of {', '.join(patient.namespaces) or 'the node'} has the annotation {INJECT}"
        return Answer(outcome="unknown" if patient.component in INJECTED else "not-applicable", said=(said,))
    return _worst([answer for each in mine for answer in _documents(each, patient.authority)])


def _documents(each: KubeObject, authority: Authority) -> Iterator[Answer]:
    """Each configuration in a ConfigMap: a GenericOperatorConfig, or a GenericControllerConfig."""
    for key, text in ConfigMap.of(each).data.items():
        place = f"{each.reference} data[{key[:60]}]"
        try:
            value = yaml_values.load(text.encode("utf-8", "replace"), place).get(())
        except InputError as error:
            yield Answer(outcome="unknown", said=(error.message,))
            continue
        if isinstance(value, Mapping):
            yield compared(f"{place} servingInfo", OperatorFile(value).serving_info, authority)


def _worst(answers: list[Answer]) -> Answer:
    said = tuple(text for each in answers for text in each.said)
    for outcome in _WORST_FIRST:
        if any(each.outcome == outcome for each in answers):
            return Answer(outcome=outcome, said=said)
    return Answer(outcome="unknown", said=("its ConfigMaps hold no configuration",))


def injected_commands(patient: Patient) -> tuple[str, ...]:
    """Where to look."""
    if patient.world not in ("openshift", "hypershift") or patient.component not in INJECTED:
        return ()
    return tuple(f"oc get configmap -n {quote(name)} -o yaml   # those with {INJECT}" for name in patient.namespaces)
