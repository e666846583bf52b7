"""Verify the served chain up to a trust anchor (RFC 5280, section 6), and as each configured client verifies it."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from ipaddress import ip_address
from typing import TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import dsa, ec, rsa
from cryptography.x509 import verification
from msgspec import Struct

from scanner.judge import remediation, served
from scanner.judge.served import unreadable
from scanner.judge.verdicts import Tally, Words, conclude, promised, remark
from scanner.kube.maybe import Known, Unknown
from scanner.model.certificate_faults import covers
from scanner.model.expectation import Client
from scanner.model.finding import Finding
from scanner.model.rule import Case, Rule
from scanner.tls.certificate import LONGEST, CertificateFacts
from scanner.tls.der import Parts, parts
from scanner.tls.wire import Malformed
from scanner.values import replace

MOST = 16
"""Most issuers of one chain that are verified; a real chain has two or three."""

MOST_WORK = 10_000
"""Limit for verifying all signatures of one chain, in units of ``_work``: 36 of RSA-4096, 19 of P-256; about 10 ms.
Nothing else limits an RSA key's exponent: one of 3,072 bits costs as much as 400 usual ones."""

_WORK_OF_DSA = 512
"""``_work`` of a DSA key of 1,024 bits."""
_WORK_OF_OTHERS = 500
"""``_work`` of other keys, such as Ed25519."""

_LONGEST_NAME = 4096
"""Longest name, in bytes, that a message shows."""

Anchors: TypeAlias = Mapping[bytes, Sequence[x509.Certificate]]
"""By the DER of their subject."""


def by_subject(anchors: Sequence[x509.Certificate]) -> Anchors:
    """Index anchors for ``route``. An anchor whose subject cannot be read is left out."""
    found: dict[bytes, list[x509.Certificate]] = {}
    for anchor in anchors:
        try:
            found.setdefault(_names(anchor).subject, []).append(anchor)
        except Malformed:
            continue
    return found


def route(
    leaf: x509.Certificate, sent: Sequence[x509.Certificate], anchors: Anchors
) -> tuple[x509.Certificate, ...] | str:
    """Find the shortest path from ``leaf`` to an anchor and return its intermediates; or a message why there is none.

    Checks names and signatures only. Raises ``Malformed`` if a name is missing, and ``ValueError`` if the signatures
    cost more than ``MOST_WORK``.
    """
    unused = list(dict.fromkeys(sent))[:MOST]
    signed_by = _Signatures().signed_by
    waiting: deque[tuple[x509.Certificate, ...]] = deque([()])
    last = leaf
    while waiting:
        path = waiting.popleft()
        last = path[-1] if path else leaf
        name = _names(last).issuer
        if any(signed_by(last, anchor) for anchor in anchors.get(name, ())):
            return path
        for issuer in [each for each in unused if _names(each).subject == name and signed_by(last, each)]:
            unused.remove(issuer)
            waiting.append((*path, issuer))
    return _missing_issuer(last, anchors)


def _missing_issuer(last: x509.Certificate, anchors: Anchors) -> str:
    names = _names(last)
    short = len(names.issuer) <= _LONGEST_NAME
    name = last.issuer.rfc4514_string()[:200] or "(empty name)" if short else f"(name of {len(names.issuer)} bytes)"
    if names.issuer in anchors:
        return f"the signature does not verify with the key of this anchor: {name}"
    if names.issuer == names.subject:
        return f"the chain ends in a root that is not among the anchors: {name}"
    return f"the issuer is neither sent nor an anchor: {name}"


def _names(certificate: x509.Certificate) -> Parts:
    """Names in their encoding, because decoding thousands of attributes is slow. Raises ``Malformed``."""
    from cryptography.hazmat.primitives.serialization import Encoding  # noqa: PLC0415 - few scans need its modules

    return parts(certificate.public_bytes(Encoding.DER))


class _Signatures:
    """Verifies signatures, up to ``MOST_WORK``."""

    def __init__(self) -> None:
        self._left = MOST_WORK

    def signed_by(self, certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
        """True if ``issuer`` signed ``certificate`` and the names match. A signature that this machine cannot check
        (MD5 in FIPS mode) does not count. Raises ``ValueError`` if the limit is reached."""
        try:
            work = _work(issuer)
        except Exception:  # noqa: BLE001 - malformed keys raise undocumented exceptions
            return False
        self._left -= work
        if self._left < 0:
            raise ValueError("too many signatures, or keys of unusual sizes")
        try:
            certificate.verify_directly_issued_by(issuer)
        except Exception:  # noqa: BLE001 - as above, beside InvalidSignature
            return False
        return True


def _work(issuer: x509.Certificate) -> int:
    """Cost of verifying one signature of the issuer's key; 1 is about a microsecond."""
    match issuer.public_key():
        case rsa.RSAPublicKey() as key:
            return key.key_size**2 // 2**20 * key.public_numbers().e.bit_length()
        case dsa.DSAPublicKey() as key:
            return key.key_size**2 // 2**20 * _WORK_OF_DSA
        case ec.EllipticCurvePublicKey() as key:
            return 2 * key.key_size
    return _WORK_OF_OTHERS


_SERVER_USAGES = frozenset({"serverAuth", "anyExtendedKeyUsage", "1.3.6.1.5.5.7.3.1", "2.5.29.37.0"})


def check_chain(rule: Rule, case: Case) -> Iterator[Finding]:
    """The served chain leads to a trust anchor of the listener's clients."""
    anchors = case.expectation.certificate.anchors
    if not anchors:
        yield remark(rule, _without_anchors(case.observation.chain), verdict="not_applicable")
        return
    path = _path(case.observation.chain, anchors, case.now)
    objection = None if isinstance(path, Unknown) else path.objection
    source = case.expectation.certificate.anchor_source or "the anchors of --ca"
    finding = conclude(
        rule,
        case,
        Tally(
            seen=(objection,) if objection else (),
            unknown=(path.reason,) if isinstance(path, Unknown) else (),
        ),
        Words(
            passed=f"the chain leads to an anchor of {source}",
            failed=f"the chain does not lead to an anchor of {source}",
            unclear=f"whether the chain leads to an anchor of {source} could not be determined",
        ),
        expected=[f"a path to an anchor of {source}"],
        fix=_fix(case.observation.chain),
        reproduce=remediation.scan(case.endpoint),
    )
    strict = None if isinstance(path, Unknown) else path.strict
    if finding.verdict == "pass" and strict:
        finding = replace(finding, status="informational", evidence=(f"a strict verifier objects: {strict}",))
    yield promised(finding) if case.endpoint.subject else finding


def _fix(chain: Known[tuple[CertificateFacts, ...]]) -> str:
    """A self-signed leaf needs another certificate; an intermediate does not help."""
    if not isinstance(chain, Unknown) and chain and chain[0].self_issued:
        return "serve a certificate that one of these anchors signed, or add this certificate to the clients' anchors"
    return "send every intermediate with the leaf, or scan with the anchor that the clients use (--ca)"


def _without_anchors(chain: Known[tuple[CertificateFacts, ...]]) -> str:
    text = "the chain is not verified, because no trust anchor is known (--ca)"
    if isinstance(chain, Unknown) or not chain:
        return text
    if chain[0].self_issued:
        return f"{text}; the leaf is self-signed"
    if not chain[-1].self_issued:
        return f"{text}; the last issuer is not sent"
    return text


def chain_objection(
    chain: Known[tuple[CertificateFacts, ...]], anchors: tuple[bytes, ...], now: datetime
) -> Known[str | None]:
    """The reason why the chain leads to none of the anchors, at the time nearest to ``now`` at which it is valid; None
    if it leads to one."""
    path = _path(chain, anchors, now)
    return path if isinstance(path, Unknown) else path.objection


class _Path(Struct, frozen=True, kw_only=True):
    """Result of verifying a chain."""

    objection: str | None = None
    """Reason why there is no path; None if there is one."""
    strict: str | None = None
    """Objection of a strict verifier (RFC 5280 and the CA/Browser Forum's profile) to the path, if any."""


def _path(chain: Known[tuple[CertificateFacts, ...]], anchors: tuple[bytes, ...], now: datetime) -> Known[_Path]:
    chain = chain or Unknown("the listener sent no certificate")
    if isinstance(chain, Unknown):
        return chain
    if chain[0].der in anchors:
        return _Path()
    if len(chain) > MOST + 1:
        return Unknown(f"the listener sent more than {MOST} issuers")
    trusted, leaf = _anchors(anchors), _parsed(chain[0].der)
    if leaf is None or not trusted:
        return Unknown("no trust anchor can be parsed" if leaf else "the leaf cannot be parsed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cryptography warns of serial numbers and the like; the verdict is ours
        try:
            found = route(leaf, _load(tuple(certificate.der for certificate in chain[1:])), trusted)
            return _Path(objection=found) if isinstance(found, str) else _verify(chain[0], leaf, found, trusted, now)
        except Exception as error:  # noqa: BLE001 - fields are read when first needed, and odd ones raise then
            return Unknown(f"the chain cannot be verified ({_cleaned(error)})")


@lru_cache(maxsize=16)
def _anchors(ders: tuple[bytes, ...]) -> Anchors:
    """Cached, because they are the same for many endpoints."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names of OpenShift's signers are longer than 64 characters
        return by_subject(_load(ders))


def _load(ders: tuple[bytes, ...]) -> list[x509.Certificate]:
    return [certificate for der in ders if (certificate := _parsed(der)) is not None]


@lru_cache(maxsize=512)
def _parsed(der: bytes) -> x509.Certificate | None:
    """Cached, because intermediates are the same for many endpoints."""
    if len(der) > LONGEST:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return x509.load_der_x509_certificate(der)
        except Exception:  # noqa: BLE001 - hostile certificates raise more than the documented ValueError
            return None


def _verify(
    facts: CertificateFacts,
    leaf: x509.Certificate,
    path: tuple[x509.Certificate, ...],
    anchors: Anchors,
    now: datetime,
) -> Known[_Path]:
    store = verification.Store([anchor for named in anchors.values() for anchor in named])
    builder = verification.PolicyBuilder().store(store).time(_moment((leaf, *path), now))
    try:
        # A client verifier, because it asks for no name; the lenient policy asks for no extended key usage either.
        _lenient(builder).build_client_verifier().verify(leaf, list(path))
    except verification.VerificationError as error:
        return _Path(objection=_cleaned(error))
    if facts.extended_key_usage is None:
        return unreadable(facts, "extended_key_usage")
    if facts.extended_key_usage and not _SERVER_USAGES & set(facts.extended_key_usage):
        return _Path(objection="the leaf's extended key usage does not include serverAuth")
    return _Path(strict=_strict_objection(builder, facts, leaf, path))


def _lenient(builder: verification.PolicyBuilder) -> verification.PolicyBuilder:
    """Check signatures, times and BasicConstraints of CAs; skip extensions that internal CAs often leave out."""
    policy = verification.ExtensionPolicy
    return builder.extension_policies(
        ca_policy=policy.permit_all().require_present(x509.BasicConstraints, verification.Criticality.AGNOSTIC, None),
        ee_policy=policy.permit_all(),
    )


def _strict_objection(
    builder: verification.PolicyBuilder,
    facts: CertificateFacts,
    leaf: x509.Certificate,
    path: tuple[x509.Certificate, ...],
) -> str | None:
    subject = _own_name(facts)
    if subject is None:
        return "the leaf has no usable subject alternative name"
    try:
        builder.build_server_verifier(subject).verify(leaf, list(path))
    except verification.VerificationError as error:
        return _cleaned(error)
    return None


def _own_name(facts: CertificateFacts) -> x509.DNSName | x509.IPAddress | None:
    """A name that the leaf covers, so that the strict verifier does not object to the name."""
    try:
        for name in facts.dns_names or ():
            return x509.DNSName(f"any{name[1:]}" if name.startswith("*.") else name)
        for address in facts.ip_addresses or ():
            return x509.IPAddress(ip_address(address))
    except ValueError:
        pass
    return None


def _moment(certificates: tuple[x509.Certificate, ...], now: datetime) -> datetime:
    """The time nearest to ``now`` at which every certificate of the path is valid, if there is one."""
    start = max(certificate.not_valid_before_utc for certificate in certificates)
    end = min(certificate.not_valid_after_utc for certificate in certificates)
    return min(max(now, start), end) if start <= end else now


def _cleaned(error: Exception) -> str:
    """The verifier's reason, without the certificate that it appends."""
    return str(error).split(" (encountered", 1)[0].removeprefix("validation failed: ")[:200]


CHAIN = Rule(id="cert-chain", check=check_chain)


def check_clients(rule: Rule, case: Case) -> Iterator[Finding]:
    """Every client that an object configures can verify the certificate."""
    clients = case.expectation.certificate.clients
    if not clients:
        return
    seen: list[str] = []
    unknown: list[str] = []
    known: dict[tuple[object, ...], str | Unknown | None] = {}  # a thousand CRDs may have one conversion webhook
    for client in clients:
        key = (client.anchors, client.name, client.others, client.missing or (not client.anchors and client.source))
        if key not in known:
            known[key] = _client_objection(client, case)
        wrong = known[key]
        if isinstance(wrong, Unknown):
            unknown.append(f"{client.who}: {wrong.reason}")
        elif wrong:
            seen.append(f"{client.who}, which trusts {client.source}: {wrong}")
    finding = conclude(
        rule,
        case,
        Tally(seen=tuple(seen), unknown=tuple(unknown)),
        Words(
            passed="every client that an object configures can verify the certificate",
            failed=f"{len(seen)} client{'s' if len(seen) > 1 else ''} that an object configures cannot verify the "
            "certificate",
            unclear="whether every configured client can verify the certificate could not be determined",
        ),
        expected=[f"a certificate that {client.who} can verify with {client.source}" for client in clients[:5]],
        fix="put the CA that signs the certificate into the field that holds this client's trust anchors",
        reproduce=remediation.scan(case.endpoint),
    )
    # A client's CA that was not read says nothing about the listener.
    unread = finding.verdict == "inconclusive" and all(f": {_UNREAD}" in each for each in unknown)
    yield replace(finding, severity="info") if unread else promised(finding)


_UNREAD = "its trust anchors were not read: "


def _client_objection(client: Client, case: Case) -> str | Unknown | None:
    """The reason why the client rejects the certificate; None if it accepts it."""
    if client.missing:
        return Unknown(f"{_UNREAD}{client.missing}")
    if not client.anchors:
        return Unknown(f"{client.source} contains no readable certificate")
    objected = chain_objection(case.observation.chain, client.anchors, case.now)
    leaf = served.leaf(case)
    if objected is not None or client.name is None or isinstance(leaf, Unknown):
        return objected
    covered = [covers(leaf, each) for each in (client.name, *client.others)]
    if True in covered:
        return None
    names = " or ".join(served.short(each) for each in (client.name, *client.others))
    return next((each for each in covered if isinstance(each, Unknown)), f"it is not valid for {names}")


CLIENTS = Rule(id="cert-clients", check=check_clients)
