"""Contour: its own minimum and maximum version, for all virtual hosts and for each HTTPProxy.

Contour ``internal/xdscache/v3/listener.go``: the stricter of both counts, so a virtual host can tighten but not
loosen. Connections without a known name (the fallback certificate) use the settings for all virtual hosts, and so do
Gateways, which have no versions of their own (``internal/dag/gatewayapi_processor.go``).
``apis/projectcontour/v1alpha1``: only 1.2 and 1.3 exist, and Envoy never restricts TLS 1.3 suites.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

from msgspec import Struct

from scanner.errors import InputError
from scanner.expect.facts import Facts, gateway_listeners, gateways
from scanner.expect.partial_expectation import Partial
from scanner.expect.passthrough import passed_through
from scanner.expect.process_flags import weaker
from scanner.files.source_positions import shown
from scanner.kube.contour import (
    CONTOUR_TLS_VERSIONS,
    FILE,
    ContourConfiguration,
    EnvoyListenerTLS,
    HTTPProxy,
    SecretName,
    Settings,
    VirtualHostTLS,
    settings,
)
from scanner.kube.gateway import CONTOUR, controller_of
from scanner.kube.kinds import CONFIG_MAP, CONTOUR_CONFIGURATION, HTTP_PROXY, POD
from scanner.kube.maybe import Unknown
from scanner.kube.pod import Pod
from scanner.kube.tls_profile import Profile
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Lever
from scanner.tls.codepoints import TLS12, TLS13
from scanner.tls.names import TLS13_SUITES, group_code, suite_named, version_name
from scanner.values import replace

_VHOST = "spec.virtualhost.tls"
_NOTHING = Settings({})
_DEFAULT = (0xC02B, 0xCCA9, 0xC02F, 0xCCA8, 0xC02C, 0xC030)
USUAL = ("projectcontour", "contour")
"""The ConfigMap of Contour's own manifests, the only one that adhere reads."""
_NAMED = re.compile(r"--contour-config-name[= ]([a-z0-9.-]{1,253})(?:\s|\Z)")
_FILE = re.compile(r"--config-path[= ]")


class _Limits(Struct, frozen=True, kw_only=True):
    """Minimum and maximum version of one object."""

    floor: int = TLS12
    ceiling: int = TLS13
    text: str = ""
    remarks: tuple[str, ...] = ()


def resolve(facts: Facts, partial: Partial) -> Partial:
    """The limits of a listener of an HTTPProxy, of the fallback listener beside it, or of a Gateway."""
    proxy = proxy_of(facts, partial.endpoint) if _is_proxy(partial) else falling_back(facts, partial.endpoint)
    if (proxy is None and not _is_gateways(facts, partial.endpoint)) or passed_through(facts, partial):
        return partial
    fronts = partial.endpoint.owner
    found = everywhere(facts, None if fronts.kind == "HTTPProxy" else fronts.namespace)
    own = str(proxy.reference) if proxy and _is_proxy(partial) else ""
    mine = _limits(proxy.tls, own) if proxy and own else _Limits()
    whole = _limits(found.tls, found.source)
    partial = partial.remark(*mine.remarks, *whole.remarks, *([found.unknown] if found.unknown else []))
    if proxy and proxy.tls.enable_fallback_certificate:
        partial = partial.remark(_fallback(proxy, found))
    source, field = (own, _VHOST) if own else (found.source, found.field)
    lever = Lever(where=source or "Contour", field=f"{field}.minimumProtocolVersion" if own else field or "tls")
    partial = replace(partial, implementation="contour", lever=lever)
    if not (mine.text or whole.text or found.tls.cipher_suites):
        unless = ", unless a setting that could not be read overrides it" if found.unknown else ""
        text = f"no version is set: Contour's default is TLS 1.2{unless}"
        return partial.step(source or "Contour", field, text)
    if partial.standing == "user" and facts.policy.user_workloads_bound:
        return partial.step(source, field, f"{mine.text or whole.text}: the policy file decides")
    return _own(facts, partial, own, found, mine, whole)


def proxy_of(facts: Facts, endpoint: Endpoint) -> HTTPProxy | None:
    """The HTTPProxy whose virtual host ``endpoint`` is."""
    subject = endpoint.subject
    if subject is None or subject.kind != HTTP_PROXY.name or endpoint.segment == "Backend":
        return None
    found = facts.snapshot.get(HTTP_PROXY, subject.name, subject.namespace)
    return HTTPProxy.of(found) if found else None


def falling_back(facts: Facts, endpoint: Endpoint) -> HTTPProxy | None:
    """The HTTPProxy that makes Envoy answer without a server name, with the fallback certificate."""
    return next(fallback_users(facts, endpoint), None)


def fallback_users(facts: Facts, endpoint: Endpoint) -> Iterator[HTTPProxy]:
    """Each HTTPProxy with the fallback certificate, if ``endpoint`` is the listener without a server name."""
    if endpoint.server_name is not None or endpoint.subject is not None:
        return
    for each in facts.at_place(endpoint):
        proxy = proxy_of(facts, each)
        if proxy is not None and proxy.tls.enable_fallback_certificate:
            yield proxy


def _fallback(proxy: HTTPProxy, found: Everywhere) -> str:
    secret = found.fallback
    if secret:
        name = shown(f"{secret.namespace or ''}/{secret.name}")
        return f"{proxy.reference} uses the fallback certificate of {found.source}, Secret {name}"
    missing = "which could not be read" if found.unknown else "but Contour has none: the virtual host is rejected"
    return f"{proxy.reference} enables the fallback certificate, {missing}"


def _is_proxy(partial: Partial) -> bool:
    subject = partial.endpoint.subject
    return subject is not None and subject.kind == "HTTPProxy" and partial.endpoint.segment != "Backend"


def _is_gateways(facts: Facts, endpoint: Endpoint) -> bool:
    """True if only Contour terminates TLS there for Gateways."""
    if endpoint.segment == "Backend":
        return False
    modes = {each.mode for each in gateway_listeners(facts.snapshot, endpoint)}
    controllers = {controller_of(facts.snapshot, each) for each in gateways(facts.snapshot, endpoint)}
    return controllers == {CONTOUR} and "Passthrough" not in modes


def _limits(tls: VirtualHostTLS | EnvoyListenerTLS, source: str) -> _Limits:
    found = {"minimumProtocolVersion": TLS12, "maximumProtocolVersion": TLS13}
    values = (tls.minimum_protocol_version, tls.maximum_protocol_version)
    texts, remarks = [], []
    for field, value in zip(found, values, strict=True):
        if isinstance(value, str) and value in CONTOUR_TLS_VERSIONS:
            found[field] = CONTOUR_TLS_VERSIONS[value]
            texts.append(f"{field} {value}")
        elif value not in (None, ""):
            remarks.append(f"{source}: invalid {field} {shown(value)}: Contour ignores it; allowed are 1.2 and 1.3")
    floor, ceiling = found.values()
    return _Limits(floor=floor, ceiling=ceiling, text=", ".join(texts), remarks=tuple(remarks))


def _own(facts: Facts, partial: Partial, proxy: str, found: Everywhere, mine: _Limits, whole: _Limits) -> Partial:
    """``proxy``: its HTTPProxy, if it has one."""
    floor, ceiling = max(mine.floor, whole.floor), min(mine.ceiling, whole.ceiling)
    source = proxy if mine.text else found.source
    field = _VHOST if mine.text else found.field
    everything = whole.text or ("cipherSuites" if found.tls.cipher_suites else "")
    text = "; ".join(filter(None, (mine.text, f"for all: {everything}" if everything else "")))
    if floor > ceiling:
        partial = partial.remark(f"{source}: the minimum version is above the maximum, so no client can connect")
    if found.unknown and floor <= TLS12:  # unread settings may be stricter, so nothing can pass
        partial = partial.requires(Unknown(found.unknown), source, field, f"{text}; {found.unknown}")
        return replace(partial, binding="must-follow")
    suites = _suites(found)
    profile = Profile(
        name=f"{version_name(floor)} to {version_name(ceiling)} ({proxy or found.source})",
        min_version=floor,
        suites=(*(TLS13_SUITES if ceiling >= TLS13 else ()), *(suites if floor <= TLS12 else ())),
        groups=_groups(found),
        source=f"{source} {field}",
    )
    if not facts.is_openshift and isinstance(partial.profile, Profile) and (more := weaker(partial.profile, profile)):
        # The required profile is a minimum there: a weaker setting changes as little as an unset one.
        return partial.step(source, field, f"{text}: weaker than {partial.profile.name}, with {more}")
    # Without TLS 1.3 none of its suites may be accepted.
    partial = replace(partial, implementation="contour" if ceiling >= TLS13 else "contour-1.2")
    return replace(partial.requires(profile, source, field, text), binding="must-follow")


def _suites(found: Everywhere) -> tuple[int, ...]:
    names = (part for name in found.tls.cipher_suites[:100] for part in name.strip("[]").split("|"))
    listed = [suite_named(each) for each in names]
    return tuple(code for code in dict.fromkeys(listed) if code is not None) or _DEFAULT


def _groups(found: Everywhere) -> tuple[int, ...] | None:
    """The configured groups; None for Envoy's default, which is not required by any object."""
    codes: dict[int, None] = {}
    for each in found.tls.ecdh_curves[:100]:
        with suppress(KeyError):  # Contour ignores unknown groups
            codes[group_code(each)] = None
    return tuple(codes) or None


# --- Settings for all virtual hosts ----------------------------------------------------------------------------------


class Everywhere(Struct, frozen=True, kw_only=True):
    """Settings for all virtual hosts."""

    source: str = ""
    """The object; empty if there is none."""
    field: str = ""
    settings: Settings = _NOTHING
    unknown: str | None = None
    """Reason why there may be other settings."""

    @property
    def tls(self) -> EnvoyListenerTLS:
        """TLS of every listener."""
        return self.settings.tls

    @property
    def fallback(self) -> SecretName | None:
        """The Secret that is served without a known server name."""
        return self.settings.fallback_certificate.secret


def everywhere(facts: Facts, namespace: str | None) -> Everywhere:
    """The settings of the Contour that configures the Envoys of ``namespace`` (None if unknown)."""
    near = [
        each
        for each in map(ContourConfiguration.of, facts.snapshot.every(CONTOUR_CONFIGURATION))
        if namespace in (None, each.namespace, each.settings.envoy_service.namespace)
    ]
    arguments = list(_arguments(facts, namespace))
    named = {found[1] for each in arguments if (found := _NAMED.search(each))}
    if named:
        return _by_name(facts, near, named, namespace)
    if any(map(_FILE.search, arguments)):
        return _of_file(facts, namespace)
    if arguments:
        return Everywhere()
    if len(near) == 1:
        return _of_object(*near)
    gap = facts.snapshot.gap(CONTOUR_CONFIGURATION)
    if near or gap:
        which = f"it is unknown which of {len(near)} ContourConfigurations applies"
        return Everywhere(unknown=f"Contour's configuration is not fully known: {gap or which}")
    return _of_file(facts, namespace)


def _arguments(facts: Facts, namespace: str | None) -> Iterator[str]:
    """The command lines of ``contour serve``."""
    for pod in facts.snapshot.every(POD):
        if pod.namespace == namespace:
            for container in Pod.of(pod).spec.containers:
                words = container.arguments
                if "serve" in words and any(each.rpartition("/")[2] == "contour" for each in words):
                    yield " ".join(words)


def _by_name(facts: Facts, near: list[ContourConfiguration], named: set[str], namespace: str | None) -> Everywhere:
    # Contour reads its own namespace; an object elsewhere may claim to be for these Envoys.
    found = [each for each in near if each.name in named and each.namespace == namespace]
    if len(found) == 1 and len(named) == 1:
        return _of_object(*found)
    where = f"ContourConfiguration/{namespace}/{' or '.join(sorted(named))}"
    why = facts.snapshot.gap(CONTOUR_CONFIGURATION) or "it does not exist, or there are several"
    return Everywhere(unknown=f"the settings of {where}, which Contour reads, are unknown: {why}")


def _of_object(found: ContourConfiguration) -> Everywhere:
    field = ".".join(map(str, found.settings.tls.steps))
    return Everywhere(source=str(found.reference), field=field, settings=found.settings)


def _of_file(facts: Facts, namespace: str | None) -> Everywhere:
    if namespace not in (None, USUAL[0]):
        return Everywhere(
            unknown=f"Contour's ConfigMap in {namespace} is not read by adhere, so its settings are unknown"
        )
    source = f"ConfigMap/{'/'.join(USUAL)}"
    found = facts.snapshot.get(CONFIG_MAP, USUAL[1], USUAL[0])
    if found is None:
        gap = facts.snapshot.gap(CONFIG_MAP)
        return Everywhere(unknown=f"the settings of {source} are unknown: {gap or 'there is no such ConfigMap'}")
    try:
        read = settings(found)
    except InputError as error:
        return Everywhere(unknown=f"{source} cannot be read: {error.message}")
    if read is None:
        return Everywhere(unknown=f"the settings of {source} are unknown: it has no {FILE} that is a mapping")
    return Everywhere(source=source, field=f"{FILE} tls", settings=read)
