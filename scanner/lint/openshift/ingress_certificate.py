"""The default certificate of an IngressController."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.kube.kinds import INGRESS_CONFIG, INGRESS_CONTROLLER
from scanner.lint import references
from scanner.lint.openshift.controllers import CERTIFICATE, ROUTERS, domain_of
from scanner.lint.openshift.serving import OPAQUE, named_secret, serving_flaws
from scanner.model.declared import Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided


def check_certificate(subject: Subject) -> Iterator[Flaw]:
    """An IngressController's default certificate can be served, and covers its domain.

    ## What it requires

    That the Secret which `spec.defaultCertificate` names is in the namespace openshift-ingress, and has a certificate
    in `tls.crt` with its key in `tls.key`: valid now, for servers, not weak, no CA, its issuers behind it in order. A
    subject alternative name of it is the wildcard of the domain, `*.apps.cluster.example`. The domain is
    `status.domain`, `spec.domain`, or `spec.domain` of the Ingress configuration `cluster`.

    Without `spec.defaultCertificate` the operator makes such a certificate, which passes.

    ## Why

    Every Route without a certificate of its own is served with it, the console's and that of the OAuth server among
    them: with a wrong one nobody can log in to repair it. Nothing looks at it before it is served.

    ## What fails

    Each of these, and a `defaultCertificate` without a name, with which the router's Deployment is refused: high; a
    weak key or signature, a leaf that is a CA or not for servers, certificates out of order: medium.

    ## What is inconclusive

    A Secret that was not given, and the domain where nothing says it.

    ## Example that fails

    ```yaml
    apiVersion: operator.openshift.io/v1
    kind: IngressController
    metadata: {name: default, namespace: openshift-ingress-operator}
    spec:
      domain: apps.cluster.example
      defaultCertificate: {name: apps}
    ---
    apiVersion: v1
    kind: Secret
    metadata: {name: apps, namespace: openshift-ingress}
    type: kubernetes.io/tls
    data: {tls.crt: CERTIFICATE(apps.cluster.example), tls.key: KEY(apps.cluster.example)}
    ```

    ## Example that passes

    ```yaml
    apiVersion: operator.openshift.io/v1
    kind: IngressController
    metadata: {name: default, namespace: openshift-ingress-operator}
    spec:
      domain: apps.cluster.example
      defaultCertificate: {name: apps}
    ---
    apiVersion: v1
    kind: Secret
    metadata: {name: apps, namespace: openshift-ingress}
    type: kubernetes.io/tls
    data: {tls.crt: "CERTIFICATE(*.apps.cluster.example)", tls.key: "KEY(*.apps.cluster.example)"}
    ```

    ## How to fix

    `oc create secret tls NAME --cert=FILE --key=FILE -n openshift-ingress`, with the leaf first in the file.
    """
    name = subject.object.text(*CERTIFICATE, "name")
    if not name:
        yield from _nameless(subject)
        return
    domain = domain_of(subject.declared, subject.object)
    names = (f"*.{domain}",) if isinstance(domain, str) and domain else ()
    yield from serving_flaws(subject, CERTIFICATE, named_secret(subject, name, ROUTERS), names, types=OPAQUE)
    if isinstance(domain, Missing):
        yield undecided(domain, CERTIFICATE, "whether the certificate covers the domain")
    elif not domain:
        message = "cannot be decided here: whether the certificate covers the domain, for nothing says which it is"
        yield Flaw(message=message, at=CERTIFICATE, verdict="inconclusive")


def _nameless(subject: Subject) -> Iterator[Flaw]:
    """A field that is there counts, and takes the place of the operator's own certificate
    (``RouterEffectiveDefaultCertificateSecretName``)."""
    if isinstance(subject.object.at(*CERTIFICATE), dict):
        yield Flaw(
            message="names no Secret: the router's Deployment would mount one without a name, and is refused",
            at=CERTIFICATE,
            fix=f"{subject.object.reference}: name a Secret of {ROUTERS}, or leave defaultCertificate out",
        )


DEFAULT_CERTIFICATE = ObjectRule(
    id="ingress-default-certificate",
    title="An IngressController's default certificate can be served, and covers its domain",
    severity="high",
    subjects=(INGRESS_CONTROLLER,),
    check=check_certificate,
    reads=(INGRESS_CONFIG, *references.READS),
    references=(
        "openshift/api operator/v1/types_ingress.go (defaultCertificate)",
        "openshift/cluster-ingress-operator pkg/operator/controller/ingress/status.go, deployment.go",
        "RFC 9525, section 6",
    ),
)
