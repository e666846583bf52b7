"""The tables against the registries, and against programs that have tables of their own."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from scanner.tls.codepoints import (
    ALERTS,
    EMPTY_RENEGOTIATION_INFO_SCSV,
    EXTRA_SUITES,
    FALLBACK_SCSV,
    GROUPS,
    SIGNATURE_SCHEMES,
    SSL2_CIPHERS,
    SUITES,
    VERSIONS,
)
from scanner.tls.names import is_tls13, openssl_name, suite_code, suite_name

VECTORS = Path(__file__).parent / "vectors"


def registry(name: str) -> dict[int, str]:
    lines = (VECTORS / f"iana-{name}.tsv").read_text().splitlines()
    pairs = (line.split("\t") for line in lines if not line.startswith("#"))
    return {int(code, 16): text for code, text in pairs}


def run(*command: str) -> str:
    program = shutil.which(command[0])
    if program is None:
        pytest.skip(f"no {command[0]} here")
    return subprocess.run([program, *command[1:]], check=True, capture_output=True, text=True).stdout


def test_suites_are_the_registry_without_the_signalling_values() -> None:
    registered = registry("suites")
    assert registered.pop(EMPTY_RENEGOTIATION_INFO_SCSV) == "TLS_EMPTY_RENEGOTIATION_INFO_SCSV"
    assert registered.pop(FALLBACK_SCSV) == "TLS_FALLBACK_SCSV"
    assert {suite.code: suite.iana for suite in SUITES} == registered


def test_groups_are_the_registry() -> None:
    assert {group.code: group.iana for group in GROUPS} == registry("groups")


def test_signature_schemes_are_the_registry_and_the_pairs_that_it_keeps_reserved() -> None:
    schemes, registered = SIGNATURE_SCHEMES, registry("signature-schemes")
    assert set(registered) <= set(schemes)
    hashes, signatures = range(1, 7), range(1, 4)  # RFC 5246 section 7.4.1.4.1
    assert {code for code in schemes if code not in registered} <= {h << 8 | s for h in hashes for s in signatures}
    assert {h << 8 | s for h in hashes for s in signatures} <= set(schemes)


def test_every_table_ascends_and_names_nothing_twice() -> None:
    for table in (SUITES, EXTRA_SUITES, GROUPS, SSL2_CIPHERS):
        codes = [row[0] for row in table]
        assert codes == sorted(set(codes))
        assert len({row[1] for row in table}) == len(codes)
    assert list(VERSIONS) == sorted(VERSIONS)
    assert list(SIGNATURE_SCHEMES) == sorted(set(SIGNATURE_SCHEMES))
    assert list(ALERTS) == sorted(ALERTS)


def test_extra_suites_take_no_registered_code_or_name() -> None:
    assert not {suite.code for suite in EXTRA_SUITES} & {suite.code for suite in SUITES}
    assert not {suite.iana for suite in EXTRA_SUITES} & {suite.iana for suite in SUITES}


def test_openssl_names_are_unique() -> None:
    names = [suite.openssl for suite in (*SUITES, *EXTRA_SUITES) if suite.openssl]
    assert len(names) == len(set(names))


def test_names_agree_with_openssl() -> None:
    listing = run("openssl", "ciphers", "-V", "ALL:COMPLEMENTOFALL:@SECLEVEL=0")
    found = re.findall(r"0x(\w\w),0x(\w\w) - (\S+)", listing)
    assert len(found) > 50, listing
    for high, low, name in found:
        code = int(high + low, 16)
        assert openssl_name(code) == name
        assert suite_code(name) == code


def test_standard_names_agree_with_openssl() -> None:
    listing = run("openssl", "ciphers", "-stdname", "-V", "ALL:COMPLEMENTOFALL:@SECLEVEL=0")
    found = re.findall(r"0x(\w\w),0x(\w\w) - (TLS_\S+) +- ", listing)
    assert len(found) > 50, listing
    assert {int(high + low, 16): name for high, low, name in found} == {
        int(high + low, 16): suite_name(int(high + low, 16)) for high, low, _ in found
    }


def test_gnutls_knows_no_suite_that_we_do_not() -> None:
    """GnuTLS has names of its own; the code points and what is TLS 1.3 can be compared."""
    listing = run("gnutls-cli", "--list")
    found = re.findall(r"^(TLS_\S+)\s+0x(\w\w), 0x(\w\w)\s+(\S+)", listing, re.MULTILINE)
    assert len(found) > 50, listing
    known = {suite.code for suite in (*SUITES, *EXTRA_SUITES)}
    for name, high, low, since in found:
        assert int(high + low, 16) in known, name
        assert is_tls13(int(high + low, 16)) == (since == "TLS1.3"), name


def test_go_gives_the_same_code_points() -> None:
    source = Path("/usr/local/go/src/crypto/tls/cipher_suites.go")
    if not source.exists():
        pytest.skip(f"no Go source in {source.parent}")
    found = re.findall(r"^\t(TLS_\w+)\s+uint16 = 0x(\w{4})$", source.read_text(), re.MULTILINE)
    assert len(found) > 20
    assert {name: int(code, 16) for name, code in found if not name.endswith("SCSV")} == {
        name: suite_code(name) for name, _ in found if not name.endswith("SCSV")
    }
