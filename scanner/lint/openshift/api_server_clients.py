"""The CAs by which an API server recognises its clients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.kube.kinds import CONFIG_MAP
from scanner.lint.openshift.api_servers import HOLDERS
from scanner.lint.openshift.serving import bundle_flaws
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_BUNDLE: Final = "ca-bundle.crt"


def check_client_ca(subject: Subject) -> Iterator[Flaw]:
    """The CAs by which an API server recognises clients are there."""
    holder = HOLDERS[subject.object.kind]
    at = (*holder.steps, "clientCA")
    if name := subject.object.text(*at, "name"):
        yield from bundle_flaws(subject, at, name, holder.namespace or subject.object.namespace, _BUNDLE)


CLIENT_CA = ObjectRule(
    id="apiserver-client-ca",
    subjects=tuple(HOLDERS),
    check=check_client_ca,
    reads=(CONFIG_MAP,),
)
