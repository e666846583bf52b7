"""Profiles in files: in an object of any kind, refused as a cluster refuses them, with the position in the file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.errors import InputError
from scanner.files.yaml_values import load
from scanner.kube.profile_catalogue import load_profile, profile_of_file
from scanner.kube.tls_profile import Profile


def parsed(text: str, release: str | None = None) -> Profile:
    return profile_of_file(load(text.encode(), "p.yaml"), lambda type_: load_profile(type_, release=release))


OBJECTS = {
    "alone": ("type: Modern\nmodern: {}\n", "p.yaml:1:1"),
    "key": ("tlsSecurityProfile:\n  type: Modern\n  modern: {}\n", "p.yaml:2:3"),
    "APIServer": (
        (
            "apiVersion: config.openshift.io/v1\nkind: APIServer\nmetadata: {name: cluster}\n"
            "spec:\n  tlsAdherence: StrictAllComponents\n  tlsSecurityProfile:\n    type: Modern\n    modern: {}\n"
        ),
        "p.yaml:7:5",
    ),
    "JSON": ('{"kind": "APIServer", "spec": {"tlsSecurityProfile": {"type": "Modern", "modern": {}}}}', "p.yaml:1:54"),
    "List": (
        "kind: List\nitems:\n- kind: APIServer\n  spec:\n    tlsSecurityProfile: {type: Modern, modern: {}}\n",
        "p.yaml:5:25",
    ),
    "HostedCluster": (
        (
            "kind: HostedCluster\nspec:\n  configuration:\n    apiServer:\n"
            "      tlsSecurityProfile:\n        type: Modern\n        modern: {}\n"
        ),
        "p.yaml:6:9",
    ),
    "IngressController": ("kind: IngressController\nspec: {tlsSecurityProfile: {type: Modern}}\n", "p.yaml:2:28"),
    "KubeletConfig": ("kind: KubeletConfig\nspec: {tlsSecurityProfile: {type: Modern}}\n", "p.yaml:2:28"),
}


@pytest.mark.parametrize(("text", "position"), OBJECTS.values(), ids=OBJECTS)
def test_objects(text: str, position: str) -> None:
    shipped = load_profile("modern")
    profile = parsed(text)
    assert profile.name == "openshift/4.23/modern"
    assert profile.suites == shipped.suites
    assert profile.source == f"{position}, {shipped.source}"
    assert profile.notes == ()


@pytest.mark.parametrize("type_", ["Old", "Intermediate", "Modern"])
def test_the_release_decides_what_a_type_means(type_: str) -> None:
    profile = parsed(f"type: {type_}\n{type_.lower()}: {{}}\n", "4.22")
    assert profile.name == f"openshift/4.22/{type_.lower()}"
    assert profile.suites == load_profile(f"{type_}@4.22").suites


UNSET = {
    "no profile": ("kind: APIServer\nspec: {}\n", "tlsSecurityProfile is not set, which means Intermediate"),
    "no spec": ("kind: APIServer\n", "tlsSecurityProfile is not set, which means Intermediate"),
    "null": ("tlsSecurityProfile:\n", "tlsSecurityProfile is not set, which means Intermediate"),
    "empty": ("tlsSecurityProfile: {}\n", "type is not set, which means Intermediate"),
    "kubelet": ("kind: KubeletConfig\nspec: {tlsSecurityProfile: {}}\n", "type is not set, which means Intermediate"),
}


@pytest.mark.parametrize(("text", "note"), UNSET.values(), ids=UNSET)
def test_unset_is_intermediate(text: str, note: str) -> None:
    profile = parsed(text)
    assert profile.name == "openshift/4.23/intermediate"
    assert profile.notes == (note,)


def test_a_type_without_its_field_is_taken_as_the_document_writes_it() -> None:
    """The enhancement's TLS 1.3 example has no ``modern: {}``, and the shipped admission refuses it."""
    (note,) = parsed("tlsSecurityProfile: {type: Modern}").notes
    assert "would refuse" in note
    assert "'modern: {}'" in note


def test_another_types_field_beside_the_own_means_nothing() -> None:
    profile = parsed("type: Old\nold: {}\nmodern: {}\ncustom: {ciphers: [nonsense]}\n")
    assert profile.name == "openshift/4.23/old"
    assert "type is Old, so modern and custom has no effect" in profile.notes


def test_a_null_field_is_not_set() -> None:
    assert parsed("type: Old\nold: {}\nmodern: null\n").name == "openshift/4.23/old"


REFUSED: dict[str, tuple[str, ...]] = {
    "nothing": ("", "1:1: no tlsSecurityProfile in this file", "tlsSecurityProfile: {type: Intermediate"),
    "something else": ("a: 1\n", "1:1: no tlsSecurityProfile in this file", "write it as in"),
    "another object": ("kind: Pod\nspec: {type: Old}\n", "1:1: no tlsSecurityProfile in this file"),
    "a list": ("- 1\n", "1:1: no tlsSecurityProfile in this file"),
    "a text": ("Intermediate\n", "1:1: no tlsSecurityProfile in this file"),
    "not a mapping": (
        "spec:\n  tlsSecurityProfile: Modern\n",
        "2:23: spec.tlsSecurityProfile: must be a mapping, not 'Modern'",
    ),
    "two objects": (
        "items:\n- spec: {tlsSecurityProfile: {}}\n- spec: {tlsSecurityProfile: {}}\n",
        "3:30: items[1].spec.tlsSecurityProfile: more than one tlsSecurityProfile",
        "keep one",
    ),
    "unknown type": (
        "type: Modren\n",
        "1:7: type: Unsupported value: 'Modren': supported values:",
        "did you mean 'Modern'?",
    ),
    "case": ("type: modern\n", "1:7: type: Unsupported value: 'modern': supported values:", "did you mean 'Modern'?"),
    "type is no text": (
        "type: [Old]\n",
        "1:7: type: Unsupported value: ['Old']: supported values:",
        "Old, Intermediate, Modern, Custom",
    ),
    "type is a number": (
        "type: 0\n",
        "1:7: type: Unsupported value: 0: supported values:",
        "use one of: Old, Intermediate",
    ),
    "empty type": ("type: ''\n", "1:7: type: Unsupported value: '': supported values:", "use one of: "),
    "field without type": ("old: {}\n", "1:1: one of the profiles is set but 'type' field is empty", "add 'type: Old'"),
    "wrong field": (
        "spec:\n  tlsSecurityProfile:\n    type: Old\n    modern: {}\n",
        "3:11: spec.tlsSecurityProfile.type: type set to Old, but the corresponding field is unset",
        "add 'old: {}'",
    ),
    "custom without custom": (
        "tlsSecurityProfile:\n  type: Custom\n",
        "2:9: tlsSecurityProfile.type: type set to Custom, but the corresponding field is unset",
        "add the field custom with ciphers",
    ),
    "custom is null": (
        "type: Custom\ncustom:\n",
        "1:7: type: type set to Custom, but the corresponding field is unset",
    ),
    "custom is a list": ("type: Custom\ncustom: [a]\n", "2:9: custom: must be a mapping, not ['a']"),
    "unknown field": ("type: Old\nold: {}\nodl: {}\n", "3:1: odl: unknown field 'odl'", "did you mean 'old'?"),
    "misplaced": (
        "type: Custom\nciphers: [AES128-SHA]\n",
        (
            "1:7: type: type set to Custom, but the corresponding field is unset"
            " (add the field custom with ciphers and minTLSVersion)\n"
            "2:1: ciphers: unknown field 'ciphers' (put it under 'custom:', where ciphers belongs)"
        ),
    ),
    "named with content": (
        "type: Modern\nmodern:\n  minTLSVersion: VersionTLS13\n",
        "3:3: modern.minTLSVersion: unknown field 'minTLSVersion'",
        "'type: Custom'",
    ),
    "named is a text": ("type: Old\nold: yes\n", "2:6: old: must be a mapping, not 'yes'"),
    "router inherits": (
        "kind: IngressController\nspec:\n  tlsSecurityProfile: {}\n",
        "3:23: spec.tlsSecurityProfile: type is not set: this IngressController follows the APIServer",
        "give the APIServer's file",
    ),
    "kubelet inherits": (
        "kind: KubeletConfig\nspec:\n  tlsSecurityProfile:\n",
        "3:22: spec.tlsSecurityProfile: tlsSecurityProfile is not set: this KubeletConfig follows the APIServer",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what: str) -> None:
    text, said, *hints = REFUSED[what]
    with pytest.raises(InputError) as caught:
        parsed(text)
    message = "\n".join(f"p.yaml:{line}" for line in said.splitlines())
    assert caught.value.message.startswith(message)
    assert caught.value.message.count("\n") == message.count("\n")
    assert all(hint in caught.value.hint for hint in hints)


WORDS = ["kind", "spec", "items", "tlsSecurityProfile", "type", "old", "custom", "ciphers", "minTLSVersion", "groups"]
VALUES = ["Custom", "Old", "APIServer", "IngressController", "VersionTLS12", "VersionTLS13", "AES128-SHA", "X25519"]
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from([*VALUES, "\x1b[2J", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*WORDS, "\x1b"]), inner, max_size=4),
    max_leaves=20,
)


@given(ANYTHING)
def test_any_document_has_a_profile_or_a_place_where_it_is_wrong(value: object) -> None:
    try:
        profile = parsed(json.dumps(value))
    except InputError as error:
        assert all(line.startswith("p.yaml:") for line in error.message.splitlines())  # noqa: PT017  either is right
        assert error.message.replace("\n", "").isprintable()  # noqa: PT017
    else:
        assert profile.suites


def test_the_documented_example_is_valid() -> None:
    text = (Path(__file__).parents[2] / "docs" / "profiles.md").read_text()
    profile = parsed(text.split("## Files")[1].split("```yaml\n")[1].split("```")[0])
    assert profile.suites == (0xC02F, 0xC030)
    assert profile.groups == (29, 23)
