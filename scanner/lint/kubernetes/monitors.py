"""Prometheus monitors: their scheme, and their TLS settings: versions, CA, server name and verification."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from scanner.files.source_positions import Steps, shown
from scanner.kube.kinds import CONFIG_MAP, POD_MONITOR, PROBE, SCRAPE_CONFIG, SECRET, SERVICE_MONITOR, Kind
from scanner.kube.objects import KubeObject
from scanner.kube.secrets import ConfigMap
from scanner.kube.service import Service
from scanner.kube.service_callers import KeyReference, Monitor, Scrape, TLSConfig
from scanner.lint import references
from scanner.lint.kubernetes.ports import (
    EVERYWHERE,
    MOST,
    READS,
    ByLabel,
    Claim,
    labelled_pods,
    labelled_services,
    named_ports,
    of_pod,
    of_port,
    selected,
)
from scanner.lint.referenced_certificates import authority_flaws
from scanner.lint.references import look_up
from scanner.model.declared import Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_SPELLINGS: Final = ("", "http", "https", "HTTP", "HTTPS")
"""Older definitions accept only lower case; still older ones, any text."""


def check_scheme(subject: Subject) -> Iterator[Flaw]:
    """A monitor uses the protocol of its port."""
    monitor = Monitor.of(subject.object)
    for each in monitor.scrapes:
        steps = each.steps
        place: Steps = (*steps, "prober") if monitor.kind == PROBE else steps
        scheme = monitor.scheme(each)
        if scheme is None:
            message = "unknown: which scheme it has; relabeling sets it for each target"
            yield Flaw(message=message, at=steps, verdict="inconclusive", severity="info")
        elif scheme not in _SPELLINGS:
            yield Flaw(
                message=f"unknown scheme {shown(scheme)}: valid are http and https, in lower or upper case",
                at=(*place, "scheme"),
                expected=("http", "https"),
                observed=(scheme,),
                fix=f"{subject.object.reference}: set scheme to http or https",
                correction=f"scheme: {scheme.lower() if scheme.lower() in _SPELLINGS else 'https'}",
            )
        elif each.tls_config and scheme.lower() != "https":
            yield Flaw(
                message="tlsConfig has no effect: the scheme is http",
                at=each.tls_config.steps,
                expected=("https",),
                observed=(scheme or "no scheme",),
                fix=f"{subject.object.reference}: set the scheme to https",
                correction="scheme: https",
            )
        elif subject.object.kind in (SERVICE_MONITOR, POD_MONITOR):
            yield from _contradicted(subject, place, each, tls=scheme.lower() == "https")


def _contradicted(subject: Subject, steps: Steps, endpoint: Scrape, *, tls: bool) -> Iterator[Flaw]:
    find = _of_services if subject.object.kind == SERVICE_MONITOR else _of_pods
    others = list(islice((each for each in find(subject, endpoint) if each.tls != tls), MOST))
    if others:
        scheme, other = ("https", "http") if tls else ("http", "https")
        yield Flaw(
            message=f"the scheme is {scheme}, but the port is declared as {other} elsewhere",
            at=(*steps, "scheme"),
            severity=None if any(each.certain for each in others) else "low",
            expected=(other,),
            observed=(scheme,),
            evidence=tuple(each.what for each in others[:10]),
            fix=f"{subject.object.reference}: correct the scheme or the other declaration",
            correction=f"scheme: {other}",
        )


def _selected(subject: Subject, index: ByLabel) -> Iterator[KubeObject]:
    selection = Monitor.of(subject.object).selection
    chosen = selection.namespace_selector
    namespaces = (EVERYWHERE,) if chosen.any else chosen.match_names[:MOST] or (subject.object.namespace,)
    return islice(selected(index, namespaces, selection.selector), MOST)


def services(subject: Subject) -> Iterator[Service]:
    """The Services that a ServiceMonitor selects."""
    return map(Service.of, _selected(subject, subject.declared.once(labelled_services)))


def _of_services(subject: Subject, endpoint: Scrape) -> Iterator[Claim]:
    for service in services(subject):
        for port in service.ports[:MOST]:
            if endpoint.selects_port(port):
                yield from of_port(service, port)


def _of_pods(subject: Subject, endpoint: Scrape) -> Iterator[Claim]:
    for workload in _selected(subject, subject.declared.once(labelled_pods)):
        number = endpoint.port_number or named_ports(workload).get(endpoint.port)
        if isinstance(number, int):
            yield from of_pod(subject.declared, workload).get(number, ())


MONITOR_SCHEME = ObjectRule(
    id="monitor-scheme",
    subjects=(SERVICE_MONITOR, POD_MONITOR, PROBE, SCRAPE_CONFIG),
    reads=READS,
    check=check_scheme,
)


_VERSIONS: Final = ("TLS10", "TLS11", "TLS12", "TLS13")
_OLD: Final = ("TLS10", "TLS11")
_PUBLISHED: Final = ("kube-root-ca.crt", "openshift-service-ca.crt")
"""ConfigMaps with CAs that are in every namespace (kube-controller-manager's root-ca-cert-publisher, OpenShift's)."""
_INJECTED: Final = "service.beta.openshift.io/inject-cabundle"
_SERVICE: Final = ".svc"
_SHOWN: Final = 5


def check_tls(subject: Subject) -> Iterator[Flaw]:
    """A monitor's TLS settings are valid."""
    monitor = Monitor.of(subject.object)
    for each in monitor.scrapes:
        tls, at = each.tls_config, each.tls_config.steps
        if (monitor.scheme(each) or "").lower() != "https":
            continue
        if not tls:
            message = "unknown: what Prometheus verifies; no tlsConfig is set, and a scrape class may have one"
            yield Flaw(message=message, at=at, verdict="inconclusive", severity="info")
        else:
            yield from _versions(subject, tls, at)
            yield from _pair(subject, tls, at)
            if not tls.insecure_skip_verify:  # ``monitor-unverified``
                yield from _authority(subject, tls, at)
                yield from _name(subject, tls, at)


def _flaw(subject: Subject, at: Steps, message: str, fix: str) -> Flaw:
    return Flaw(message=message, at=at, fix=f"{subject.object.reference}: {fix}")


def _versions(subject: Subject, tls: TLSConfig, at: Steps) -> Iterator[Flaw]:
    written = (tls.min_version, tls.max_version)
    least, most = (each if isinstance(each, str) else "" for each in written)
    for name, version in zip(("minVersion", "maxVersion"), written, strict=True):
        if isinstance(version, str) and version not in _VERSIONS:
            fix = f"set one of {', '.join(_VERSIONS)}"
            yield _flaw(subject, (*at, name), f"unknown version {shown(version)}", fix)
    if least in _VERSIONS and most in _VERSIONS and least > most:
        message = f"minVersion {least} is above maxVersion {most}: the operator ignores the monitor"
        yield _flaw(subject, (*at, "minVersion"), message, "remove maxVersion")
    if most in _OLD:
        message = f"maxVersion {most} allows only deprecated versions (RFC 8996)"
        yield _flaw(subject, (*at, "maxVersion"), message, "remove maxVersion")
    elif least in _OLD:
        message = f"minVersion {least} allows deprecated versions (RFC 8996)"
        yield Flaw(message=message, at=(*at, "minVersion"), severity="low", fix="remove it, or set TLS12")


def _pair(subject: Subject, tls: TLSConfig, at: Steps) -> Iterator[Flaw]:
    certificate = tls.cert or tls.cert_file
    key = tls.key_secret or tls.key_file
    if bool(certificate) != bool(key):
        has, lacks = ("a certificate", "no key") if certificate else ("a key", "no certificate")
        message = f"has {has} for clients, but {lacks}: the operator ignores the monitor"
        yield _flaw(subject, at, message, "set both, or neither")


def _authority(subject: Subject, tls: TLSConfig, at: Steps) -> Iterator[Flaw]:
    sources = [each for each in ((tls.ca.config_map, CONFIG_MAP), (tls.ca.secret, SECRET)) if each[0]]
    if len(sources) + bool(tls.ca_file) > 1:
        message = "more than one CA (ca.configMap, ca.secret, caFile): the operator ignores the monitor"
        yield _flaw(subject, at, message, "keep one")
    for reference, kind in sources:
        yield from _referenced_ca(subject, reference, kind, reference.steps)
    if not sources and not tls.ca_file:
        message = "unknown: which CA Prometheus verifies with; none is set, and a scrape class may have one"
        yield Flaw(message=message, at=at, verdict="inconclusive", severity="info")


def _referenced_ca(subject: Subject, reference: KeyReference, kind: Kind, at: Steps) -> Iterator[Flaw]:
    name, key = reference.name, reference.key
    if kind == CONFIG_MAP and name in _PUBLISHED:
        return
    found = look_up(subject.declared, kind, name, subject.object.namespace)
    if isinstance(found, Missing) and found.gap:
        yield undecided(found, at, "whether it has the CA")
    elif isinstance(found, Missing):
        message = f"{found.name} does not exist: the operator ignores the monitor"
        yield _flaw(subject, at, message, f"create {found.name}")
    elif found.annotations.get(_INJECTED) == "true" and not ConfigMap.of(found).data:
        message = f"unknown: what the service CA operator puts into {found.reference}"
        yield Flaw(message=message, at=at, verdict="inconclusive", severity="info")
    else:
        yield from authority_flaws(found, at, subject.declared.known.taken_at, name=key)


def _name(subject: Subject, tls: TLSConfig, at: Steps) -> Iterator[Flaw]:
    name = tls.server_name
    if subject.object.kind in (PROBE, SCRAPE_CONFIG):
        return  # their targets are names
    if not name:
        message = "no serverName: Prometheus verifies the pod's address, which few certificates have"
        yield _flaw(subject, at, message, "set serverName to <service>.<namespace>.svc")
    elif subject.object.kind == SERVICE_MONITOR and _SERVICE in name:
        chosen = list(services(subject))
        if chosen and not any(_is_for(each, name) for each in chosen):
            names = tuple(f"{each.name}.{each.namespace or '<namespace>'}.svc" for each in islice(chosen, _SHOWN))
            yield Flaw(
                message=f"serverName is {shown(name)}, but it selects {', '.join(names)}",
                at=(*at, "serverName"),
                expected=names,
                observed=(name,),
                fix=f"{subject.object.reference}: set serverName to the name of a Service that it selects",
                correction=f"serverName: {names[0]}",
            )


def _is_for(service: KubeObject, name: str) -> bool:
    first, _, rest = name.partition(".")
    return first == service.name and rest.partition(".")[0] == service.namespace


MONITOR_TLS = ObjectRule(
    id="monitor-tls",
    subjects=(SERVICE_MONITOR, POD_MONITOR, PROBE, SCRAPE_CONFIG),
    reads=(*READS, *references.READS, CONFIG_MAP),
    check=check_tls,
)


def check_unverified(subject: Subject) -> Iterator[Flaw]:
    """Prometheus verifies what it scrapes."""
    for each in Monitor.of(subject.object).scrapes:
        if each.tls_config.insecure_skip_verify:
            yield Flaw(
                message="Prometheus accepts any certificate",
                at=(*each.tls_config.steps, "insecureSkipVerify"),
                fix=f"{subject.object.reference}: remove it, and set ca and serverName",
                correction="tlsConfig:\n  serverName: <service>.<namespace>.svc\n"
                "  ca: {configMap: {name: <name>, key: <key>}}",
            )


MONITOR = ObjectRule(
    id="monitor-unverified",
    subjects=(SERVICE_MONITOR, POD_MONITOR, PROBE, SCRAPE_CONFIG),
    check=check_unverified,
)
