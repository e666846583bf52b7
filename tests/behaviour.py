"""Today's behaviour, kept: verdicts, severities, positions, exit codes, JSON keys and endpoint ids of every command.

    python -m tests.behaviour --check [PART...]     compare with tests/golden/behaviour; 1 and a diff where it differs
    python -m tests.behaviour --write [PART...]     record what is true now, in place of what was
    python -m tests.behaviour --show PART [CASE]    print a case with all of its texts
    ... --keep DIR                                  leave the inputs in DIR/PART, to run the printed commands there

A restructuring must not change what users get: ``--check`` says whether it did. A difference means one of these:

* In the file of a part (``lint-stories.txt``, ``scan.txt`` ...): a verdict, a severity, a position, an exit code or an
  endpoint id is not what it was. That is a fault of the change, or it is decided: then a page in ``docs/decisions/``
  says what differs and why, and the commit that changes the behaviour has the new files too, made with ``--write``.
  A new rule changes its own findings, lists of rules and digests of what passed; it needs no such page.
* In ``keys.txt``: a JSON document has another key, or a value of another type. Programs read them; it is decided alike.
* In ``messages.txt`` alone: a text reads differently, and nothing else. It has two digests for each case: of what is
  said (messages, fixes, reasons), and of values (expected, observed, rules that passed, commands to reproduce).
  ``--show`` before and after the change shows the texts. Record the file again in the commit that changes the words.

A case has a line for each finding, ``rule severity verdict status position``, below its object or endpoint.
``5:a1b2c3`` are five items and their digest. What stands together often has a name (``set-...``), at the end of a file.

How it is made the same everywhere: the clock stands still, commands run in this process in an empty directory, and a
scan dials nothing. Each listener is one of a few made-up servers (``CHARACTERS``), by a digest of its name, with keys
from fixed numbers. Whatever tries to connect to anything but loopback is stopped. In texts, times and hexadecimal
digests are left out. Inputs are those of other tests, but for ``golden/behaviour/demo``, a snapshot that was saved of
the demo's cluster, and ``golden/behaviour/saved``, a small saved scan that must stay readable: these two are not made
again by ``--write``.
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
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final
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

ROOT: Final = Path(__file__).parents[1]
GOLDEN: Final = ROOT / "tests" / "golden" / "behaviour"
DEMO: Final = GOLDEN / "demo"
"""What ``adhere scan --save`` kept of the demo's cluster: its snapshot."""
SAVED: Final = GOLDEN / "saved"
"""A small saved scan, as it was written when this was first recorded: it must stay readable."""
NOW: Final = stories.TAKEN_AT
"""When everything happens, but for the demo's cluster."""
DEMO_NOW: Final = datetime(2026, 11, 22, 20, 0, tzinfo=UTC)


# --- What is kept of a case ------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Case:
    """One command on one input, and what came of it."""

    name: str
    command: str
    lines: list[str]
    """What must not change."""
    words: list[str] = field(default_factory=list)
    """Texts for people."""
    values: list[str] = field(default_factory=list)
    """What is shown as expected and observed, and commands."""
    documents: list[tuple[str, Any]] = field(default_factory=list)
    """JSON documents, each with the name of its kind."""

    @property
    def digests(self) -> str:
        """One line of ``messages.txt``."""
        return f"{self.name}: {_digest(self.words)} {_digest(self.values)}"


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


_DYNAMIC: Final = frozenset({"by_namespace", "rules", "statuses", "categories", "reasons", "failures", "assumed"})
"""Members of JSON documents whose keys are names of something."""
_KEY: Final = re.compile(r"[a-z][a-z_]*\Z")


_TYPES: Final = {
    dict: "object",
    list: "list",
    str: "text",
    bool: "flag",
    int: "number",
    float: "number",
    type(None): "null",
}


def keys(value: Any, at: str = "") -> Iterator[str]:  # noqa: ANN401 - JSON
    """Every key in a document, the way to it and the type of what it has."""
    if isinstance(value, dict):
        dynamic = at.rpartition(".")[2] in _DYNAMIC
        for name, each in value.items():
            yield from keys(each, f"{at}.*" if dynamic or not _KEY.match(name) else f"{at}.{name}")
    elif isinstance(value, list):
        for each in value:
            yield from keys(each, f"{at}[]")
    if at:
        yield f"{at} {_TYPES[type(value)]}"


# --- Calling ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Called:
    """What a command answered."""

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
    """Which server a listener is."""
    return CHARACTERS[sha256(instance.encode()).digest()[0] % len(CHARACTERS)]


@cache
def _key(seed: str) -> ec.EllipticCurvePrivateKey:
    return ec.derive_private_key(int.from_bytes(sha256(seed.encode()).digest()) >> 1, ec.SECP256R1())


@cache
def _rsa(bits: int) -> rsa.RSAPublicKey:
    """Some number; nobody has its factors, and nobody signs with it."""
    number = int.from_bytes(b"".join(sha256(bytes([n])).digest() for n in range(bits // 256)))
    return rsa.RSAPublicNumbers(65537, number | 1 | 1 << (bits - 1)).public_key()


def certificate(name: str, *, days: int = 60, age: int = 30, bits: int = 0, ca: bool = False) -> bytes:
    """DER of a certificate that is the same in each run, signed by a CA that nobody trusts."""
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


def _answers(accepted: tuple[int, ...], asked: Iterable[int]) -> Answers:
    return Answers(accepted=accepted, refused=frozenset(asked) - set(accepted))


def _speaking(endpoint: Endpoint, asked: Question, kind: str) -> Observation:
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
            for each in asked.strays
        ),
        cleartext="HTTP/1.1 200 OK" if weak else "HTTP/1.1 400 Bad Request" if kind == "intermediate-rsa" else None,
        plain_port="HTTP/1.1 200 OK" if weak else f"HTTP/1.1 302 Found to https://{name}/",
        answered=tuple(
            Answered(server_name=name, authority=each, answer='200; etag: "a"' if weak else "421")
            for each in (name, *asked.authorities)
        ),
    )
    if kind != "unfinished":
        return seen
    asked_for = Answers(accepted=(0xC02B,), unasked="the deadline was reached")
    return replace(
        seen, suites={TLS12: asked_for}, versions=Answers(accepted=(TLS12,), unasked="the deadline was reached")
    )


def observed(endpoint: Endpoint, asked: Question) -> Observation:
    """What a listener would have done."""
    kind = character(endpoint.instance)
    if kind == "plaintext":
        return replace(
            cases.CONFORMING, instance=endpoint.instance, at=Clock.at, reach=Reach.PLAINTEXT, protocol="http",
            detail="HTTP/1.1 400 Bad Request", versions=Answers(unasked="plaintext"), suites={}, groups={},
            client_certificate=Unknown("plaintext"), chain=Unknown("plaintext"),
        )  # fmt: skip
    if kind == "closed":
        return scan_story.unasked(endpoint, Reach.CLOSED if len(endpoint.instance) % 2 else Reach.FILTERED, "no answer")
    return _speaking(endpoint, asked, kind)


async def _observe(endpoint: Endpoint, asked: Question, *_: object) -> Observation:
    return observed(endpoint, asked)


async def _addresses(host: str, port: int) -> tuple[str, ...]:
    raise NotResolved(f"{host} has no address")


def dialling_nothing() -> None:
    """In place of what asks servers."""
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


def _finding(found: Mapping[str, Any], subject: str = "") -> str:
    """``rule severity verdict status position``, and what else it says that is no text. ``subject``: the object that
    the line stands below."""
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
    said = " ".join((found["rule"], found["severity"], found["verdict"], found["status"], *filter(None, more)))
    return stable(said)


def _position(place: Mapping[str, Any] | None) -> str:
    """Line and column. Behind a certificate on the same line, the column depends on the certificate's length."""
    if not place or not place["line"]:
        return ""
    return f"{place['line']}:{place['column'] if place['column'] < 200 else '~'}"


def _tell(case: Case, found: Mapping[str, Any]) -> None:
    for name in _WORDS:
        case.words += _texts(found.get(name))
    for name in _VALUES:
        case.values += _texts(found.get(name))


def _findings(case: Case, found: Iterable[Mapping[str, Any]], subject: str = "") -> None:
    """Those that pass or do not apply are together on one line."""
    quiet, folded = ("pass", "not_applicable"), list[str]()
    indent = "  " if subject else ""
    for each in sorted(found, key=lambda one: (_finding(one, subject), one["message"])):
        _tell(case, each)
        line = _finding(each, subject)
        if line.split(" ", 3)[3] == each["status"] and each["verdict"] in quiet:
            folded.append("/".join(line.split(" ")))
        else:
            case.lines.append(f"{indent}{line}")
    if folded:
        case.lines.append(f"{indent}and {_set(folded)}")


SETS: Final[dict[str, str]] = {}
"""What is often said together, by a digest: most listeners pass the same rules, for the same reasons."""


def _set(items: list[str]) -> str:
    text = " ".join(items)
    if len(text) < 40:
        return text or "-"
    name = f"set-{_digest(items)[:5]}"
    assert SETS.setdefault(name, text) == text
    return name


def _counts(value: Mapping[str, Any]) -> str:
    """The numbers and words of an object that are not nothing."""
    plain = {key: each for key, each in value.items() if isinstance(each, str | int | float) and key != "reasons"}
    inner = (f"{key}({_counts(each)})" for key, each in value.items() if isinstance(each, dict) and _counts(each))
    return " ".join([*(f"{key}={each}" for key, each in plain.items() if each not in (0, "")), *inner])


def _failed(case: Case, called: Called) -> Case:
    case.lines.append(f"exit {called.code}")
    case.words += called.err.splitlines()
    return case


def linted(name: str, called: Called, *, brief: bool = False) -> Case:
    """What ``lint --format json`` said. If ``brief``, what is inconclusive is in a digest alone."""
    case = _failed(Case(name, called.command, []), called)
    document = called.document
    if document is None:
        return case
    case.documents.append(("lint", document))
    case.lines[0] += f" {_counts({key: document[key] for key in ('files', 'others', 'summary')})}"
    case.lines += [f"unreadable {each['resource']} {each['gap']} {each['accepted']}" for each in document["unreadable"]]
    case.lines += [f"skipped {each['path']}" for each in document["skipped"]]
    case.words += _texts([document["unreadable"], document["skipped"]])
    case.values += [each["id"] for each in document["rules"]]
    _findings(case, document["findings"])
    folded: list[str] = []
    for each in document["objects"]:
        shown = [one for one in each["findings"] if not (brief and one["verdict"] == "inconclusive")]
        if shown or (each["verdict"] != "pass" and not brief):
            said = f"{each['verdict']} {_position(each['place'])}".rstrip()
            case.lines.append(f"= {_named(each['object'])} {said} passed {_short(each['passed'])}")
        else:
            folded += [_named(each["object"]), each["verdict"], *map(_finding, each["findings"]), *each["passed"]]
        case.values += [_named(each["object"]), each["verdict"], *each["passed"]]
        _findings(case, shown, _named(each["object"]))
    case.lines += [f"others {_short(folded)}"] if folded else []
    return case


_OBJECT: Final = re.compile(r"^(?:--[a-z-]+|[A-Z]\w+/[^ ]+)(?: [a-z]\w*[.\[][^ ]*)?")
"""Where a step of the reasoning is in an object or an option."""


def endpoint_lines(case: Case, row: Mapping[str, Any]) -> None:
    """One endpoint of a scan."""
    owed, findings = row["expected"], row["findings"]
    case.lines.append(f"= {row['instance']}")
    names = ("verdict", "status", "outcome", "reach", "certainty", "binding", "standing", "segment", "component")
    case.lines.append("  " + " ".join(str(row[name] or "-") for name in names))
    suites, groups = _short(owed["suites"]), _short(owed["groups"] or ())
    others = " ".join(owed["alternatives"])
    case.lines.append(
        f"  owes {owed['profile']} {owed['min_version']} {suites} {groups} {owed['adherence']} {others}".rstrip()
    )
    by = [found[0].removesuffix(":") for each in owed["because"] if (found := _OBJECT.match(each))]
    case.lines.append(f"  by {_set([*(f'{each};' for each in by), str(len(owed['because']))])}")
    for name in ("subject", "pod"):
        if row[name]:
            case.lines.append(f"  {name} {_named(row[name])}")
    if row["sampled"] or row["blocked_by"] or row["aliases"] or row["candidates"]:
        case.lines.append(f"  sampled {row['sampled']} {row['blocked_by']} {row['aliases']} {len(row['candidates'])}")
    case.words += _texts([owed["because"], owed["remarks"], row["detail"], row["reasons"], row["origins"]])
    case.values += _texts([owed["suites"], owed["groups"], row["observed"], row["id"], row["server_name"]])
    _findings(case, findings, row["instance"])


def scanned(
    name: str,
    called: Called,
    rows: Iterable[Mapping[str, Any]] = (),
    beside: Mapping[str, tuple[Endpoint, Expectation]] = MappingProxyType({}),
) -> Case:
    """What ``scan --format json`` said. ``rows``: further endpoints that are shown with it; ``beside``: those of which
    is said what other servers there would get."""
    case = _failed(Case(name, called.command, []), called)
    document = called.document
    if document is None:
        return case
    case.documents.append(("scan", document))
    for key in ("summary", "exit", "coverage", "inventory"):
        case.lines.append(f"{key} {_counts(document[key] or {})}")
    case.words += _texts([document["exit"], document["coverage"], document["cluster"]])
    _findings(case, document["findings"])
    for each in document["certificates"] or ():
        _certificate(case, each)
    for each in (*document["endpoints"], *rows):
        endpoint_lines(case, each)
        if each["instance"] in beside:
            endpoint, expectation = beside[each["instance"]]
            for kind in ("intermediate", "weak", "modern"):
                if kind != character(endpoint.instance):
                    _beside(case, endpoint, expectation, kind)
    for each in document["components"] or ():
        names = ("component", "namespace", "standing", "listeners", "honours", "excused")
        case.lines.append("component " + " ".join(str(each[name]) for name in names))
        case.values += _texts(each)
    return case


def _certificate(case: Case, row: Mapping[str, Any]) -> None:
    said = (row["category"], row["governed"], row["component"], row["verdict"], row["status"])
    names = ",".join(row.get("names") or row.get("certificate_names") or ())
    where = row.get("where") or (row["places"][0] if row["places"] else "-")
    case.lines.append(stable(f"certificate {where} {row.get('role', '')} {names or '-'} {' '.join(map(str, said))}"))
    case.words += _texts([row["why"], row["renewal"]])
    case.values += _texts([row["subject"], row["issuer"], row["key"], row.get("places")])
    _findings(case, row.get("findings", ()), str(where))


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
    """What the e2e lane gives to real API servers and controllers; other projects' files where they were fetched."""
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
    try:
        suites = assets.suites()
    except assets.Missing as missing:
        _skip(f"lint-e2e: files of other projects: {missing}")
        return
    for tree in OTHERS:
        shutil.copytree(suites / tree, tree)
        yield linted(f"files of {tree}", call("lint", tree, *BRIEF), brief=True)


OTHERS: Final = ("base", "contour", "contour-site", "envoy-gateway", "gateway-api", "istio", "refused", "tests")
"""Directories of ``assets.suites``."""


def _dumped(objects: Iterable[Any]) -> str:
    return "".join(f"---\n{json.dumps(each)}\n" for each in objects)


def judged_examples() -> Iterator[Case]:
    """Every example on the pages of rules on listeners, on scans and on certificates."""
    every: tuple[Any, ...] = (*RULES, *DEEP_RULES, *SCAN_RULES, *PKI_RULES)
    for rule in every:
        for which in ("fails", "passes"):
            for number, text in enumerate(examples.examples(rule, which)):
                case = Case(
                    f"{rule.id} {which} {number}", f"(docs/rules/{rule.id}.md, example {number} that {which})", []
                )
                _findings(case, [dict(finding_row(each)) for each in _judged(rule, text)])
                yield case


def _judged(rule: Any, text: str) -> Iterable[Finding]:  # noqa: ANN401 - a rule of any kind
    if rule in PKI_RULES:
        return pki_examples.judged(Path(tempfile.mkdtemp(dir=".")), text).of(rule)
    if rule in SCAN_RULES:
        return scan_examples.findings(rule, text)
    case = case_of(text)
    return (*judge(case).findings, *(rule.check(rule, case) if rule in DEEP_RULES else ()))


def scans() -> Iterator[Case]:
    """What a scan says of each story, and of the demo's cluster. The endpoints are those that discovery finds and
    those of ``expected.yaml``, which many stories have instead."""
    for name in stories.names():
        called, kept = _scan(name)
        beside = {endpoint.instance: (endpoint, expectation) for endpoint, expectation in _expected(name)}
        yield scanned(name, called, kept, beside)
    with _at(DEMO_NOW):
        yield scanned("demo", call("scan", "--snapshot", DEMO.name, "--allow-loopback", "--quiet", *BRIEF))


def _scan(name: str) -> tuple[Called, list[EndpointRow]]:
    """A story scanned and kept in ``kept/``, and its expected endpoints added to what is kept."""
    kept = Path("kept", name)
    called = call("scan", "--snapshot", _story(name), "--save", kept, "--active-http", "--quiet", *BRIEF)
    found = {each["instance"] for each in (called.document or {"endpoints": []})["endpoints"]}
    rows = []
    with (kept / "observations.jsonl").open("a") as observations, (kept / "rows.jsonl").open("a") as judged:
        for endpoint, expectation in _expected(name):
            if endpoint.instance not in found:
                seen = observed(endpoint, scan_story.question(expectation, scan_story.Settings(active_http=True)))
                rows.append(_row(endpoint, expectation, seen))
                observations.write(encode(Seen(endpoint=endpoint, observation=seen)) + "\n")
                judged.write(dumps(rows[-1]) + "\n")
    return called, rows


def _expected(name: str) -> Iterator[tuple[Endpoint, Expectation]]:
    story = stories.load(name)
    for key, endpoint in story.endpoints.items():
        yield endpoint, story.owed(key)


def _row(endpoint: Endpoint, expectation: Expectation, seen: Observation) -> EndpointRow:
    about = Judged(endpoint=endpoint, expectation=expectation, observation=seen, policy=Policy(), now=seen.at)
    result = judge(about)
    return endpoint_row(endpoint, expectation, seen, result.verdict, result.status, result.findings)


def _beside(case: Case, endpoint: Endpoint, expectation: Expectation, kind: str) -> None:
    """One line of what would be said of another server there."""
    asked = scan_story.question(expectation, scan_story.Settings(active_http=True))
    row = _row(endpoint, expectation, _speaking(endpoint, asked, kind))
    failed = [f"{each['rule']}/{each['severity']}/{each['verdict']}/{each['status']}" for each in row["findings"]]
    passed = [each for each in failed if "/pass/" in each or "/not_applicable/" in each]
    said = sorted(set(failed) - set(passed))
    quiet = _short(sorted(passed))
    case.lines.append(f"  as {kind}: {row['verdict']} {row['status']} {quiet} {_set(said)}")
    case.words += _texts(row["findings"])


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
        if not Path("kept", name).exists():
            _scan(name)
        yield _compared(name, str(Path("kept", name)), WISHES)
    yield _compared("saved", SAVED.name, {**WISHES, "text": wishes["text"]})
    with _at(DEMO_NOW):
        kept = Path("kept", "demo")
        call("scan", "--snapshot", DEMO.name, "--allow-loopback", "--quiet", "--save", kept, *BRIEF)
        yield _compared("demo", str(kept), wishes)


def _compared(name: str, kept: str, wishes: Mapping[str, tuple[str, ...]]) -> Case:
    case = Case(name, f"adhere whatif {kept} ...", [])
    for wish, options in wishes.items():
        called = call("whatif", kept, *options, *(() if "--format" in options else BRIEF))
        case.lines.append(f"== {wish}: exit {called.code}")
        case.words += called.err.splitlines()
        if "text" in options:
            case.words += called.out.splitlines()
        elif document := called.document:
            case.documents.append(("whatif", document))
            _comparison(case, document)
    return case


def _comparison(case: Case, document: Mapping[str, Any]) -> None:
    counts = {
        key: document[key] for key in document if key not in ("schema", "assumed", "not_judged", "findings", "changes")
    }
    case.lines[-1] += f" {_counts(counts)}"
    case.words += _texts(document["not_judged"])
    for kind, found in document["findings"].items():
        case.lines += [f"{kind}:"] if found else []
        _findings(case, found, "scan")
    for each in sorted(document["changes"], key=lambda change: (change["id"], change["instances"])):
        outlook = (each["outlook"], each["source"]) if each["outlook"] else ""
        found = _set(sorted(_finding(one).replace(" ", "/") for one in each["findings"]))
        change = f"{each['before']} -> {each['after']} {each['profile']} {each['endpoints']} {outlook}".rstrip()
        case.lines.append(f"= {each['id']} {change} {found}")
        case.words += _texts([each["because"], each["findings"]])


def explained() -> Iterator[Case]:
    """The explanation of each listener of the stories and of the demo."""
    for name in stories.names():
        case = Case(name, f"adhere explain LISTENER --snapshot {_story(name)}", [])
        scanned = call("scan", "--snapshot", _story(name), "--quiet", *BRIEF).document
        _explain(case, _story(name), {each["id"] for each in (scanned or {"endpoints": ()})["endpoints"]})
        for endpoint, expectation in _expected(name):
            _explanation(case, endpoint.id, list(explanation([endpoint], expectation)))
        yield case
    with _at(DEMO_NOW):
        case = Case("demo", f"adhere explain LISTENER --snapshot {DEMO.name}", [])
        names = ("kubelet", "etcd", "shop/web", "Route/shop/checkout", "openshift-ingress/router-default", "no/such")
        _explain(case, DEMO.name, names)
        yield case


def _explain(case: Case, snapshot: str, listeners: Iterable[str]) -> None:
    for each in sorted(listeners):
        called = call("explain", each, "--snapshot", snapshot)
        _explanation(case, f"{each} exit {called.code}", called.out.splitlines())
        case.words += called.err.splitlines()


def _explanation(case: Case, what: str, lines: list[str]) -> None:
    case.lines.append(f"{what}: {len(lines)} lines")
    case.words += lines


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
    yield Case(
        "files as text",
        text.command,
        [f"exit {text.code}", f"{len(text.out.splitlines())} lines"],
        text.out.splitlines(),
    )


def _pem(der: bytes) -> bytes:
    return ssl.DER_cert_to_PEM_cert(der).encode()


def certified(name: str, called: Called) -> Case:
    """What ``certs --format json`` said."""
    case = _failed(Case(name, called.command, []), called)
    document = called.document
    if document is not None:
        case.documents.append(("certs", document))
        case.words += _texts([document["judged_by"], document["problems"]])
        case.lines.append(f"problems {len(document['problems'])}")
        for each in document["certificates"]:
            _certificate(case, each)
        _findings(case, document["findings"])
    return case


def rbac() -> Iterator[Case]:
    """The permissions of a scan, and of each option."""
    accounts = ("--service-account", "adhere/adhere")
    for options in ((), accounts, *(("--with", each) for each in OPTIONS), ("--with", ",".join(OPTIONS), *accounts)):
        called = call("rbac", *options)
        case = _failed(Case(" ".join(("rbac", *options)), called.command, []), called)
        for each in yaml.safe_load_all(called.out):
            case.lines.append(
                f"= {each['kind']} {each['metadata']['name']} {json.dumps(each.get('roleRef'))} {each.get('subjects')}"
            )
            if options and each["metadata"]["name"] == "adhere-scan":
                continue  # the same as without
            for rule in each.get("rules", ()):
                case.lines.append("  " + " | ".join(",".join(rule.get(key, ())) for key in _RULE))
        case.words += [line for line in called.out.splitlines() if "#" in line or "description" in line]
        yield case


_RULE: Final = ("apiGroups", "resources", "verbs", "resourceNames", "nonResourceURLs")


def formats() -> Iterator[Case]:
    """A scan, a lint and a comparison in every format."""
    with _at(DEMO_NOW):
        files = ("text=scan.txt", "json=scan.json", "junit=scan.xml", "html=scan.html", "metrics=scan.prom")
        asked = [option for each in files for option in ("--format", each)]
        called = call("scan", "--snapshot", DEMO.name, "--allow-loopback", "--quiet", *asked)
        yield _formatted("scan", called, Path("scan.txt"), Path("scan.xml"), Path("scan.html"), Path("scan.prom"))
    for name in ("declared-router", "declared-gateway", "kubeadm"):
        snapshot = _story(name)
        written = ("text=lint.txt", "junit=lint.xml", "sarif=lint.sarif")
        asked = [option for each in written for option in ("--format", each)]
        called = call("lint", "--snapshot", snapshot, "--quiet", "--fix-hints", *asked)
        yield _formatted(f"lint {name}", called, Path("lint.txt"), Path("lint.xml"), Path("lint.sarif"))


def _formatted(name: str, called: Called, *files: Path) -> Case:
    case = _failed(Case(name, called.command, []), called)
    for each in files:
        case.lines.append(f"== {each.suffix}")
        _READERS[each.suffix](case, each.read_text())
    return case


def _plain(case: Case, text: str) -> None:
    case.lines.append(f"{len(text.splitlines())} lines")
    case.words += text.splitlines()


def _junit(case: Case, text: str) -> None:
    """Names and outcomes of cases; numbers of suites."""
    for suite in ElementTree.fromstring(text).iter("testsuite"):
        numbers = " ".join(f"{key}={suite.get(key)}" for key in ("tests", "failures", "errors", "skipped"))
        case.lines.append(stable(f"= {suite.get('name')} {numbers}"))
        properties = [f"{each.get('name')}={each.get('value')}" for each in suite.iter("property")]
        case.lines += properties if suite.get("name") == "adhere" else []
        case.values += properties
        for each in suite.iter("testcase"):
            outcome = next((one.tag for one in each if one.tag != "system-out"), "pass")
            if outcome != "pass" or each.get("classname") != suite.get("name"):
                where = "" if each.get("classname") == suite.get("name") else f"{each.get('classname')} "
                case.lines.append(stable(f"  {where}{each.get('name')} {outcome}"))
            case.values += [f"{each.get('classname')} {each.get('name')}", *(one.get("type", "") for one in each)]
            case.words += [one.get("message", "") + (one.text or "") for one in each]


def _sarif(case: Case, text: str) -> None:
    document = json.loads(text)
    case.documents.append(("sarif", document))
    for each in document["runs"][0]["results"]:
        place = each.get("locations", [{}])[0].get("physicalLocation", {})
        where = f"{place.get('artifactLocation', {}).get('uri')} {json.dumps(place.get('region'))}"
        case.lines.append(f"{each['ruleId']} {each.get('level')} {each.get('kind')} {where}")
        case.words += _texts(each["message"])
    case.lines += [f"rule {each['id']}" for each in document["runs"][0]["tool"]["driver"]["rules"]]


def _metrics(case: Case, text: str) -> None:
    lines = text.splitlines()
    case.lines += [each for each in lines if not each.startswith("#") and not each.endswith(" 0.0")]
    nothing = [each for each in lines if each.endswith(" 0.0")]
    case.lines.append(f"and {_short(nothing)} with 0")
    case.values += [*nothing, *(each for each in lines if each.startswith("# TYPE"))]
    case.words += [each for each in lines if each.startswith("# HELP")]


def _html(case: Case, text: str) -> None:
    """The filters of the page, and what its script sorts and selects by."""
    case.lines += dict.fromkeys(re.findall(r'href="(#[a-z]+=[^"]*)"', text))
    for row in endpoints(text):
        facets = row["facets"]
        case.lines.append(f"{row['outcome']} order={row['order']} rules={' '.join(facets['rule'])} {row['id']}")
        case.values += [f"{name}={value}" for name, values in facets.items() for value in values]
        case.words += _texts({key: value for key, value in row.items() if key != "facets"})
    case.words += re.sub(r"<(style|script).*?</\1>|<meta[^>]*>", "", text, flags=re.DOTALL).splitlines()


_READERS: Final[Mapping[str, Callable[[Case, str], None]]] = {
    ".txt": _plain, ".xml": _junit, ".sarif": _sarif, ".prom": _metrics, ".html": _html,
}  # fmt: skip


def commands() -> Iterator[Case]:
    """Commands with their options, and the table of rules."""
    case = Case("options", "adhere --help", [])
    _command(case, adhere, "adhere")
    yield case
    called = call("rules")
    case = _failed(Case("rules", called.command, []), called)
    for line in called.out.splitlines():
        rule, severity, title = line.split(None, 2)
        case.lines.append(f"{rule} {severity}")
        case.words.append(title)
    yield case


def _command(case: Case, command: click.Command, name: str) -> None:
    options = [
        f"{'|'.join(each.opts)}{'*' if each.multiple or each.nargs == -1 else ''}{_default(each)}"
        for each in command.params
    ]
    case.lines += [f"= {name}", *(f"  {each}" for each in sorted(options))]
    case.words += [command.help or "", *(str(getattr(each, "help", "")) for each in command.params)]
    if isinstance(command, click.Group):
        context = click.Context(command)
        for each in command.list_commands(context):
            found = command.get_command(context, each)
            assert found is not None
            _command(case, found, f"{name} {each}")


def _default(option: click.Parameter) -> str:
    return f"={option.default}" if isinstance(option.default, str | int | float) else ""


PARTS: Final[Mapping[str, Callable[[], Iterator[Case]]]] = {
    "commands": commands,
    "rbac": rbac,
    "lint-stories": lint_stories,
    "lint-examples": lint_examples,
    "lint-e2e": lint_e2e,
    "judged-examples": judged_examples,
    "scan": scans,
    "whatif": whatif,
    "explain": explained,
    "certs": certs,
    "formats": formats,
}


# --- Comparing and recording -----------------------------------------------------------------------------------------

SKIPPED: Final[list[str]] = []
"""What could not be done on this machine, with the reason."""


def _skip(reason: str) -> None:
    SKIPPED.append(reason)


@contextlib.contextmanager
def _at(moment: datetime) -> Iterator[None]:
    """Have the clock stand at another time."""
    Clock.at = moment
    try:
        yield
    finally:
        Clock.at = NOW


Sections = dict[str, list[str]]
"""The lines of a file by what they are about."""


@dataclass(slots=True)
class Recorded:
    """What a part came to, as its files have it."""

    part: str
    cases: Sections = field(default_factory=dict)
    commands: dict[str, str] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)
    keys: Sections = field(default_factory=dict)
    partial: bool = False
    """Whether some cases could not be made here."""

    def add(self, case: Case, found: dict[str, set[str]]) -> None:
        """One case; ``found`` collects the keys of documents by their kind."""
        assert case.name not in self.cases, case.name
        self.cases[case.name] = [json.dumps(line)[1:-1].replace('\\"', '"') for line in case.lines]
        self.commands[case.name] = case.command
        self.messages.append(case.digests)
        for kind, document in case.documents:
            found.setdefault(f"{self.part}: {kind}", set()).update(keys(document))


def recorded(part: str) -> Recorded:
    """Run a part in an empty directory below the present one."""
    here, made, found = Path.cwd(), Recorded(part), dict[str, set[str]]()
    SETS.clear()
    before = len(SKIPPED)
    Path(part).mkdir()
    os.chdir(part)
    for fixed in (DEMO, SAVED):
        shutil.copytree(fixed, fixed.name)
    try:
        for case in PARTS[part]():
            made.add(case, found)
    finally:
        os.chdir(here)
    if SETS:
        made.cases = _unfolded(made.cases)
        made.cases["sets"] = [f"{name}: {items}" for name, items in sorted(SETS.items())]
        made.commands["sets"] = "(what is often said together has a name)"
    made.keys = typed(found)
    made.partial = len(SKIPPED) > before
    return made


def typed(found: Mapping[str, set[str]]) -> Sections:
    """Each key once, with the types that its values have."""
    sections = Sections()
    for kind, each in found.items():
        types: dict[str, list[str]] = {}
        for key, _, name in (one.partition(" ") for one in sorted(each)):
            types.setdefault(key, []).append(name)
        sections[kind] = [f"{key} {'|'.join(names)}" for key, names in types.items()]
    return sections


def _spelt_out(cases: Sections) -> Sections:
    """Without names of sets: whether something has one depends on the other cases."""
    sets = dict(line.split(": ", 1) for line in cases.get("sets", ()))
    names = re.compile(r"\bset-[0-9a-f]{5}\b")
    return {
        case: [names.sub(lambda name: sets.get(name[0], name[0]), line) for line in lines]
        for case, lines in cases.items()
        if case != "sets"
    }


def _unfolded(cases: Sections) -> Sections:
    """With the text of each set that is there once; what is left in ``SETS`` has a name that is there more often."""
    names = re.compile(r"\bset-[0-9a-f]{5}\b")
    times = Counter(name for lines in cases.values() for line in lines for name in names.findall(line))
    once = {name: SETS.pop(name) for name in list(SETS) if times[name] < 2}
    return {
        case: [names.sub(lambda name: once.get(name[0], name[0]), line) for line in lines]
        for case, lines in cases.items()
    }


def _read(file: str) -> Sections:
    """The sections of a file; none where it is not there."""
    path, sections, lines = GOLDEN / file, Sections(), list[str]()
    for line in path.read_text().splitlines() if path.exists() else ():
        if line.startswith("## "):
            sections[line.removeprefix("## ")] = lines = []
        else:
            lines.append(line)
    return sections


def _write(file: str, sections: Sections) -> None:
    text = "".join(f"## {name}\n" + "".join(f"{line}\n" for line in lines) for name, lines in sections.items())
    GOLDEN.mkdir(parents=True, exist_ok=True)
    (GOLDEN / file).write_text(text)


def write(made: Recorded) -> None:
    """Keep what is true now. Of what could not be made here, what was kept stays."""
    kept = _read(f"{made.part}.txt") if made.partial else {}
    _write(f"{made.part}.txt", {**kept, **made.cases})
    told = _read("messages.txt")
    others = [each for each in told.get(made.part, ()) if made.partial and each.rpartition(": ")[0] not in made.cases]
    _write("messages.txt", {**told, made.part: [*made.messages, *others]})
    known = {kind: each for kind, each in _read("keys.txt").items() if not kind.startswith(f"{made.part}: ")}
    _write("keys.txt", dict(sorted({**known, **made.keys}.items())))


def differences(made: Recorded) -> Iterator[str]:
    """What is not as it was recorded: for each case a diff, and how to see it."""
    before, after = _spelt_out(_read(f"{made.part}.txt")), _spelt_out(made.cases)
    for name in sorted({*before, *after}, key=[*before, *after].index):
        if name not in after and made.partial:
            continue
        was, now = before.get(name), after.get(name)
        if was != now:
            yield _difference(f"{made.part}.txt", name, was or [], now or [], made)
    told = {each.rpartition(": ")[0]: each for each in _read("messages.txt").get(made.part, ())}
    for line in made.messages:
        name = line.rpartition(": ")[0]
        if told.get(name) != line:
            yield _difference("messages.txt", name, [told[name]] if name in told else [], [line], made)
    known = {kind: each for kind, each in _read("keys.txt").items() if kind.startswith(f"{made.part}: ")}
    for kind in sorted({*known, *made.keys}):
        was, now = known.get(kind, []), made.keys.get(kind, [])
        if made.partial:
            was = [each for each in was if each in now]
        if was != now:
            yield _difference("keys.txt", kind, was, now, made)


MOST: Final = 40
"""Lines of a diff that are shown."""


def _difference(file: str, name: str, was: list[str], now: list[str], made: Recorded) -> str:
    lines = [line for line in difflib.unified_diff(was, now, lineterm="", n=1) if not line.startswith(("---", "+++"))]
    at = f"\n    {_above(now, lines)}" if name in made.cases and file != "messages.txt" else ""
    more = [f"... and {len(lines) - MOST} lines more"] if len(lines) > MOST else []
    shown = shlex.join(
        ("python", "-m", "tests.behaviour", "--show", made.part, *([name] if name in made.cases else ()))
    )
    command = made.commands.get(name, "")
    return "\n".join(
        [f"{file}: {name}{at}", *(f"  {line}" for line in (*lines[:MOST], *more)), f"  {command}", f"  {shown}", ""]
    )


def _above(now: list[str], diff: list[str]) -> str:
    """The object or endpoint that the first changed line is about."""
    changed = next((line[1:] for line in diff if line.startswith("+")), None)
    if changed is None or changed not in now:
        return ""
    above = [line for line in now[: now.index(changed) + 1] if line.startswith("=")]
    return above[-1] if above else ""


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.behaviour", description=(__doc__ or "").partition("\n")[0])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--check", nargs="*", metavar="PART", help=", ".join(PARTS))
    what.add_argument("--write", nargs="*", metavar="PART")
    what.add_argument("--show", nargs="+", metavar=("PART", "CASE"))
    parser.add_argument("--keep", metavar="DIR", help="leave the inputs of the commands there")
    asked = parser.parse_args(argv)
    parts = asked.show[:1] if asked.show else (asked.check or asked.write or list(PARTS))
    if unknown := [each for each in parts if each not in PARTS]:
        parser.error(f"no such part: {', '.join(unknown)} (there are {', '.join(PARTS)})")
    os.environ |= {"COLUMNS": "120", "NO_COLOR": "1", "TZ": "UTC", "ADHERE_DEBUG": "1"}
    for name in ("KUBECONFIG", "FORCE_COLOR", "CI", "GITHUB_ACTIONS"):
        os.environ.pop(name, None)
    stopping_connections()
    standing_still()
    dialling_nothing()
    if asked.keep:
        Path(asked.keep).mkdir(parents=True)
    with contextlib.nullcontext(asked.keep) if asked.keep else tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        try:
            return _show(asked.show) if asked.show else _each(parts, writes=asked.write is not None)
        finally:
            os.chdir("/")


def _each(parts: list[str], *, writes: bool) -> int:
    found = 0
    for part in parts:
        began, before = time.process_time(), found
        try:
            made = recorded(part)
        except Exception as error:  # noqa: BLE001 - a part that cannot be made is a difference, and the others go on
            traceback.print_exc()
            print(f"{part}: could not be made: {type(error).__name__}: {error}\n  at or after {LAST[0]}\n")
            found += 1
            continue
        if writes:
            write(made)
        else:
            for each in differences(made):
                print(each)
                found += 1
        said = "written" if writes else f"{found - before} differences"
        print(f"{part}: {len(made.cases)} cases, {said} ({time.process_time() - began:.1f} s of CPU)", flush=True)
    for each in SKIPPED:
        print(f"skipped: {each}")
    if found:
        print(f"\n{found} differences. The docstring of tests/behaviour.py says what they mean.")
    return 1 if found else 0


def _show(asked: list[str]) -> int:
    Path(asked[0]).mkdir()
    os.chdir(asked[0])
    for fixed in (DEMO, SAVED):
        shutil.copytree(fixed, fixed.name)
    for case in PARTS[asked[0]]():
        if not asked[1:] or case.name == asked[1]:
            print(f"## {case.name}\n# {case.command}", *case.lines, sep="\n")
            print("# what is said", *map(stable, case.words), "# values", *map(stable, case.values), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
