"""TLS to the services behind an HTTPProxy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.files.source_positions import Steps
from scanner.kube.kinds import HTTP_PROXY, SERVICE
from scanner.kube.objects import Fields, KubeObject
from scanner.lint.contour.uses import services
from scanner.model.declared import Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_WITH_TLS: Final = ("tls", "h2")
_ANNOTATION: Final = "projectcontour.io/upstream-protocol."
_FORMER: Final = "contour.heptio.com/upstream-protocol."
_PROTOCOLS: Final = ("tls", "h2", "h2c")


def _ports(service: KubeObject) -> dict[str, set[str]]:
    """By what names a port in an annotation: the port's number and its name."""
    return {
        text: {text, each.text("name"), str(each.number("port"))}
        for each in service.each("spec", "ports")
        for text in (each.text("name"), str(each.number("port")))
        if text
    }


def _annotated(service: KubeObject, port: int | None) -> str:
    """The protocol that the Service's annotations give a port; "" for plain HTTP."""
    names = _ports(service).get(str(port), {str(port)})
    for protocol in _PROTOCOLS:
        said = service.annotations.get(_ANNOTATION + protocol, "")
        if names & {each.strip() for each in said.split(",")} - {""}:
            return protocol
    return ""


def _protocol(subject: Subject, each: Fields) -> str | Missing:
    """What Contour speaks to a service: its own field counts, then the Service's annotation."""
    if each.text("protocol"):
        return each.text("protocol")
    service = subject.find(SERVICE, each.text("name"))
    return service if isinstance(service, Missing) else _annotated(service, each.number("port"))


def check_ignored(subject: Subject) -> Iterator[Flaw]:
    """Verification of a service is not ignored."""
    for steps, each in services(subject):
        if not each.fields("validation").raw:
            continue
        protocol = _protocol(subject, each)
        if isinstance(protocol, Missing):
            # A Service that does not exist gets no requests; that is not this rule's to say.
            if protocol.gap:
                yield undecided(protocol, (*steps, "validation"), "whether TLS is spoken to this service")
        elif protocol not in _WITH_TLS:
            yield _plain(subject, steps, protocol)


def _plain(subject: Subject, steps: Steps, protocol: str) -> Flaw:
    return Flaw(
        message=f"validation has no effect: {protocol or 'plain HTTP'} is spoken to this service",
        at=(*steps, "validation"),
        expected=_WITH_TLS,
        observed=(protocol or "no protocol",),
        fix=f"{subject.object.reference}: set protocol to tls or h2",
        correction="protocol: tls",
    )


IGNORED = ObjectRule(
    id="contour-upstream-validation",
    subjects=(HTTP_PROXY,),
    reads=(SERVICE,),
    check=check_ignored,
)


def check_unverified(subject: Subject) -> Iterator[Flaw]:
    """A service to which TLS is spoken is verified."""
    for steps, each in services(subject):
        if _protocol(subject, each) in _WITH_TLS and not each.fields("validation").raw:
            yield Flaw(
                message="TLS is spoken to this service, and its certificate is verified by nobody",
                at=steps,
                fix=f"{subject.object.reference}: add validation with caSecret and subjectName",
                correction="validation:\n  caSecret: <name>\n  subjectName: <name in the certificate>",
            )


UNVERIFIED = ObjectRule(
    id="contour-upstream-unverified",
    subjects=(HTTP_PROXY,),
    reads=(SERVICE,),
    check=check_unverified,
)


def check_annotation(subject: Subject) -> Iterator[Flaw]:
    """Protocols that a Service's annotations give are for ports that it has."""
    ports = _ports(subject.object)
    for name, said in subject.object.annotations.items():
        at = ("metadata", "annotations", name)
        if name.startswith(_FORMER):
            yield Flaw(
                message="no Contour since 1.11 reads this annotation",
                at=at,
                fix=f"{subject.object.reference}: write it as {_ANNOTATION}{name.removeprefix(_FORMER)}",
            )
        elif name.startswith(_ANNOTATION):
            unknown = [each for each in (part.strip() for part in said.split(",")[:100]) if each and each not in ports]
            if unknown:
                yield Flaw(
                    message=f"the Service has no port {', '.join(unknown[:10])}: nothing is said of any other",
                    at=at,
                    expected=tuple(ports)[:20],
                    observed=tuple(unknown[:20]),
                    fix=f"{subject.object.reference}: name ports of the Service",
                )


ANNOTATION = ObjectRule(
    id="contour-upstream-annotation",
    subjects=(SERVICE,),
    check=check_annotation,
)
