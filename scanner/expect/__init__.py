"""Expectations: what is required of each endpoint, and by which object. Pure; one file a resolver, in order.

``Expectations(snapshot, catalogue, policy, ...).of(endpoint)``. A resolver takes a ``Draft`` and returns a better one;
``RESOLVERS`` lists them. What an implementation cannot do is cut off last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property

from scanner.expect import (
    binding,
    certificates,
    contour,
    gateway,
    implementations,
    ingress_controller,
    kubelet,
    ownership,
    passthrough,
    process_flags,
    rollout,
)
from scanner.expect.authority import Wishes
from scanner.expect.backend_tls import upstreams
from scanner.expect.client_trust import server_trust, unasked
from scanner.expect.connection_coalescing import neighbours
from scanner.expect.custom_profiles import custom_uses
from scanner.expect.facts import Facts
from scanner.expect.http_redirect import plain_port
from scanner.expect.partial_expectation import Draft
from scanner.expect.rejected_listener import rejection_of, stale_status
from scanner.expect.unmatched_sni import Through, other_names
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
"""Every kind that a resolver looks at."""

Resolver = Callable[[Facts, Draft], Draft]

RESOLVERS: tuple[Resolver, ...] = (
    ownership.resolve,  # whose it is
    binding.of_cluster,  # what the cluster as a whole says
    binding.bind,  # whether that binds it
    process_flags.resolve,  # what beats the cluster: configuration of its own ...
    kubelet.resolve,
    ingress_controller.resolve,
    ingress_controller.of_microshift,
    gateway.resolve,
    contour.resolve,
    gateway.in_mesh,
)
"""Those that look at objects, in order. After them: what is passed through, the policy file, rollouts, and what the
implementation can do."""

_LAST: tuple[Resolver, ...] = (binding.override, rollout.resolve, implementations.resolve)


class Expectations:
    """What the endpoints of one snapshot owe."""

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
        """``endpoints`` are those that something may be passed through to. ``default_profile`` is the floor
        on clusters that are not OpenShift, and beats the policy file's. ``release``, ``profile`` and ``adherence``
        stand in for what ClusterVersion and APIServer say. ``earlier`` are snapshots of the cluster as it was before,
        ``beside`` those of other clusters, one of which may host its control plane.

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
        """What ``tlsAdherence`` amounts to for the cluster's own components; None where there is no such object."""
        return self._facts.cluster.adherence

    @cached_property
    def _through(self) -> Through:
        return passthrough.coming_through(self._facts)

    @property
    def facts(self) -> Facts:
        """What the resolvers look at."""
        return self._facts

    def customs(self) -> tuple[CustomUse, ...]:
        """Every profile of type Custom, as its readers see it."""
        return tuple(custom_uses(self._facts))

    def unknown_adherences(self) -> tuple[UnknownAdherence, ...]:
        """Every ``tlsAdherence`` that no release knows, the cluster's own first."""
        said = (each.adherence for each in (self._facts.cluster, *self._facts.hosted.values()))
        values = (
            UnknownAdherence(source=each.source, field=each.field, said=each.said, known=(STRICT, LEGACY))
            for each in said
            if each is not None and each.unknown
        )
        return tuple(dict.fromkeys(values))

    def of(self, endpoint: Endpoint) -> Expectation:
        """The expectation of ``endpoint``, with its reasons."""
        draft = self._draft(endpoint, frozenset())
        nothing, older = rejection_of(self._facts, endpoint), stale_status(self._facts, endpoint)
        notes = (f"nothing is to be served under its name: {nothing}" if nothing else "", older)
        draft = draft.remark(*filter(None, notes))
        asked, client_source = _client_certificate(draft)
        return Expectation(
            profile=draft.profile,
            certificate=certificates.expected(self._facts, draft),
            client_certificate=asked,
            client_source=client_source,
            client_trust=server_trust(self._facts, draft),
            client_unasked=unasked(self._facts, draft),
            rejection=nothing,
            stale_status=older,
            passed_on=draft.passed_on,
            upstreams=tuple(upstreams(self._facts, endpoint)),
            neighbours=neighbours(self._facts, endpoint),
            plain_port=plain_port(self._facts, endpoint),
            other_names=other_names(self._facts, draft, self._through),
            tls13_suites_configurable=draft.tls13_suites_configurable,
            groups_configurable=draft.groups_configurable,
            binding=draft.binding,
            because=tuple(dict.fromkeys(draft.because)),
            lever=draft.lever,
            standing=draft.standing,
            alternatives=draft.alternatives,
            skewed=draft.skewed,
            settles_by=draft.settles_by,
            component=draft.entry.component if draft.entry else endpoint.component,
            remarks=draft.remarks,
            overridden=draft.overridden,
            adherence=draft.adherence,
        )

    def _draft(self, endpoint: Endpoint, seen: frozenset[str]) -> Draft:
        facts = self._facts
        entry = facts.entry(endpoint)
        draft = Draft(endpoint=endpoint, entry=entry, seen=seen)
        for resolve in RESOLVERS:
            draft = resolve(facts, draft)
        draft = passthrough.resolve(facts, draft, self._draft)
        for resolve in _LAST:
            draft = resolve(facts, draft)
        return draft if isinstance(draft.profile, Unknown) else _with_groups(draft, entry)


_VALIDATING = frozenset({kinds.HTTP_PROXY.name, kinds.TLS_ROUTE.name, *HOLDER_NAMES})
"""Whose objects say that a client certificate is requested."""


def _with_groups(draft: Draft, entry: Listener | None) -> Draft:
    """Groups are judged where the component is known to apply them, and where it is none of the platform's."""
    applies = entry.groups_configurable if entry else draft.standing != "platform"
    return replace(draft, groups_configurable=draft.groups_configurable or applies)


def _client_certificate(draft: Draft) -> tuple[ClientCertificate | None, str]:
    """What an object or the catalogue requires, and which of them. That one is merely requested is often a library's
    habit: not judged, unless an object says so."""
    if draft.client_certificate is not None:
        return draft.client_certificate, draft.client_source
    subject, entry = draft.endpoint.subject, draft.entry
    known, source = draft.endpoint.expects, str(subject or "")
    if known is None and entry is not None:
        known, source = entry.client_certificate, f"component catalogue {entry.component}/{entry.listener}"
    if known is None or (known == "requested" and (subject is None or subject.kind not in _VALIDATING)):
        return None, ""
    return known, source
