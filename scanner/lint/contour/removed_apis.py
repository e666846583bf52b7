"""Objects of APIs that no Contour reads: removed ones, and one that was never shipped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from scanner.kube.contour import HTTPProxy
from scanner.kube.kinds import (
    HEPTIO_DELEGATION,
    HTTP_PROXY,
    INGRESS_ROUTE,
    TLS_CERTIFICATE_DELEGATION,
    VMWARE_DELEGATION,
    Kind,
)
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_REPLACED: Final[Mapping[Kind, tuple[str, Kind]]] = {
    VMWARE_DELEGATION: (
        "contour.vmware.com/v1 is only in the design document and was never shipped: no Contour reads it",
        TLS_CERTIFICATE_DELEGATION,
    ),
    HEPTIO_DELEGATION: ("no Contour since 1.7 reads contour.heptio.com/v1beta1", TLS_CERTIFICATE_DELEGATION),
    INGRESS_ROUTE: ("no Contour since 1.7 reads contour.heptio.com/v1beta1", HTTP_PROXY),
}


def check_former_api(subject: Subject) -> Iterator[Flaw]:
    """Objects are of an API that Contour reads."""
    found, item = _REPLACED.get(subject.object.kind), HTTPProxy.of(subject.object)
    if found:
        reason, successor = found
        yield Flaw(
            message=f"this {subject.object.kind.name} has no effect: {reason}",
            at=("apiVersion",),
            severity="high" if item.tls else None,
            expected=(f"projectcontour.io/v1 {successor.name}",),
            observed=(f"{item.api_version or item.kind.group} {item.kind.name}",),
            fix=f"{subject.object.reference}: write it as {successor.name} of projectcontour.io/v1",
            correction=f"apiVersion: projectcontour.io/v1\nkind: {successor.name}",
        )


FORMER_API = ObjectRule(
    id="contour-former-api",
    subjects=(*_REPLACED, TLS_CERTIFICATE_DELEGATION, HTTP_PROXY),
    check=check_former_api,
)
