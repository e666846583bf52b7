"""Origins of endpoints as the tests write them down: ``Route/shop/web reencrypt backend``."""

from __future__ import annotations

from scanner.kube.objects import Reference
from scanner.model.endpoint import Origin

_WHOLE = {"BackendTLSPolicy": "policy", "APIService": "aggregation"}
_WORDS = ("webhook", "port", "target")
_ALONE = {"conversion": "conversion", "fallback": "fallback", "kubeletEndpoint": "kubelet"}


def origin(text: str) -> Origin:
    """The origin that a report shows as ``text``."""
    named, _, rest = text.partition(" ")
    found, words = reference(named), rest.split()
    if words[:1] == ["listener"]:
        through = reference(words[2]) if len(words) > 2 else None
        return Origin(role="listener", reference=found, part=words[1], through=through)
    if words and words[-1] == "backend":
        return Origin(role="backend", reference=found, part=" ".join(words[:-1]))
    if rest in _ALONE:
        return Origin(role=_ALONE[rest], reference=found)  # type: ignore[arg-type] # names of roles
    if rest == "service-ca annotation":
        return Origin(role="service-ca", reference=found)
    if words and words[0] in _WORDS:
        return Origin(role=words[0], reference=found, part=" ".join(words[1:]))  # type: ignore[arg-type] # as above
    return Origin(role=_WHOLE.get(found.kind, "frontend"), reference=found, part=rest)  # type: ignore[arg-type] # as above


def reference(text: str) -> Reference:
    """The object that ``text`` names: ``Kind/namespace/name`` or ``Kind/name``."""
    kind, *rest = text.split("/", 2)
    return Reference(kind=kind, name=rest[-1] if rest else "", namespace=rest[0] if len(rest) == 2 else None)
