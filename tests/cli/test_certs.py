"""``adhere certs``: files of every kind, what is told of them, and what is never told."""

from __future__ import annotations

import base64
import csv
import json
import os
import re
from functools import cache
from io import StringIO
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding
from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates

from scanner.cli import certificate_files
from scanner.cli.commands import certs
from tests.certs import HOSTILE_NAMES, Authority, Credential, hostile
from tests.cli.calling import POLICY, Call, assert_refused

pytestmark = pytest.mark.crypto

ROOT = Authority("Root")
END_OK = "exit 0: no finding at or above medium"
END_UNREAD = "exit 3: no finding at or above medium; not complete: 1 reading problem\n"


@cache
def served() -> Credential:
    return ROOT.leaf(names=("web.example",), key="rsa2048")


def p12(credential: Credential, password: bytes) -> bytes:
    return serialize_key_and_certificates(
        b"web", credential.key, credential.certificate, None, BestAvailableEncryption(password)
    )


def test_a_table_has_where_what_and_when(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "web.pem"
    path.write_bytes(served().key_pem + served().pem + ROOT.pem)
    answer = call("certs", path)
    assert (answer.code, answer.err) == (0, "")
    heading, leaf, root, empty, end = answer.out.splitlines()
    assert (empty, end) == ("", END_OK)
    assert heading.split()[:3] == ["WHERE", "ROLE", "CATEGORY"]
    day = served().certificate.not_valid_after_utc.strftime("%Y-%m-%d")
    assert leaf.startswith(f"{path} 1  leaf    serving   CN=web.example")
    assert all(word in leaf for word in ("CN=Root", "RSA 2048", "ecdsa-with-SHA256", day))
    assert root.startswith(f"{path} 2  issuer  signer    CN=Root")
    assert "PRIVATE" not in answer.out


def test_on_a_narrow_terminal_each_certificate_is_a_paragraph_with_its_places(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certs, "width", lambda: 80)
    (tmp_path / "a.pem").write_bytes(served().pem + ROOT.pem)
    (tmp_path / "b.pem").write_bytes(ROOT.pem)
    answer = call("certs", tmp_path)
    lines = answer.out.splitlines()
    assert answer.code == 0
    assert [line for line in lines if not line.startswith(" ")] == ["CN=web.example", "CN=Root", "", END_OK]
    assert "    signed by CN=Root" in lines[: lines.index("CN=Root")]
    assert "signed by" not in answer.out[answer.out.index("\nCN=Root") :]
    assert re.findall(r"signer, [a-z]+:\s+\S+([ab])\.pem", answer.out) == ["a", "b"]


def test_json_has_every_field_and_is_one_document(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "web.crt"
    path.write_bytes(served().pem + ROOT.pem)
    document = json.loads(call("certs", "--format", "json", path, tmp_path / "missing").out)
    leaf, root = document["certificates"]
    assert leaf["names"] == ["DNS:web.example"]
    assert leaf["chain"] == [root["sha256"]]
    assert (leaf["category"], root["category"], leaf["key"], leaf["unreadable"]) == (
        "serving",
        "signer",
        "RSA 2048",
        {},
    )
    assert document["problems"] == [f"{tmp_path / 'missing'}: cannot be read: No such file or directory"]


def test_two_keys_in_the_place_of_certificates_are_two_problems(call: Call, tmp_path: Path) -> None:
    for name in ("a.pem", "b.pem"):
        (tmp_path / name).write_bytes(served().key_pem.replace(b"PRIVATE KEY", b"CERTIFICATE"))
    document = json.loads(call("certs", "--format", "json", tmp_path).out)
    assert len({each["sha256"] for each in document["certificates"]}) == 2
    about = [each["about"] for each in document["findings"] if each["rule"] == "pki-minimum"]
    assert about == [f"{tmp_path / name}" for name in ("a.pem", "b.pem")]


def test_one_unreadable_file_does_not_hide_the_others(call: Call, tmp_path: Path) -> None:
    (tmp_path / "a.der").write_bytes(served().der[:-1])
    (tmp_path / "b.crt").write_bytes(ROOT.pem)
    (tmp_path / "c.p12").write_bytes(p12(served(), b"secret"))
    (tmp_path / "notes.txt").write_text("nothing of interest")
    (tmp_path / "tls.key").write_bytes(served().key_pem)
    answer = call("certs", tmp_path)
    assert answer.code == 3
    assert "CN=Root" in answer.out
    assert "CN=web.example" not in answer.out
    first, second = answer.err.splitlines()
    assert first.startswith(f"adhere: {tmp_path / 'a.der'}: no certificate that can be read")
    assert second.startswith(f"adhere: {tmp_path / 'c.p12'}: PKCS #12: it needs its password (--password-file)")


def test_a_certificate_that_is_read_in_part_is_listed_and_told(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "odd.der"
    path.write_bytes(ROOT.leaf(names=("odd.example",)).der.replace(b"\x82\x0bodd.example", b"\x82\x0b\xffdd.example"))
    answer = call("certs", path)
    assert answer.code == 3
    assert "CN=odd.example" in answer.out
    assert answer.err.startswith(f"adhere: {path}: dns_names, ")


def test_passwords_come_from_files(call: Call, tmp_path: Path) -> None:
    store, password = tmp_path / "c.p12", tmp_path / "password"
    store.write_bytes(p12(served(), b"open sesame"))
    password.write_bytes(b"open sesame\r\nnot this\n")
    answer = call("certs", store, "--password-file", password)
    assert answer.code == 0
    assert f"{store} alias web" in answer.out
    assert "sesame" not in answer.out + answer.err


def test_a_password_file_that_cannot_be_read_is_a_usage_error(call: Call, tmp_path: Path) -> None:
    assert_refused(
        call("certs", tmp_path, "--password-file", tmp_path / "none"),
        "the password cannot be read: No such file or directory",
    )


def test_no_path_is_a_usage_error(call: Call) -> None:
    assert call("certs").code == 2


def test_a_key_that_was_named_is_told_to_be_one(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "tls.key"
    path.write_bytes(served().key_pem)
    answer = call("certs", path)
    assert (answer.code, answer.out) == (3, END_UNREAD)
    assert answer.err == f"adhere: {path}: contains a private key and no certificate\n"


@pytest.mark.parametrize("name", ["empty", "image.bin"])
def test_a_directory_without_certificates_is_told(call: Call, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\x30\x82" if name != "empty" else b"")
    answer = call("certs", tmp_path)
    assert (answer.code, answer.out) == (3, END_UNREAD)
    assert answer.err == f"adhere: {tmp_path}: no file in this directory has a certificate\n"


def test_links_are_not_followed_out_of_the_directory(call: Call, tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for each in (inside / "..data", outside):
        each.mkdir(parents=True)
    (inside / "..data" / "tls.crt").write_bytes(ROOT.pem)
    (inside / "tls.crt").symlink_to("..data/tls.crt")  # as kubelets mount Secrets
    (outside / "other.pem").write_bytes(served().pem)
    (inside / "away").symlink_to(outside)
    (inside / "loop").symlink_to("loop")
    answer = call("certs", "--format", "json", inside)
    assert [each["subject"] for each in json.loads(answer.out)["certificates"]] == ["CN=Root"]
    assert answer.code == 0
    assert f"links that lead out of their directory were not followed: {inside / 'away'}" in answer.err


def test_a_pipe_and_a_device_end_at_once(call: Call, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        answer = call("certs", path)
        assert (answer.code, answer.err) == (3, f"adhere: {path}: not a regular file\n")
    below = tmp_path / "below"
    below.mkdir()
    (below / "a.crt").write_bytes(ROOT.pem)
    os.mkfifo(below / "b.crt")
    os.mkfifo(below / "log")
    answer = call("certs", below)
    assert (answer.code, answer.err) == (3, f"adhere: {below}/b.crt: not a regular file\n")


def test_depth_and_number_of_files_are_bounded(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / "deep"
    deep.joinpath(*["d"] * (certificate_files.MAX_DEPTH + 2)).mkdir(parents=True)
    assert f"more than {certificate_files.MAX_DEPTH} levels deep" in call("certs", deep).err
    monkeypatch.setattr(certificate_files, "MAX_FILES", 2)
    many = tmp_path / "many"
    many.mkdir()
    for number in range(5):
        (many / f"{number}.pem").write_bytes(ROOT.pem)
    answer = call("certs", many)
    assert (answer.code, len(answer.out.splitlines())) == (3, 5)
    assert answer.out.endswith(f"\n\n{END_UNREAD}")
    assert answer.err == f"adhere: {many}: more than 2 files: the others were not read\n"


def kubeconfig(directory: Path, certificate: str) -> Path:
    path = directory / "admin.kubeconfig"
    data = base64.b64encode(ROOT.pem).decode()
    path.write_text(
        f"kind: Config\nclusters:\n- {{name: prod, cluster: {{certificate-authority-data: {data}}}}}\n"
        f"users:\n- {{name: admin, user: {{client-certificate: {certificate}, client-key: none.key}}}}\n"
    )
    return path


def test_a_kubeconfig_and_the_files_that_it_names(call: Call, tmp_path: Path) -> None:
    client = ROOT.leaf(names=("admin",), eku=("clientAuth",))
    (tmp_path / "client.crt").write_bytes(client.pem)
    path = kubeconfig(tmp_path, "client.crt")
    answer = call("certs", "--format", "json", path)
    found = json.loads(answer.out)["certificates"]
    assert [(each["where"], each["role"], each["category"]) for each in found] == [
        (f"{path} cluster prod certificate-authority-data", "trusted", "signer"),
        (f"{path} user admin client-certificate", "client", "client"),
    ]
    assert answer.code == 0


def test_a_kubeconfig_in_a_directory_does_not_lead_out_of_it(call: Call, tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "away.crt").write_bytes(served().pem)
    kubeconfig(inside, "../away.crt")
    answer = call("certs", inside)
    assert answer.code == 3
    assert "web.example" not in answer.out
    assert "it is outside of the directory" in answer.err


def test_hostile_names_command_nothing(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "evil\x1b[2J.pem"
    path.write_bytes(hostile(ROOT).certificate.public_bytes(Encoding.PEM))
    text, document = call("certs", path), call("certs", "--format", "json", path)
    for answer in (text, document, call("certs", "--format", "csv", path)):
        assert "\x1b" not in answer.out + answer.err
        assert HOSTILE_NAMES[6] not in answer.out
    assert json.loads(document.out)["certificates"][0]["where"] == str(path)


@pytest.mark.parametrize("format_", ["text", "json", "csv"])
def test_no_key_is_in_any_output(call: Call, tmp_path: Path, format_: str) -> None:
    body = "".join(served().key_pem.decode().splitlines()[1:-1])
    (tmp_path / "all.pem").write_bytes(served().key_pem + served().pem)
    (tmp_path / "all.p12").write_bytes(p12(served(), b"x"))
    (tmp_path / "broken.pem").write_bytes(served().pem[:-30] + served().key_pem)
    (tmp_path / "key as certificate.pem").write_bytes(served().key_pem.replace(b"PRIVATE KEY", b"CERTIFICATE"))
    (tmp_path / "password").write_text("x")
    answer = call("certs", tmp_path, "--format", format_, "--password-file", tmp_path / "password")
    assert answer.out.count("web.example") >= 2
    assert "a private key where a certificate should be" in answer.err
    for start in range(0, len(body) - 24, 24):
        assert body[start : start + 24] not in answer.out + answer.err


def test_csv_has_what_json_has(call: Call, tmp_path: Path) -> None:
    """A row for each certificate, finding and problem, with the same exit code."""
    (tmp_path / "a.pem").write_bytes(served().pem)
    (tmp_path / "broken.pem").write_bytes(served().pem[:-30])
    policy = tmp_path / "policy.yaml"
    policy.write_text(f"{POLICY}certificates: {{minRsaBits: 16384, curves: [P521]}}\n")
    paths = (tmp_path / "a.pem", tmp_path / "broken.pem", "--policy", policy)
    table, document = call("certs", "--format", "csv", *paths), call("certs", "--format", "json", *paths)
    assert table.code == document.code
    lines, said = list(csv.DictReader(StringIO(table.out))), json.loads(document.out)
    kinds = {kind: [line for line in lines if line["kind"] == kind] for kind in ("certificate", "object", "coverage")}
    assert sum(map(len, kinds.values())) == len(lines)
    for each in ("where", "sha256", "not_after", "key", "verdict", "status"):
        assert [line[each] for line in kinds["certificate"]] == [one[each] for one in said["certificates"]]
    assert [(line["where"], line["rule"], line["message"]) for line in kinds["object"]] == [
        (one["about"], one["rule"], one["message"]) for one in said["findings"]
    ]
    assert kinds["object"]
    assert [line["message"] for line in kinds["coverage"]] == said["problems"]
    assert {line["verdict"] for line in kinds["coverage"]} == {"inconclusive"}
    assert_refused(call("certs", "--format", "sarif", *paths), "'text', 'json', 'csv'")
