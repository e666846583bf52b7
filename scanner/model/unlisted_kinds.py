"""Kinds that no API lists: configuration of a node, which only a saved snapshot can hold beside the API's objects.

A snapshot that has them is judged by them; where they are missing, what depends on them says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256

from scanner.kube.kinds import Kind
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Snapshot

ACCESS_REVIEW = Kind(
    group="authorization.k8s.io",
    plural="subjectaccessreviews",
    name="SubjectAccessReview",
    namespaced=False,
    opt_in="sar",
)
"""What was asked and answered. No API lists it, but a saved snapshot holds it beside the API's objects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """One question about a user, who is in the groups that are said and in no others."""

    user: str
    verb: str
    resource: str
    namespace: str
    name: str
    group: str = ""
    """Of the resource."""
    subresource: str = ""
    groups: tuple[str, ...] = ()
    """Of the user."""

    def spec(self) -> dict[str, object]:
        """As the API wants it."""
        attributes = {
            "verb": self.verb,
            "group": self.group,
            "resource": self.resource,
            "namespace": self.namespace,
            "name": self.name,
            **({"subresource": self.subresource} if self.subresource else {}),
        }
        groups = {"groups": [*self.groups]} if self.groups else {}
        return {"user": self.user, **groups, "resourceAttributes": attributes}

    def answered(self, *, allowed: bool) -> KubeObject:
        """The object that holds the answer, under a name that is made of the question."""
        digest = sha256("\0".join((self.user, *map(str, _attributes(self)))).encode()).hexdigest()[:32]
        return KubeObject(
            {"metadata": {"name": digest}, "spec": self.spec(), "status": {"allowed": allowed}}, ACCESS_REVIEW
        )


def _attributes(review: Review) -> Iterable[str]:
    attributes = (review.verb, review.group, review.resource, review.namespace, review.name)
    return (*attributes, review.subresource, *review.groups) if review.subresource or review.groups else attributes


def reviews(snapshot: Snapshot) -> Mapping[Review, bool]:
    """The answers that a snapshot has."""
    found: dict[Review, bool] = {}
    for each in snapshot.objects.get(ACCESS_REVIEW, ()):
        attributes = each.fields("spec", "resourceAttributes")
        review = Review(
            user=each.text("spec", "user"),
            verb=attributes.text("verb"),
            group=attributes.text("group"),
            resource=attributes.text("resource"),
            namespace=attributes.text("namespace"),
            name=attributes.text("name"),
            subresource=attributes.text("subresource"),
            groups=each.texts("spec", "groups"),
        )
        found[review] = each.at("status", "allowed") is True
    return found


INSTALL_CONFIG = Kind(group="", plural="", name="InstallConfig", namespaced=False)
"""The file that openshift-install reads; it has no kind of its own."""
MICROSHIFT_CONFIG = Kind(group="microshift", plural="config", name="MicroShiftConfig", namespaced=False)
"""What ``/etc/microshift/config.yaml`` says, below ``kind: MicroShiftConfig``: ``microshift show-config`` prints it."""

KUBELET_CONFIGZ = Kind(group="kubelet", plural="configz", name="KubeletConfigz", namespaced=False, opt_in="configz")
"""What ``/api/v1/nodes/NODE/proxy/configz`` answers, ``{"kubeletconfig": {...}}``, with the node's name as
``metadata.name``."""

LOCAL_KINDS: tuple[Kind, ...] = (MICROSHIFT_CONFIG, KUBELET_CONFIGZ, ACCESS_REVIEW)


def named_file(document: dict[str, object]) -> dict[str, object]:
    """A node's file as an object: it has a name, whether the file says one or not, and whatever its version is."""
    metadata = document.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return {**document, "metadata": {"name": "config", **metadata}}


def with_local_files(snapshot: Snapshot) -> Snapshot:
    """A replayed snapshot with those that it has; where it has none, nothing is missing that the API could show."""
    missing = {kind for kind in LOCAL_KINDS if not snapshot.objects.get(kind)}
    return replace(
        snapshot,
        objects={kind: every for kind, every in snapshot.objects.items() if kind not in missing},
        unreadable={kind: gap for kind, gap in snapshot.unreadable.items() if kind not in missing},
    )
