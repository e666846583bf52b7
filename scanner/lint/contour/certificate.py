"""The certificates, CAs and revocation lists to which virtual hosts refer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.lint.certificates import authority_flaws, entry, leaf_flaws, of_text
from scanner.lint.contour import configuration, delegation
from scanner.lint.contour.configuration import Configuration
from scanner.lint.contour.delegation import permission
from scanner.lint.contour.secrets import READS, revoking, serving, verifying
from scanner.lint.contour.uses import USERS, Use, of_object
from scanner.lint.references import mend, name_flaws, secret_of
from scanner.model.declared import Missing
from scanner.model.kinds import HTTP_PROXY, INGRESS, INGRESS_CLASS, SECRET
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_CERTIFICATE: Final = "the certificate"
_READS: Final = (*READS, *delegation.READS, INGRESS_CLASS)


def _looked_up(subject: Subject, use: Use) -> Missing | None:
    """Why nothing can be said of the Secret: what is not delegated is another rule's, and shows nothing of it."""
    if permission(subject.declared, subject.object, use.secret).allowed is False:
        return Missing(name=str(use.secret))
    return None


def check_certificate(subject: Subject) -> Iterator[Flaw]:
    """A virtual host's certificate can be served, and is for its host.

    ## What it requires

    That the Secret to which an HTTPProxy or IngressRoute refers, or an Ingress of Contour in another namespace, exists,
    is of type `kubernetes.io/tls` or `Opaque`, and has a certificate in `tls.crt` and its key in `tls.key`; that the
    certificate covers the host, is valid now, is for servers, and neither weak nor a CA. But for hosts, the same of
    the fallback certificate in Contour's configuration, and of the certificate that Envoy shows to services, which is
    for clients.

    ## Why

    Contour looks at the type and whether the PEM can be read, and at nothing else: not at the key, not at names, not at
    dates. A key of another certificate is refused by Envoy, which keeps what it had; a wrong name or an expired
    certificate is served.

    ## What fails

    Each of these: high; weak keys and signatures, a CA as leaf and a certificate that is not for servers: medium.

    ## What is inconclusive

    A Secret that was not given, and a certificate of which one of these cannot be read.

    ## Example that fails

    ```yaml
    apiVersion: projectcontour.io/v1
    kind: HTTPProxy
    metadata: {name: shop, namespace: shop}
    spec: {virtualhost: {fqdn: shop.example.com, tls: {secretName: shop}}}
    ---
    apiVersion: v1
    kind: Secret
    metadata: {name: shop, namespace: shop}
    type: kubernetes.io/tls
    data: {tls.crt: "CERTIFICATE(blog.example.com)", tls.key: "KEY(blog.example.com)"}
    ```

    ## Example that passes

    ```yaml
    apiVersion: projectcontour.io/v1
    kind: HTTPProxy
    metadata: {name: shop, namespace: shop}
    spec: {virtualhost: {fqdn: shop.example.com, tls: {secretName: shop}}}
    ---
    apiVersion: v1
    kind: Secret
    metadata: {name: shop, namespace: shop}
    type: kubernetes.io/tls
    data: {tls.crt: "CERTIFICATE(shop.example.com)", tls.key: "KEY(shop.example.com)"}
    ```

    ## How to fix

    Put a certificate for the host and its key into the Secret, or refer to the right one.
    """
    configured = configuration.of_object(subject.object)
    if configured:
        yield from _of_all(subject, configured)
    for use in of_object(subject) if subject.object.kind in USERS else ():
        if use.what == _CERTIFICATE and not _looked_up(subject, use) and not _ordinary(subject, use):
            yield from _served(subject, use)


def _ordinary(subject: Subject, use: Use) -> bool:
    """An Ingress with a Secret of its own namespace is judged as any other Ingress."""
    return subject.object.kind == INGRESS and use.secret.namespace == subject.object.namespace


def _of_all(subject: Subject, configured: Configuration) -> Iterator[Flaw]:
    secrets = (configured.fallback, configured.client)
    for secret, steps, usage in zip(secrets, configured.secret_steps, ("serverAuth", "clientAuth"), strict=True):
        if secret is not None:
            yield from _served(subject, Use(steps=steps, secret=secret, what=_CERTIFICATE), usage)


def _served(subject: Subject, use: Use, usage: str = "serverAuth") -> Iterator[Flaw]:
    found = secret_of(subject, use.secret.name, use.secret.namespace)
    yield from serving(subject, found, use.steps)
    if not isinstance(found, Missing):
        fix = f"{mend(subject.declared, found.name, found.namespace)}: renew it"
        yield from name_flaws(found, use.hosts, use.steps, fix=fix)
        yield from leaf_flaws(found, use.steps, subject.declared.known.taken_at, usage=usage, fix=fix)


CERTIFICATE = ObjectRule(
    id="contour-certificate",
    title="A virtual host's certificate can be served, and is for its host",
    severity="high",
    subjects=(*USERS, *configuration.READS),
    reads=_READS,
    check=check_certificate,
    references=("Contour internal/dag/secret.go", "projectcontour.io/v1 HTTPProxy spec.virtualhost.tls.secretName"),
)


def check_authority(subject: Subject) -> Iterator[Flaw]:
    """CAs and revocation lists to which an HTTPProxy refers are there.

    ## What it requires

    That each Secret of a `caSecret` (of clients, of services, of a JWKS) has a certificate in PEM in `ca.crt`, each of
    them a CA and valid now; and that of a `crlSecret` a list in `crl.pem`.

    ## Why

    Without the CA Contour refuses the HTTPProxy. Contour looks only whether there is some PEM: a leaf in place of the
    CA, or a CA that has expired, is handed to Envoy, and then no client and no service is accepted any more.

    ## What fails

    Each of these: high.

    ## What is inconclusive

    A Secret that was not given, and a certificate of which one of these cannot be read. How old the revocation list is
    cannot be told: of a Secret adhere keeps certificates alone.

    ## Example that fails

    ```yaml
    apiVersion: projectcontour.io/v1
    kind: HTTPProxy
    metadata: {name: shop, namespace: shop}
    spec: {virtualhost: {fqdn: shop.example.com, tls: {secretName: shop, clientValidation: {caSecret: clients}}}}
    ---
    apiVersion: v1
    kind: Secret
    metadata: {name: clients, namespace: shop}
    type: Opaque
    data: {ca.crt: "CERTIFICATE(shop.example.com)"}
    ```

    ## Example that passes

    ```yaml
    apiVersion: projectcontour.io/v1
    kind: HTTPProxy
    metadata: {name: shop, namespace: shop}
    spec: {virtualhost: {fqdn: shop.example.com, tls: {secretName: shop, clientValidation: {caSecret: clients}}}}
    ---
    apiVersion: v1
    kind: Secret
    metadata: {name: clients, namespace: shop}
    type: Opaque
    stringData: {ca.crt: CA(clients)}
    ```

    ## How to fix

    Put the CA's certificate into `ca.crt`, and the list into `crl.pem`.
    """
    for use in of_object(subject):
        if use.what != _CERTIFICATE and not _looked_up(subject, use):
            yield from _trusted(subject, use)


def _trusted(subject: Subject, use: Use) -> Iterator[Flaw]:
    found = secret_of(subject, use.secret.name, use.secret.namespace)
    if use.steps[-1] == "crlSecret":
        yield from revoking(found, use.steps)
        return
    yield from verifying(found, use.steps, use.what)
    if not isinstance(found, Missing) and of_text(entry(found, "ca.crt") or ""):
        yield from authority_flaws(found, use.steps, subject.declared.known.taken_at)


AUTHORITY = ObjectRule(
    id="contour-ca",
    title="CAs and revocation lists to which an HTTPProxy refers are there",
    severity="high",
    subjects=(HTTP_PROXY,),
    reads=(*_READS, SECRET),
    check=check_authority,
    references=(
        "Contour internal/dag/secret.go (validCASecret, validCRLSecret)",
        "projectcontour.io/v1 HTTPProxy spec.virtualhost.tls.clientValidation",
    ),
)
