"""An authority: the object that says what the components of one control plane owe, and how strictly."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from scanner.expect.draft import Draft
from scanner.expect.release import Releases, meaning
from scanner.kube.api_server import Adherence, State
from scanner.kube.maybe import Known, Unknown
from scanner.kube.meta import changed
from scanner.kube.objects import Fields, KubeObject
from scanner.kube.tls_profile import LIBRARY_GO, Declared, Reader, declared, has_mapping

_NOTHING = Fields({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """Where a cluster's profile comes from."""

    source: str
    """``APIServer/cluster``."""
    field: str
    """``spec.tlsSecurityProfile``."""
    holder: Fields = _NOTHING
    """The object, as far as it is one."""
    steps: tuple[str, ...] = ()
    reader: Reader = LIBRARY_GO
    fixed: Declared | None = None
    """What it says whatever the release is: a profile that the user gave, or why nothing can be told."""
    releases: Releases
    adherence: Adherence | None = None
    """None where nothing of the kind exists: then every component owes the profile."""
    implementation: str = "go"
    groups_gate: State = "unknown"
    beat: str | None = None
    """What the user's wish stands in for."""
    first_seen: datetime | None = None
    """When it was first seen to say what it says, where it said something else before."""
    held_by: tuple[str, str] | None = None
    """The object and field that have a say, where ``source`` is the user's wish instead."""
    platform: bool = True
    """Whether it is a platform's own object, and not a wish of the user for what no object governs."""
    remarks: tuple[str, ...] = ()

    @property
    def place(self) -> tuple[str, str]:
        """The object and field that a profile for this control plane is set in."""
        return self.held_by or (self.source, self.field)

    @property
    def is_set(self) -> bool:
        """Whether somebody chose a profile: some readers look at nothing else."""
        return self.fixed is not None or has_mapping(self.holder, self.steps)

    def changed(self) -> datetime | None:
        """When the profile or the adherence was last changed, as far as that is known."""
        if self.fixed is not None:
            return None
        paths = (self.steps, (*self.steps[:-1], "tlsAdherence"))
        at = changed(self.holder, *paths) if isinstance(self.holder, KubeObject) else None
        return at or self.first_seen

    def onto(self, draft: Draft, reader: Reader | None = None) -> Draft:
        """``draft`` with what this authority declares, as ``reader`` understands it."""
        return draft.declares(
            self.source,
            self.field,
            lambda release: self.declared(release, reader),
            beat=self.beat,
            changed=self.changed(),
        )

    def declared(self, release: Known[str] | None = None, reader: Reader | None = None) -> Declared:
        """What it says, as ``reader`` understands it in ``release``."""
        if self.fixed is not None:
            return self.fixed
        asked = self.releases.desired if release is None else release
        found = declared(self.holder, self.steps, reader or self.reader, self.source, meaning(asked))
        return _without_groups(found) if self.groups_gate == "off" else found


def _without_groups(found: Declared) -> Declared:
    """The gate prunes ``custom.groups``. What a named profile says of groups stays: it is the release's meaning."""
    profile = found.profile
    note = "the feature gate TLSGroupPreferences is off: no component gets a list of groups"
    if profile is None or isinstance(profile, Unknown) or profile.groups is None:
        return found
    kept = replace(profile, groups=None) if found.custom else profile
    return replace(found, profile=kept, remarks=(*found.remarks, note))
