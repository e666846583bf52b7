"""Every profile of type Custom in the cluster's objects, as its readers see it."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.expect.facts import Facts
from scanner.expect.release import meaning
from scanner.model.custom_use import CustomUse
from scanner.model.declared_profile import (
    INGRESS,
    INHERITED_BY_INGRESS,
    KUBELET_CONFIG,
    LIBRARY_GO,
    Reader,
    declared,
)
from scanner.model.kinds import API_SERVER, INGRESS_CONTROLLER, Kind
from scanner.model.kinds import KUBELET_CONFIG as KUBELET_CONFIGS
from scanner.model.objects import KubeObject

_STEPS = ("spec", "tlsSecurityProfile")
_READERS: tuple[tuple[Kind, Reader], ...] = ((INGRESS_CONTROLLER, INGRESS), (KUBELET_CONFIGS, KUBELET_CONFIG))


def customs(facts: Facts) -> Iterator[CustomUse]:
    """The APIServer's first, then those of IngressControllers and KubeletConfigs."""
    for each in facts.snapshot.every(API_SERVER):
        inherited = any(not _typed(other) for other in facts.snapshot.every(INGRESS_CONTROLLER))
        yield from _use(facts, each, (LIBRARY_GO, *((INHERITED_BY_INGRESS,) if inherited else ())))
    for kind, reader in _READERS:
        for each in facts.snapshot.every(kind):
            yield from _use(facts, each, (reader,))


def _typed(controller: KubeObject) -> bool:
    return bool(controller.text(*_STEPS, "type"))


def _use(facts: Facts, each: KubeObject, readers: tuple[Reader, ...]) -> Iterator[CustomUse]:
    if each.text(*_STEPS, "type") != "Custom":
        return
    means = meaning(facts.cluster.releases.desired)
    called = str(each.reference)
    readings = tuple((reader.name, declared(each, _STEPS, reader, called, means)) for reader in readers)
    yield CustomUse(reference=each.reference, field="spec.tlsSecurityProfile.custom", readings=readings)
