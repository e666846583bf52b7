"""Certificates that a listener serves by what objects say, and those that it must not serve: they lack a grant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Final

from scanner.config.certificate_names import load_names
from scanner.expect.declared_secrets import DeclaredSecrets, Name, references
from scanner.expect.facts import Facts
from scanner.expect.partial_expectation import Draft
from scanner.kube.api_server import api_server_config
from scanner.kube.ingress import CONFIG_NAMESPACE
from scanner.kube.kinds import API_SERVER, SECRET
from scanner.kube.maybe import Known, Unknown
from scanner.kube.secrets import CERTIFICATE_NAME, Secret, service_ca_secret
from scanner.kube.service import service_of
from scanner.kube.snapshot import Snapshot
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import DeclaredCertificates, DeclaredIssuer, DeclaredLeaf, MissingGrant
from scanner.model.pem import decoded_text, trusted_certificates
from scanner.model.well_known import fits
from scanner.tls.certificate import parsed_once

_FIELD: Final = "tls.crt"
_MOST: Final = 200
"""Secrets that one pattern of a well-known name may mean: one for each node of the control plane, in each revision."""
_LONGEST: Final = 100
"""Certificates of one chain: more than any listener can send to a client that still listens."""
_LENGTH: Final = 64 * 1024
"""Bytes of one chain, two thirds of what OpenSSL takes. They are read while listeners are asked."""
_SERVICE_CA: Final = "service-ca"
_API_SERVER: Final = "kube-apiserver"


def declared_certificates(facts: Facts, draft: Draft, said: DeclaredSecrets | None) -> DeclaredCertificates | None:
    """The certificates that ``draft``'s endpoint may serve, ``said`` being what objects name for it; None where no
    object says which."""
    if said is not None:
        return _exactly(facts.snapshot, said) if said.secrets or said.inline else None
    names = tuple(dict.fromkeys((*_of_services(facts, draft), *_well_known(facts, draft))))
    return _any(facts.snapshot, names) if names else None


def _any(snapshot: Snapshot, names: tuple[Name, ...]) -> DeclaredCertificates:
    found = [leaf_of(snapshot, each) for each in names]
    return DeclaredCertificates(
        leaves=tuple(each for each in found if not isinstance(each, Unknown)),
        unread=tuple(each.reason for each in found if isinstance(each, Unknown)),
        wanted=wants_secrets(snapshot),
    )


def wants_secrets(snapshot: Snapshot) -> bool:
    """Whether anybody asked for Secrets at all."""
    gap = snapshot.unreadable.get(SECRET)
    return SECRET in snapshot.objects and (gap is None or gap.gap != "not-asked")


def _exactly(snapshot: Snapshot, said: DeclaredSecrets) -> DeclaredCertificates:
    """What an object says that it is, which may stand in the object itself."""
    of_secrets = _any(snapshot, said.secrets)
    inline = [_of_pem(pem, place) for place, pem in said.inline]
    behind = _issuers(trusted_certificates(said.behind))
    default = leaf_of(snapshot, said.default) if said.default else None
    unsure = (each for each in said.refused if isinstance(each.allowed, Unknown))
    return replace(
        of_secrets,
        leaves=(
            *(replace(each, issuers=(*each.issuers, *behind)) for each in of_secrets.leaves),
            *(each for each in inline if not isinstance(each, Unknown)),
        ),
        unread=(
            *of_secrets.unread,
            *(each.reason for each in inline if isinstance(each, Unknown)),
            *(f"whether {each.who} may name Secret/{'/'.join(each.secret)} is not known" for each in unsure),
        ),
        wanted=of_secrets.wanted or bool(inline),
        exact=True,
        default=None if isinstance(default, Unknown) else default,
        condition=said.condition,
    )


def leaf_of(snapshot: Snapshot, name: Name) -> Known[DeclaredLeaf]:
    """The first certificate of a Secret."""
    secret = snapshot.get(SECRET, name[1], name[0]) if SECRET in snapshot.objects else None
    where = f"Secret/{name[0]}/{name[1]}"
    if secret is None:
        return Unknown(f"{where} was not read: {snapshot.gap(SECRET) or 'there is none, or it was not read'}")
    found = _of_pem(decoded_text(Secret.of(secret).tls_crt), f"{where} data[{_FIELD}]")
    keeper = secret.annotations.get(CERTIFICATE_NAME)
    if isinstance(found, Unknown) or not keeper:
        return found
    return replace(found, kept_by=f"Certificate/{name[0]}/{keeper[:253]}")


def _of_pem(pem: str, place: str) -> Known[DeclaredLeaf]:
    chain = tuple(islice(trusted_certificates(pem), 1 + _LONGEST))
    where, _, field = place.partition(" ")
    if not chain:
        return Unknown(f"{where} has no certificate in {field}")
    if (size := sum(map(len, chain))) > _LENGTH:
        return Unknown(f"{where} has {size} bytes of certificates in {field}, {_LENGTH} are read")
    facts = parsed_once(chain[0])
    sans = facts.sans
    return DeclaredLeaf(
        place=place,
        sha256=facts.sha256,
        serial=facts.serial,
        names=None if sans is None else frozenset(sans),
        issuer=facts.issuer,
        not_before=facts.not_before,
        issuers=_issuers(chain[1:]),
    )


def _issuers(ders: Iterable[bytes]) -> tuple[DeclaredIssuer, ...]:
    found = map(parsed_once, ders)
    return tuple(DeclaredIssuer(sha256=each.sha256, subject=each.subject, issuer=each.issuer) for each in found)


# --- Which Secret -----------------------------------------------------------------------------------------------------


def _of_services(facts: Facts, draft: Draft) -> Iterator[Name]:
    """The Secrets that the service CA fills for the Services that lead there."""
    endpoint, entry = draft.endpoint, draft.entry
    if endpoint.certainty == "candidate" or (entry is not None and entry.certificate != _SERVICE_CA):
        return
    for host in endpoint.hosts:
        service = service_of(facts.snapshot, host)
        if service is not None and service_ca_secret(service):
            yield service.namespace or "", service_ca_secret(service)


def _well_known(facts: Facts, draft: Draft) -> Iterator[Name]:
    """The Secrets of the certificates that a component is known to serve on that port. A name without a Secret, as the
    kubelet's, leaves nothing to compare with."""
    entry, port = draft.entry, draft.endpoint.port
    if entry is None or draft.implementation == "haproxy":
        return
    serving = [
        each
        for each in load_names().all
        if any(component == entry.component and port in ports for component, ports in each.recognition.listeners)
    ]
    if serving and all(each.recognition.secrets for each in serving):
        patterns = tuple(dict.fromkeys(pattern for each in serving for pattern in each.recognition.secrets))
        yield from _matching(facts.snapshot, patterns)
        if entry.component == _API_SERVER:
            yield from _by_administrator(facts.snapshot)


def _matching(snapshot: Snapshot, patterns: tuple[str, ...]) -> Iterator[Name]:
    """The Secrets that are called so, and those that were read and that a pattern means; where none was, the pattern
    itself: there is one, with an unknown name."""
    loose = tuple(pattern for pattern in patterns if "*" in pattern)
    namespaces = {each.partition("/")[0] for each in loose}
    for pattern in patterns:
        if pattern not in loose or not snapshot.objects.get(SECRET):
            yield pattern.partition("/")[0], pattern.partition("/")[2]
    secrets = (each for each in snapshot.objects.get(SECRET, ()) if each.namespace in namespaces)
    meant = (each for each in secrets if fits(f"{each.namespace}/{each.name}", loose))
    yield from ((each.namespace or "", each.name) for each in islice(meant, _MOST))


def _by_administrator(snapshot: Snapshot) -> Iterator[Name]:
    """Those that take the place of kube-apiserver's own for some names."""
    server = snapshot.get(API_SERVER, "cluster")
    for each in api_server_config(server).named_certificates if server else ():
        yield CONFIG_NAMESPACE, each.secret


def missing_grants(facts: Facts, said: DeclaredSecrets) -> tuple[MissingGrant, ...]:
    """Each of them, with its certificate where that could be read."""
    asked = wants_secrets(facts.snapshot)
    return tuple(
        MissingGrant(
            who=each.who,
            secret=f"Secret/{'/'.join(each.secret)}",
            leaf=leaf_of(facts.snapshot, each.secret),
            asked=asked,
            doubt=each.allowed.reason if isinstance(each.allowed, Unknown) else "",
        )
        for each in said.refused
    )


def beside(facts: Facts, endpoint: Endpoint) -> frozenset[str]:
    """What else may be shown at ``endpoint``'s place: a listener for more names may answer this one too."""
    return frozenset(_beside(facts, endpoint))


def _beside(facts: Facts, endpoint: Endpoint) -> Iterator[str]:
    for each in facts.at_place(endpoint):
        for reference in references(facts, each) if each.segment != "Backend" else ():
            if reference.allowed is True:
                leaf = leaf_of(facts.snapshot, reference.secret)
                if not isinstance(leaf, Unknown):
                    yield leaf.sha256
