"""The configuration file sets what it says and nothing else, and every mistake in it is found at its place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.config.scan_policy import load_config, parse_config
from scanner.errors import InputError
from scanner.files.yaml_values import load
from scanner.model.scan_policy import Config, Policy

FULL = """\
profile: intermediate@4.22
mode: verdict
failOn: high
timeout: 3
deadline: 20.5
concurrency: 100
perHost: 2
rate: 200
confirm: true
deep: false
activeHttp: true
sni: example.com
targets:
  - example.com:443
  - "[::1]:8443"
formats: [text, json=report.json]
policy:
  expiresWithinDays: 7
  expiresWithinDaysMedium: 5
  expiresWithinDaysHigh: 2
  minRsaBits: 3072
  groups: enforced
  plaintextCandidate: fail
"""
OUR_NAMES = {
    "failOn": "fail_on",
    "perHost": "per_host",
    "activeHttp": "active_http",
    "expiresWithinDays": "expires_within_days",
    "minRsaBits": "min_rsa_bits",
    "plaintextCandidate": "plaintext_candidate",
}


def parsed(text: str) -> Config:
    return parse_config(load(text.encode(), "c.yaml"))


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


def test_everything() -> None:
    assert parsed(FULL) == Config(
        profile="intermediate@4.22",
        mode="verdict",
        fail_on="high",
        timeout=3.0,
        deadline=20.5,
        concurrency=100,
        per_host=2,
        rate=200.0,
        confirm=True,
        deep=False,
        active_http=True,
        sni="example.com",
        targets=("example.com:443", "[::1]:8443"),
        formats=("text", "json=report.json"),
        policy=Policy(
            expires_within_days=7,
            expires_within_days_medium=5,
            expires_within_days_high=2,
            min_rsa_bits=3072,
            groups="enforced",
            plaintext_candidate="fail",
        ),
    )


def test_fields_are_spelt_as_in_a_policy_file_or_as_the_options_are() -> None:
    other = FULL
    for theirs, ours in OUR_NAMES.items():
        other = other.replace(f"{theirs}:", f"{ours}:")
    assert other != FULL
    assert parsed(other) == parsed(FULL)


def test_what_is_wrong_is_said_in_the_spelling_of_the_file() -> None:
    for name in ("expiresWithinDays", "expires_within_days"):
        with pytest.raises(InputError, match=rf"c.yaml:2:{len(name) + 5}: policy.{name}: must be at least 0"):
            parsed(f"policy:\n  {name}: -1\n")
    with pytest.raises(InputError, match=r"c.yaml:2:3: policy.expires_within_days: unknown field"):
        parsed("policy:\n  expires_within_days: 1\n  expiresWithinDays: 2\n")


def test_the_full_example_is_full() -> None:
    config = parsed(FULL)
    assert all(getattr(config, each) is not None for each in Config.__struct_fields__)
    assert FULL.partition("policy:")[2].count(": ") == len(Policy.__struct_fields__) - 1  # all but require.postQuantum


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "{}", "policy:\n", "timeout: null\n"])
def test_what_is_not_set_is_none(text: str) -> None:
    assert parsed(text) == Config()


def test_a_policy_keeps_its_other_defaults() -> None:
    assert parsed("policy: {groups: enforced}").policy == Policy(groups="enforced")
    assert parsed("policy: {}").policy == Policy()


REFUSED: dict[str, tuple[str, ...]] = {
    "a list": ("- a\n", "1:1: must be a mapping, not ['a']"),
    "unknown field": ("mode: verdict\nfail-on: low\n", "2:1: fail-on: unknown field 'fail-on'", "'failOn'"),
    "unknown in policy": (
        "policy:\n  rsa: 2048\n",
        "2:3: policy.rsa: unknown field 'rsa'",
        "use one of: expiresWithinDays, expiresWithinDaysMedium",
    ),
    "number for text": ("profile: 5.8\n", "1:10: profile: must be text, not 5.8", "put it in quotes"),
    "empty": ("sni: ''\n", "1:6: sni: must be some text, not ''"),
    "mode": ("mode: fast\n", "1:7: mode: must be 'inventory' or 'verdict', not 'fast'"),
    "yes": ("deep: yes\n", "1:7: deep: must be true or false, not 'yes'"),
    "time": ("timeout: 1:30\n", "1:10: timeout: must be a number, not '1:30'"),
    "no time": ("deadline: 0\n", "1:11: deadline: must be more than 0, not 0"),
    "infinite": ("rate: 1e400\n", "1:7: rate: must be a number, not '1e400'"),
    "a half": ("per_host: 1.5\n", "1:11: per_host: must be a whole number, not 1.5"),
    "none": ("concurrency: 0\n", "1:14: concurrency: must be at least 1, not 0"),
    "one target": ("targets: a:443\n", "1:10: targets: must be a list, not 'a:443'"),
    "a port": ("targets:\n  - a\n  - 443\n", "3:5: targets[1]: must be text, not 443", "put it in quotes"),
    "policy": ("policy: strict\n", "1:9: policy: must be a mapping, not 'strict'"),
    "RSA": ("policy: {min_rsa_bits: 20480}\n", "1:24: policy.min_rsa_bits: must be at most 16384, not 20480"),
    "days": ("policy:\n  expires_within_days: -1\n", "2:24: policy.expires_within_days: must be at least 0, not -1"),
    "several": (
        "policy: {groups: strict}\nmode: 1\n",
        (
            "1:18: policy.groups: must be 'informational' or 'enforced', not 'strict'\n"
            "2:7: mode: must be 'inventory' or 'verdict', not 1"
        ),
    ),
    "YAML": ("mode: [\n", "2:1: did not find expected node content", "needs quotes"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what: str) -> None:
    text, said, *hints = REFUSED[what]
    with pytest.raises(InputError) as caught:
        parsed(text)
    message = "\n".join(f"c.yaml:{line}" for line in said.splitlines())
    assert caught.value.message.startswith(message)
    assert caught.value.message.count("\n") == message.count("\n")
    assert all(hint in caught.value.hint for hint in hints)


@given(st.dictionaries(st.sampled_from([*Config.__struct_fields__, "\x1b[2J"]), ANYTHING, max_size=5))
def test_any_document_is_a_config_or_says_where_it_is_wrong(value: dict[str, object]) -> None:
    try:
        parsed(json.dumps(value))
    except InputError as error:
        assert all(line.startswith("c.yaml:") for line in error.message.splitlines())  # noqa: PT017  either is right
        assert error.message.replace("\n", "").isprintable()  # noqa: PT017


def test_load_config(tmp_path: Path) -> None:
    path = tmp_path / "adhere.yaml"
    path.write_text("mode: verdict\n")
    assert load_config(str(path)) == Config(mode="verdict")
    with pytest.raises(InputError, match="cannot be read: No such file"):
        load_config(str(tmp_path / "other.yaml"))


def test_the_documented_example_is_valid() -> None:
    """``docs/profiles.md`` shows every field, with the defaults of the policy."""
    text = (Path(__file__).parents[2] / "docs" / "profiles.md").read_text()
    config = parsed(text.split("## The configuration file")[1].split("```yaml\n")[1].split("```")[0])
    assert all(getattr(config, each) is not None for each in Config.__struct_fields__)
    assert config.policy == Policy()
