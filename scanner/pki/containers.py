"""Certificates in files (PEM, DER, PKCS #12, Java key stores, kubeconfig), and their chains. No key stays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256

from msgspec import Struct, field

from scanner.errors import InputError
from scanner.files.yaml_values import load
from scanner.kube.maybe import Unknown
from scanner.kube.secrets import KubeconfigCluster, KubeconfigFile, KubeconfigUser
from scanner.model.held_certificate import HeldCertificate, Role
from scanner.model.pem import MOST, Parser, decoded, inside, looks_like_a_key, pem_certificates
from scanner.pki.keystores import JKS_MAGICS, jks_entries, pkcs12_bags
from scanner.tls.certificate import CertificateFacts
from scanner.tls.wire import Malformed
from scanner.values import replace

_LONGEST_CHAIN = 10


def issued(certificate: CertificateFacts, issuer: CertificateFacts) -> bool:
    """True if ``issuer`` issued ``certificate`` by their names, and it is not self-issued."""
    return certificate.issuer is not None and certificate.issuer == issuer.subject and not certificate.self_issued


def chain_of(certificate: CertificateFacts, behind: Iterable[CertificateFacts]) -> tuple[CertificateFacts, ...]:
    """Those of ``behind`` that continue the chain, in their order, as long as each issued the one before."""
    chain: list[CertificateFacts] = []
    for each in behind:
        if len(chain) == _LONGEST_CHAIN or not issued(chain[-1] if chain else certificate, each):
            break
        chain.append(each)
    return tuple(chain)


def chain_first(found: Sequence[CertificateFacts]) -> list[CertificateFacts]:
    """The certificates with the first one's chain in front; files need no particular order."""
    ordered, rest = list(found[:1]), list(found[1:])
    while ordered and len(ordered) <= _LONGEST_CHAIN:
        behind = next((each for each in rest if issued(ordered[-1], each)), None)
        if behind is None:
            break
        rest.remove(behind)
        ordered.append(behind)
    return ordered + rest


def roles(found: Sequence[CertificateFacts], *, keyed: bool) -> Iterator[Role]:
    """The role of each certificate of a file; ``keyed``: the first one's private key is in the file."""
    for number, each in enumerate(found):
        if number == 0 and keyed:
            yield "client" if each.extended_key_usage == ("clientAuth",) and not each.is_ca else "leaf"
        elif not each.is_ca:
            yield "client" if each.extended_key_usage == ("clientAuth",) else "leaf"
        else:
            yield "issuer" if number and issued(found[number - 1], each) else "trusted"


def apart(found: HeldCertificate) -> HeldCertificate:
    """Give an unreadable certificate the digest of its place, so that two of them do not count as one certificate."""
    if found.facts.der:
        return found
    digest = sha256(str(found.place).encode("utf-8", "backslashreplace")).hexdigest()
    return replace(found, facts=replace(found.facts, sha256=digest))


MAX_BYTES = 16 << 20
"""Size limit of one file."""
_SEQUENCE = 0x30
_KUBECONFIG = (b"certificate-authority", b"client-certificate")


class Contained(Struct, frozen=True, kw_only=True):
    """One certificate of a file."""

    facts: CertificateFacts
    role: Role
    label: str = ""
    """Place in the file: ``2``, ``alias web``, ``user admin``."""
    chain: tuple[CertificateFacts, ...] = ()


class Named(Struct, frozen=True, kw_only=True):
    """Another file to which a kubeconfig refers, relative to itself."""

    path: str
    label: str
    role: Role


class Contents(Struct, frozen=True, kw_only=True):
    """Contents of a file, including what could be read before a problem."""

    format: str
    """``PEM``, ``DER``, ``PKCS #12``, ``JKS``, ``kubeconfig``; ``key`` for a private key alone; "" else."""
    certificates: tuple[Contained, ...] = ()
    problems: tuple[str, ...] = ()
    files: tuple[Named, ...] = ()


def contents(data: bytes, passwords: Sequence[bytes] = ()) -> Contents:
    """The certificates in a file's bytes; never raises, whatever they are."""
    if len(data) > MAX_BYTES:
        return Contents(format="", problems=(f"larger than {MAX_BYTES >> 20} MiB",))
    if data[:4] in JKS_MAGICS:
        return _of_jks(data)
    if b"clusters" in data and any(word in data for word in _KUBECONFIG):
        found = _of_kubeconfig(data)
        if found is not None:
            return found
    if b"-----BEGIN " in data:
        return _of_pem(data.decode("utf-8", "replace"))
    if data[:1] == bytes((_SEQUENCE,)):
        return _of_der(data, passwords)
    return Contents(format="")


def _of_pem(text: str) -> Contents:
    parser, facts, problems = Parser(), [], []
    for each in pem_certificates(text):
        if isinstance(each, Unknown):
            problems.append(each.reason)
        else:
            facts.append(parser.facts(each))
    keyed = "PRIVATE KEY-----" in text
    format_ = "key" if keyed and not (facts or problems) else "PEM" if facts or problems else ""
    return Contents(format=format_, certificates=tuple(_arranged(facts, keyed=keyed)), problems=tuple(problems))


def _arranged(facts: Sequence[CertificateFacts], *, keyed: bool) -> Iterator[Contained]:
    """The certificates with their roles; each leaf with its chain."""
    for number, (each, role) in enumerate(zip(facts, roles(facts, keyed=keyed), strict=True)):
        chain = chain_of(each, facts[number + 1 : number + 12]) if role in ("leaf", "client") else ()
        yield Contained(facts=each, role=role, label=str(number + 1) if len(facts) > 1 else "", chain=chain)


def _of_der(data: bytes, passwords: Sequence[bytes]) -> Contents:
    """The content of PKCS #12 begins with the number 3 (RFC 7292 section 4)."""
    if inside(data) == b"\x02\x01\x03":
        return _of_pkcs12(data, passwords)
    if looks_like_a_key(data):
        return Contents(format="key")
    facts = Parser().facts(data)
    reasons = set(facts.unreadable.values())
    if facts.key_algorithm is None and facts.subject is None and facts.serial is None:
        return Contents(format="DER", problems=(f"no certificate that can be read: {min(reasons)}",))
    return Contents(format="DER", certificates=tuple(_arranged([facts], keyed=False)))


def _of_pkcs12(data: bytes, passwords: Sequence[bytes]) -> Contents:
    try:
        bags = pkcs12_bags(data, passwords)[:MOST]
    except Malformed as error:
        return Contents(format="PKCS #12", problems=(str(error),))
    parser = Parser()
    keyed = bool(bags) and bags[0].keyed
    facts = [parser.facts(bag.der) for bag in bags]
    aliases = {bag.der: bag.alias for bag in bags}
    certificates = tuple(
        replace(each, label=f"alias {aliases[each.facts.der]}") if aliases[each.facts.der] else each
        for each in _arranged(chain_first(facts) if keyed else facts, keyed=keyed)
    )
    return Contents(format="PKCS #12", certificates=certificates)


def _of_jks(data: bytes) -> Contents:
    parser = Parser()
    certificates: list[Contained] = []
    problems = []
    try:
        for entry in jks_entries(data):
            chain = [parser.facts(der) for der in entry.chain]
            certificates += _labelled(_arranged(chain, keyed=entry.keyed), f"alias {entry.alias}", keyed=entry.keyed)
            if len(certificates) > MOST:
                problems.append(f"more than {MOST} certificates: the others were not read")
                break
    except Malformed as error:
        problems.append(str(error))
    return Contents(format="JKS", certificates=tuple(certificates), problems=tuple(problems))


def _labelled(found: Iterable[Contained], label: str, *, keyed: bool) -> Iterator[Contained]:
    """The certificates with their place as label; in a trust store, those without a key are trusted."""
    for each in found:
        role = each.role if keyed else "trusted"
        yield replace(each, label=f"{label} {each.label}".rstrip(), role=role)


# --- kubeconfig (kubernetes.io, "Organizing Cluster Access Using kubeconfig Files") -----------------------------------


class _Kubeconfig(Struct):
    certificates: list[Contained] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    files: list[Named] = field(default_factory=list)

    def entry(self, body: KubeconfigCluster | KubeconfigUser, label: str, role: Role) -> None:
        """A cluster's or user's certificates: the data count before the file."""
        if body.data:
            self._data(body.data, f"{label}-data", role)
        elif body.file:
            self.files.append(Named(path=body.file, label=label, role=role))

    def _data(self, coded: str, label: str, role: Role) -> None:
        try:
            found = _of_pem(decoded(coded).decode("utf-8", "replace"))
        except ValueError:
            self.problems.append(f"{label} is not base64")
            return
        if not found.certificates:
            self.problems.append(f"{label}: {'; '.join(found.problems) or 'no certificate in PEM'}")
            return
        self.problems += [f"{label}: {problem}" for problem in found.problems]
        self.certificates += with_role(found.certificates, label, role)


def with_role(found: Sequence[Contained], label: str, role: Role) -> Iterator[Contained]:
    """The certificates of a kubeconfig field: all trusted, or a client's chain."""
    for number, each in enumerate(found):
        yield replace(
            each,
            label=f"{label} {each.label}".rstrip(),
            role="issuer" if role == "client" and number else role,
        )


def _of_kubeconfig(data: bytes) -> Contents | None:
    """The certificates of a kubeconfig; None if it is not a kubeconfig."""
    try:
        value = load(data, "kubeconfig", MAX_BYTES).value
    except InputError as error:
        return None if b"-----BEGIN " in data else Contents(format="kubeconfig", problems=(error.message,))
    config = KubeconfigFile(value if isinstance(value, dict) else {})
    if not (config.has_clusters or config.has_users):
        return None
    found = _Kubeconfig()
    for cluster in config.clusters:
        found.entry(cluster, f"cluster {cluster.name} certificate-authority", "trusted")
    for user in config.users:
        found.entry(user, f"user {user.name} client-certificate", "client")
    return Contents(
        format="kubeconfig",
        certificates=tuple(found.certificates),
        problems=tuple(found.problems),
        files=tuple(found.files),
    )
