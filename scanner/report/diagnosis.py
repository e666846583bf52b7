"""Diagnoses as text: the numbered steps, and the step at which the configuration stopped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from shlex import quote

from scanner.kube.cluster_facts import ClusterFacts
from scanner.model.diagnosis import Conclusion, Diagnosis, Outcome, Step
from scanner.report.escape import plain
from scanner.report.escape import width as columns
from scanner.report.page import Page, counted, exit_text, pad

WORDS: dict[Outcome, str] = {
    "ok": "ok",
    "stopped": "stopped",
    "unknown": "unknown",
    "not-read": "not read",
    "not-applicable": "n/a",
}
"""Outcomes in the words of texts."""
_STYLES: dict[Outcome, str] = {"ok": "pass", "stopped": "fail", "unknown": "inconclusive"}
_INDENT = 16
_LONGEST = 400
"""Characters of one sentence."""
_NAMED = 10
"""Components in the exit line."""
_MOST = 40
"""Sentences of one step."""


def write(page: Page, cluster: ClusterFacts, found: Sequence[Diagnosis], *, whole: bool) -> None:
    """Write the diagnoses of one cluster. ``whole``: the steps of all; else a list, and the steps of those that
    stopped."""
    about = " ".join(filter(None, (cluster.distribution, cluster.version)))
    page.title(f"{plain(cluster.name)}  {plain(about)}")
    stopped = [each for each in found if each.conclusion == "stopped"]
    if not whole:
        _overview(page, found, stopped)
    for each in found if whole else stopped:
        page.line()
        _steps(page, each)


def _overview(page: Page, found: Sequence[Diagnosis], stopped: list[Diagnosis]) -> None:
    page.line(f"{len(found)} components with listeners; the configuration does not reach {len(stopped)} of them")
    if stopped:
        page.line()
    wide = max((columns(title(each)) for each in stopped), default=0)
    for each in stopped:
        page.line("  ", page.paint("fail", pad(title(each), wide)), f"  {where(each)}")
    for conclusion, what in (("unknown", "could not be determined"), ("ok", "no problem found")):
        names = [title(each) for each in found if each.conclusion == conclusion]
        if names:
            page.line()
            page.folded(2, "  ", f"{what} ({len(names)}): {', '.join(names)}")
    unseen = dict.fromkeys(name for each in found if each.conclusion == "ok" for name in not_checked(each))
    if unseen:
        page.folded(2, "  ", f"not checked for some or all of these: {', '.join(sorted(unseen))}")


def exit_line(code: int, found: Sequence[Diagnosis]) -> str:
    """Return the exit line, with the components that stopped and those that could not be determined."""
    reasons = [_which(found, "stopped", "the configuration does not reach")]
    reasons.append(_which(found, "unknown", "not complete: the result is unknown for"))
    if not any(reasons):
        many = counted(len(found), "component")
        reasons = [f"no problem found in {many}" if found else "no component has listeners"]
    return exit_text(code, reasons)


def _which(found: Sequence[Diagnosis], conclusion: Conclusion, what: str) -> str:
    names = [title(each) for each in found if each.conclusion == conclusion]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{what} {counted(len(names), 'component')} ({', '.join(names[:_NAMED])}{more})" if names else ""


def title(each: Diagnosis) -> str:
    """Return the component with its hosted control plane."""
    return plain(f"{each.component} ({each.place})" if each.place else each.component)


def where(each: Diagnosis) -> str:
    """Return the last step that was reached, in one line."""
    number = each.stopped_at
    if number is None:
        return _CONCLUSIONS[each.conclusion]
    return f"stopped at step {number} ({plain(each.steps[number - 1].name)})"


_CONCLUSIONS: dict[Conclusion, str] = {
    "stopped": "stopped",
    "unknown": "it could not be determined whether the configuration reaches the listeners",
    "ok": "no problem found in the steps that were checked",
}


def _steps(page: Page, each: Diagnosis) -> None:
    many = "1 listener" if each.listeners == 1 else f"{each.listeners} listeners"
    by = f", ClusterOperator/{plain(each.operator)}" if each.operator else ""
    page.line(page.paint("title", title(each)), f"  {many}{by}")
    page.line(f"  required: {plain(each.required)}" + ("" if each.bound else " (not enforced)"))
    for number, step in enumerate(each.steps, start=1):
        _step(page, number, step)
    page.line(f"  {where(each)}" + (f": {_first(each)}" if each.stopped_at is not None else ""))
    if each.stopped_at == len(each.steps) and each.bound:
        bug = f"adhere explain {quote(plain(each.component))} --bug --results DIR"
        doubtful = [n for n, step in enumerate(each.steps, start=1) if step.answer.outcome in ("not-read", "unknown")]
        known = "no step before it stopped, so this is a bug of the component"
        if doubtful:
            steps = " and ".join(map(str, doubtful))
            known = f"check what is not known in step {steps}; without a fault there, this is a bug of the component"
        page.line(f"  next: {known}: {bug} writes the report")
    if each.conclusion == "ok" and (missing := not_checked(each)):
        page.line(f"  not checked: {', '.join(missing)}")


def not_checked(each: Diagnosis) -> list[str]:
    """Return the steps that were not read; none if the served profile shows that all steps worked."""
    if each.steps[-1].answer.outcome == "ok":
        return []
    return [
        f"{n} {plain(step.name)}" for n, step in enumerate(each.steps, start=1) if step.answer.outcome == "not-read"
    ]


def _first(each: Diagnosis) -> str:
    lines = each.steps[(each.stopped_at or 1) - 1].answer.lines
    return plain(lines[0], _LONGEST) if lines else ""


def _step(page: Page, number: int, step: Step) -> None:
    outcome = step.answer.outcome
    label = page.paint(_STYLES.get(outcome, "quiet"), f"{WORDS[outcome]:<10}")
    page.line(f"  {number} {label}  {plain(step.name)}")
    for line in _cut(step.answer.lines):
        page.folded(_INDENT, " " * _INDENT, plain(line, _LONGEST))
    for command in step.commands:
        page.line(" " * _INDENT, page.paint("quiet", f"$ {plain(command)}"))


def _cut(lines: Sequence[str]) -> Iterable[str]:
    return lines if len(lines) <= _MOST else (*lines[:_MOST], f"and {len(lines) - _MOST} more")
