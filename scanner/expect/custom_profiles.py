"""Every profile of type Custom in the cluster's objects, as its readers see it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from scanner.expect.facts import Facts
from scanner.expect.implementations import IMPLEMENTATIONS, effective, not_admitted
from scanner.expect.release import meaning
from scanner.kube.kinds import API_SERVER, HOSTED_CLUSTER, INGRESS_CONTROLLER, KUBELET_CONFIG, Kind
from scanner.kube.maybe import Unknown
from scanner.kube.objects import KubeObject
from scanner.kube.tls_profile import (
    HOSTED_PROFILE,
    HYPERSHIFT,
    INGRESS_OPERATOR,
    INHERITED_BY_INGRESS,
    LIBRARY_GO,
    MACHINE_CONFIG,
    PROFILE,
    CustomUse,
    Declared,
    Reader,
    declared,
    profile_of,
)

_READERS: tuple[tuple[Kind, Reader], ...] = (
    (INGRESS_CONTROLLER, INGRESS_OPERATOR),
    (KUBELET_CONFIG, MACHINE_CONFIG),
)


def custom_uses(facts: Facts) -> Iterator[CustomUse]:
    """The APIServer's first, then those of IngressControllers and KubeletConfigs."""
    for each in facts.snapshot.every(API_SERVER):
        inherited = any(not _typed(other) for other in facts.snapshot.every(INGRESS_CONTROLLER))
        yield from _use(facts, each, (LIBRARY_GO, *((INHERITED_BY_INGRESS,) if inherited else ())))
    for kind, reader in _READERS:
        for each in facts.snapshot.every(kind):
            yield from _use(facts, each, (reader,))
    for each in facts.snapshot.every(HOSTED_CLUSTER):
        yield from _use(facts, each, (HYPERSHIFT,), HOSTED_PROFILE)


def _typed(controller: KubeObject) -> bool:
    return bool(profile_of(controller).type)


def _use(
    facts: Facts, each: KubeObject, readers: tuple[Reader, ...], steps: tuple[str, ...] = PROFILE
) -> Iterator[CustomUse]:
    if profile_of(each, steps).type != "Custom":
        return
    means = meaning(facts.cluster.releases.desired)
    called = str(each.reference)
    readings = tuple(
        (reader.name, _taken(declared(each, steps, reader, called, means), _kind(reader), fips=facts.fips is True))
        for reader in readers
    )
    yield CustomUse(reference=each.reference, field=".".join((*steps, "custom")), readings=readings)


def _kind(reader: Reader) -> str:
    """Who serves what this reader passes on, by the names of ``implementations``."""
    if reader is HYPERSHIFT:
        return "hypershift"
    return "haproxy" if reader.is_router else "go"


def _taken(read: Declared, kind: str, *, fips: bool) -> Declared:
    """What is left of a profile where it is served, and what was lost on the way."""
    if read.profile is None or isinstance(read.profile, Unknown):
        return read
    found = effective(read.profile, kind, spelt=read.spelt, fips=fips)
    changes = (f"{IMPLEMENTATIONS[kind].called} {each}" for each in found.changes)
    return replace(
        read,
        profile=not_admitted(read.profile, found, kind) or found.profile,
        remarks=(*read.remarks, *read.profile.notes, *changes),
    )
