"""``adhere scan --cluster``: one or several clusters, found, judged and reported together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from heapq import merge
from itertools import accumulate
from operator import attrgetter

from scanner.assessment import READS, Assessment, assess, surroundings
from scanner.cli.cluster_options import ClusterAsked, accesses, snapshots, viewpoint
from scanner.cli.shared_options import check
from scanner.cluster import Access
from scanner.jobs import Job
from scanner.kube.kinds import SECRET
from scanner.kube.tls_profile import Profile
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Expectation
from scanner.model.scan_policy import ScanPolicy
from scanner.probe.limits import Limits

__all__ = ["assessments", "gentle", "jobs", "surroundings"]

_RELEASE = re.compile(r"[0-9]+\.[0-9]+")

RATE = 200.0
"""New connections per second over all, where the command line says nothing else (design, "Per-host limits")."""
GENTLY = frozenset({"etcd", "kube-apiserver", "openshift-apiserver", "oauth-apiserver"})


def assessments(asked: ClusterAsked, policy: ScanPolicy, default_profile: Profile | None) -> list[Assessment]:
    """Every cluster that is meant, looked at. Raises ``ScannerError``."""
    view = viewpoint(asked, policy, default_profile)
    found = snapshots(asked, (*READS, SECRET))
    check(view.earlier, found)
    return [assess(snapshot, view, found) for snapshot in found]


def jobs(clusters: list[Assessment]) -> Iterator[Job]:
    """All their listeners, one turn of all clusters after the other. With several clusters each one's ids begin with
    its name."""
    for each in clusters:
        each.certificates.inventory  # noqa: B018 - now, while nobody waits: it takes a second for each MiB
    if len(clusters) == 1:
        return clusters[0].jobs()
    before = accumulate((len(each.discovery.endpoints) for each in clusters), initial=0)
    every = (_named(each, first) for each, first in zip(clusters, before, strict=False))
    return merge(*every, key=attrgetter("turn"))


def _named(cluster: Assessment, first: int) -> Iterator[Job]:
    """``first``: the place of the cluster's first row."""
    name = cluster.facts.name
    for job in cluster.jobs():
        endpoint = replace(job.endpoint, id=f"{name}/{job.endpoint.id}", instance=f"{name}/{job.endpoint.instance}")
        share, place = f"{name}/{job.share}", first + (job.place or 0)
        yield replace(job, endpoint=endpoint, place=place, share=share, owes=partial(_as_found, job))


def _as_found(job: Job, endpoint: Endpoint) -> Expectation:
    """What ``endpoint`` owes is found under the id that its own cluster knows."""
    return job.owes(replace(endpoint, id=job.endpoint.id))


def ways_in(asked: ClusterAsked, clusters: list[Assessment]) -> dict[str, Access]:
    """The APIs through which pods are reached, if they are."""
    if asked.via is None:
        return {}
    return {each.facts.name: access for each, access in zip(clusters, accesses(asked), strict=True)}


def release(cluster: Assessment) -> str:
    """OpenShift's, as profiles have it: ``4.22``; empty where there is none."""
    found = _RELEASE.match(cluster.facts.version) if cluster.facts.distribution != "kubernetes" else None
    return found[0] if found else ""


def gentle(limits: Limits) -> Limits:
    """``limits`` as a cluster in production deserves them."""
    return replace(limits, rate=limits.rate or RATE, gently=GENTLY)
