"""Fields for TLS that former or later releases have, or no release: the API server drops them without a word."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from scanner.kube.kinds import CUSTOM_RESOURCE_DEFINITION
from scanner.kube.objects import Fields
from scanner.lint.fields.gateway_releases import EACH, FORMER, LATER, Former, Installed, Later, installed, kept_at
from scanner.model.finding import Severity
from scanner.model.located import Steps, dotted
from scanner.model.object_rule import Flaw, ObjectRule, Subject

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_LONGEST: Final = 1 << 19
"""Characters of it; all annotations together have at most 262,144 bytes (apimachinery ``ValidateAnnotationsSize``)."""
_MOST: Final = 64


def check_pruned(subject: Subject) -> Iterator[Flaw]:
    """No manifest asks for TLS in fields that the API server drops.

    ## What it requires

    That neither the object nor the manifest that was last applied to it (the annotation
    `kubectl.kubernetes.io/last-applied-configuration`) has a field for TLS that was in former releases of the Gateway
    API only, or only in its proposals: `listeners[].tls.frontendValidation`, `spec.backendTLS`, `spec.tls.default`,
    a BackendTLSPolicy of `v1` with `targetRef` or `tls`, and the like. Where the installed CRD is known, nor one that
    came with a later release than its own: `spec.tls` of a Gateway before 1.5 (1.4 in the experimental channel).

    ## Why

    The API server drops fields that its CRD does not have and says so in a warning at most. The manifest demands
    client certificates, and the object in the cluster demands nothing.

    ## What fails

    Such a field: high. Where the installed CRD still has it, it works until the CRD is upgraded: medium.

    ## What is inconclusive

    Nothing: it stands in the object. Which release is installed only a cluster says (`--cluster`, `--snapshot`);
    without one the current release is assumed.

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
    ```

    ```yaml
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
    yield from _too_early(subject)
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
                fix=_fix(subject, former),
            )


def _too_early(subject: Subject) -> Iterator[Flaw]:
    """Fields that the installed CRD does not have yet."""
    crd = installed(subject)
    for later in LATER.get(subject.object.kind, ()) if crd else ():
        if crd and crd.lacks(later) and subject.object.has(*later.path):
            yield _early(subject, later, crd)


def _early(subject: Subject, later: Later, crd: Installed) -> Flaw:
    channel = "experimental" if crd.experimental else "standard"
    return Flaw(
        message=(
            f"{dotted(later.path)} is in CRDs from release 1.{later.standard} on (experimental: "
            f"1.{later.experimental}), and the {channel} one of 1.{crd.minor} is installed: it is silently pruned"
        ),
        at=later.path,
        fix=f"upgrade the CRD {subject.object.kind.resource} before {subject.object.reference} is applied",
    )


def _flaw(subject: Subject, former: Former, steps: Steps) -> Flaw:
    crd = installed(subject)
    kept = crd is not None and crd.experimental and crd.minor in former.minors
    if kept:
        message = f"{dotted(steps)} is gone from release 1.4 on: the CRD that is installed still has it"
    elif former.versions or not former.minors:
        message = f"{dotted(steps)} is in no CRD of this version: it is silently pruned"
    else:
        message = f"{dotted(steps)} was in experimental CRDs before release 1.4 only: it is silently pruned"
    severity: Severity | None = "medium" if kept else None
    return Flaw(message=message, at=steps, severity=severity, fix=_fix(subject, former, later=kept))


def _fix(subject: Subject, former: Former, *, later: bool = False) -> str:
    """``later``: the field stays until the CRD is upgraded."""
    whose = "" if subject.object.kind in LATER else " of its Gateway"
    field = f"{former.now}, with the CRDs of a later release" if later else kept_at(subject, former.now)
    return f"{subject.object.reference}: move it to {field}{whose}"


def _applied(subject: Subject) -> Fields:
    text = subject.object.annotations.get(LAST_APPLIED, "")
    try:
        said = json.loads(text) if 0 < len(text) <= _LONGEST else None
    except (ValueError, RecursionError):
        said = None
    return Fields(said if isinstance(said, dict) else {})


def _places(fields: Fields, path: tuple[str, ...]) -> Iterator[Steps]:
    """Every way to a field, where ``[]`` is each item of a list."""
    if EACH not in path:
        if fields.has(*path):
            yield path
        return
    at = path.index(EACH)
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
