"""The policy file sets what it says, every mistake in it is found at its place, and the documents about it are true."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.config import component_catalogue
from scanner.config.file_reader import FileSection, SelectorSection
from scanner.config.scan_policy import (
    CertificatesSection,
    CustomRuleSection,
    OverrideSection,
    PolicyFile,
    RequireSection,
    ScopeSection,
    ThresholdsSection,
    WaiverSection,
    load_scan_policy,
    parse,
)
from scanner.errors import InputError
from scanner.files.source_positions import Located
from scanner.files.yaml_values import load
from scanner.judge import CROSS_ENDPOINT_RULES, SCAN_RULES, WAIVABLE
from scanner.lint.ignores import WAIVABLE as OF_LINT
from scanner.model.rule import RETIRED
from scanner.model.scan_policy import (
    CertificateMinimums,
    CustomRule,
    Override,
    Policy,
    Require,
    ScanPolicy,
    Scope,
    Selector,
    Waiver,
)
from tests.schemas import errors, schema

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLE = (DOCS / "adhere.example.yaml").read_text()
SCHEMA = schema("scan-policy-v1")
HEAD = "apiVersion: adhere/v1\nkind: ScanPolicy\n"


def names(model: type[FileSection]) -> tuple[str, ...]:
    """The fields of a mapping, as its author writes them."""
    return tuple(str(each.alias) for each in model.model_fields.values())


FIELDS = {
    "policy": names(PolicyFile),
    "override": names(OverrideSection),
    "scope": names(ScopeSection),
    "certificates": names(CertificatesSection),
    "thresholds": names(ThresholdsSection),
    "waiver": names(WaiverSection),
    "require": names(RequireSection),
    "customRule": names(CustomRuleSection),
}
SELECTOR = names(SelectorSection)
BLOCKS = re.findall(r"^```yaml\n(.*?)^```$", (DOCS / "policy.md").read_text(), re.DOTALL | re.MULTILINE)


def document(text: str) -> Located:
    return load(text.encode(), "adhere.yaml")


def parsed(text: str) -> ScanPolicy:
    return parse(document(text), (*WAIVABLE, *OF_LINT))


def test_the_example_sets_everything() -> None:
    assert parsed(EXAMPLE) == ScanPolicy(
        source="adhere.yaml",
        profile="intermediate",
        overrides=(
            Override(
                selector=Selector(namespaces=("warehouse",), names=("label-printer",)),
                profile="old",
                justification="printers of 2014 speak TLS 1.0 only; replaced in Q3, CHG-4711",
                source="adhere.yaml:10:5",
            ),
        ),
        layered=(Selector(namespaces=("openshift-logging", "openshift-operators*")),),
        user_workloads_bound=False,
        scope=Scope(
            exclude=(
                Selector(namespaces=("ci-*", "tmp-*")),
                Selector(kinds=("Deployment",), labels=(("tier", "sandbox"),)),
            ),
            accept_unreadable=("secrets",),
            endpoints_per_namespace=5000,
        ),
        waivers=(
            Waiver(
                rule="cert-key-size",
                selector=Selector(namespaces=("payments",), names=("hsm-*",), ports=(8443, *range(9000, 9011))),
                reason="the vendor's firmware makes RSA keys of 1024 bits; new firmware is announced",
                owner="payments-platform",
                expires=date(2027, 3, 31),
                source="adhere.yaml:41:5",
            ),
        ),
        require=Require(
            min_endpoints=100,
            strict_adherence=True,
            max_inconclusive=5,
            pki_coverage=True,
            pki_not_implemented=True,
            severity="high",
        ),
        certificates=CertificateMinimums(
            rsa_bits=3072,
            curves=("P256", "P384"),
            signatures=("sha256WithRSAEncryption", "sha384WithRSAEncryption", "ecdsa-with-SHA256", "ecdsa-with-SHA384"),
            longest_days=398,
        ),
        thresholds=Policy(
            post_quantum="high", expires_within_days=21, expires_within_days_medium=10, expires_within_days_high=2
        ),
        custom_rules=(
            CustomRule(
                id="custom/route-owner",
                title="Routes have an owner",
                severity="medium",
                kinds=("Route",),
                message="the label owner is missing",
                fix="set metadata.labels.owner",
                expression='has(object.metadata.labels) && "owner" in object.metadata.labels',
                source="adhere.yaml:58:5",
                holds=lambda _: "not compared",
            ),
        ),
        rules=(("ingress-plaintext-host", "high"), ("contour-*", "low"), ("tls-pq-readiness", "off")),
    )


@pytest.mark.parametrize("part", FIELDS)
def test_the_example_uses_every_field(part: str) -> None:
    missing = {name for name in FIELDS[part] if not re.search(rf"\b{name}:", EXAMPLE)}
    assert missing <= {"include", "enforcement"}, "these two are in docs/policy.md"


def test_what_is_not_said_is_as_without_a_file() -> None:
    assert parsed(HEAD) == ScanPolicy(source="adhere.yaml")
    nothing = "".join(f"{name}:\n" for name in FIELDS["policy"][2:])
    assert parsed(HEAD + nothing) == ScanPolicy(source="adhere.yaml")
    assert set(Policy.__struct_fields__) == {
        "expires_within_days",
        "expires_within_days_medium",
        "expires_within_days_high",
        "min_rsa_bits",
        "groups",
        "plaintext_candidate",
        "post_quantum",
    }, "a new threshold needs a field in the file"


@pytest.mark.parametrize(
    ("text", "attribute", "value"),
    [
        ("userWorkloads: enforced", "user_workloads_bound", True),
        ("plaintextPorts: fail", "thresholds", Policy(plaintext_candidate="fail")),
        ("plaintextPorts: warn", "thresholds", Policy(plaintext_candidate="warn")),
        ("thresholds: {expiresWithinDays: 0}", "thresholds", Policy(expires_within_days=0)),
        (
            "thresholds: {minRsaBits: 3072, groups: enforced}",
            "thresholds",
            Policy(min_rsa_bits=3072, groups="enforced"),
        ),
        ("certificates: {curves: [P521]}", "certificates", CertificateMinimums(curves=("P521",))),
        ("certificates: {longestDays: 1}", "certificates", CertificateMinimums(longest_days=1)),
        ("certificates: {signatures: [ML-DSA-65]}", "certificates", CertificateMinimums(signatures=("ML-DSA-65",))),
        ("require: {maxInconclusive: 0}", "require", Require(max_inconclusive=0)),
        ("scope: {include: [{components: [etcd]}]}", "scope", Scope(include=(Selector(components=("etcd",)),))),
        ("layered: [{endpoints: ['*']}]", "layered", (Selector(endpoints=("*",)),)),
    ],
)
def test_each_field(text: str, attribute: str, value: object) -> None:
    policy = parsed(HEAD + text)
    assert getattr(policy, attribute) == value
    assert errors(document(HEAD + text).value, "scan-policy-v1") == []


@pytest.mark.parametrize("former", RETIRED)
def test_a_waiver_may_name_a_rule_by_its_former_id(former: str) -> None:
    text = (HEAD + WAIVER).replace("tls-version", former)
    (waiver,) = parse(document(text), (RETIRED[former],)).waivers
    assert waiver.rule == RETIRED[former]


def test_an_override_may_be_readiness_only() -> None:
    line = "overrides: [{select: {names: [a]}, profile: modern, justification: x, enforcement: %s}]"
    assert parsed(HEAD + line % "enforced").overrides[0].binding
    assert not parsed(HEAD + line % "readiness").overrides[0].binding


def test_a_file_is_read_from_disk(tmp_path: Path) -> None:
    file = tmp_path / "adhere.yaml"
    file.write_text(EXAMPLE)
    assert load_scan_policy(str(file), (*WAIVABLE, *OF_LINT)).source == str(file)
    with pytest.raises(InputError, match="cannot be read"):
        load_scan_policy(str(tmp_path / "nowhere.yaml"), WAIVABLE)


# --- What is refused ------------------------------------------------------------------------------------------------

WAIVER = "waivers: [{rule: tls-version, select: {names: [a]}, reason: r, owner: o, expires: 2027-03-31}]"

WHOLE_FILES: dict[str, tuple[str, ...]] = {
    "an empty file": ("", "adhere.yaml:1:1: no policy in this file", "kind: ScanPolicy"),
    "a list": ("- a\n", "adhere.yaml:1:1: must be a mapping"),
    "no kind": ("apiVersion: adhere/v1\n", "adhere.yaml:1:1: kind is missing", "write kind: ScanPolicy"),
    "another version": (HEAD.replace("v1", "v2"), "adhere.yaml:1:13: apiVersion: must be 'adhere/v1', not 'adhere/v2'"),
}
BEHIND_THE_HEAD: dict[str, tuple[str, ...]] = {
    "an unknown field": ("waiver: []", "adhere.yaml:3:1: waiver: unknown field 'waiver'", "'waivers'"),
    "a spec": ("spec: {}", "adhere.yaml:3:1: spec: unknown field 'spec'", "at the top of the file"),
    "snake case": ("require: {min_endpoints: 3}", "3:11: require.min_endpoints: unknown field", "'minEndpoints'"),
    "an unknown profile": ("profile: intermdiate", "3:10: profile: unknown profile", "intermediate"),
    "a file that is no profile": ("profile: ./nowhere.yaml", "3:10: profile: ./nowhere.yaml: cannot be read"),
    "an unknown rule": (
        WAIVER.replace("tls-version", "tls-versions"),
        "3:18: waivers[0].rule: no rule is called 'tls-versions'",
        "did you mean 'tls-version'?",
    ),
    "a pattern without a rule": (WAIVER.replace("tls-version", '"pki-*"'), "no rule is called 'pki-*'"),
    "a rule on the scan itself": (
        WAIVER.replace("tls-version", "require-endpoints"),
        "no rule is called 'require-endpoints'",
    ),
    "a level of an unknown rule": ("rules: {tls-versions: low}", "3:9: rules", "did you mean 'tls-version'?"),
    "an unknown level": ("rules: {tls-version: of}", "3:22: rules.tls-version: must be", "did you mean 'off'?"),
    "no end": (WAIVER.replace(", expires: 2027-03-31", ""), "3:11: waivers[0]: expires is missing", "2027-03-31"),
    "no owner": (WAIVER.replace("owner: o, ", ""), "3:11: waivers[0]: owner is missing", "who answers for it"),
    "no reason": (WAIVER.replace("reason: r, ", ""), "3:11: waivers[0]: reason is missing", "accepted"),
    "an empty reason": (WAIVER.replace("reason: r", "reason: ' '"), "waivers[0].reason: must be some text"),
    "no rule": (WAIVER.replace("rule: tls-version, ", ""), "3:11: waivers[0]: rule is missing", "adhere rules"),
    "no selector": (WAIVER.replace("select: {names: [a]}, ", ""), "3:11: waivers[0]: select is missing"),
    "a selector of nothing": (
        WAIVER.replace("{names: [a]}", "{}"),
        "waivers[0].select: selects nothing in particular",
        'endpoints: ["*"]',
    ),
    "a selector of empty lists": ("layered: [{names: []}]", "layered[0]: selects nothing in particular"),
    "a selector in the singular": (
        WAIVER.replace("names: [a]", "namespace: a"),
        "waivers[0].select.namespace: unknown field 'namespace'",
        "write namespaces: [NAME]",
    ),
    "a day that is none": (WAIVER.replace("2027-03-31", "2027-02-31"), "waivers[0].expires: '2027-02-31'", "2027"),
    "a day in words": (WAIVER.replace("2027-03-31", "never"), "waivers[0].expires: 'never' is no day", "2027"),
    "a year alone": (WAIVER.replace("2027-03-31", "2027"), "waivers[0].expires: must be text, not 2027", "quotes"),
    "a time of day": (WAIVER.replace("2027-03-31", "20270331T10"), "'20270331T10' is no day"),
    "no justification": (
        "overrides: [{select: {names: [a]}, profile: old}]",
        "3:13: overrides[0]: justification is missing",
        "why they may deviate",
    ),
    "an override without a profile": (
        "overrides: [{select: {names: [a]}, justification: x}]",
        "3:13: overrides[0]: profile is missing",
    ),
    "no listener of any namespace": (
        "scope: {endpointsPerNamespace: 0}",
        "3:32: scope.endpointsPerNamespace: must be at least 1, not 0",
    ),
    "a kind that nobody reads": (
        "scope: {acceptUnreadable: [secret]}",
        "3:28: scope.acceptUnreadable[0]: unknown value 'secret'",
        "did you mean 'secrets'?",
    ),
    "a curve in another spelling": (
        "certificates: {curves: [P256, P-384]}",
        "3:31: certificates.curves[1]: unknown value 'P-384'",
        "did you mean 'P384'?",
    ),
    "no curve at all": ("certificates: {curves: []}", "3:24: certificates.curves: lists nothing", "remove it"),
    "a signature that is none": (
        "certificates: {signatures: [sha256WithRSA]}",
        "3:29: certificates.signatures[0]: unknown value 'sha256WithRSA'",
        "did you mean 'sha256WithRSAEncryption'?",
    ),
    "too few bits to mean it": (
        "certificates: {minRsaBits: 4}",
        "3:28: certificates.minRsaBits: must be at least 512, not 4",
    ),
    "days under another name": (
        "certificates: {maxDays: 90}",
        "3:16: certificates.maxDays: unknown field 'maxDays'",
        "write longestDays",
    ),
    "legacy as a requirement": (
        "require: {adherence: Legacy}",
        "3:22: require.adherence: must be 'Strict', not 'Legacy'",
        "Strict",
    ),
    "no endpoint required": ("require: {minEndpoints: 0}", "must be at least 1, not 0"),
    "a number in words": ("require: {maxInconclusive: few}", "must be a whole number, not 'few'"),
    "true as a number": ("require: {maxInconclusive: true}", "must be a whole number, not True"),
    "a port that is none": ("layered: [{ports: [0]}]", "layered[0].ports[0]: 0 is not a port", "65535"),
    "one port": ("layered: [{ports: 443}]", "layered[0].ports: must be a list, not 443"),
    "a label that is a number": ("layered: [{labels: {a: 1}}]", "layered[0].labels.a: must be text", "quotes"),
    "text instead of a list": ("layered: all", "3:10: layered: must be a list, not 'all'"),
    "text in a list": ("layered: [all]", "3:11: layered[0]: must be a mapping, not 'all'"),
    "a null in a list": ("waivers: [null]", "3:11: waivers[0]: must be a mapping, not None"),
}
REFUSED = WHOLE_FILES | {what: (HEAD + text, *said) for what, (text, *said) in BEHIND_THE_HEAD.items()}
ONLY_THE_PROGRAM_KNOWS = {
    "a level of an unknown rule",
    "an unknown profile",
    "a file that is no profile",
    "a signature that is none",
    "an unknown rule",
    "a pattern without a rule",
    "a rule on the scan itself",
    "a day that is none",
    "a kind that nobody reads",
    "a selector of empty lists",
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_wrong_is_said_with_its_place(what: str) -> None:
    text, message, *hints = REFUSED[what]
    with pytest.raises(InputError) as caught:
        parsed(text)
    assert message in caught.value.message
    assert caught.value.message.startswith("adhere.yaml:")
    assert all(hint in f"{caught.value.message} {caught.value.hint}" for hint in hints)


@pytest.mark.parametrize("what", REFUSED)
def test_the_schema_refuses_the_same(what: str) -> None:
    valid = not errors(document(REFUSED[what][0]).value, "scan-policy-v1")
    assert valid == (what in ONLY_THE_PROGRAM_KNOWS)


def test_everything_that_is_wrong_is_said_at_once() -> None:
    wrong = "userWorkloads: some\nprofile: intermdiate\nwaivers: [{rule: no-such, expires: soon}]\nrequire: [1]\n"
    with pytest.raises(InputError) as caught:
        parsed(HEAD + wrong)
    told = [line.split(": ")[0:2] for line in caught.value.message.splitlines()]
    assert [path for _, path in told] == [
        "userWorkloads",
        "profile",
        "waivers[0]",
        "waivers[0]",
        "waivers[0]",
        "waivers[0].rule",
        "waivers[0].expires",
        "require",
    ]
    assert told == sorted(told, key=lambda each: [int(number) for number in each[0].split(":")[1:]])


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*FIELDS["waiver"], *SELECTOR, "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)
FILES = st.dictionaries(st.sampled_from([*FIELDS["policy"][2:], "x"]), ANYTHING, max_size=3)


@given(content=FILES)
def test_anything_is_read_or_refused_and_what_is_read_the_schema_takes(content: dict[str, object]) -> None:
    whole = {"apiVersion": "adhere/v1", "kind": "ScanPolicy", **content}
    refused = None
    try:
        parsed(json.dumps(whole))
    except InputError as error:
        refused = error.message
    else:
        assert errors(document(json.dumps(whole)).value, "scan-policy-v1") == []
    assert refused is None or refused.startswith("adhere.yaml:1:")


# --- The documents --------------------------------------------------------------------------------------------------


def test_the_schema_is_one_and_has_every_field() -> None:
    assert errors(document(EXAMPLE).value, "scan-policy-v1") == []
    for part, names in {**FIELDS, "selector": SELECTOR}.items():
        described = SCHEMA["$defs"][part]
        assert tuple(described["properties"]) == names
        assert described["additionalProperties"] is False


def test_the_page_has_examples() -> None:
    assert len(BLOCKS) >= 7


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_every_example_of_the_page_is_valid(block: str) -> None:
    text = block if "kind:" in block.split("\n\n", maxsplit=1)[0][:60] else HEAD + block
    if "ComponentCatalogue" in text:
        assert component_catalogue.parse(document(text)).listeners
        return
    assert parsed(text) != ScanPolicy(source="adhere.yaml")
    assert errors(document(text).value, "scan-policy-v1") == []


def test_the_page_names_every_field_and_every_rule_on_the_scan() -> None:
    page = (DOCS / "policy.md").read_text()
    names = {name for part in FIELDS.values() for name in part} | set(SELECTOR)
    assert [name for name in names if not re.search(rf"\b{name}\b", page)] == []
    rules = {each.id for each in SCAN_RULES} - {each.id for each in CROSS_ENDPOINT_RULES}
    assert [rule for rule in rules if f"`{rule}`" not in page and f": {rule}" not in page] == []
