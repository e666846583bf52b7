from __future__ import annotations

from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes

from scanner.judge.chain import MOST, by_subject, route
from tests.certs import Authority, slow_to_verify
from tests.judge.cases import NOW

pytestmark = pytest.mark.crypto

NAMES = ("a.example",)


@pytest.fixture(scope="module")
def authorities() -> list[Authority]:
    """A root and three below, each signed by the one before."""
    made = [Authority("CA 0", now=NOW)]
    for number in range(1, 4):
        made.append(Authority(f"CA {number}", now=NOW, issuer=made[-1]))
    return made


def test_the_way_is_found_in_any_order_and_says_what_is_on_it(authorities: list[Authority]) -> None:
    anchors = by_subject([authorities[0].certificate])
    leaf = authorities[3].leaf(names=NAMES).certificate
    one, two, three = (authority.certificate for authority in authorities[1:])
    foreign = Authority("Foreign", now=NOW).certificate
    for sent in ([three, two, one], [one, foreign, three, two], [two, two, one, one, three, three]):
        assert route(leaf, sent, anchors) == (three, two, one)


def test_the_shortest_way_to_any_anchor_is_taken(authorities: list[Authority]) -> None:
    anchors = by_subject([authorities[0].certificate, authorities[2].certificate])
    leaf = authorities[3].leaf(names=NAMES).certificate
    sent = [authority.certificate for authority in authorities[1:]]
    assert route(leaf, sent, anchors) == (authorities[3].certificate,)


@pytest.mark.parametrize("missing", [1, 2, 3])
def test_where_an_issuer_is_missing_it_is_named(authorities: list[Authority], missing: int) -> None:
    sent = [authority.certificate for number, authority in enumerate(authorities) if number not in (0, missing)]
    leaf = authorities[3].leaf(names=NAMES).certificate
    anchors = by_subject([authorities[0].certificate])
    assert route(leaf, sent, anchors) == f"the issuer is neither sent nor an anchor: CN=CA {missing}"


def _namesakes(authority: Authority, number: int) -> list[x509.Certificate]:
    """Certificates of one name and key, each of which could have signed every other."""
    name, key = authority.certificate.subject, authority.key
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .not_valid_before(NOW)
        .not_valid_after(NOW + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    )
    return [builder.serial_number(serial).sign(key, hashes.SHA256()) for serial in range(1, number + 1)]


def test_each_certificate_is_looked_at_once(authorities: list[Authority], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without that, a listener decides how long judging takes: the ways among namesakes are exponentially many."""
    looked = []

    def work(issuer: x509.Certificate) -> int:
        looked.append(issuer)
        return 1

    monkeypatch.setattr("scanner.judge.chain._work", work)
    evil = Authority("Evil", now=NOW)
    found = route(evil.leaf(names=NAMES).certificate, _namesakes(evil, MOST), by_subject([authorities[0].certificate]))
    assert found == "the chain ends in a root that is not among the anchors: CN=Evil"
    assert len(looked) <= MOST**2


def test_a_circle_ends(authorities: list[Authority]) -> None:
    one = Authority("One", now=NOW)
    two = Authority("Two", now=NOW, issuer=one)
    again = Authority("One", now=NOW, issuer=two)
    leaf = two.leaf(names=NAMES).certificate
    sent = [two.certificate, again.certificate, one.certificate] * 5
    assert isinstance(route(leaf, sent, by_subject([authorities[0].certificate])), str)


def test_an_anchor_of_the_right_name_and_another_key_does_not_fit(authorities: list[Authority]) -> None:
    namesake = Authority("CA 0", now=NOW)
    found = route(authorities[0].leaf(names=NAMES).certificate, [], by_subject([namesake.certificate]))
    assert found == "the signature does not verify with the key of this anchor: CN=CA 0"
    both = by_subject([namesake.certificate, authorities[0].certificate])
    assert route(authorities[0].leaf(names=NAMES).certificate, [], both) == ()


def test_a_key_whose_arithmetic_is_out_of_proportion_is_not_computed_with(authorities: list[Authority]) -> None:
    """An exponent as long as the modulus makes a signature cost four hundred usual ones to verify."""
    slow = slow_to_verify("CA 0")
    for sent, anchors in (([], [slow]), ([slow], [])):
        with pytest.raises(ValueError, match="too many signatures"):
            route(slow, sent, by_subject(anchors))
    leaf = authorities[0].leaf(names=NAMES).certificate
    assert route(leaf, [slow, slow_to_verify("Another")], by_subject([authorities[0].certificate])) == ()


def test_so_many_signatures_are_verified_and_no_more(authorities: list[Authority]) -> None:
    """An object decides how many anchors there are."""
    namesakes = [Authority("CA 0", now=NOW).certificate for _ in range(20)]
    leaf = authorities[0].leaf(names=NAMES).certificate
    assert isinstance(route(leaf, [], by_subject(namesakes[:19])), str)
    with pytest.raises(ValueError, match="too many signatures"):
        route(leaf, [], by_subject(namesakes))
