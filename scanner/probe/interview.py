"""The offers of one endpoint's plan, and what the plan concludes from the answers.

A plan is pure: its next offer and its conclusions follow from the question and the answers. Most listeners of a cluster
give the same answers, so each step of a plan is computed once for all of them, and looked up by the answer afterwards.
"""

from __future__ import annotations

from msgspec import Struct, field

from scanner.probe.evidence import Evidence
from scanner.probe.offers import Offer, Plan, Reply
from scanner.probe.session import Question
from scanner.probe.version_enumeration import interrogate

MOST_STEPS = 4000
"""Steps that are kept, about 4 KB each. Listeners that answer differently each time must not fill the memory."""
_CONCLUSION = 20
"""Steps that the evidence of a complete plan counts as, by its size."""
_DEEPEST = 100
"""Answers after which a plan runs by itself. Nine of ten plans are shorter, and to catch up with 600 answers at once,
for a listener that differs in the last one, takes 0.2 s in which no other endpoint gets a turn."""


class _Step(Struct, eq=False):
    """The state of a plan after some answers."""

    offer: Offer | None
    """The next offer; None: the plan is complete."""
    after: dict[tuple[object, ...], _Step] = field(default_factory=dict)
    """The next steps by the answer."""
    conclusion: Evidence | None = None
    """The evidence of a complete plan."""


_first: dict[tuple[object, ...], _Step] = {}
"""First steps by the part of the question that plans read."""
_kept = 0


def _keep(step: _Step, steps: dict[tuple[object, ...], _Step], key: tuple[object, ...]) -> _Step:
    """Keep a step."""
    _count(1)
    return steps.setdefault(key, step)


def _count(steps: int) -> None:
    """Count kept steps. If there are too many, all are dropped: endpoints in progress have theirs still."""
    global _kept  # noqa: PLW0603 - one number beside the dictionary that it counts
    if _kept + steps > MOST_STEPS:
        _first.clear()
        _kept = 0
    _kept += steps


class Interview:
    """The plan of one endpoint. Send ``offer`` until it is None, add each ``answer``, and then ``close``."""

    __slots__ = ("_evidence", "_fed", "_own", "_plan", "_question", "_replies", "_step")

    def __init__(self, question: Question, evidence: Evidence) -> None:
        self._question, self._evidence = question, evidence
        self._replies: list[Reply] = []
        self._plan: Plan[None] | None = None
        """The plan itself, if it had to be run; it has the first ``_fed`` replies, and its evidence is ``_own``."""
        self._fed = 0
        self._own = Evidence()
        key = (question.mode, question.allowed, question.min_version, question.groups, question.alpn)
        self._step = _first.get(key) or _keep(_Step(self._run()), _first, key)

    @property
    def offer(self) -> Offer | None:
        """The next offer; None after the last."""
        return self._step.offer

    def answer(self, reply: Reply) -> None:
        """Add the reply to ``offer``."""
        self._evidence.add_texts(reply)
        self._replies.append(reply._replace(chain=None))  # chains are long, and ``Evidence`` limits them
        if len(self._replies) > _DEEPEST:
            self._step = _Step(self._run())
            return
        key = (*reply[:6], reply.text)  # plans read no other field
        step = self._step.after.get(key)
        self._step = step or _keep(_Step(self._run()), self._step.after, key)

    def close(self) -> None:
        """Complete the evidence, also of a plan that was interrupted."""
        conclusion = self._step.conclusion
        if conclusion is None:
            self._run()
            conclusion = self._own
            if self._step.offer is None and len(self._replies) <= _DEEPEST:
                self._step.conclusion = conclusion
                _count(_CONCLUSION)
        self._evidence.adopt(conclusion)

    def _run(self) -> Offer | None:
        """Run the plan itself with all replies, and return its next offer."""
        offer = None
        if self._plan is None:
            self._plan = interrogate(self._question, self._own)
            offer = next(self._plan)
        for reply in self._replies[self._fed :]:
            self._own.add_reply(reply)
            try:
                offer = self._plan.send(reply)
            except StopIteration:
                offer = None
        self._fed = len(self._replies)
        return offer
