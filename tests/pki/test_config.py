"""What a configuration says, and what the API would not take of it, in the API's words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.errors import InputError
from scanner.files.source_positions import dotted
from scanner.files.yaml_values import load
from scanner.kube import kinds
from scanner.kube.kinds import Kind
from scanner.kube.snapshot import Snapshot, Unreadable
from scanner.model.pki_config import USAGES, Key, PkiConfig
from scanner.pki.config import RECOMMENDED, of_spec, pki_config, pki_config_of_file
from scanner.pki.resolution import Category, required
from scanner.values import replace
from tests.pki.pki_cases import CASES, Case
from tests.pki.pki_objects import NAMED, P256, pki, snapshot
from tests.properties import at_most

# --- Validation -------------------------------------------------------------------------------------------------------


def complaints(case: Case) -> list[tuple[str, str]]:
    config = of_spec({"spec": case.spec}, ("spec",), source="PKI/cluster")
    return [(dotted(each.steps), each.message) for each in config.problems]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_what_the_api_would_not_take_is_refused_in_a_file_at_its_place(case: Case) -> None:
    found = complaints(case)
    assert bool(found) == bool(case.refused), found
    for expected in case.refused:
        assert expected in found
    text = json.dumps({"kind": "PKI", **NAMED, "spec": case.spec}, indent=1)
    if not case.refused:
        assert pki_config_of_file(load(text.encode(), "pki.yaml")).problems == ()
        return
    with pytest.raises(InputError) as caught:
        pki_config_of_file(load(text.encode(), "pki.yaml"))
    for path, message in case.refused:
        assert f"{path}: {message}" in caught.value.message
    assert all(line.startswith("pki.yaml:") for line in caught.value.message.splitlines())


@pytest.mark.parametrize("size", [True, [], {}])
def test_what_is_no_number_has_no_limits(size: object) -> None:
    custom = {"defaults": {"key": {"algorithm": "RSA", "rsa": {"keySize": size}}}}
    case = Case("shipped", "", {"certificateManagement": {"mode": "Custom", "custom": custom}})
    assert [message for _, message in complaints(case)] == ["must be of type int32"]


def test_what_is_no_text_is_none_of_the_values_either() -> None:
    key = {"algorithm": 7, "rsa": {"keySize": 2048}}
    case = Case("document", "", {"categories": [{"category": 7, "certificate": {"key": key}}, 7]})
    assert [each for each in complaints(case) if not each[1].startswith("algorithm must match")] == [
        ("spec.categories[0].category", "must be of type string"),
        (
            "spec.categories[0].category",
            'Unsupported value: 7: supported values: "SignerCertificate", "ServingCertificate", "ClientCertificate"',
        ),
        ("spec.categories[0].certificate.key.algorithm", "must be of type string"),
        (
            "spec.categories[0].certificate.key.algorithm",
            'Unsupported value: 7: supported values: "RSA", "ECDSA"',
        ),
        ("spec.categories[1]", "must be of type object"),
        ("spec.categories[1]", "must be an object for an array of list-type map"),
    ]


def test_a_files_complaints_say_where() -> None:
    lines = [
        "kind: PKI",
        "metadata: {name: cluster}",
        "spec:",
        "  overrides:",
        "  - certificateName: shop/web",
        "    certificate:",
        "      key: {algorithm: RSA, rsa: {keySize: 1024}}",
    ]
    with pytest.raises(InputError) as caught:
        pki_config_of_file(load("\n".join(lines).encode(), "pki.yaml"))
    first, second = caught.value.message.splitlines()
    assert first.startswith("pki.yaml:5:5: spec.overrides[0]: certificateName must be a well-known certificate name")
    assert "a Service's certificate has no name of its own" in first
    assert second.startswith("pki.yaml:7:44: spec.overrides[0].certificate.key.rsa.keySize: Unsupported value: 1024")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{}", "no PKI object in this file"),
        ("kind: Pod", "no PKI object in this file"),
        ("{kind: PKI, metadata: {name: other}, spec: {}}", "the name must be cluster, not 'other'"),
        ("{kind: PKI, spec: {}}", "the name must be cluster, not None"),
        ("{kind: PKI, metadata: {name: cluster}}", "spec: Required value"),
        ("{items: [{kind: PKI}, {kind: PKI}]}", "one PKI object too many"),
    ],
)
def test_no_such_object(text: str, what: str) -> None:
    with pytest.raises(InputError) as caught:
        pki_config_of_file(load(text.encode(), "pki.yaml"))
    assert what in caught.value.message


def test_a_list_of_one_and_microshifts_file_are_read() -> None:
    listed = (
        f"{{kind: List, items: [{{kind: PKI, metadata: {{name: cluster}}, spec: {json.dumps({'defaults': P256})}}}]}}"
    )
    micro = f"{{kind: MicroShiftConfig, pki: {json.dumps({'defaults': P256})}}}"
    for text, field in ((listed, "spec.defaults.key"), (micro, "pki.defaults.key")):
        config = pki_config_of_file(load(text.encode(), "pki.yaml"))
        assert config.defaults is not None
        assert (config.defaults.field, config.defaults.key) == (field, Key(algorithm="ECDSA", curve="P256"))


def test_unknown_fields_are_named_and_without_effect() -> None:
    spec = {"defaults": {**P256, "lifetime": "1y"}, "colour": "blue"}
    config = pki_config(snapshot(pki(spec)))
    assert config.unknown_fields == ("spec.defaults.lifetime", "spec.colour")
    assert config.problems == ()
    assert required(config, "serving").key == Key(algorithm="ECDSA", curve="P256")


def test_the_shape_is_decided_by_the_fields() -> None:
    management = {"mode": "Custom", "custom": {"defaults": P256}}
    both = pki_config(snapshot(pki({"defaults": P256, "certificateManagement": management})))
    assert both.shape == "shipped"
    assert both.unknown_fields == ("spec.defaults",)
    interim = {"mode": "Custom", "custom": {"categories": []}}
    assert pki_config(snapshot(pki({"certificateManagement": interim}))).shape == "interim"


# --- Why nothing is configured ----------------------------------------------------------------------------------------

CUSTOM = {"certificateManagement": {"mode": "Custom", "custom": {"defaults": P256}}}
UNMANAGED = {"certificateManagement": {"mode": "Unmanaged"}}
UNREADABLE = {kinds.PKI: Unreadable(kind=kinds.PKI, gap="forbidden", reason="pkis is forbidden")}


@pytest.mark.parametrize(
    ("cluster", "reason"),
    [
        (snapshot(absent=frozenset({kinds.PKI})), "crd-absent"),
        (snapshot(absent=frozenset({kinds.PKI}), gate="on"), "crd-absent"),
        (snapshot(), "absent"),
        (snapshot(gate="off"), "absent"),
        (snapshot(pki(CUSTOM), gate="off"), "gate-off"),
        (snapshot(pki({}), gate="on"), "empty"),
        (snapshot(pki(), gate="on"), "empty"),
        (snapshot(pki({"overrides": []}), gate="on"), "empty"),
        (snapshot(pki(UNMANAGED), gate="on"), "unmanaged"),
    ],
)
def test_nothing_is_required_and_why(cluster: Snapshot, reason: str) -> None:
    config = pki_config(cluster)
    assert config.reason == reason
    assert config.platform_said
    for usage in get_args(Category):
        found = required(config, usage, ("etcd-server",))
        assert (found.key, found.unknown, found.all_of, found.one_of) == (None, None, (), ())
        assert found.because[0].said == config.platform_said


def test_a_deleted_object() -> None:
    config = pki_config(snapshot(), previous=snapshot(pki(CUSTOM)))
    assert config.reason == "deleted"
    assert required(config, "serving").key is None


@pytest.mark.parametrize("previous", [None, snapshot(pki(CUSTOM))])
def test_the_gate_on_and_no_object(previous: Snapshot | None) -> None:
    """Operators on library-go take their own profile then."""
    config = pki_config(snapshot(gate="on"), previous)
    assert config.reason == ("deleted" if previous else "absent")
    for usage in USAGES:
        found = required(config, usage)
        assert (found.key, found.exact) == (RECOMMENDED[usage], False)


def test_what_could_not_be_read_is_never_a_pass() -> None:
    config = pki_config(replace(snapshot(gate="on"), unreadable=UNREADABLE))
    assert config.reason == "unreadable"
    assert required(config, "serving").fit(Key(algorithm="ECDSA", curve="P521")) == "unknown"


def test_the_gate_unknown_says_so() -> None:
    config = pki_config(snapshot(pki(CUSTOM)))
    assert config.in_force
    assert "is unknown" in config.remarks[-1]


def test_objects_of_other_names_and_objects_that_go() -> None:
    other = (kinds.PKI, {"metadata": {"name": "mine"}, "spec": CUSTOM})
    config = pki_config(snapshot(other, pki(CUSTOM, deletionTimestamp="2026-11-21T00:00:00Z"), gate="on"))
    assert config.in_force
    assert any("'mine'" in each for each in config.remarks)
    assert any("being deleted" in each for each in config.remarks)


# --- Since when -------------------------------------------------------------------------------------------------------


def managed(time: str, *fields: str, annotations: tuple[str, ...] = (), **more: str) -> dict[str, Any]:
    owned: dict[str, Any] = {name: {} for name in fields} | (
        {"f:metadata": {"f:annotations": {name: {} for name in annotations}}} if annotations else {}
    )
    return {"manager": "kubectl", "time": time, "fieldsV1": owned, **more}


def day(month: int) -> datetime:
    return datetime(2026, month, 1, tzinfo=UTC)


APPLIED = (".", "f:kubectl.kubernetes.io/last-applied-configuration")


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([], datetime(2026, 1, 1, tzinfo=UTC)),
        ([managed("2026-03-01T00:00:00Z", "f:spec")], datetime(2026, 3, 1, tzinfo=UTC)),
        ([managed("2026-03-01T00:00:00Z", "f:metadata")], datetime(2026, 1, 1, tzinfo=UTC)),
        ([managed("2026-03-01T00:00:00Z", "f:spec", subresource="status")], datetime(2026, 1, 1, tzinfo=UTC)),
        (
            [managed("2026-05-01T00:00:00Z", "f:metadata", "f:spec"), managed("2026-03-01T00:00:00Z", "f:spec")],
            datetime(2026, 5, 1, tzinfo=UTC),
        ),
        ([managed("yesterday", "f:spec")], datetime(2026, 1, 1, tzinfo=UTC)),
    ],
)
def test_since(entries: list[dict[str, Any]], expected: datetime) -> None:
    cluster = snapshot(pki(CUSTOM, creationTimestamp="2026-01-01T00:00:00Z", managedFields=entries), gate="on")
    assert pki_config(cluster).since == expected


@pytest.mark.parametrize(
    ("generation", "entries", "expected"),
    [
        (1, [], False),
        (None, [], False),
        (2, [], True),
        (2, [managed("2026-03-01T00:00:00Z", "f:metadata")], True),
        (2, [managed("2026-03-01T00:00:00Z", "f:spec")], False),
        (2, [managed("2026-03-01T00:00:00Z", "f:spec", annotations=APPLIED)], False),
        (2, [managed("2026-03-01T00:00:00Z", "f:spec", annotations=(*APPLIED, "f:team"))], True),
    ],
)
def test_what_was_changed_and_does_not_say_when(
    generation: int | None, entries: list[dict[str, Any]], expected: bool
) -> None:
    more = {"creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": entries, "generation": generation}
    assert pki_config(snapshot(pki(CUSTOM, **more), gate="on")).since_vague is expected


@pytest.mark.parametrize(
    ("created", "entries", "expected"),
    [
        (1, [managed("2026-03-01T00:00:00Z", "f:spec", annotations=("f:team",))], (day(1), True, day(3))),
        (4, [managed("2026-03-01T00:00:00Z", "f:spec", annotations=("f:team",))], (day(4), True, None)),
        (None, [managed("2026-03-01T00:00:00Z", "f:spec", annotations=("f:team",))], (day(3), False, None)),
        (None, [managed("2026-03-01T00:00:00Z", "f:spec")], (day(3), False, None)),
    ],
)
def test_between_which_times_it_was_changed(
    created: int | None, entries: list[dict[str, Any]], expected: tuple[object, ...]
) -> None:
    more = {"creationTimestamp": day(created).isoformat()} if created else {}
    config = pki_config(snapshot(pki(CUSTOM, managedFields=entries, generation=2, **more), gate="on"))
    assert (config.since, config.since_vague, config.until) == expected


def test_a_file_without_a_date_counts_from_the_beginning() -> None:
    for metadata, since in (
        ({}, datetime.min.replace(tzinfo=UTC)),
        ({"creationTimestamp": "2026-03-01T00:00:00Z"}, day(3)),
    ):
        text = json.dumps({"kind": "PKI", "metadata": {"name": "cluster", **metadata}, "spec": CUSTOM})
        config = pki_config_of_file(load(text.encode(), "pki.yaml"))
        assert config.since == since
        assert ("has no date" in config.since_said) is (not metadata)


def test_since_nothing_tells() -> None:
    assert pki_config(snapshot(pki(CUSTOM), gate="on")).since is None


# --- Registered names -------------------------------------------------------------------------------------------------


def definition(
    *names: tuple[str, str], called: str = "shop", namespace: str = "openshift-config", **more: object
) -> tuple[Kind, Mapping[str, Any]]:
    certificates = [{"name": name, "category": category} for name, category in names]
    metadata = {"name": called, "namespace": namespace}
    return kinds.PKI_CERTIFICATE_DEFINITION, {"metadata": metadata, "spec": {"certificates": certificates}, **more}


def test_a_registered_name_may_be_overridden() -> None:
    spec = {"overrides": [{"certificateName": "shop-signer", "certificate": P256}]}
    config = pki_config(snapshot(pki(spec), definition(("shop-signer", "SignerCertificate")), gate="on"))
    assert config.problems == ()
    assert required(config, "signer", ("shop-signer",)).key == Key(algorithm="ECDSA", curve="P256")
    assert pki_config(snapshot(pki(spec), gate="on")).problems != ()
    elsewhere = definition(("shop-signer", "SignerCertificate"), namespace="shop")
    found = pki_config(snapshot(pki(spec), elsewhere, gate="on"))
    assert found.problems != ()
    assert any("openshift-config only" in each for each in found.remarks)


def test_a_registered_name_has_its_category_whatever_the_certificate_looks_like() -> None:
    key = {"algorithm": "ECDSA", "ecdsa": {"curve": "P384"}}
    spec = {"defaults": P256, "categories": [{"category": "SignerCertificate", "certificate": {"key": key}}]}
    config = pki_config(snapshot(pki(spec), definition(("shop-signer", "SignerCertificate")), gate="on"))
    assert required(config, "unknown", ("shop-signer",)).key == Key(algorithm="ECDSA", curve="P384")
    assert required(config, "unknown", ("other",)).key is None


@pytest.mark.parametrize(
    ("definitions", "what"),
    [
        (
            [definition(("a", "SignerCertificate")), definition(("a", "SignerCertificate"), called="b")],
            "has registered",
        ),
        ([definition(("a", "SignerCertificate"), ("a", "ClientCertificate"))], "with another category"),
        ([definition(("etcd-signer", "ClientCertificate"))], "it is known as signer"),
        ([definition(status={"conditions": [{"type": "Valid", "status": "False", "message": "twice"}]})], "not valid"),
    ],
)
def test_definitions_that_clash(definitions: list[Any], what: str) -> None:
    assert any(what in each for each in pki_config(snapshot(pki(CUSTOM), *definitions, gate="on")).remarks)


# --- Hostile objects --------------------------------------------------------------------------------------------------

WORDS = ["cluster", "RSA", "ECDSA", "P256", "Custom", "Default", "SignerCertificate", "etcd-signer", "ConfigurablePKI"]
FIELDS = [
    *("spec", "metadata", "name", "certificateManagement", "mode", "custom", "defaults", "categories", "overrides"),
    *("category", "certificateName", "certificate", "key", "algorithm", "rsa", "keySize", "ecdsa", "curve"),
    *("signerCertificates", "managedFields", "time", "fieldsV1", "f:spec", "certificates", "conditions", "status"),
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.sampled_from(WORDS),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=3), inner, max_size=5)
    ),
    max_leaves=20,
)


@at_most(200)
@given(spec=JSON, metadata=st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=4), other=JSON, raw=JSON)
def test_no_object_crashes(spec: object, metadata: dict[str, object], other: object, raw: object) -> None:
    mine: tuple[Kind, Mapping[str, Any]] = (kinds.PKI, {"metadata": {**metadata, "name": "cluster"}, "spec": spec})
    odd = (kinds.PKI_CERTIFICATE_DEFINITION, {"metadata": {"namespace": "openshift-config"}, "spec": other})
    strange = (kinds.PKI, raw if isinstance(raw, dict) else {})
    config = pki_config(snapshot(strange, mine, odd, gate="on"))
    for usage in get_args(Category):
        found = required(config, usage, ("etcd-signer", ""))
        assert found.because
    assert len(config.problems) <= 20


@given(custom=JSON, mode=st.sampled_from(WORDS))
def test_what_is_refused_is_never_configured(custom: object, mode: str) -> None:
    """Every key that comes back is one that the API knows."""
    config = of_spec({"spec": {"certificateManagement": {"mode": mode, "custom": custom}}}, ("spec",), source="s")
    assert all(_known(rule.key) for rule in _rules(config))


def _rules(config: PkiConfig) -> list[Any]:
    return [each for each in (config.defaults, *config.categories.values(), *config.overrides.values()) if each]


def _known(key: object) -> bool:
    return not isinstance(key, Key) or (key.strength is not None and key.strength >= 112)


@pytest.mark.parametrize(
    ("release", "reason"),
    [("4.21.9", "gate-off"), ("4.22.0", None), ("5.0.1", None), ("", None), ("4.22.0-0.nightly", None), ("odd", None)],
)
def test_a_release_that_is_older_than_the_gate_reads_no_object(release: str, reason: str | None) -> None:
    """A downgrade leaves the object behind."""
    version = kinds.CLUSTER_VERSION, {"metadata": {"name": "version"}, "status": {"desired": {"version": release}}}
    assert pki_config(snapshot(pki(CUSTOM), version)).reason == reason


def test_of_pki_objects_of_other_names_the_first_five_are_named() -> None:
    (remark,) = pki_config(snapshot(pki(CUSTOM), *(pki(CUSTOM, name=f"o{n}") for n in range(6)), gate="on")).remarks
    assert remark.endswith("'o0', 'o1', 'o2', 'o3', 'o4'")
