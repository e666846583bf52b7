"""The profile that an APIServer hands on to its IngressControllers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

from scanner.kube.kinds import API_SERVER, INGRESS_CONTROLLER
from scanner.kube.objects import KubeObject
from scanner.model.custom_profile import VERSIONS
from scanner.model.declared import Missing
from scanner.model.ingress_admission import refusals
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_PROFILE: Final = ("spec", "tlsSecurityProfile")
_SPEC: Final = ("spec",)
_MODERN: Final = "tlsSecurityProfile:\n  type: Modern\n  modern: {}"
_MOST: Final = 50


def check_inherited(subject: Subject) -> Iterator[Flaw]:
    """An IngressController can take the profile that it inherits.

    ## What it requires

    Where an IngressController has no profile of its own, the APIServer's is none that the API server takes and the
    ingress operator does not: Custom with VersionTLS13, Custom without `minTLSVersion`, and Custom with something in
    `ciphers` that does not look like a name.

    ## Why

    The enhancement lets an IngressController without a profile inherit the APIServer's, and its operator looks at what
    is inherited as at its own. An APIServer with VersionTLS13 must not list ciphers, because Go's servers do not choose
    among those of TLS 1.3; HAProxy does choose, so the operator refuses an empty list. It refuses a profile without
    `minTLSVersion`, too, which Go's servers read as VersionTLS12. An IngressController that inherits is then not
    admitted; its router keeps the configuration that it had, and only a condition says so.

    ## What fails

    The two together: high, at the object that was given.

    ## What is inconclusive

    The other object, where it was not given.

    ## Example that fails

    ```yaml
    apiVersion: config.openshift.io/v1
    kind: APIServer
    metadata: {name: cluster}
    spec:
      tlsSecurityProfile: {type: Custom, custom: {minTLSVersion: VersionTLS13}}
    ---
    apiVersion: operator.openshift.io/v1
    kind: IngressController
    metadata: {name: default, namespace: openshift-ingress-operator}
    spec: {replicas: 2}
    ```

    ## Example that passes

    ```yaml
    apiVersion: config.openshift.io/v1
    kind: APIServer
    metadata: {name: cluster}
    spec:
      tlsSecurityProfile: {type: Custom, custom: {minTLSVersion: VersionTLS13}}
    ---
    apiVersion: operator.openshift.io/v1
    kind: IngressController
    metadata: {name: default, namespace: openshift-ingress-operator}
    spec:
      tlsSecurityProfile: {type: Modern, modern: {}}
    ```

    ## How to fix

    Give the IngressController a profile of its own, Modern, or choose Modern for the APIServer.
    """
    if subject.object.kind == API_SERVER:
        yield from _handed_on(subject)
    elif _inherits(subject.object):
        yield from _taken(subject)


def _inherits(controller: KubeObject) -> bool:
    """Without a type it is as if it had none (cluster-ingress-operator ``hasTLSSecurityProfile``)."""
    return not controller.text(*_PROFILE, "type")


class _Conflict(NamedTuple):
    """Why a router's operator does not take a profile that the API server does."""

    why: str
    fix: str
    """What to do in the APIServer."""
    correction: str


def _conflict(server: KubeObject) -> _Conflict | None:
    custom = server.fields(*_PROFILE, "custom")
    if server.text(*_PROFILE, "type") != "Custom":
        return None
    names, alone = custom.texts("ciphers"), custom.text("minTLSVersion") == VERSIONS[-1]
    if bool(names) == alone:
        return None  # the API server refuses it: no ciphers, or some with VersionTLS13
    if alone:
        why = "is Custom with VersionTLS13, where ciphers are refused, and an IngressController must list some"
        return _Conflict(why, "write 'type: Modern'", _MODERN)
    found = next(refusals(custom), None)
    correction = "minTLSVersion: VersionTLS12" if found and found.field == "minTLSVersion" else ""
    why = f"is Custom, and none that the ingress operator takes: {found.message}" if found else ""
    return _Conflict(why, found.fix, correction) if found else None


def _handed_on(subject: Subject) -> Iterator[Flaw]:
    conflict = _conflict(subject.object)
    if conflict is None:
        return
    controllers = subject.declared.every(INGRESS_CONTROLLER)
    heirs = [each for each in islice(controllers, _MOST) if _inherits(each)]
    if heirs:
        yield Flaw(
            message=f"it {conflict.why}: {heirs[0].reference} inherits it, and is not admitted",
            at=(*_PROFILE, "custom"),
            observed=tuple(str(each.reference) for each in heirs[:5]),
            fix=f"{conflict.fix}, or give {heirs[0].reference} a profile of its own",
            correction=conflict.correction or None,
        )
    elif not controllers and (gap := subject.declared.gap(INGRESS_CONTROLLER)):
        missing = Missing(name=INGRESS_CONTROLLER.name, gap=gap)
        yield undecided(missing, (*_PROFILE, "custom"), "whether an IngressController inherits what it cannot take")


def _taken(subject: Subject) -> Iterator[Flaw]:
    at = _PROFILE if subject.object.has(*_PROFILE) else _SPEC
    server = subject.find(API_SERVER, "cluster")
    if isinstance(server, Missing):
        if server.gap:
            yield undecided(server, at, "whether the ingress operator takes the profile that it inherits")
    elif conflict := _conflict(server):
        yield Flaw(
            message=f"{server.reference} {conflict.why}: this one is not admitted, and the router keeps what it had",
            at=at,
            fix=f"{subject.object.reference}: add a tlsSecurityProfile of its own",
            correction=_MODERN,
        )


INHERITED = ObjectRule(
    id="ingress-profile-inherited",
    title="An IngressController can take the profile that it inherits",
    severity="high",
    subjects=(API_SERVER, INGRESS_CONTROLLER),
    check=check_inherited,
    references=(
        "openshift/cluster-ingress-operator pkg/operator/controller/ingress/controller.go",
        "openshift/kubernetes openshift-kube-apiserver/admission/customresourcevalidation/apiserver",
        "Enhancement 'Cluster-wide TLS Security Profile Configuration', Ingress Override Workflow",
    ),
)
