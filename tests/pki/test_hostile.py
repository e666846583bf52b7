"""No rule stumbles over a certificate, whatever it says and whatever of it cannot be read; and none passes for it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.config.certificate_names import load_names
from scanner.kube.tls_profile import Profile
from scanner.model.held_certificate import HeldCertificate, Place
from scanner.model.scan_policy import CertificateMinimums, ScanPolicy
from scanner.pki.inventory_index import InventoryIndex
from scanner.pki.listener_profile import Serving
from scanner.pki.recognition import classify
from scanner.pki.rules import CERTIFICATE_RULES, of_all, of_certificate, of_listener
from scanner.pki.subject import Subject
from scanner.tls.certificate import CertificateFacts, parse_certificate
from scanner.tls.codepoints import TLS12
from scanner.values import replace
from tests.pki.subjects import CONFIG, LEAF, NOW, SECRET, SERVED, classified, subject
from tests.properties import at_most
from tests.tls.der_values import element, odd

pytestmark = pytest.mark.crypto

NAMES = load_names()
POLICY = ScanPolicy(
    certificates=CertificateMinimums(
        rsa_bits=2048, curves=("P256",), signatures=("ecdsa-with-SHA256",), longest_days=4000
    )
)
TEXT = st.none() | st.text(max_size=20) | st.just("CN=" + "x" * 5000)
NAMES_IN = st.none() | st.tuples(st.text(max_size=20)) | st.just(())
TIME = st.none() | st.sampled_from([NOW, datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, tzinfo=UTC)])
NUMBER = st.none() | st.integers(-1, 2**20)
FACTS = st.builds(
    lambda **said: replace(LEAF, **said, unreadable={name: "odd" for name, value in said.items() if value is None}),
    subject=TEXT,
    issuer=TEXT,
    serial=NUMBER,
    dns_names=NAMES_IN,
    ip_addresses=NAMES_IN,
    other_names=NAMES_IN,
    not_before=TIME,
    not_after=TIME,
    key_algorithm=st.none() | st.sampled_from(["RSA", "ECDSA", "DSA", "Ed25519", "ML-DSA-65", "1.2.3", ""]),
    key_size=NUMBER,
    curve=st.none() | st.sampled_from(["P-256", "1.2.3", ""]),
    key_sha256=st.none() | st.just("ab" * 32),
    signature=st.none() | st.sampled_from(["ecdsa-with-SHA256", "sha1WithRSAEncryption", "Ed25519", "1.2.3", ""]),
    signature_hash=st.none() | st.sampled_from(["SHA1", "SHA256", ""]),
    is_ca=st.none() | st.booleans(),
    extended_key_usage=NAMES_IN,
)
PLACES = st.sampled_from([SECRET, SERVED, replace(SECRET, role="trusted"), Place(role="client", file="a.pem")])


@at_most(300)
@given(facts=FACTS, behind=FACTS, place=PLACES)
def test_whatever_it_says_every_rule_has_an_answer(
    facts: CertificateFacts, behind: CertificateFacts, place: Place
) -> None:
    held = HeldCertificate(facts=facts, place=place, chain=(behind,))
    told = classify(held, NAMES)
    for config in (CONFIG, replace(CONFIG, since=None)):
        about = Subject(held=held, classified=told, config=config, now=NOW, policy=POLICY, lifetimes=NAMES.lifetimes)
        for finding in of_certificate(about):
            assert finding.message
            assert len(finding.message) < 2000
    across = InventoryIndex(NAMES)
    for each in (held, HeldCertificate(facts=replace(behind, sha256="1"), place=SECRET)):
        across.add(each, told, "shop")
        across.add(each, told, "till")
    assert all(each.verdict == "fail" for each in of_all(across))
    profile = Profile(name="p", min_version=TLS12, suites=(0x1301, 0xC02B), groups=None, source="s")
    list(of_listener(Serving(endpoint="x", profile=profile, leaves=((facts, told),), config=CONFIG)))


NOTHING = parse_certificate(b"no certificate")


@pytest.mark.parametrize("rule", CERTIFICATE_RULES, ids=lambda rule: rule.id)
@pytest.mark.parametrize("governed", [True, False, None])
def test_nothing_passes_that_cannot_be_read(rule: Any, governed: bool | None) -> None:  # noqa: ANN401 - a rule
    names = subject().classified.names if governed else ()
    about = subject(NOTHING, told=classified(*names, governed=governed), policy=POLICY)
    assert {each.verdict for each in rule.check(rule, about)} <= {"inconclusive"}


@pytest.mark.parametrize("field", [each for each in CertificateFacts.__struct_fields__ if each in NOTHING.unreadable])
def test_one_field_that_cannot_be_read_hides_no_failure_of_another(field: str) -> None:
    weak = odd(key=_small())
    facts = replace(weak, unreadable={field: "odd"}, **{field: None})  # type: ignore[arg-type] # each may be None
    about = subject(facts, told=classified(governed=False, why="a user's"), policy=POLICY)
    found = [each for each in of_certificate(about) if each.rule == "pki-minimum"]
    expected = {"inconclusive", "fail"} if field in ("key_algorithm", "key_size") else {"fail"}
    assert {each.verdict for each in found} <= expected
    assert found


def _small() -> bytes:
    number = ((1 << 1023) | 1).to_bytes(129, "big")
    oid = bytes.fromhex("06092a864886f70d010101")
    numbers = element(0x30, element(2, number), element(2, b"\x03"))
    return element(0x30, element(0x30, oid, element(5)), element(3, b"\x00", numbers))
