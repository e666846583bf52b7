"""IngressControllers: what their routers owe on the port where HAProxy answers; each one by its name.

cluster-ingress-operator ``pkg/operator/controller/ingress`` (``tlsProfileSpecForIngressController``). It never asks
for ``tlsAdherence``. ``status.tlsProfile`` is what the router that is rolled out really uses, hence the best evidence.
The router's other TLS port, for its metrics, is Go's and follows the APIServer.

MicroShift's router: ``ingress.tlsSecurityProfile`` of its file (microshift ``pkg/config/ingress.go``).
"""

from __future__ import annotations

from dataclasses import replace

from scanner.expect.authority import MICROSHIFT_FILE, microshift_file
from scanner.expect.facts import Facts
from scanner.expect.implementations import effective
from scanner.expect.partial_expectation import Draft
from scanner.expect.release import meaning
from scanner.expect.rollout import OPERATOR_TAKES, settling
from scanner.kube.ingress import (
    OPERATOR_NAMESPACE,
    ROUTER_LABEL,
    ROUTER_NAMESPACE,
    IngressController,
    Route,
    ingress_controller,
)
from scanner.kube.kinds import INGRESS_CONTROLLER, ROUTE
from scanner.kube.maybe import Known, Unknown
from scanner.kube.meta import changed, condition
from scanner.kube.objects import KubeObject
from scanner.kube.tls_profile import (
    INGRESS_OPERATOR,
    INHERITED_BY_INGRESS,
    MICROSHIFT_INGRESS,
    Declared,
    Profile,
    declared,
)
from scanner.model.expectation import Lever
from scanner.tls.codepoints import TLS13

STATS_PORT = 1936
_STEPS = ("spec", "tlsSecurityProfile")
_FIELD = ".".join(_STEPS)
_MICROSHIFT_STEPS = ("ingress", "tlsSecurityProfile")
_MICROSHIFT_FIELD = ".".join(_MICROSHIFT_STEPS)


def resolve(facts: Facts, draft: Draft) -> Draft:
    """The profile of a router."""
    if not facts.is_openshift or facts.is_microshift or not _is_frontend(facts, draft):
        return draft
    draft = replace(draft, standing="platform", binding="must-follow", implementation="haproxy")
    draft = _route(facts, replace(draft, groups_configurable=True, entry=draft.entry or facts.router))
    name = router_name(facts, draft)
    if isinstance(name, Unknown):
        return draft.requires(name, "IngressController", _FIELD, "unknown")
    found = ingress_controller(facts.snapshot, name)
    called = f"IngressController/{OPERATOR_NAMESPACE}/{name}"
    if found is None and (gap := facts.snapshot.gap(INGRESS_CONTROLLER)):
        return draft.requires(Unknown(f"{called} could not be read: {gap}"), called, _FIELD, "could not be read")
    if found is None:
        return draft.requires(Unknown(f"there is no {called}"), called, _FIELD, "not there")
    policy = found.client_tls.certificates
    source = f"{found.reference} spec.clientTLS.clientCertificatePolicy" if policy else ""
    lever = Lever(where=str(found.reference), field=_FIELD, applied_by="router")
    draft = replace(draft, client_certificate=policy, client_source=source, lever=lever)
    return _as_reported(facts, _declares(facts, draft, found), found)


def _is_frontend(facts: Facts, draft: Draft) -> bool:
    """Whether HAProxy answers: a Route's frontend, or a router's port that is not the one for metrics."""
    endpoint, governor, name = draft.endpoint, draft.entry.governor if draft.entry else None, _owner_says(draft)
    if endpoint.subject is not None and endpoint.subject.kind == "Route":
        # A Route that is passed through is its backend's.
        route = route_of(facts, draft)
        return endpoint.segment != "Backend" and (route is None or route.termination != "passthrough")
    if governor is not None:
        return governor == "ingress"
    return name is not None and endpoint.port not in _stats_ports(facts, name)


def route_of(facts: Facts, draft: Draft) -> Route | None:
    """The Route that leads to ``draft``'s endpoint, or None."""
    subject = draft.endpoint.subject
    found = (
        facts.snapshot.get(ROUTE, subject.name, subject.namespace) if subject and subject.kind == ROUTE.name else None
    )
    return None if found is None else Route.of(found)


def _stats_ports(facts: Facts, name: str) -> set[int]:
    found = ingress_controller(facts.snapshot, name)
    own = found.stats_port if found else None
    return {STATS_PORT} | ({own} if own is not None else set())


def router_name(facts: Facts, draft: Draft) -> Known[str]:
    """Which IngressController's router this is: by its pods, else by the Route's status."""
    name = _owner_says(draft)
    if name is not None:
        return name
    route = route_of(facts, draft)
    admitted = {each.router_name for each in route.ingresses if each.is_admitted} if route else set()
    names = sorted(admitted) or [each.name for each in facts.snapshot.every(INGRESS_CONTROLLER)]
    if not admitted and (gap := facts.snapshot.gap(INGRESS_CONTROLLER)):
        return Unknown(f"which IngressController answers here is not known: {gap}")
    if len(names) == 1:
        return names[0]
    return Unknown(f"which IngressController answers here is not known: {', '.join(names[:5]) or 'there is none'}")


def controller_of(facts: Facts, draft: Draft) -> IngressController | None:
    """The IngressController whose router answers, where that is known."""
    name = router_name(facts, draft) if draft.implementation == "haproxy" else None
    return ingress_controller(facts.snapshot, name) if isinstance(name, str) else None


def _owner_says(draft: Draft) -> str | None:
    owner, label = draft.endpoint.owner, dict(draft.endpoint.labels).get(ROUTER_LABEL)
    if label:
        return label
    if owner.namespace == ROUTER_NAMESPACE and owner.name.startswith("router-"):
        name = owner.name.removeprefix("router-")
        # Its Services are router-internal-NAME and router-nodeport-NAME.
        return next((name.removeprefix(each) for each in ("internal-", "nodeport-") if name.startswith(each)), name)
    # Discovery names a router without a known pod by the Route's status.
    known = owner.kind == "IngressController" or (owner.kind == "Router" and owner.name != "unknown")
    return owner.name if known else None


def _route(facts: Facts, draft: Draft) -> Draft:
    """A Route carries no versions and suites; its termination decides only who answers."""
    route = route_of(facts, draft)
    if route is None:
        return draft
    said = f"{route.termination}: the router answers, and follows its IngressController"
    draft = draft.says(str(route.reference), "spec.tls.termination", said)
    if route.termination != "reencrypt":
        return draft
    return draft.remark(
        f"{route.reference} re-encrypts: the backend follows its own owner's profile; the router's client side is"
        " subject to no profile, and cannot be seen from outside"
    )


def _declares(facts: Facts, draft: Draft, found: IngressController) -> Draft:
    """The controller's own profile, else the APIServer's, read as the ingress operator reads it."""
    source = str(found.reference)

    def own(release: Known[str]) -> Declared:
        return declared(found, _STEPS, INGRESS_OPERATOR, source, meaning(release))

    if own(draft.release).profile is not None:
        return draft.declares(source, _FIELD, own, changed=changed(found, _STEPS))
    draft = draft.says(source, _FIELD, own(draft.release).said).remark(*own(draft.release).remarks)
    cluster = facts.cluster
    draft = cluster.onto(draft, INHERITED_BY_INGRESS)
    inherited = cluster.declared(draft.release, INHERITED_BY_INGRESS)
    stands = cluster.declared(draft.release).profile
    if inherited.refused and not isinstance(stands, Unknown) and stands is not None and stands.min_version == TLS13:
        draft = draft.remark(
            f"conflict: {cluster.source} is Custom with VersionTLS13, where ciphers are refused, and {source} inherits"
            " it, where they are required: give the IngressController a profile of its own"
        )
    return draft


def _as_reported(facts: Facts, draft: Draft, found: IngressController) -> Draft:
    """What the router uses according to the operator, where that is not what is configured."""
    source = str(found.reference)
    reported = _reported(found, source)
    admitted, progressing = condition(found, "Admitted"), condition(found, "Progressing")
    refused = isinstance(draft.profile, Unknown) or (admitted is not None and not admitted.holds)
    if reported is None:
        return _refused(draft, source, admitted.message if admitted else "") if refused else draft
    if isinstance(reported, Unknown):
        return draft.remark(reported.reason)
    if refused:
        said = f"what the router keeps, because its profile is not admitted: {reported.name}"
        return draft.requires(reported, source, "status.tlsProfile", said)
    configured = draft.profile
    if isinstance(configured, Unknown) or _alike(facts, configured, reported):
        return draft.says(source, "status.tlsProfile", "the router uses it")
    said = "the router still uses another profile"
    if progressing is None or not progressing.holds:
        return draft.says(source, "status.tlsProfile", f"{said}, and no change of it is under way: it binds")
    since = progressing.since
    return settling(facts, draft, source, "status.tlsProfile", said, since, OPERATOR_TAKES, (reported,))


def _reported(found: IngressController, source: str) -> Known[Profile] | None:
    """``status.tlsProfile``, a TLSProfileSpec; empty before the first rollout."""
    if not found.status_profile:
        return None
    # It has the shape of ``custom``; what is missing in it is no profile of the router's, so nothing is inherited.
    spec = KubeObject({"spec": {"type": "Custom", "custom": found.status_profile.raw}}, found.kind)
    read = declared(spec, ("spec",), INGRESS_OPERATOR, source, meaning("4.23"))
    if read.profile is None or isinstance(read.profile, Unknown):
        return Unknown(f"{source} status.tlsProfile cannot be read: {read.refused or read.said}")
    return replace(read.profile, name=f"status.tlsProfile of {source}", source=f"{source} status.tlsProfile")


def _alike(facts: Facts, configured: Profile, reported: Profile) -> bool:
    """Whether a router with ``configured`` would report ``reported``: in another order, and with 1.0 shown as 1.1."""
    ours, theirs = (effective(each, "haproxy", fips=facts.fips is True).profile for each in (configured, reported))
    return (ours.min_version, set(ours.suites)) == (theirs.min_version, set(theirs.suites))


def _refused(draft: Draft, source: str, message: str) -> Draft:
    if isinstance(draft.profile, Unknown):
        return draft
    said = f"not admitted: {message}" if message else "not admitted"
    reason = f"the profile of {source} is not admitted, and what its router keeps is not known"
    return draft.requires(Unknown(reason), source, "status.conditions[Admitted]", said)


def of_microshift(facts: Facts, draft: Draft) -> Draft:
    """The profile of MicroShift's router, which answers Routes without passthrough."""
    governed = draft.entry is not None and draft.entry.governor == "ingress"
    subject, owner = draft.endpoint.subject, draft.endpoint.owner
    routed = subject is not None and subject.kind == "Route" and owner.namespace == ROUTER_NAMESPACE
    if not facts.is_microshift or not (governed or routed):
        return draft
    lever = Lever(where=MICROSHIFT_FILE, field=_MICROSHIFT_FIELD)
    draft = replace(draft, standing="platform", binding="must-follow", implementation="haproxy", lever=lever)
    file = microshift_file(facts.snapshot)
    if file is None:
        reason = f"{MICROSHIFT_FILE} is not in the snapshot, and nothing else sets a profile for MicroShift's router"
        return draft.requires(Unknown(reason), MICROSHIFT_FILE, _MICROSHIFT_FIELD, "not in the snapshot")
    return draft.declares(
        MICROSHIFT_FILE,
        _MICROSHIFT_FIELD,
        lambda release: declared(file, _MICROSHIFT_STEPS, MICROSHIFT_INGRESS, MICROSHIFT_FILE, meaning(release)),
    )
