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
    """An IngressController's default certificate can be served, and covers its domain."""
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
    subjects=(INGRESS_CONTROLLER,),
    check=check_certificate,
    reads=(INGRESS_CONFIG, *references.READS),
)
