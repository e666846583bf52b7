"""Certificates that objects of the cluster hold, and those that listeners serve. One function a source; what cannot be
read is there as unreadable."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

from scanner.files.source_positions import dotted
from scanner.kube.ingress import Route
from scanner.kube.kinds import (
    CERTIFICATE_SIGNING_REQUEST,
    CONFIG_MAP,
    ROUTE,
    SECRET,
    Kind,
)
from scanner.kube.maybe import Unknown
from scanner.kube.objects import KubeObject
from scanner.kube.secrets import CertificateSigningRequest, ConfigMap, Secret
from scanner.kube.service_callers import CALLS, clients
from scanner.kube.snapshot import Snapshot, union
from scanner.model.endpoint import Endpoint
from scanner.model.held_certificate import HeldCertificate, Place, Role
from scanner.model.observation import Observation
from scanner.model.pem import Parser, decoded, unreadable
from scanner.model.well_known import Names, fits
from scanner.pki.containers import apart, chain_of, contents
from scanner.pki.recognition import common_name
from scanner.pki.secret_references import READS as REFERENCES
from scanner.pki.secret_references import UserProvided, injected
from scanner.tls.certificate import CertificateFacts

_MOST = 1000
"""Most certificates of one field, because users may create objects with large bundles."""


class _Search(Struct, frozen=True):
    """Inputs of every source."""

    snapshot: Snapshot
    provided: UserProvided
    parser: Parser

    def text(self, text: str) -> list[CertificateFacts]:
        """The certificates of a PEM field; a field without any counts as one unreadable certificate."""
        if not text.strip():
            return []
        return self.parser.of_text(text, _MOST) or [unreadable("there is no certificate in PEM")]

    def coded(self, text: str) -> list[CertificateFacts]:
        """The certificates of a field with PEM in base64, as in every ``[]byte`` of the API."""
        try:
            return self.text(decoded(text).decode("utf-8", "replace"))
        except ValueError:
            return [unreadable("the field is not base64")]


Source = Callable[[_Search], Iterator[HeldCertificate]]


def in_snapshot(snapshot: Snapshot) -> Iterator[HeldCertificate]:
    """Every certificate in the snapshot's objects, once for each place. Raises ``NotRead``."""
    search = _Search(snapshot, UserProvided(snapshot), Parser())
    for source in SOURCES:
        yield from map(apart, source(search))


def signers(snapshot: Snapshot, names: Names) -> dict[str, bytes]:
    """The platform's signers that also sign outside its namespaces (``Recognition.injected``), from the objects that
    the catalogue names: DER by the SHA-256 of each key."""
    spread = [each for each in names.all if each.recognition.injected]
    secret = tuple(path for each in spread for path in each.recognition.secrets)
    bundle = tuple(path for each in spread for path in each.recognition.config_maps)
    parser, found = Parser(), list[CertificateFacts]()
    for each in snapshot.every(SECRET):
        if names.is_platform(each.namespace or "") and fits(f"{each.namespace}/{each.name}", secret):
            found += _Search(snapshot, UserProvided(snapshot), parser).coded(Secret.of(each).tls_crt)
    for each in snapshot.every(CONFIG_MAP):
        if names.is_platform(each.namespace or "") and fits(f"{each.namespace}/{each.name}", bundle):
            found += [one for text in ConfigMap.of(each).data.values() for one in parser.of_text(text, _MOST)]
    called = [(each, {name.name for _, name in names.subjects.find(common_name(each.subject) or "")}) for each in found]
    needed = {each.name for each in spread}
    return {
        each.key_sha256: each.der for each, claimed in called if each.is_ca and each.key_sha256 and claimed & needed
    }


def secrets(search: _Search) -> Iterator[HeldCertificate]:
    """tls.crt and ca.crt of Secrets, and the certificates in their other data and kubeconfigs. Nothing else of a Secret
    is kept."""
    for secret in map(Secret.of, search.snapshot.every(SECRET)):
        reason = search.provided.secret(secret)
        yield from _chain(search.coded(secret.tls_crt), secret, "data[tls.crt]", reason, secret.key_matches)
        yield from _bundle(search.coded(secret.ca_crt), secret, "data[ca.crt]", reason)
        for name, text in secret.data.items():
            if name not in ("tls.crt", "ca.crt"):
                yield from _other(search.coded(text), secret, f"data[{name}]", reason)
        yield from _kubeconfigs(search, secret, reason)


def _other(
    found: list[CertificateFacts], secret: KubeObject, field: str, reason: str | None
) -> Iterator[HeldCertificate]:
    """Certificates under another name: a bundle if the first is a CA, else a chain with a key."""
    bundle = not found or found[0].is_ca is not False
    return _bundle(found, secret, field, reason) if bundle else _chain(found, secret, field, reason)


def _kubeconfigs(search: _Search, secret: Secret, reason: str | None) -> Iterator[HeldCertificate]:
    for name, config in secret.kubeconfigs.items():
        for field, text in config.certificates.items():
            role = _client if field == "client-certificate-data" else _trusted
            yield from _each(search.text(text), secret, f"data[{name}] {field}", role, reason)


def _client(number: int) -> Role:
    return "issuer" if number else "client"


def _trusted(_: int) -> Role:
    return "trusted"


def config_maps(search: _Search) -> Iterator[HeldCertificate]:
    """Bundles in those ConfigMaps that are read, and the CAs of kubeconfigs there (kubeadm's ``cluster-info``)."""
    for each in search.snapshot.every(CONFIG_MAP):
        reason = search.provided.config_map(each)
        for name, text in ConfigMap.of(each).data.items():
            if "-----BEGIN " in text:
                yield from _bundle(search.parser.of_text(text, _MOST), each, f"data[{name}]", reason)
            elif "certificate-authority-data" in text:
                yield from _in_kubeconfig(text, each, f"data[{name}]", reason)


def _in_kubeconfig(text: str, holder: KubeObject, field: str, reason: str | None) -> Iterator[HeldCertificate]:
    for found in contents(text.encode("utf-8", "replace")).certificates[:_MOST]:
        place = Place(role=found.role, reference=holder.reference, field=f"{field} {found.label}", user_provided=reason)
        yield HeldCertificate(facts=found.facts, place=place, chain=found.chain)


def callers(search: _Search) -> Iterator[HeldCertificate]:
    """The CAs by which the API server knows webhooks, conversion webhooks and aggregated APIs."""
    for kind in CALLS:
        for each in search.snapshot.every(kind):
            for client in clients(each):
                field = dotted((*client.steps, "caBundle"))
                yield from _bundle(search.coded(client.bundle), each, field, injected(each))


def requests(search: _Search) -> Iterator[HeldCertificate]:
    """The certificates that CertificateSigningRequests received, for example those of kubelets."""
    for each in map(CertificateSigningRequest.of, search.snapshot.every(CERTIFICATE_SIGNING_REQUEST)):
        found = search.coded(each.certificate)
        yield from _each(found, each, "status.certificate", lambda number: "issuer" if number else "request")


def routes(search: _Search) -> Iterator[HeldCertificate]:
    """Certificates in Routes, which users wrote there."""
    for route in map(Route.of, search.snapshot.every(ROUTE)):
        tls = route.tls
        where = f"{route.reference} spec.tls"
        found = search.text(tls.certificate)
        yield from _chain(found, route, "spec.tls.certificate", f"{where}.certificate")
        behind = search.text(tls.ca_certificate)
        yield from _each(behind, route, "spec.tls.caCertificate", lambda _: "issuer", f"{where}.caCertificate")
        trusted = search.text(tls.destination_ca)
        yield from _bundle(trusted, route, "spec.tls.destinationCACertificate", f"{where}.destinationCACertificate")


SOURCES: tuple[Source, ...] = (secrets, config_maps, callers, requests, routes)
"""Every source above."""

READS: tuple[Kind, ...] = union(
    (
        (SECRET, CONFIG_MAP, *CALLS),
        (CERTIFICATE_SIGNING_REQUEST, ROUTE),
        REFERENCES,
    )
)


def _chain(
    found: list[CertificateFacts], holder: KubeObject, field: str, reason: str | None, key_matches: object = None
) -> Iterator[HeldCertificate]:
    """A leaf, and behind it its issuers. ``key_matches`` is true, false or, of any other type, not known."""
    for number, facts in enumerate(found):
        place = Place(
            role="issuer" if number else "leaf",
            reference=holder.reference,
            field=_numbered(field, number),
            user_provided=reason,
            key_matches=key_matches if number == 0 and isinstance(key_matches, bool) else None,
        )
        yield HeldCertificate(facts=facts, place=place, chain=() if number else chain_of(facts, found[1:]))


def _bundle(
    found: list[CertificateFacts], holder: KubeObject, field: str, reason: str | None
) -> Iterator[HeldCertificate]:
    return _each(found, holder, field, _trusted, reason)


def _each(
    found: list[CertificateFacts],
    holder: KubeObject,
    field: str,
    role: Callable[[int], Role],
    reason: str | None = None,
) -> Iterator[HeldCertificate]:
    for number, facts in enumerate(found):
        field_ = _numbered(field, number)
        place = Place(role=role(number), reference=holder.reference, field=field_, user_provided=reason)
        yield HeldCertificate(facts=facts, place=place)


def _numbered(field: str, number: int) -> str:
    return f"{field} {number + 1}" if number else field


_NOTHING: Mapping[str, str] = {}


def served(
    endpoint: Endpoint, observation: Observation, user_provided: Mapping[str, str] = _NOTHING
) -> Iterator[HeldCertificate]:
    """Every certificate of every chain that the listener sent, each once. ``user_provided``: who gave a certificate to
    the cluster, by its SHA-256."""
    first = () if isinstance(observation.chain, Unknown) else observation.chain
    seen: set[str] = set()
    for chain in (first, *observation.other_chains):
        for number, facts in enumerate(chain):
            if facts.sha256 not in seen:
                seen.add(facts.sha256)
                place = Place(
                    role="issuer" if number else "leaf",
                    endpoint=endpoint.id,
                    port=endpoint.port,
                    component=endpoint.component,
                    user_provided=user_provided.get(facts.sha256),
                )
                yield HeldCertificate(facts=facts, place=place, chain=() if number else chain[1:])
