"""MicroShift: ``/etc/microshift/config.yaml`` says what its components owe (microshift ``pkg/config/apiserver.go``).

No object of the cluster holds that file. A snapshot that has it (``local_files.MICROSHIFT_CONFIG``) is judged by it.
"""

from __future__ import annotations

from dataclasses import replace

from scanner.expect.api_server import Wishes, with_wishes
from scanner.expect.authority import Authority
from scanner.expect.release import Releases, asked_for, meaning
from scanner.files.source_positions import shown
from scanner.kube.maybe import Unknown
from scanner.kube.objects import KubeObject
from scanner.kube.openshift import MicroShiftConfig, ServerTLS, microshift_release
from scanner.kube.snapshot import Snapshot
from scanner.kube.tls_profile import Declared
from scanner.model.unlisted_kinds import MICROSHIFT_CONFIG
from scanner.tls.codepoints import TLS12
from scanner.tls.names import TLS13_SUITES, is_tls13, suite_name, suite_named

FILE = "/etc/microshift/config.yaml"
_FIELD = "apiServer.tls"
_HTTP2 = (0xC02F, 0xC02B)
"""Where neither is listed, the first is added: HTTP/2 needs one."""


def config(snapshot: Snapshot) -> KubeObject | None:
    """The file, where the snapshot has it."""
    return next(iter(snapshot.objects.get(MICROSHIFT_CONFIG, ())), None)


def is_here(snapshot: Snapshot) -> bool:
    """Whether this is MicroShift at all."""
    return config(snapshot) is not None or bool(microshift_release(snapshot))


def authority(snapshot: Snapshot, wishes: Wishes) -> Authority | None:
    """The file as an authority, or why nothing is known without it; None where this is no MicroShift."""
    file, version = config(snapshot), microshift_release(snapshot)
    if file is None and not version:
        return None
    desired = wishes.release or version
    unknown = Unknown("MicroShift's release is not known: no ConfigMap kube-public/microshift-version")
    releases = asked_for(wishes.release) if wishes.release else Releases(desired=desired or unknown)
    found = Authority(
        source=FILE,
        field=_FIELD,
        fixed=_missing() if file is None else _declared(MicroShiftConfig.of(file).tls, releases),
        releases=releases,
    )
    return with_wishes(found, wishes)


def _missing() -> Declared:
    reason = f"{FILE} is not in the snapshot, and nothing else sets a profile for MicroShift's components"
    return Declared(said="not in the snapshot", profile=Unknown(reason))


def _declared(tls: ServerTLS, releases: Releases) -> Declared:
    """What the file says. A minimum of TLS 1.3 means Modern's list, whatever is listed."""
    minimum, listed = tls.min_version, tls.cipher_suites
    if minimum not in (None, "", "VersionTLS12", "VersionTLS13"):
        reason = f"minVersion is {shown(minimum)}, and MicroShift does not start with that"
        return Declared(said=shown(minimum), profile=Unknown(reason))
    shipped = meaning(releases.desired)("modern" if minimum == "VersionTLS13" else "intermediate")
    if isinstance(shipped, Unknown):
        return Declared(said=f"minVersion {minimum or 'not set'}", profile=shipped)
    if minimum == "VersionTLS13":
        return Declared(said="VersionTLS13, which means Modern's cipher suites", profile=shipped)
    if not listed:
        return Declared(said="VersionTLS12 (the default) with Intermediate's cipher suites", profile=shipped)
    codes = tuple(code for name in listed[:500] if (code := suite_named(name)) is not None and code in shipped.suites)
    stray = [name for name in listed[:500] if suite_named(name) not in shipped.suites]
    added = () if set(_HTTP2) & set(codes) else _HTTP2[:1]
    suites = (*TLS13_SUITES, *(code for code in codes if not is_tls13(code)), *added)
    profile = replace(
        shipped, name=f"custom ({FILE})", min_version=TLS12, suites=suites, groups=None, source=f"{FILE} {_FIELD}"
    )
    notes = [f"{suite_name(code)} is added, because HTTP/2 needs it" for code in added]
    notes += [f"MicroShift does not start with the cipher suite {shown(name)}" for name in stray[:5]]
    return Declared(said="VersionTLS12 with a list of cipher suites", profile=profile, remarks=tuple(notes))
