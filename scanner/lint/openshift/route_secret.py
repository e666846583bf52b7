"""The Secret that a Route takes its certificate from."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.kube.kinds import ROUTE
from scanner.lint import references
from scanner.lint.certificates import broken_flaws, called, chain_of, entry
from scanner.lint.openshift.routes import EXTERNAL, KEYS, beside_key, external, rejected_signature, unrecognized
from scanner.lint.references import mend, secret_flaws, secret_of
from scanner.model.declared import Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided
from scanner.tls.certificate import CertificateFacts


def check_secret(subject: Subject) -> Iterator[Flaw]:
    """A Route's external certificate can be served.

    ## What it requires

    The Secret that `spec.tls.externalCertificate` names is in the Route's namespace, of type `kubernetes.io/tls`, and
    has a certificate in `tls.crt` whose key is in `tls.key`. `stringData` counts as `data`. The key is RSA or ECDSA,
    and no certificate that a CA signed is signed with SHA-1 or MD5. `tls.key` holds the key alone, no certificate
    beside it, and `tls.crt` no block in PEM that the router does not know.

    ## Why

    The API server refuses the Route, or the router rejects it later: then handshakes for its host still succeed, with
    the router's default certificate, and the answer is 503. The API server looks at existence and type only; what is
    inside the Secret only the router reads.

    ## What fails

    Any of it: high. Where a cert-manager Certificate keeps the Secret, the fix names it.

    ## What is inconclusive

    A Secret that was not given, or of a cluster without `--secrets`.

    ## Example that fails

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
    type: Opaque
    data: {tls.crt: CERTIFICATE(web.shop.example), tls.key: KEY(other.example)}
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

    `oc create secret tls NAME --cert=FILE --key=FILE` in the Route's namespace, or let cert-manager make it.
    """
    name = external(subject.object)
    if not name:
        return
    secret = secret_of(subject, name)
    yield from secret_flaws(subject.declared, secret, EXTERNAL)
    if isinstance(secret, Missing):
        return
    chain, keeper = chain_of(secret), mend(subject.declared, name, subject.object.namespace)
    yield from broken_flaws(secret, chain, EXTERNAL)
    for entry_, says in (("tls.key", beside_key(secret)), ("tls.crt", unrecognized(entry(secret, "tls.crt") or ""))):
        if says:
            fix = f"{keeper}: keep nothing else in {entry_}"
            yield Flaw(message=f"{secret.reference}: the router rejects {entry_}: {says}", at=EXTERNAL, fix=fix)
    for place, each in enumerate(chain):
        for message in _rejected(each, leaf=place == 0):
            fix = f"{keeper}: another certificate"
            yield Flaw(message=f"{secret.reference}: {called(each)} {message}", at=EXTERNAL, fix=fix)


def _rejected(certificate: CertificateFacts, *, leaf: bool) -> Iterator[str]:
    """What the router takes of no Route, in its words where it has some."""
    algorithm = certificate.key_algorithm
    if leaf and algorithm is not None and algorithm not in KEYS:
        yield f"has an {algorithm} key, which the router does not take: block private key is not valid"
    if says := rejected_signature(certificate):
        yield f"is rejected: {says}"


def check_chain(subject: Subject) -> Iterator[Flaw]:
    """The Secret of a Route's external certificate holds one serving certificate.

    ## What it requires

    That `tls.crt` has one certificate and no CA's, and that nothing depends on the Secret's `ca.crt`.

    ## Why

    The API asks for a single serving certificate without a chain or CA (openshift/api, `externalCertificate`). The
    router does not read `ca.crt`, and cannot be given a `caCertificate` by a Secret: who counts on it for the chain
    that clients get will miss it.

    ## What fails

    A second certificate in `tls.crt`: low, since routers of today serve it along. A `ca.crt`: informational, because
    cert-manager always writes one.

    ## What is inconclusive

    A Secret that was not given, as information only: that it must be there is `route-external-secret`'s.

    ## Example that fails

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
    data: {tls.crt: CERTIFICATE(web.shop.example), tls.key: KEY(web.shop.example), ca.crt: CERTIFICATE(ca.example)}
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

    Keep the leaf alone in `tls.crt`. Where clients need an intermediate, use `certificate` and `caCertificate` in the
    Route, or accept that this is not what the API promises.
    """
    secret = secret_of(subject, name) if (name := external(subject.object)) else None
    if isinstance(secret, Missing) and secret.gap and not secret.promised:
        yield _only_known(undecided(secret, EXTERNAL, "whether it holds one certificate"))
    if secret is None or isinstance(secret, Missing):
        return
    behind = chain_of(secret)[1:]
    if behind:
        what = "a CA's" if any(each.is_ca for each in behind) else "another"
        yield Flaw(
            message=f"{secret.reference} has {what} certificate behind the leaf, and the API asks for one alone",
            at=EXTERNAL,
            fix=f"{mend(subject.declared, secret.name, secret.namespace)}: keep the leaf alone where clients know its "
            "issuer; else give certificate, key and caCertificate in the Route, so that intermediates are served",
            evidence=tuple(called(each) for each in behind[:5]),
        )
    if entry(secret, "ca.crt"):
        yield Flaw(
            message=f"{secret.reference} has a ca.crt, which the router does not read",
            at=EXTERNAL,
            severity="info",
            status="informational",
        )


def _only_known(flaw: Flaw) -> Flaw:
    """The same as information: another rule counts it."""
    return Flaw(message=flaw.message, at=flaw.at, verdict=flaw.verdict, severity="info")


_ENHANCEMENT = "Enhancement 'Route Secret Injection For External Certificate Management'"
_ROUTER = "openshift/router pkg/router/routeapihelpers/validation.go (ExtendedValidateRoute)"

SECRET = ObjectRule(
    id="route-external-secret",
    title="A Route's external certificate can be served",
    severity="high",
    subjects=(ROUTE,),
    check=check_secret,
    reads=references.READS,
    references=(f"{_ENHANCEMENT}, Implementation Details", _ROUTER),
)
CHAIN = ObjectRule(
    id="route-external-chain",
    title="The Secret of a Route holds one serving certificate",
    severity="low",
    subjects=(ROUTE,),
    check=check_chain,
    reads=references.READS,
    references=("openshift/api route/v1/types.go (externalCertificate)", f"{_ENHANCEMENT}, API Extensions"),
)
