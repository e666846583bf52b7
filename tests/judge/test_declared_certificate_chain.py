"""What is sent behind a certificate against what is stored behind it."""

from __future__ import annotations

from itertools import combinations

import pytest

from scanner.judge import judge
from scanner.kube.maybe import Unknown
from scanner.model.expectation import CertificateExpectation, DeclaredCertificates, DeclaredIssuer, DeclaredLeaf
from scanner.model.finding import Finding
from scanner.tls.certificate import CertificateFacts
from scanner.values import replace
from tests.judge.cases import LEAF, case, finding, findings

RULE = "cert-stored-chain"


def issuer(name: str, by: str | None = None, tag: str = "") -> CertificateFacts:
    signer = f"CN={by or name}"
    return replace(LEAF, subject=f"CN={name}", issuer=signer, sha256=f"{name}{tag}", der=f"{name}{tag}".encode())


SERVED = replace(LEAF, issuer="CN=Lower")
LOWER, UPPER, ROOT = issuer("Lower", "Upper"), issuer("Upper", "Root"), issuer("Root")
OTHER = issuer("Other", "Root")
ANOTHER_LOWER = issuer("Lower", "Root", tag="2")


def stored(*behind: CertificateFacts) -> DeclaredLeaf:
    return DeclaredLeaf(
        place="Secret/shop/web-tls data[tls.crt]",
        sha256=SERVED.sha256,
        serial=5,
        names=frozenset({"DNS:a.example"}),
        issuer=SERVED.issuer,
        not_before=SERVED.not_before,
        issuers=tuple(DeclaredIssuer(sha256=e.sha256, subject=e.subject, issuer=e.issuer) for e in behind),
    )


def said(*leaves: DeclaredLeaf, sent: tuple[CertificateFacts, ...], exact: bool = True) -> Finding:
    expected = CertificateExpectation(declared=DeclaredCertificates(leaves=leaves, exact=exact))
    return finding(RULE, case(expectation={"certificate": expected}, observation={"chain": (SERVED, *sent)}))


@pytest.mark.parametrize("behind", [(), (LOWER,), (LOWER, UPPER, ROOT)])
def test_what_is_stored_and_in_its_order_passes(behind: tuple[CertificateFacts, ...]) -> None:
    found = said(stored(*behind), sent=behind)
    assert (found.verdict, found.status) == ("pass", "ok")
    assert found.message == "it sends the chain of Secret/shop/web-tls data[tls.crt]"


@pytest.mark.parametrize(
    ("behind", "sent", "missing"),
    [
        ((LOWER,), (), "CN=Lower"),
        ((LOWER, UPPER), (LOWER,), "CN=Upper"),
        ((LOWER, UPPER, ROOT), (ROOT,), "CN=Lower, CN=Upper"),
    ],
)
def test_an_intermediate_that_is_not_sent_fails(
    behind: tuple[CertificateFacts, ...], sent: tuple[CertificateFacts, ...], missing: str
) -> None:
    found = said(stored(*behind), sent=sent)
    assert (found.verdict, found.severity, found.status) == ("fail", "medium", "violation")
    assert f"does not send the intermediate {missing} of" in found.message
    assert found.expected == tuple(f"{each.subject} {each.sha256}" for each in behind)
    assert found.observed == tuple(f"{each.subject} {each.sha256}" for each in sent)


@pytest.mark.parametrize(
    ("behind", "sent"),
    [
        ((LOWER, UPPER), (UPPER, LOWER)),
        ((LOWER,), (LOWER, OTHER)),
        ((LOWER, OTHER), (LOWER,)),  # nobody's signer
        ((LOWER,), (LOWER, LOWER)),
        ((LOWER,), (ANOTHER_LOWER,)),  # the same authority, signed by another
        ((LOWER, replace(OTHER, subject=None)), (LOWER,)),
    ],
)
def test_other_certificates_or_another_order_are_low(
    behind: tuple[CertificateFacts, ...], sent: tuple[CertificateFacts, ...]
) -> None:
    found = said(stored(*behind), sent=sent)
    assert (found.verdict, found.severity) == ("fail", "low")


@pytest.mark.parametrize(
    ("behind", "sent", "words"),
    [
        ((LOWER, ROOT), (LOWER,), "does not send the root"),
        ((LOWER, UPPER, ROOT), (LOWER, UPPER), "does not send the root"),
        ((LOWER,), (LOWER, ROOT), "also sends a self-signed"),
    ],
)
def test_a_root_more_or_less_is_noted_and_passes(
    behind: tuple[CertificateFacts, ...], sent: tuple[CertificateFacts, ...], words: str
) -> None:
    found = said(stored(*behind), sent=sent)
    assert (found.verdict, found.status, found.severity) == ("pass", "informational", "info")
    assert words in found.message


def test_of_several_secrets_with_the_certificate_one_will_do() -> None:
    assert said(stored(LOWER, UPPER), stored(LOWER), sent=(LOWER,)).verdict == "pass"


def test_of_several_secrets_with_the_certificate_the_one_that_is_nearest_counts() -> None:
    every = [stored(LOWER), stored(LOWER, ROOT), stored(ANOTHER_LOWER), stored(LOWER, UPPER)]
    alone = [said(each, sent=(LOWER,)) for each in every]
    assert [(each.verdict, each.severity) for each in alone] == [
        *(("pass", "medium"), ("pass", "info"), ("fail", "low"), ("fail", "medium"))
    ]
    for (nearer, found), (farther, _) in combinations(zip(every, alone, strict=True), 2):
        assert said(nearer, farther, sent=(LOWER,)) == said(farther, nearer, sent=(LOWER,)) == found


@pytest.mark.parametrize(("exact", "status"), [(True, "violation"), (False, "readiness")])
def test_only_an_object_of_the_listener_itself_binds_without_a_profile(exact: bool, status: str) -> None:
    expected = CertificateExpectation(declared=DeclaredCertificates(leaves=(stored(LOWER),), exact=exact))
    of = case(expectation={"certificate": expected, "binding": "not-enforced"}, observation={"chain": (SERVED,)})
    assert finding(RULE, of).status == status


def test_beside_another_certificate_nothing_is_compared() -> None:
    found = said(replace(stored(LOWER), sha256="ab" * 32), sent=())
    assert (found.verdict, found.status) == ("not_applicable", "informational")


def test_a_chain_that_nobody_saw_is_not_known() -> None:
    expected = CertificateExpectation(declared=DeclaredCertificates(leaves=(stored(LOWER),)))
    found = finding(RULE, case(expectation={"certificate": expected}, observation={"chain": Unknown("cut off")}))
    assert (found.verdict, found.severity) == ("inconclusive", "info")


def test_without_anything_stored_nothing_is_said() -> None:
    assert findings(RULE, case()) == []
    unasked = CertificateExpectation(declared=DeclaredCertificates(wanted=False))
    assert findings(RULE, case(expectation={"certificate": unasked})) == []


def test_of_several_chains_the_worst_counts() -> None:
    """Beside another leaf there is nothing to compare; the same one without its intermediates fails."""
    expected = CertificateExpectation(declared=DeclaredCertificates(leaves=(stored(LOWER),)))
    seen = {"chain": (SERVED, LOWER), "other_chains": ((SERVED,), (OTHER,))}
    result = judge(case(expectation={"certificate": expected}, observation=seen))
    (found,) = (each for each in result.findings if each.rule == RULE)
    assert found.verdict == "fail"
