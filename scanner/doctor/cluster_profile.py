"""The first two steps: the profile of the cluster, and whether it binds this component."""

from __future__ import annotations

from shlex import quote

from scanner.doctor.diagnosed_component import Component
from scanner.expect.authority import MICROSHIFT_FILE, Authority
from scanner.kube.api_server import ADHERENCE_GATE, SPELLINGS, STRICT, feature_gates, has_field
from scanner.kube.kinds import API_SERVER
from scanner.kube.maybe import Unknown
from scanner.model.diagnosis import Answer
from scanner.tls.names import version_name

_REFUSED = "admission refuses: "
"""How ``declared_profile`` begins a remark on what the API server would not have let in."""


def profile(component: Component) -> Answer:
    """Whether the profile can be read, and would pass admission (the document's troubleshooting steps 1 and 3)."""
    authority, platform = component.authority, component.platform
    if platform == "kubernetes":
        return Answer(outcome="not-applicable", said=("no object of this cluster says what its components must do",))
    if platform in ("openshift", "hypershift") and (gap := component.facts.snapshot.gap(API_SERVER)):
        return Answer(outcome="unknown", said=(f"{authority.source} could not be read: {gap}",))
    return _declared(authority)


def _declared(authority: Authority) -> Answer:
    found = authority.declared()
    said = f"{authority.source} {authority.field}: {found.said}"
    meant = found.profile
    refused = [each for each in found.remarks if each.startswith(_REFUSED)]
    if refused:
        return Answer(outcome="stopped", said=(said, *refused))
    if meant is None or isinstance(meant, Unknown):
        reason = meant.reason if isinstance(meant, Unknown) else "nothing says what it means"
        not_known = found.refused is None and (isinstance(authority.releases.desired, Unknown) or _unseen(authority))
        return Answer(outcome="unknown" if not_known else "stopped", said=(said, reason))
    what = f"{meant.name}: {version_name(meant.min_version)} or later, {len(meant.suites)} suites"
    return Answer(outcome="ok", said=(said, what, *found.remarks, *authority.remarks))


def _unseen(authority: Authority) -> bool:
    """Whether the file or object itself was not at hand."""
    return authority.fixed is not None and isinstance(authority.fixed.profile, Unknown) and not authority.holder.raw


def profile_commands(component: Component) -> tuple[str, ...]:
    """Where to look."""
    source = component.authority.source
    if component.platform == "kubernetes":
        return ()
    if component.platform == "microshift":
        return (f"microshift show-config | grep -A 8 'tls:'   # of {MICROSHIFT_FILE}",)
    if component.platform == "hosted":
        return (f"oc get {_named(source)} -o jsonpath='{{.spec.configuration.apiServer}}'",)
    return ("oc get apiserver cluster -o yaml", "oc get apiserver cluster -o jsonpath='{.spec.tlsSecurityProfile}'")


def _named(source: str) -> str:
    """``hostedcluster -n clusters prod`` for ``HostedCluster/clusters/prod``."""
    kind, namespace, name = (*source.split("/"), "", "")[:3]
    return f"{kind.lower()} -n {quote(namespace)} {quote(name)}"


def adheres(component: Component) -> Answer:
    """Whether ``tlsAdherence`` and its feature gate ask this component to follow (troubleshooting step 2)."""
    said = component.authority.adherence
    if said is None:
        why = "MicroShift's file" if component.platform == "microshift" else "a cluster like this one"
        return Answer(outcome="not-applicable", said=(f"{why} has no tlsAdherence",))
    words = (f"{said.source} {said.field}: {said.said}", *_gate(component), *said.remarks)
    if component.facts.snapshot.gap(API_SERVER) and not component.hosted:
        return Answer(outcome="unknown", said=words)
    if component.bound:
        return Answer(outcome="ok", said=(*words, "this component is held to its profile"))
    asked = said.beat is not None and SPELLINGS.get(said.beat, STRICT) == STRICT
    if asked:
        return Answer(outcome="stopped", said=(*words, f"{said.beat} is written there, and nothing comes of it"))
    return Answer(outcome="ok", said=(*words, "nothing holds this component to the cluster's profile: readiness"))


def _gate(component: Component) -> tuple[str, ...]:
    if component.hosted:
        return ()
    snapshot, release = component.facts.snapshot, component.authority.releases.desired
    state = feature_gates(snapshot, "" if isinstance(release, Unknown) else release).state(ADHERENCE_GATE)
    field = {True: "has the field", False: "does not have the field", None: "could not be seen"}
    schema = field[has_field(snapshot, "tlsAdherence")]
    return (f"FeatureGate/cluster: TLSAdherence is {state}; the schema of APIServer {schema}",)


def adherence_commands(component: Component) -> tuple[str, ...]:
    """Where to look."""
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
