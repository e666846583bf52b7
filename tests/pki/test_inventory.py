"""The inventory: each certificate once, by the place that tells most of it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from scanner.kube.objects import Reference
from scanner.model.expectation import Because
from scanner.model.finding import Finding
from scanner.model.held_certificate import HeldCertificate, Place
from scanner.model.scan_policy import CertificateMinimums, ScanPolicy
from scanner.model.well_known import Names
from scanner.pki.inventory import Inventory, _because, collect
from scanner.values import replace
from tests.pki.inventories import NAMES, PKI_OBJECT, SECRET, inventory
from tests.pki.making import made

pytestmark = pytest.mark.crypto

LEAF = made("172.30.0.1", "kube-apiserver-localhost-signer", eku=("serverAuth",), sans=("localhost",))


def held(**place: object) -> HeldCertificate:
    return HeldCertificate(facts=LEAF, place=Place(role="leaf", **place))  # type: ignore[arg-type] # its fields


def test_one_certificate_in_many_places_is_one_entry() -> None:
    found = collect(inventory(), [held(file=f"{number}.pem") for number in range(9)])
    (entry,) = found.entries()
    assert entry.count == 9
    assert entry.places == [f"{number}.pem" for number in range(5)]
    assert entry.key is not None
    assert found.counts() == {("serving", "ECDSA P256"): 1}


def test_the_place_that_knows_it_tells_what_it_is_whenever_it_comes() -> None:
    for order in (1, -1):
        places = [held(file="a.pem"), held(reference=SECRET, field="data[tls.crt]"), held(endpoint="x", port=1)]
        (entry,) = collect(inventory(), places[::order]).entries()
        assert entry.name == "kube-apiserver-localhost-server"
        assert entry.classified.governed is True
        assert entry.count == 3


def test_the_listener_that_a_finding_names_does_not_depend_on_their_order() -> None:
    for order in (("a", "b", "c"), ("b", "c", "a"), ("c", "a", "b")):
        empty = inventory(policy=ScanPolicy(certificates=CertificateMinimums(curves=("P384",))))
        (entry,) = collect(empty, [held(endpoint=name, port=6443) for name in order]).entries()
        assert {each.about for each in entry.findings} == {"a"}


def test_what_is_only_served_comes_last_in_the_order_of_the_listeners() -> None:
    empty = inventory()
    places = (Place(role="leaf", endpoint="b"), Place(role="leaf", endpoint="a"), Place(role="leaf", file="z.pem"))
    for number, place in enumerate(places):
        empty.add(HeldCertificate(facts=replace(LEAF, sha256=str(number)), place=place))
    assert [each.sha256 for each in empty.entries()] == ["2", "1", "0"]


def test_what_the_configuration_asks_for_is_judged_once() -> None:
    found = collect(inventory(PKI_OBJECT), [held(reference=SECRET), held(endpoint="x", port=6443)])
    (finding,) = (each for each in found.findings() if each.rule == "pki-key")
    assert (finding.rule, finding.verdict, finding.status) == ("pki-key", "fail", "violation")
    assert finding.expected == ("RSA 4096",)


def test_without_a_configuration_there_is_nothing_to_say() -> None:
    found = collect(inventory(), [held(reference=SECRET)]).findings()
    assert [each.rule for each in found if each.rule == "pki-key"] == []


def test_a_key_that_cannot_be_read_is_counted_as_such() -> None:
    broken = HeldCertificate(facts=replace(LEAF, key_algorithm=None, sha256="0"), place=Place(role="leaf", file="x"))
    assert collect(inventory(), [broken]).counts() == {("serving", "unreadable"): 1}


SERVING, ON_NODES, MISSING = "kube-apiserver-localhost-server", "kubelet-node-client", "service-ca"


@pytest.mark.parametrize(
    ("names", "algorithm", "expected"),
    [
        ((SERVING,), "ECDSA", ([SERVING], [], [], [])),
        ((SERVING,), None, ([], [SERVING], [], [])),
        ((SERVING, ON_NODES), "ECDSA", ([SERVING], [], [], [ON_NODES])),
        ((SERVING, MISSING), "ECDSA", ([SERVING], [], [MISSING], [])),
    ],
    ids=["judged", "unknown", "elsewhere", "never seen"],
)
def test_coverage_is_complete_only_if_each_required_name_was_judged_or_is_elsewhere(
    names: tuple[str, ...], algorithm: str | None, expected: tuple[list[str], ...]
) -> None:
    only = Names(all=tuple(each for each in NAMES.all if each.name in names))
    certificate = HeldCertificate(
        facts=replace(LEAF, key_algorithm=algorithm), place=Place(role="leaf", reference=SECRET)
    )
    row = collect(inventory(PKI_OBJECT, only), [certificate]).name_coverage()
    assert row is not None
    assert (row["judged"], row["unknown"], row["never_seen"], row["elsewhere"]) == expected
    complete = not (row["unknown"] or row["never_seen"])
    assert (row["complete"], row["why"] == "") == (complete, complete)


def test_why_another_configuration_governs_comes_before_the_evidence() -> None:
    finding = Finding(
        rule="pki-key", severity="low", verdict="pass", status="ok", message="m", evidence=("by its Secret",)
    )
    step = Because(source="PKI/cluster", field="", said="it is hosted")
    assert _because(finding, step).evidence == ("PKI/cluster: it is hosted", "by its Secret")


def test_a_name_that_was_seen_is_nowhere_else() -> None:
    only = Names(all=tuple(replace(each, kept_elsewhere=True) for each in NAMES.all if each.name in (SERVING, MISSING)))
    row = collect(inventory(PKI_OBJECT, only), [held(reference=SECRET)]).name_coverage()
    assert row is not None
    assert (row["judged"], row["elsewhere"]) == ([SERVING], [MISSING])


@pytest.mark.parametrize(("pki", "unproven"), [(PKI_OBJECT, True), (None, False)])
def test_what_may_be_the_platforms_is_unproven_where_its_key_would_be_judged(
    pki: dict[str, object] | None, *, unproven: bool
) -> None:
    place = Place(role="leaf", reference=Reference(kind="Secret", namespace="openshift-x", name="own"))
    for where, expected in ((place, unproven), (Place(role="leaf", file="own.pem"), False)):
        (entry,) = collect(inventory(pki), [HeldCertificate(facts=made("x", "y"), place=where)]).entries()
        assert (entry.classified.governed, entry.unproven) == (None, expected)


# --- Signers that were signed across ----------------------------------------------------------------------------------

OLD, NEW = datetime(2025, 1, 1, tzinfo=UTC), datetime(2026, 10, 1, tzinfo=UTC)
SIGNER = replace(
    made("openshift-etcd_etcd-signer@1", ca=True), not_before=OLD, not_after=datetime(2035, 1, 1, tzinfo=UTC)
)
CROSSED = replace(SIGNER, sha256="c" * 64, issuer="CN=openshift-etcd_etcd-signer@2", not_before=NEW)
AGAIN = replace(SIGNER, sha256="d" * 64, not_before=NEW)
BUNDLE = Place(
    role="trusted",
    reference=Reference(kind="ConfigMap", namespace="openshift-etcd", name="etcd-ca-bundle"),
    field="data[ca-bundle.crt]",
)


def status_of(found: Inventory, sha256: str) -> list[str]:
    (entry,) = (each for each in found.entries() if each.sha256 == sha256)
    return [each.status for each in entry.findings if each.rule == "pki-key"]


@pytest.fixture
def following() -> Names:
    """The names, as when etcd's operator follows the PKI object."""
    etcd = [replace(each, owner=replace(each.owner, implements=True)) for each in NAMES.all]
    return replace(NAMES, all=tuple(etcd))


@pytest.mark.parametrize("order", [1, -1])
def test_a_signer_that_was_signed_across_is_as_old_as_its_key(following: Names, order: int) -> None:
    found = inventory(PKI_OBJECT, following)
    for facts in (SIGNER, CROSSED)[::order]:
        found.add(HeldCertificate(facts=facts, place=BUNDLE))
    # Changed on 2026-01-01: the key was made before, though the certificate by the new signer was made after.
    assert status_of(found, CROSSED.sha256) == ["pending-rotation"]
    assert status_of(found, SIGNER.sha256) == ["pending-rotation"]


def test_a_signer_that_signs_itself_anew_with_its_old_key_is_as_new_as_it_says(following: Names) -> None:
    found = inventory(PKI_OBJECT, following)
    for facts in (SIGNER, AGAIN, replace(CROSSED, key_sha256="0" * 64)):
        found.add(HeldCertificate(facts=facts, place=BUNDLE))
    assert status_of(found, AGAIN.sha256) == ["violation"]
    assert status_of(found, CROSSED.sha256) == ["violation"]
    assert status_of(found, SIGNER.sha256) == ["pending-rotation"]


@pytest.mark.parametrize(("in_secret", "superseded"), [((), {"old"}), (("old",), {"new"}), (("old", "new"), set())])
def test_of_two_signers_with_one_name_that_signs_whose_key_a_secret_has(
    in_secret: tuple[str, ...], superseded: set[str]
) -> None:
    found = inventory()
    for sha256, made_at in (("old", OLD), ("new", NEW)):
        facts = replace(SIGNER, sha256=sha256, key_sha256=sha256, not_before=made_at, subject=SIGNER.subject)
        found.add(HeldCertificate(facts=facts, place=BUNDLE))
        if sha256 in in_secret:
            secret = Reference(kind="Secret", namespace="openshift-etcd", name="etcd-signer")
            found.add(HeldCertificate(facts=facts, place=Place(role="leaf", reference=secret, field="data[tls.crt]")))
    assert {each.sha256 for each in found.entries() if each.superseded} == superseded


def test_what_shows_only_together_is_said_with_the_rest() -> None:
    route = Reference(kind="Route", namespace="shop", name="a")
    other = Reference(kind="Route", namespace="till", name="a")
    found = collect(inventory(), [held(reference=route), held(reference=other)])
    assert "pki-key-reuse" in {each.rule for each in found.findings()}
