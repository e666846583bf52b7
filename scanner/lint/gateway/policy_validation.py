"""By what BackendTLSPolicies validate the backend (Gateway API apis/v1 ``BackendTLSPolicyValidation``)."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address
from itertools import islice
from typing import Final

from scanner.lint.certificates import authority_flaws
from scanner.lint.gateway.policies import shape_of
from scanner.lint.references import READS as SECRETS
from scanner.lint.references import look_up
from scanner.model.declared import Missing
from scanner.model.kinds import BACKEND_TLS_POLICY, CONFIG_MAP, SECRET
from scanner.model.located import Steps, shown
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided
from scanner.model.objects import Fields

_CAS: Final = 8
_KINDS: Final = {"ConfigMap": CONFIG_MAP, "Secret": SECRET}
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
    `System` with an internal hostname: high. A Secret instead of a ConfigMap: low.

    ## What is inconclusive

    A ConfigMap or Secret that was not seen.

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
        yield from _authority(subject, steps, each)
    hostname = validation.text("hostname").lower()
    if validation.text(shape.well_known) == "System" and _is_internal(hostname):
        yield Flaw(
            message=f"no public CA issues certificates for {shown(hostname)}",
            at=(*shape.block, shape.well_known),
            fix=f"{subject.object.reference}: {shape.authorities} with the CA of the backend",
            correction=f'{shape.authorities}:\n- group: ""\n  kind: ConfigMap\n  name: CONFIGMAP',
        )


def _is_internal(hostname: str) -> bool:
    return bool(hostname) and ("." not in hostname or hostname.removesuffix(".").endswith(_INTERNAL))


def _authority(subject: Subject, at: Steps, reference: Fields) -> Iterator[Flaw]:
    kind = _KINDS.get(reference.text("kind"))
    if kind is None or reference.text("group"):
        named = "/".join(filter(None, (reference.text("group"), reference.text("kind"))))
        yield Flaw(
            message=f"refers to {shown(named)}, not to a ConfigMap: InvalidKind",
            at=at,
            fix=f"{subject.object.reference}: name a ConfigMap",
        )
        return
    if kind == SECRET:
        yield Flaw(message="a Secret with CAs works with some implementations only", at=at, severity="low")
    found = look_up(subject.declared, kind, reference.text("name"), subject.object.namespace)
    if not isinstance(found, Missing):
        yield from authority_flaws(found, at, subject.declared.known.taken_at)
    elif found.gap:
        yield undecided(found, at, "whether there is a CA to validate the backend by")
    else:
        yield Flaw(
            message=f"{found.name} does not exist: InvalidCACertificateRef",
            at=at,
            fix=f"create {found.name} with the CA in ca.crt",
        )


def check_validation(subject: Subject) -> Iterator[Flaw]:
    """A BackendTLSPolicy says by which CA and which name the backend is validated.

    ## What it requires

    Either `caCertificateRefs` or `wellKnownCACertificates`, not both; a hostname without wildcard that is no address;
    in every `subjectAltNames` entry the field that its type asks for and no other, without wildcards. References to
    CAs have no namespace.

    ## Why

    The API server refuses most of it, from release 1.1 on. It admits a wildcard in `subjectAltNames`, which by the
    documentation is none, so that implementations differ in what they compare. A namespace is dropped without a word,
    and the CA looked for beside the policy.

    ## What fails

    What the API server refuses, in its words: high. A wildcard in `subjectAltNames`, a namespace in a reference:
    medium.

    ## What is inconclusive

    Nothing: all of it stands in the object.

    ## Example that fails

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: BackendTLSPolicy
    metadata: {name: web, namespace: shop}
    spec:
      targetRefs: [{group: "", kind: Service, name: web}]
      validation:
        hostname: "*.shop.example"
    ```

    ## Example that passes

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: BackendTLSPolicy
    metadata: {name: web, namespace: shop}
    spec:
      targetRefs: [{group: "", kind: Service, name: web}]
      validation:
        hostname: web.shop.example
        wellKnownCACertificates: System
    ```

    ## How to fix

    Name one ConfigMap with the CA, and the name that stands in the backend's certificate.
    """
    shape = shape_of(subject.object)
    validation = subject.object.fields(*shape.block)
    given, known = validation.at(shape.authorities), validation.text(shape.well_known)
    if given and known:
        message = "must not contain both CACertificateRefs and WellKnownCACertificates"
        yield Flaw(message=message, at=(*shape.block, shape.well_known), fix=f"{subject.object.reference}: remove one")
    if not given and not known:
        message = "must specify either CACertificateRefs or WellKnownCACertificates"
        yield Flaw(
            message=message, at=(*shape.block, shape.authorities), fix=f"{subject.object.reference}: name the CA"
        )
    hostname = validation.text("hostname")
    if not hostname or hostname.startswith("*") or _is_address(hostname):
        message = f"hostname must be one DNS name, which {shown(hostname)} is not" if hostname else "has no hostname"
        yield Flaw(
            message=message, at=(*shape.block, "hostname"), fix=f"{subject.object.reference}: the backend's name"
        )
    for steps, each in subject.items(*shape.block, shape.authorities):
        if each.has("namespace"):
            message = "a reference has no namespace here, and a ReferenceGrant cannot help: it is pruned"
            yield Flaw(message=message, at=(*steps, "namespace"), severity="medium")
    for steps, each in subject.items(*shape.block, "subjectAltNames"):
        yield from _alternative(steps, each)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _alternative(at: Steps, name: Fields) -> Iterator[Flaw]:
    """The API server's messages, but for the wildcard."""
    for kind, field in (("Hostname", "hostname"), ("URI", "uri")):
        said = "Hostname" if field == "hostname" else "URI"
        if name.text("type") == kind and not name.text(field):
            yield Flaw(message=f"SubjectAltName element must contain {said}, if Type is set to {kind}", at=at)
        if name.text("type") != kind and name.text(field):
            message = f"SubjectAltName element must not contain {said}, if Type is not set to {kind}"
            yield Flaw(message=message, at=(*at, field))
    if name.text("hostname").startswith("*"):
        yield Flaw(message="a wildcard here is compared as each likes", at=(*at, "hostname"), severity="medium")


def check_names(subject: Subject) -> Iterator[Flaw]:
    """The hostname of a BackendTLSPolicy is among its subjectAltNames, if it has any.

    ## What it requires

    Where `subjectAltNames` are given, one of them is of type `Hostname` with the policy's `hostname`.

    ## Why

    With `subjectAltNames` the hostname is only sent as SNI: the certificate must have one of the names listed, and the
    hostname is not compared any more. Who adds a SPIFFE identity to the list may believe that it comes on top.

    ## What fails

    `subjectAltNames` without the hostname: info, since it may be meant.

    ## What is inconclusive

    Nothing: it stands in the object.

    ## Example that fails

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: BackendTLSPolicy
    metadata: {name: web, namespace: shop}
    spec:
      targetRefs: [{group: "", kind: Service, name: web}]
      validation:
        hostname: web.shop.example
        wellKnownCACertificates: System
        subjectAltNames: [{type: URI, uri: "spiffe://shop/web"}]
    ```

    ## Example that passes

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: BackendTLSPolicy
    metadata: {name: web, namespace: shop}
    spec:
      targetRefs: [{group: "", kind: Service, name: web}]
      validation:
        hostname: web.shop.example
        wellKnownCACertificates: System
        subjectAltNames: [{type: Hostname, hostname: web.shop.example}, {type: URI, uri: "spiffe://shop/web"}]
    ```

    ## How to fix

    List the hostname too, if the backend's certificate has no other name.
    """
    shape = shape_of(subject.object)
    at = (*shape.block, "subjectAltNames")
    names = [each.text("hostname").lower() for each in subject.object.each(*at)]
    hostname = subject.object.text(*shape.block, "hostname").lower()
    if names and hostname not in names:
        yield Flaw(
            message=f"a certificate for {shown(hostname)} alone is refused: only these names count",
            at=at,
            fix=f"{subject.object.reference}: list the hostname too",
        )


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
VALIDATION = ObjectRule(
    id="backend-tls-validation",
    title="BackendTLSPolicies say by what they validate",
    severity="high",
    subjects=(BACKEND_TLS_POLICY,),
    check=check_validation,
    references=_REFERENCES,
)
NAMES = ObjectRule(
    id="backend-tls-names",
    title="A BackendTLSPolicy's hostname is among its subjectAltNames",
    severity="info",
    subjects=(BACKEND_TLS_POLICY,),
    check=check_names,
    references=(*_REFERENCES, "GEP-3155, complete backend mTLS configuration"),
)
