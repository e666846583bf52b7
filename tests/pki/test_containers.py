"""Every format of file that certificates are kept in, whole and broken."""

from __future__ import annotations

import base64
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    KeySerializationEncryption,
    NoEncryption,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import (
    PKCS12Certificate,
    serialize_java_truststore,
    serialize_key_and_certificates,
)
from hypothesis import given
from hypothesis import strategies as st

from scanner.model.pem import MOST
from scanner.pki.containers import MAX_BYTES, Contents, contents
from scanner.pki.keystores import MOST_ROUNDS
from tests.certs import Authority
from tests.pki import keystores
from tests.properties import at_most

pytestmark = pytest.mark.crypto

ROOT = Authority("Root")
MIDDLE = Authority("Middle", issuer=ROOT)
LEAF = MIDDLE.leaf(names=("web.example",))
CLIENT = ROOT.leaf(names=("client.example",), eku=("clientAuth",))
PASSWORD = b"open sesame"


def told(found: Contents) -> list[tuple[str, str, bytes]]:
    """Role, label and DER of each."""
    return [(each.role, each.label, each.facts.der) for each in found.certificates]


def p12(encryption: KeySerializationEncryption) -> bytes:
    return serialize_key_and_certificates(
        b"web", LEAF.key, LEAF.certificate, [ROOT.certificate, MIDDLE.certificate], encryption
    )


def kubeconfig(**user: str) -> bytes:
    fields = "".join(f"    {name.replace('_', '-')}: {value}\n" for name, value in user.items())
    ca = base64.b64encode(ROOT.pem).decode()
    return (
        "apiVersion: v1\nkind: Config\n"
        f"clusters:\n- name: prod\n  cluster:\n    server: https://api:6443\n    certificate-authority-data: {ca}\n"
        f"users:\n- name: admin\n  user:\n{fields}"
    ).encode()


def test_a_pem_file_with_text_around_and_the_key_in_it() -> None:
    found = contents(b"Bag Attributes\n" + LEAF.key_pem + b"subject=web\r\n" + LEAF.pem + b"the root:\n" + ROOT.pem)
    assert found.format == "PEM"
    assert told(found) == [("leaf", "1", LEAF.der), ("issuer", "2", MIDDLE.der), ("issuer", "3", ROOT.der)]
    assert [each.der for each in found.certificates[0].chain] == [MIDDLE.der, ROOT.der]
    assert found.problems == ()


def test_a_bundle_of_anchors_is_trusted_and_a_client_is_a_client() -> None:
    other = Authority("Other")
    assert [role for role, _, _ in told(contents(ROOT.pem + other.pem))] == ["trusted", "trusted"]
    assert [role for role, _, _ in told(contents(CLIENT.pem))] == ["client"]


def test_a_signer_with_its_key_is_a_leaf() -> None:
    assert [role for role, _, _ in told(contents(LEAF.key_pem + ROOT.pem))] == ["leaf"]


def test_older_labels_of_pem() -> None:
    # OpenSSL's TRUSTED CERTIFICATE has a SEQUENCE of purposes behind the certificate: here an empty one.
    trusted = base64.b64encode(ROOT.der + b"\x30\x00").decode()
    older = ROOT.pem.replace(b"CERTIFICATE", b"X509 CERTIFICATE").decode()
    text = f"-----BEGIN TRUSTED CERTIFICATE-----\n{trusted}\n-----END TRUSTED CERTIFICATE-----\n{older}"
    assert [der for _, _, der in told(contents(text.encode()))] == [ROOT.der, ROOT.der]


def test_a_broken_block_is_told_and_the_rest_is_read() -> None:
    broken = b"-----BEGIN CERTIFICATE-----\n***\n-----END CERTIFICATE-----\n"
    cut = b"-----BEGIN CERTIFICATE-----\nMIIB"
    found = contents(broken + ROOT.pem + cut)
    assert [der for _, _, der in told(found)] == [ROOT.der]
    assert found.problems == ("a certificate in PEM is not base64", "certificate 3 in PEM has no end")


def test_more_certificates_than_anybody_has_are_bounded() -> None:
    block = b"-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"
    found = contents(block * (MOST + 1))
    assert len(found.certificates) == MOST
    assert found.problems == (f"more than {MOST} certificates: the others were not read",)


def test_der() -> None:
    found = contents(LEAF.der)
    assert (found.format, told(found)) == ("DER", [("leaf", "", LEAF.der)])


def test_der_that_is_no_certificate_is_a_problem() -> None:
    found = contents(LEAF.der[:-1])
    assert found.certificates == ()
    assert found.problems[0].startswith("no certificate that can be read: ")


def test_der_of_which_the_subject_cannot_be_read_is_a_certificate_all_the_same() -> None:
    common_name = b"\x0c\x0bweb.example"
    assert LEAF.der.count(common_name) == 1
    found = contents(LEAF.der.replace(common_name, b"\xf3" + common_name[1:]))
    assert [each.facts.subject for each in found.certificates] == [None]


@pytest.mark.parametrize("password", [(), (b"wrong", PASSWORD)], ids=["without", "with"])
def test_pkcs12_with_and_without_a_password(password: tuple[bytes, ...]) -> None:
    found = contents(p12(BestAvailableEncryption(PASSWORD) if password else NoEncryption()), password)
    assert found.problems == ()
    assert found.format == "PKCS #12"
    assert told(found) == [("leaf", "alias web", LEAF.der), ("issuer", "2", MIDDLE.der), ("issuer", "3", ROOT.der)]
    assert [each.der for each in found.certificates[0].chain] == [MIDDLE.der, ROOT.der]


def test_pkcs12_with_a_serial_number_that_cryptography_warns_of() -> None:
    content, serial = p12(NoEncryption()), LEAF.der.index(b"\x02\x14") + 2
    start = content.index(LEAF.der) + serial
    body = content[4 : 11 + int.from_bytes(content[9:11], "big")]  # without the digest behind it
    body = body[: start - 4] + bytes((content[start] | 0x80,)) + body[start - 3 :]
    assert len(contents(b"\x30\x82" + len(body).to_bytes(2, "big") + body).certificates) == 3


def test_pkcs12_as_java_has_its_trust_stores() -> None:
    bag = PKCS12Certificate(ROOT.certificate, b"the root")
    found = contents(serialize_java_truststore([bag], BestAvailableEncryption(PASSWORD)), [PASSWORD])
    assert told(found) == [("trusted", "alias the root", ROOT.der)]


@pytest.mark.parametrize(("passwords", "words"), [((), "needs its password"), ((b"a", b"b"), "none of 2 passwords")])
def test_pkcs12_that_no_password_opens(passwords: tuple[bytes, ...], words: str) -> None:
    found = contents(p12(BestAvailableEncryption(PASSWORD)), passwords)
    assert found.certificates == ()
    assert len(found.problems) == 1
    assert words in found.problems[0]
    assert "--password-file" in found.problems[0]


@pytest.mark.parametrize(
    ("salt", "rounds", "are_too_many"),
    [
        (bytes(8), b"\x02\x04\x7f\xff\xff\xff", True),
        (bytes(8), b"\x02\x01\x01", False),
        # Octets that begin with no sequence are a salt, whatever numbers they seem to have.
        (b"\x04\x01\x00\x02\x04\x7f\xff\xff\xff", b"\x02\x01\x01", False),
        (b"\x30\x09\x04\x01\x00\x02\x04\x7f\xff\xff\xff", b"\x02\x01\x01", True),
        (b"", b"\x02\x01\x01", False),
    ],
)
def test_pkcs12_whose_rounds_would_take_an_hour_is_not_begun(salt: bytes, rounds: bytes, *, are_too_many: bool) -> None:
    def sequence(*parts: bytes) -> bytes:
        body = b"".join(parts)
        return b"\x30\x82" + len(body).to_bytes(2, "big") + body

    # PFX of version 3, no content, and MacData with a salt and 2^31 - 1 iterations.
    octets = b"\x04" + bytes((len(salt),)) + salt
    pfx = sequence(b"\x02\x01\x03", sequence(b"\x06\x01\x2a"), sequence(sequence(b"\x05\x00"), octets, rounds))
    (problem,) = contents(pfx).problems
    words = f"PKCS #12: more than {MOST_ROUNDS} rounds of key derivation: no valid file needs that"
    assert (problem == words) is are_too_many


@pytest.mark.parametrize(("depth", "words"), [(24, "PKCS #12: "), (25, "PKCS #12: it is nested too deep")])
def test_pkcs12_that_is_nested_too_deep_is_not_walked(depth: int, words: str) -> None:
    nested = b"\x05\x00"
    for _ in range(depth - 1):
        nested = b"\x30\x82" + len(nested).to_bytes(2, "big") + nested
    body = b"\x02\x01\x03" + nested
    (problem,) = contents(b"\x30\x82" + len(body).to_bytes(2, "big") + body).problems
    assert problem.startswith(words)
    assert ("nested too deep" in problem) == (depth == 25)


@pytest.mark.parametrize(("length", "read"), [(100, 100), (101, 0)])
def test_a_chain_that_no_java_key_store_has_is_told_and_not_read(length: int, read: int) -> None:
    found = contents(keystores.store(keystores.keyed("web", b"key", *[LEAF.der] * length)))
    assert len(found.certificates) == read
    assert found.problems == (() if read else ("entry 1 of 1 of the Java key store: a chain of 101 certificates",))


@pytest.mark.parametrize("version", [1, 2])
def test_a_java_key_store(version: int) -> None:
    found = contents(
        keystores.store(
            keystores.keyed("web", b"an encrypted key", LEAF.der, MIDDLE.der, version=version),
            keystores.trusted("root", ROOT.der, version=version),
            version=version,
        )
    )
    assert found.format == "JKS"
    assert found.problems == ()
    assert told(found) == [
        ("leaf", "alias web 1", LEAF.der),
        ("issuer", "alias web 2", MIDDLE.der),
        ("trusted", "alias root", ROOT.der),
    ]
    assert [each.der for each in found.certificates[0].chain] == [MIDDLE.der]


def test_a_java_key_store_of_another_version_or_length_is_a_problem() -> None:
    (problem,) = contents(keystores.store(version=3)).problems
    assert problem == "a Java key store of version 3; 1 and 2 are known"
    found = contents(keystores.store(keystores.trusted("root", ROOT.der)) + b"\0")
    assert len(found.certificates) == 1
    assert found.problems == ("21 bytes instead of 20 behind the Java key store's entries",)


def test_more_certificates_of_a_java_key_store_than_anybody_has_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scanner.pki.containers.MOST", 1)
    entries = [keystores.trusted(f"root{number}", ROOT.der) for number in range(3)]
    for count, problems in ((1, ()), (3, ("more than 1 certificates: the others were not read",))):
        found = contents(keystores.store(*entries[:count]))
        assert (len(found.certificates), found.problems) == (min(count, 2), problems)


def test_a_jceks_store_is_read_up_to_its_first_secret_key() -> None:
    secret = b"\x00\x00\x00\x03" + keystores.text("aes") + bytes(8) + b"\xac\xed\x00\x05"  # a Java object follows
    found = contents(keystores.store(keystores.trusted("root", ROOT.der), secret, magic=0xCECECECE))
    assert told(found) == [("trusted", "alias root", ROOT.der)]
    assert found.problems == ("entry 2 of 2 of the Java key store: a secret key, behind which nothing can be found",)


def test_a_java_key_store_cut_anywhere_keeps_what_came_before() -> None:
    whole = keystores.store(keystores.trusted("first", ROOT.der), keystores.keyed("web", b"key", LEAF.der))
    first = len(keystores.store(keystores.trusted("first", ROOT.der))) - 20
    for end in range(4, len(whole)):
        found = contents(whole[:end])
        assert len(found.problems) == 1
        assert (("trusted", "alias first", ROOT.der) in told(found)) == (end >= first)


@pytest.mark.skipif(shutil.which("keytool") is None, reason="keytool is not installed")
@pytest.mark.parametrize(
    ("kind", "format_"),
    [
        ("jks", "JKS"),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in (("jceks", "JKS"), ("pkcs12", "PKCS #12"))),
    ],
)
def test_stores_of_a_real_keytool(tmp_path: Path, kind: str, format_: str) -> None:
    path = tmp_path / "store"
    common = ("-storetype", kind, "-keystore", str(path), "-storepass", "changeit")
    (tmp_path / "root.pem").write_bytes(ROOT.pem)
    for command in (
        ("-genkeypair", "-alias", "web", "-keyalg", "RSA", "-dname", "CN=web", "-keypass", "changeit"),
        ("-importcert", "-noprompt", "-alias", "root", "-file", str(tmp_path / "root.pem")),
    ):
        subprocess.run(["keytool", *command, *common], check=True, capture_output=True, timeout=60)
    found = contents(path.read_bytes(), [b"changeit"])
    assert (found.format, found.problems) == (format_, ())
    assert {(each.role, each.label, each.facts.subject) for each in found.certificates} == {
        ("leaf", "alias web", "CN=web"),
        ("trusted", "alias root", ROOT.certificate.subject.rfc4514_string()),
    }


def test_a_kubeconfig_with_its_certificates_inside() -> None:
    data = base64.b64encode(CLIENT.pem + ROOT.pem).decode()
    key = base64.b64encode(CLIENT.key_pem).decode()
    found = contents(kubeconfig(client_certificate_data=data, client_key_data=key))
    assert found.format == "kubeconfig"
    assert told(found) == [
        ("trusted", "cluster prod certificate-authority-data", ROOT.der),
        ("client", "user admin client-certificate-data 1", CLIENT.der),
        ("issuer", "user admin client-certificate-data 2", ROOT.der),
    ]
    assert "PRIVATE" not in repr(found)


@pytest.mark.parametrize("left_out", ["certificate-authority", "client-certificate"])
def test_a_kubeconfig_with_only_one_sort_of_certificates_is_read(left_out: str) -> None:
    """A client that trusts the system's authorities has none of its own, and one with a token no certificate."""
    data = base64.b64encode(LEAF.pem).decode()
    lines = kubeconfig(client_certificate_data=data).splitlines(keepends=True)
    found = contents(b"".join(each for each in lines if left_out.encode() not in each))
    assert found.format == "kubeconfig"
    assert {each.role for each in found.certificates} >= (
        {"client"} if left_out == "certificate-authority" else {"trusted"}
    )


def test_a_kubeconfig_that_names_files() -> None:
    found = contents(kubeconfig(client_certificate="pki/client.crt", client_key="pki/client.key"))
    assert [(each.path, each.label, each.role) for each in found.files] == [
        ("pki/client.crt", "user admin client-certificate", "client")
    ]


def test_a_kubeconfig_whose_user_has_a_token_names_no_file() -> None:
    found = contents(kubeconfig(token="secret"))
    assert (found.files, [role for role, _, _ in told(found)]) == ((), ["trusted"])


def test_a_kubeconfig_with_nonsense_in_it() -> None:
    found = contents(kubeconfig(client_certificate_data="'%%%'"))
    assert found.problems == ("user admin client-certificate-data is not base64",)
    assert len(found.certificates) == 1


@pytest.mark.parametrize("data", [LEAF.key_pem, b"\x30\x03\x02\x01\x00", b"\x30\x03\x02\x01\x01"])
def test_a_private_key_alone_is_nothing_but_that(data: bytes) -> None:
    assert contents(data) == Contents(format="key")


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"hello", bytes(100), b"\x7fELF", b"-----BEGIN PUBLIC KEY-----\n"),
        *(b"\x7fELF clusters", b"\x7fELF certificate-authority client-certificate"),
    ],
)
def test_what_holds_no_certificate_is_no_problem_of_its_own(data: bytes) -> None:
    assert contents(data) == Contents(format="")


def test_a_file_that_is_too_large_is_not_looked_into() -> None:
    assert contents(ROOT.pem + bytes(MAX_BYTES)).problems == ("larger than 16 MiB",)


_WHOLE: dict[str, Callable[[], bytes]] = {
    "PEM": lambda: LEAF.pem,
    "DER": lambda: LEAF.der,
    "PKCS #12": lambda: p12(NoEncryption()),
    "JKS": lambda: keystores.store(keystores.keyed("web", b"key", LEAF.der), keystores.trusted("root", ROOT.der)),
    "kubeconfig": lambda: kubeconfig(client_certificate_data=base64.b64encode(CLIENT.pem).decode()),
}
_MADE = {name: make() for name, make in _WHOLE.items()}


@given(st.sampled_from(sorted(_MADE)), st.integers(0, 5000), st.binary(max_size=12), st.booleans())
@at_most(400)
def test_hostile_files_never_crash(name: str, at: int, wrong: bytes, cut: bool) -> None:
    whole = _MADE[name]
    at %= len(whole)
    found = contents(whole[:at] + wrong + (b"" if cut else whole[at + len(wrong) :]), [PASSWORD])
    assert len(found.certificates) <= 4
    assert all(len(problem) < 400 for problem in found.problems)


@given(st.binary(max_size=300), st.sampled_from([b"", b"\xfe\xed\xfe\xed\0\0\0\2", b"0\x82\x01\x00", b"0\x80\2\1\3"]))
@at_most(300)
def test_any_bytes_never_crash(data: bytes, start: bytes) -> None:
    assert isinstance(contents(start + data).certificates, tuple)
