"""The CAs by which BackendTLSPolicies validate the backend (Gateway API apis/v1 ``BackendTLSPolicyValidation``)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from scanner.kube.kinds import BACKEND_TLS_POLICY, CONFIG_MAP
from scanner.lint.gateway.authorities import reference_flaws
from scanner.lint.gateway.policies import shape_of
from scanner.lint.references import READS as SECRETS
from scanner.model.located import Steps, shown
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_CAS: Final = 8
_INTERNAL: Final = (".svc", ".cluster.local", ".local", ".internal", ".localhost", ".test", ".invalid")
"""What no public CA issues for: names that are not in the public DNS (RFC 6761, RFC 6762; CA/Browser Forum Baseline
Requirements, "Internal Name"; ICANN's ``.internal``)."""


def check_ca(subject: Subject) -> Iterator[Flaw]:
    """The CA by which a BackendTLSPolicy validates the backend is there and can have issued its certificate.

    ## What it requires

    Each `caCertificateRefs` entry (`caCertRefs` in v1alpha2) names a ConfigMap of the policy's own namespace with CA
    certificates in PEM in `ca.crt`, none of which has ended. `System` as `wellKnownCACertificates` stands only beside
    a hostname for which public CAs issue certificates.

    ## Why

    With a CA that is not there clients get 500 to 599 from the Gateway, and an implementation that goes on without
    verifying is worse. The reference has no namespace: a ReferenceGrant cannot help. No public CA issues certificates
    for `web.shop.svc`.

    ## What fails

    A reference to another kind or to nothing, no `ca.crt`, no certificate in it, one that is no CA or has ended,
    `System` with an internal hostname, a `wellKnownCACertificates` that is nothing of the API's: high. A Secret instead
    of a ConfigMap: low.

    ## What is inconclusive

    A ConfigMap or Secret that was not seen. A ClusterTrustBundle, which only some implementations take. A set of CAs of
    an implementation's own (`example.com/roots`).

    ## Example that fails

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: BackendTLSPolicy
    metadata: {name: web, namespace: shop}
    spec:
      targetRefs: [{group: "", kind: Service, name: web}]
      validation: {hostname: web.shop.svc, wellKnownCACertificates: System}
    ```

    ## Example that passes

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: BackendTLSPolicy
    metadata: {name: web, namespace: shop}
    spec:
      targetRefs: [{group: "", kind: Service, name: web}]
      validation:
        hostname: web.shop.svc
        caCertificateRefs: [{group: "", kind: ConfigMap, name: backends}]
    ---
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: backends, namespace: shop}
    data:
      ca.crt: CA(backends)
    ```

    ## How to fix

    Put the CA's certificate, in PEM, under the key `ca.crt` of a ConfigMap beside the policy. On OpenShift the
    annotation `service.beta.openshift.io/inject-cabundle` fills `service-ca.crt`, which is another key: copy it.
    """
    shape = shape_of(subject.object)
    validation = subject.object.fields(*shape.block)
    for steps, each in islice(subject.items(*shape.block, shape.authorities), _CAS):
        yield from reference_flaws(
            subject,
            steps,
            each,
            subject.object.namespace,
            other_kind="InvalidKind",
            question="whether there is a CA to validate the backend by",
        )
    at, known = (*shape.block, shape.well_known), validation.text(shape.well_known)
    if known not in ("", "System"):
        yield _of_its_own(at, known)
    hostname = validation.text("hostname").lower()
    # Beside references the API server refuses it: ``backend-tls-validation``.
    if known == "System" and _is_internal(hostname) and not validation.at(shape.authorities):
        yield Flaw(
            message=f"no public CA issues certificates for {shown(hostname)}",
            at=at,
            fix=f"{subject.object.reference}: {shape.authorities} with the CA of the backend",
            correction=f'{shape.authorities}:\n- group: ""\n  kind: ConfigMap\n  name: CONFIGMAP',
        )


def _of_its_own(at: Steps, known: str) -> Flaw:
    if "/" in known:
        message = f"cannot be decided here: which CAs an implementation means by {shown(known)}"
        return Flaw(message=message, at=at, verdict="inconclusive")
    return Flaw(message=f"{shown(known)} is neither System nor a name with a domain before it", at=at)


def _is_internal(hostname: str) -> bool:
    return bool(hostname) and ("." not in hostname or hostname.removesuffix(".").endswith(_INTERNAL))


_REFERENCES = ("Gateway API apis/v1/backendtlspolicy_types.go (BackendTLSPolicyValidation)",)
CA = ObjectRule(
    id="backend-tls-ca",
    title="The CAs by which BackendTLSPolicies validate are there",
    severity="high",
    subjects=(BACKEND_TLS_POLICY,),
    check=check_ca,
    reads=(CONFIG_MAP, *SECRETS),
    references=(*_REFERENCES, "CA/Browser Forum Baseline Requirements, section 7.1.2.7.12 (no internal names)"),
)
