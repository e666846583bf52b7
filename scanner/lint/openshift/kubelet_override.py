"""What takes the place of a profile in a KubeletConfig: its operator merges ``kubeletConfig`` over it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.kube.kinds import API_SERVER
from scanner.kube.maybe import Known, Unknown
from scanner.kube.objects import Fields
from scanner.kube.profile import Profile
from scanner.kube.profile_catalogue import load_profile
from scanner.kube.tls_profile import KUBELET_CONFIG, LIBRARY_GO, VERSIONS, Declared, declared
from scanner.model.declared import Missing
from scanner.model.finding import Severity
from scanner.model.object_rule import Flaw, Subject, undecided
from scanner.tls.names import version_code

_PROFILE: Final = ("spec", "tlsSecurityProfile")
_RAW: Final = ("spec", "kubeletConfig")
_MINIMUM: Final = (*_RAW, "tlsMinVersion")
_NAMES: Final = {version_code(name): name for name in VERSIONS}


def overrides(subject: Subject, raw: Fields) -> Iterator[Flaw]:
    """What of ``raw`` takes the place of the object's own profile, or else the cluster's."""
    config, said = subject.object, raw.text("tlsMinVersion")
    own = declared(config, _PROFILE, KUBELET_CONFIG, str(config.reference), _meaning)
    if own.profile is not None:
        yield from _minimum(own, said, "tlsSecurityProfile")
        if raw.at("tlsCipherSuites"):
            message = f"tlsCipherSuites takes the place of what tlsSecurityProfile says ({own.said})"
            yield Flaw(message=message, at=(*_RAW, "tlsCipherSuites"), severity="medium", fix="remove tlsCipherSuites")
    elif said in VERSIONS:
        yield from _inherited(subject, said)


def _meaning(name: str) -> Known[Profile]:
    return load_profile(name, release="4.23")  # of every release the versions are the same


def _inherited(subject: Subject, said: str) -> Iterator[Flaw]:
    server = subject.declared.find(API_SERVER, "cluster")
    if not isinstance(server, Missing):
        called = str(server.reference)
        yield from _minimum(declared(server, _PROFILE, LIBRARY_GO, called, _meaning), said, called)
    elif server.gap:
        flaw = undecided(server, _MINIMUM, f"whether {said} is what the cluster's profile says")
        yield Flaw(message=flaw.message, at=flaw.at, verdict=flaw.verdict, severity="info")


def _minimum(found: Declared, said: str, source: str) -> Iterator[Flaw]:
    if said not in VERSIONS or found.profile is None:
        return
    if isinstance(found.profile, Unknown):
        message = f"cannot be decided here: whether {said} is what {source} says; {found.profile.reason}"
        yield Flaw(message=message, at=_MINIMUM, verdict="inconclusive", severity="info")
        return
    least = found.profile.min_version
    severity: Severity = "low" if version_code(said) > least else "medium"
    if version_code(said) != least:
        yield Flaw(
            message=f"{said} takes the place of what {source} says ({found.said}), {_NAMES[least]}",
            at=_MINIMUM,
            severity=severity,
            expected=(_NAMES[least],),
            observed=(said,),
            fix="remove tlsMinVersion",
        )
