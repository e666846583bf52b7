"""The shipped profiles equal their sources, and are found by every spelling of their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from scanner.errors import InputError, UsageError
from scanner.kube.profile_catalogue import load_profile, profile_names, profiles
from scanner.tls.codepoints import TLS10, TLS12, TLS13
from scanner.tls.names import group_name, openssl_name

# A second copy, by family of suites, so that a typing error in a data file fails a test.
T13 = ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"]
ECDHE = [
    "ECDHE-ECDSA-AES128-GCM-SHA256",
    "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-RSA-AES256-GCM-SHA384",
    "ECDHE-ECDSA-CHACHA20-POLY1305",
    "ECDHE-RSA-CHACHA20-POLY1305",
]
DHE_GCM = ["DHE-RSA-AES128-GCM-SHA256", "DHE-RSA-AES256-GCM-SHA384"]
DHE_CHACHA = ["DHE-RSA-CHACHA20-POLY1305"]
CBC_128 = [
    "ECDHE-ECDSA-AES128-SHA256",
    "ECDHE-RSA-AES128-SHA256",
    "ECDHE-ECDSA-AES128-SHA",
    "ECDHE-RSA-AES128-SHA",
]
CBC_SHA384 = ["ECDHE-ECDSA-AES256-SHA384", "ECDHE-RSA-AES256-SHA384"]
CBC_256 = ["ECDHE-ECDSA-AES256-SHA", "ECDHE-RSA-AES256-SHA"]
DHE_CBC = ["DHE-RSA-AES128-SHA256", "DHE-RSA-AES256-SHA256"]
RSA_GCM = ["AES128-GCM-SHA256", "AES256-GCM-SHA384"]
RSA_128, RSA_256, RSA_SHA = ["AES128-SHA256"], ["AES256-SHA256"], ["AES128-SHA", "AES256-SHA"]
TDES = ["DES-CBC3-SHA"]

OLD_4_21 = [*T13, *ECDHE, *DHE_GCM, *DHE_CHACHA, *CBC_128, *CBC_SHA384, *CBC_256, *DHE_CBC]
OLD_4_21 += [*RSA_GCM, *RSA_128, *RSA_256, *RSA_SHA, *TDES]
OLD_4_22 = [*T13, *ECDHE, *CBC_128, *CBC_256, *RSA_GCM, *RSA_128, *RSA_SHA, *TDES]
OLD_4_23 = [*T13, *ECDHE, *CBC_128, *CBC_SHA384, *CBC_256, *RSA_GCM, *RSA_128, *RSA_256, *RSA_SHA, *TDES]
NIST = ["x25519", "secp256r1", "secp384r1"]
HYBRID = ["X25519MLKEM768", *NIST]

TABLES: dict[str, tuple[int, int, list[str], list[str] | None]] = {
    "openshift/4.23/old": (24, TLS10, OLD_4_23, HYBRID),
    "openshift/4.23/intermediate": (9, TLS12, [*T13, *ECDHE], HYBRID),
    "openshift/4.23/modern": (3, TLS13, T13, HYBRID),
    "openshift/4.22/old": (21, TLS10, OLD_4_22, None),
    "openshift/4.22/intermediate": (9, TLS12, [*T13, *ECDHE], None),
    "openshift/4.22/modern": (3, TLS13, T13, None),
    "openshift/4.21/old": (29, TLS10, OLD_4_21, None),
    "openshift/4.21/intermediate": (11, TLS12, [*T13, *ECDHE, *DHE_GCM], None),
    "openshift/4.21/modern": (3, TLS13, T13, None),
    "mozilla/5.8/old": (24, TLS10, OLD_4_23, HYBRID),
    "mozilla/5.8/intermediate": (9, TLS12, [*T13, *ECDHE], HYBRID),
    "mozilla/5.8/modern": (3, TLS13, T13, HYBRID),
    "mozilla/5.7/old": (29, TLS10, OLD_4_21, NIST),
    "mozilla/5.7/intermediate": (12, TLS12, [*T13, *ECDHE, *DHE_GCM, *DHE_CHACHA], NIST),
    "mozilla/5.7/modern": (3, TLS13, T13, NIST),
}


def test_every_shipped_profile_is_checked_here() -> None:
    assert profile_names() == tuple(TABLES)


@pytest.mark.parametrize("name", TABLES)
def test_tables(name: str) -> None:
    count, minimum, suites, groups = TABLES[name]
    profile = load_profile(name)
    assert profile.name == name
    assert len(profile.suites) == count
    assert profile.min_version == minimum
    assert [openssl_name(code) for code in profile.suites] == suites
    assert (None if profile.groups is None else [group_name(code) for code in profile.groups]) == groups


def test_every_profile_says_its_source_and_date() -> None:
    for profile in profiles():
        assert ("openshift/api" if profile.name.startswith("openshift") else "ssl-config.mozilla.org") in profile.source
        assert profile.source.endswith(("-10)", "-17)", "-06)", "-15)"))


def test_what_go_drops_is_noted() -> None:
    assert any("ECDHE-RSA-AES256-SHA384, AES256-SHA256" in note for note in load_profile("old").notes)
    assert any("DHE-RSA-AES128-GCM-SHA256" in note for note in load_profile("intermediate@4.21").notes)
    assert load_profile("intermediate").notes == ()
    assert load_profile("openshift/4.22/old").notes == ()


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("intermediate", "openshift/4.23/intermediate"),
        ("Intermediate", "openshift/4.23/intermediate"),
        ("openshift/old", "openshift/4.23/old"),
        ("intermediate@4.22", "openshift/4.22/intermediate"),
        ("intermediate@v4.22.7", "openshift/4.22/intermediate"),
        ("intermediate@4.23.0-ec.1", "openshift/4.23/intermediate"),
        ("old@4.14", "openshift/4.21/old"),
        ("old@4.9", "openshift/4.21/old"),
        ("modern@5.1", "openshift/4.23/modern"),
        ("openshift/4.22/intermediate", "openshift/4.22/intermediate"),
        ("openshift/4.20/intermediate", "openshift/4.21/intermediate"),
        ("mozilla/intermediate", "mozilla/5.8/intermediate"),
        ("mozilla/5.7/modern", "mozilla/5.7/modern"),
        ("mozilla/modern@5.7", "mozilla/5.7/modern"),
    ],
)
def test_names(asked: str, name: str) -> None:
    assert load_profile(asked).name == name


@pytest.mark.parametrize(
    ("asked", "note"),
    [
        ("modern@4.14", "release 4.14 has the same lists"),
        ("modern@5.1", "release 5.1 has the same lists"),
    ],
)
def test_a_release_without_a_table_of_its_own_is_noted(asked: str, note: str) -> None:
    assert load_profile(asked).notes == (note,)


@pytest.mark.parametrize(
    ("release", "note"),
    [
        ("4.2.1", "release 4.2 is older than the first profiles: the lists of 4.3 apply"),
        ("5.3", "release 5.3 is newer than adhere knows: the lists of 5.2 apply"),
    ],
)
def test_a_cluster_of_an_unknown_release_has_the_nearest_lists(release: str, note: str) -> None:
    assert load_profile("modern", release=release).notes == (note,)


@pytest.mark.parametrize("asked", ["4.99", "4.24", "4.2", "3.11", "5.3", "6.0", "v4.30.1"])
def test_a_user_is_refused_a_release_that_is_not_known(asked: str) -> None:
    for name in (f"modern@{asked}", f"openshift/{asked}/modern"):
        with pytest.raises(UsageError, match=r"no profiles are known for OpenShift \S+") as refused:
            load_profile(name)
        assert refused.value.hint == "known: 4.3 to 4.23, 5.0 to 5.2"


@pytest.mark.parametrize("release", ["4.3", "4.14", "4.22.7", "4.23", "5.0", "5.2.0-ec.1"])
def test_a_report_keeps_the_release_that_was_asked_for(release: str) -> None:
    found = load_profile(f"modern@{release}")
    assert found.said == f"{found.name} (requested as modern@{release})"
    assert load_profile("modern").said == "openshift/4.23/modern"


def test_release_argument_is_for_names_without_one() -> None:
    assert load_profile("old", release="4.22").name == "openshift/4.22/old"
    assert load_profile("old@4.21", release="4.22").name == "openshift/4.21/old"
    assert load_profile("mozilla/old", release="4.22").name == "mozilla/5.8/old"


@pytest.mark.parametrize(
    ("asked", "message", "hint"),
    [
        ("intermedate", "unknown profile 'intermedate'", "did you mean intermediate or mozilla/intermediate?"),
        ("mozila/5.8/modern", "cannot be read", "path"),
        ("mozilla/5.8/modren", "unknown profile 'mozilla/5.8/modren'", "did you mean mozilla/5.8/modern"),
        ("openshift/4.22", "unknown profile 'openshift/4.22'", "openshift/4.22/old"),
        ("openshift/4.22/old@4.21", "unknown profile", "did you mean openshift/4.22/old"),
        ("mozilla/5.6/old", "unknown edition 5.6 of Mozilla's guideline", "known: 5.8, 5.7"),
        ("old@", "'old@' has no release after '@'", "old@4.22"),
        ("old@four", "'four' is not a release", "old@4.22"),
        ("custom", "unknown profile 'custom'", "'adhere profiles' lists them all"),
        ("", "unknown profile ''", "'adhere profiles' lists them all"),
        ("-", "cannot be read from standard input", "/dev/stdin"),
        ("\x1b[2J\n", r"unknown profile '\x1b[2J\n'", "lists them all"),
        ("x" * 10_000, "unknown profile 'xxx", "lists them all"),
        ("missing.yaml", "missing.yaml: cannot be read: No such file", "path"),
        ("./intermediate", "./intermediate: cannot be read: No such file", "path"),
    ],
)
def test_what_does_not_exist(
    asked: str, message: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((UsageError, InputError)) as caught:
        load_profile(asked)
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_a_file_of_any_name_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine").write_text("{type: Old, old: {}}")
    assert load_profile("mine").source.startswith("mine:1:1, github.com/openshift/api")


def test_a_shipped_name_wins_over_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("modern").write_text("{type: Old, old: {}}")
    assert load_profile("modern").name == "openshift/4.23/modern"
    assert load_profile("./modern").name == "openshift/4.23/old"


def test_the_release_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "profile.yaml"
    path.write_text("{type: Old, old: {}}")
    assert load_profile(str(path), release="4.22").name == "openshift/4.22/old"
    with pytest.raises(UsageError, match="'new' is not a release"):
        load_profile(str(path), release="new")
