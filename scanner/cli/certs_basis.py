"""What ``adhere certs`` judges by: a cluster as it is or was, or files that say what one would have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from scanner.certificates import READS, Certificates
from scanner.cli.cluster_options import ClusterAsked, snapshots
from scanner.cli.policies import load_policy
from scanner.cli.previous import check, earlier
from scanner.cli.streams import say
from scanner.errors import UsageError
from scanner.files import yaml_values
from scanner.kube import cluster_facts
from scanner.kube.kinds import NAMESPACE, PKI, SECRET
from scanner.kube.snapshot import Origin, Snapshot, union
from scanner.model.held_certificate import HeldCertificate
from scanner.model.pki_config import PkiConfig
from scanner.pki import wanted
from scanner.pki.config import ALWAYS, pki_config_of_file
from scanner.pki.day_one import install_config
from scanner.report.escape import plain

Tell = Callable[[HeldCertificate], None]
"""Told of every certificate that an object of the cluster holds."""

_NOTHING = PkiConfig(
    source="no PKI configuration", reason="absent", platform_said="neither a cluster nor a file says what is wanted"
)


def basis(
    asked: ClusterAsked, *, policy_file: str | None, pki: str | None, install_config_file: str | None, tell: Tell
) -> Certificates:
    """The certificates of the cluster, if one is meant, judged as they and others will be. Raises ``ScannerError``."""
    policy = load_policy(policy_file)
    configured = None if pki is None else pki_config_of_file(yaml_values.read(pki))
    day_one = None if install_config_file is None else install_config(yaml_values.read(install_config_file))
    for remark in (*(configured.remarks if configured else ()), *(day_one.remarks if day_one else ())):
        say(f"adhere: {plain(remark, 500)}")
    if asked.meant:
        snapshot, before = _cluster(asked)
        return Certificates(snapshot, policy, earlier=before, given=configured, day_one=day_one, tell=tell)
    asked.none_given()
    given = configured or (_installed(day_one) if day_one else _NOTHING)
    return Certificates(_empty(), policy, given=given, day_one=day_one if configured else None, tell=tell)


def _cluster(asked: ClusterAsked) -> tuple[Snapshot, tuple[Snapshot, ...]]:
    """The cluster, and what was known of it before."""
    reads = union((READS, cluster_facts.READS, (NAMESPACE,), wanted.READS, (SECRET,)))
    before, found = earlier(asked.previous), snapshots(asked, reads)
    if len(found) > 1:
        raise UsageError(f"{len(found)} clusters were given", hint="look at one cluster at a time")
    check(before, found)
    return found[0], before


def _empty() -> Snapshot:
    """No cluster at all: every kind was looked at, and there is nothing."""
    return Snapshot(
        taken_at=datetime.now(UTC),
        origin=Origin(name="files", replayed=True),
        objects=dict.fromkeys(READS, ()),
        absent=frozenset({PKI}),
    )


def _installed(day_one: PkiConfig) -> PkiConfig:
    """It held when the installer made everything that it made."""
    return replace(day_one, since=ALWAYS)
