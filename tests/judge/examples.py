"""The examples on pages of rules about listeners: YAML of what is observed, as the case that the tests judge.

An example is objects and a policy file, each a document with a ``kind`` (``KINDS``), and a mapping of what is observed.
What it does not mention is as in ``cases.case``, a listener without fault. A word of the mapping is one of these:

- a field of the observation, in camelCase: ``alpn: h2`` sets ``Observation.alpn``;
- a part of the case, with fields: ``expectation: {clientCertificate: required}``, ``policy: {minRsaBits: 3072}``;
- one of ``WORDS``, which say more than a field: ``versions: [TLSv1.2]``.

Where a certificate is described, all fields of ``CertificateFacts`` are words too, beside ``CERTIFICATE_WORDS``.
So a plain value needs no word of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from functools import cache
from hashlib import sha256
from types import UnionType
from typing import Any, Final, TypeAlias, Union, get_args, get_origin

import msgspec
import yaml
from cryptography.hazmat.primitives.serialization import Encoding
from msgspec import Struct, structs

from scanner.data import data
from scanner.kube.maybe import Unknown
from scanner.kube.objects import Reference
from scanner.model.endpoint import Owner
from scanner.model.expectation import (
    Because,
    Client,
    DeclaredCertificates,
    DeclaredIssuer,
    DeclaredLeaf,
    MissingGrant,
    Neighbour,
    OtherName,
    PassedOn,
    PlainPort,
    Upstream,
)
from scanner.model.observation import Answered, Flaw, Observation, Opinion, Reach, Stray
from scanner.model.rule import Case
from scanner.tls import names
from scanner.tls.certificate import CertificateFacts, parse_certificate
from scanner.tls.codepoints import TLS12, TLS13, VERSIONS
from scanner.tls.oids import SIGNATURES
from scanner.values import replace
from tests.certs import Authority
from tests.judge.cases import ISSUER, LEAF, NOW, all_groups, all_suites, answers, case

Word: TypeAlias = Callable[[Case, Any], Case]
Said: TypeAlias = Mapping[str, Any]
TO_DO = "another rule fails here too: change the example, or tests/judge/cases.py"


def case_of(text: str) -> Case:
    """The case that an example describes. Raises ``ValueError`` for an unknown word or value, with its page."""
    try:
        documents = [each for each in yaml.safe_load_all(text) if each]
    except yaml.YAMLError as error:
        error.add_note(place(text))
        raise
    observed = {word: value for each in documents if "kind" not in each for word, value in each.items()}
    objects = [(each["kind"], each) for each in documents if "kind" in each]
    made = case()
    for word, value in (*observed.items(), *objects):  # some objects are about a name that was observed
        try:
            made = _said(made, word, value)
        except Exception as error:
            error.add_note(f"{place(text)}: {word}: {value}")
            raise
    return made


def _said(case: Case, word: str, value: Any) -> Case:  # noqa: ANN401 - YAML
    if isinstance(value, dict) and "kind" in value:
        if word not in KINDS:
            raise _unknown(word, "KINDS", KINDS)
        return KINDS[word](case, value)
    if word in WORDS:
        return WORDS[word](case, value)
    if word in _PARTS:
        return replace(case, **{word: changed(getattr(case, word) or SOUND, value)})
    if _field(word) in Observation.__struct_fields__:
        return observed(case, **fields(Observation, {word: value}))
    raise _unknown(word, "WORDS", (*WORDS, *_PARTS), Observation)


def place(text: str) -> str:
    """The page and the line where an example begins."""
    for page in data("rules").iterdir():
        before, found, _ = page.read_text(encoding="utf-8").partition(text)
        if found:
            return f"docs/rules/{page.name}:{before.count(chr(10)) + 1}"
    return "an example"


def _unknown(word: str, table: str, words: Iterable[str], kind: type[Struct] | None = None) -> ValueError:
    known = f"It has: {', '.join(words)}." + (f" Fields: {_words(kind)}." if kind else "")
    return ValueError(f"unknown word {word!r}: add it to {table} in tests/judge/examples.py, or correct it. {known}")


# --- Fields -----------------------------------------------------------------------------------------------------------


def _field(word: str) -> str:
    """``isCA``: ``is_ca``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", word).lower()


def _words(kind: type[Struct]) -> str:
    return ", ".join(re.sub(r"_([a-z])", lambda found: found[1].upper(), each) for each in kind.__struct_fields__)


def fields(kind: type[Struct], said: Said) -> dict[str, Any]:
    """Fields of a struct with their values, from words in camelCase."""
    types = {each.name: each.type for each in structs.fields(kind)}
    if unknown := [word for word in said if _field(word) not in types]:
        file = f"{kind.__module__.replace('.', '/')}.py"
        wrong = f"unknown field {unknown[0]!r} of {kind.__name__}: add it in {file}, or correct it"
        raise ValueError(f"{wrong}. It has: {_words(kind)}.")
    return {(name := _field(word)): _typed(types[name], value) for word, value in said.items()}


def _typed(kind: Any, value: Any) -> Any:  # noqa: ANN401 - a type; YAML
    """A value as its type has it: a mapping becomes a struct, ``{unknown: the reason}`` an ``Unknown``."""
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    if isinstance(value, dict):
        if Unknown in kinds and value.keys() == {"unknown"}:
            return Unknown(value["unknown"])
        for each in kinds:
            if get_origin(each) is Mapping:
                return {key: _typed(get_args(each)[1], item) for key, item in value.items()}
            if issubclass(each, Struct):
                return each(**fields(each, value))
    for each in kinds:
        if isinstance(value, list) and (container := get_origin(each)) in (tuple, frozenset):
            return container(_typed(get_args(each)[0], item) for item in value)
    return msgspec.convert(value, kind)


def changed(value: Any, said: Said) -> Any:  # noqa: ANN401 - any struct
    """A copy of a struct with the fields that an example sets."""
    return replace(value, **fields(type(value), said))


def observed(case: Case, **changes: Any) -> Case:  # noqa: ANN401 - fields of many types
    return replace(case, observation=replace(case.observation, **changes))


def expected(case: Case, **changes: Any) -> Case:  # noqa: ANN401 - as above
    return replace(case, expectation=replace(case.expectation, **changes))


def certified(case: Case, **changes: Any) -> Case:  # noqa: ANN401 - as above
    """With other requirements on the served certificate."""
    return expected(case, certificate=replace(case.expectation.certificate, **changes))


def placed(case: Case, **changes: Any) -> Case:  # noqa: ANN401 - as above
    endpoint = replace(case.endpoint, **changes)
    return replace(case, endpoint=replace(endpoint, instance=f"{endpoint.id} @ {endpoint.address}"))


# --- Certificates -----------------------------------------------------------------------------------------------------

_MOMENT = re.compile(r"in (?P<ahead>\d+) days?|(?P<ago>\d+) days? ago")
_HASHES = dict(SIGNATURES.values())


def _moment(text: str) -> datetime:
    """``in 10 days`` or ``10 days ago``, from the time of the scan."""
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no time: 'in 10 days', '10 days ago'")
    return NOW + timedelta(days=int(found["ahead"] or -int(found["ago"])))


def _key(value: Said) -> dict[str, Any]:
    curve = value.get("curve")
    size = value["keySize"] if curve is None else int(curve.removeprefix("P-"))
    return {"key_algorithm": value["algorithm"], "key_size": size, "curve": curve}


CERTIFICATE_WORDS: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    "names": lambda value: {"dns_names": tuple(value)},
    "serialNumber": lambda value: {"serial": value},
    "starts": lambda value: {"not_before": _moment(value)},
    "ends": lambda value: {"not_after": _moment(value)},
    "key": _key,
    "signature": lambda value: {"signature": value, "signature_hash": _HASHES[value]},
}
"""Words beside the fields of ``CertificateFacts``, as certificates and cert-manager's Certificates have them."""


def certificate(said: Said, base: CertificateFacts = LEAF) -> CertificateFacts:
    """A certificate by its description; two with the same description are the same certificate."""
    changes: dict[str, Any] = {}
    for word, value in said.items():
        if word in CERTIFICATE_WORDS:
            changes |= CERTIFICATE_WORDS[word](value)
        elif _field(word) in base.__struct_fields__:
            changes |= fields(CertificateFacts, {word: value})
        else:
            raise _unknown(word, "CERTIFICATE_WORDS", CERTIFICATE_WORDS, CertificateFacts)
    made = replace(base, **changes)
    der = repr(made).encode()
    return base if made == base else replace(made, der=der, sha256=sha256(der).hexdigest())


def _leaf(case: Case, value: Said) -> Case:
    leaf, *others = _chain(case)
    return observed(case, chain=(certificate(value, leaf), *others))


def _intermediate(case: Case, value: Said) -> Case:
    return observed(case, chain=(_chain(case)[0], certificate(value, ISSUER)))


def _chain(case: Case) -> tuple[CertificateFacts, ...]:
    assert not isinstance(case.observation.chain, Unknown)
    return case.observation.chain


def _stored(place: str, certificates: Iterable[Said]) -> DeclaredLeaf:
    """The first certificate as what an object has, with the others behind it."""
    first, *behind = map(certificate, certificates)
    return DeclaredLeaf(
        place=place,
        sha256=first.sha256,
        serial=first.serial,
        names=frozenset(first.sans or ()),
        issuer=first.issuer,
        not_before=first.not_before,
        issuers=tuple(DeclaredIssuer(sha256=each.sha256, subject=each.subject, issuer=each.issuer) for each in behind),
    )


def _missing_grant(*, namedBy: str, place: str, certificates: Iterable[Said]) -> MissingGrant:  # noqa: N803 - words
    return MissingGrant(who=namedBy, secret=place, leaf=_stored(place, certificates))


@cache
def _authority(name: str, *above: str) -> Authority:
    """The same each time. ``above``: its issuer, the issuer of that one and so on; none: it is a root."""
    return Authority(name, now=NOW, issuer=_authority(*above) if above else None)


def _above(name: str, issuers: Mapping[str, str]) -> tuple[str, ...]:
    issuer = issuers.get(name, name)
    return () if issuer == name else (issuer, *_above(issuer, issuers))


def _signed(case: Case, value: list[Mapping[str, str]]) -> Case:
    """Real certificates, leaf first; an issuer without a certificate in the list is a root."""
    issuers = {each["subject"]: each["issuer"] for each in value}
    leaf, *others = issuers
    signer = issuers[leaf]
    made = [_authority(signer, *_above(signer, issuers)).leaf(names=(leaf,)).der]
    made += [_authority(each, *_above(each, issuers)).certificate.public_bytes(Encoding.DER) for each in others]
    return observed(case, chain=tuple(map(parse_certificate, made)))


# --- What a listener accepts and answers ------------------------------------------------------------------------------

_FIRST_FINITE_FIELD = 0x0100
"""Below are elliptic curves, the only groups that TLS 1.2 is asked for."""


def _versions(case: Case, value: list[str]) -> Case:
    spoken = tuple(names.version_code(str(each)) for each in value)
    seen = case.observation
    suites, groups = ({each: of[each] for each in of if each in spoken} for of in (seen.suites, seen.groups))
    return observed(case, versions=answers(spoken, set(VERSIONS)), suites=suites, groups=groups)


def _suites(case: Case, value: list[str]) -> Case:
    """A version without a suite in the list keeps those that it has."""
    named = [names.suite_code(each) for each in value]
    suites = dict(case.observation.suites)
    for version in (TLS13, TLS12):
        if mine := tuple(code for code in named if names.is_tls13(code) == (version == TLS13)):
            suites[version] = answers(mine, all_suites(version))
    return observed(case, suites=suites)


def _groups(case: Case, value: list[str]) -> Case:
    named = tuple(names.group_code(each) for each in value)
    curves = tuple(code for code in named if code < _FIRST_FINITE_FIELD)
    return observed(case, groups={TLS13: answers(named, all_groups()), TLS12: answers(curves, all_groups())})


def _alert(case: Case, value: str) -> Case:
    """The listener ends every handshake with this one."""
    detail = f"alert {value}"
    return observed(case, reach=Reach.REJECTED, detail=detail, chain=Unknown(detail))


def _stray(*, name: str | None, alert: str = "", clientCertificate: Any = "none", **sent: Any) -> Stray:  # noqa: ANN401, N803 - words
    if alert:
        return Stray(name=name, answer="refused")
    return Stray(name=name, answer="served", leaf=certificate(sent), client_certificate=clientCertificate)


def _first_line(*, status: int, location: str = "") -> str:
    return f"HTTP/1.1 {status}" + (f" to {location}" if location else "")


def _answered(*, serverName: str, host: str, status: int = 0, etag: str = "", alert: str = "") -> Answered:  # noqa: N803 - words
    answer = Unknown(f"alert {alert}") if alert else f"{status}" + (f"; etag: {etag}" if etag else "")
    return Answered(server_name=serverName, authority=host, answer=answer)


SOUND = Opinion(witness="sslyze", highest=TLS13, flaws=dict.fromkeys(get_args(Flaw), False))


def _check(flaw: Flaw, present: str, absent: str) -> Word:
    """The result of one check of sslyze: the value if the flaw is ``present``, and if it is ``absent``."""

    def said(case: Case, value: str) -> Case:
        if value not in (present, absent):
            raise ValueError(f"{value!r} is neither {present!r} nor {absent!r}")
        opinion = case.opinion or SOUND
        return replace(case, opinion=replace(opinion, flaws={**opinion.flaws, flaw: value == present}))

    return said


# --- Where a listener is ----------------------------------------------------------------------------------------------


def _listener(case: Case, value: str) -> Case:
    """``Deployment/shop/web:8443``: the workload that listens, and its port."""
    whose, _, port = value.rpartition(":")
    kind, namespace, name = whose.split("/")
    return placed(case, id=value, port=int(port), owner=Owner(kind=kind, namespace=namespace, name=name))


def _object(case: Case, value: str) -> Case:
    """The object that makes the listener a frontend."""
    kind, namespace, name = value.split("/")
    return placed(case, subject=Reference(kind=kind, namespace=namespace, name=name), segment="Frontend")


def _passed_to(case: Case, value: list[str]) -> Case:
    """Ids of the listeners that the object, named before, passes connections to."""
    where = case.endpoint
    source = f"{where.subject} spec.tls.termination: passthrough"
    passed_on = PassedOn(source=source, here=where.id, backends=tuple(value), name=where.server_name)
    return expected(case, passed_on=passed_on)


WORDS: Mapping[str, Word] = {
    "versions": _versions,
    "cipherSuites": _suites,
    "groups": _groups,
    "plaintext": lambda case, value: observed(case, reach=Reach.PLAINTEXT, protocol=value),
    "starttls": lambda case, value: observed(case, reach=Reach.STARTTLS_NEEDED, protocol=value),
    "alert": _alert,
    "untrustedClientCertificate": lambda case, value: observed(case, untrusted_client=value),
    # Certificates
    "certificate": _leaf,
    "intermediate": _intermediate,
    "sent": lambda case, value: observed(case, chain=tuple(map(certificate, value))),
    "chain": _signed,
    "trustAnchors": lambda case, value: certified(
        case, anchors=tuple(_authority(each).der for each in value), anchor_source="ca.crt"
    ),
    "stored": lambda case, value: certified(
        case, declared=DeclaredCertificates(leaves=(_stored(**value),), exact=True)
    ),
    "withoutGrant": lambda case, value: certified(case, missing_grants=(_missing_grant(**value),)),
    # Answers to other names, and to HTTP
    "serverNames": lambda case, value: observed(case, strays=tuple(_stray(**each) for each in value)),
    "withoutTLS": lambda case, value: observed(case, cleartext=_first_line(**value).partition("://")[0]),
    "port80": lambda case, value: observed(case, plain_port=_first_line(**value)),
    "requests": lambda case, value: observed(
        case, answered=tuple(_answered(**each) for each in value), alpn="http/1.1"
    ),
    # sslyze
    "heartbleed": _check("heartbleed", "vulnerable", "not vulnerable"),
    "robot": _check("robot", "vulnerable", "not vulnerable"),
    "earlyChangeCipherSpec": _check("ccs-injection", "accepted", "refused"),
    "secureRenegotiation": _check("insecure-renegotiation", "unsupported", "supported"),
    "clientRenegotiation": _check("client-renegotiation", "accepted", "refused"),
    "compression": _check("compression", "DEFLATE", "none"),
    "fallback": _check("no-fallback-scsv", "accepted", "refused"),
    # The place, for rules across listeners
    "listener": _listener,
    "address": lambda case, value: placed(case, address=value),
    "serverName": lambda case, value: placed(case, server_name=value),
    "object": _object,
    "passthroughTo": _passed_to,
    "role": lambda case, value: expected(case, overridden={"metrics": value, "webhook": value, "api": None}[value]),
}
"""Words beside the fields of the observation."""
_PARTS: Final = ("endpoint", "expectation", "observation", "policy", "opinion")


# --- What objects require of the listener -----------------------------------------------------------------------------

_NOT_SERVED: Final = {("Accepted", "False"), ("Conflicted", "True"), ("ResolvedRefs", "False")}
_NO_CERTIFICATE: Final = ("InvalidCertificateRef", "RefNotPermitted")
_CONTOUR: Final = "projectcontour.io/gateway-controller"


def _name(each: Said) -> str:
    metadata = each["metadata"]
    return "/".join(filter(None, (each["kind"], metadata.get("namespace"), metadata["name"])))


def _policy(case: Case, each: Said) -> Case:
    case = replace(case, policy=changed(case.policy, each.get("thresholds", {})))
    if "require" in each:
        assert each["require"] == {"postQuantum": True}
        case = replace(case, policy=replace(case.policy, post_quantum="high"))
    for override in each.get("overrides", ()):
        said = f"{override['profile']}: {override['justification']}"
        case = expected(case, because=(Because(source="adhere.yaml", field="overrides", said=said, decides=True),))
    return case


def _client_tls(case: Case, each: Said) -> Case:
    asked = {"Required": "required", "Optional": "requested"}[each["spec"]["clientTLS"]["clientCertificatePolicy"]]
    return expected(case, client_certificate=asked, client_trust=f"{_name(each)} spec.clientTLS")


def _other_name(case: Case, owed: str, because: str) -> Case:
    (stray,) = case.observation.strays
    return expected(case, other_names=(OtherName(name=stray.name, owed=owed, because=because),))  # type: ignore[arg-type]


def _route(case: Case, each: Said) -> Case:
    if policy := each["spec"]["tls"].get("insecureEdgeTerminationPolicy"):
        owed = {"None": "nothing", "Redirect": "redirect", "Allow": "served"}[policy]
        because = f"{_name(each)} spec.tls.insecureEdgeTerminationPolicy"
        case = expected(case, plain_port=PlainPort(port=80, path="/", owed=owed, because=because))  # type: ignore[arg-type]
    if each["spec"].get("wildcardPolicy") == "Subdomain":
        case = _other_name(case, "same", f"{_name(each)} spec.wildcardPolicy")
    return case


def _gateway(case: Case, each: Said) -> Case:
    tls = each["spec"].get("tls", {})
    if "status" in each:
        conditions = [condition for listener in each["status"]["listeners"] for condition in listener["conditions"]]
        return expected(case, rejection=", ".join(filter(None, (_rejection(**condition) for condition in conditions))))
    if case.observation.strays:
        owed, field = ("validated", "spec.tls.frontend") if "frontend" in tls else ("refused", "spec.listeners")
        return _other_name(case, owed, f"{_name(each)} {field}")
    ref = tls.get("backend", {}).get("clientCertificateRef")
    identity = f"Secret/{each['metadata']['namespace']}/{ref['name']}" if ref else ""
    return _upstream(case, gateway=_name(each), identity=identity)


def _rejection(*, type: str, status: str, reason: str, **_: str) -> str:  # noqa: A002 - as Kubernetes has it
    if (type, status) not in _NOT_SERVED or (type == "ResolvedRefs" and reason not in _NO_CERTIFICATE):
        return ""
    return f"Gateway/edge/front status.listeners[web]: {type} is {status}, {reason}"


def _upstream(case: Case, **changes: Any) -> Case:  # noqa: ANN401 - fields of several types
    """With more about the Gateway that connects to the listener."""
    known = case.expectation.upstreams or (Upstream(gateway="", policy="BackendTLSPolicy/shop/web"),)
    return expected(case, upstreams=(replace(known[0], **changes),))


def _backend_policy(case: Case, each: Said) -> Case:
    roots = each["spec"]["validation"].get("wellKnownCACertificates")
    reason = f"it has wellKnownCACertificates: {roots}" if roots else ""
    return _upstream(case, policy=_name(each), plaintext=reason)


def _webhook(case: Case, each: Said) -> Case:
    clients = tuple(_client(_name(each), hook["clientConfig"]) for hook in each["webhooks"])
    return certified(case, clients=clients)


def _client(who: str, config: Said) -> Client:
    authority = _authority(config["caBundle"].removeprefix("CA_DATA(").removesuffix(")"))
    name = "{name}.{namespace}.svc".format(**config["service"])
    return Client(who=who, source=f"{who} caBundle", anchors=(authority.der,), name=name)


def _proxy(case: Case, each: Said) -> Case:
    host = each["spec"]["virtualhost"]
    guarded = "clientValidation" in host["tls"]
    return expected(case, neighbours=(Neighbour(name=host["fqdn"], guarded=guarded, because=_name(each)),))


def _intermediate_profile(case: Case, each: Said) -> Case:
    """The profile of the listener without fault."""
    assert each["spec"]["tlsSecurityProfile"] == {"type": "Intermediate", "intermediate": {}}
    return case


KINDS: Mapping[str, Word] = {
    "APIServer": _intermediate_profile,
    "BackendTLSPolicy": _backend_policy,
    "Gateway": _gateway,
    "GatewayClass": lambda case, each: _upstream(case, fails_open=each["spec"]["controllerName"] == _CONTOUR),
    "HTTPProxy": _proxy,
    "Ingress": lambda case, each: certified(
        case, names=tuple(host for tls in each["spec"]["tls"] for host in tls["hosts"])
    ),
    "IngressController": _client_tls,
    "Route": _route,
    "ScanPolicy": _policy,
    "ValidatingWebhookConfiguration": _webhook,
}
"""Objects, by what they require of the listener."""
