"""The PKI object, and files that say the same, to what they configure. Pure.

An object of a cluster is there, whatever is wrong with it: it is read leniently, and its problems are kept. A file that
somebody gives is refused with all of its problems, each with file, line and column.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from scanner.files.problems import Problems
from scanner.files.source_positions import Document, Located, Steps, shown
from scanner.kube.api_server import State, feature_gates
from scanner.kube.kinds import CLUSTER_VERSION, FEATURE_GATE, PKI, PKI_CERTIFICATE_DEFINITION, Kind
from scanner.kube.objects import KubeObject
from scanner.kube.openshift import ClusterVersion
from scanner.kube.snapshot import Snapshot
from scanner.model.pki_config import Complaint, PkiConfig, Reason
from scanner.pki.definitions import registered
from scanner.pki.reading import RECOMMENDED, RECOMMENDED_SAID, of_spec
from scanner.pki.shapes import NAME_RULE, SERVICE_SERVING, WELL_KNOWN
from scanner.pki.since import changed

READS: tuple[Kind, ...] = (PKI, PKI_CERTIFICATE_DEFINITION, FEATURE_GATE, CLUSTER_VERSION)
NAME: Final = "cluster"
GATE: Final = ("ConfigurablePKI",)
SINCE: Final = (4, 22)
"""The first release that knows it (openshift/api ``features/features.go``, 2026-03)."""
ALWAYS: Final = datetime.min.replace(tzinfo=UTC)
"""The beginning of a configuration that held before anything was made."""
_RELEASE: Final = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})\.")


def pki_config(snapshot: Snapshot, previous: Snapshot | None = None) -> PkiConfig:
    """What PKI/cluster of a cluster configures, or why nothing does. ``previous`` is an earlier snapshot of the same
    cluster, for which a missing object is a deleted one."""
    if PKI in snapshot.absent:
        return _without("crd-absent", "the cluster's API has no kind PKI")
    if gap := snapshot.gap(PKI):
        return _without("unreadable", gap)
    found = snapshot.get(PKI, NAME)
    state = gate(snapshot)
    if found is None:
        return _missing(snapshot, previous, state)
    names = registered(snapshot)
    config = of_spec(
        found.raw,
        ("spec",),
        source=str(found.reference),
        registered=names.categories,
    )
    remarks = (*config.remarks, *map(str, names.flaws))
    config = replace(_dated(config, found), remarks=remarks)
    return _under(config, state, [*_strays(snapshot), *_going(found)])


def pki_config_of_file(document: Located) -> PkiConfig:
    """What a file with a PKI object configures (also one of ``oc get pki -o yaml``, a list), or with MicroShift's
    ``pki``. Raises ``InputError`` with everything that the API would not take."""
    problems = Problems(document)
    top = _top(problems)
    of_microshift = document.get((*top, "kind")) != "PKI"
    steps: Steps = (*top, "pki" if of_microshift else "spec")
    config = of_spec(document.get(top), steps[len(top) :], source=document.file)
    if not of_microshift:
        _named(problems, top)
    for each in config.problems:
        problems.add((*top, *each.steps), each.message, hint(each, document.get((*top, *each.steps))))
    problems.raise_any()
    holder = document.get(top)
    if not isinstance(holder, dict):
        return config
    return held_always(_dated(config, KubeObject(holder, PKI)))


def _dated(config: PkiConfig, found: KubeObject) -> PkiConfig:
    """``config`` with the time of the object's last change."""
    change = changed(found)
    return replace(config, since=change.since, since_vague=change.vague, until=change.until)


def held_always(config: PkiConfig) -> PkiConfig:
    """A file's configuration as in force from the beginning, where the file has no date: whoever judges by a file wants
    to know which certificates are not as it says."""
    if config.since is not None:
        return config
    said = f"{config.source} has no date, so it counts as in force from the beginning"
    return replace(config, since=ALWAYS, since_said=said)


def gate(snapshot: Snapshot) -> State:
    """Of the feature gate, in the release that runs: one that is older than the gate has it off, whatever a newer one
    has left behind (the enhancement, "Upgrade / Downgrade Strategy")."""
    version = snapshot.get(CLUSTER_VERSION, "version")
    release = ClusterVersion.of(version).desired if version else ""
    state = feature_gates(snapshot, release).state(GATE)
    return "off" if state == "unknown" and _older(release) else state


def _older(release: str) -> bool:
    """Than the first release that knows the gate."""
    found = _RELEASE.match(release)
    return found is not None and (int(found[1]), int(found[2])) < SINCE


# --- What a cluster has instead ---------------------------------------------------------------------------------------


def _without(reason: Reason, said: str) -> PkiConfig:
    return PkiConfig(source=f"PKI/{NAME}", reason=reason, platform_said=said)


def _missing(snapshot: Snapshot, previous: Snapshot | None, state: State) -> PkiConfig:
    """No object. With the gate on, operators on library-go take their own profile (certrotation, service-ca)."""
    before = previous is not None and previous.objects.get(PKI, ()) and previous.get(PKI, NAME) is not None
    reason: Reason = "deleted" if before else "absent"
    what = f"PKI/{NAME} was deleted" if before else f"there is no PKI/{NAME}"
    remarks = tuple(_strays(snapshot))
    if state == "on":
        said = f"{what}, and {GATE[0]} is on: {RECOMMENDED_SAID}"
        return replace(_without(reason, said), platform=RECOMMENDED, remarks=remarks)
    return replace(_without(reason, what), remarks=remarks)


def _under(config: PkiConfig, state: State, remarks: Iterable[str]) -> PkiConfig:
    """With the gate off, operators ignore the object; what it says is kept for the reader."""
    config = replace(config, remarks=(*config.remarks, *remarks))
    if state == "off":
        said = f"the feature gate {GATE[0]} is off, or unknown to this release: no component reads {config.source}"
        return replace(config, reason="gate-off", platform={}, platform_said=said)
    if state == "unknown" and config.reason is None:
        note = f"whether the feature gate {GATE[0]} is on is not known; the object is taken to be in force"
        return replace(config, remarks=(*config.remarks, note))
    return config


def _strays(snapshot: Snapshot) -> Iterator[str]:
    """Objects of other names."""
    others = [each.name for each in snapshot.every(PKI) if each.name != NAME]
    if others:
        listed = ", ".join(shown(name) for name in others[:5])
        yield f"a PKI object has no effect unless it is called {NAME}: {listed}"


def _going(found: KubeObject) -> Iterator[str]:
    if found.is_deleted:
        yield f"{found.reference} is being deleted, and in force until it is gone"


# --- Files ------------------------------------------------------------------------------------------------------------


def _top(problems: Problems) -> Steps:
    """Where the object is in the file. Raises ``InputError`` where there is none, or more than one."""
    document = problems.document
    items = document.get(("items",))
    tops: list[Steps] = [("items", index) for index in range(len(items))] if isinstance(items, list) else [()]
    found = [top for top in tops if document.get((*top, "kind")) in ("PKI", "MicroShiftConfig")]
    if _is_microshifts(document):
        found = [()]
    if not found:
        problems.add((), "no PKI object in this file", "it has 'kind: PKI' and a spec; an install-config is another")
    for extra in found[1:]:
        problems.add(extra, "one PKI object too many", "keep one of them in the file")
    problems.raise_any()
    return found[0]


def _is_microshifts(document: Document) -> bool:
    """Whether it is /etc/microshift/config.yaml as it stands there, which is of no kind; an install-config has ``pki``
    too, and says its version."""
    value = document.get(())
    return isinstance(value, dict) and "pki" in value and not {"kind", "apiVersion", "baseDomain"} & value.keys()


def _named(problems: Problems, top: Steps) -> None:
    steps = (*top, "metadata", "name")
    name = problems.document.get(steps)
    if name != NAME:
        problems.add(steps, f"the name must be {NAME}, not {shown(name)}", "an object of another name has no effect")


def hint(wrong: Complaint, value: object) -> str:
    """What an author is best told beside the API's words about ``value``; "" where these say all."""
    name = value.get("certificateName") if isinstance(value, dict) else None
    if wrong.message != NAME_RULE or not isinstance(name, str):
        return ""
    if "/" in name or name == SERVICE_SERVING:
        return "a Service's certificate has no name of its own here: defaults or ServingCertificate govern it"
    return f"{shown(name)} is none of the {len(WELL_KNOWN)}"
