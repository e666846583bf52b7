"""Which Secret a listener serves its certificate from, as far as objects say: what is served is compared with it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Final, TypeAlias

from scanner.expect.draft import Draft
from scanner.expect.facts import ROUTER_NAMESPACE, Facts
from scanner.expect.pem import certificates, decoded
from scanner.expect.services import service_of
from scanner.model import service_ca
from scanner.model.expectation import Stored, StoredLeaf
from scanner.model.kinds import API_SERVER, INGRESS_CONTROLLER, ROUTE, SECRET
from scanner.model.known import Known, Unknown
from scanner.model.objects import Fields
from scanner.model.pki_names import load_names
from scanner.model.snapshot import Snapshot
from scanner.model.well_known import Names, fits
from scanner.tls.certificate import parsed_once

_FIELD: Final = "tls.crt"
_MOST: Final = 200
"""Secrets that one pattern of a well-known name may mean: one for each node of the control plane, in each revision."""
_SERVICE_CA: Final = "service-ca"
_API_SERVER: Final = "kube-apiserver"
_ROUTER: Final = "router-"
"""Before the name of the IngressController, in that of its Deployment."""

_Name: TypeAlias = tuple[str, str]
"""Namespace and name."""


def stored(facts: Facts, draft: Draft) -> Stored | None:
    """The Secrets of ``draft``'s endpoint, and what is in them; None where no object says which."""
    declared = list(_declared(facts, draft))
    names = declared or list(dict.fromkeys((*_of_services(facts, draft), *_well_known(facts, draft))))
    if not names:
        return None
    found = [_leaf(facts.snapshot, each) for each in names]
    gap = facts.snapshot.unreadable.get(SECRET)
    return Stored(
        leaves=tuple(each for each in found if not isinstance(each, Unknown)),
        unread=tuple(each.reason for each in found if isinstance(each, Unknown)),
        wanted=SECRET in facts.snapshot.objects and (gap is None or gap.gap != "not-asked"),
        exact=bool(declared),
    )


def _leaf(snapshot: Snapshot, name: _Name) -> Known[StoredLeaf]:
    """The first certificate of a Secret."""
    secret = snapshot.get(SECRET, name[1], name[0]) if SECRET in snapshot.objects else None
    where = f"Secret/{name[0]}/{name[1]}"
    if secret is None:
        return Unknown(f"{where} was not read: {snapshot.gap(SECRET) or 'there is none, or nobody asked for it'}")
    der = next(certificates(decoded(secret.text("data", _FIELD))), None)
    if der is None:
        return Unknown(f"{where} has no certificate in data[{_FIELD}]")
    facts = parsed_once(der)
    sans = facts.sans
    return StoredLeaf(
        place=f"{where} data[{_FIELD}]",
        sha256=facts.sha256,
        serial=facts.serial,
        names=None if sans is None else frozenset(sans),
        issuer=facts.issuer,
        not_before=facts.not_before,
    )


# --- Which Secret -----------------------------------------------------------------------------------------------------


def _declared(facts: Facts, draft: Draft) -> Iterator[_Name]:
    """What an object names for this listener and no other: a Route's external certificate, else the default one of the
    IngressController whose router it is (openshift/api route/v1, operator/v1)."""
    subject = draft.endpoint.subject
    if draft.implementation != "haproxy" or subject is None or subject.kind != ROUTE.name:
        return
    route = facts.snapshot.get(ROUTE, subject.name, subject.namespace)
    tls = route.fields("spec", "tls") if route else Fields({})
    external = tls.text("externalCertificate", "name")
    if external:
        yield subject.namespace or "", external
    elif route is not None and not tls.has("certificate") and tls.text("termination").lower() != "passthrough":
        yield from _default(facts.snapshot, draft.endpoint.owner.name)


def _default(snapshot: Snapshot, router: str) -> Iterator[_Name]:
    name = router.removeprefix(_ROUTER)
    controller = snapshot.get(INGRESS_CONTROLLER, name, "openshift-ingress-operator")
    if controller is not None and router.startswith(_ROUTER):
        given = controller.text("spec", "defaultCertificate", "name")
        yield ROUTER_NAMESPACE, given or f"router-certs-{name}"


def _of_services(facts: Facts, draft: Draft) -> Iterator[_Name]:
    """The Secrets that the service CA fills for the Services that lead there."""
    endpoint, entry = draft.endpoint, draft.entry
    if endpoint.certainty == "candidate" or (entry is not None and entry.certificate != _SERVICE_CA):
        return
    hosts = (endpoint.server_name or "", endpoint.host, *(each.rpartition(":")[0] for each in endpoint.aliases))
    for host in dict.fromkeys(filter(None, hosts)):
        service = service_of(facts.snapshot, host)
        if service is not None and service_ca.asks(service):
            yield service.namespace or "", service_ca.secret(service)


def _well_known(facts: Facts, draft: Draft) -> Iterator[_Name]:
    """The Secrets of the certificates that a component is known to serve on that port. A name without a Secret, as the
    kubelet's, leaves nothing to compare with."""
    entry, port = draft.entry, draft.endpoint.port
    if entry is None or draft.implementation == "haproxy":
        return
    serving = [
        each
        for each in _names().all
        if any(component == entry.component and port in ports for component, ports in each.recognition.listeners)
    ]
    if serving and all(each.recognition.secrets for each in serving):
        patterns = tuple(dict.fromkeys(pattern for each in serving for pattern in each.recognition.secrets))
        yield from _matching(facts.snapshot, patterns)
        if entry.component == _API_SERVER:
            yield from _by_administrator(facts.snapshot)


def _matching(snapshot: Snapshot, patterns: tuple[str, ...]) -> Iterator[_Name]:
    """The Secrets that are called so, and those that were read and that a pattern means; where none was, the pattern
    itself: there is one, and nobody knows its name."""
    loose = tuple(pattern for pattern in patterns if "*" in pattern)
    namespaces = {each.partition("/")[0] for each in loose}
    for pattern in patterns:
        if pattern not in loose or not snapshot.objects.get(SECRET):
            yield pattern.partition("/")[0], pattern.partition("/")[2]
    secrets = (each for each in snapshot.objects.get(SECRET, ()) if each.namespace in namespaces)
    meant = (each for each in secrets if fits(f"{each.namespace}/{each.name}", loose))
    yield from ((each.namespace or "", each.name) for each in islice(meant, _MOST))


def _by_administrator(snapshot: Snapshot) -> Iterator[_Name]:
    """Those that take the place of kube-apiserver's own for some names."""
    server = snapshot.get(API_SERVER, "cluster")
    for each in server.each("spec", "servingCerts", "namedCertificates") if server else ():
        yield "openshift-config", each.text("servingCertificate", "name")


@cache
def _names() -> Names:
    return load_names()
