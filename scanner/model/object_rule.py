"""A rule on what an object declares, and what it finds wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from scanner.files.source_positions import Steps
from scanner.kube.kinds import Kind
from scanner.kube.objects import KubeObject
from scanner.model.declared import Declared, Missing, Once, identity
from scanner.model.finding import Severity, Status, Verdict
from scanner.model.rule import AnyRule

ANY = Kind(group="*", plural="*", name="*")
"""As a rule's subject: objects of kinds that no rule names, of those that a manifest has and that hold a
``tlsSecurityProfile``. Of a cluster they are not asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """What would have to be seen for an answer."""

    name: str
    """``Secret/shop/web``, or what kind of object it is."""
    gap: str
    """Why it may exist though nobody saw it."""
    question: str
    """"whether the key belongs to the certificate"."""
    promised: bool = False
    """Another object says what it will be, and is judged for that: the question is answered there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """One thing that a rule has to say of an object."""

    message: str
    """One sentence."""
    at: Steps = ()
    """The field that it is about, from the object's top; of one that is missing, where it would stand."""
    verdict: Verdict = "fail"
    status: Status | None = None
    """None: ``violation`` of what fails, ``not-tested`` of what could not be decided."""
    severity: Severity | None = None
    """Where it is not the rule's."""
    expected: tuple[str, ...] = ()
    observed: tuple[str, ...] = ()
    fix: str | None = None
    """The object and field to edit."""
    correction: str | None = None
    """YAML that would be right, for ``--fix-hints``: the field and what is around it."""
    evidence: tuple[str, ...] = ()
    unseen: Unseen | None = None
    """Of what could not be decided: what was missing for it."""


def undecided(missing: Missing, steps: Steps, what: str) -> Flaw:
    """What refers to an object that was not seen and may exist. ``what`` is unknown, such as "whether the key
    belongs to the certificate"."""
    return Flaw(
        message=f"not decided: {what}; {missing.name} {missing.why}",
        at=steps,
        verdict="inconclusive",
        unseen=Unseen(name=missing.name, gap=missing.gap or "", question=what, promised=missing.promised),
    )


@dataclass(frozen=True, slots=True)
class Subject(Once):
    """The object that a rule looks at, and everything else that is known. ``once`` is for what several rules ask."""

    object: KubeObject
    declared: Declared

    @property
    def before(self) -> KubeObject | None:
        """What the cluster has under its name, where a manifest is to take its place."""
        return self.declared.before.get(identity(self.object))

    def find(self, kind: Kind, name: str, namespace: str | None = None) -> KubeObject | Missing:
        """Another object; ``namespace`` None is the subject's own."""
        return self.declared.find(kind, name, namespace if namespace is not None else self.object.namespace)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectRule(AnyRule):
    """One requirement on what objects declare. The tests run the examples on its page."""

    subjects: tuple[Kind, ...]
    """The kinds that it looks at."""
    check: Callable[[Subject], Iterable[Flaw]]
    reads: tuple[Kind, ...] = field(default=())
    """Other kinds that it looks up."""
