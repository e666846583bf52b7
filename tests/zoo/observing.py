"""One server of the zoo, observed and judged as ``adhere scan`` would."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Protocol

from scanner.judge import Judgement, judge
from scanner.kube.tls_profile import Profile
from scanner.model.endpoint import Endpoint, Owner
from scanner.model.expectation import Expectation
from scanner.model.observation import Observation
from scanner.model.rule import Case
from scanner.model.scan_policy import Policy
from scanner.probe.limits import Gate, Limits
from scanner.probe.observe import observe
from scanner.probe.session import Mode, Question
from tests.zoo.truth import TLS10, TLS12, TLS13

PATIENT = Limits(timeout=20, deadline=240)
"""Generous limits for a busy machine: a deadline would prove nothing about the probe."""


class Listening(Protocol):
    """Something at an address."""

    @property
    def address(self) -> str: ...
    @property
    def port(self) -> int: ...


_MODERN = (0x1301, 0x1302, 0x1303)
_INTERMEDIATE = (*_MODERN, 0xC02B, 0xC02F, 0xC02C, 0xC030, 0xCCA9, 0xCCA8)
_OLD = (*_INTERMEDIATE, 0xC023, 0xC027, 0xC009, 0xC013, 0xC024, 0xC028, 0xC00A, 0xC014)
_OLD_STATIC = (0x009C, 0x009D, 0x003C, 0x003D, 0x002F, 0x0035, 0x000A)


def _profile(name: str, minimum: int, suites: tuple[int, ...]) -> Profile:
    return Profile(name=name, min_version=minimum, suites=suites, groups=None, source="OpenShift 4.23, by code point")


PROFILES: Mapping[str, Profile] = {
    "old": _profile("old", TLS10, _OLD + _OLD_STATIC),
    "intermediate": _profile("intermediate", TLS12, _INTERMEDIATE),
    "modern": _profile("modern", TLS13, _MODERN),
}
"""Written here once more, by code point: the conformance tests do not depend on how profiles are read."""


def endpoint(listening: Listening, server_name: str | None = None) -> Endpoint:
    """The endpoint of one target."""
    name = f"{listening.address}:{listening.port}"
    return Endpoint(
        id=name,
        instance=name,
        address=listening.address,
        port=listening.port,
        server_name=server_name,
        owner=Owner(kind="Target", name=name),
    )


async def ask(target: Endpoint, mode: Mode, profile: Profile = PROFILES["intermediate"]) -> Observation:
    """Observe ``target``."""
    question = Question(mode=mode, allowed=frozenset(profile.suites), min_version=profile.min_version)
    return await observe(target, question, Gate(PATIENT), datetime.now(UTC))


def judged(target: Endpoint, observation: Observation, profile: Profile) -> Judgement:
    """Findings of all rules under ``profile``, for a listener whose TLS 1.3 suites do not matter."""
    return judge(
        Case(
            endpoint=target,
            expectation=Expectation(profile=profile),
            observation=observation,
            policy=Policy(),
            now=observation.at,
        )
    )
