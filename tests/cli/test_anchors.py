"""The trust anchors that a user gives, and those of this system."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from ssl import DER_cert_to_PEM_cert

import pytest
from cryptography import x509

from scanner.cli import targets
from scanner.cli.targets import load_anchors, public_anchors
from scanner.errors import InputError, ResourceError
from tests.certs import Authority

pytestmark = pytest.mark.crypto


def test_every_certificate_of_a_bundle_and_nothing_else(tmp_path: Path) -> None:
    first, second = Authority("First"), Authority("Second", key="rsa2048")
    bundle = tmp_path / "ca.pem"
    bundle.write_bytes(
        b"# First\n" + first.pem + b"\nwords between\r\n" + second.pem + first.leaf(names=("a",)).key_pem
    )
    found, source = load_anchors(str(bundle))
    assert found == (first.der, second.der)
    assert source == str(bundle)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "contains no certificate"),
        (b"\x00\xff" * 50, "contains no certificate"),
        (b"-----BEGIN CERTIFICATE-----\n", "certificate 1 cannot be read"),
        (b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "certificate 1 cannot be read"),
        (b"-----BEGIN CERTIFICATE-----\n\xff\xfe\n-----END CERTIFICATE-----\n", "certificate 1 cannot be read"),
    ],
)
def test_what_is_no_bundle(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "ca.pem"
    path.write_bytes(content)
    with pytest.raises(InputError, match=says) as raised:
        load_anchors(str(path))
    assert raised.value.message.startswith(f"{path}: ")


def test_the_bad_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    path.write_bytes(Authority("Good").pem + b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    with pytest.raises(InputError, match="certificate 2 cannot be read"):
        load_anchors(str(path))


def test_unreadable(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(InputError, match="cannot read the trust anchors"):
            load_anchors(str(path))


def test_a_file_without_end_is_not_read_to_its_end() -> None:
    with pytest.raises(InputError, match="larger than"):
        load_anchors("/dev/zero")


def test_the_system_bundle_may_have_odd_ones(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nobody who scans can mend it; what can be read in it is used."""
    good = Authority("Good")
    bundle = tmp_path / "system.pem"
    bundle.write_bytes(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n" + good.pem)
    monkeypatch.setattr(targets, "_system_bundle", lambda: bundle)
    assert public_anchors() == (good.der,)
    assert load_anchors("system") == ((good.der,), str(bundle))


def test_a_system_without_a_bundle(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> Path:
        raise ResourceError("none")

    monkeypatch.setattr(targets, "_system_bundle", none)
    assert public_anchors() == ()
    with pytest.raises(ResourceError):
        load_anchors("system")


def test_a_negative_serial_number_is_no_reason_to_warn(tmp_path: Path) -> None:
    """Old public roots have one. cryptography warns of it now, and means to refuse it in releases to come."""
    authority = Authority("Negative")
    number = authority.certificate.serial_number
    serial = number.to_bytes(number.bit_length() // 8 + 1)  # as DER has it
    der = authority.der.replace(serial, b"\x80" + serial[1:], 1)
    with pytest.raises((Warning, ValueError)):
        x509.load_der_x509_certificate(der)
    path = tmp_path / "ca.pem"
    path.write_text(DER_cert_to_PEM_cert(der))
    with suppress(InputError):
        assert load_anchors(str(path))[0] == (der,)
