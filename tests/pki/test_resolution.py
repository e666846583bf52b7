"""What one certificate's key must be: every combination of what may say so, and the order of it."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.kube.maybe import Unknown
from scanner.model.pki_config import RSA_2048, USAGES, Key, PkiConfig, Required, Rule, Usage
from scanner.pki.config import RECOMMENDED, of_spec
from scanner.pki.config_schemas import CATEGORIES, FIELDS, WELL_KNOWN
from scanner.pki.resolution import Category, required
from scanner.values import replace

P256, P384, P521 = (Key(algorithm="ECDSA", curve=curve) for curve in ("P256", "P384", "P521"))
RSA_3072, RSA_4096 = (Key(algorithm="RSA", size=size) for size in (3072, 4096))
KEYS = (RSA_2048, RSA_3072, RSA_4096, P256, P384, P521)
NAMES: dict[Usage, str] = {"signer": "etcd-signer", "serving": "etcd-server", "client": "aggregator-client"}
CATEGORY = {usage: name for name, usage in CATEGORIES.items()}
FIELD = {usage: name for name, usage in FIELDS.items()}

keys = st.sampled_from(KEYS)
usages = st.sampled_from(USAGES)


def said(key: Key) -> dict[str, Any]:
    """As the API has it."""
    if key.algorithm == "RSA":
        return {"key": {"algorithm": "RSA", "rsa": {"keySize": key.size}}}
    return {"key": {"algorithm": "ECDSA", "ecdsa": {"curve": key.curve}}}


def lists(defaults: Key | None, categories: dict[Usage, Key], overrides: dict[str, Key]) -> dict[str, Any]:
    """The document's three fields; what is empty is left out."""
    every = {
        "defaults": said(defaults) if defaults else None,
        "categories": [{"category": CATEGORY[usage], "certificate": said(key)} for usage, key in categories.items()],
        "overrides": [{"certificateName": name, "certificate": said(key)} for name, key in overrides.items()],
    }
    return {name: value for name, value in every.items() if value}


def read(spec: dict[str, Any]) -> PkiConfig:
    return of_spec({"spec": spec}, ("spec",), source="PKI/cluster")


def document(
    defaults: Key | None = None, categories: dict[Usage, Key] | None = None, overrides: dict[str, Key] | None = None
) -> PkiConfig:
    return read(lists(defaults, categories or {}, overrides or {}))


def shipped(defaults: Key, categories: dict[Usage, Key] | None = None) -> PkiConfig:
    custom = {"defaults": said(defaults), **{FIELD[usage]: said(key) for usage, key in (categories or {}).items()}}
    return read({"certificateManagement": {"mode": "Custom", "custom": custom}})


def decided(found: Required) -> str:
    """The field of the step that decides."""
    (step,) = [each for each in found.because if each.decides]
    return step.field


# --- The document's shape, and the interim one ------------------------------------------------------------------------


@pytest.mark.parametrize("interim", [False, True], ids=["document", "interim"])
@pytest.mark.parametrize("usage", USAGES)
@pytest.mark.parametrize(
    ("override", "category", "defaults"), list(product((None, P521), (None, P384), (None, RSA_4096)))
)
def test_the_nearest_wins(
    usage: Usage, override: Key | None, category: Key | None, defaults: Key | None, interim: bool
) -> None:
    overrides = {NAMES[usage]: override} if override else {}
    elsewhere = {"root-ca": RSA_3072}  # what is configured for others says nothing here
    fields = lists(defaults, {usage: category} if category else {}, overrides | elsewhere)
    config = read({"certificateManagement": {"mode": "Custom", "custom": fields}} if interim else fields)
    assert config.shape == ("interim" if interim else "document")
    assert config.problems == ()
    prefix = "spec.certificateManagement.custom" if interim else "spec"
    expected, field = next(
        (key, f"{prefix}.{where}")
        for key, where in (
            (override, "overrides[0].certificate.key"),
            (category, "categories[0].certificate.key"),
            (defaults, "defaults.key"),
            (RSA_2048, ""),
        )
        if key
    )
    found = required(config, usage, (NAMES[usage],))
    assert (found.key, found.exact) == (expected, expected is not RSA_2048)
    assert decided(found) == (field if found.exact else "")
    present = [key for key in (RSA_2048, defaults, category, override) if key]
    assert [step.said.split(" or ")[0] for step in found.because] == [str(key) for key in present]
    assert [step.beat and step.beat.split(" or ")[0] for step in found.because] == [None, *map(str, present[:-1])]
    nameless = required(config, usage)
    assert nameless.key == (category or defaults or RSA_2048)  # a Service's certificate has no name


def test_another_categorys_configuration_says_nothing() -> None:
    config = document(categories={"signer": P384}, overrides={"service-ca": P521})
    assert required(config, "serving", ("etcd-server",)).key == RSA_2048
    assert required(config, "signer", ("etcd-signer",)).key == P384


@given(
    usage=usages,
    defaults=st.none() | keys,
    categories=st.dictionaries(usages, keys),
    overrides=st.dictionaries(st.sampled_from(sorted(WELL_KNOWN)), keys, max_size=5),
    name=st.sampled_from(sorted(WELL_KNOWN)),
)
def test_order(
    usage: Usage, defaults: Key | None, categories: dict[Usage, Key], overrides: dict[str, Key], name: str
) -> None:
    """Whatever else is configured, the nearest that speaks of this certificate decides, and no other changes it."""
    config = document(defaults, categories, overrides)
    found = required(config, usage, (name,))
    if config.shape == "none":
        assert found.key is None
        assert config.reason == "empty"
        return
    assert found.key == overrides.get(name, categories.get(usage, defaults or RSA_2048))
    assert found.exact == (name in overrides or usage in categories or defaults is not None)
    assert found.key is not None
    assert found.fit(found.key) == "met"
    assert [step.decides for step in found.because][-1:] == [True]
    assert sum(step.decides for step in found.because) == 1


@given(defaults=st.none() | keys, serving=st.none() | keys, client=st.none() | keys)
def test_both_usages_without_a_name_are_held_to_both(
    defaults: Key | None, serving: Key | None, client: Key | None
) -> None:
    said_: dict[Usage, Key | None] = {"serving": serving, "client": client}
    categories = {usage: key for usage, key in said_.items() if key}
    config = document(defaults or RSA_3072, categories)
    found = required(config, "peer")
    wanted = {serving or defaults or RSA_3072, client or defaults or RSA_3072}
    if len(wanted) == 1:
        assert {found.key} == wanted
    else:
        assert {each.key for each in found.all_of} == wanted
        assert found.fit(min(wanted, key=lambda key: key.strength or 0)) == "violated"


def test_both_usages_with_a_name_are_held_to_its_category() -> None:
    config = document(categories={"serving": P384, "client": RSA_4096})
    assert required(config, "peer", ("etcd-peer-server",)).key == P384
    assert required(config, "peer", ("admin-kubeconfig-client",)).key == RSA_4096


# --- The shipped shape ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("usage", USAGES)
@pytest.mark.parametrize("category", [None, P384])
@pytest.mark.parametrize("others", [{}, {"signer": P521, "serving": P521, "client": P521}])
def test_a_category_goes_before_the_defaults(usage: Usage, category: Key | None, others: dict[Usage, Key]) -> None:
    categories = {name: key for name, key in others.items() if name != usage} | ({usage: category} if category else {})
    found = required(shipped(RSA_3072, categories), usage, (NAMES[usage],))
    assert (found.key, found.exact) == (category or RSA_3072, True)
    where = f"{FIELD[usage]}.key" if category else "defaults.key"
    assert decided(found) == f"spec.certificateManagement.custom.{where}"


@pytest.mark.parametrize(("serving", "client"), list(product(KEYS, KEYS)), ids=str)
def test_a_peer_takes_the_stronger(serving: Key, client: Key) -> None:
    found = required(shipped(RSA_2048, {"serving": serving, "client": client}), "peer")
    assert found.key is not None
    bits = (serving.strength or 0, client.strength or 0)
    assert found.key in (serving, client)
    assert found.key.strength == max(bits)
    assert found.exact
    if bits[0] == bits[1] and "ECDSA" in (serving.algorithm, client.algorithm):
        assert found.key.algorithm == "ECDSA"
    assert sum(step.decides for step in found.because) == 1


@pytest.mark.parametrize(("mode", "expected"), [("Default", RECOMMENDED), ("Unmanaged", {})])
def test_modes_without_custom(mode: str, expected: dict[Usage, Key]) -> None:
    config = read({"certificateManagement": {"mode": mode}})
    for usage in USAGES:
        found = required(config, usage, (NAMES[usage],))
        assert (found.key, found.exact, found.unknown) == (expected.get(usage), False, None)
    assert required(config, "peer").key == expected.get("serving")


def test_a_category_without_a_key_takes_the_defaults() -> None:
    custom = {"defaults": said(P256), "servingCertificates": {}}
    config = read({"certificateManagement": {"mode": "Custom", "custom": custom}})
    assert required(config, "serving").key == P256


# --- What nobody can tell ---------------------------------------------------------------------------------------------


def test_what_the_api_would_refuse_is_unknown_where_it_counts() -> None:
    config = read(
        {"defaults": said(P256), "categories": [{"category": "SignerCertificate", "certificate": {"key": {}}}]}
    )
    assert "Required value" in str(required(config, "signer").unknown)
    assert required(config, "signer").fit(P256) == "unknown"
    assert required(config, "serving").key == P256


def test_twice_the_same_name_is_unknown() -> None:
    twice = [{"certificateName": "etcd-server", "certificate": said(key)} for key in (P256, P384)]
    assert "listed twice" in str(required(read({"overrides": twice}), "serving", ("etcd-server",)).unknown)


@pytest.mark.parametrize("management", [{"mode": "Magic"}, {}, {"mode": None}])
@pytest.mark.parametrize("beside", [{}, {"custom": {"defaults": said(P256)}}, {"custom": lists(P256, {}, {})}])
def test_with_a_mode_that_nobody_knows_nothing_counts_that_is_beside_it(
    management: dict[str, Any], beside: dict[str, Any]
) -> None:
    config = read({"certificateManagement": {**management, **beside}})
    assert required(config, "serving").fit(P521) == "unknown"
    assert required(config, "serving").fit(P256) == "unknown"


def test_ambiguous_names_stand_where_they_agree() -> None:
    config = document(P256, overrides={"admin-kubeconfig-client": RSA_4096})
    both = ("kube-control-plane-kube-scheduler-client", "kube-control-plane-kube-controller-manager-client")
    assert required(config, "client", both).key == P256
    differ = required(config, "client", (*both, "admin-kubeconfig-client"))
    assert {each.key for each in differ.one_of} == {P256, RSA_4096}
    assert differ.fit(RSA_2048) == "violated"  # whichever it is
    assert differ.fit(P256) == "unknown"


def test_an_unknown_category_stands_where_all_agree() -> None:
    assert required(document(P384), "unknown").key == P384
    differ = required(document(P384, {"signer": P521}), "unknown")
    assert differ.fit(P384) == "unknown"
    assert differ.fit(RSA_2048) == "violated"
    assert required(document(P384, {"signer": P521}), "unknown", ("etcd-signer",)).key == P521


# --- How a key stands to it -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "exact", "minimum"),
    [
        (P256, "met", "met"),
        (P384, "stronger", "met"),
        (RSA_3072, "violated", "met"),
        (RSA_4096, "stronger", "met"),
        (RSA_2048, "violated", "violated"),
        (Key(algorithm="Ed25519"), "violated", "violated"),
        (Key(algorithm="ML-DSA-65"), "violated", "violated"),
        (Key(algorithm="ECDSA", curve="secp256k1"), "violated", "violated"),
    ],
    ids=str,
)
def test_fit(key: Key, exact: str, minimum: str) -> None:
    assert Required(key=P256, exact=True).fit(key) == exact
    assert Required(key=P256, exact=False).fit(key) == minimum
    assert Required().fit(key) == "unrequired"
    assert Required(unknown="nobody read it").fit(key) == "unknown"


@given(key=keys, defaults=keys, exact=st.booleans())
def test_fit_never_takes_the_weaker(key: Key, defaults: Key, exact: bool) -> None:
    fit = Required(key=defaults, exact=exact).fit(key)
    if (key.strength or 0) < (defaults.strength or 0):
        assert fit == "violated"
    if exact and key != defaults:
        assert fit != "met"


@given(
    config=st.builds(
        document,
        st.none() | keys,
        st.dictionaries(usages, keys),
        st.dictionaries(st.sampled_from(sorted(WELL_KNOWN)), keys, max_size=3),
    ),
    category=st.sampled_from(("signer", "serving", "client", "peer", "unknown")),
    names=st.lists(st.sampled_from(sorted(WELL_KNOWN)) | st.text(max_size=5), max_size=4),
    key=keys,
)
def test_every_answer_is_one_answer(config: PkiConfig, category: Category, names: list[str], key: Key) -> None:
    found = required(config, category, tuple(names))
    assert sum(map(bool, (found.key, found.unknown, found.all_of, found.one_of))) <= 1
    assert found.because
    assert found.fit(key) in ("unrequired", "met", "stronger", "unknown", "violated")


def test_what_was_asked_before_is_answered_alike_and_another_configuration_begins_anew() -> None:
    config = PkiConfig(source="PKI/cluster", shape="document", defaults=Rule(key=RSA_2048, field="spec.defaults.key"))
    first = required(config, "serving", ("etcd-server",))
    assert required(config, "serving", ("etcd-server",)) is first
    larger = replace(config, defaults=Rule(key=Key(algorithm="RSA", size=4096), field="spec.defaults.key"))
    assert required(larger, "serving", ("etcd-server",)).key == Key(algorithm="RSA", size=4096)
    assert config == replace(config)


@pytest.mark.parametrize("category", ["unknown", "serving"])
def test_an_override_stands_over_its_names_category_whatever_the_certificate_looks_like(category: Category) -> None:
    config = document(categories={"client": RSA_4096, "serving": P384}, overrides={NAMES["client"]: P521})
    found = required(config, category, (NAMES["client"],))
    assert found.key == P521
    assert any(str(RSA_4096) in step.said for step in found.because)
    assert not any(str(P384) in step.said for step in found.because)


@pytest.mark.parametrize("usage", ["serving", "client"])
def test_of_a_peer_nothing_is_known_where_one_of_its_usages_is_not(usage: Usage) -> None:
    config = shipped(RSA_2048, {"serving": P384, "client": P384})
    odd = replace(config, categories={**config.categories, usage: Rule(key=Unknown("P385"), field="x")})
    assert required(odd, "peer").unknown is not None
