"""``adhere scan --cluster``: read clusters and return their jobs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from heapq import merge
from itertools import accumulate
from operator import attrgetter

from scanner.assessment import READS, Assessment, assess, surroundings
from scanner.cli.inputs import accesses, check, snapshots, viewpoint
from scanner.cli.publishing import Destination
from scanner.cli.shared_options import ClusterAsked
from scanner.cluster import Access
from scanner.jobs import Job
from scanner.kube.kinds import SECRET
from scanner.kube.snapshot import Snapshot
from scanner.kube.tls_profile import Profile
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Expectation
from scanner.model.scan_policy import ScanPolicy
from scanner.probe.limits import Limits
from scanner.values import replace

__all__ = ["assessments", "gentle", "jobs", "surroundings"]

_RELEASE = re.compile(r"[0-9]+\.[0-9]+")

RATE = 200.0
"""New connections per second without ``--rate`` (design, "Per-host limits")."""
GENTLY = frozenset({"etcd", "kube-apiserver", "openshift-apiserver", "oauth-apiserver"})


def assessments(
    asked: ClusterAsked, policy: ScanPolicy, default_profile: Profile | None, before: tuple[Snapshot, ...] = ()
) -> list[Assessment]:
    """Read and assess the selected clusters. ``before``: earlier snapshots of them, beside those of ``--previous``.
    Raises ``ScannerError``."""
    view = viewpoint(asked, policy, default_profile)
    found = snapshots(asked, (*READS, SECRET))
    check(view.earlier, found)
    view = replace(view, earlier=(*view.earlier, *before))
    return [assess(snapshot, view, found) for snapshot in found]


def jobs(clusters: list[Assessment]) -> Iterator[Job]:
    """Yield the jobs of all clusters by turn. With several clusters, the ids begin with the cluster's name."""
    for each in clusters:
        each.certificates.inventory  # noqa: B018 - before the scan starts: it takes a second for each MiB
    if len(clusters) == 1:
        return clusters[0].jobs()
    before = accumulate((len(each.discovery.endpoints) for each in clusters), initial=0)
    every = (_named(each, first) for each, first in zip(clusters, before, strict=False))
    return merge(*every, key=attrgetter("turn"))


def _named(cluster: Assessment, first: int) -> Iterator[Job]:
    """Yield the jobs with the cluster's name in their ids. ``first``: the place of the cluster's first row."""
    name = cluster.facts.name
    for job in cluster.jobs():
        endpoint = replace(job.endpoint, id=f"{name}/{job.endpoint.id}", instance=f"{name}/{job.endpoint.instance}")
        share, place = f"{name}/{job.share}", first + (job.place or 0)
        yield replace(job, endpoint=endpoint, place=place, share=share, owes=partial(_as_found, job))


def _as_found(job: Job, endpoint: Endpoint) -> Expectation:
    """Return the expectation of ``endpoint`` by its id in its own cluster."""
    return job.owes(replace(endpoint, id=job.endpoint.id))


def ways_in(asked: ClusterAsked, clusters: list[Assessment]) -> dict[str, Access]:
    """Return access to the API servers for ``--via port-forward``."""
    if asked.via is None:
        return {}
    return {each.facts.name: access for each, access in zip(clusters, accesses(asked), strict=True)}


def destinations(asked: ClusterAsked, clusters: list[Assessment]) -> tuple[Destination, ...]:
    """Return the clusters that ``--publish`` writes into."""
    if asked.publish is None:
        return ()
    found = zip(clusters, accesses(asked), strict=True)
    return tuple(Destination(cluster=each, access=access, api=asked.publish) for each, access in found)


def release(cluster: Assessment) -> str:
    """Return the OpenShift release for profiles, ``4.22``, or ""."""
    found = _RELEASE.match(cluster.facts.version) if cluster.facts.distribution != "kubernetes" else None
    return found[0] if found else ""


def gentle(limits: Limits) -> Limits:
    """Lower ``limits`` for clusters in production."""
    return replace(limits, rate=limits.rate or RATE, gently=GENTLY)
