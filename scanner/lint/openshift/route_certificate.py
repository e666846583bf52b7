"""The certificate that a Route brings, wherever it stands: whether clients take it."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.kube.kinds import ROUTE
from scanner.kube.objects import KubeObject
from scanner.lint import references
from scanner.lint.certificates import leaf_flaws
from scanner.lint.openshift.routes import hosts, served
from scanner.lint.references import mend, name_flaws
from scanner.model.object_rule import Flaw, ObjectRule, Subject


def check_certificate(subject: Subject) -> Iterator[Flaw]:
    """A Route's certificate is one that clients take.

    ## What it requires

    Of the certificate that a Route brings, in its own `certificate` or in the Secret of `externalCertificate`: that it
    is valid now, a leaf for servers and no CA, with an RSA key of 2048 bits or more or another that is as strong, and
    not signed with SHA-1 or MD5.

    ## Why

    Nobody else asks: the API server does not read certificates, and the router tolerates one that has ended or is a
    CA's, so that the first to notice are the clients.

    ## What fails

    A certificate that has ended, or not begun: high. The others: medium.

    ## What is inconclusive

    A field of the certificate that cannot be read. A Secret that was not given is `route-external-secret`'s.

    ## Example that fails

    ```yaml
    apiVersion: route.openshift.io/v1
    kind: Route
    metadata: {name: web, namespace: shop}
    spec:
      host: web.shop.example
      to: {kind: Service, name: web}
      tls:
        termination: edge
        certificate: PEM_EXPIRED(web.shop.example)
        key: PEM_KEY(web.shop.example)
    ```

    ## Example that passes

    ```yaml
    apiVersion: route.openshift.io/v1
    kind: Route
    metadata: {name: web, namespace: shop}
    spec:
      host: web.shop.example
      to: {kind: Service, name: web}
      tls: {termination: edge, externalCertificate: {name: web}}
    ---
    apiVersion: v1
    kind: Secret
    metadata: {name: web, namespace: shop}
    type: kubernetes.io/tls
    data: {tls.crt: CERTIFICATE(web.shop.example), tls.key: KEY(web.shop.example)}
    ```

    ## How to fix

    Renew it, in the Route or in the Secret; where cert-manager keeps the Secret, by its Certificate.
    """
    found = served(subject)
    if found is not None:
        holder, at = found
        now = subject.declared.known.taken_at
        yield from leaf_flaws(holder, at, now, fix=f"{_where(subject, holder)}: replace the certificate")


def _where(subject: Subject, holder: KubeObject) -> str:
    if holder.kind == ROUTE:
        return str(holder.reference)
    return mend(subject.declared, holder.name, holder.namespace)


def check_host(subject: Subject) -> Iterator[Flaw]:
    """A Route's certificate covers its host.

    ## What it requires

    A subject alternative name of the certificate matches `spec.host`, and every host under which a router has admitted
    the Route; with `wildcardPolicy: Subdomain` the whole subdomain. The common name does not count (RFC 9525).

    ## Why

    Neither the API server nor the router compares them: the router chooses a certificate by the Route's host, whatever
    stands in it, and clients refuse the connection.

    ## What fails

    A host that is not covered: medium.

    ## What is inconclusive

    Names that cannot be read. A Secret that was not given is `route-external-secret`'s.

    ## Example that fails

    ```yaml
    apiVersion: route.openshift.io/v1
    kind: Route
    metadata: {name: web, namespace: shop}
    spec:
      host: web.shop.example
      to: {kind: Service, name: web}
      tls: {termination: reencrypt, certificate: PEM(shop.example), key: PEM_KEY(shop.example)}
    ```

    ## Example that passes

    ```yaml
    apiVersion: route.openshift.io/v1
    kind: Route
    metadata: {name: web, namespace: shop}
    spec:
      host: web.shop.example
      to: {kind: Service, name: web}
      tls: {termination: reencrypt, certificate: PEM(*.shop.example), key: PEM_KEY(*.shop.example)}
    ```

    ## How to fix

    Get a certificate with the host's name, or leave the certificate out where the router's default one covers it.
    """
    found = served(subject)
    if found is not None:
        holder, at = found
        yield from name_flaws(
            holder, hosts(subject.object), at, fix=f"{_where(subject, holder)}: a certificate with these names"
        )


_ROUTER = "openshift/router pkg/router/routeapihelpers/validation.go (ExtendedValidateRoute)"

CERTIFICATE = ObjectRule(
    id="route-certificate",
    title="A Route's certificate is one that clients take",
    severity="medium",
    subjects=(ROUTE,),
    check=check_certificate,
    reads=references.READS,
    references=("RFC 5280, sections 4.1.2.5 and 4.2.1", _ROUTER),
)
HOST = ObjectRule(
    id="route-certificate-host",
    title="A Route's certificate covers its host",
    severity="medium",
    subjects=(ROUTE,),
    check=check_host,
    reads=references.READS,
    references=("RFC 9525, section 6", _ROUTER),
)
