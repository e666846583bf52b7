"""Minimum versions that a ``tlsSecurityProfile`` should not ask for."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.kube.kinds import INGRESS_CONTROLLER
from scanner.lint.openshift.profiles import SUBJECTS, Declaration, declarations
from scanner.model.custom_profile import VERSIONS
from scanner.model.object_rule import Flaw, ObjectRule, Subject


def check_version(subject: Subject) -> Iterator[Flaw]:
    """A `tlsSecurityProfile` asks for TLS 1.2 or later."""
    for each in declarations(subject.object):
        if each.type == "Old":
            yield Flaw(
                message=f"the profile Old has TLS 1.0 and 1.1{_raised(each)}",
                at=(*each.steps, "type"),
                expected=("Intermediate", "Modern"),
                observed=("Old",),
                fix="choose Intermediate or Modern",
                correction="tlsSecurityProfile:\n  type: Intermediate\n  intermediate: {}",
            )
        said = each.custom.text("minTLSVersion")
        if said in VERSIONS[:2]:
            yield Flaw(
                message=f"{said} lets in deprecated versions of TLS{_raised(each) if said == VERSIONS[0] else ''}",
                at=(*each.steps, "custom", "minTLSVersion"),
                expected=VERSIONS[2:],
                observed=(said,),
                fix="write VersionTLS12",
                correction="minTLSVersion: VersionTLS12",
            )


def _raised(each: Declaration) -> str:
    """What becomes of TLS 1.0 in a router (cluster-ingress-operator ``ingress/deployment.go``, SSL_MIN_VERSION)."""
    return ", of which a router speaks 1.1 only" if each.object.kind == INGRESS_CONTROLLER else ""


VERSION = ObjectRule(
    id="tls-profile-version",
    subjects=SUBJECTS,
    check=check_version,
)
