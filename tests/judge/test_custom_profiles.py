"""Custom profiles: named, and a failure only where a reader does not take them."""

from __future__ import annotations

from scanner.judge.custom_profiles import CUSTOM, custom_findings
from scanner.kube.maybe import Unknown
from scanner.kube.objects import Reference
from scanner.kube.tls_profile import CustomUse, Declared
from scanner.values import replace
from tests.judge.cases import PROFILE

TAKEN = Declared(said="Custom", profile=replace(PROFILE, notes=("a note",)), remarks=("drops DHE",), custom=True)
USE = CustomUse(
    reference=Reference(kind="APIServer", name="cluster"),
    field="spec.tlsSecurityProfile.custom",
    readings=(("library-go", TAKEN),),
)


def test_it_is_named_with_what_is_taken_of_it_and_fails_nothing() -> None:
    (finding,) = custom_findings([USE])
    assert (finding.rule, finding.severity, finding.status) == (CUSTOM.id, "info", "informational")
    assert finding.observed[0].startswith("library-go: TLSv1.2 or later with TLS_")
    assert finding.evidence == ("library-go: drops DHE", "library-go: a note")
    assert finding.about == "APIServer/cluster spec.tlsSecurityProfile.custom"


def test_a_reader_that_does_not_take_it_is_a_violation() -> None:
    refusing = replace(TAKEN, profile=None, refused="no TLS 1.3 suite is listed")
    (finding,) = custom_findings([replace(USE, readings=(*USE.readings, ("the ingress operator", refusing)))])
    assert (finding.severity, finding.status) == ("medium", "violation")
    assert "the ingress operator rejects: no TLS 1.3 suite is listed" in finding.message
    assert finding.fix is not None


def test_what_nobody_can_tell_is_said() -> None:
    unknown = replace(TAKEN, profile=Unknown("the release is not known"))
    (finding,) = custom_findings([replace(USE, readings=(("library-go", unknown),))])
    assert finding.observed == ("library-go: the release is not known",)
