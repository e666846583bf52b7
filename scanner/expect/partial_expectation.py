"""The expectation of one endpoint while resolvers complete it, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Literal, TypeAlias

from msgspec import Struct

from scanner.kube.maybe import Known, Unknown
from scanner.kube.tls_profile import Declared, Profile
from scanner.model.components import Listener
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Because, Binding, Lever, PassedOn, Standing, StatedGroups
from scanner.model.observation import ClientCertificate
from scanner.values import replace

NO_PROFILE = Unknown("no object sets a profile for it (--profile, or 'profile:' in the policy file)")
_NO_RELEASE = Unknown("the release is unknown")

Reading: TypeAlias = Callable[[Known[str]], Declared]
"""Function from a release to an object's declaration with the meaning of that release."""


class Partial(Struct, frozen=True, kw_only=True):
    """The expectation of one endpoint, so far."""

    endpoint: Endpoint
    entry: Listener | None = None
    """Entry of the component catalogue."""
    standing: Standing = "user"
    profile: Known[Profile] = NO_PROFILE
    decided_by: str = ""
    """The object and field that ``profile`` comes from."""
    spelt: frozenset[int] = frozenset()
    """Suites of the profile that are listed by IANA's name only."""
    implementation: str = "other"
    """Key of ``implementations.IMPLEMENTATIONS``."""
    binding: Binding = "must-follow"
    client_certificate: ClientCertificate | None = None
    client_source: str = ""
    """The source of ``client_certificate``, if a resolver knows it."""
    tls13_suites_configurable: bool = False
    groups_configurable: bool = False
    stated_groups: StatedGroups | None = None
    without_groups: str = ""
    alternatives: tuple[Profile, ...] = ()
    skewed: tuple[Profile, ...] = ()
    settles_by: datetime | None = None
    changed: datetime | None = None
    """Time of the last change of ``profile``, if its object shows it."""
    overridden: Literal["metrics", "webhook", "api"] | None = None
    adherence: str | None = None
    because: tuple[Because, ...] = ()
    lever: Lever | None = None
    remarks: tuple[str, ...] = ()
    release: Known[str] = _NO_RELEASE
    """Release of the component."""
    other_release: str | None = None
    """During an upgrade, the component's other possible release."""
    passed_on: PassedOn | None = None
    seen: frozenset[str] = frozenset()
    """Ids of the passthrough endpoints in front of this one."""

    def requires(
        self,
        profile: Known[Profile],
        source: str,
        field: str,
        text: str,
        *,
        spelt: Iterable[int] = (),
        overridden: str | None = None,
    ) -> Partial:
        """Set the profile, from ``field`` of ``source``. It overrides the previous one, or ``overridden``."""
        step = Because(
            source=source,
            field=field,
            said=text,
            beat=overridden or self._beaten(f"{source} {field}".rstrip()),
            decides=True,
        )
        earlier = tuple(replace(each, decides=False) for each in self.because)
        return replace(
            self,
            profile=profile,
            decided_by=f"{source} {field}".rstrip(),
            spelt=frozenset(spelt),
            because=(*earlier, step),
            alternatives=(),
            skewed=(),
            changed=None,
        )

    def declares(
        self,
        source: str,
        field: str,
        reading: Reading,
        *,
        overridden: str | None = None,
        changed: datetime | None = None,
    ) -> Partial:
        """Set the profile that an object declares, in the component's release, and in the other one of an upgrade."""
        found = reading(self.release)
        profile = found.profile or NO_PROFILE
        partial = self.requires(profile, source, field, found.said, spelt=found.spelt, overridden=overridden).remark(
            *found.remarks
        )
        partial = replace(partial, changed=changed)
        if self.other_release is None:
            return partial
        other = reading(self.other_release).profile
        if other is None or isinstance(other, Unknown) or isinstance(profile, Unknown) or same_profile(profile, other):
            return partial
        return replace(partial, skewed=(other,))

    def step(self, source: str, field: str, text: str, *, overridden: str | None = None) -> Partial:
        """Add a reason without changing the profile."""
        return replace(self, because=(*self.because, Because(source=source, field=field, said=text, beat=overridden)))

    def remark(self, *texts: str) -> Partial:
        """Add remarks, which decide nothing; each is kept once."""
        return replace(self, remarks=tuple(dict.fromkeys((*self.remarks, *texts))))

    def _beaten(self, by: str) -> str | None:
        """The profile that ``by`` overrides; an object does not override itself."""
        if self.decided_by in ("", by):
            return None
        return f"{self.decided_by}: {'unknown' if isinstance(self.profile, Unknown) else self.profile.name}"


def same_profile(one: Profile, other: Profile) -> bool:
    """True if both profiles allow the same."""
    return (one.min_version, set(one.suites), one.groups) == (other.min_version, set(other.suites), other.groups)
