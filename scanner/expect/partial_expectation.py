"""A partial expectation: each resolver takes one and returns one that knows more."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, TypeAlias

from scanner.kube.maybe import Known, Unknown
from scanner.kube.tls_profile import Declared, Profile
from scanner.model.components import Listener
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Because, Binding, Lever, PassedOn, Standing
from scanner.model.observation import ClientCertificate

NOTHING_SAID = Unknown("no object sets a profile for it (--profile, or 'profile:' in the policy file)")
_NO_RELEASE = Unknown("the release is not known")

Reading: TypeAlias = Callable[[Known[str]], Declared]
"""What an object declares, by the release whose meaning counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """The expectation of one endpoint, so far."""

    endpoint: Endpoint
    entry: Listener | None = None
    """Of the component catalogue."""
    standing: Standing = "user"
    profile: Known[Profile] = NOTHING_SAID
    whose: str = ""
    """The object and field that ``profile`` comes from."""
    spelt: frozenset[int] = frozenset()
    """Suites of the profile that are listed by IANA's name only."""
    implementation: str = "other"
    """Of ``implementations.IMPLEMENTATIONS``."""
    binding: Binding = "must-follow"
    client_certificate: ClientCertificate | None = None
    client_source: str = ""
    """What says so, where a resolver knows it."""
    tls13_suites_configurable: bool = False
    groups_configurable: bool = False
    alternatives: tuple[Profile, ...] = ()
    skewed: tuple[Profile, ...] = ()
    settles_by: datetime | None = None
    changed: datetime | None = None
    """When ``profile`` was last changed, as far as its object says it."""
    overridden: Literal["metrics", "webhook", "api"] | None = None
    adherence: str | None = None
    because: tuple[Because, ...] = ()
    lever: Lever | None = None
    remarks: tuple[str, ...] = ()
    release: Known[str] = _NO_RELEASE
    """Of the component, as far as it is known."""
    other_release: str | None = None
    """While the cluster is upgraded: the other one that the component may still, or already, be of."""
    passed_on: PassedOn | None = None
    seen: frozenset[str] = frozenset()
    """Ids of the endpoints that were passed through on the way here."""

    def requires(
        self,
        profile: Known[Profile],
        source: str,
        field: str,
        said: str,
        *,
        spelt: Iterable[int] = (),
        beat: str | None = None,
    ) -> Draft:
        """Another profile, from ``field`` of ``source``; it beats the one before, or what ``beat`` says."""
        step = Because(
            source=source, field=field, said=said, beat=beat or self._beaten(f"{source} {field}".rstrip()), decides=True
        )
        earlier = tuple(replace(each, decides=False) for each in self.because)
        return replace(
            self,
            profile=profile,
            whose=f"{source} {field}".rstrip(),
            spelt=frozenset(spelt),
            because=(*earlier, step),
            alternatives=(),
            skewed=(),
            changed=None,
        )

    def declares(
        self, source: str, field: str, reading: Reading, *, beat: str | None = None, changed: datetime | None = None
    ) -> Draft:
        """What an object declares, in the release of this component, and in the other one that is in play."""
        found = reading(self.release)
        profile = found.profile or NOTHING_SAID
        draft = self.requires(profile, source, field, found.said, spelt=found.spelt, beat=beat).remark(*found.remarks)
        draft = replace(draft, changed=changed)
        if self.other_release is None:
            return draft
        other = reading(self.other_release).profile
        if other is None or isinstance(other, Unknown) or isinstance(profile, Unknown) or same_profile(profile, other):
            return draft
        return replace(draft, skewed=(other,))

    def says(self, source: str, field: str, said: str, *, beat: str | None = None) -> Draft:
        """One more reason, which leaves the profile as it is."""
        return replace(self, because=(*self.because, Because(source=source, field=field, said=said, beat=beat)))

    def remark(self, *texts: str) -> Draft:
        """Things to know that decide nothing; each is kept once."""
        return replace(self, remarks=tuple(dict.fromkeys((*self.remarks, *texts))))

    def _beaten(self, by: str) -> str | None:
        """What ``by`` beats; nothing beats itself, read again in another way."""
        if self.whose in ("", by):
            return None
        return f"{self.whose}: {'unknown' if isinstance(self.profile, Unknown) else self.profile.name}"


def same_profile(one: Profile, other: Profile) -> bool:
    """Whether both allow the same."""
    return (one.min_version, set(one.suites), one.groups) == (other.min_version, set(other.suites), other.groups)
