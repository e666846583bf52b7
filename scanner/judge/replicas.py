"""Replicas of one workload that behave differently: one finding about the endpoint id that they share.

Each observation becomes a digest; equal digests are stored once, so that 20,000 replicas cost little more than their
names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import Struct, field

from scanner.judge.verdicts import listed
from scanner.kube.maybe import Unknown
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Binding, Expectation
from scanner.model.finding import Finding, Status
from scanner.model.observation import JUDGEABLE, Answers, Observation
from scanner.model.rule import ScanRule
from scanner.tls.names import group_label, suite_label, version_label, version_name

_SHOWN = 5
"""Replicas named on each side of a difference."""
_KINDS = 20
"""Most different behaviours of one workload that a finding describes."""


class Leaf(Struct, frozen=True, kw_only=True):
    """The certificate of one replica."""

    sha256: str
    names: frozenset[str] | None
    """Subject alternative names; None if they cannot be read."""


class Behaviour(Struct, frozen=True, kw_only=True):
    """Accepted and refused parameters of one listener. Equal for most replicas."""

    answers: tuple[tuple[str, frozenset[int], frozenset[int]], ...]
    """Topic (``versions``, ``TLSv1.2 suites`` ...), accepted and refused code points."""
    leaf: Leaf | None


class _Workload(Struct):
    bindings: set[Binding] = field(default_factory=set)
    replicas: dict[Behaviour, list[str]] = field(default_factory=dict)


class Replicas:
    """Digests of a scan's observations, by endpoint id and expectation: kubelets of two pools may differ if one pool
    has its own KubeletConfig."""

    def __init__(self) -> None:
        self._workloads: dict[tuple[str, ...], _Workload] = {}
        self._behaviours: dict[Behaviour, Behaviour] = {}

    def add(
        self, endpoint: Endpoint, expectation: Expectation, observation: Observation, *, profile_then: str = ""
    ) -> None:
        """Record one replica, unless it could not be tested.

        ``profile_then``: the profile that was required when it was observed, if ``expectation`` has another one.
        Replicas that were configured differently may differ.
        """
        if observation.reach not in JUDGEABLE:
            return
        seen = behaviour(observation)
        same = self._behaviours.setdefault(seen, seen)
        workload = self._workloads.setdefault((endpoint.id, _configured(expectation), profile_then), _Workload())
        workload.bindings.add(expectation.binding)
        workload.replicas.setdefault(same, []).append(endpoint.instance.removeprefix(f"{endpoint.id} @ "))

    def findings(self) -> tuple[Finding, ...]:
        """One finding for each id whose replicas differ, in the order of the ids."""
        return tuple(
            finding
            for key, workload in sorted(self._workloads.items(), key=lambda each: each[0])
            if len(workload.replicas) > 1
            for finding in REPLICAS.check(REPLICAS, key[0], _ordered(workload.replicas), workload.bindings)
        )


def _ordered(replicas: Mapping[Behaviour, list[str]]) -> dict[Behaviour, list[str]]:
    """Sort by address: replicas are finished in any order."""
    named = ((sorted(names), each) for each, names in replicas.items())
    return {each: names for names, each in sorted(named, key=lambda one: one[0])}


def _configured(expectation: Expectation) -> str:
    """The required profile and the current weaker setting: replicas that differ in either are meant to differ."""
    profile, lever = expectation.profile, expectation.lever
    current = lever.told if lever else ""
    if isinstance(profile, Unknown):
        return current
    return f"{profile.name} {profile.min_version} {sorted(profile.suites)} {current}"


def behaviour(observation: Observation) -> Behaviour:
    """The digest of an observation: accepted and refused parameters, and the leaf."""
    chain = observation.chain
    leaf = None
    if not isinstance(chain, Unknown) and chain:
        leaf = Leaf(sha256=chain[0].sha256, names=None if chain[0].sans is None else frozenset(chain[0].sans))
    return Behaviour(
        answers=(
            _answer(_VERSIONS, observation.versions),
            *_by_version(_SUITES, observation.suites),
            *_by_version(_GROUPS, observation.groups),
        ),
        leaf=leaf,
    )


_VERSIONS, _SUITES, _GROUPS = "versions", "suites", "groups"
_LABELS: Mapping[str, Callable[[int], str]] = {_VERSIONS: version_label, _SUITES: suite_label, _GROUPS: group_label}


def _answer(topic: str, answers: Answers) -> tuple[str, frozenset[int], frozenset[int]]:
    return topic, frozenset(answers.accepted), answers.refused


def _by_version(topic: str, answers: Mapping[int, Answers]) -> Iterator[tuple[str, frozenset[int], frozenset[int]]]:
    for version in sorted(answers):
        yield _answer(f"{version_name(version)} {topic}", answers[version])


def check_replicas(
    rule: ScanRule, workload: str, replicas: Mapping[Behaviour, list[str]], bindings: set[Binding]
) -> Iterator[Finding]:
    """The replicas of one workload accept and refuse the same, and serve the same certificate."""
    items = list(_differences(replicas))
    certificates = [] if items else _certificates(replicas)
    if not items and not certificates:
        return
    count = sum(map(len, replicas.values()))
    yield Finding(
        rule=rule.id,
        severity=rule.severity if items else "low",
        verdict="fail",
        status=_status(bindings),
        message=f"the {count} replicas of {workload} "
        + (
            "accept different versions, suites or groups"
            if items
            else "serve different certificates for the same names"
        ),
        expected=("all replicas behave the same",),
        observed=listed(items or certificates),
        fix="find out why these replicas differ (a stuck rollout, a file that was not reloaded), and "
        "restart the outdated ones",
        evidence=tuple(_sides(replicas)),
        about=workload,
    )


def _differences(replicas: Mapping[Behaviour, list[str]]) -> Iterator[str]:
    """Items that one replica accepts and another one refuses, with an example of each."""
    accepting: dict[tuple[str, int], list[list[str]]] = {}
    refusing: dict[tuple[str, int], list[list[str]]] = {}
    for each, names in replicas.items():
        for topic, accepted, refused in each.answers:
            for code in accepted:
                accepting.setdefault((topic, code), []).append(names)
            for code in refused:
                refusing.setdefault((topic, code), []).append(names)
    for topic, code in sorted(accepting.keys() & refusing.keys()):
        version, _, kind = topic.rpartition(" ")
        yield (
            f"{_LABELS[kind](code)}{version and f' in {version}'}: "
            f"accepted by {_some(accepting[topic, code])}, refused by {_some(refusing[topic, code])}"
        )


def _some(groups: list[list[str]]) -> str:
    count = sum(map(len, groups))
    return groups[0][0] + (f" and {count - 1} more" if count > 1 else "")


def _certificates(behaviours: Iterable[Behaviour]) -> list[str]:
    """Certificates with the same names as another one."""
    by_names: dict[frozenset[str], dict[str, None]] = {}
    for each in behaviours:
        if each.leaf and each.leaf.names:
            by_names.setdefault(each.leaf.names, {})[each.leaf.sha256] = None
    return [f"certificate {sha256}" for hashes in by_names.values() if len(hashes) > 1 for sha256 in hashes]


def _sides(replicas: Mapping[Behaviour, list[str]]) -> Iterator[str]:
    """One line for each behaviour, with its replicas."""
    for number, (each, names) in enumerate(list(replicas.items())[:_KINDS], start=1):
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        leaf = f", certificate {each.leaf.sha256[:16]}…" if each.leaf else ""
        yield f"replicas alike {number}:  {', '.join(names[:_SHOWN])}{more}{leaf}"


def _status(bindings: set[Binding]) -> Status:
    if "settling" in bindings:
        return "converging"
    return "violation" if "must-follow" in bindings else "readiness"


REPLICAS = ScanRule(id="replicas-differ", check=check_replicas)
