"""Hosts and certificates that the Ingress configuration gives to the platform's own Routes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.files.source_positions import Steps
from scanner.kube.ingress import (
    CONFIG_NAMESPACE,
    ComponentRoute,
    Console,
    IngressConfig,
    IngressController,
)
from scanner.kube.kinds import CONSOLE, INGRESS_CONFIG, INGRESS_CONTROLLER
from scanner.lint import references
from scanner.lint.openshift.ingress_controllers import uncovered
from scanner.lint.openshift.serving import OPAQUE, named_secret, serving_flaws
from scanner.model.declared import Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_CONSOLE: Final = ("spec", "route")
_APPS: Final = ("spec", "appsDomain")
_MOST: Final = 50


def check_routes(subject: Subject) -> Iterator[Flaw]:
    """Every host of the Ingress configuration has a certificate that covers it."""
    if subject.object.kind == CONSOLE:
        yield from _console(subject)
        return
    config = IngressConfig.of(subject.object)
    domain = config.domain.lower()
    for each in config.component_routes:
        yield from _route(subject, each, domain)
    apps = config.apps_domain.lower()
    if apps and apps != domain:
        yield from _apps(subject, f"*.{apps}")


def _route(subject: Subject, each: ComponentRoute, domain: str) -> Iterator[Flaw]:
    host = each.hostname.lower()
    if each.secret:
        secret = named_secret(subject, each.secret, CONFIG_NAMESPACE)
        yield from serving_flaws(subject, (*each.steps, "servingCertKeyPairSecret"), secret, (host,) if host else ())
    elif host:
        yield from _bare(host, domain, (*each.steps, "hostname"), "servingCertKeyPairSecret")


def _bare(host: str, domain: str, at: Steps, field: str) -> Iterator[Flaw]:
    if not domain or host.partition(".")[2] != domain:
        yield Flaw(
            message=f"no certificate is set for {host}, and the default one is for *.{domain or 'another domain'}",
            at=at,
            expected=(f"*.{domain}",) if domain else (),
            observed=(host,),
            fix=f"name a Secret of openshift-config in {field}",
        )


def _console(subject: Subject) -> Iterator[Flaw]:
    """The console's host, as its own configuration has it since before ``componentRoutes`` (operator/v1 Console)."""
    found = subject.declared.find(INGRESS_CONFIG, "cluster")
    console = Console.of(subject.object)
    host = console.hostname
    if console.secret:
        secret = named_secret(subject, console.secret, CONFIG_NAMESPACE)
        yield from serving_flaws(subject, (*_CONSOLE, "secret"), secret, (host,) if host else (), types=OPAQUE)
    elif host and isinstance(found, Missing) and found.gap:
        yield undecided(found, (*_CONSOLE, "hostname"), f"whether the default certificate covers {host}")
    elif host:
        domain = "" if isinstance(found, Missing) else IngressConfig.of(found).domain.lower()
        yield from _bare(host.lower(), domain, (*_CONSOLE, "hostname"), "secret")


def _apps(subject: Subject, name: str) -> Iterator[Flaw]:
    declared = subject.declared
    controllers = declared.every(INGRESS_CONTROLLER)
    answers = [uncovered(declared, IngressController.of(each), (name,)) for each in controllers[:_MOST]]
    if any(answer == () for answer in answers):
        return
    unseen = next((answer for answer in answers if isinstance(answer, Missing)), None)
    gap = declared.gap(INGRESS_CONTROLLER) or ("only the first were looked at" if controllers[_MOST:] else None)
    if unseen is None and gap:
        unseen = Missing(name=INGRESS_CONTROLLER.name, gap=gap)
    if unseen is not None:
        yield undecided(unseen, _APPS, f"whether a default certificate covers {name}")
    else:
        message = f"no IngressController has a default certificate for {name}, under which Routes get their hosts"
        fix = "give an IngressController a defaultCertificate with the name"
        yield Flaw(message=message, at=_APPS, severity="medium", fix=fix)


COMPONENT_ROUTES = ObjectRule(
    id="ingress-config-certificate",
    subjects=(INGRESS_CONFIG, CONSOLE),
    check=check_routes,
    reads=(INGRESS_CONTROLLER, *references.READS),
)
