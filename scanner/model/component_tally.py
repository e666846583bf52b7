"""The component table: for each component, if it follows its profile, on how many listeners, and the evidence.

Rows are counted one by one. A listener with several replicas counts once, by its worst replica.
"""

from __future__ import annotations

from bisect import insort
from typing import Literal, TypedDict

from msgspec import Struct, field

from scanner.model.finding import NEVER_FAILS, OUTCOMES, SEVERITIES, Outcome, Severity, outcome
from scanner.model.row import EndpointRow, FindingRow

Honours = Literal["no", "not-determined", "yes"]

HONOURS: tuple[Honours, ...] = ("no", "not-determined", "yes")
"""The worst first: one listener that does not follow the profile is enough."""

HONOURED_BY = frozenset({"tls-version", "tls-cipher-suite", "tls-group"})
"""Rules that compare a listener with its profile, without those on certificates and flaws."""
_NEEDED = frozenset({"tls-version", "tls-cipher-suite"})
"""Rules that must pass before the profile counts as followed."""

_MOST_PROOFS = 5
"""Lines of evidence kept for each answer."""
_MOST_VALUES = 20
"""Different profiles, bindings and adherence values kept for each component."""


class ComponentRow(TypedDict):
    """One line of the table. Workloads without a known component are grouped by namespace."""

    component: str | None
    namespace: str | None
    """Only without a known component."""
    standing: str
    listeners: int
    """Different endpoint ids."""
    endpoints: int
    verdicts: dict[str, int]
    """Endpoints by verdict."""
    outcomes: dict[Outcome, int]
    """Endpoints by outcome."""
    excused: int
    """Equal to ``outcomes.deviates``."""
    failures: dict[str, int]
    """Failing findings by severity, without those that never affect the exit code."""
    honours: Honours | None
    """The answer for all its listeners; null if none has to use TLS."""
    honouring: dict[str, int]
    """Listeners by answer."""
    profiles: list[str]
    adherence: list[str]
    bindings: list[str]
    evidence: list[str]
    """A few lines: of an answer "no" first the failures that count, then its evidence."""


def honours(row: EndpointRow) -> Honours | None:
    """The answer for one listener; None if it does not have to use TLS."""
    if row["verdict"] == "not_applicable":
        return None
    compared = [one for one in row["findings"] if one["rule"] in HONOURED_BY and one["status"] != "informational"]
    if any(one["verdict"] == "fail" and one["status"] != "converging" for one in compared):
        return "no"
    passed = {one["rule"] for one in compared if one["verdict"] == "pass"}
    complete = passed >= _NEEDED and len(passed) == len({one["rule"] for one in compared})
    return "yes" if complete and not row["sampled"] else "not-determined"


def is_excused(row: EndpointRow) -> bool:
    """True if a listener that does not follow its profile need not: it is not enforced, or each deviation is waived,
    known, or explained by a rollout. What could not be determined for another reason is no excuse."""
    compared = (one for one in row["findings"] if one["rule"] in HONOURED_BY)
    unmet = [one["status"] for one in compared if one["verdict"] in ("fail", "inconclusive")]
    return row["binding"] == "not-enforced" or bool(unmet and NEVER_FAILS.issuperset(unmet))


class _Component(Struct):
    standing: str
    verdicts: dict[str, int] = field(
        default_factory=lambda: {"pass": 0, "fail": 0, "inconclusive": 0, "not_applicable": 0}
    )
    outcomes: dict[Outcome, int] = field(default_factory=lambda: dict.fromkeys(OUTCOMES, 0))
    failures: dict[Severity, int] = field(default_factory=dict)
    listeners: dict[str, Honours | None] = field(default_factory=dict)
    words: dict[str, list[str]] = field(default_factory=lambda: {"profiles": [], "adherence": [], "bindings": []})
    counted: dict[str, str] = field(default_factory=dict)
    """The first failures that count, by listener."""
    proofs: dict[Honours, dict[str, str]] = field(default_factory=lambda: {answer: {} for answer in HONOURS})
    """The first proofs of each answer, by listener."""

    def add(self, row: EndpointRow) -> None:
        self.verdicts[row["verdict"]] += 1
        self.outcomes[outcome(row["verdict"], row["status"])] += 1
        failing = [one for one in row["findings"] if one["verdict"] == "fail" and one["status"] not in NEVER_FAILS]
        for finding in failing:
            severity = SEVERITIES[SEVERITIES.index(finding["severity"])]
            self.failures[severity] = self.failures.get(severity, 0) + 1
        if failing:
            worst = max(failing, key=lambda one: (one["rule"] in HONOURED_BY, SEVERITIES.index(one["severity"])))
            _keep(self.counted, row["id"], _shown(worst))
        answer = honours(row)
        self.listeners[row["id"]] = _worse(self.listeners.get(row["id"]), answer)
        self._collect(row)
        if answer is not None and not (answer == "no" and failing):
            _keep(self.proofs[answer], row["id"], _proof(row, answer))

    def _collect(self, row: EndpointRow) -> None:
        expected = row["expected"]
        values = {"profiles": expected["profile"], "adherence": expected["adherence"], "bindings": row["binding"]}
        for kind, word in values.items():
            known = self.words[kind]
            if word and word not in known:
                insort(known, word)
                del known[_MOST_VALUES:]


def _keep(texts: dict[str, str], listener: str, text: str) -> None:
    """Keep the first texts by listener: replicas are counted in any order."""
    text = f"{listener}: {text}"
    texts[listener] = min(text, texts.get(listener, text))
    if len(texts) > _MOST_PROOFS:
        del texts[max(texts)]


def _worse(one: Honours | None, other: Honours | None) -> Honours | None:
    return min((each for each in (one, other) if each), key=HONOURS.index, default=None)


def _proof(row: EndpointRow, answer: Honours) -> str:
    if answer == "yes":
        return f"refuses what {row['expected']['profile']} forbids ({row['observed']['connections']} connections)"
    verdict = "fail" if answer == "no" else "inconclusive"
    for finding in row["findings"]:
        if finding["rule"] in HONOURED_BY and finding["verdict"] == verdict:
            return _shown(finding)
    if row["sampled"]:
        return "a balanced address: one of several listeners answered"
    return next((finding["message"] for finding in row["findings"] if finding["verdict"] == verdict), row["reach"])


def _shown(finding: FindingRow) -> str:
    items = ", ".join(finding["observed"][:3])
    return f"{finding['message']}{f' ({items})' if items else ''}"


class ComponentTally(Struct):
    """Counts over all rows of a cluster. Targets of a list have no component and are not counted."""

    _found: dict[tuple[str | None, str | None, str], _Component] = field(default_factory=dict)

    def add(self, row: EndpointRow) -> None:
        """Count one endpoint."""
        if not component_of(row):
            return
        namespace = None if row["component"] else (row["owner"]["namespace"] or "")
        key = (row["component"], namespace, row["standing"])
        if key not in self._found:
            self._found[key] = _Component(row["standing"])
        self._found[key].add(row)

    def __bool__(self) -> bool:
        return bool(self._found)

    def rows(self) -> list[ComponentRow]:
        """The table: users last, what does not honour its profile first, known components before the rest, by name."""
        return sorted((_row(*key[:2], found) for key, found in self._found.items()), key=_place)


def _row(component: str | None, namespace: str | None, found: _Component) -> ComponentRow:
    answers = [answer for answer in found.listeners.values() if answer]
    answer = min(answers, key=HONOURS.index, default=None)
    return ComponentRow(
        component=component,
        namespace=namespace,
        standing=found.standing,
        listeners=len(found.listeners),
        endpoints=sum(found.verdicts.values()),
        verdicts=dict(found.verdicts),
        outcomes=dict(found.outcomes),
        excused=found.outcomes["deviates"],
        failures={severity: found.failures[severity] for severity in SEVERITIES if severity in found.failures},
        honours=answer,
        honouring={each: answers.count(each) for each in HONOURS},
        profiles=sorted(found.words["profiles"]),
        adherence=sorted(found.words["adherence"]),
        bindings=sorted(found.words["bindings"]),
        evidence=_evidence(found, answer) if answer else [],
    )


def _evidence(found: _Component, answer: Honours) -> list[str]:
    counted = [text for _, text in sorted(found.counted.items())] if answer == "no" else []
    return [*counted, *(text for _, text in sorted(found.proofs[answer].items()))][:_MOST_PROOFS]


def _place(row: ComponentRow) -> tuple[bool, int, bool, str, str]:
    answer = HONOURS.index(row["honours"]) if row["honours"] else len(HONOURS)
    name = row["component"] or row["namespace"] or ""
    return (row["standing"] == "user", answer, row["component"] is None, name, row["standing"])


def name_of(row: ComponentRow) -> str:
    """The displayed name: the component, or the namespace of workloads without a known component."""
    return called(row["component"], row["namespace"])


def called(component: str | None, namespace: str | None) -> str:
    """The same, of what a row says."""
    return component or (f"namespace {namespace}" if namespace else "cluster-scoped objects")


def component_of(row: EndpointRow) -> str:
    """The name that is displayed for the component of an endpoint; "" for a target of a list."""
    if row["component"] is None and row["standing"] == "listed":
        return ""
    return called(row["component"], row["owner"]["namespace"])
