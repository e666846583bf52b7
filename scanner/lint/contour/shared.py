"""Secrets that are delegated: whether they can be served, and whether all namespaces should have them."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.kube.kinds import TLS_CERTIFICATE_DELEGATION
from scanner.lint.certificates import chain_of
from scanner.lint.contour.delegations import REFERENCES, is_name
from scanner.lint.contour.secrets import READS, unusable
from scanner.lint.references import secret_of
from scanner.model.declared import Missing
from scanner.model.delegations import EVERYWHERE, Delegation, delegations
from scanner.model.located import shown
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided


def check_secret(subject: Subject) -> Iterator[Flaw]:
    """A delegated Secret is there, and holds something that Contour takes.

    ## What it requires

    That the Secret of each delegation is named by its name alone, exists in the delegation's namespace, and holds a
    certificate with its key, or a CA in `ca.crt`, or a revocation list in `crl.pem`.

    ## Why

    Contour looks for the Secret in the object's own namespace, and no reference matches `namespace/secret`, `*` or
    nothing in `secretName`. It decides on the delegation before it looks for the Secret: who refers to it gets an
    error on the Secret, in a namespace into which they cannot look.

    ## What fails

    A `secretName` that is no Secret's name, a Secret that does not exist or holds none of the three, or a key that is
    not the certificate's: medium.

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

    ```yaml
    apiVersion: projectcontour.io/v1
    kind: TLSCertificateDelegation
    metadata: {name: wildcards, namespace: certificates}
    spec:
      delegations:
      - {secretName: certificates/wildcard, targetNamespaces: [shop]}
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
        if is_name(each.secret):
            yield from unusable(subject, secret_of(subject, each.secret), (*each.steps, "secretName"))
        else:
            yield _misnamed(each)


def _misnamed(each: Delegation) -> Flaw:
    plain = each.secret.rpartition("/")[2].replace("*", "") or "<name>"
    return Flaw(
        message=f"secretName {shown(each.secret)} is no Secret's name, and no reference matches it",
        at=(*each.steps, "secretName"),
        expected=("the name of a Secret in this namespace",),
        observed=(each.secret,),
        fix=f"{each.holder.reference}: name the Secret without a namespace",
        correction=f"secretName: {plain}",
    )


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
        if each.targets == EVERYWHERE and is_name(each.secret):
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
