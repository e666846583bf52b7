"""IngressControllers: the profile of their routers on the ports of HAProxy.

cluster-ingress-operator ``pkg/operator/controller/ingress`` (``tlsProfileSpecForIngressController``). It ignores
``tlsAdherence``. ``status.tlsProfile`` is the profile that the running router uses, so it is the best evidence. The
router's metrics port is served by Go and follows the APIServer.

MicroShift's router: ``ingress.tlsSecurityProfile`` of its file (microshift ``pkg/config/ingress.go``).
"""

from __future__ import annotations

from scanner.expect.authority import MICROSHIFT_FILE, microshift_file
from scanner.expect.facts import Facts
from scanner.expect.implementations import effective
from scanner.expect.partial_expectation import Partial
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
from scanner.values import replace

STATS_PORT = 1936
_STEPS = ("spec", "tlsSecurityProfile")
_FIELD = ".".join(_STEPS)
_MICROSHIFT_STEPS = ("ingress", "tlsSecurityProfile")
_MICROSHIFT_FIELD = ".".join(_MICROSHIFT_STEPS)


def resolve(facts: Facts, partial: Partial) -> Partial:
    """The profile of a router."""
    if not facts.is_openshift or facts.is_microshift or not _is_frontend(facts, partial):
        return partial
    partial = replace(partial, standing="platform", binding="must-follow", implementation="haproxy")
    partial = _route(facts, replace(partial, groups_configurable=True, entry=partial.entry or facts.router))
    name = router_name(facts, partial)
    if isinstance(name, Unknown):
        return partial.requires(name, "IngressController", _FIELD, "unknown")
    found = ingress_controller(facts.snapshot, name)
    called = f"IngressController/{OPERATOR_NAMESPACE}/{name}"
    if found is None and (gap := facts.snapshot.gap(INGRESS_CONTROLLER)):
        return partial.requires(Unknown(f"{called} could not be read: {gap}"), called, _FIELD, "could not be read")
    if found is None:
        return partial.requires(Unknown(f"there is no {called}"), called, _FIELD, "not there")
    policy = found.client_tls.certificates
    source = f"{found.reference} spec.clientTLS.clientCertificatePolicy" if policy else ""
    lever = Lever(where=str(found.reference), field=_FIELD, applied_by="router")
    partial = replace(partial, client_certificate=policy, client_source=source, lever=lever)
    return _as_reported(facts, _declares(facts, partial, found), found)


def _is_frontend(facts: Facts, partial: Partial) -> bool:
    """True if HAProxy answers: a Route's frontend, or a router's port other than the metrics port."""
    endpoint, governor, name = partial.endpoint, partial.entry.governor if partial.entry else None, _owner_name(partial)
    if endpoint.subject is not None and endpoint.subject.kind == "Route":
        # With passthrough the backend answers.
        route = route_of(facts, partial)
        return endpoint.segment != "Backend" and (route is None or route.termination != "passthrough")
    if governor is not None:
        return governor == "ingress"
    return name is not None and endpoint.port not in _stats_ports(facts, name)


def route_of(facts: Facts, partial: Partial) -> Route | None:
    """The Route that leads to ``partial``'s endpoint, or None."""
    subject = partial.endpoint.subject
    found = (
        facts.snapshot.get(ROUTE, subject.name, subject.namespace) if subject and subject.kind == ROUTE.name else None
    )
    return None if found is None else Route.of(found)


def _stats_ports(facts: Facts, name: str) -> set[int]:
    found = ingress_controller(facts.snapshot, name)
    own = found.stats_port if found else None
    return {STATS_PORT} | ({own} if own is not None else set())


def router_name(facts: Facts, partial: Partial) -> Known[str]:
    """The name of the IngressController whose router this is: by its pods, else by the Route's status."""
    name = _owner_name(partial)
    if name is not None:
        return name
    route = route_of(facts, partial)
    admitted = {each.router_name for each in route.ingresses if each.is_admitted} if route else set()
    names = sorted(admitted) or [each.name for each in facts.snapshot.every(INGRESS_CONTROLLER)]
    if not admitted and (gap := facts.snapshot.gap(INGRESS_CONTROLLER)):
        return Unknown(f"the IngressController of this listener is unknown: {gap}")
    if len(names) == 1:
        return next(iter(names))
    found = f"one of {', '.join(names[:5])}" if names else "there is none"
    return Unknown(f"the IngressController of this listener is unknown: {found}")


def controller_of(facts: Facts, partial: Partial) -> IngressController | None:
    """The IngressController whose router answers, if known."""
    name = router_name(facts, partial) if partial.implementation == "haproxy" else None
    return ingress_controller(facts.snapshot, name) if isinstance(name, str) else None


def _owner_name(partial: Partial) -> str | None:
    owner, label = partial.endpoint.owner, dict(partial.endpoint.labels).get(ROUTER_LABEL)
    if label:
        return label
    if owner.namespace == ROUTER_NAMESPACE and owner.name.startswith("router-"):
        name = owner.name.removeprefix("router-")
        # Its Services are router-internal-NAME and router-nodeport-NAME.
        return next((name.removeprefix(each) for each in ("internal-", "nodeport-") if name.startswith(each)), name)
    # Discovery names a router without a known pod by the Route's status.
    known = owner.kind == "IngressController" or (owner.kind == "Router" and owner.name != "unknown")
    return owner.name if known else None


def _route(facts: Facts, partial: Partial) -> Partial:
    """A Route sets no versions or suites; its termination only decides whether the router answers."""
    route = route_of(facts, partial)
    if route is None:
        return partial
    text = f"{route.termination}: the router answers, and follows its IngressController"
    partial = partial.step(str(route.reference), "spec.tls.termination", text)
    if route.termination != "reencrypt":
        return partial
    return partial.remark(
        f"{route.reference} re-encrypts: the backend follows the profile of its owner; the router's connection to the"
        " backend has no profile, and cannot be scanned from outside"
    )


def _declares(facts: Facts, partial: Partial, found: IngressController) -> Partial:
    """The controller's own profile, else the APIServer's, read as the ingress operator reads it."""
    source = str(found.reference)

    def own(release: Known[str]) -> Declared:
        return declared(found, _STEPS, INGRESS_OPERATOR, source, meaning(release))

    if own(partial.release).profile is not None:
        return partial.declares(source, _FIELD, own, changed=changed(found, _STEPS))
    partial = partial.step(source, _FIELD, own(partial.release).said).remark(*own(partial.release).remarks)
    cluster = facts.cluster
    partial = cluster.onto(partial, INHERITED_BY_INGRESS)
    inherited = cluster.declared(partial.release, INHERITED_BY_INGRESS)
    stands = cluster.declared(partial.release).profile
    if inherited.refused and not isinstance(stands, Unknown) and stands is not None and stands.min_version == TLS13:
        partial = partial.remark(
            f"conflict: {cluster.source} is Custom with VersionTLS13 and must not list ciphers, but {source} inherits"
            " it and needs ciphers: set a separate profile in the IngressController"
        )
    return partial


def _as_reported(facts: Facts, partial: Partial, found: IngressController) -> Partial:
    """Replace the configured profile with the one that the operator reports, if they differ."""
    source = str(found.reference)
    reported = _reported(found, source)
    admitted, progressing = condition(found, "Admitted"), condition(found, "Progressing")
    refused = isinstance(partial.profile, Unknown) or (admitted is not None and not admitted.holds)
    if reported is None:
        return _refused(partial, source, admitted.message if admitted else "") if refused else partial
    if isinstance(reported, Unknown):
        return partial.remark(reported.reason)
    if refused:
        text = f"the router keeps {reported.name}, because the configured profile is not admitted"
        return partial.requires(reported, source, "status.tlsProfile", text)
    configured = partial.profile
    if isinstance(configured, Unknown) or _alike(facts, configured, reported):
        return partial.step(source, "status.tlsProfile", "the router uses it")
    text = "the router still uses another profile"
    if progressing is None or not progressing.holds:
        return partial.step(
            source, "status.tlsProfile", f"{text}, but no rollout is in progress: the profile is enforced"
        )
    since = progressing.since
    return settling(facts, partial, source, "status.tlsProfile", text, since, OPERATOR_TAKES, (reported,))


def _reported(found: IngressController, source: str) -> Known[Profile] | None:
    """``status.tlsProfile``, a TLSProfileSpec; empty before the first rollout."""
    if not found.status_profile:
        return None
    # It has the shape of ``custom``; a missing field is not inherited from the cluster.
    spec = KubeObject({"spec": {"type": "Custom", "custom": found.status_profile.raw}}, found.kind)
    read = declared(spec, ("spec",), INGRESS_OPERATOR, source, meaning("4.23"))
    if read.profile is None or isinstance(read.profile, Unknown):
        return Unknown(f"{source} status.tlsProfile cannot be read: {read.refused or read.said}")
    return replace(read.profile, name=f"status.tlsProfile of {source}", source=f"{source} status.tlsProfile")


def _alike(facts: Facts, configured: Profile, reported: Profile) -> bool:
    """True if a router with ``configured`` would report ``reported``: the order may differ, and 1.0 is shown as 1.1."""
    ours, theirs = (effective(each, "haproxy", fips=facts.fips is True).profile for each in (configured, reported))
    return (ours.min_version, set(ours.suites)) == (theirs.min_version, set(theirs.suites))


def _refused(partial: Partial, source: str, message: str) -> Partial:
    if isinstance(partial.profile, Unknown):
        return partial
    text = f"not admitted: {message}" if message else "not admitted"
    reason = f"the profile of {source} is not admitted, and the profile that its router keeps is unknown"
    return partial.requires(Unknown(reason), source, "status.conditions[Admitted]", text)


def of_microshift(facts: Facts, partial: Partial) -> Partial:
    """The profile of MicroShift's router, for Routes without passthrough."""
    governed = partial.entry is not None and partial.entry.governor == "ingress"
    subject, owner = partial.endpoint.subject, partial.endpoint.owner
    routed = subject is not None and subject.kind == "Route" and owner.namespace == ROUTER_NAMESPACE
    if not facts.is_microshift or not (governed or routed):
        return partial
    lever = Lever(where=MICROSHIFT_FILE, field=_MICROSHIFT_FIELD)
    partial = replace(partial, standing="platform", binding="must-follow", implementation="haproxy", lever=lever)
    file = microshift_file(facts.snapshot)
    if file is None:
        reason = f"{MICROSHIFT_FILE} is not in the snapshot, and nothing else sets a profile for MicroShift's router"
        return partial.requires(Unknown(reason), MICROSHIFT_FILE, _MICROSHIFT_FIELD, "not in the snapshot")
    return partial.declares(
        MICROSHIFT_FILE,
        _MICROSHIFT_FIELD,
        lambda release: declared(file, _MICROSHIFT_STEPS, MICROSHIFT_INGRESS, MICROSHIFT_FILE, meaning(release)),
    )
