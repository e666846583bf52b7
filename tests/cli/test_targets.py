"""What a TARGET may look like, what it means, and how clearly the rest is refused."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.cli import targets
from scanner.cli.targets import parse_server_name, parse_target, read_targets
from scanner.errors import InputError

CANONICAL = [
    ("example.test", "tls://example.test:443"),
    ("example.test:8443", "tls://example.test:8443"),
    ("Example.TEST.:8443", "tls://example.test:8443"),
    ("localhost", "tls://localhost:443"),
    ("_https._tcp.svc_1", "tls://_https._tcp.svc_1:443"),
    ("tls://example.test", "tls://example.test:443"),
    ("TLS://example.test:1", "tls://example.test:1"),
    ("https://example.test/", "tls://example.test:443"),
    ("https://example.test:65535/#sni.test", "tls://example.test:65535#sni.test"),
    ("tls://example.test:443#example.test", "tls://example.test:443"),
    ("tls://10.0.0.1:443#Example.test", "tls://10.0.0.1:443#example.test"),
    ("127.0.0.1", "tls://127.0.0.1:443"),
    ("127.0.0.1:0443", "tls://127.0.0.1:443"),
    ("[2001:DB8:0::1]:443", "tls://[2001:db8::1]:443"),
    ("[::1]", "tls://[::1]:443"),
    ("::1", "tls://[::1]:443"),
    ("2001:db8::1", "tls://[2001:db8::1]:443"),
    ("fe80::1%eth0", "tls://[fe80::1%eth0]:443"),
    ("smtp://[fe80::1%eth0.1]:2525", "smtp://[fe80::1%eth0.1]:2525"),
    ("smtp://mail.test", "smtp://mail.test:25"),
    ("smtp://mail.test:587", "smtp://mail.test:587"),
    ("smtps://mail.test", "tls://mail.test:465"),
    ("imap://mail.test", "imap://mail.test:143"),
    ("imaps://mail.test", "tls://mail.test:993"),
    ("pop3://mail.test", "pop3://mail.test:110"),
    ("ldap://dir.test", "ldap://dir.test:389"),
    ("ldaps://dir.test", "tls://dir.test:636"),
    ("ftp://files.test", "ftp://files.test:21"),
    ("xmpp://chat.test", "xmpp://chat.test:5222"),
    ("postgres://db.test", "postgres://db.test:5432"),
    ("postgresql://db.test:6432", "postgres://db.test:6432"),
    ("mysql://db.test", "mysql://db.test:3306"),
    ("bücher.example", "tls://xn--bcher-kva.example:443"),
    ("faß.example", "tls://xn--fa-hia.example:443"),
    ("BÜCHER.example:1#ÖL.example", "tls://xn--bcher-kva.example:1#xn--l-0ga.example"),
    ("xn--bcher-kva.example", "tls://xn--bcher-kva.example:443"),
    ("a" * 63 + "." + "b" * 63, f"tls://{'a' * 63}.{'b' * 63}:443"),
]


@pytest.mark.parametrize(("text", "canonical"), CANONICAL)
def test_a_target_and_what_it_means(text: str, canonical: str) -> None:
    assert parse_target(text, "argument 1").canonical == canonical


@pytest.mark.parametrize("canonical", sorted({canonical for _, canonical in CANONICAL}))
def test_the_canonical_spelling_means_the_same_again(canonical: str) -> None:
    assert parse_target(canonical, "again").canonical == canonical


def test_the_host_is_the_server_name_only_where_it_is_a_name() -> None:
    assert parse_target("example.test", "x").server_name == "example.test"
    assert parse_target("tls://example.test#other.test", "x").server_name == "other.test"
    assert parse_target("192.0.2.1", "x").server_name is None
    assert parse_target("fe80::1%eth0", "x").server_name is None
    assert parse_target("example.test", "argument 3").origin == "argument 3"


REFUSED = [
    ("", "the host is missing", "host:port"),
    (":443", "the host is missing", "host:port"),
    ("http://example.test", "http:// is not TLS", "https://example.test"),
    ("gopher://example.test", "unknown scheme gopher", "smtp"),
    ("example.test:", "the port after the colon is missing", "host:port"),
    ("example.test:https", "port https is not", ""),
    ("example.test:0", "port 0 is not", ""),
    ("example.test:65536", "port 65536 is not", ""),
    ("example.test:+443", r"port \+443 is not", ""),
    ("example.test:٤٤٣", "port ٤٤٣ is not", ""),
    ("example.test:4_4", "port 4_4 is not", ""),
    ("[2001:db8::1", "brackets", r"\[2001:db8::1\]:443"),
    ("[2001:db8::1]443", "brackets", r"\[2001:db8::1\]:443"),
    ("[127.0.0.1]:443", "127.0.0.1 is not an IPv6 address", "IPv6 addresses only"),
    ("2001:db8::a:443", "can be an address, or an address with a port", r"\[2001:db8::a\]:443 or \[2001:db8::a:443\]"),
    ("1:2:3", "neither host:port nor an IPv6 address", ""),
    ("[fe80::1%e,0]", "not the name of a network interface", "eth0"),
    ("https://example.test/path", "has a path", "remove it"),
    ("10.0.0.0/24", "has a range", "list each address"),
    ("https://user:secret@example.test", "a user name", "remove it"),
    ("https://example.test?x=1", "a query", "remove it"),
    ("ex%61mple.test", "not a host name", ""),
    ("a.test,b.test", "not a host name: label test,b", "each target alone"),
    ("a..test", "label  *", ""),
    ("-a.test", "label -a", ""),
    ("a-.test", "label a-", ""),
    ("a" * 64 + ".test", "not a host name", ""),
    (".".join(["a" * 60] * 5), "the host name has 304 characters", "253"),
    ("10.0.0", "neither an address nor a host name", "all four"),
    ("127.0.0.01", "neither an address nor a host name", ""),
    ("0x7f.0x1", "neither an address nor a host name", ""),
    ("2130706433", "neither an address nor a host name", ""),
    ("tls://example.test#", "the server name is empty", "DNS name after #"),
    ("tls://example.test#192.0.2.1", "192.0.2.1 is an address, not a server name", "RFC 6066"),
    ("tls://example.test#a#b", "not a host name", ""),
    ("a b.test", "space or control character", ""),
    ("a\x1b[2J.test", r"a\\x1b\[2J.test has a space or control character", ""),
    ("a\u202e.test", r"a\\u202e.test has a space or control character", ""),
    ("☃\u200d.test", "control character", ""),
    ("\u0338a.test", "not a host name", "xn--"),
    ("x" * 1025, "the target has 1025 characters", "1024"),
]


@pytest.mark.parametrize(("text", "message", "hint"), REFUSED)
def test_anything_else_is_refused_with_the_place_and_the_remedy(text: str, message: str, hint: str) -> None:
    with pytest.raises(InputError, match=message) as refused:
        parse_target(text, "argument 1")
    assert refused.value.message.startswith("argument 1: ")
    assert re.search(hint, refused.value.hint)
    assert (refused.value.message + refused.value.hint).isprintable()
    assert len(refused.value.message) < 300


@given(
    st.text(max_size=80) | st.from_regex(r"([a-z]{3,5}://)?[\[\]a-f0-9:.%]{1,20}(:\d{1,6})?(#.{0,9})?", fullmatch=True)
)
def test_whatever_is_typed_there_is_a_target_or_a_reason(text: str) -> None:
    try:
        target = parse_target(text, "argument 1")
    except InputError as refused:
        reason = refused.message + refused.hint
        assert reason.isprintable()
    else:
        assert parse_target(target.canonical, "argument 1") == target
        assert 1 <= target.port <= 65535


def test_a_server_name_is_a_dns_name() -> None:
    assert parse_server_name("Bücher.example.", "--sni") == "xn--bcher-kva.example"
    with pytest.raises(InputError, match=r"--sni: 127\.0\.0\.1 is an address, not a server name"):
        parse_server_name("127.0.0.1", "--sni")


def written(folder: Path, content: bytes) -> str:
    path = folder / "targets.txt"
    path.write_bytes(content)
    return str(path)


def test_a_file_has_one_target_a_line_and_comments(tmp_path: Path) -> None:
    content = "\ufeff# ours\r\n\r\n  a.test:443  # the first\r\n\ttls://b.test#sni.test\r\nç.test\n#c.test\nd.test"
    path = written(tmp_path, content.encode())
    found = list(read_targets(path))
    assert [target.canonical for target in found] == [
        "tls://a.test:443",
        "tls://b.test:443#sni.test",
        "tls://xn--7ca.test:443",
        "tls://d.test:443",
    ]
    assert [target.origin for target in found] == [f"{path}:{line}" for line in (3, 4, 5, 7)]


WRONG_FILES = [
    (b"a.test\n  b.test:99999\n", ":2:10: port 99999"),
    (b"a.test b.test\n", ":1:8: the line has more than one word"),
    ("ü.test:0\n".encode(), ":1:8: port 0"),
    (b"https://a.test#b_-\n", ":1:16: b_- is not"),
    (b"\n\n\xc3\xa4\xff\n", ":3:2: not UTF-8"),
    (b"\xff\xfea\x00", ":1:1: UTF-16"),
    (b"a.test\x00\n", ":1:7: a.test\\x00 has a space or control character"),
    (b"a.test\rb.test\n", ":1:8: the line has more than one word"),
    (b"http://a.test\n", ":1:1: http:// is not TLS"),
    (b"[::1]:0\n", ":1:7: port 0"),
]


@pytest.mark.parametrize(("content", "message"), WRONG_FILES)
def test_a_wrong_line_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = written(tmp_path, content)
    with pytest.raises(InputError) as refused:
        list(read_targets(path))
    assert refused.value.message.startswith(f"{path}{message}")
    assert refused.value.hint


def test_a_file_that_is_not_there_or_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"missing\.txt: cannot be read: No such file"):
        read_targets(str(tmp_path / "missing.txt"))
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        read_targets(str(tmp_path))
    with pytest.raises(InputError, match=r"a\\x00b: cannot be read"):
        read_targets("a\x00b")


def test_a_file_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "FILE_LIMIT", 10)
    with pytest.raises(InputError, match="more than 10 bytes"):
        read_targets(written(tmp_path, b"a.test\n" * 2))


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a.test\nb.test:1\n")))
    assert [(t.host, t.port, t.origin) for t in read_targets("-")] == [
        ("a.test", 443, "standard input:1"),
        ("b.test", 1, "standard input:2"),
    ]


def test_targets_are_made_one_by_one_and_again(tmp_path: Path) -> None:
    listed = read_targets(written(tmp_path, b"".join(b"h%d.test:8443\n" % n for n in range(5000))))
    found = iter(listed)
    assert next(found).host == "h0.test"
    assert iter(found) is found
    assert sum(1 for _ in found) == 4999
    assert sum(1 for _ in listed) == 5000
