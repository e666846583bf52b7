"""Fields for TLS that former releases had, or no release: the API server drops them without a word.

Which release had which is from the CRDs at the tags of the Gateway API; GEP-91 and GEP-2907 show shapes that never were
in one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from scanner.lint.gateway.listeners import SETS
from scanner.model.finding import Severity
from scanner.model.kinds import BACKEND_TLS_POLICY, CUSTOM_RESOURCE_DEFINITION, GATEWAY, Kind
from scanner.model.located import Steps, dotted
from scanner.model.object_rule import Flaw, ObjectRule, Subject
from scanner.model.objects import Fields

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_LONGEST: Final = 1 << 19
"""Characters of it; all annotations together have at most 262,144 bytes (apimachinery ``ValidateAnnotationsSize``)."""
_EACH: Final = "[]"
_MOST: Final = 64
_BUNDLE: Final = "gateway.networking.k8s.io/bundle-version"
_CHANNEL: Final = "gateway.networking.k8s.io/channel"
_RELEASE: Final = re.compile(r"v?1\.([0-9]{1,3})\b", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Former:
    """A field that is in no current CRD."""

    path: tuple[str, ...]
    now: str
    """The field that does it."""
    minors: tuple[int, ...] = ()
    """The releases 1.x whose experimental channel had it; none ever if empty."""
    versions: frozenset[str] = frozenset()
    """The API versions that have it."""


_NEVER_IN_LISTENERS = ("validation", "clientValidation", "frontend")
_LISTENERS: Final = (
    Former(
        path=("spec", "listeners", _EACH, "tls", "frontendValidation"),
        now="spec.tls.frontend of the Gateway",
        minors=(1, 2, 3),
    ),
    *(
        Former(path=("spec", "listeners", _EACH, "tls", each), now="spec.tls.frontend of the Gateway")
        for each in _NEVER_IN_LISTENERS
    ),
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
    **dict.fromkeys(SETS, _LISTENERS),
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


def check_pruned(subject: Subject) -> Iterator[Flaw]:
    """No manifest asks for TLS in fields that the API server drops.

    ## What it requires

    That neither the object nor the manifest that was last applied to it (the annotation
    `kubectl.kubernetes.io/last-applied-configuration`) has a field for TLS that was in former releases of the Gateway
    API only, or only in its proposals: `listeners[].tls.frontendValidation`, `spec.backendTLS`, `spec.tls.default`,
    a BackendTLSPolicy of `v1` with `targetRef` or `tls`, and the like.

    ## Why

    The API server drops fields that its CRD does not have and says so in a warning at most. The manifest demands
    client certificates, and the object in the cluster demands nothing.

    ## What fails

    Such a field: high. Where the installed CRD still has it, it works until the CRD is upgraded: medium.

    ## What is inconclusive

    Nothing: it stands in the object.

    ## Example that fails

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec:
      gatewayClassName: example
      listeners:
      - name: https
        port: 443
        protocol: HTTPS
        tls:
          certificateRefs: [{name: edge-tls}]
          frontendValidation:
            caCertificateRefs: [{group: "", kind: ConfigMap, name: clients}]
    ---
    apiVersion: gateway.networking.k8s.io/v1
    kind: BackendTLSPolicy
    metadata: {name: web, namespace: shop}
    spec:
      targetRef: {group: "", kind: Service, name: web}
      tls: {hostname: web.shop.svc, wellKnownCACerts: System}
    ```

    ## Example that passes

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec:
      gatewayClassName: example
      listeners:
      - {name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: edge-tls}]}}
      tls:
        frontend:
          default:
            validation:
              caCertificateRefs: [{group: "", kind: ConfigMap, name: clients}]
    ---
    apiVersion: gateway.networking.k8s.io/v1alpha2
    kind: BackendTLSPolicy
    metadata: {name: web, namespace: shop}
    spec:
      targetRef: {group: "", kind: Service, name: web}
      tls: {hostname: web.shop.example, wellKnownCACerts: System}
    ```

    ## How to fix

    Move it to the field that the finding names, which needs CRDs of release 1.5 (or 1.4, experimental), and apply with
    `--validate=strict`.
    """
    version = subject.object.text("apiVersion").rpartition("/")[2]
    applied = _applied(subject)
    for former in FORMER.get(subject.object.kind, ()):
        if version in former.versions:
            continue
        there = list(_places(subject.object, former.path))
        for steps in there:
            yield _flaw(subject, former, steps)
        if not there and any(True for _ in _places(applied, former.path)):
            yield Flaw(
                message=f"the manifest that was applied has {'.'.join(former.path)}, and the object has it no more",
                at=("metadata", "annotations", LAST_APPLIED),
                fix=f"{subject.object.reference}: {former.now}",
            )


def _flaw(subject: Subject, former: Former, steps: Steps) -> Flaw:
    if _minor(subject) in former.minors:
        message = f"{dotted(steps)} is gone from release 1.4 on: the CRD that is installed still has it"
    elif former.versions or not former.minors:
        message = f"{dotted(steps)} is in no CRD of this version: it is silently pruned"
    else:
        message = f"{dotted(steps)} was in experimental CRDs before release 1.4 only: it is silently pruned"
    severity: Severity | None = "medium" if _minor(subject) in former.minors else None
    return Flaw(message=message, at=steps, severity=severity, fix=f"{subject.object.reference}: {former.now}")


def _minor(subject: Subject) -> int | None:
    """Of the release of the CRD that is installed, if it is experimental."""
    kind = subject.object.kind
    found = subject.declared.known.get(CUSTOM_RESOURCE_DEFINITION, kind.resource)
    release = _RELEASE.match(found.annotations.get(_BUNDLE, "")) if found else None
    experimental = found is not None and found.annotations.get(_CHANNEL) == "experimental"
    return int(release[1]) if release and experimental else None


def _applied(subject: Subject) -> Fields:
    text = subject.object.annotations.get(LAST_APPLIED, "")
    try:
        said = json.loads(text) if 0 < len(text) <= _LONGEST else None
    except (ValueError, RecursionError):
        said = None
    return Fields(said if isinstance(said, dict) else {})


def _places(fields: Fields, path: tuple[str, ...]) -> Iterator[Steps]:
    """Every way to a field, where ``[]`` is each item of a list."""
    if _EACH not in path:
        if fields.has(*path):
            yield path
        return
    at = path.index(_EACH)
    every = fields.at(*path[:at])
    for index, each in enumerate(every[:_MOST] if isinstance(every, list) else ()):
        if isinstance(each, dict) and Fields(each).has(*path[at + 1 :]):
            yield (*path[:at], index, *path[at + 1 :])


PRUNED = ObjectRule(
    id="gateway-field-pruned",
    title="No manifest asks for TLS in fields that are dropped",
    severity="high",
    subjects=tuple(FORMER),
    check=check_pruned,
    reads=(CUSTOM_RESOURCE_DEFINITION,),
    references=(
        "Gateway API CRDs of releases 1.0 to 1.6, gateways and backendtlspolicies",
        "GEP-91 and GEP-2907 (earlier shapes of spec.tls)",
    ),
)
