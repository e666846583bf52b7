"""The last step: what a saved scan has seen the component's listeners serve."""

from __future__ import annotations

from collections.abc import Iterable
from shlex import quote

from scanner.doctor.patient import Patient, Served
from scanner.model.component_tally import Honours
from scanner.model.diagnosis import Answer, Outcome

_MOST = 5
"""Listeners named."""
_WORST_FIRST: tuple[tuple[Honours, Outcome, str], ...] = (
    ("no", "stopped", "something else than is required"),
    ("not-determined", "unknown", "not judged"),
)


def serves(patient: Patient) -> Answer:
    """Whether every listener serves what it owes."""
    if patient.seen is None:
        return Answer(outcome="not-read", said=("not checked: no saved scan (--results DIR)",))
    if not patient.seen:
        return Answer(outcome="unknown", said=("the saved scan has no listener of it",))
    tls = [each for each in patient.seen if each.honours is not None]
    if not tls:
        return Answer(outcome="not-applicable", said=("none of its listeners has to speak TLS",))
    bound = [each for each in tls if each.binding != "not-enforced"]
    if not bound:
        count = sum(each.honours == "yes" for each in tls)
        said = f"nothing holds it to the profile; it is followed all the same at {count} of {_addresses(tls)}"
        return Answer(outcome="not-applicable", said=(said,))
    return _judged(bound)


def _judged(bound: list[Served]) -> Answer:
    for honours, outcome, what in _WORST_FIRST:
        ill = [each for each in bound if each.honours == honours]
        if ill:
            said = f"{what} at {len(ill)} of {_addresses(bound)}"
            return Answer(outcome=outcome, said=(said, *_evidence(ill)))
    return Answer(outcome="ok", said=(f"what is required, at {_addresses(bound)}",))


def _addresses(every: list[Served]) -> str:
    return "1 address" if len(every) == 1 else f"{len(every)} addresses"


def _evidence(ill: Iterable[Served]) -> list[str]:
    every = {each.id: each for each in reversed(list(ill))}
    names = list(every)[::-1]
    said = [line for name in names[:_MOST] for line in (name, *(f"  {why}" for why in every[name].why))]
    return [*said, f"and {len(names) - _MOST} more"] if len(names) > _MOST else said


def serves_commands(patient: Patient) -> tuple[str, ...]:
    """How to ask them."""
    return (f"adhere scan --cluster --include {quote('component=' + patient.component)} --save DIR",)
