"""Endpoints of the HTML page, as the data from which its script makes rows when they come into view.

``view`` has the words of an endpoint, ``Pack`` stores equal parts of many endpoints once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Final, TextIO

from msgspec import Struct, field

from scanner.model.finding import OUTCOMES, SEVERITIES
from scanner.model.finding import outcome as outcome_of
from scanner.model.inventory import moment
from scanner.model.report import CertificateRow, EndpointRow, FindingRow
from scanner.report import headline
from scanner.report.certificates import expiry_step, time_left
from scanner.report.escape import visible
from scanner.report.formats.matrix import SHOWN, component_of, traits
from scanner.report.grouping import owner_name
from scanner.report.stream import dumps

_MOST_ITEMS: Final = 60
_MOST_SUITES: Final = 150
_MOST_CERTIFICATES: Final = 10
_MOST_NAMES: Final = 20
_LONGEST: Final = 6000
"""Characters of one text; the JSON report has all of it."""


# --- packing ----------------------------------------------------------------------------------------------------------


class Pack(Struct):
    """A table of JSON values, each distinct one once.

    A list has the numbers of its items. An object has the number of its list of keys, from -1 downwards, and then the
    numbers of its values. An item comes before the list that has it.
    """

    _nodes: list[str] = field(default_factory=list)
    """The values as JSON."""
    _numbers: dict[object, int] = field(default_factory=dict)
    _keys: dict[tuple[str, ...], int] = field(default_factory=dict)

    def add(self, value: object) -> int:
        """Store a value, and return its number. Control characters of texts become visible, long texts are cut."""
        known: object = value
        if isinstance(value, Mapping):
            known = (self._keys.setdefault(tuple(value), -1 - len(self._keys)), *map(self.add, value.values()))
        elif isinstance(value, list | tuple):
            known = tuple(map(self.add, value))
        elif not isinstance(value, str):
            known = (type(value), value)  # True is equal to 1
        number = self._numbers.setdefault(known, len(self._nodes))
        if number == len(self._nodes):
            text = _cut(visible(value)) if isinstance(value, str) else value
            self._nodes.append(dumps(known if isinstance(value, Mapping | list | tuple) else text))
        return number

    def write(self, out: TextIO, members: Mapping[str, object]) -> None:
        """Write ``members`` and the table as one object, safe in a script element."""
        for name, value in {**members, "keys": [list(each) for each in self._keys]}.items():
            out.write("," if name != next(iter(members)) else "{")
            out.write(f"{dumps(name)}:{_in_script(dumps(value))}\n")
        out.write(',"nodes":[')
        for number, node in enumerate(self._nodes):
            out.write(f"{',' if number else ''}{_in_script(node)}")
        out.write("]}")


def _in_script(encoded: str) -> str:
    """Escape ``<``, which starts the end tag of a script and a comment in it (HTML, section 4.12.1.3)."""
    return encoded.replace("<", "\\u003c")


def _cut(text: str, limit: int = _LONGEST) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


# --- the words of an endpoint -----------------------------------------------------------------------------------------

Facts = list[tuple[str, str | None, str]]
"""Name, value, and the text in place of a missing value."""


def view(
    row: EndpointRow, groups: Iterable[int], now: datetime | None, controls: Mapping[str, list[str]]
) -> dict[str, object]:
    """Return what the page shows of an endpoint. ``groups``: the numbers of its groups of findings; ``controls``: those
    of each rule."""
    failed = [one for one in row["findings"] if one["verdict"] == "fail"]
    offending = {item.split(" ", 1)[0] for one in failed for item in one["observed"]}
    severity = min(failed, key=headline.rank)["severity"] if failed else ""
    outcome = headline.outcome(row)
    unsettled = sorted(filter(headline.open_question, row["findings"]), key=headline.importance)
    leaf = next(iter(row["observed"]["chain"] or []), None)
    end = moment(leaf["not_after"]) if leaf else None
    return {
        "outcome": outcome,
        "order": OUTCOMES.index(outcome) * 10 + len(SEVERITIES) - 1 - headline.severity_rank(severity),
        "id": _cut(row["id"], 260),
        "place": headline.place(row),
        "owner": _cut(_owner(row), 200),
        "speaks": headline.speaks(row),
        "accepted": [(headline.SHORT_VERSIONS.get(each, each), each in offending) for each in headline.spoken(row)],
        "mtls": {"required": "mTLS", "requested": "mTLS?"}.get(row["observed"]["client_certificate"] or "", ""),
        "key": _key(leaf) if leaf else "",
        "ends": (leaf["not_after"] or "")[:10] if leaf else "",
        "left": time_left(end - now) if end and now else "expiry unreadable" if leaf else "",
        "severity": severity,
        "why": _cut(headline.reason(row), 180),
        "facets": {
            "outcome": [outcome],
            "severity": list(dict.fromkeys(each["severity"] for each in failed if _counts(each))),
            "rule": list(dict.fromkeys(each["rule"] for each in unsettled)),
            "component": [component_of(row)],
            "namespace": [each for each in [row["owner"]["namespace"]] if each],
            "workload": [owner_name(row["owner"])],
            "has": [f"{column}{SHOWN[state]}" for column, state in traits(row, now).items() if state in SHOWN],
            "expires": [expiry_step(end, now)] if end and now else [],
            "finding": list(dict.fromkeys(map(str, groups))),
        },
        "findings": [finding(each, controls) for each in unsettled],
        "reason": headline.reason(row),
        "settled": [_settled(each) for each in row["findings"] if not headline.open_question(each)],
        "versions": [*_versions(row, offending)] or f"Unknown: {row['reasons'].get('versions', 'not tested')}.",
        "suites": _suites(row, offending),
        "groups": _groups(row, offending),
        "chain": _chain(row),
        "requirements": _requirements(row),
        "because": row["expected"]["because"][:30],
        "remarks": row["expected"]["remarks"][:30],
        "facts": _facts(row),
        "attempts": _items(row["observed"]["attempts"]),
    }


def finding(one: FindingRow, controls: Mapping[str, list[str]]) -> dict[str, object]:
    """Return what the page shows of a finding: its details have the labels of all formats."""
    return {
        "outcome": outcome_of(one["verdict"], one["status"]),
        "label": headline.label(one),
        "rule": one["rule"],
        "status": "" if one["status"] in headline.PLAIN_STATUSES else headline.status_words(one["status"]),
        "message": one["message"],
        "details": [(name, _items(texts)) for name, texts in headline.details(one, controls)],
    }


def _counts(one: FindingRow) -> bool:
    return outcome_of(one["verdict"], one["status"]) == "fail"


def _items(texts: list[str]) -> list[str]:
    more = len(texts) - _MOST_ITEMS
    return [*texts[:_MOST_ITEMS], *([f"and {more} more, in the JSON report"] if more > 0 else [])]


def _settled(one: FindingRow) -> tuple[str, str, str, str]:
    remark = one["status"] == "informational"
    observed = ", ".join(one["observed"][:6]) + (" …" if len(one["observed"]) > 6 else "")
    return "informational" if remark else one["verdict"], one["rule"], one["message"], observed


def _owner(row: EndpointRow) -> str:
    """Return the owner, or "" if the id has it: a target of a list is its own owner."""
    owner = row["owner"]
    if owner["name"] in row["id"] and (owner["namespace"] is None or owner["namespace"] in row["id"]):
        return ""
    return "/".join(filter(None, (owner["namespace"], owner["kind"], owner["name"])))


def _versions(row: EndpointRow, offending: set[str]) -> Iterator[dict[str, object]]:
    """Yield the versions, each by its answer, so that a search does not find a version that is refused."""
    for name, answer in (row["observed"]["versions"] or {}).items():
        short = headline.SHORT_VERSIONS.get(name, name)
        if answer is None:
            yield {"unknown": short, "note": row["reasons"].get(f"versions.{name}", "")}
        elif answer["suites"] == []:
            yield {"refused": short}
        else:
            order = f"{answer['preference']} order" if answer["preference"] else ""
            enumerated = "" if answer["enumerated"] else "not every suite was tested"
            note = ", ".join(filter(None, (order, enumerated)))
            yield {"accepted": short, "offending": name in offending, "note": note}


def _suites(row: EndpointRow, offending: set[str]) -> dict[str, object]:
    """Return each accepted suite once, those of the newest version first, and the versions that accept it."""
    versions = row["observed"]["versions"] or {}
    spoken = headline.spoken(row)
    by_version = [answer["suites"] or [] if (answer := versions[name]) is not None else [] for name in spoken]
    names = list(dict.fromkeys(name for suites in reversed(by_version) for name in suites))
    return {
        "versions": [headline.SHORT_VERSIONS.get(name, name).removeprefix("TLS ") for name in spoken],
        "rows": [(name, name in offending, [name in suites for suites in by_version]) for name in names[:_MOST_SUITES]],
        "more": max(len(names) - _MOST_SUITES, 0),
    }


def _groups(row: EndpointRow, offending: set[str]) -> list[tuple[str, bool]] | str:
    groups = row["observed"]["groups"]
    if groups is None:
        return f"Unknown: {row['reasons'].get('groups', 'not tested')}."
    return [(name, name in offending) for name in groups[:40]] or "none"


def _key(certificate: CertificateRow) -> str:
    key = certificate["key"]
    size = key["curve"] or (f"{key['size']} bit" if key["size"] else "")
    return f"{key['algorithm'] or 'unreadable'} {size}".rstrip()


def _chain(row: EndpointRow) -> list[tuple[str, Facts]] | str:
    chain = row["observed"]["chain"]
    if chain is None:
        return f"Unknown: {row['reasons'].get('chain', 'not tested')}."
    return [_certificate(each) for each in chain[:_MOST_CERTIFICATES]] or "none was served"


def _certificate(one: CertificateRow) -> tuple[str, Facts]:
    def value(name: str, text: str | None, empty: str) -> tuple[str, str | None, str]:
        why = one["unreadable"].get({"Names": "dns_names"}.get(name, name.lower()), "")[:160]
        return name, None if text is None else _cut(text or empty), f"unreadable{': ' if why else ''}{why}"

    names = None if one["sans"] is None else ", ".join(_cut(each, 260) for each in one["sans"][:_MOST_NAMES])
    more = len(one["sans"] or []) - _MOST_NAMES
    subject = value("Subject", one["subject"], "(empty subject)")
    facts = [
        value("Issuer", one["issuer"], "(empty)"),
        ("Valid", f"{one['not_before'] or '?'} to {one['not_after'] or '?'}", ""),
        ("Key", _key(one), ""),
        ("Signature", one["signature"] or "unreadable", ""),
        value("Names", f"{names} and {more} more" if more > 0 else names, "none"),
        ("SHA-256", one["sha256"], ""),
    ]
    return subject[1] or subject[2], facts


def _requirements(row: EndpointRow) -> Facts:
    expected = row["expected"]
    facts: Facts = [
        ("Profile", expected["profile"], f"unknown: {row['reasons'].get('expected.profile', 'no reason recorded')}"),
    ]
    if expected["alternatives"]:
        facts.append(("During the rollout", f"also {', '.join(expected['alternatives'][:10])}", ""))
    facts += [
        (name, text, "")
        for name, text in (("Adherence", expected["adherence"]), ("At least", expected["min_version"]))
        if text
    ]
    return facts


def _facts(row: EndpointRow) -> Facts:
    observed, reasons = row["observed"], row["reasons"]
    negotiated = observed["negotiated"]
    parts = (negotiated["version"], negotiated["suite"], negotiated["group"]) if negotiated else ()
    stapled = observed["ocsp_stapled"]
    values: tuple[tuple[str, str, str | None], ...] = (
        ("negotiated", "Negotiated", ", ".join(filter(None, parts))),
        ("client_certificate", "Client certificate", observed["client_certificate"]),
        ("alpn", "ALPN", observed["alpn"] if observed["alpn"] or "alpn" in reasons else "none selected"),
        ("ocsp_stapled", "OCSP staple", None if stapled is None else "yes" if stapled else "no"),
    )
    facts: Facts = [
        ("Reach", row["reach"] + (f": {row['detail']}" if row["detail"] else ""), ""),
        ("Dialled", f"{row['address']} port {row['port']}, {row['transport']}", ""),
        ("Server name sent", row["server_name"] or "none", ""),
        *((name, value or None, f"unknown: {reasons.get(key, 'not tested')}") for key, name, value in values),
        ("Enforcement", headline.BINDINGS.get(row["binding"], row["binding"]), ""),
        *((name, value, "") for name, value in _optional(row) if value),
        ("Found by", ", ".join(row["origins"]) or "–", ""),
        ("Cost", f"{observed['connections']} connections", ""),
    ]
    return [(name, None if value is None else _cut(value, 400), why) for name, value, why in facts]


def _optional(row: EndpointRow) -> Iterator[tuple[str, str | None]]:
    """Yield the facts that only some endpoints have."""
    yield "Component", row["component"]
    yield "Workload", "" if row["standing"] == "listed" else headline.STANDINGS.get(row["standing"], "")
    yield "Certainty", "" if row["certainty"] == "declared" else row["certainty"]
    yield "Segment", row["segment"]
    yield "Subject", owner_name(row["subject"]) if row["subject"] else ""
    yield "Node", row["node"]
    yield "Pod", owner_name(row["pod"]) if row["pod"] else ""
    yield "May belong to", ", ".join(map(owner_name, row["candidates"]))
    yield "Also reached by", ", ".join(row["aliases"])
    yield "Sampled", "one of several listeners behind this address answered" if row["sampled"] else ""
    yield "Closed by", ", ".join(f"NetworkPolicy {name}" for name in row["blocked_by"])
