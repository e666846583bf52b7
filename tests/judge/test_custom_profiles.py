"""Custom profiles, unknown values of tlsAdherence, and overrides of the policy file."""

from __future__ import annotations

import pytest

from scanner.judge import SCAN_RULES, judge
from scanner.judge.custom_profiles import CUSTOM, UNKNOWN_ADHERENCE, adherence_findings, custom_findings
from scanner.kube.maybe import Known, Unknown
from scanner.kube.objects import Reference
from scanner.kube.tls_profile import CustomUse, Declared, DroppedName, Profile
from scanner.model.expectation import Because, UnknownAdherence
from scanner.model.finding import Finding
from scanner.model.observation import Reach
from scanner.values import replace
from tests.judge.cases import BECAUSE_OBJECT, PROFILE, case, finding, findings

TAKEN = Declared(said="Custom", profile=replace(PROFILE, notes=("a note",)), remarks=("drops DHE",), custom=True)
USE = CustomUse(
    reference=Reference(kind="APIServer", name="cluster"),
    field="spec.tlsSecurityProfile.custom",
    readings=(("library-go", TAKEN),),
)


def test_it_is_named_with_what_is_taken_of_it_and_fails_nothing() -> None:
    (found,) = custom_findings([USE])
    assert (found.rule, found.severity, found.status) == (CUSTOM.id, "info", "informational")
    assert found.observed[0].startswith("library-go: TLSv1.2 or later with TLS_")
    assert found.evidence == ("library-go: drops DHE", "library-go: a note")
    assert found.about == "APIServer/cluster spec.tlsSecurityProfile.custom"


def test_a_reader_that_does_not_take_it_is_a_violation() -> None:
    refusing = replace(TAKEN, profile=None, refused="no TLS 1.3 suite is listed")
    (found,) = custom_findings([replace(USE, readings=(*USE.readings, ("the ingress operator", refusing)))])
    assert (found.severity, found.status) == ("medium", "violation")
    assert "the ingress operator rejects: no TLS 1.3 suite is listed" in found.message
    assert found.fix is not None


def test_what_nobody_can_tell_is_said() -> None:
    unknown = replace(TAKEN, profile=Unknown("the release is not known"))
    (found,) = custom_findings([replace(USE, readings=(("library-go", unknown),))])
    assert found.observed == ("library-go: the release is not known",)


def dropping(*names: str, profile: Known[Profile] | None = None) -> Declared:
    """A small letter: a name that some releases drop."""
    lost = (DroppedName(each, f"{each} is odd", f"remove {each}", each == each.upper()) for each in names)
    return Declared(said="Custom", profile=profile, dropped=tuple(lost), custom=True)


def test_names_that_components_drop_are_one_finding() -> None:
    """A name is certainly lost if any component certainly drops it; one that rejects the profile drops nothing."""
    least, rest = replace(PROFILE, suites=()), Unknown("its release is unknown")
    readings = (
        ("router", dropping("a", "b", profile=least)),
        ("library-go", dropping("c", "D", "a", profile=rest)),
        ("rejecting", replace(dropping("E"), refused="no")),
        ("taking", TAKEN),
        ("last", dropping("a")),
    )
    _, found = custom_findings([replace(USE, readings=readings)])
    assert found == Finding(
        rule="profile-names-dropped",
        severity="medium",
        verdict="fail",
        status="violation",
        message="APIServer/cluster lists cipher names that components drop without an error: a, b, c, D",
        expected=("OpenSSL names of suites that every component supports",),
        observed=(
            "router may drop a, b; remaining: TLSv1.2 or later with no suite",
            "library-go drops c, D, a; remaining: its release is unknown",
            "last may drop a; remaining: uses the profile of the next object",
        ),
        fix="a: remove a; b: remove b; c: remove c; D: remove D",
        evidence=(
            *("router: a is odd", "router: b is odd", "library-go: c is odd", "library-go: D is odd"),
            *("library-go: a is odd", "last: a is odd"),
        ),
        about="APIServer/cluster spec.tlsSecurityProfile.custom.ciphers",
    )
    _, found = custom_findings([replace(USE, readings=readings[:1])])
    assert (found.verdict, found.status) == ("inconclusive", "not-tested")
    assert "may drop without an error: a, b" in found.message


def test_a_name_that_one_component_certainly_drops_is_fixed_as_it_says() -> None:
    sure = Declared(said="", profile=None, dropped=(DroppedName("a", "", "write b"),))
    for readings in ((("one", sure), ("two", dropping("a"))), (("two", dropping("a")), ("one", sure))):
        _, found = custom_findings([replace(USE, readings=readings)])
        assert (found.verdict, found.fix) == ("fail", "a: write b")


@pytest.mark.parametrize(("count", "more"), [(12, ""), (13, " and 1 more")])
def test_twelve_names_are_shown(count: int, more: str) -> None:
    names = [str(each) for each in range(count)]
    suites = tuple(range(0xFA00, 0xFA00 + count))
    read = dropping(*names, profile=replace(PROFILE, suites=suites))
    said, found = custom_findings([replace(USE, readings=(("one", read),))])
    assert found.message.endswith(f", 11{more}")
    assert (found.fix or "").count(";") == 11
    assert said.observed[0].endswith(f", 0xFA0B{more}")


VALUE = UnknownAdherence(
    source="APIServer/cluster", field="spec.tlsAdherence", said="'Strct', unknown, which means S", known=("S", "L")
)


def test_it_is_low_and_a_violation_and_says_what_to_write() -> None:
    (found,) = adherence_findings([VALUE])
    assert (found.rule, found.severity, found.verdict, found.status) == (
        "adherence-unknown",
        "low",
        "fail",
        "violation",
    )
    assert found.about == "APIServer/cluster spec.tlsAdherence"
    assert found.fix == "set APIServer/cluster spec.tlsAdherence to S or L"
    assert "'Strct'" in found.observed[0]


def test_it_is_registered() -> None:
    assert UNKNOWN_ADHERENCE in SCAN_RULES


def test_where_nothing_is_unknown_nothing_is_found() -> None:
    assert list(adherence_findings([])) == []


OVERRIDE = Because(source="adhere.yaml:7:5", field="overrides", said="old: its clients are old", decides=True)


@pytest.mark.parametrize(
    ("role", "what"),
    [("metrics", "a metrics listener"), ("webhook", "a webhook listener"), ("api", "an aggregated API")],
)
def test_an_override_there_is_a_finding_justified_or_not(role: str, what: str) -> None:
    told = case(expectation={"overridden": role, "because": (BECAUSE_OBJECT, OVERRIDE)})
    found = finding("policy-override", told)
    assert (found.verdict, found.status, found.severity) == ("fail", "violation", "low")
    assert found.message == f"the policy file overrides the cluster's profile for {what}"
    assert found.observed == ("adhere.yaml:7:5: old: its clients are old",)
    assert found.fix == f"exclude {what} from the override at adhere.yaml:7:5"
    assert judge(told).verdict == "fail"


@pytest.mark.parametrize("reach", [Reach.PLAINTEXT, Reach.CLOSED])
def test_what_speaks_no_tls_has_no_profile_to_deviate_from(reach: Reach) -> None:
    told = case(expectation={"overridden": "metrics", "because": (OVERRIDE,)}, observation={"reach": reach})
    assert findings("policy-override", told) == []


def test_without_one_nothing_is_said() -> None:
    assert findings("policy-override", case()) == []
