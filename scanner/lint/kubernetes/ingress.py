"""Ingresses: the certificates of their hosts, and hosts without one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from scanner.kube import references
from scanner.kube.kinds import INGRESS, INGRESS_CLASS
from scanner.kube.objects import KubeObject
from scanner.kube.references import TLS_CERT_NAMESPACE, ingress_class, links
from scanner.lint.certificates import leaf_flaws
from scanner.lint.contour.uses import is_contours
from scanner.lint.kubernetes.cert_manager import ISSUED_BY
from scanner.lint.references import READS, mend, name_flaws, readable, secret_flaws, secret_of
from scanner.model.declared import Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided


def check_certificate(subject: Subject) -> Iterator[Flaw]:
    """The certificates of an Ingress can be served, and are for its hosts.

    ## What it requires

    That each Secret in `spec.tls` exists, is of type `kubernetes.io/tls`, has a certificate and its key, and that the
    certificate covers the entry's `hosts`, is valid now, is for servers, and neither weak nor a CA. An entry without
    `secretName` is served with the controller's own certificate, and is not judged here.

    ## Why

    What an Ingress controller does without the Secret differs: most serve a certificate of their own, which no client
    accepts, and some the hosts without TLS. None of them says so in the Ingress.

    ## What fails

    Each of these: high; weak keys and signatures, a CA as leaf and a certificate that is not for servers: medium.

    ## What is inconclusive

    A Secret that was not given, unless cert-manager makes it by a Certificate or an annotation among the manifests; one
    that cert-manager has yet to make in a cluster; and a certificate of which one of these cannot be read.
    The annotation `projectcontour.io/tls-cert-namespace`, which only Contour reads, where the IngressClass was not
    given, does not have `contour` in its name and is not one of another controller, such as `nginx`.

    ## Example that fails

    ```yaml
    apiVersion: networking.k8s.io/v1
    kind: Ingress
    metadata: {name: shop, namespace: shop}
    spec: {tls: [{hosts: [shop.example.com, pay.example.com], secretName: shop}]}
    ---
    apiVersion: v1
    kind: Secret
    metadata: {name: shop, namespace: shop}
    type: kubernetes.io/tls
    data: {tls.crt: "CERTIFICATE(shop.example.com)", tls.key: "KEY(shop.example.com)"}
    ```

    ## Example that passes

    ```yaml
    apiVersion: networking.k8s.io/v1
    kind: Ingress
    metadata: {name: shop, namespace: shop}
    spec: {tls: [{hosts: [shop.example.com], secretName: shop}]}
    ---
    apiVersion: v1
    kind: Secret
    metadata: {name: shop, namespace: shop}
    type: kubernetes.io/tls
    data: {tls.crt: "CERTIFICATE(shop.example.com)", tls.key: "KEY(shop.example.com)"}
    ```

    ## How to fix

    Put a certificate for all hosts of the entry and its key into the Secret, or refer to the right one.
    """
    yield from _elsewhere(subject)
    for link in links(subject.object, contours=is_contours(subject.declared, subject.object)):
        if link.grant or "/" in link.name:
            continue  # in another namespace: ``contour-certificate``; no name of a Secret: ``contour-ingress-slash``
        at, found = link.steps, _made(subject.object, secret_of(subject, link.name))
        yield from secret_flaws(subject.declared, found, at)
        if not isinstance(found, Missing):
            keeper = mend(subject.declared, found.name, found.namespace)
            if readable(found):
                fix, hosts = f"{keeper}: a certificate with these names", link.beside.texts("hosts")
                yield from name_flaws(found, hosts, at, fix=fix)
            now, fix = subject.declared.known.taken_at, f"{keeper}: replace the certificate"
            yield from leaf_flaws(found, at, now, fix=fix)


def _elsewhere(subject: Subject) -> Iterator[Flaw]:
    """That its class may be Contour's, which looks for its Secrets in the namespace that an annotation names."""
    at = ("metadata", "annotations", TLS_CERT_NAMESPACE)
    found = subject.find(INGRESS_CLASS, ingress_class(subject.object)) if subject.object.has(*at) else None
    if isinstance(found, Missing) and found.gap and references.is_contours(subject.object, None) is None:
        yield undecided(found, at, "whether its Secrets are in the namespace that this annotation names")


def _made(ingress: KubeObject, found: KubeObject | Missing) -> KubeObject | Missing:
    """A Secret that an annotation has made is not missing before the Ingress is there."""
    issuer = next((each for each in ISSUED_BY if ingress.annotations.get(each)), None)
    if isinstance(found, Missing) and found.gap is None and issuer:
        return replace(found, gap=f"cert-manager makes it ({issuer})")
    return found


CERTIFICATE = ObjectRule(
    id="ingress-certificate",
    title="The certificates of an Ingress can be served, and are for its hosts",
    severity="high",
    subjects=(INGRESS,),
    reads=(*READS, INGRESS_CLASS),
    check=check_certificate,
    references=("networking.k8s.io/v1 Ingress spec.tls", "RFC 9525 section 6"),
)


def check_hosts(subject: Subject) -> Iterator[Flaw]:
    """Every host of an Ingress has TLS.

    ## What it requires

    That the host of each rule is among the `hosts` of an entry of `spec.tls`, or matched by a wildcard there, or that
    an entry has no hosts and holds for all. Contour takes a wildcard for that name alone.

    ## Why

    A rule whose host is in no entry is served without TLS, and with the Ingress's other hosts it looks as if it had
    some. A rule without a host takes every name, also those for which there is no certificate, and so does a
    `defaultBackend`.

    ## What fails

    A host in no entry beside hosts with TLS: medium. An Ingress without TLS at all, once: low, as for Routes,
    HTTPProxies and routes of the Gateway API.

    ## What is inconclusive

    Nothing: all of it stands in the object.

    ## Example that fails

    ```yaml
    apiVersion: networking.k8s.io/v1
    kind: Ingress
    metadata: {name: shop, namespace: shop}
    spec:
      tls: [{hosts: [shop.example.com], secretName: shop}]
      rules: [{host: shop.example.com}, {host: admin.example.com}]
    ```

    ## Example that passes

    ```yaml
    apiVersion: networking.k8s.io/v1
    kind: Ingress
    metadata: {name: shop, namespace: shop}
    spec:
      tls: [{hosts: [shop.example.com, "*.admin.example.com"], secretName: shop}]
      rules: [{host: shop.example.com}, {host: eu.admin.example.com}]
    ```

    ## How to fix

    Add the host to an entry of `spec.tls` whose certificate covers it.
    """
    entries = [each for _, each in subject.items("spec", "tls")]
    if any(not each.at("hosts") for each in entries):
        return
    rules = subject.object.has("spec", "defaultBackend") or subject.object.at("spec", "rules")
    if not entries:
        if rules:
            yield Flaw(
                message="is served without TLS: it has no spec.tls",
                at=("spec", "tls"),
                severity="low",
                fix=f"{subject.object.reference}: add spec.tls",
                correction="tls:\n- hosts: [<host>]\n  secretName: <name>",
            )
        return
    named = {host.lower() for each in entries for host in each.texts("hosts")}
    exact = is_contours(subject.declared, subject.object)
    for steps, rule in subject.items("spec", "rules"):
        host = rule.text("host").lower()
        wildcard = f"*.{host.partition('.')[2]}"
        if host not in named and (exact or wildcard not in named):
            called = host or "every host that no rule names"
            yield Flaw(
                message=f"{called} is served without TLS: it is in no entry of spec.tls",
                at=(*steps, "host"),
                fix=f"{subject.object.reference}: add it to spec.tls",
                correction=f"tls:\n- hosts: [{host or '<host>'}]\n  secretName: <name>",
            )


HOSTS = ObjectRule(
    id="ingress-plaintext-host",
    title="Every host of an Ingress has TLS",
    severity="medium",
    subjects=(INGRESS,),
    reads=(INGRESS_CLASS,),
    check=check_hosts,
    references=("networking.k8s.io/v1 Ingress spec.tls.hosts, spec.rules.host",),
)
