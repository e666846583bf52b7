"""Expectations: the requirements on each endpoint, and the objects that they come from. No I/O; one resolver a file.

``Expectations(snapshot, catalogue, policy, ...).of(endpoint)``. A resolver takes a ``Partial`` and returns one with
more; ``RESOLVERS`` lists them in order. The limits of the implementation are applied last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cached_property

from scanner.expect import (
    binding,
    certificate_expectation,
    contour,
    gateway,
    implementations,
    ingress_controller,
    kubelet,
    passthrough,
    process_flags,
    rollout,
)
from scanner.expect.authority import Wishes
from scanner.expect.backend_tls import upstreams
from scanner.expect.client_trust import server_trust, unasked
from scanner.expect.facts import Facts
from scanner.expect.http_redirect import plain_port
from scanner.expect.implementations import custom_uses
from scanner.expect.partial_expectation import Partial
from scanner.expect.rejected_listener import outdated_status, refusal_of, rejection_of
from scanner.expect.unmatched_sni import Through, neighbours, other_names
from scanner.kube import kinds
from scanner.kube.api_server import LEGACY, STRICT, Adherence
from scanner.kube.gateway import HOLDER_NAMES
from scanner.kube.kinds import Kind
from scanner.kube.maybe import Unknown
from scanner.kube.profile_catalogue import load_profile
from scanner.kube.snapshot import Snapshot
from scanner.kube.tls_profile import CustomUse, Profile
from scanner.model.components import Catalogue, Listener
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Expectation, UnknownAdherence
from scanner.model.observation import ClientCertificate
from scanner.model.scan_policy import ScanPolicy
from scanner.values import replace

__all__ = ["READS", "RESOLVERS", "Expectations"]

READS: tuple[Kind, ...] = (
    kinds.API_SERVER,
    kinds.CLUSTER_VERSION,
    kinds.CLUSTER_OPERATOR,
    *kinds.STATIC_POD_OPERATORS,
    kinds.INFRASTRUCTURE,
    kinds.FEATURE_GATE,
    kinds.CUSTOM_RESOURCE_DEFINITION,
    kinds.CONFIG_MAP,
    kinds.INGRESS_CONFIG,
    kinds.INGRESS_CONTROLLER,
    kinds.ROUTE,
    kinds.KUBELET_CONFIG,
    kinds.MACHINE_CONFIG_POOL,
    kinds.NODE,
    kinds.CLUSTER_SERVICE_VERSION,
    kinds.HOSTED_CLUSTER,
    kinds.HOSTED_CONTROL_PLANE,
    kinds.NODE_POOL,
    kinds.GATEWAY,
    kinds.GATEWAY_CLASS,
    kinds.LISTENER_SET,
    kinds.X_LISTENER_SET,
    kinds.REFERENCE_GRANT,
    kinds.INGRESS,
    kinds.BACKEND_TLS_POLICY,
    kinds.TLS_ROUTE,
    kinds.HTTP_PROXY,
    kinds.CONTOUR_CONFIGURATION,
    kinds.TLS_CERTIFICATE_DELEGATION,
    kinds.HEPTIO_DELEGATION,
    kinds.POD,
    kinds.SERVICE,
    kinds.ENDPOINT_SLICE,
    kinds.VALIDATING_WEBHOOK,
    kinds.MUTATING_WEBHOOK,
    kinds.API_SERVICE,
)
"""Every kind that a resolver reads."""

Resolver = Callable[[Facts, Partial], Partial]

RESOLVERS: tuple[Resolver, ...] = (
    binding.resolve,  # platform, layered product or user
    binding.of_cluster,  # the cluster's profile
    binding.bind,  # is it enforced for this listener?
    process_flags.resolve,  # configuration that overrides the cluster's ...
    kubelet.resolve,
    ingress_controller.resolve,
    ingress_controller.of_microshift,
    gateway.resolve,
    contour.resolve,
    gateway.in_mesh,
)
"""Resolvers that read objects, in order. After them: passthrough, the policy file, rollouts, and the limits of the
implementation."""

_LAST: tuple[Resolver, ...] = (binding.override, rollout.resolve, implementations.resolve)


class Expectations:
    """The expectations of the endpoints of one snapshot."""

    def __init__(  # noqa: PLR0913 - everything that decides what is required
        self,
        snapshot: Snapshot,
        catalogue: Catalogue,
        policy: ScanPolicy,
        *,
        endpoints: Iterable[Endpoint] = (),
        default_profile: Profile | None = None,
        release: str | None = None,
        profile: Profile | None = None,
        adherence: str | None = None,
        earlier: Iterable[Snapshot] = (),
        beside: Iterable[Snapshot] = (),
    ) -> None:
        """``endpoints`` are possible passthrough backends. ``default_profile`` is the minimum on clusters that are not
        OpenShift, and overrides the policy file's. ``release``, ``profile`` and ``adherence`` replace the values of
        ClusterVersion and APIServer. ``earlier`` are older snapshots of the cluster, ``beside`` snapshots of other
        clusters; one may host its control plane.

        Raises ``UsageError`` and ``InputError`` for a profile of the policy that does not exist or is not valid.
        """
        default, source, field = default_profile, "--profile", ""
        if default is None and policy.profile is not None:
            default, source, field = load_profile(policy.profile, release=release), policy.source, "profile"
        wishes = Wishes(
            default=default,
            default_source=source,
            default_field=field,
            profile=profile,
            adherence=adherence,
            release=release,
        )
        self._facts = Facts(snapshot, catalogue, policy, tuple(endpoints), wishes, earlier, beside)

    @property
    def adherence(self) -> Adherence | None:
        """The meaning of ``tlsAdherence`` for the cluster's own components; None without an APIServer object."""
        return self._facts.cluster.adherence

    @property
    def changed(self) -> datetime | None:
        """Time of the last change of the cluster's profile or adherence; None if unknown, or in the future."""
        return rollout.started(self._facts, self._facts.cluster.changed())[0]

    @cached_property
    def _through(self) -> Through:
        return passthrough.coming_through(self._facts)

    @property
    def facts(self) -> Facts:
        """The facts that the resolvers read."""
        return self._facts

    def customs(self) -> tuple[CustomUse, ...]:
        """Every profile of type Custom, with its meaning for each component that reads it."""
        return tuple(custom_uses(self._facts))

    def unknown_adherences(self) -> tuple[UnknownAdherence, ...]:
        """Every unknown ``tlsAdherence``, the cluster's own first."""
        adherences = (each.adherence for each in (self._facts.cluster, *self._facts.hosted.values()))
        values = (
            UnknownAdherence(source=each.source, field=each.field, said=each.said, known=(STRICT, LEGACY))
            for each in adherences
            if each is not None and each.unknown
        )
        return tuple(dict.fromkeys(values))

    def of(self, endpoint: Endpoint) -> Expectation:
        """The expectation of ``endpoint``, with its reasons."""
        partial = self._partial(endpoint, frozenset())
        nothing, older = rejection_of(self._facts, endpoint), outdated_status(self._facts, endpoint)
        notes = (f"no certificate may be served for its server name: {nothing}" if nothing else "", older)
        partial = partial.remark(*filter(None, notes))
        asked, client_source = _client_certificate(partial)
        return Expectation(
            profile=partial.profile,
            certificate=certificate_expectation.expected(self._facts, partial),
            client_certificate=asked,
            client_source=client_source,
            client_trust=server_trust(self._facts, partial),
            client_unasked=unasked(self._facts, partial),
            rejection=nothing,
            refusal=refusal_of(self._facts, endpoint),
            stale_status=older,
            passed_on=partial.passed_on,
            upstreams=tuple(upstreams(self._facts, endpoint)),
            neighbours=neighbours(self._facts, endpoint),
            plain_port=plain_port(self._facts, endpoint),
            other_names=other_names(self._facts, partial, self._through),
            tls13_suites_configurable=partial.tls13_suites_configurable,
            groups_configurable=partial.groups_configurable,
            stated_groups=partial.stated_groups,
            without_groups=partial.without_groups,
            binding=partial.binding,
            because=tuple(dict.fromkeys(partial.because)),
            lever=partial.lever,
            standing=partial.standing,
            alternatives=partial.alternatives,
            skewed=partial.skewed,
            settles_by=partial.settles_by,
            component=partial.entry.component if partial.entry else endpoint.component,
            remarks=partial.remarks,
            overridden=partial.overridden,
            adherence=partial.adherence,
        )

    def _partial(self, endpoint: Endpoint, seen: frozenset[str]) -> Partial:
        facts = self._facts
        entry = facts.entry(endpoint)
        partial = Partial(endpoint=endpoint, entry=entry, seen=seen)
        for resolve in RESOLVERS:
            partial = resolve(facts, partial)
        partial = passthrough.resolve(facts, partial, self._partial)
        for resolve in _LAST:
            partial = resolve(facts, partial)
        return partial if isinstance(partial.profile, Unknown) else _with_groups(facts, partial, entry)


_VALIDATING = frozenset({kinds.HTTP_PROXY.name, kinds.TLS_ROUTE.name, *HOLDER_NAMES})
"""Kinds whose objects can declare that a client certificate is requested."""


def _with_groups(facts: Facts, partial: Partial, entry: Listener | None) -> Partial:
    """Groups are judged for components that are known to apply them, and for listeners outside the platform."""
    applies = entry.groups_configurable if entry else partial.standing != "platform"
    partial = replace(partial, groups_configurable=partial.groups_configurable or applies)
    program = _without_groups(entry) if entry and not partial.groups_configurable else ""
    if program and facts.policy.thresholds.groups == "enforced":
        text = f"{program} has no setting for groups: a deviation from the profile's groups is not-implemented"
        partial = partial.step("component catalogue", f"{partial.endpoint.component or program}", text)
    return replace(partial, without_groups=program)


def _without_groups(entry: Listener) -> str:
    """The program of a listener, if it is known to have no setting for groups (etcd 3.6, kube-rbac-proxy 0.20)."""
    if entry.component == "etcd":
        return "etcd"
    return "kube-rbac-proxy" if entry.listener.endswith("rbac-proxy") else ""


def _client_certificate(partial: Partial) -> tuple[ClientCertificate | None, str]:
    """The requirement of an object or the catalogue, and its source. Many libraries request a client certificate by
    default, so "requested" counts only if an object declares it."""
    if partial.client_certificate is not None:
        return partial.client_certificate, partial.client_source
    subject, entry = partial.endpoint.subject, partial.entry
    known, source = partial.endpoint.expects, str(subject or "")
    if known is None and entry is not None:
        known, source = entry.client_certificate, f"component catalogue {entry.component}/{entry.listener}"
    if known is None or (known == "requested" and (subject is None or subject.kind not in _VALIDATING)):
        return None, ""
    return known, source
