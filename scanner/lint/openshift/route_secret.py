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
    """A Route's external certificate can be served."""
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
    """The Secret of a Route's external certificate holds one serving certificate."""
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


SECRET = ObjectRule(
    id="route-external-secret",
    subjects=(ROUTE,),
    check=check_secret,
    reads=references.READS,
)
CHAIN = ObjectRule(
    id="route-external-chain",
    subjects=(ROUTE,),
    check=check_chain,
    reads=references.READS,
)
