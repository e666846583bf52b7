"""Contour: a floor and a ceiling of its own, in ContourConfiguration and for each HTTPProxy.

Contour ``internal/xdscache/v3/listener.go``: of the two the stricter counts, so a virtual host can tighten and never
loosen. ``apis/projectcontour/v1alpha1``: only 1.2 and 1.3 exist, and Envoy never restricts TLS 1.3 suites.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from scanner.expect.draft import Draft
from scanner.expect.facts import Facts
from scanner.expect.passthrough import passed_through
from scanner.model.custom_profile import TLS13_SUITES, suite_named
from scanner.model.kinds import CONTOUR_CONFIGURATION, HTTP_PROXY
from scanner.model.located import shown
from scanner.model.objects import Fields, KubeObject
from scanner.model.profile import Profile
from scanner.tls.codepoints import TLS12, TLS13
from scanner.tls.names import version_name

_VERSIONS = {"1.2": TLS12, "1.3": TLS13}
_GLOBAL = ("spec", "envoy", "listener", "tls")
_VHOST = ("spec", "virtualhost", "tls")
_DEFAULT = (0xC02B, 0xCCA9, 0xC02F, 0xCCA8, 0xC02C, 0xC030)
_MOST = (*_DEFAULT, 0xC009, 0xC013, 0xC00A, 0xC014, 0x009C, 0x009D, 0x002F, 0x0035)
"""All that Contour can be told to speak in TLS 1.2 (``ciphersuites.go``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Limits:
    """What one place says."""

    floor: int = TLS12
    ceiling: int = TLS13
    said: str = ""
    remarks: tuple[str, ...] = ()


def resolve(facts: Facts, draft: Draft) -> Draft:
    """What an HTTPProxy's listener owes, where somebody limits it."""
    subject = draft.endpoint.subject
    proxy = facts.snapshot.get(HTTP_PROXY, subject.name, subject.namespace) if _is_proxy(draft) and subject else None
    if proxy is None or passed_through(facts, draft):
        return draft
    draft = replace(draft, implementation="contour")
    configurations = facts.snapshot.every(CONTOUR_CONFIGURATION)
    everywhere = configurations[0] if len(configurations) == 1 else None
    mine = _limits(proxy.fields(*_VHOST), str(proxy.reference))
    whole = _limits(everywhere.fields(*_GLOBAL), str(everywhere.reference)) if everywhere else _Limits()
    draft = draft.remark(*mine.remarks, *whole.remarks)
    if everywhere is None:
        draft = draft.remark(_unread(facts))
    if not mine.said and not whole.said:
        unless = "" if everywhere else ", unless its ConfigMap, which adhere does not read, says otherwise"
        said = f"no version is set: Contour's default is TLS 1.2{unless}"
        return draft.says(str(proxy.reference), ".".join(_VHOST), said)
    if draft.standing == "user" and facts.policy.user_workloads_bound:
        return draft.says(str(proxy.reference), ".".join(_VHOST), f"{mine.said or whole.said}: the policy file binds")
    return _own(draft, proxy, everywhere, mine, whole)


def _unread(facts: Facts) -> str:
    """Why nothing that holds for all virtual hosts is known."""
    gap, count = facts.snapshot.gap(CONTOUR_CONFIGURATION), len(facts.snapshot.every(CONTOUR_CONFIGURATION))
    why = gap or (f"which of {count} ContourConfigurations counts is not known" if count else "no ContourConfiguration")
    return f"a ConfigMap of Contour's, which adhere does not read, may say more: {why}"


def _is_proxy(draft: Draft) -> bool:
    subject = draft.endpoint.subject
    return subject is not None and subject.kind == "HTTPProxy" and draft.endpoint.segment != "Backend"


def _limits(tls: Fields, source: str) -> _Limits:
    found = {"minimumProtocolVersion": TLS12, "maximumProtocolVersion": TLS13}
    said, remarks = [], []
    for field in found:
        value = tls.at(field)
        if isinstance(value, str) and value in _VERSIONS:
            found[field] = _VERSIONS[value]
            said.append(f"{field} {value}")
        elif value not in (None, ""):
            remarks.append(f"{source}: {field} {shown(value)} is none of 1.2 and 1.3, and means nothing")
    floor, ceiling = found.values()
    return _Limits(floor=floor, ceiling=ceiling, said=", ".join(said), remarks=tuple(remarks))


def _own(draft: Draft, proxy: KubeObject, everywhere: KubeObject | None, mine: _Limits, whole: _Limits) -> Draft:
    floor, ceiling = max(mine.floor, whole.floor), min(mine.ceiling, whole.ceiling)
    source = str(proxy.reference if mine.said else everywhere.reference if everywhere else "")
    field = ".".join(_VHOST if mine.said else _GLOBAL)
    said = "; ".join(filter(None, (mine.said, f"for all: {whole.said}" if whole.said else "")))
    if floor > ceiling:
        draft = draft.remark(f"{source}: the minimum version is above the maximum, so that nobody can connect")
    suites = _suites(everywhere)
    profile = Profile(
        name=f"{version_name(floor)} to {version_name(ceiling)} ({proxy.reference})",
        min_version=floor,
        suites=(*(TLS13_SUITES if ceiling >= TLS13 else ()), *(suites if floor <= TLS12 else ())),
        groups=None,
        source=f"{source} {field}",
    )
    # Where TLS 1.3 must not be, none of its suites may be spoken.
    draft = replace(draft, implementation="contour" if ceiling >= TLS13 else "contour-1.2")
    return replace(draft.owes(profile, source, field, said), binding="must-follow")


def _suites(everywhere: KubeObject | None) -> tuple[int, ...]:
    if everywhere is None:
        return _MOST
    listed = [
        suite_named(part)
        for name in everywhere.texts(*_GLOBAL, "cipherSuites")[:100]
        for part in name.strip("[]").split("|")
    ]
    return tuple(code for code in dict.fromkeys(listed) if code is not None) or _DEFAULT
