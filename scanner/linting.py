"""Lint: manifests and a cluster's objects -> rules -> report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import chain

from scanner import __version__
from scanner.cluster.manifest_documents import Bad, Manifests, Skipped
from scanner.cluster.retention import SHAPES
from scanner.custom_rules import object_rules
from scanner.files.source_positions import Steps, dotted
from scanner.judge import WAIVABLE as SCAN_WAIVABLE
from scanner.judge.waivers import UNUSED, WAIVER_RULES, WaiverLedger, names_one
from scanner.kube import references
from scanner.kube.contour import configured
from scanner.kube.kinds import INSTALL_CONFIG, PKI, PKI_CERTIFICATE_DEFINITION, ROUTE, Kind
from scanner.kube.objects import KubeObject
from scanner.kube.rbac import Review, reviews
from scanner.kube.snapshot import Origin, Snapshot, Unreadable, union
from scanner.lint import READS, RULES, Linted, Placed, lint
from scanner.lint.ignores import WAIVABLE, Ignores
from scanner.lint.manifest_rules import DUPLICATE, KIND_UNKNOWN, UNREADABLE, lint_duplicates, split_duplicates
from scanner.lint.openshift.route_access import CUSTOM_HOST, custom_host_reviews, route_reviews
from scanner.model.declared import DEFAULT, Declared, Identity, LintSubject, Place, identity
from scanner.model.finding import Finding
from scanner.model.lint_report import (
    NOT_GIVEN,
    LintFindingRow,
    LintReport,
    LintScannerRow,
    ObjectRow,
    PlaceRow,
    SkippedRow,
    UnseenRow,
    WaivedRow,
)
from scanner.model.pki_config import PkiConfig
from scanner.model.report import OwnerRow, UnreadableRow
from scanner.model.rule import AnyRule, ScanRule
from scanner.model.scan_policy import CustomRule, ScanPolicy
from scanner.model.well_known import Names
from scanner.pki.config import of_spec
from scanner.pki.definitions import registered
from scanner.pki.install_config import INSTALLATION, before_installation
from scanner.pki.object_rules import DEFINITIONS, OBJECT, Configuration, placed
from scanner.report.rows import finding_row, rule_row, timestamp
from scanner.values import replace

__all__ = ["LINT_READS", "declared", "lint_report", "referred", "reviewed"]

LINT_READS: tuple[Kind, ...] = union((READS, (PKI, PKI_CERTIFICATE_DEFINITION)))
"""All kinds that lint reads."""


def declared(
    manifests: Manifests | None, cluster: Snapshot | None, user: str | None = None, groups: tuple[str, ...] = ()
) -> Declared:
    """Return the objects to judge: the manifests, with the cluster for lookups; without manifests, the cluster's own
    objects. ``user``, in ``groups``: who will apply them."""
    subjects, twice = split_duplicates(manifests.objects if manifests else ())
    sealed = manifests.sealed if manifests else {}
    objects: dict[Kind, list[KubeObject]] = {kind: [] for kind in LINT_READS}
    for each in subjects:
        objects.setdefault(each.object.kind, []).append(each.object)
    before: dict[Identity, KubeObject] = {}
    if cluster is not None:
        # Under one name, what is about to be applied counts.
        names = {identity(each.object) for each in subjects} | twice.keys() | sealed.keys()
        for kind in LINT_READS:
            every = cluster.objects.get(kind, ())
            for old in every:
                key = identity(old)
                if key in names:
                    before[key] = old
                else:
                    objects[kind].append(old)
    known = Snapshot(
        taken_at=cluster.taken_at if cluster else datetime.now(UTC),
        origin=cluster.origin if cluster else Origin(name="manifests", replayed=True),
        objects={kind: tuple(found) for kind, found in objects.items()},
        absent=cluster.absent if cluster else frozenset(),
        unreadable=cluster.unreadable if cluster else {kind: _not_in_manifests(kind) for kind in LINT_READS},
        requested=cluster.requested if cluster else {},
    )
    if manifests is None:
        subjects = tuple(LintSubject(object=each) for kind in LINT_READS for each in known.every(kind))
    answers = reviews(cluster) if cluster else {}
    return Declared(
        subjects=subjects,
        known=known,
        twice=twice,
        sealed=sealed,
        before=before,
        default_namespace=manifests.namespace if manifests else DEFAULT,
        reviews=answers,
        user=user,
        groups=groups,
    )


def referred(manifests: Manifests | None, kind: Kind, cluster: Snapshot) -> Iterator[tuple[str, str]]:
    """Yield the Secrets or ConfigMaps that the objects refer to, by namespace and name."""
    objects = (each.object for each in manifests.objects) if manifests else ()
    every = chain(objects, chain.from_iterable(cluster.objects.values()))
    return references.referenced_names(map(configured, every), kind)


def reviewed(
    manifests: Manifests | None, cluster: Snapshot, *, user: str | None = None, groups: tuple[str, ...] = ()
) -> Iterator[Review]:
    """Yield the access reviews: whether the router may read the Secrets of Routes, and whether ``user`` may apply
    them."""
    routes = [each.object for each in manifests.objects if each.object.kind == ROUTE] if manifests else None
    for route in cluster.objects.get(ROUTE, ()) if routes is None else routes:
        yield from route_reviews(route)
        yield from custom_host_reviews(route, user, groups) if user else ()


def _not_in_manifests(kind: Kind) -> Unreadable:
    return Unreadable(kind=kind, gap="not-saved", reason=NOT_GIVEN)


def lint_report(
    declared: Declared,
    manifests: Manifests | None,
    *,
    started: datetime,
    sources: tuple[str, ...],
    arguments: Iterable[str],
    policy: ScanPolicy = ScanPolicy(),
    honoured: bool = True,
) -> LintReport:
    """Judge all objects, and return the report. ``honoured``: whether comments and annotations may waive findings."""
    bad = [_unread(UNREADABLE, each) for each in manifests.bad] if manifests else []
    bad += [_unread(KIND_UNKNOWN, each) for each in manifests.misnamed] if manifests else []
    # Without a user the rule is not checked, and so it is not passed.
    asked = [each for each in RULES if each is not CUSTOM_HOST or declared.user is not None]
    rules: list[AnyRule | CustomRule] = [UNREADABLE, KIND_UNKNOWN, DUPLICATE, OBJECT, DEFINITIONS, INSTALLATION, *asked]
    waivers = _Waivers(policy, _ignores(declared, manifests, policy) if honoured else None, started)
    custom = object_rules(policy, READS, () if manifests else SHAPES)
    judged = _merged((*lint(declared, (*asked, *custom)), *_of_pki(declared), *lint_duplicates(declared)))
    every = [waivers.applied(each) for each in judged]
    objects = [_row(each) for each in every if each.passed or each.findings]  # else all their rules are off
    rules += [*(WAIVER_RULES if waivers.any else ()), *(each for each in policy.custom_rules if each.kinds)]
    bad += waivers.findings([each.id for each in rules if policy.level(each.id) != "off"])
    return LintReport(
        scanner=LintScannerRow(name="adhere", version=__version__, arguments=list(arguments)),
        started=timestamp(started),
        sources=sources,
        files=manifests.files if manifests else 0,
        others=(manifests.others + manifests.not_objects if manifests else 0) + len(every) - len(objects),
        rules=[rule_row(each) for each in rules if policy.level(each.id) != "off"],
        objects=objects,
        findings=bad,
        unreadable=[_gap(each) for each in declared.known.unreadable.values()] if manifests is None else [],
        skipped=[_skipped(each) for each in manifests.skipped] if manifests else [],
        waived=waivers.row(objects) if waivers.any else None,
    )


def _waivable(policy: ScanPolicy) -> tuple[str, ...]:
    return (*WAIVABLE, *(each.id for each in policy.custom_rules if each.kinds))


def _ignores(declared: Declared, manifests: Manifests | None, policy: ScanPolicy) -> Ignores:
    """Read the comments in the manifests, and the annotations of the objects."""
    found = Ignores(_waivable(policy))
    for file, comment in manifests.ignores if manifests else ():
        found.add_comment(file, comment)
    for subject in declared.subjects:
        found.add_annotation(subject)
    return found


def _place_of(source: str) -> Place:
    file, line, column = source.rsplit(":", 2)
    return Place(file, int(line), int(column))


class _Waivers:
    """The decisions on findings: waivers and levels of the policy file, and ignores of objects and manifests."""

    def __init__(self, policy: ScanPolicy, ignores: Ignores | None, started: datetime) -> None:
        self._policy = [each for each in policy.waivers if names_one(each, _waivable(policy))]
        self._levels, self._ignores = policy, ignores or Ignores(())
        waivers = (*self._policy, *(waiver for each in self._ignores.every for waiver in each.waivers))
        self._ledger = WaiverLedger(waivers, started.astimezone(UTC).date(), noun="object")
        self._ignored = 0
        self.any = bool(policy.source or self._ignores.every)

    def applied(self, linted: Linted) -> Linted:
        """Apply them, and the levels of rules, to the findings of one object."""
        if not self.any:
            return linted
        linted = self._levelled(linted) if self._levels.rules else linted
        subject, place = linted.subject, linted.subject.place()
        file = place.file if place else ""
        selected = [each for each in self._policy if each.selector.matches_object(subject.object, file)]
        found = self._ledger.waive_by(selected, (each.finding for each in linted.findings))
        done = []
        for old, finding in zip(linted.findings, found, strict=True):
            ignores = dict.fromkeys(self._ignores.of(subject, old.place))
            named = [each for each in ignores if names_one(each, (finding.rule,))]
            (last,) = self._ledger.waive_by(named, (finding,)) if named else (finding,)
            self._ignored += last.status != finding.status
            done.append(replace(old, finding=last))
        return replace(linted, findings=tuple(done))

    def _levelled(self, linted: Linted) -> Linted:
        pairs = [(old, each) for old in linted.findings for each in self._levels.adjusted((old.finding,))]
        passed = tuple(each for each in linted.passed if self._levels.level(each) != "off")
        return replace(linted, passed=passed, findings=tuple(replace(old, finding=each) for old, each in pairs))

    def findings(self, rules: Iterable[str]) -> Iterator[LintFindingRow]:
        """Yield findings on waivers that are unused, expired or not valid, after all objects."""
        places = {waiver.source: each.place for each in self._ignores.every for waiver in each.waivers}
        for each in self._ledger.findings(rules=tuple(rules), elsewhere=SCAN_WAIVABLE):
            source = each.about or ""
            if each.verdict == "fail":
                place = places[source] if source in places else _place_of(source)
                yield _finding(Placed(finding=each, place=place, field=""))
        for finding, place in self._ignores.problems(UNUSED):
            yield _finding(Placed(finding=finding, place=place, field=""))

    def row(self, objects: Iterable[ObjectRow]) -> WaivedRow:
        """Count the waived findings."""
        waived = sum(finding["status"] == "waived" for each in objects for finding in each["findings"])
        return WaivedRow(waivers=waived - self._ignored, ignores=self._ignored)


def _merged(found: Iterable[Linted]) -> Iterable[Linted]:
    """Merge the results for each object."""
    by_object: dict[int, Linted] = {}
    for each in found:
        first = by_object.get(id(each.subject))
        if first is not None:
            passed, findings = (*first.passed, *each.passed), (*first.findings, *each.findings)
            each = replace(first, passed=passed, findings=findings)  # noqa: PLW2901 - what it becomes
        by_object[id(each.subject)] = each
    return by_object.values()


def _of_pki(declared: Declared) -> Iterator[Linted]:
    """Yield the results of the rules on PKI objects and install-configs (``pki.configuration``)."""
    about = {
        PKI: (OBJECT, _pki_object),
        PKI_CERTIFICATE_DEFINITION: (DEFINITIONS, _pki_definition),
        INSTALL_CONFIG: (INSTALLATION, _install_config),
    }
    for subject in declared.subjects:
        if subject.object.kind in about:
            rule, check = about[subject.object.kind]
            found = tuple(_placed(subject, steps, each) for steps, each in check(declared, subject))
            yield Linted(subject=subject, passed=() if found else (rule.id,), findings=found)


def _pki_object(declared: Declared, subject: LintSubject) -> Iterator[tuple[Steps, Finding]]:
    known = _of_kinds(declared, (subject.object,))
    names = registered(known).categories
    config = of_spec(subject.object.raw, ("spec",), source=str(subject.object.reference), registered=names)
    return placed(OBJECT, Configuration(config=config, snapshot=known, names=_names()))


def _pki_definition(declared: Declared, subject: LintSubject) -> Iterator[tuple[Steps, Finding]]:
    known, about = _of_kinds(declared, ()), str(subject.object.reference)
    config = Configuration(config=PkiConfig(source=about), snapshot=known, names=_names())
    for each in DEFINITIONS.check(DEFINITIONS, config):
        if each.about == about:
            yield ("spec", "certificates"), each


def _names() -> Names:
    from scanner.config.certificate_names import load_names  # noqa: PLC0415 - pydantic takes 60 ms

    return load_names()


def _install_config(_: Declared, subject: LintSubject) -> Iterator[tuple[Steps, Finding]]:
    return before_installation(INSTALLATION, subject.located) if subject.located else iter(())


def _of_kinds(declared: Declared, objects: tuple[KubeObject, ...]) -> Snapshot:
    definitions = declared.every(PKI_CERTIFICATE_DEFINITION)
    return replace(declared.known, objects={PKI: objects, PKI_CERTIFICATE_DEFINITION: definitions})


def _placed(subject: LintSubject, steps: Steps, finding: Finding) -> Placed:
    about = str(subject.object.reference) + (f" {dotted(steps)}" if steps else "")
    return Placed(finding=replace(finding, about=about), place=subject.place(steps), field=dotted(steps))


def _unread(rule: ScanRule, bad: Bad) -> LintFindingRow:
    (finding,) = rule.check(rule, str(bad.place), bad.message, bad.hint)
    if not bad.is_object:
        finding = replace(finding, severity="info", status="informational")
    return _finding(Placed(finding=finding, place=bad.place, field=""))


def _skipped(each: Skipped) -> SkippedRow:
    return SkippedRow(path=each.path, reason=each.reason, remedy=each.hint)


def _gap(each: Unreadable) -> UnreadableRow:
    return UnreadableRow(
        resource=each.kind.resource, gap=each.gap, reason=each.reason, remedy="", accepted=each.gap == "not-asked"
    )


def _row(linted: Linted) -> ObjectRow:
    named = linted.subject.object.reference
    return ObjectRow(
        object=OwnerRow(kind=named.kind, namespace=named.namespace, name=named.name),
        place=_place(linted.subject.place()),
        verdict=linted.verdict,
        passed=list(linted.passed),
        findings=[_finding(each) for each in linted.findings],
    )


def _finding(placed: Placed) -> LintFindingRow:
    row = finding_row(placed.finding)
    unseen = placed.unseen
    return LintFindingRow(
        **row,
        place=_place(placed.place),
        field=placed.field,
        correction=placed.correction,
        unseen=UnseenRow(object=unseen.name, reason=unseen.gap, question=unseen.question) if unseen else None,
    )


def _place(place: Place | None) -> PlaceRow | None:
    return PlaceRow(file=place.file, line=place.line, column=place.column) if place else None
