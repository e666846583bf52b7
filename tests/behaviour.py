"""The recorded behaviour of every command: verdicts, severities, positions, exit codes and endpoint ids.

    python -m tests.behaviour --check [PART...]     compare with tests/golden/behaviour; 1 and a diff where it differs
    python -m tests.behaviour --write [PART...]     record the present behaviour
    python -m tests.behaviour --show PART [NAME]    print a case, or all findings of a rule, with all texts
    ... --keep DIR                                  leave the inputs in DIR, to run the printed commands there

Where a line differs:

* In the file of a part (``lint-stories.txt``, ``scan.txt`` ...), users get another verdict, severity, position or exit
  code. Either the change is wrong, or it is decided: then a page in ``docs/decisions/`` says what differs and why, and
  the same commit has the files that ``--write`` made. New rules, formats and options need no such page.
* In ``messages.txt`` alone, only a text differs (a message, fix or reason: first digest) or a shown value (expected,
  observed, a command to reproduce: second digest). ``--show`` before and after the change prints the texts.

A failure and an inconclusive finding have a line of their own, ``rule severity verdict status position``, below their
object or endpoint. Other results are in the section ``(rules)`` of the part, in a line for each rule: for each group
of subjects the usual result, and then number and digest of the subjects that differ. ``tls-version: endpoint high pass
ok, none 5:a1b2c3`` is: passes at each endpoint that has no line of its own, but for 5 without a result. So a new rule
adds a line to a part and one to ``messages.txt``, and changes others only by its findings and examples. A rule that no
longer passes at one subject changes its line, also if it passes at another instead. ``--show PART RULE`` lists the
subjects.

Inputs are those of other tests. Two are saved, and ``--write`` does not write them: ``golden/behaviour/demo``, a
snapshot of the demo's cluster, and ``golden/behaviour/saved``, a small saved scan that must stay readable. Each run has
the same result: the clock stands still, commands run in this process in an empty directory, and no address is dialled.
Each listener is one of a few made-up servers (``CHARACTERS``), by a digest of its name, with keys from fixed numbers.
An audit hook stops connections to other addresses than loopback. Times and hexadecimal digests in texts are replaced.
Each JSON document is validated against ``docs/schema``. A part whose inputs are not on this machine is skipped, and its
files stay as they are.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import inspect
import io
import json
import os
import pkgutil
import re
import shlex
import shutil
import ssl
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from xml.etree import ElementTree

import click
import yaml
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID

import scanner
from scanner import scan as scan_story
from scanner.cli import adhere, run
from scanner.cluster import save
from scanner.cluster.rbac import OPTIONS
from scanner.judge import RULES, SCAN_RULES, judge
from scanner.judge.sslyze_result import DEEP_RULES
from scanner.kube.maybe import Unknown
from scanner.lint import RULES as LINT_RULES
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Expectation
from scanner.model.finding import Finding
from scanner.model.observation import Answered, Answers, Attempt, Negotiated, Observation, Reach, Stray
from scanner.model.report import EndpointRow
from scanner.model.rule import Case as Judged
from scanner.model.saved_scan import Seen, encode
from scanner.model.scan_policy import Policy
from scanner.pki.rules import PKI_RULES
from scanner.probe import dial, workers
from scanner.probe.dial import NotResolved
from scanner.probe.session import Question
from scanner.report.explanation import explain as explanation
from scanner.report.rows import endpoint_row, finding_row
from scanner.report.stream import dumps
from scanner.tls.certificate import parsed_once
from scanner.tls.codepoints import TLS10, TLS11, TLS12, TLS13, VERSIONS
from scanner.values import replace
from tests.e2e import assets, cel_cases, contour_gateway_stories, contour_stories, field_bases
from tests.expect import stories
from tests.judge import cases, scan_examples
from tests.judge.examples import case_of
from tests.lint import examples
from tests.pki import examples as pki_examples
from tests.pki import names_story
from tests.pki.objects import secret
from tests.report.page_data import endpoints

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

ROOT: Final = Path(__file__).parents[1]
GOLDEN: Final = ROOT / "tests" / "golden" / "behaviour"
DEMO: Final = GOLDEN / "demo"
"""The snapshot of the demo's cluster, from ``adhere scan --save``."""
SAVED: Final = GOLDEN / "saved"
"""A small saved scan, as it was written when this was first recorded: it must stay readable."""
NOW: Final = stories.TAKEN_AT
"""The time of everything but the demo's cluster."""
DEMO_NOW: Final = datetime(2026, 11, 22, 20, 0, tzinfo=UTC)


# --- A case ----------------------------------------------------------------------------------------------------------


class Outcome(NamedTuple):
    """The result of a rule for a subject."""

    rule: str
    group: str
    """The kind of the subject: most of a group have the same result."""
    subject: str
    result: str
    """Severity, verdict and status; empty where the case has a line for it."""
    detail: str = ""


@dataclass(slots=True)
class Texts:
    """Texts that ``messages.txt`` has as two digests."""

    words: list[str] = field(default_factory=list)
    """Texts for people."""
    values: list[str] = field(default_factory=list)
    """Expected and observed values, and commands."""

    def digests(self, order: Callable[[list[str]], Iterable[str]] = list) -> str:
        return f"{_digest(order(self.words))} {_digest(order(self.values))}"


@dataclass(slots=True)
class Case:
    """One command on one input, and its result."""

    name: str
    command: str
    lines: list[str] = field(default_factory=list)
    """Lines that are recorded in full."""
    outcomes: list[Outcome] = field(default_factory=list)
    subjects: list[tuple[str, str]] = field(default_factory=list)
    """Every subject with its group, also those without an outcome."""
    texts: Texts = field(default_factory=Texts)
    """Texts that belong to no rule."""
    by_rule: dict[str, Texts] = field(default_factory=dict)

    def add(self, outcome: Outcome, words: Iterable[str], values: Iterable[str] = ()) -> None:
        """An outcome with its texts. Those of equal results are equal, unless the case has a line for each."""
        self.outcomes.append(outcome)
        about = "" if outcome.result else f"{self.name} {outcome.subject}"
        shown, facts = "\n".join(words), "\n".join(values)
        if shown or facts:
            texts = self.by_rule.setdefault(outcome.rule, Texts())
            texts.words.append(f"{about}\n{shown}")
            texts.values.append(f"{about}\n{facts}")


def by_rule(cases: Sequence[Case]) -> list[str]:
    """A line for each rule: the usual result in each group, and number and digest of the subjects that differ."""
    subjects: dict[str, set[str]] = {}
    outcomes: dict[tuple[str, str], dict[str, list[Outcome]]] = {}
    for case in cases:
        for group, subject in case.subjects:
            subjects.setdefault(group, set()).add(f"{case.name} {subject}")
        for each in case.outcomes:
            outcomes.setdefault((each.rule, each.group), {}).setdefault(f"{case.name} {each.subject}", []).append(each)
    lines: dict[str, list[str]] = {}
    for (rule, group), found in sorted(outcomes.items()):
        if results := _results(found, subjects.get(group)):
            lines.setdefault(rule, []).append(f"{group} {', '.join(results)}".strip())
    return [f"{rule}: {'; '.join(groups)}" for rule, groups in lines.items()]


def _results(found: Mapping[str, list[Outcome]], subjects: Set[str] | None) -> list[str]:
    """Without ``subjects``, no result is usual."""
    others: dict[str, list[str]] = {"none": sorted(subjects - found.keys()) if subjects else []}
    alone = Counter({"none": len(others["none"])})
    for subject, outcomes in sorted(found.items()):
        result = " + ".join(sorted({each.result for each in outcomes if each.result}))
        details = sorted(each.detail for each in outcomes)
        others.setdefault(result, []).append("; ".join((subject, *details)).removesuffix("; "))
        alone[result] += details == [""]
    others.pop("", None)  # each has a line of its own
    del alone[""]
    usual = max(sorted(alone), key=alone.__getitem__) if subjects else "none"
    others[usual] = [text for text in others[usual] if "; " in text]
    shown = [f"{result} {_short(texts)}" for result, texts in sorted(others.items()) if texts]
    return [usual, *shown] if usual != "none" else shown


_UNSTABLE: Final = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|\+00:00| UTC)?)?"
    r"|\b(?:[0-9A-Fa-f]{2}:){7,}[0-9A-Fa-f]{2}\b|\b[0-9a-f]{8,}(?:\.\.\.)?(?![\w.-])|\b\d{15,}\b"
)
"""Times, digests and serial numbers."""


def stable(text: str) -> str:
    """``text`` without what is new in each run."""
    return _UNSTABLE.sub("~", text)


def _digest(texts: Iterable[str]) -> str:
    return sha256("\n".join(map(stable, texts)).encode("utf-8", "backslashreplace")).hexdigest()[:10]


# --- Calling ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Called:
    """The exit code and the output of a command."""

    arguments: tuple[str, ...]
    code: int
    out: str
    err: str

    @property
    def command(self) -> str:
        return shlex.join(("adhere", *self.arguments))

    @property
    def document(self) -> Any:  # noqa: ANN401 - JSON
        """Standard output; None where there is none."""
        return json.loads(self.out) if self.out.strip() else None


LAST: Final = [""]
"""The command that was called last: where a part ended that could not be made."""


def call(*arguments: object) -> Called:
    """Call ``adhere`` in this process."""
    argv = tuple(map(str, arguments))
    LAST[0] = shlex.join(("adhere", *argv))
    out, err = io.StringIO(), io.StringIO()
    before, sys.argv = sys.argv, ["adhere", *argv]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run(argv)
    finally:
        sys.argv = before
    return Called(argv, code, out.getvalue(), err.getvalue())


class Clock(datetime):
    """A clock that stands still, for modules that ask for the time."""

    at = NOW

    @classmethod
    def now(cls, tz: Any = None) -> datetime:  # type: ignore[override] # noqa: ANN401 - as datetime has it
        return cls.at.astimezone(tz)


def standing_still() -> None:
    """Give the clock to every module of ours that asks for the time."""
    for each in pkgutil.walk_packages(scanner.__path__, "scanner."):
        if not each.name.endswith("__main__"):
            with contextlib.suppress(ImportError):  # sslyze may not be installed
                import_module(each.name)
    for name, module in list(sys.modules.items()):
        ours = name.startswith(("scanner", "tests.")) and name != __name__
        if ours and getattr(module, "datetime", None) is datetime and "datetime.now(" in inspect.getsource(module):
            module.datetime = Clock  # type: ignore[attr-defined]


def stopping_connections() -> None:
    """From here on, this process cannot connect to anything but loopback, nor look up a name."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("socket.getaddrinfo", "socket.gethostbyname"):
            raise RuntimeError(f"{event} {arguments[:2]}: nothing is looked up here")
        if event == "socket.connect" and isinstance(arguments[1], tuple) and not arguments[1][0].startswith("127."):
            raise RuntimeError(f"{event} {arguments[1]}: nothing is dialled here")

    sys.addaudithook(hook)


# --- Servers that are made up ----------------------------------------------------------------------------------------

ECDSA_SUITES: Final = (0xC02B, 0xC02C, 0xCCA9)
RSA_SUITES: Final = (0xC02F, 0xC030, 0xCCA8)
WEAK_SUITES: Final = (0xC013, 0xC014, 0x002F, 0x0035, 0x009C, 0x000A)
TLS13_SUITES: Final = (0x1301, 0x1302, 0x1303)
X25519MLKEM768, X25519, P256, P384 = 0x11EC, 0x001D, 0x0017, 0x0018
CHARACTERS: Final = (
    *("intermediate",) * 5, "intermediate-rsa", *("weak",) * 4, *("modern",) * 3, "unfinished", "plaintext", "closed",
)  # fmt: skip


def character(instance: str) -> str:
    """The kind of server that a listener is."""
    return CHARACTERS[sha256(instance.encode()).digest()[0] % len(CHARACTERS)]


@cache
def _key(seed: str) -> ec.EllipticCurvePrivateKey:
    return ec.derive_private_key(int.from_bytes(sha256(seed.encode()).digest()) >> 1, ec.SECP256R1())


@cache
def _rsa(bits: int) -> rsa.RSAPublicKey:
    """A number without known factors: no certificate is signed with it."""
    number = int.from_bytes(b"".join(sha256(bytes([n])).digest() for n in range(bits // 256)))
    return rsa.RSAPublicNumbers(65537, number | 1 | 1 << (bits - 1)).public_key()


@cache
def certificate(name: str, *, days: int = 60, age: int = 30, bits: int = 0, ca: bool = False) -> bytes:
    """DER of a certificate that is the same in each run, signed by an untrusted CA."""
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name[:64])])
    issuer = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Behaviour CA")])
    builder = (
        x509.CertificateBuilder()
        .subject_name(issuer if ca else subject)
        .issuer_name(issuer)
        .public_key(_key("ca").public_key() if ca else _rsa(bits) if bits else _key(name).public_key())
        .serial_number(int.from_bytes(sha256(name.encode()).digest()[:8]) >> 1)
        .not_valid_before(NOW - timedelta(days=age))
        .not_valid_after(NOW + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    )
    if not ca:
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        purposes = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
        builder = builder.add_extension(purposes, critical=False)
    return builder.sign(_key("ca"), SHA256(), ecdsa_deterministic=True).public_bytes(Encoding.DER)


def _chain(leaf: bytes) -> tuple[Any, ...]:
    return parsed_once(leaf), parsed_once(certificate("Behaviour CA", days=2000, ca=True))


def _answers(accepted: tuple[int, ...], offered: Iterable[int]) -> Answers:
    return Answers(accepted=accepted, refused=frozenset(offered) - set(accepted))


def _speaking(endpoint: Endpoint, question: Question, kind: str) -> Observation:
    name = endpoint.server_name or "listener.example"
    weak, modern = kind == "weak", kind == "modern"
    versions = (TLS13,) if modern else (TLS12, TLS11, TLS10) if weak else (TLS13, TLS12)
    old = WEAK_SUITES if weak else RSA_SUITES if kind == "intermediate-rsa" else ECDSA_SUITES
    groups = (X25519MLKEM768, X25519) if modern else (X25519, P256, P384)
    leaf = certificate(
        "*.other.example" if weak else name,
        days=-3 if weak else 5 if kind == "intermediate-rsa" else 60,
        bits=1024 if weak else 2048 if kind == "intermediate-rsa" else 0,
    )
    chain = _chain(leaf)
    seen = Observation(
        instance=endpoint.instance,
        at=Clock.at,
        reach=Reach.CLIENT_CERTIFICATE_REQUIRED if modern else Reach.TLS,
        versions=_answers(versions, VERSIONS),
        suites={
            each: _answers(TLS13_SUITES if each == TLS13 else old, cases.all_suites(TLS13 if each == TLS13 else TLS12))
            for each in versions
        },
        groups={
            each: _answers(groups, cases.all_groups()) for each in versions if each == TLS13 or kind != "intermediate"
        },
        preference=dict.fromkeys(versions, "client" if weak else "server"),
        client_certificate="required" if modern else "none",
        alpn=None if weak else "h2",
        ocsp_stapled=False,
        negotiated=Negotiated(version=versions[0], suite=0xC013 if weak else 0x1301, group=groups[0]),
        chain=chain,
        untrusted_client="refused" if modern else Unknown("no client certificate was requested"),
        attempts=(Attempt(offer="control", reply="hello", seconds=0.002),) * 3,
        strays=tuple(
            Stray(name=each, answer="served", leaf=chain[0], client_certificate="none")
            if weak or kind == "intermediate-rsa"
            else Stray(name=each, answer="refused")
            for each in question.strays
        ),
        cleartext="HTTP/1.1 200 OK" if weak else "HTTP/1.1 400 Bad Request" if kind == "intermediate-rsa" else None,
        plain_port="HTTP/1.1 200 OK" if weak else f"HTTP/1.1 302 Found to https://{name}/",
        answered=tuple(
            Answered(server_name=name, authority=each, answer='200; etag: "a"' if weak else "421")
            for each in (name, *question.authorities)
        ),
    )
    if kind != "unfinished":
        return seen
    suites = Answers(accepted=(0xC02B,), unasked="the deadline was reached")
    return replace(
        seen, suites={TLS12: suites}, versions=Answers(accepted=(TLS12,), unasked="the deadline was reached")
    )


def observed(endpoint: Endpoint, question: Question) -> Observation:
    """The observation of a listener."""
    kind = character(endpoint.instance)
    if kind == "plaintext":
        return Observation(
            instance=endpoint.instance, at=Clock.at, reach=Reach.PLAINTEXT, protocol="http",
            detail="HTTP/1.1 400 Bad Request", versions=Answers(unasked="plaintext"),
            client_certificate=Unknown("plaintext"), chain=Unknown("plaintext"),
        )  # fmt: skip
    if kind == "closed":
        return scan_story.unasked(endpoint, Reach.CLOSED if len(endpoint.instance) % 2 else Reach.FILTERED, "no answer")
    return _speaking(endpoint, question, kind)


async def _observe(endpoint: Endpoint, question: Question, *_: object) -> Observation:
    return observed(endpoint, question)


async def _addresses(host: str, port: int) -> tuple[str, ...]:
    raise NotResolved(f"{host} has no address")


def dialling_nothing() -> None:
    """Observe made-up servers in place of addresses."""
    for each in (scan_story, workers):
        vars(each)["observe"] = _observe
    vars(dial)["addresses"] = _addresses


# --- Lines: one for each finding -------------------------------------------------------------------------------------

_WORDS: Final = ("message", "fix", "evidence", "correction", "waiver")
_VALUES: Final = ("expected", "observed", "reproduce")


def _named(thing: Mapping[str, Any] | None) -> str:
    """``Kind/namespace/name``."""
    return "/".join(filter(None, (thing["kind"], thing["namespace"], thing["name"]))) if thing else "-"


def _texts(value: Any) -> Iterator[str]:  # noqa: ANN401 - JSON
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, each in value.items():
            yield str(name)
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif value is not None:
        yield str(value)


def _short(items: Iterable[str]) -> str:
    """How many, and a digest of them in their order."""
    found = list(items)
    return f"{len(found)}:{_digest(found)[:6]}" if found else "-"


def _finding(found: Mapping[str, Any], subject: str = "") -> tuple[str, str]:
    """``severity verdict status``, and the position with all that is no text. ``subject``: the object that the line
    stands below."""
    place, about, path = found.get("place"), found["about"] or "", found.get("field") or ""
    more = (
        "" if subject and about == f"{subject} {path}".strip() else about,
        path,
        _position(place),
        f"unseen {found['unseen']['object']}" if found.get("unseen") else "",
        f"opinion {found['second_opinion']}" if found["second_opinion"] else "",
        "waived" if found["waiver"] else "",
        "corrected" if found.get("correction") else "",
    )
    return f"{found['severity']} {found['verdict']} {found['status']}", stable(" ".join(filter(None, more)))


def _position(place: Mapping[str, Any] | None) -> str:
    """Line and column. Behind a certificate on the same line, the column depends on the certificate's length."""
    if not place or not place["line"]:
        return ""
    return f"{place['line']}:{place['column'] if place['column'] < 200 else '~'}"


QUIET: Final = frozenset({"pass", "not_applicable"})


def add_findings(
    case: Case,
    findings: Iterable[Mapping[str, Any]],
    subject: str = "",
    group: str = "",
    *,
    quiet: Collection[str] = QUIET,
) -> None:
    """A line for each, but for those of the verdicts ``quiet``."""
    for found in sorted(findings, key=lambda one: (one["rule"], *_finding(one, subject), one["message"])):
        (result, detail), in_full = _finding(found, subject), found["verdict"] not in quiet
        if in_full:
            case.lines.append(f"{'  ' if subject else ''}{found['rule']} {result} {detail}".rstrip())
        outcome = Outcome(found["rule"], group, subject, "" if in_full else result, detail)
        case.add(outcome, *(_texts([found.get(name) for name in names]) for names in (_WORDS, _VALUES)))


def _counts(value: Mapping[str, Any]) -> str:
    """The numbers and words of an object that are not nothing."""
    plain = {key: each for key, each in value.items() if isinstance(each, str | int | float) and key != "reasons"}
    inner = (f"{key}({_counts(each)})" for key, each in value.items() if isinstance(each, dict) and _counts(each))
    return " ".join([*(f"{key}={each}" for key, each in plain.items() if each not in (0, "")), *inner])


def _ended(case: Case, called: Called) -> Case:
    """The case with the exit code."""
    case.lines.append(f"exit {called.code}")
    case.texts.words += called.err.splitlines()
    return case


@cache
def _validators() -> Mapping[str, Draft202012Validator]:
    """By the name of the schema, which a document has."""
    sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]  # costs 1.4 s, for IRIs, which no schema has
    from jsonschema import Draft202012Validator
    from referencing import Registry, Resource

    files = [ROOT / f"docs/schema/{name}-v1.json" for name in ("scan", "lint", "certs", "whatif")]
    schemas = [json.loads(file.read_text()) for file in files]
    registry: Registry[Any] = Registry().with_resources(
        (schema["$id"], Resource.from_contents(schema)) for schema in schemas
    )
    return {
        schema["properties"]["schema"]["const"]: Draft202012Validator(schema, registry=registry) for schema in schemas
    }


_VALID_RULES: Final = set[str]()


def _valid(document: Any) -> Any:  # noqa: ANN401 - JSON
    """A document that has the keys of its schema, and no other. Each rule in it is validated once."""
    rules = {rule["id"]: rule for rule in document.get("rules", ())}
    new = {"rules": [rules[each] for each in rules.keys() - _VALID_RULES]} if rules else {}
    _validators()[document["schema"]].validate({**document, **new})
    _VALID_RULES.update(rules)
    return document


def linted(name: str, called: Called, *, brief: bool = False) -> Case:
    """The result of ``lint --format json``. If ``brief``, what is inconclusive is recorded by rule alone."""
    case = _ended(Case(name, called.command), called)
    document = called.document
    if document is None:
        return case
    _valid(document)
    summary = document["summary"]
    counts = {"objects": summary.pop("objects"), "pass": summary.pop("pass"), "others": document["others"]}
    case.outcomes.append(Outcome("(objects)", "", "", "counted", _counts(counts)))  # a rule on another kind changes it
    case.lines[0] += f" {_counts({'files': document['files'], **summary})}".rstrip()
    case.lines += [f"unreadable {each['resource']} {each['gap']} {each['accepted']}" for each in document["unreadable"]]
    case.lines += [f"skipped {each['path']}" for each in document["skipped"]]
    case.texts.words += _texts([document["unreadable"], document["skipped"]])
    case.subjects.append(("document", ""))
    case.outcomes += [Outcome(rule["id"], "document", "", "listed") for rule in document["rules"]]
    add_findings(case, document["findings"])
    quiet = QUIET | {"inconclusive"} if brief else QUIET
    for each in document["objects"]:
        kind, subject, place = each["object"]["kind"], _named(each["object"]), _position(each["place"])
        case.subjects.append((kind, subject))
        if each["verdict"] in quiet and all(found["verdict"] in quiet for found in each["findings"]):
            case.outcomes.append(Outcome("(objects)", "", subject, each["verdict"], place))
        else:
            case.lines.append(f"= {subject} {each['verdict']} {place}".rstrip())
        case.outcomes += [Outcome(rule, kind, subject, "pass") for rule in each["passed"]]
        add_findings(case, each["findings"], subject, kind, quiet=quiet)
    return case


_OBJECT: Final = re.compile(r"^(?:--[a-z-]+|[A-Z]\w+/[^ ]+)(?: [a-z]\w*[.\[][^ ]*)?")
"""Where a step of the reasoning is in an object or an option."""


def endpoint_lines(case: Case, row: Mapping[str, Any]) -> None:
    """One endpoint of a scan."""
    expected, findings = row["expected"], row["findings"]
    case.lines.append(f"= {row['instance']}")
    names = ("verdict", "status", "outcome", "reach", "certainty", "binding", "standing", "segment", "component")
    case.lines.append("  " + " ".join(str(row[name] or "-") for name in names))
    suites, groups = _short(expected["suites"]), _short(expected["groups"] or ())
    profile, version, adherence = (expected[name] for name in ("profile", "min_version", "adherence"))
    alternatives = " ".join(expected["alternatives"])
    case.lines.append(f"  expected {profile} {version} {suites} {groups} {adherence} {alternatives}".rstrip())
    by = [found[0].removesuffix(":") for step in expected["because"] if (found := _OBJECT.match(step))]
    case.lines.append(f"  by {' '.join([*(f'{step};' for step in by), str(len(expected['because']))])}")
    for name in ("subject", "pod"):
        if row[name]:
            case.lines.append(f"  {name} {_named(row[name])}")
    if row["sampled"] or row["blocked_by"] or row["aliases"] or row["candidates"]:
        case.lines.append(f"  sampled {row['sampled']} {row['blocked_by']} {row['aliases']} {len(row['candidates'])}")
    case.texts.words += _texts(
        [expected["because"], expected["remarks"], row["detail"], row["reasons"], row["origins"]]
    )
    case.texts.values += _texts(
        [expected["suites"], expected["groups"], row["observed"], row["id"], row["server_name"], row["node"]]
    )
    group = "endpoint" if row["reach"] in (Reach.TLS, Reach.CLIENT_CERTIFICATE_REQUIRED) else "endpoint without TLS"
    case.subjects.append((group, row["instance"]))
    add_findings(case, findings, row["instance"], group)


def scanned(
    name: str,
    called: Called,
    rows: Iterable[Mapping[str, Any]] = (),
    places: Mapping[str, tuple[Endpoint, Expectation]] = MappingProxyType({}),
) -> Case:
    """The result of ``scan --format json``. ``rows``: further endpoints that are recorded with it; ``places``: those
    that are judged with each kind of server."""
    case = _ended(Case(name, called.command), called)
    document = called.document
    if document is None:
        return case
    _valid(document)
    for key in ("summary", "exit", "coverage", "inventory"):
        case.lines.append(f"{key} {_counts(document[key] or {})}".rstrip())
    case.texts.words += _texts([document[name] for name in ("exit", "coverage", "cluster", "groups")])
    add_findings(case, document["findings"])
    for each in document["certificates"] or ():
        _certificate(case, each)
    for each in (*document["endpoints"], *rows):
        endpoint_lines(case, each)
        if each["instance"] in places:
            _other_servers(case, *places[each["instance"]])
    for each in document["components"] or ():
        names = ("component", "namespace", "standing", "listeners", "honours", "excused")
        case.lines.append("component " + " ".join(str(each[name]) for name in names))
        case.texts.values += _texts(each)
    return case


def _certificate(case: Case, row: Mapping[str, Any]) -> None:
    facts = (row["category"], row["governed"], row["component"], row["verdict"], row["status"])
    names = ",".join(row.get("names") or row.get("certificate_names") or ())
    where = str(row.get("where") or (row["places"][0] if row["places"] else "-"))
    case.lines.append(stable(f"certificate {where} {row.get('role', '')} {names or '-'} {' '.join(map(str, facts))}"))
    case.texts.words += _texts([row["why"], row["renewal"]])
    case.texts.values += _texts([row["subject"], row["issuer"], row["key"], row.get("places")])
    case.subjects.append(("certificate", where))
    add_findings(case, row.get("findings", ()), where, "certificate")


# --- The parts -------------------------------------------------------------------------------------------------------

BRIEF: Final = ("--format", "json")


def _story(name: str) -> str:
    """The directory of a story's snapshot, as ``adhere snapshot save`` writes one."""
    place = Path("stories", name)
    if not place.exists():
        save(stories.load(name).snapshot, place)
    return str(place)


def lint_stories() -> Iterator[Case]:
    """The objects of each story: as a cluster that was saved, and as the file that they stand in."""
    for name in stories.names():
        yield linted(f"{name} (cluster)", call("lint", "--snapshot", _story(name), *BRIEF))
        file = Path(f"{name}.yaml")
        shutil.copyfile(stories.CLUSTERS / name / "cluster.yaml", file)
        yield linted(f"{name} (file)", call("lint", file, *BRIEF))


def lint_examples() -> Iterator[Case]:
    """Every example on the pages of rules on declared objects, by all rules."""
    save(examples.empty(), "nothing")
    for rule in LINT_RULES:
        for which in ("fails", "passes"):
            for number, text in enumerate(examples.examples(rule, which)):
                options: list[object] = ["--snapshot", "nothing"] if text.startswith(examples.WHOLE) else []
                options += ["--as", user] if (user := examples.user_of(text)) else []
                yield _of_text(f"{rule.id} {which} {number}", text, *options)


def _of_text(name: str, text: str, *options: object) -> Case:
    file = Path(f"{re.sub(r'[^a-z0-9]+', '-', name.lower())[:100]}.yaml")
    file.write_text(examples.with_certificates(text), encoding="utf-8")
    return linted(name, call("lint", file, *options, *BRIEF))


def lint_e2e() -> Iterator[Case]:
    """What the e2e lane gives to real API servers and controllers."""
    for name, story in contour_stories.STORIES.items():
        yield _of_text(f"contour {name}", f"{contour_stories.SURROUNDINGS}---\n{story.objects}")
    yield _of_text("contour gateway", contour_gateway_stories.everything())
    here = Path(assets.__file__).parent
    for each in sorted(here.glob("*.yaml")):
        yield _of_text(each.name, re.sub(r"\$[A-Z_]*PORT|\b[A-Z]+_PORT\b", "8443", each.read_text()))
    yield _of_text("bases", _dumped(field_bases.BASES))
    for kind, violations in cel_cases.VIOLATIONS.items():
        for number, violation in enumerate(violations.values()):
            yield _of_text(f"refused {kind} {number}", _dumped([cel_cases.violating(kind, violation)]))


def lint_projects() -> Iterator[Case]:
    """Files of other projects, which ``make e2e`` fetches."""
    suites = assets.suites()
    for tree in PROJECTS:
        shutil.copytree(suites / tree, tree)
        yield linted(f"files of {tree}", call("lint", tree, *BRIEF), brief=True)


PROJECTS: Final = ("base", "contour", "contour-site", "envoy-gateway", "gateway-api", "istio", "refused", "tests")
"""Directories of ``assets.suites``."""


def _dumped(objects: Iterable[Any]) -> str:
    return "".join(f"---\n{json.dumps(each)}\n" for each in objects)


def judged_examples() -> Iterator[Case]:
    """Every example on the pages of rules on listeners, on scans and on certificates."""
    every: tuple[Any, ...] = (*RULES, *DEEP_RULES, *SCAN_RULES, *PKI_RULES)
    for rule in every:
        for which in ("fails", "passes"):
            for number, text in enumerate(examples.examples(rule, which)):
                case = Case(f"{rule.id} {which} {number}", f"(docs/rules/{rule.id}.md, example {number} that {which})")
                group = "scan" if rule in SCAN_RULES else "certificate" if rule in PKI_RULES else "listener"
                case.subjects.append((group, ""))
                add_findings(case, [dict(finding_row(each)) for each in _judged(rule, text)], group=group)
                yield case


def _judged(rule: Any, text: str) -> Iterable[Finding]:  # noqa: ANN401 - a rule of any kind
    if rule in PKI_RULES:
        return pki_examples.judged(Path(tempfile.mkdtemp(dir=".")), text).of(rule)
    if rule in SCAN_RULES:
        return scan_examples.findings(rule, text)
    case = case_of(text)
    return (*judge(case).findings, *(rule.check(rule, case) if rule in DEEP_RULES else ()))


def scans() -> Iterator[Case]:
    """A scan of each story and of the demo's cluster. The endpoints are those that discovery finds and those of
    ``expected.yaml``, which many stories have instead."""
    for name in stories.names():
        called, rows = _scan(name)
        places = {endpoint.instance: (endpoint, expectation) for endpoint, expectation in _expected(name)}
        yield scanned(name, called, rows, places)
    with _at(DEMO_NOW):
        yield scanned("demo", _scan_demo())


@cache
def _scan(name: str) -> tuple[Called, list[EndpointRow]]:
    """A story scanned and saved in ``kept/``, and its expected endpoints added to what is saved."""
    kept = Path("kept", name)
    called = call("scan", "--snapshot", _story(name), "--save", kept, "--active-http", "--quiet", *BRIEF)
    found = {each["instance"] for each in (called.document or {"endpoints": []})["endpoints"]}
    rows = []
    with (kept / "observations.jsonl").open("a") as observations, (kept / "rows.jsonl").open("a") as judged:
        for endpoint, expectation in _expected(name):
            if endpoint.instance not in found:
                seen = observed(endpoint, _question(expectation))
                rows.append(_row(endpoint, expectation, seen))
                observations.write(encode(Seen(endpoint=endpoint, observation=seen)) + "\n")
                judged.write(dumps(rows[-1]) + "\n")
    return called, rows


@cache
def _scan_demo() -> Called:
    """The demo's cluster, saved in ``kept/demo``."""
    return call("scan", "--snapshot", DEMO.name, "--allow-loopback", "--save", Path("kept", "demo"), "--quiet", *BRIEF)


def _question(expectation: Expectation) -> Question:
    return scan_story.question(expectation, scan_story.Settings(active_http=True))


@cache
def _expected(name: str) -> list[tuple[Endpoint, Expectation]]:
    story = stories.load(name)
    return [(endpoint, story.owed(key)) for key, endpoint in story.endpoints.items()]


def _row(endpoint: Endpoint, expectation: Expectation, seen: Observation) -> EndpointRow:
    about = Judged(endpoint=endpoint, expectation=expectation, observation=seen, policy=Policy(), now=seen.at)
    result = judge(about)
    return endpoint_row(endpoint, expectation, seen, result.verdict, result.status, result.findings)


def _other_servers(case: Case, endpoint: Endpoint, expectation: Expectation) -> None:
    """One line with the verdicts of other servers there. Their findings are recorded by rule alone."""
    verdicts = []
    for kind in ("intermediate", "weak", "modern"):
        if kind == character(endpoint.instance):
            continue
        row = _row(endpoint, expectation, _speaking(endpoint, _question(expectation), kind))
        verdicts.append(f"as {kind} {row['verdict']} {row['status']}")
        case.subjects.append((f"as {kind}", endpoint.instance))
        for found in row["findings"]:
            outcome = Outcome(found["rule"], f"as {kind}", endpoint.instance, _finding(found)[0])
            case.add(outcome, _texts(found))
    case.lines.append(f"  {', '.join(verdicts)}")


WISHES: Final[Mapping[str, tuple[str, ...]]] = {
    "nothing": (),
    "modern": ("--profile", "modern"),
    "old under legacy": ("--profile", "old", "--adherence", "LegacyAdheringComponentsOnly"),
    "strict, 4.18, users bound": (
        "--adherence", "StrictAllComponents", "--release", "4.18", "--policy", "policy.yaml",
    ),
}  # fmt: skip
_POLICY: Final = "apiVersion: adhere/v1\nkind: ScanPolicy\nuserWorkloads: enforced\nrequire: {minEndpoints: 5}\n"
_PKI: Final = """apiVersion: config.openshift.io/v1alpha1
kind: PKI
metadata: {name: cluster}
spec: {certificateManagement: {mode: Custom, custom: {defaults: {key: {algorithm: ECDSA, ecdsa: {curve: P384}}}}}}
"""


def whatif() -> Iterator[Case]:
    """Saved scans, judged again by something else."""
    Path("policy.yaml").write_text(_POLICY)
    Path("pki.yaml").write_text(_PKI)
    wishes = {**WISHES, "another PKI": ("--pki", "pki.yaml"), "text": ("--profile", "modern", "--format", "text")}
    for name in stories.names():
        _scan(name)
        yield _compared(name, str(Path("kept", name)), WISHES)
    yield _compared("saved", SAVED.name, {**WISHES, "text": wishes["text"]})
    with _at(DEMO_NOW):
        _scan_demo()
        yield _compared("demo", str(Path("kept", "demo")), wishes)


def _compared(name: str, kept: str, wishes: Mapping[str, tuple[str, ...]]) -> Case:
    case = Case(name, f"adhere whatif {kept} ...")
    for wish, options in wishes.items():
        called = call("whatif", kept, *options, *(() if "--format" in options else BRIEF))
        case.lines.append(f"== {wish}: exit {called.code}")
        case.texts.words += called.err.splitlines()
        if "text" in options:
            case.texts.words += called.out.splitlines()
        elif document := called.document:
            _comparison(case, wish, _valid(document))
    return case


def _comparison(case: Case, wish: str, document: Mapping[str, Any]) -> None:
    counts = {
        key: document[key] for key in document if key not in ("schema", "assumed", "not_judged", "findings", "changes")
    }
    case.lines[-1] += f" {_counts(counts)}"
    case.texts.words += _texts(document["not_judged"])
    for kind, found in document["findings"].items():
        case.lines += [f"{kind}:"] if found else []
        add_findings(case, found, "scan")
    for each in sorted(document["changes"], key=lambda change: (change["id"], change["instances"])):
        outlook = (each["outlook"], each["source"]) if each["outlook"] else ""
        change = f"{each['before']} -> {each['after']} {each['profile']} {each['endpoints']} {outlook}".rstrip()
        case.lines.append(f"= {each['id']} {change}")
        case.texts.words += _texts(each["because"])
        add_findings(case, each["findings"], each["id"])


def explained() -> Iterator[Case]:
    """The explanation of each listener of the stories and of the demo."""
    for name in stories.names():
        case = Case(name, f"adhere explain LISTENER --snapshot {_story(name)}")
        endpoints = (_scan(name)[0].document or {"endpoints": ()})["endpoints"]
        _explain(case, _story(name), {each["id"] for each in endpoints})
        for endpoint, expectation in _expected(name):
            case.texts.words += [endpoint.id, *explanation([endpoint], expectation)]
        yield case
    with _at(DEMO_NOW):
        case = Case("demo", f"adhere explain LISTENER --snapshot {DEMO.name}")
        names = ("kubelet", "etcd", "shop/web", "Route/shop/checkout", "openshift-ingress/router-default", "no/such")
        _explain(case, DEMO.name, names)
        yield case


def _explain(case: Case, snapshot: str, listeners: Iterable[str]) -> None:
    for each in sorted(listeners):
        called = call("explain", each, "--snapshot", snapshot)
        case.lines.append(f"{each} exit {called.code}")
        case.texts.words += [*called.out.splitlines(), *called.err.splitlines()]


def certs() -> Iterator[Case]:
    """The certificates of the stories, of the demo, of the names that the platform has, and of files."""
    Path("pki.yaml").write_text(_PKI)
    for name in stories.names():
        yield certified(name, call("certs", "--snapshot", _story(name), *BRIEF))
    with _at(DEMO_NOW):
        yield certified("demo", call("certs", "--snapshot", DEMO.name, *BRIEF))
        yield certified("demo, another PKI", call("certs", "--snapshot", DEMO.name, "--pki", "pki.yaml", *BRIEF))
    Path("names").mkdir()
    held = []
    for each in names_story.ROWS:
        namespace, _, name = (each.secret or f"openshift-kube-apiserver/kept-{each.name}").partition("/")
        held.append(secret(namespace, name, [_pem(names_story.certificate(each).der)]))
    listed = Path("names", "names.yaml")
    listed.write_text(_dumped({"apiVersion": "v1", "kind": "Secret", **each} for each in held))
    os.utime(listed, (NOW.timestamp(), NOW.timestamp()))  # the time of the snapshot
    for title, options in {"names": (), "names, another PKI": ("--pki", "pki.yaml")}.items():
        yield certified(title, call("certs", "--snapshot", "names", "--secrets", *options, *BRIEF))
    Path("files").mkdir()
    kinds: dict[str, dict[str, Any]] = {"good": {}, "ended": {"days": -3}, "soon": {"days": 5}, "weak": {"bits": 1024}}
    for kind, deviations in kinds.items():
        Path("files", f"{kind}.pem").write_bytes(_pem(certificate(f"{kind}.example", **deviations)))
    Path("files", "broken.pem").write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    yield certified("files", call("certs", "files", *BRIEF))
    text = call("certs", "files")
    yield Case("files as text", text.command, [f"exit {text.code}"], texts=Texts(text.out.splitlines()))


def _pem(der: bytes) -> bytes:
    return ssl.DER_cert_to_PEM_cert(der).encode()


def certified(name: str, called: Called) -> Case:
    """The result of ``certs --format json``."""
    case = _ended(Case(name, called.command), called)
    document = called.document
    if document is not None:
        _valid(document)
        case.texts.words += _texts([document["judged_by"], document["problems"]])
        case.lines.append(f"problems {len(document['problems'])}")
        for each in document["certificates"]:
            _certificate(case, each)
        add_findings(case, document["findings"])
    return case


def rbac() -> Iterator[Case]:
    """The permissions of a scan, and of each option."""
    accounts = ("--service-account", "adhere/adhere")
    for options in ((), accounts, *(("--with", each) for each in OPTIONS), ("--with", ",".join(OPTIONS), *accounts)):
        called = call("rbac", *options)
        case = _ended(Case(" ".join(("rbac", *options)), called.command), called)
        for each in yaml.safe_load_all(called.out):
            case.lines.append(
                f"= {each['kind']} {each['metadata']['name']} {json.dumps(each.get('roleRef'))} {each.get('subjects')}"
            )
            if options and each["metadata"]["name"] == "adhere-scan":
                continue  # the same as without
            for rule in each.get("rules", ()):
                case.lines.append("  " + " | ".join(",".join(rule.get(key, ())) for key in _RULE))
        case.texts.words += [line for line in called.out.splitlines() if "#" in line or "description" in line]
        yield case


_RULE: Final = ("apiGroups", "resources", "verbs", "resourceNames", "nonResourceURLs")


def formats() -> Iterator[Case]:
    """A scan, a lint and a comparison in every format."""
    with _at(DEMO_NOW):
        files = ("text=scan.txt", "json=scan.json", "junit=scan.xml", "html=scan.html", "metrics=scan.prom")
        options = [option for each in files for option in ("--format", each)]
        called = call("scan", "--snapshot", DEMO.name, "--allow-loopback", "--quiet", *options)
        yield _formatted("scan", called, Path("scan.txt"), Path("scan.xml"), Path("scan.html"), Path("scan.prom"))
    for name in ("declared-router", "declared-gateway", "kubeadm"):
        snapshot = _story(name)
        written = ("text=lint.txt", "junit=lint.xml", "sarif=lint.sarif")
        options = [option for each in written for option in ("--format", each)]
        called = call("lint", "--snapshot", snapshot, "--quiet", "--fix-hints", *options)
        yield _formatted(f"lint {name}", called, Path("lint.txt"), Path("lint.xml"), Path("lint.sarif"))


def _formatted(name: str, called: Called, *files: Path) -> Case:
    case = _ended(Case(name, called.command), called)
    for each in files:
        case.lines.append(f"== {each.suffix}")
        _READERS[each.suffix](case, each.read_text())
    return case


def _plain(case: Case, text: str) -> None:
    case.texts.words += text.splitlines()


def _junit(case: Case, text: str) -> None:
    """Failures and errors, below the suites that have any."""
    for suite in ElementTree.fromstring(text).iter("testsuite"):
        title, count = stable(str(suite.get("name"))), Counter[str]()
        group = f"junit {title.partition('/')[0]}"
        case.subjects.append((group, title))
        properties = [f"{each.get('name')}={each.get('value')}" for each in suite.iter("property")]
        lines = properties if title == "adhere" else []
        case.texts.values += properties
        for each in suite.iter("testcase"):
            name, place = stable(str(each.get("name"))), stable(str(each.get("classname")))
            result = next((one.tag for one in each if one.tag != "system-out"), "pass")
            count[result] += 1
            detail = " ".join(filter(None, ("" if place == title else place, name.partition(" ")[2])))
            if in_full := result not in ("pass", "skipped"):
                lines.append(f"  {place} {name} {result}".replace(f"  {title} ", "  "))
            outcome = Outcome(name.partition(" ")[0], group, title, "" if in_full else result, detail)
            words = [one.get("message", "") + (one.text or "") for one in each]
            case.add(outcome, words, [one.get("type", "") for one in each])
        numbers = [int(suite.get(key, "0")) for key in ("tests", "failures", "errors", "skipped")]
        assert numbers == [count.total(), *(count[key] for key in ("failure", "error", "skipped"))], title
        case.lines += [f"= {title}", *lines] if lines else []


def _sarif(case: Case, text: str) -> None:
    document = json.loads(text)
    for each in document["runs"][0]["results"]:
        place = each.get("locations", [{}])[0].get("physicalLocation", {})
        where = f"{place.get('artifactLocation', {}).get('uri')} {json.dumps(place.get('region'))}"
        case.lines.append(f"{each['ruleId']} {each.get('level')} {each.get('kind')} {where}")
        case.add(Outcome(each["ruleId"], "sarif result", where, ""), _texts(each["message"]))
    case.subjects.append(("sarif", ""))
    case.outcomes += [
        Outcome(each["id"], "sarif", "", "listed") for each in document["runs"][0]["tool"]["driver"]["rules"]
    ]


def _metrics(case: Case, text: str) -> None:
    lines = text.splitlines()
    case.lines += [each for each in lines if not each.startswith("#") and not each.endswith(" 0.0")]
    case.texts.values += [each for each in lines if each.endswith(" 0.0") or each.startswith("# TYPE")]
    case.texts.words += [each for each in lines if each.startswith("# HELP")]


def _html(case: Case, text: str) -> None:
    """The filters of the page, and what its script sorts and selects by."""
    case.lines += dict.fromkeys(re.findall(r'href="(#[a-z]+=[^"]*)"', text))
    for row in endpoints(text):
        facets = row["facets"]
        case.lines.append(f"{row['outcome']} order={row['order']} rules={' '.join(facets['rule'])} {row['id']}")
        case.texts.values += [f"{name}={value}" for name, values in facets.items() for value in values]
        case.texts.words += _texts({key: value for key, value in row.items() if key != "facets"})
    case.texts.words += re.sub(r"<(style|script).*?</\1>|<meta[^>]*>", "", text, flags=re.DOTALL).splitlines()


_READERS: Final[Mapping[str, Callable[[Case, str], None]]] = {
    ".txt": _plain, ".xml": _junit, ".sarif": _sarif, ".prom": _metrics, ".html": _html,
}  # fmt: skip


def commands() -> Iterator[Case]:
    """The options that can be repeated; ``docs/commands.md`` has the rest."""

    def repeatable(command: click.Command, name: str) -> Iterator[str]:
        yield " ".join([name, *sorted("|".join(each.opts) for each in command.params if each.multiple)])
        if isinstance(command, click.Group):
            context = click.Context(command)
            for each in command.list_commands(context):
                found = command.get_command(context, each)
                assert found is not None
                yield from repeatable(found, f"{name} {each}")

    yield Case(
        "options that can be repeated", "adhere --help", [line for line in repeatable(adhere, "adhere") if "--" in line]
    )


PARTS: Final[Mapping[str, Callable[[], Iterator[Case]]]] = {
    "commands": commands,
    "rbac": rbac,
    "lint-stories": lint_stories,
    "lint-examples": lint_examples,
    "lint-e2e": lint_e2e,
    "lint-projects": lint_projects,
    "judged-examples": judged_examples,
    "scan": scans,
    "whatif": whatif,
    "explain": explained,
    "certs": certs,
    "formats": formats,
}


# --- Comparing and recording -----------------------------------------------------------------------------------------


@contextlib.contextmanager
def _at(moment: datetime) -> Iterator[None]:
    """Have the clock stand at another time."""
    Clock.at = moment
    try:
        yield
    finally:
        Clock.at = NOW


Sections = dict[str, list[str]]
"""The lines of a file by the case that they are about."""
BY_RULE: Final = "(rules)"
"""The section for results without a line of their own."""
MESSAGES: Final = "messages.txt"


@dataclass(slots=True)
class Recorded:
    """The result of a part, as its files have it."""

    part: str
    cases: Sections = field(default_factory=dict)
    commands: dict[str, str] = field(default_factory=dict)
    made: list[Case] = field(default_factory=list)

    def add(self, case: Case) -> None:
        assert case.name not in self.cases, case.name
        self.cases[case.name] = [json.dumps(line)[1:-1].replace('\\"', '"') for line in case.lines]
        self.commands[case.name] = case.command
        self.made.append(case)

    def files(self) -> dict[str, Sections]:
        """The part's own file and its section in ``messages.txt``."""
        rules: dict[str, Texts] = {}
        for case in self.made:
            for rule, texts in case.by_rule.items():
                every = rules.setdefault(rule, Texts())
                every.words += texts.words
                every.values += texts.values
        messages = [
            *(f"{case.name}: {case.texts.digests()}" for case in self.made if case.texts != Texts()),
            *(f"{rule}: {texts.digests(lambda every: sorted(set(every)))}" for rule, texts in sorted(rules.items())),
        ]
        return {f"{self.part}.txt": {**self.cases, BY_RULE: by_rule(self.made)}, MESSAGES: {self.part: messages}}


def recorded(part: str) -> Recorded:
    """Run a part in the present directory. Raises ``assets.Missing`` where its inputs are not on this machine."""
    made = Recorded(part)
    for case in PARTS[part]():
        made.add(case)
    return made


def read_sections(file: str) -> Sections:
    """The sections of a file; none where it is not there."""
    path, sections, lines = GOLDEN / file, Sections(), list[str]()
    for line in path.read_text().splitlines() if path.exists() else ():
        if line.startswith("## "):
            sections[line.removeprefix("## ")] = lines = []
        else:
            lines.append(line)
    return sections


def write(made: Recorded) -> None:
    """Record a part. What other parts have in ``messages.txt`` stays."""
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for file, sections in made.files().items():
        every = {**read_sections(file), **sections} if file == MESSAGES else sections
        text = "".join(f"## {name}\n" + "".join(f"{line}\n" for line in lines) for name, lines in every.items())
        (GOLDEN / file).write_text(text)


def differences(made: Recorded) -> Iterator[str]:
    """A diff for each section that is not as recorded, and the command that shows it."""
    for file, after in made.files().items():
        before = {name: lines for name, lines in read_sections(file).items() if file != MESSAGES or name == made.part}
        for name in dict.fromkeys((*before, *after)):
            if before.get(name) != after.get(name):
                yield _difference(file, name, before.get(name, []), after.get(name, []), made)


MOST: Final = 40
"""Lines of a diff that are shown."""


def _difference(file: str, name: str, was: list[str], now: list[str], made: Recorded) -> str:
    lines = [line for line in [*difflib.unified_diff(was, now, lineterm="", n=0)][2:] if not line.startswith("@@")]
    if name in made.cases:
        at, show, command = _above(now, lines), [name], [made.commands[name]]
    else:  # each line is about a case or a rule, which it starts with
        changed = sorted({line[1:].partition(": ")[0] for line in lines})
        at, show, command = "", changed[:1], []
    more = [f"... and {len(lines) - MOST} lines more"] if len(lines) > MOST else []
    shown = shlex.join(("python", "-m", "tests.behaviour", "--show", made.part, *show))
    return "\n".join(
        [f"{file}: {name} {at}".rstrip(), *(f"  {line}" for line in (*lines[:MOST], *more, *command, shown)), ""]
    )


def _above(now: list[str], diff: list[str]) -> str:
    """The object or endpoint that the first changed line is about."""
    changed = next((line[1:] for line in diff if line.startswith("+")), None)
    if changed is None or changed not in now:
        return ""
    return next((line for line in reversed(now[: now.index(changed) + 1]) if line.startswith("=")), "")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.behaviour", description=(__doc__ or "").partition("\n")[0])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--check", nargs="*", metavar="PART", help=", ".join(PARTS))
    what.add_argument("--write", nargs="*", metavar="PART")
    what.add_argument("--show", nargs="+", metavar=("PART", "NAME"))
    parser.add_argument("--keep", metavar="DIR", help="leave the inputs of the commands there")
    options = parser.parse_args(argv)
    parts = options.show[:1] if options.show else (options.check or options.write or list(PARTS))
    if unknown := [part for part in parts if part not in PARTS]:
        parser.error(f"no such part: {', '.join(unknown)} (there are {', '.join(PARTS)})")
    os.environ |= {"COLUMNS": "120", "NO_COLOR": "1", "TZ": "UTC", "ADHERE_DEBUG": "1"}
    for name in ("KUBECONFIG", "FORCE_COLOR", "CI", "GITHUB_ACTIONS"):
        os.environ.pop(name, None)
    stopping_connections()
    standing_still()
    dialling_nothing()
    if options.keep:
        Path(options.keep).mkdir(parents=True)
    with contextlib.nullcontext(options.keep) if options.keep else tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        for fixed in (DEMO, SAVED):
            shutil.copytree(fixed, fixed.name)
        try:
            return _show(*options.show) if options.show else each_part(parts, writes=options.write is not None)
        finally:
            os.chdir("/")


def suspects(made: Recorded, known: Collection[str]) -> Iterator[str]:
    """Rules that are not ``known`` and fail at more than half of their subjects: more likely the samples are wrong."""
    every, failed = Counter[str](), Counter[str]()
    for case in made.made:
        every.update(each.rule for each in case.outcomes if each.result != "listed")
        failed.update(each.rule for each in case.outcomes if " fail " in each.result)
        failed.update(words[0] for line in case.lines if (words := line.split())[2:3] == ["fail"])
    for rule, number in every.items():
        if rule not in known and 2 * failed[rule] > number:
            yield f"{made.part}: the new rule {rule} fails at {failed[rule]} of {number} subjects"


SAMPLES: Final = """If that is not meant, correct the sample, and write again: certificate() and _speaking() in
tests/behaviour.py; for judged-examples LEAF and CONFORMING in tests/judge/cases.py."""


def each_part(parts: Iterable[str], *, writes: bool) -> int:
    """Compare or record parts. A part that cannot be made is a difference; the files of one without inputs stay."""
    found, warnings = 0, list[str]()
    known = {line.partition(":")[0] for lines in read_sections(MESSAGES).values() for line in lines}
    for part in parts:
        began, before = time.process_time(), found
        try:
            made = recorded(part)
        except assets.Missing as missing:
            print(f"{part}: skipped: {missing}", flush=True)
            continue
        except Exception as error:  # noqa: BLE001 - the other parts go on
            traceback.print_exc()
            print(f"{part}: could not be made: {type(error).__name__}: {error}\n  at or after {LAST[0]}\n")
            found += 1
            continue
        if writes:
            warnings += suspects(made, known) if not part.startswith("lint") else ()
            write(made)
        else:
            for difference in differences(made):
                print(difference)
                found += 1
        result = "written" if writes else f"{found - before} differences"
        print(f"{part}: {len(made.cases)} cases, {result} ({time.process_time() - began:.1f} s of CPU)", flush=True)
    if warnings:
        print("", *warnings, SAMPLES, sep="\n")
    if found:
        print(f"\n{found} differences. The docstring of tests/behaviour.py explains them.")
    return 1 if found else 0


def _show(part: str, name: str = "") -> int:
    """Print a case, or the outcomes and texts of a rule in every case."""
    for case in PARTS[part]():
        whole = name in ("", case.name)
        sections = {"lines": case.lines, "words": case.texts.words, "values": case.texts.values} if whole else {}
        for rule, texts in case.by_rule.items():
            if whole or rule == name:
                sections[rule] = [*texts.words, *texts.values]
        sections["outcomes"] = [" ".join(each) for each in case.outcomes if whole or each.rule == name]
        for title, lines in sections.items():
            if lines:
                print(f"## {case.name}: {title}", *map(stable, lines), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
