"""Every ``tlsSecurityProfile`` in an object, whatever kind it is of (openshift/api ``config/v1``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from scanner.files.source_positions import Steps
from scanner.kube.kinds import API_SERVER as API_SERVERS
from scanner.kube.kinds import (
    HOSTED_CLUSTER,
    HOSTED_CONTROL_PLANE,
    INGRESS_CONTROLLER,
    KUBELET_CONFIG,
    Kind,
)
from scanner.kube.objects import Fields, KubeObject
from scanner.model.custom_profile import API_SERVER, HAPROXY, HYPERSHIFT, KUBELET, Consumer
from scanner.model.held_profiles import held_profiles
from scanner.model.object_rule import ANY

SUBJECTS: Final[tuple[Kind, ...]] = (
    API_SERVERS,
    INGRESS_CONTROLLER,
    KUBELET_CONFIG,
    HOSTED_CLUSTER,
    HOSTED_CONTROL_PLANE,
    ANY,
)
"""Kinds whose profile is looked at."""
_CONSUMERS: Final[Mapping[Kind, Consumer]] = {
    API_SERVERS: API_SERVER,
    HOSTED_CLUSTER: HYPERSHIFT,
    HOSTED_CONTROL_PLANE: HYPERSHIFT,
    INGRESS_CONTROLLER: HAPROXY,
}


@dataclass(frozen=True, slots=True)
class Declaration:
    """One of them."""

    object: KubeObject
    steps: Steps
    fields: Fields

    @property
    def type(self) -> str:
        """``Custom``; "" where there is none, or no text."""
        return self.fields.text("type")

    @property
    def custom(self) -> Fields:
        """What counts of type Custom; of another type, nothing."""
        return self.fields.fields("custom") if self.type == "Custom" else Fields({})

    @property
    def consumer(self) -> Consumer:
        """Who reads it. Of a kind that is not known: Go, and no admission."""
        return _CONSUMERS.get(self.object.kind, KUBELET)

    @property
    def refused_by(self) -> str:
        """Who does not take what is wrong, for people."""
        if self.object.kind == API_SERVERS:
            return "the API server refuses it"
        if self.object.kind == INGRESS_CONTROLLER:
            return "the ingress operator does not admit it, and the router keeps what it had"
        return "nothing refuses it here, and its reader does as it likes"


def declarations(each: KubeObject) -> Iterator[Declaration]:
    """Those below ``spec``, the outermost first."""
    return (Declaration(each, steps, fields) for steps, fields in held_profiles(each))
