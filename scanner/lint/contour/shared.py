"""Secrets that are delegated: whether they can be served, and whether anybody and everybody should have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from scanner.kube.kinds import HTTP_PROXY, INGRESS_CLASS, TLS_CERTIFICATE_DELEGATION
from scanner.lint.certificates import chain_of
from scanner.lint.contour import configuration
from scanner.lint.contour.configuration import configurations
from scanner.lint.contour.delegations import REFERENCES
from scanner.lint.contour.secrets import READS, unusable
from scanner.lint.contour.uses import TLS, USERS, of_object
from scanner.lint.references import secret_of
from scanner.model.declared import Declared, Missing
from scanner.model.delegations import EVERYWHERE, Delegation, delegations
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_Users = Mapping[tuple[str | None, str], frozenset[str | None]]
_DELEGATIONS: Final = ("spec", "delegations")
_MOST: Final = 100
"""Namespaces of one delegation that are looked at."""


def check_secret(subject: Subject) -> Iterator[Flaw]:
    """A delegated Secret is there, and holds something that Contour takes.

    ## What it requires

    That the Secret of each delegation exists in the delegation's namespace and holds what can be served or verified
    by: a certificate with its key, or a CA in `ca.crt`, or a revocation list in `crl.pem`.

    ## Why

    Contour decides on the delegation before it looks for the Secret: who refers to it gets an error on the Secret, in
    a namespace into which they cannot look.

    ## What fails

    A Secret that does not exist, or holds none of the three, or a key that is not the certificate's: medium.

    ## What is inconclusive

    Whether it exists, where Secrets were not given.

    ## Example that fails

    ```yaml
    apiVersion: projectcontour.io/v1
    kind: TLSCertificateDelegation
    metadata: {name: wildcards, namespace: certificates}
    spec:
      delegations:
      - {secretName: wildcard, targetNamespaces: [shop]}
    ---
    apiVersion: v1
    kind: Secret
    metadata: {name: wildcard, namespace: certificates}
    type: kubernetes.io/tls
    data: {tls.crt: "CERTIFICATE(*.example.com)", tls.key: "KEY(other.example.com)"}
    ```

    ## Example that passes

    ```yaml
    apiVersion: projectcontour.io/v1
    kind: TLSCertificateDelegation
    metadata: {name: wildcards, namespace: certificates}
    spec:
      delegations:
      - {secretName: wildcard, targetNamespaces: [shop]}
    ---
    apiVersion: v1
    kind: Secret
    metadata: {name: wildcard, namespace: certificates}
    type: kubernetes.io/tls
    data: {tls.crt: "CERTIFICATE(*.example.com)", tls.key: "KEY(*.example.com)"}
    ```

    ## How to fix

    Create or renew the Secret, or remove the delegation.
    """
    for each in delegations(subject.object):
        if each.secret:
            yield from unusable(subject, secret_of(subject, each.secret), (*each.steps, "secretName"))


SECRET_OF_DELEGATION = ObjectRule(
    id="contour-delegation-secret",
    title="A delegated Secret is there and can be used",
    severity="medium",
    subjects=(TLS_CERTIFICATE_DELEGATION,),
    reads=READS,
    check=check_secret,
    references=(*REFERENCES, "Contour internal/dag/secret.go"),
)


def check_broad(subject: Subject) -> Iterator[Flaw]:
    """Only what is meant for all is delegated to all.

    ## What it requires

    That a Secret that is delegated to all namespaces has a certificate with a wildcard name.

    ## Why

    Delegation is for wildcard certificates that several namespaces share. Whoever may create an HTTPProxy anywhere can
    serve a certificate that is delegated to `*` as their own, without ever reading its key: for one host's
    certificate that is one team's name in everybody's hands.

    ## What fails

    A certificate without a wildcard name that is delegated to all namespaces: medium.

    ## What is inconclusive

    What certificate it is, where the Secret was not given or cannot be read.

    ## Example that fails

    ```yaml
    apiVersion: projectcontour.io/v1
    kind: TLSCertificateDelegation
    metadata: {name: pay, namespace: pay}
    spec:
      delegations:
      - {secretName: pay, targetNamespaces: ["*"]}
    ---
    apiVersion: v1
    kind: Secret
    metadata: {name: pay, namespace: pay}
    type: kubernetes.io/tls
    data: {tls.crt: "CERTIFICATE(pay.example.com)", tls.key: "KEY(pay.example.com)"}
    ```

    ## Example that passes

    ```yaml
    apiVersion: projectcontour.io/v1
    kind: TLSCertificateDelegation
    metadata: {name: wildcards, namespace: certificates}
    spec:
      delegations:
      - {secretName: wildcard, targetNamespaces: ["*"]}
    ---
    apiVersion: v1
    kind: Secret
    metadata: {name: wildcard, namespace: certificates}
    type: kubernetes.io/tls
    data: {tls.crt: "CERTIFICATE(*.dev.example.com)", tls.key: "KEY(*.dev.example.com)"}
    ```

    ## How to fix

    Name the namespaces that serve these hosts.
    """
    for each in delegations(subject.object):
        if each.targets == EVERYWHERE and each.secret:
            yield from _for_all(subject, each)


def _for_all(subject: Subject, each: Delegation) -> Iterator[Flaw]:
    at = (*each.steps, "targetNamespaces")
    found = secret_of(subject, each.secret)
    if isinstance(found, Missing):
        if found.gap:
            yield undecided(found, at, "whether the certificate is one that all namespaces may serve")
        return
    leaf = next(iter(chain_of(found)), None)
    if leaf is None:
        return  # a CA or a revocation list, which is public; another rule says what cannot be used
    if leaf.dns_names is None:
        yield Flaw(message=f"the names of {found.reference} cannot be read", at=at, verdict="inconclusive")
    elif not any(name.startswith("*.") for name in leaf.dns_names):
        yield Flaw(
            message=f"{found.reference} is delegated to all namespaces, and its certificate is for no wildcard",
            at=at,
            expected=("the namespaces that serve its hosts",),
            observed=leaf.dns_names[:5],
            fix=f"{subject.object.reference}: name the namespaces that serve these hosts",
            correction='targetNamespaces: ["<namespace>"]',
        )


BROAD = ObjectRule(
    id="contour-delegation-broad",
    title="Only what is meant for all is delegated to all namespaces",
    severity="medium",
    subjects=(TLS_CERTIFICATE_DELEGATION,),
    reads=READS,
    check=check_broad,
    references=(*REFERENCES, "Contour design/tls-certificate-delegation.md, Security Considerations"),
)


def check_unused(subject: Subject) -> Iterator[Flaw]:
    """A delegation is needed by somebody.

    ## What it requires

    That in each namespace to which a Secret is delegated an HTTPProxy, an IngressRoute or an Ingress of Contour refers
    to it; with `*`, in any other namespace.

    ## Why

    What nobody needs any more still lets everybody in that namespace serve the certificate.

    ## What fails

    A namespace from which nothing refers to the Secret: low.

    ## What is inconclusive

    Whether something refers to it, where not all of these kinds were given: informational, once for the object.

    ## Example that fails

    ```yaml
    # All that there is in a cluster:
    apiVersion: projectcontour.io/v1
    kind: TLSCertificateDelegation
    metadata: {name: wildcards, namespace: certificates}
    spec:
      delegations:
      - {secretName: wildcard, targetNamespaces: [shop, blog]}
    ---
    apiVersion: projectcontour.io/v1
    kind: HTTPProxy
    metadata: {name: shop, namespace: shop}
    spec: {virtualhost: {fqdn: shop.example.com, tls: {secretName: certificates/wildcard}}}
    ```

    ## Example that passes

    ```yaml
    # All that there is in a cluster:
    apiVersion: projectcontour.io/v1
    kind: TLSCertificateDelegation
    metadata: {name: wildcards, namespace: certificates}
    spec:
      delegations:
      - {secretName: wildcard, targetNamespaces: [shop]}
    ---
    apiVersion: projectcontour.io/v1
    kind: HTTPProxy
    metadata: {name: shop, namespace: shop}
    spec: {virtualhost: {fqdn: shop.example.com, tls: {secretName: certificates/wildcard}}}
    ```

    ## How to fix

    Leave the namespace out, or remove the delegation.
    """
    users = subject.declared.once(_users)
    idle = [
        (each, index, name)
        for each in delegations(subject.object)
        for index, name in enumerate(each.targets[:_MOST])
        if _is_idle(each, name, users.get((subject.object.namespace, each.secret), frozenset()))
    ]
    unseen = next((kind for kind in (*USERS, *configuration.READS) if subject.declared.gap(kind)), None)
    if idle and unseen:
        missing = Missing(name=f"any other {unseen.name}", gap=subject.declared.gap(unseen))
        said = undecided(missing, _DELEGATIONS, "whether all of these namespaces refer to these Secrets")
        yield replace(said, severity="info")
        return
    for each, index, name in idle:
        yield Flaw(
            message=f"nothing in {'any other namespace' if name == '*' else name} refers to {each.secret}",
            at=(*each.steps, "targetNamespaces", index),
            fix=f"{each.holder.reference}: leave it out",
        )


def _is_idle(each: Delegation, name: str, users: frozenset[str | None]) -> bool:
    """``*`` beside others is another rule's."""
    return not users if each.targets == EVERYWHERE else name != "*" and name not in users


def _users(declared: Declared) -> _Users:
    """By Secret, the other namespaces from which something refers to it."""
    found: dict[tuple[str | None, str], set[str | None]] = {}
    for kind in USERS:
        for user in declared.every(kind):
            for use in of_object(Subject(user, declared)):
                if use.secret.namespace != user.namespace:
                    found.setdefault((use.secret.namespace, use.secret.name), set()).add(user.namespace)
    falling = {each.namespace for each in declared.every(HTTP_PROXY) if each.flag(*TLS, "enableFallbackCertificate")}
    for each in configurations(declared):
        if each.fallback:
            found.setdefault((each.fallback.namespace, each.fallback.name), set()).update(falling)
    return {secret: frozenset(namespaces) for secret, namespaces in found.items()}


UNUSED = ObjectRule(
    id="contour-delegation-unused",
    title="A delegation is needed by somebody",
    severity="low",
    subjects=(TLS_CERTIFICATE_DELEGATION,),
    reads=(*USERS, *configuration.READS, INGRESS_CLASS),
    check=check_unused,
    references=REFERENCES,
)
