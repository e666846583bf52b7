"""Words of examples for what a listener does."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from cryptography.hazmat.primitives.serialization import Encoding

from scanner.model.observation import Answers, Reach
from scanner.tls import names
from scanner.tls.certificate import CertificateFacts, parse_certificate
from scanner.tls.codepoints import TLS12, TLS13, VERSIONS
from scanner.tls.oids import SIGNATURES
from scanner.values import replace
from tests.certs import Authority
from tests.judge.cases import CONFORMING, LEAF, NOW, all_groups, all_suites, answers
from tests.judge.cases import ISSUER as INTERMEDIATE
from tests.judge.drafts import Draft, Word

_FIRST_FINITE_FIELD = 0x0100
"""Below are elliptic curves, the only groups that TLS 1.2 is asked for."""

_MOMENT = re.compile(r"in (?P<ahead>\d+) days?|(?P<ago>\d+) days? ago")
_HASHES = dict(SIGNATURES.values())


def moment(text: str) -> datetime:
    """``in 10 days`` or ``10 days ago``, from the time of the scan."""
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise KeyError(text)
    return NOW + timedelta(days=int(found["ahead"] or -int(found["ago"])))


def _versions(draft: Draft, value: list[str]) -> None:
    spoken = tuple(names.version_code(str(each)) for each in value)
    draft.observation["versions"] = answers(spoken, set(VERSIONS))
    for kind in ("suites", "groups"):
        known: Mapping[int, Answers] = draft.observation.get(kind, getattr(CONFORMING, kind))
        draft.observation[kind] = {version: told for version, told in known.items() if version in spoken}


def _suites(draft: Draft, value: list[str]) -> None:
    """TLS 1.3 has suites of its own; none of them named: those that the listener without fault has."""
    named = [names.suite_code(each) for each in value]
    suites = dict(draft.observation.get("suites", CONFORMING.suites))
    for version in (TLS13, TLS12):
        if mine := tuple(code for code in named if names.is_tls13(code) == (version == TLS13)):
            suites[version] = answers(mine, all_suites(version))
    draft.observation["suites"] = suites


def _groups(draft: Draft, value: list[str]) -> None:
    named = tuple(names.group_code(each) for each in value)
    curves = tuple(code for code in named if code < _FIRST_FINITE_FIELD)
    draft.observation["groups"] = {TLS13: answers(named, all_groups()), TLS12: answers(curves, all_groups())}


def _key(value: Mapping[str, Any]) -> dict[str, Any]:
    curve = value.get("curve")
    size = value["keySize"] if curve is None else int(curve.removeprefix("P-"))
    return {"key_algorithm": value["algorithm"], "key_size": size, "curve": curve}


_FACTS: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    "names": lambda value: {"dns_names": tuple(value)},
    "starts": lambda value: {"not_before": moment(value)},
    "ends": lambda value: {"not_after": moment(value)},
    "key": _key,
    "signature": lambda value: {"signature": value, "signature_hash": _HASHES[value]},
    "isCA": lambda value: {"is_ca": value},
}
"""What a certificate says, as certificates and cert-manager's Certificates call it."""


def _facts(certificate: CertificateFacts, value: Mapping[str, Any]) -> CertificateFacts:
    for word, said in value.items():
        certificate = replace(certificate, **_FACTS[word](said))
    return certificate


def _certificate(draft: Draft, value: Mapping[str, Any]) -> None:
    chain = draft.observation.get("chain", (LEAF, INTERMEDIATE))
    draft.observation["chain"] = (_facts(chain[0], value), *chain[1:])


def _intermediate(draft: Draft, value: Mapping[str, Any]) -> None:
    chain = draft.observation.get("chain", (LEAF, INTERMEDIATE))
    draft.observation["chain"] = (chain[0], _facts(INTERMEDIATE, value))


@cache
def authority(name: str, *above: str) -> Authority:
    """The same each time. ``above``: who has signed it, who has signed that one; nobody: it is a root."""
    return Authority(name, now=NOW, issuer=authority(*above) if above else None)


def _above(name: str, issuers: Mapping[str, str]) -> tuple[str, ...]:
    issuer = issuers.get(name, name)
    return () if issuer == name else (issuer, *_above(issuer, issuers))


def _chain(draft: Draft, value: list[Mapping[str, str]]) -> None:
    """Real certificates, leaf first; whose own certificate is not there has signed itself."""
    issuers = {each["subject"]: each["issuer"] for each in value}
    leaf, *others = issuers
    signer = issuers[leaf]
    made = [authority(signer, *_above(signer, issuers)).leaf(names=(leaf,)).der]
    made += [authority(each, *_above(each, issuers)).certificate.public_bytes(Encoding.DER) for each in others]
    draft.observation["chain"] = tuple(map(parse_certificate, made))


def _plaintext(draft: Draft, value: str) -> None:
    draft.observation |= {"reach": Reach.PLAINTEXT, "protocol": value}


def _starttls(draft: Draft, value: str) -> None:
    draft.observation |= {"reach": Reach.STARTTLS_NEEDED, "protocol": value}


def _client_certificate(draft: Draft, value: str) -> None:
    draft.observation["client_certificate"] = value


def _untrusted(draft: Draft, value: str) -> None:
    draft.observation["untrusted_client"] = value


SERVED: Mapping[str, Word] = {
    "versions": _versions,
    "cipherSuites": _suites,
    "groups": _groups,
    "certificate": _certificate,
    "intermediate": _intermediate,
    "chain": _chain,
    "plaintext": _plaintext,
    "starttls": _starttls,
    "clientCertificate": _client_certificate,
    "untrustedClientCertificate": _untrusted,
}
