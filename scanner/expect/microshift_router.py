"""MicroShift's router: ``ingress.tlsSecurityProfile`` of its file (microshift ``pkg/config/ingress.go``)."""

from __future__ import annotations

from dataclasses import replace

from scanner.expect import microshift
from scanner.expect.draft import Draft
from scanner.expect.facts import Facts
from scanner.expect.release import meaning
from scanner.kube.ingress import ROUTER_NAMESPACE
from scanner.kube.maybe import Unknown
from scanner.kube.tls_profile import MICROSHIFT_INGRESS, declared
from scanner.model.expectation import Lever

_STEPS = ("ingress", "tlsSecurityProfile")
_FIELD = ".".join(_STEPS)


def resolve(facts: Facts, draft: Draft) -> Draft:
    """What the router owes; a Route without passthrough is answered by it."""
    governed = draft.entry is not None and draft.entry.governor == "ingress"
    subject, owner = draft.endpoint.subject, draft.endpoint.owner
    routed = subject is not None and subject.kind == "Route" and owner.namespace == ROUTER_NAMESPACE
    if not facts.is_microshift or not (governed or routed):
        return draft
    lever = Lever(where=microshift.FILE, field=_FIELD)
    draft = replace(draft, standing="platform", binding="must-follow", implementation="haproxy", lever=lever)
    file = microshift.config(facts.snapshot)
    if file is None:
        reason = f"{microshift.FILE} is not in the snapshot, and nothing else sets a profile for MicroShift's router"
        return draft.owes(Unknown(reason), microshift.FILE, _FIELD, "not in the snapshot")
    return draft.declares(
        microshift.FILE,
        _FIELD,
        lambda release: declared(file, _STEPS, MICROSHIFT_INGRESS, microshift.FILE, meaning(release)),
    )
