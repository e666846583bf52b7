"""What shows only when certificates are seen together."""

from __future__ import annotations

import pytest

from scanner.config.certificate_names import load_names
from scanner.kube.objects import Reference
from scanner.model.finding import Finding
from scanner.model.held_certificate import HeldCertificate, Place, Role
from scanner.model.well_known import Owner
from scanner.pki.chain_rules import SIGNATURE, can_sign, signs
from scanner.pki.inventory_index import PLATFORM, InventoryIndex
from scanner.pki.rules import of_all
from scanner.tls.certificate import CertificateFacts
from scanner.tls.oids import KEY_ALGORITHMS, SIGNATURES
from scanner.values import replace
from tests.pki.subjects import LEAF, NAME, SECRET, SERVED, classified, subject

pytestmark = pytest.mark.crypto

NAMES = load_names()
SIGNER = replace(
    LEAF, subject="CN=etcd-signer", sha256="0" * 64, key_sha256="aa" * 32, is_ca=True, curve="P-384", key_size=384
)
RSA_SIGNER = replace(SIGNER, sha256="1" * 64, key_sha256="bb" * 32, key_algorithm="RSA", key_size=2048, curve=None)
SIGNED_BY_RSA = replace(LEAF, signature="sha256WithRSAEncryption")
OURS, THEIRS = classified(NAME), classified(governed=False)


def secret(namespace: str, name: str = "x", role: Role = "leaf") -> Place:
    return Place(role=role, reference=Reference(kind="Secret", namespace=namespace, name=name), field="data[tls.crt]")


def served(endpoint: str) -> Place:
    return Place(role="leaf", endpoint=endpoint, port=443)


class Seen:
    """What an inventory would hand on."""

    def __init__(self) -> None:
        self.across = InventoryIndex(NAMES)
        self.known: set[str] = set()

    def add(self, facts: CertificateFacts, place: Place, namespace: str | None, *, ours: bool = False) -> Seen:
        held, first = HeldCertificate(facts=facts, place=place), facts.sha256 not in self.known
        self.known.add(facts.sha256)
        self.across.add(held, OURS if ours else THEIRS, namespace, first=first)
        return self

    def signer(self, facts: CertificateFacts, *, ours: bool = True) -> Seen:
        place = Place(role="trusted", reference=Reference(kind="ConfigMap", namespace="n", name="ca"))
        return self.add(facts, place, "n", ours=ours)

    def leaf(self, facts: CertificateFacts, *, ours: bool = True) -> Seen:
        return self.add(facts, secret("openshift-etcd"), "openshift-etcd", ours=ours)

    def said(self, rule: str) -> list[Finding]:
        return [each for each in of_all(self.across) if each.rule == rule]


def other(facts: CertificateFacts, number: int, **fields: object) -> CertificateFacts:
    return replace(facts, sha256=f"{number:064x}", **fields)  # type: ignore[arg-type] # its fields


# --- Signers ----------------------------------------------------------------------------------------------------------


def test_a_key_below_that_of_its_signer_says_nothing() -> None:
    assert Seen().signer(SIGNER).leaf(LEAF).said("pki-signer-strength") == []


def test_a_key_that_nobody_can_choose_is_above_its_signers_without_harm() -> None:
    seen = Seen().signer(RSA_SIGNER)
    kubelets = replace(NAME, name="kubelet-serving", owner=Owner(name="kubelet", implements=False))
    seen.across.add(HeldCertificate(facts=SIGNED_BY_RSA, place=secret("n")), classified(kubelets), "n")
    (finding,) = seen.said("pki-signer-strength")
    assert (finding.severity, finding.status) == ("info", "informational")
    assert finding.fix == "configure a key for signers that is as strong"


def test_a_key_above_that_of_its_signer_is_told_once_for_all_alike() -> None:
    seen = Seen().signer(RSA_SIGNER).leaf(SIGNED_BY_RSA).leaf(other(SIGNED_BY_RSA, 5)).leaf(SIGNED_BY_RSA)
    (finding,) = seen.said("pki-signer-strength")
    assert (finding.verdict, finding.severity) == ("fail", "low")
    assert "ECDSA P256, stronger than its signer's (RSA 2048)" in finding.message
    assert "and 1 more" in finding.message


@pytest.mark.parametrize("order", [1, -1])
def test_of_an_old_and_a_new_signer_of_one_name_the_stronger_counts(order: int) -> None:
    seen = Seen()
    for each in (SIGNER, RSA_SIGNER)[::order]:
        seen.signer(each)
    assert seen.leaf(SIGNED_BY_RSA).said("pki-signer-strength") == []
    assert seen.said("pki-signature") == []


@pytest.mark.parametrize("order", [1, -1])
def test_a_signer_that_has_its_name_in_one_place_only_is_the_platforms(order: int) -> None:
    seen = Seen()
    for ours in (True, False)[::order]:
        seen.signer(RSA_SIGNER, ours=ours)
    assert len(seen.leaf(SIGNED_BY_RSA).said("pki-signer-strength")) == 1


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(("size", "severity"), [(2048, "low"), (3072, "info")])
def test_of_two_weaker_signers_the_stronger_is_named_and_decides_the_severity(
    order: int, size: int, severity: str
) -> None:
    """From 128 bits of security on, as RSA 3072 has, a weaker signer does no harm."""
    seen = Seen()
    for each in (replace(RSA_SIGNER, sha256="2" * 64, key_size=1024), replace(RSA_SIGNER, key_size=size))[::order]:
        seen.signer(each)
    (finding,) = seen.leaf(replace(SIGNED_BY_RSA, curve="P-384", key_size=384)).said("pki-signer-strength")
    assert finding.severity == severity
    assert f"its signer's (RSA {size})" in finding.message


def test_a_key_that_can_be_chosen_under_one_of_its_names_can_be_chosen() -> None:
    seen = Seen().signer(RSA_SIGNER)
    kubelets = replace(NAME, name="kubelet-serving", owner=Owner(name="kubelet", implements=False))
    seen.across.add(HeldCertificate(facts=SIGNED_BY_RSA, place=secret("n")), classified(NAME, kubelets), "n")
    (finding,) = seen.said("pki-signer-strength")
    assert finding.severity == "low"
    assert finding.fix == "configure a key for signers that is as strong, or a smaller one here"


def test_only_certificates_of_one_name_and_key_are_signed_across() -> None:
    across = replace(SIGNER, sha256="2" * 64, issuer="CN=other")
    renamed = replace(SIGNER, sha256="3" * 64, issuer="CN=other", subject="CN=renamed")
    rekeyed = replace(SIGNER, sha256="4" * 64, issuer="CN=other", key_sha256="ee" * 32)
    seen = Seen()
    for each in (SIGNER, across, renamed, rekeyed):
        seen.signer(each)
    assert [each.sha256 for each in seen.across.crossed(SIGNER)] == [across.sha256]
    assert seen.across.first_made(SIGNER) == SIGNER.not_before
    assert (seen.across.first_made(renamed), seen.across.crossed(replace(SIGNER, is_ca=False))) == (None, ())


def test_what_users_made_or_nobody_found_the_signer_of_is_compared_with_nothing() -> None:
    assert Seen().signer(RSA_SIGNER).leaf(SIGNED_BY_RSA, ours=False).said("pki-signer-strength") == []
    assert Seen().leaf(SIGNED_BY_RSA).said("pki-signer-strength") == []
    # Anybody can call a CA of theirs etcd-signer.
    assert Seen().signer(RSA_SIGNER, ours=False).leaf(SIGNED_BY_RSA).said("pki-signer-strength") == []


def test_a_signature_that_no_signer_of_that_name_can_have_made() -> None:
    (finding,) = Seen().signer(RSA_SIGNER).leaf(LEAF).said("pki-signature")
    assert (finding.verdict, finding.severity) == ("fail", "medium")
    assert "signed with ecdsa-with-SHA256, and its signer has a key of RSA" in finding.message
    assert Seen().signer(RSA_SIGNER).leaf(SIGNED_BY_RSA).said("pki-signature") == []
    assert len(Seen().signer(RSA_SIGNER, ours=False).leaf(LEAF, ours=False).said("pki-signature")) == 1


def test_signers_beyond_the_limit_are_compared_with_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scanner.pki.inventory_index._SIGNERS", 2)
    first = (replace(RSA_SIGNER, subject=f"CN=s{number}", sha256=f"{number:064}") for number in range(2))
    few, many = Seen().signer(next(first)), Seen()
    assert len(few.signer(RSA_SIGNER).leaf(SIGNED_BY_RSA).said("pki-signer-strength")) == 1
    for each in range(2):
        many.signer(replace(RSA_SIGNER, subject=f"CN=s{each}", sha256=f"{each:064}"))
    assert many.signer(RSA_SIGNER).leaf(SIGNED_BY_RSA).said("pki-signer-strength") == []


# --- Keys that several have -------------------------------------------------------------------------------------------

MINE = replace(LEAF, subject="CN=web", dns_names=("web.shop.svc",), key_sha256="cc" * 32)
REISSUED = other(MINE, 77)
"""The same key for the same names: cert-manager may keep the key of a certificate that it renews."""
FOREIGN = other(MINE, 78, subject="CN=other", dns_names=("other.example",))


def test_a_key_in_two_namespaces_fails() -> None:
    seen = Seen().add(MINE, secret("shop"), "shop").add(MINE, secret("till"), "till")
    (finding,) = seen.said("pki-key-reuse")
    assert (finding.verdict, finding.severity) == ("fail", "medium")
    assert finding.observed == ("shop: Secret/shop/x data[tls.crt]", "till: Secret/till/x data[tls.crt]")
    assert finding.about == f"key with SHA-256 {'cc' * 32}"


def test_a_key_for_two_names_fails_also_in_one_namespace() -> None:
    (finding,) = (
        Seen().add(MINE, secret("shop"), "shop").add(FOREIGN, secret("shop", "y"), "shop").said("pki-key-reuse")
    )
    assert finding.severity == "low"
    assert finding.evidence == ("made out to CN=other", "made out to CN=web")


def test_of_seven_holders_of_one_key_five_are_named() -> None:
    seen = Seen()
    for number in range(7):
        seen.add(MINE, secret(f"n{number}"), f"n{number}")
    (finding,) = seen.said("pki-key-reuse")
    assert "7 namespaces use it" in finding.message
    assert (len(finding.observed), finding.observed[-1]) == (6, "and 2 more")
    assert finding.expected == ("a key of its own for each",)


def test_what_is_no_reuse() -> None:
    seen = Seen().add(MINE, secret("shop"), "shop").add(REISSUED, secret("shop", "y"), "shop")
    assert seen.said("pki-key-reuse") == []
    copied = Seen().add(LEAF, secret("openshift-etcd"), "openshift-etcd")
    copied.add(LEAF, secret("openshift-kube-apiserver"), "openshift-kube-apiserver")
    assert copied.said("pki-key-reuse") == []
    bundles = Seen().signer(SIGNER).add(SIGNER, secret("a", role="trusted"), "a").add(SIGNER, secret("b"), "b")
    assert bundles.said("pki-key-reuse") == []
    trusted = Seen().add(MINE, secret("a", role="trusted"), "a").add(MINE, secret("b", role="issuer"), "b")
    assert trusted.said("pki-key-reuse") == []
    unread = replace(MINE, key_sha256=None)
    assert Seen().add(unread, secret("a"), "a").add(unread, secret("b"), "b").said("pki-key-reuse") == []
    given = Seen().add(MINE, Place(role="leaf", file="a.pem"), None).add(MINE, Place(role="leaf", file="b.pem"), None)
    assert given.said("pki-key-reuse") == []


def test_what_hypershift_copies_is_the_platforms() -> None:
    seen = Seen().add(MINE, secret("clusters-a", role="client"), "clusters-a")
    assert seen.add(MINE, secret("clusters-b", role="client"), "clusters-b").said("pki-key-reuse") == []


@pytest.mark.parametrize("order", [1, -1])
def test_the_router_that_serves_a_routes_certificate_has_no_other_key(order: int) -> None:
    places = [(secret("shop"), "shop"), (served("Deployment/openshift-ingress/router:443"), "openshift-ingress")]
    seen = Seen()
    for place, namespace in places[::order]:
        seen.add(MINE, place, namespace)
    assert seen.said("pki-key-reuse") == []


def test_a_listener_of_another_namespace_that_serves_what_a_secret_has_is_no_reuse() -> None:
    seen = Seen().add(MINE, secret("shop"), "shop").add(MINE, served("Deployment/till/t:443"), "till")
    assert seen.said("pki-key-reuse") == []


def test_listeners_of_two_namespaces_with_one_key_that_no_object_holds_are_low() -> None:
    seen = (
        Seen().add(MINE, served("Deployment/shop/web:443"), "shop").add(MINE, served("Deployment/till/t:443"), "till")
    )
    (finding,) = seen.said("pki-key-reuse")
    assert finding.severity == "low"
    assert "unless one of them passes connections through" in finding.message
    assert seen.said("pki-key-reuse") == [finding]


def test_what_the_platforms_router_passes_through_has_no_other_key() -> None:
    seen = Seen().add(MINE, served("Deployment/shop/web:443"), "shop")
    assert seen.add(MINE, served("Deployment/openshift-ingress/r:443"), "openshift-ingress").said("pki-key-reuse") == []


def test_a_users_copy_of_a_key_of_the_platform_fails() -> None:
    seen = Seen().add(LEAF, secret("openshift-etcd"), "openshift-etcd").add(LEAF, secret("shop"), "shop")
    (finding,) = seen.said("pki-key-reuse")
    assert finding.severity == "medium"
    assert any(each.startswith(PLATFORM) for each in finding.observed)


SIGNATURE_SIGNER = replace(LEAF, subject="CN=etcd-signer", issuer="CN=etcd-signer", is_ca=True, sha256="cd" * 32)
SIGNATURE_RSA_SIGNER = replace(SIGNATURE_SIGNER, key_algorithm="RSA", key_size=2048, curve=None)
SHA1 = replace(LEAF, signature="sha1WithRSAEncryption", signature_hash="SHA1")


@pytest.mark.parametrize("signature", sorted({name for name, _ in SIGNATURES.values()}))
def test_every_signature_has_a_key_that_can_make_it(signature: str) -> None:
    assert signs(signature) in set(KEY_ALGORITHMS.values())
    able = {key for key in KEY_ALGORITHMS.values() if can_sign(key, signature)}
    assert able == ({"RSA", "RSA-PSS"} if signature == "id-RSASSA-PSS" else {signs(signature)})


@pytest.mark.parametrize(("key", "signature"), [("1.2.3", "ecdsa-with-SHA256"), ("RSA", "1.2.3.4")])
def test_what_is_not_known_is_not_decided(key: str, signature: str) -> None:
    assert can_sign(key, signature) is None


@pytest.mark.parametrize(
    ("facts", "chain"),
    [
        (LEAF, ()),
        (LEAF, (SIGNATURE_SIGNER,)),
        (replace(LEAF, signature="sha256WithRSAEncryption"), (SIGNATURE_RSA_SIGNER,)),
        (replace(LEAF, signature="id-RSASSA-PSS"), (SIGNATURE_RSA_SIGNER,)),
        (
            replace(SIGNATURE_SIGNER, signature_hash="SHA1", signature="ecdsa-with-SHA1"),
            (),
        ),  # on itself it proves nothing
        (LEAF, (replace(SIGNATURE_SIGNER, key_algorithm=None),)),
    ],
)
def test_signatures_without_fault(facts: CertificateFacts, chain: tuple[CertificateFacts, ...]) -> None:
    assert list(SIGNATURE.check(SIGNATURE, subject(facts, chain=chain))) == []


@pytest.mark.parametrize(
    ("facts", "chain", "words"),
    [
        (SHA1, (), "it is signed with sha1WithRSAEncryption"),
        (replace(SHA1, signature="md5WithRSAEncryption", signature_hash="MD5"), (), "md5WithRSAEncryption"),
        (LEAF, (SIGNATURE_RSA_SIGNER,), "signed with ecdsa-with-SHA256, and its signer has a key of RSA"),
        (
            replace(SIGNATURE_RSA_SIGNER, signature="Ed25519", signature_hash=None),
            (),
            "signed with Ed25519, and its signer has",
        ),
    ],
)
def test_signatures_that_fail(facts: CertificateFacts, chain: tuple[CertificateFacts, ...], words: str) -> None:
    for told in (classified(), classified(governed=False)):
        (finding,) = SIGNATURE.check(SIGNATURE, subject(facts, chain=chain, told=told))
        assert (finding.verdict, finding.severity) == ("fail", "medium")
        assert words in finding.message
        as_asked = ((), "reissue it with the current key of its signer")
        weak = (("SHA-256 or better",), "reissue it with SHA-256 or better")
        assert (finding.expected, finding.fix) == (as_asked if "its signer" in words else weak)


def test_a_served_one_is_left_to_cert_signature_and_a_trusted_one_alone() -> None:
    assert list(SIGNATURE.check(SIGNATURE, subject(SHA1, place=SERVED))) == []
    assert list(SIGNATURE.check(SIGNATURE, subject(SHA1, place=replace(SECRET, role="trusted")))) == []
    (finding,) = SIGNATURE.check(SIGNATURE, subject(LEAF, place=SERVED, chain=(SIGNATURE_RSA_SIGNER,)))
    assert finding.verdict == "fail"


@pytest.mark.parametrize("field", ["signature", "signature_hash"])
def test_what_cannot_be_read_is_never_a_pass(field: str) -> None:
    odd = replace(LEAF, unreadable={field: "odd"}, **{field: None})  # type: ignore[arg-type] # a field that may be None
    (finding,) = SIGNATURE.check(SIGNATURE, subject(odd))
    assert (finding.verdict, finding.status) == ("inconclusive", "not-tested")
    assert "odd" in finding.message


@pytest.mark.parametrize("name", ["ML-DSA-65", "SLH-DSA-SHA2-128s"])
def test_what_no_quantum_computer_breaks_is_named(name: str) -> None:
    facts = replace(LEAF, signature=name, signature_hash=None)
    (finding,) = SIGNATURE.check(SIGNATURE, subject(facts, chain=(replace(SIGNATURE_SIGNER, key_algorithm=name),)))
    assert (finding.verdict, finding.status) == ("pass", "informational")
    assert name in finding.message
