"""Steps on OpenShift: the profile of the cluster, its adherence, and the operators' observation, reports and rollout.

Facts from openshift/origin ``test/extended/tls`` and cluster-version-operator: the operators of the control plane copy
the profile into ``spec.observedConfig`` of their own object, whatever tlsAdherence is; the cluster version operator
writes it into ConfigMaps with the annotation ``config.openshift.io/inject-tls``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from shlex import quote

from msgspec import Struct

from scanner.doctor.diagnosed_component import Component
from scanner.errors import InputError
from scanner.expect.authority import MICROSHIFT_FILE, Authority
from scanner.expect.implementations import effective
from scanner.expect.process_flags import groups_of, numbers
from scanner.expect.rollout import OPERATOR_TAKES, OPERATORS
from scanner.files import yaml_values
from scanner.files.source_positions import shown
from scanner.kube import kinds
from scanner.kube.api_server import ADHERENCE_GATE, SPELLINGS, STRICT, feature_gates, has_field
from scanner.kube.kinds import API_SERVER, CLUSTER_OPERATOR, MACHINE_CONFIG_POOL, NODE, Kind
from scanner.kube.kubelet import MachineConfigPool, pool_of, updating
from scanner.kube.maybe import Unknown
from scanner.kube.meta import Condition, condition
from scanner.kube.objects import KubeObject
from scanner.kube.openshift import NodeStatus, OperatorConfig, OperatorFile, ServingInfo
from scanner.kube.secrets import ConfigMap
from scanner.model.diagnosis import Answer, Outcome
from scanner.model.expectation import Because
from scanner.tls.codepoints import TLS13
from scanner.tls.names import group_name, is_tls13, suite_name, suite_named, version_code, version_name
from scanner.values import replace

INJECT = "config.openshift.io/inject-tls"
_WORST_FIRST: tuple[Outcome, ...] = ("stopped", "unknown", "ok")
_OBJECT = re.compile(r"[A-Z][A-Za-z0-9]*/[^\s]+")
"""Source of a reason that is an object of the cluster."""
_MOST = 5
_SERVING = ("spec", "observedConfig", "servingInfo")


class Observer(Struct, frozen=True, kw_only=True):
    """The object in which an operator stores its observed configuration."""

    kind: Kind
    steps: tuple[str, ...] = _SERVING
    static: bool = False
    """True for static pods with revisions."""
    in_guest: bool = False
    """True if it runs in a guest cluster of HyperShift too."""


OBSERVERS: Mapping[str, Observer] = {
    **{component: Observer(kind=kind, static=True) for component, kind in OPERATORS.items()},
    "openshift-apiserver": Observer(kind=kinds.OPENSHIFT_API_SERVER_OPERATOR),
    "openshift-controller-manager": Observer(kind=kinds.OPENSHIFT_CONTROLLER_MANAGER_OPERATOR),
    "oauth-openshift": Observer(
        kind=kinds.AUTHENTICATION_OPERATOR, steps=("spec", "observedConfig", "oauthServer", "servingInfo")
    ),
    "image-registry": Observer(kind=kinds.IMAGE_REGISTRY_OPERATOR, in_guest=True),
}
"""Component -> its observer."""

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


def observer(component: Component) -> Observer | None:
    """Return the object with the component's observed configuration, if its cluster has one."""
    found = OBSERVERS.get(component.name)
    if found is None or component.platform not in ("openshift", "hypershift"):
        return None
    return found if component.platform == "openshift" or found.in_guest else None


def observed(component: Component) -> Answer:
    """Check that the component's operator has observed the profile."""
    found = observer(component)
    if found is None:
        own = _own(component)
        overriding = tuple(
            f"{each.source} {each.field}: {each.said}: it overrides the cluster's profile" for each in own
        )
        return Answer(outcome="not-applicable", lines=overriding or (_no_observer(component),))
    snapshot = component.facts.snapshot
    if gap := snapshot.gap(found.kind):
        option = "" if found.static else " --with doctor"
        may = f"adhere rbac{option} prints the role that allows it"
        return Answer(outcome="unknown", lines=(f"{found.kind.name}/cluster could not be read: {gap}", may))
    each = snapshot.get(found.kind, "cluster")
    if each is None:
        return Answer(outcome="unknown", lines=(f"{found.kind.name}/cluster does not exist",))
    return _of(OperatorConfig.of(each), found, component.authority)


def _own(component: Component) -> list[Because]:
    """Return the component's own configuration that overrides the cluster's: KubeletConfig, IngressController."""
    decided = [step for expected in component.expectations for step in expected.because if step.decides]
    found = [step for step in decided if step.source != component.authority.source and _OBJECT.fullmatch(step.source)]
    return list(dict.fromkeys(replace(step, beat=None) for step in found))[:_MOST]


def _no_observer(component: Component) -> str:
    if component.name not in OBSERVERS:
        return "its operator stores its observed configuration in no object"
    return {
        "hypershift": "its operator runs with the hosted control plane, in another cluster",
        "hosted": "the control plane operator configures it from the HostedControlPlane",
        "microshift": "MicroShift has no operators: its processes use the profile of its file",
    }.get(component.platform, "this cluster has no such operator")


def _of(each: OperatorConfig, found: Observer, authority: Authority) -> Answer:
    field = f"{each.reference} {'.'.join(found.steps)}"
    state = each.management_state
    if state in ("Unmanaged", "Removed"):
        line = f"{each.reference} spec.managementState: {state}: no controller applies the profile"
        return Answer(outcome="stopped", lines=(line,))
    if each.serving_info("spec", "unsupportedConfigOverrides", *found.steps[2:]).sets_tls:
        line = f"{each.reference} spec.unsupportedConfigOverrides sets servingInfo, which overrides the profile"
        return Answer(outcome="stopped", lines=(line,))
    return compared(field, each.serving_info(*found.steps), authority)


def compared(field: str, serving: ServingInfo, authority: Authority) -> Answer:
    """Compare a ``servingInfo`` with the cluster's profile, as Go applies it: names of TLS 1.3 suites have no
    effect."""
    declared = authority.declared()
    if declared.profile is None or isinstance(declared.profile, Unknown):
        reason = declared.profile.reason if declared.profile else declared.said
        return Answer(outcome="unknown", lines=(f"the expected value of {field} is unknown: {reason}",))
    expected = effective(declared.profile, "go", spelt=declared.spelt).profile
    minimum = serving.min_tls_version
    if not minimum:
        return Answer(outcome="stopped", lines=(f"{field} has no minTLSVersion: the operator observed no profile",))
    value = f"{field}: {shown(minimum).strip(chr(39))}, {len(serving.cipher_suites)} cipher suites"
    if _version(minimum) != expected.min_version:
        required = f"{authority.source} requires {version_name(expected.min_version)}"
        return Answer(outcome="stopped", lines=(value, required))
    if serving.curve_preferences is not None and (odd := _groups(value, serving, expected.groups)):
        return odd
    if expected.min_version >= TLS13:
        return Answer(outcome="ok", lines=(value,))
    older = {code for code in expected.suites if not is_tls13(code)}
    return _suites(value, serving.cipher_suites, older, custom=declared.custom)


def _suites(value: str, names: tuple[str, ...], expected: set[int], *, custom: bool) -> Answer:
    codes = {code for name in names[:500] if (code := suite_named(name)) is not None and not is_tls13(code)}
    extra, missing = sorted(codes - expected), sorted(expected - codes)
    if extra:
        return Answer(outcome="stopped", lines=(value, f"suites outside the profile: {_names(extra)}"))
    if missing and (custom or not codes):
        return Answer(outcome="stopped", lines=(value, f"missing suites: {_names(missing)}"))
    # An operator may be built with the lists of another release, which leave out more.
    narrower = f"narrower than the profile; missing suites: {_names(missing)}"
    return Answer(outcome="ok", lines=(value, *((narrower,) if missing else ())))


def _groups(value: str, serving: ServingInfo, expected: tuple[int, ...] | None) -> Answer | None:
    """Return a step that failed for observed groups outside the profile, or None. An operator may leave out groups, as
    those that FIPS does not approve (library-go pull request 2414)."""
    stated = groups_of(numbers(serving.curve_preferences), "curvePreferences")
    if isinstance(stated, Unknown):
        return Answer(outcome="unknown", lines=(value, stated.reason))
    extra = [group_name(code) for code in stated if expected is not None and code not in expected]
    return (
        Answer(outcome="stopped", lines=(value, f"groups outside the profile: {', '.join(extra)}")) if extra else None
    )


def _names(codes: list[int]) -> str:
    more = f" and {len(codes) - 5} more" if len(codes) > 5 else ""
    return ", ".join(suite_name(code) for code in codes[:5]) + more


def _version(name: str) -> int | None:
    try:
        return version_code(name[:40])
    except KeyError:
        return None


def observed_commands(component: Component) -> tuple[str, ...]:
    """Return the command for the component's observed configuration."""
    found = observer(component)
    if found is None:
        return tuple(dict.fromkeys(_object(step.source, component.oc) for step in _own(component)))
    return (f"oc get {found.kind.resource} cluster -o jsonpath='{{.{'.'.join(found.steps)}}}'",)


def _object(source: str, oc: str) -> str:
    """Return the command for ``Kind/name`` or ``Kind/namespace/name``."""
    kind, *names = source.split("/")
    where = f" -n {quote(names[0])}" if len(names) > 1 else ""
    return f"{oc} get {quote(kind.lower())}{where} {quote(names[-1])} -o yaml"


# --- ConfigMaps that the platform fills in ---------------------------------------------------------------------------


def injected(component: Component) -> Answer:
    """Check that the ConfigMaps of the component's namespaces contain the profile."""
    if component.platform not in ("openshift", "hypershift"):
        return Answer(outcome="not-applicable", lines=("this platform writes no profile into ConfigMaps",))
    if isinstance(component.injected, Unknown):
        if component.name not in INJECTED:
            return Answer(outcome="not-applicable", lines=("no known ConfigMap of it receives the profile",))
        return Answer(outcome="not-read", lines=(component.injected.reason,))
    mine = [each for each in component.injected if each.namespace in component.namespaces]
    if not mine:
        line = f"no ConfigMap of {', '.join(component.namespaces) or 'the node'} has the annotation {INJECT}"
        return Answer(outcome="unknown" if component.name in INJECTED else "not-applicable", lines=(line,))
    return _worst([answer for each in mine for answer in _documents(each, component.authority)])


def _documents(each: KubeObject, authority: Authority) -> Iterator[Answer]:
    """Yield an answer for each configuration in a ConfigMap: GenericOperatorConfig or GenericControllerConfig."""
    for key, text in ConfigMap.of(each).data.items():
        place = f"{each.reference} data[{key[:60]}]"
        try:
            value = yaml_values.load(text.encode("utf-8", "replace"), place).get(())
        except InputError as error:
            yield Answer(outcome="unknown", lines=(error.message,))
            continue
        if isinstance(value, Mapping):
            yield compared(f"{place} servingInfo", OperatorFile(value).serving_info, authority)


def _worst(answers: list[Answer]) -> Answer:
    lines = tuple(text for each in answers for text in each.lines)
    for outcome in _WORST_FIRST:
        if any(each.outcome == outcome for each in answers):
            return Answer(outcome=outcome, lines=lines)
    return Answer(outcome="unknown", lines=("its ConfigMaps contain no configuration",))


def injected_commands(component: Component) -> tuple[str, ...]:
    """Return the commands to check it."""
    if component.platform not in ("openshift", "hypershift") or component.name not in INJECTED:
        return ()
    return tuple(f"oc get configmap -n {quote(name)} -o yaml   # those with {INJECT}" for name in component.namespaces)


_CONDITIONS = ("Available", "Progressing", "Degraded")
_NOT_THERE = {
    "hosted": "the operators of a hosted control plane run in its namespace and report in the guest cluster",
    "microshift": "MicroShift has no ClusterOperators",
    "kubernetes": "only OpenShift has ClusterOperators",
}


def conditions(component: Component) -> Answer:
    """Check the conditions of the component's ClusterOperator."""
    if component.platform in _NOT_THERE:
        return Answer(outcome="not-applicable", lines=(_NOT_THERE[component.platform],))
    if not component.operator:
        return Answer(outcome="not-applicable", lines=("no known ClusterOperator reports on this component",))
    snapshot = component.facts.snapshot
    found = snapshot.get(CLUSTER_OPERATOR, component.operator)
    if found is None:
        reason = snapshot.gap(CLUSTER_OPERATOR) or "it does not exist"
        return Answer(outcome="unknown", lines=(f"ClusterOperator/{component.operator}: {reason}",))
    reported = [each for name in _CONDITIONS if (each := condition(found, name)) is not None]
    if not reported:
        return Answer(outcome="unknown", lines=(f"{found.reference} has no conditions",))
    return _judged_conditions(component, found, reported)


def _judged_conditions(component: Component, found: KubeObject, reported: list[Condition]) -> Answer:
    words = tuple(f"{each.type}={each.status}{': ' + each.message if each.message else ''}" for each in reported)
    states = {each.type: each for each in reported}
    unhealthy = any(
        name in states and states[name].status == bad for name, bad in (("Available", "False"), ("Degraded", "True"))
    )
    if unhealthy and component.follows:
        return Answer(outcome="ok", lines=(*words, "without effect on TLS: every listener follows its profile"))
    if unhealthy:
        return Answer(outcome="stopped", lines=(str(found.reference), *words))
    progressing = states.get("Progressing")
    if progressing is not None and progressing.holds and not component.follows:
        since = progressing.since
        late = since is not None and component.facts.snapshot.taken_at - since > OPERATOR_TAKES
        when = f" since {since:%Y-%m-%d %H:%M} UTC" if since else ""
        why = f"in progress{when}" + (", longer than a rollout takes" if late else ": a change is being rolled out")
        return Answer(outcome="stopped" if late else "unknown", lines=(*words, why))
    return Answer(outcome="ok", lines=words)


def conditions_commands(component: Component) -> tuple[str, ...]:
    """Return the commands to check it."""
    if component.platform in _NOT_THERE or not component.operator:
        return ()
    return (f"oc get clusteroperator {quote(component.operator)} -o yaml",)


def rollout(component: Component) -> Answer:
    """Check that every node runs the newest configuration, if an object has this."""
    if component.name == "kubelet" or component.operator == "machine-config":
        return _pools(component)
    found = observer(component)
    each = component.facts.snapshot.get(found.kind, "cluster") if found and found.static else None
    if each is not None and OperatorConfig.of(each).node_statuses:
        return _revisions(OperatorConfig.of(each))
    if component.platform == "microshift":
        return Answer(outcome="not-read", lines=("MicroShift applies the profile of its file when it restarts",))
    if each is not None:
        return Answer(outcome="not-read", lines=(f"{each.reference} has no revisions in status.nodeStatuses",))
    return Answer(outcome="not-read", lines=("not read for workloads; the ClusterOperator reports it",))


def _revisions(each: OperatorConfig) -> Answer:
    """Check ``status.nodeStatuses`` of an operator of static pods (openshift/api ``operator/v1/types.go``)."""
    newest = each.latest_revision
    behind = [node for node in each.node_statuses if node.current_revision != newest]
    if newest is None:
        return Answer(outcome="unknown", lines=(f"{each.reference} has no status.latestAvailableRevision",))
    if not behind:
        return Answer(outcome="ok", lines=(f"{each.reference}: every node runs revision {newest}",))
    failed = [node for node in behind if node.last_failed_revision == newest]
    nodes = tuple(_node(node, newest) for node in behind[:_MOST])
    return Answer(outcome="stopped" if failed else "unknown", lines=(str(each.reference), *nodes))


def _node(node: NodeStatus, newest: int) -> str:
    failed = node.last_failed_revision == newest
    errors = "; ".join(node.last_failed_revision_errors[:2])[:300]
    state = f"{node.node_name}: runs revision {node.current_revision}; the newest is {newest}"
    if (target := node.target_revision or 0) > (node.current_revision or 0):
        state += f"; {target} is being installed"
    return state + (f"; {newest} failed{': ' + errors if errors else ''}" if failed else "")


def _pools(component: Component) -> Answer:
    snapshot = component.facts.snapshot
    if MACHINE_CONFIG_POOL in snapshot.absent:
        return Answer(outcome="not-applicable", lines=("this cluster has no MachineConfigPools",))
    if component.platform == "hypershift":
        return Answer(outcome="not-applicable", lines=("NodePools roll out the nodes of a guest cluster",))
    if gap := snapshot.gap(MACHINE_CONFIG_POOL) or snapshot.gap(NODE):
        return Answer(outcome="unknown", lines=(f"MachineConfigPools and Nodes could not be read: {gap}",))
    lines, stopped = list(_failing_pools(component)), True
    if not lines:
        lines, stopped = list(_behind(component)), False
    if not lines:
        return Answer(outcome="ok", lines=("every node runs the configuration of its pool",))
    return Answer(outcome="stopped" if stopped else "unknown", lines=tuple(lines[:_MOST]))


def _nodes(component: Component) -> list[KubeObject]:
    names = dict.fromkeys(each.runs_on or each.node for each in component.endpoints)
    return [found for name in names if name and (found := component.facts.snapshot.get(NODE, name))]


def _failing_pools(component: Component) -> Iterator[str]:
    """Yield the pools that are degraded, or paused before their rollout was complete."""
    pools = [pool_of(component.facts.snapshot, node) for node in _nodes(component)]
    for pool in {each.name: each for each in pools if isinstance(each, MachineConfigPool)}.values():
        degraded, updated = condition(pool, "Degraded"), condition(pool, "Updated")
        if degraded is not None and degraded.holds:
            yield f"{pool.reference} Degraded=True{': ' + degraded.message if degraded.message else ''}"
        elif pool.paused and updated is not None and not updated.holds:
            yield f"{pool.reference} spec.paused is true, and some nodes do not run the configuration of the pool"


def _behind(component: Component) -> Iterator[str]:
    for node in _nodes(component):
        pool = pool_of(component.facts.snapshot, node)
        if isinstance(pool, Unknown):
            yield pool.reason
        elif found := updating(pool, node):
            yield found[0]


def rollout_commands(component: Component) -> tuple[str, ...]:
    """Return the commands to check it."""
    if component.platform == "microshift":
        return ("systemctl status microshift",)
    if (component.name == "kubelet" or component.operator == "machine-config") and component.platform == "openshift":
        return ("oc get machineconfigpool -o wide",)
    found = observer(component)
    if found is not None and found.static:
        return (f"oc get {found.kind.resource} cluster -o jsonpath='{{.status.nodeStatuses}}'",)
    rolled = ("Deployment", "DaemonSet", "StatefulSet")
    return tuple(
        f"{component.oc} rollout status -n {quote(each.namespace or '')} {each.kind.lower()}/{quote(each.name)}"
        for each in list(component.workloads)[:_MOST]
        if each.kind in rolled
    )


_REFUSED = "admission refuses: "
"""First words of a remark of ``declared_profile`` about a value that the API server would refuse."""


def profile(component: Component) -> Answer:
    """Check that the profile can be read, and would pass admission (the document's troubleshooting steps 1 and 3)."""
    authority, platform = component.authority, component.platform
    if platform == "kubernetes":
        return Answer(outcome="not-applicable", lines=("no object of this cluster sets a profile for its components",))
    if platform in ("openshift", "hypershift") and (gap := component.facts.snapshot.gap(API_SERVER)):
        return Answer(outcome="unknown", lines=(f"{authority.source} could not be read: {gap}",))
    return _declared(authority)


def _declared(authority: Authority) -> Answer:
    found = authority.declared()
    line = f"{authority.source} {authority.field}: {found.said}"
    profile = found.profile
    refused = [each for each in found.remarks if each.startswith(_REFUSED)]
    if refused:
        return Answer(outcome="stopped", lines=(line, *refused))
    if profile is None or isinstance(profile, Unknown):
        reason = profile.reason if isinstance(profile, Unknown) else "its meaning is unknown"
        not_known = found.refused is None and (isinstance(authority.releases.desired, Unknown) or _unseen(authority))
        return Answer(outcome="unknown" if not_known else "stopped", lines=(line, reason))
    what = f"{profile.name}: {version_name(profile.min_version)} or later, {len(profile.suites)} suites"
    return Answer(outcome="ok", lines=(line, what, *found.remarks, *authority.remarks))


def _unseen(authority: Authority) -> bool:
    """True if the file or object was not read."""
    return authority.fixed is not None and isinstance(authority.fixed.profile, Unknown) and not authority.holder.raw


def profile_commands(component: Component) -> tuple[str, ...]:
    """Return the commands to check it."""
    source = component.authority.source
    if component.platform == "kubernetes":
        return ()
    if component.platform == "microshift":
        return (f"microshift show-config | grep -A 8 'tls:'   # of {MICROSHIFT_FILE}",)
    if component.platform == "hosted":
        return (f"oc get {_named(source)} -o jsonpath='{{.spec.configuration.apiServer}}'",)
    return ("oc get apiserver cluster -o yaml", "oc get apiserver cluster -o jsonpath='{.spec.tlsSecurityProfile}'")


def _named(source: str) -> str:
    """Return ``hostedcluster -n clusters prod`` for ``HostedCluster/clusters/prod``."""
    kind, namespace, name = (*source.split("/"), "", "")[:3]
    return f"{kind.lower()} -n {quote(namespace)} {quote(name)}"


def adheres(component: Component) -> Answer:
    """Check that ``tlsAdherence`` and its feature gate require this component to follow (troubleshooting step 2)."""
    adherence = component.authority.adherence
    if adherence is None:
        why = "MicroShift's file" if component.platform == "microshift" else "this kind of cluster"
        return Answer(outcome="not-applicable", lines=(f"{why} has no tlsAdherence",))
    words = (f"{adherence.source} {adherence.field}: {adherence.said}", *_gate(component), *adherence.remarks)
    if component.facts.snapshot.gap(API_SERVER) and not component.hosted:
        return Answer(outcome="unknown", lines=words)
    if component.bound:
        return Answer(outcome="ok", lines=(*words, "the profile is enforced on this component"))
    ignored = adherence.beat
    if ignored is not None and SPELLINGS.get(ignored, STRICT) == STRICT:
        return Answer(outcome="stopped", lines=(*words, f"the value {ignored} is set there, but it has no effect"))
    readiness = "the cluster's profile is not enforced on this component: differences are reported as readiness"
    return Answer(outcome="ok", lines=(*words, readiness))


def _gate(component: Component) -> tuple[str, ...]:
    if component.hosted:
        return ()
    snapshot, release = component.facts.snapshot, component.authority.releases.desired
    state = feature_gates(snapshot, "" if isinstance(release, Unknown) else release).state(ADHERENCE_GATE)
    field = {True: "has the field", False: "does not have the field", None: "could not be read"}
    schema = field[has_field(snapshot, "tlsAdherence")]
    return (f"FeatureGate/cluster: TLSAdherence is {state}; the schema of APIServer {schema}",)


def adherence_commands(component: Component) -> tuple[str, ...]:
    """Return the commands to check it."""
    if component.platform == "hosted":
        source = _named(component.authority.source)
        return (f"oc get {source} -o jsonpath='{{.spec.configuration.apiServer.tlsAdherence}}'",)
    if component.platform not in ("openshift", "hypershift"):
        return ()
    return (
        "oc get apiserver cluster -o jsonpath='{.spec.tlsAdherence}'",
        "oc get featuregate cluster -o yaml",
        "oc explain apiserver.spec.tlsAdherence",
    )
