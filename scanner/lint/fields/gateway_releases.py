"""TLS fields of the Gateway API that not every release has (the CRDs at its tags), and shapes that none ever had
(GEP-91, GEP-2907)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from scanner.kube.kinds import (
    BACKEND_TLS_POLICY,
    CUSTOM_RESOURCE_DEFINITION,
    GATEWAY,
    LISTENER_SET,
    X_LISTENER_SET,
    Kind,
)
from scanner.model.object_rule import Subject

EACH: Final = "[]"
"""In a path, each item of a list."""


class Former(Struct, frozen=True, kw_only=True):
    """A field that is in no current CRD."""

    path: tuple[str, ...]
    now: str
    """The current field; of the Gateway, for a field of a ListenerSet."""
    minors: tuple[int, ...] = ()
    """The releases 1.x whose experimental channel had it; empty for a field that no release had."""
    versions: frozenset[str] = frozenset()
    """The API versions that have it."""


_NEVER_IN_LISTENERS = ("validation", "clientValidation", "frontend")
_LISTENERS: Final = (
    Former(
        path=("spec", "listeners", EACH, "tls", "frontendValidation"),
        now="spec.tls.frontend",
        minors=(1, 2, 3),
    ),
    *(Former(path=("spec", "listeners", EACH, "tls", each), now="spec.tls.frontend") for each in _NEVER_IN_LISTENERS),
)
_ALPHA = frozenset({"v1alpha2"})
_LATER = frozenset({"v1alpha3", "v1"})
FORMER: Final[Mapping[Kind, tuple[Former, ...]]] = {
    GATEWAY: (
        *_LISTENERS,
        Former(path=("spec", "backendTLS"), now="spec.tls.backend", minors=(2, 3)),
        Former(path=("spec", "tls", "default"), now="spec.tls.frontend.default"),
        Former(path=("spec", "tls", "perPort"), now="spec.tls.frontend.perPort"),
        Former(path=("spec", "tls", "validation"), now="spec.tls.frontend.default.validation"),
        Former(path=("spec", "tls", "clientCertificateRef"), now="spec.tls.backend.clientCertificateRef"),
        Former(path=("spec", "tls", "frontend", "validation"), now="spec.tls.frontend.default.validation"),
        Former(path=("spec", "tls", "backend", "validation"), now="a BackendTLSPolicy"),
    ),
    **dict.fromkeys((LISTENER_SET, X_LISTENER_SET), _LISTENERS),
    BACKEND_TLS_POLICY: (
        Former(path=("spec", "targetRef"), now="spec.targetRefs", versions=_ALPHA),
        Former(path=("spec", "tls"), now="spec.validation", versions=_ALPHA),
        Former(path=("spec", "targetRefs"), now="spec.targetRef", versions=_LATER),
        Former(path=("spec", "validation"), now="spec.tls", versions=_LATER),
        Former(path=("spec", "validation", "caCertRefs"), now="spec.validation.caCertificateRefs"),
        Former(path=("spec", "validation", "wellKnownCACerts"), now="spec.validation.wellKnownCACertificates"),
    ),
}
"""By kind."""


class Later(Struct, frozen=True, kw_only=True):
    """A field that former CRDs do not have yet."""

    path: tuple[str, ...]
    standard: int
    """The first release 1.x whose standard channel has it."""
    experimental: int
    """The same for the experimental channel."""


LATER: Final[Mapping[Kind, tuple[Later, ...]]] = {
    GATEWAY: (
        Later(path=("spec", "tls"), standard=5, experimental=4),
        Later(path=("spec", "allowedListeners"), standard=5, experimental=3),
    ),
    BACKEND_TLS_POLICY: (
        Later(path=("spec", "validation", "subjectAltNames"), standard=4, experimental=2),
        Later(path=("spec", "options"), standard=4, experimental=2),
    ),
}
"""By kind."""


_BUNDLE: Final = "gateway.networking.k8s.io/bundle-version"
_CHANNEL: Final = "gateway.networking.k8s.io/channel"
_RELEASE: Final = re.compile(r"v?1\.([0-9]{1,3})\b", re.ASCII)


class Installed(Struct, frozen=True):
    """The release of a CRD that is installed."""

    minor: int
    experimental: bool

    def lacks(self, later: Later) -> bool:
        """True if it does not have the field yet."""
        return self.minor < (later.experimental if self.experimental else later.standard)


def installed(subject: Subject) -> Installed | None:
    """The release that the annotations of the subject's CRD name, if it is known."""
    found = subject.declared.known.get(CUSTOM_RESOURCE_DEFINITION, subject.object.kind.resource)
    release = _RELEASE.match(found.annotations.get(_BUNDLE, "")) if found else None
    if found is None or release is None:
        return None
    return Installed(int(release[1]), found.annotations.get(_CHANNEL) == "experimental")


def kept_at(subject: Subject, path: str) -> str:
    """The field of the installed release that corresponds to ``path`` in the current one."""
    crd, kind = installed(subject), subject.object.kind
    later = next((each for each in LATER.get(kind, ()) if _within(path, ".".join(each.path))), None)
    if crd is None or later is None or not crd.lacks(later):
        return path
    for each in FORMER.get(kind, ()):
        if crd.experimental and crd.minor in each.minors and _within(path, each.now):
            return ".".join(each.path).replace(f".{EACH}", EACH)
    return f"{path}, which needs a CRD of release 1.{later.standard} or later"


def _within(path: str, above: str) -> bool:
    return f"{path}.".startswith(f"{above}.")
