"""Hellos of ``client_hello``, parsed by the codec."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
from hypothesis import given
from hypothesis import strategies as st

from scanner.probe import candidates
from scanner.probe.exchange import ALL_SCHEMES, BAD_LENGTHS, LEAN_SCHEMES, client_hello
from scanner.probe.offers import Offer
from scanner.probe.session import in_other_shape
from scanner.tls import codepoints as c
from scanner.tls import extensions as ext
from scanner.tls.client_hello import ClientHello, Ssl2ClientHello
from scanner.tls.codepoints import SSL2, SSL3, TLS10, TLS11, TLS12, TLS13
from scanner.tls.records import HANDSHAKE, RecordReader
from scanner.values import replace
from tests.tls.hello_codecs import (
    pull_ec_point_formats,
    pull_key_share,
    pull_psk_key_exchange_modes,
    pull_renegotiation_info,
    pull_signature_algorithms,
    pull_supported_groups,
    pull_supported_versions,
)

pytestmark = pytest.mark.crypto

RANDOM = bytes(range(32))
NAME = "listener.example"

EVERY_HELLO = [
    *(c.SERVER_NAME, c.EXTENDED_MASTER_SECRET, c.RENEGOTIATION_INFO, c.SUPPORTED_GROUPS),
    *(c.EC_POINT_FORMATS, c.SESSION_TICKET, c.SIGNATURE_ALGORITHMS),
]
USUAL_HELLO = [*EVERY_HELLO, c.ENCRYPT_THEN_MAC]
OTHER_HELLO = [
    *(each for each in EVERY_HELLO if each != c.RENEGOTIATION_INFO),
    *(c.ALPN, c.STATUS_REQUEST, c.STATUS_REQUEST_V2, c.SIGNED_CERTIFICATE_TIMESTAMP, c.RECORD_SIZE_LIMIT),
    c.SIGNATURE_ALGORITHMS_CERT,
]
TLS13_HELLO = [*EVERY_HELLO, c.SUPPORTED_VERSIONS, c.KEY_SHARE, c.PSK_KEY_EXCHANGE_MODES]


def wide(version: int) -> Offer:
    return Offer("wide", version, candidates.suites(version), candidates.groups(version) if version > SSL3 else ())


def lean(version: int) -> Offer:
    suites = candidates.suites(TLS13) if version == TLS13 else candidates.LEAN_SUITES
    return Offer("lean", version, suites, candidates.groups(version) if version > SSL3 else (), lean=True)


def message(sent: bytes) -> bytes:
    """The handshake message of ``sent``, whatever records carry it."""
    records = list(RecordReader().feed(sent))
    assert {record.content_type for record in records} == {HANDSHAKE}
    return b"".join(record.fragment for record in records)


def decoded(offer: Offer, name: str | None = NAME) -> ClientHello:
    return ClientHello.decode(message(client_hello(offer, name, RANDOM)))


def types(hello: ClientHello) -> list[int]:
    return [extension.type for extension in hello.extensions or ()]


def pulled(hello: ClientHello, number: int) -> bytes:
    data = ext.find(hello.extensions, number)
    assert data is not None
    return data


@pytest.mark.parametrize("version", [TLS10, TLS11, TLS12])
def test_up_to_tls12(version: int) -> None:
    hello = decoded(wide(version))
    assert hello.version == version
    assert hello.random == RANDOM
    assert hello.session_id == b""
    assert hello.compression == b"\x00"
    assert hello.suites == candidates.suites(version)
    assert types(hello) == [*USUAL_HELLO, c.PADDING]


@pytest.mark.parametrize("version", [TLS10, TLS11, TLS12])
def test_the_other_shape(version: int) -> None:
    """What it has not may be the reason for a refusal, and so may what the usual one has not."""
    hello = decoded(in_other_shape(wide(version), ("h2", "http/1.1")))
    assert types(hello) == [*OTHER_HELLO, c.PADDING]
    assert hello.suites == (*candidates.suites(version), c.EMPTY_RENEGOTIATION_INFO_SCSV)
    assert pull_ec_point_formats(pulled(hello, c.EC_POINT_FORMATS)) == b"\x00"
    groups = pull_supported_groups(pulled(hello, c.SUPPORTED_GROUPS))
    assert groups == tuple(code for code in candidates.groups(version) if code < 0x0100)
    assert pulled(hello, c.ALPN) == bytes.fromhex("000c 026832 08687474702f312e31")
    assert pulled(hello, c.STATUS_REQUEST) == bytes.fromhex("01 0000 0000")
    assert pulled(hello, c.STATUS_REQUEST_V2) == bytes.fromhex("000e 02 0004 00000000 01 0004 00000000")
    assert pulled(hello, c.SIGNED_CERTIFICATE_TIMESTAMP) == b""
    assert pulled(hello, c.RECORD_SIZE_LIMIT) == bytes.fromhex("4000")
    assert pull_signature_algorithms(pulled(hello, c.SIGNATURE_ALGORITHMS_CERT)) == LEAN_SCHEMES
    assert set(types(decoded(in_other_shape(lean(version), ())))) < {*OTHER_HELLO, c.PADDING}


def test_of_tls13_the_other_shape_differs_only_in_alpn() -> None:
    other = in_other_shape(wide(TLS13), ("h2",))
    assert types(decoded(replace(other, alpn=()))) == types(decoded(wide(TLS13)))
    assert pulled(decoded(other), c.ALPN) == bytes.fromhex("0003 026832")


@pytest.mark.parametrize("names", [(), ("",), ("x" * 256,), ("ü",)])
def test_a_protocol_that_cannot_be_sent_is_the_callers_mistake(names: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"ascii|1 to 255"):
        ext.push_alpn(names)


def test_tls13() -> None:
    hello = decoded(wide(TLS13))
    assert hello.version == TLS12
    assert hello.session_id == RANDOM
    assert hello.suites == candidates.suites(TLS13)
    assert types(hello) == [*TLS13_HELLO, c.PADDING]
    assert pull_supported_versions(pulled(hello, c.SUPPORTED_VERSIONS)) == (TLS13,)
    assert pull_psk_key_exchange_modes(pulled(hello, c.PSK_KEY_EXCHANGE_MODES)) == b"\x01"
    assert pull_key_share(pulled(hello, c.KEY_SHARE)) == ()


def test_two_shares_where_they_are_asked_for() -> None:
    shares = dict(pull_key_share(pulled(decoded(replace(wide(TLS13), shares="common")), c.KEY_SHARE)))
    assert {group: len(key) for group, key in shares.items()} == {0x001D: 32, 0x0017: 65}
    EllipticCurvePublicKey.from_encoded_point(SECP256R1(), shares[0x0017])  # raises where the point is not on the curve


@given(st.data())
def test_shares_stand_in_the_order_of_the_groups(data: st.DataObject) -> None:
    """RFC 8446, section 4.2.8: "in the same order" as in supported_groups, and none for a group that is not there."""
    groups = tuple(data.draw(st.permutations((0x0017, 0x0018, 0x001D, 0x11EC)))[: data.draw(st.integers(1, 4))])
    hello = decoded(replace(wide(TLS13), groups=groups, shares="common"))
    shares = [group for group, _ in pull_key_share(pulled(hello, c.KEY_SHARE))]
    assert shares == [group for group in groups if group in (0x0017, 0x001D)]


@pytest.mark.parametrize("version", [TLS10, TLS11, TLS12])
def test_no_hello_without_tls13_names_a_hybrid_and_each_names_finite_fields(version: int) -> None:
    for offer in (wide(version), lean(version)):
        groups = set(pull_supported_groups(pulled(decoded(offer), c.SUPPORTED_GROUPS)))
        assert not {group for group in groups if group > 0x0104}
        assert groups >= {0x0100, 0x0101, 0x0102, 0x0103, 0x0104}


def test_likely_signature_schemes_stand_first() -> None:
    """wolfSSL 5.7 stops reading between the 16th and the 21st."""
    assert {0x0403, 0x0503, 0x0603, 0x0804, 0x0805, 0x0806, 0x0401, 0x0501, 0x0601, 0x0807} <= {*ALL_SCHEMES[:15]}
    assert sorted(ALL_SCHEMES) == sorted(c.SIGNATURE_SCHEMES)
    assert ALL_SCHEMES[: len(LEAN_SCHEMES)] == LEAN_SCHEMES


@pytest.mark.parametrize("version", [TLS10, TLS11, TLS12, TLS13])
def test_the_values_of_extensions(version: int) -> None:
    hello = decoded(wide(version))
    assert ext.pull_server_name(pulled(hello, c.SERVER_NAME)) == NAME
    assert pull_supported_groups(pulled(hello, c.SUPPORTED_GROUPS)) == candidates.groups(version)
    assert pull_signature_algorithms(pulled(hello, c.SIGNATURE_ALGORITHMS)) == ALL_SCHEMES
    formats = pull_ec_point_formats(pulled(hello, c.EC_POINT_FORMATS))
    assert formats == (b"\x00" if version == TLS13 else b"\x00\x01\x02")
    assert pull_renegotiation_info(pulled(hello, c.RENEGOTIATION_INFO)) == b""
    assert pulled(hello, c.EXTENDED_MASTER_SECRET) == pulled(hello, c.SESSION_TICKET) == b""


def test_no_name_no_extension_and_no_dot_at_the_end() -> None:
    assert c.SERVER_NAME not in types(decoded(wide(TLS12), None))
    assert ext.pull_server_name(pulled(decoded(wide(TLS12), f"{NAME}."), c.SERVER_NAME)) == NAME


@pytest.mark.parametrize("name", ["bücher.example", "."])
def test_a_name_that_cannot_be_sent_is_the_callers_mistake(name: str) -> None:
    with pytest.raises(ValueError, match=r"ascii|empty"):
        client_hello(wide(TLS12), name, RANDOM)


@pytest.mark.parametrize("version", [TLS10, TLS11, TLS12, TLS13])
def test_nothing_that_servers_refuse_or_that_would_tell_another_story(version: int) -> None:
    hello = decoded(wide(version))
    assert c.ALPN not in types(hello)
    assert c.FALLBACK_SCSV not in hello.suites


@pytest.mark.parametrize("version", [TLS10, TLS11, TLS12, TLS13])
def test_the_last_extension_is_never_empty(version: int) -> None:
    """Some old servers refuse a hello whose last extension has no data."""
    for offer in (wide(version), lean(version)):
        extensions = decoded(offer).extensions
        assert extensions
        assert extensions[-1].data


@given(st.data())
def test_every_hello_of_a_version_has_the_same_extensions(data: st.DataObject) -> None:
    """Only suites, groups and the padding may differ between the two hellos of a minimal pair (design, rule 5)."""
    version = data.draw(st.sampled_from([TLS10, TLS11, TLS12, TLS13]))
    full = wide(version)
    suites = data.draw(st.lists(st.sampled_from(full.suites), min_size=1, unique=True))
    groups = data.draw(st.lists(st.sampled_from(full.groups), min_size=1, unique=True))
    fewer = replace(full, suites=tuple(suites), groups=tuple(groups), padding=data.draw(st.integers(0, 900)))
    assert types(decoded(fewer)) == types(decoded(full))
    for extension, other in zip(decoded(fewer).extensions or (), decoded(full).extensions or (), strict=True):
        if extension.type not in (c.SUPPORTED_GROUPS, c.PADDING):
            assert extension == other


@given(st.data())
def test_a_minimal_pair_has_equal_lengths(data: st.DataObject) -> None:
    version = data.draw(st.sampled_from([TLS10, TLS11, TLS12, TLS13]))
    room = data.draw(st.integers(1, len(candidates.suites(version))))
    left = data.draw(st.integers(0, room))
    name = data.draw(st.none() | st.sampled_from([NAME, "a.example", f"{'x' * 60}.example"]))
    mixed = replace(wide(version), suites=candidates.suites(version)[:room])
    alone = replace(mixed, suites=mixed.suites[:left], padding=2 * (room - left))
    assert len(client_hello(mixed, name, RANDOM)) == len(client_hello(alone, name, RANDOM))


@given(st.data())
def test_no_hello_has_a_length_that_hangs_old_balancers(data: st.DataObject) -> None:
    version = data.draw(st.sampled_from([TLS10, TLS11, TLS12, TLS13]))
    offer = Offer(
        "some",
        version,
        candidates.suites(version)[: data.draw(st.integers(0, 300))],
        candidates.groups(version)[: data.draw(st.integers(0, 40))],
        padding=data.draw(st.integers(0, 600)),
        lean=data.draw(st.booleans()),
    )
    name = data.draw(st.none() | st.integers(1, 63).map("x".__mul__))
    assert len(message(client_hello(offer, name, RANDOM))) not in BAD_LENGTHS


@pytest.mark.parametrize("version", [SSL3, TLS10, TLS11, TLS12])
def test_a_lean_hello_is_short(version: int) -> None:
    sent = message(client_hello(lean(version), NAME, RANDOM))
    assert len(sent) < BAD_LENGTHS.start
    if version > SSL3:
        hello = ClientHello.decode(sent)
        assert pull_signature_algorithms(pulled(hello, c.SIGNATURE_ALGORITHMS)) == LEAN_SCHEMES
        assert types(hello) == [each for each in types(decoded(wide(version))) if each != c.SESSION_TICKET]


def test_sslv3_has_no_extensions_and_says_that_renegotiation_is_secure_by_a_suite() -> None:
    hello = decoded(wide(SSL3))
    assert hello.version == SSL3
    assert hello.extensions is None
    assert hello.suites == (*candidates.suites(SSL3), c.EMPTY_RENEGOTIATION_INFO_SCSV)


@pytest.mark.parametrize(
    ("version", "record"), [(SSL3, SSL3), (TLS10, TLS10), (TLS11, TLS10), (TLS12, TLS10), (TLS13, TLS10)]
)
def test_the_record_claims_an_old_version(version: int, record: int) -> None:
    """RFC 8446, section 5.1 and RFC 5246, appendix E.1: servers must not look at it, and some do."""
    assert {one.version for one in RecordReader().feed(client_hello(wide(version), NAME, RANDOM))} == {record}


def test_sslv2_has_a_form_of_its_own() -> None:
    sent = client_hello(Offer("SSLv2", SSL2, (), ()), NAME, RANDOM)
    hello = Ssl2ClientHello.decode(sent)
    assert hello.version == SSL2
    assert hello.suites == tuple(cipher.code for cipher in c.SSL2_CIPHERS)
    assert hello.challenge == RANDOM[:16]
    assert hello.session_id == b""
