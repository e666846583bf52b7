"""Readers of the policy file ``adhere.yaml`` (``kind: ScanPolicy``, ``docs/policy.md``), and of ``--config FILE``."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from datetime import date
from fnmatch import fnmatchcase
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, ValidationInfo
from pydantic_core import PydanticKnownError

from scanner.config.cel import Holds, WrongExpressionError, compiled, variables_of
from scanner.config.file_reader import (
    MOST_ITEMS,
    AdhereFile,
    FileSection,
    SelectorSection,
    Several,
    Text,
    one_of,
    parse_file,
    wrong,
)
from scanner.errors import InputError, UsageError
from scanner.files import yaml_values
from scanner.files.problems import Problems, did_you_mean
from scanner.files.source_positions import Located, shown
from scanner.kube import kinds, profile_catalogue
from scanner.model.finding import Severity
from scanner.model.pki_config import CURVES
from scanner.model.report import FailOn
from scanner.model.row import EndpointRow
from scanner.model.rule import current
from scanner.model.scan_policy import (
    MOST_DAYS,
    MOST_OF_NAMESPACE,
    CertificateMinimums,
    Config,
    CustomRule,
    Level,
    Override,
    Policy,
    Require,
    ScanPolicy,
    Scope,
    Selector,
    Waiver,
)
from scanner.tls.oids import SIGNATURES

_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
_KINDS: Final = tuple(each.name for each in kinds.KINDS)
_RESOURCES: Final = tuple(each.resource for each in kinds.KINDS)
_SIGNATURES: Final = tuple(dict.fromkeys(name for name, _ in SIGNATURES.values()))

_Enforcement: TypeAlias = Literal["enforced", "readiness"]
_Count: TypeAlias = Annotated[int, Field(ge=1, le=10_000_000)]


def _profile(name: str) -> str:
    """The name of a profile that exists, or of a file that holds one."""
    try:
        profile_catalogue.load_profile(name)
    except (UsageError, InputError) as error:
        raise wrong(error.message, error.hint) from None
    return name


def _rule(pattern: str, info: ValidationInfo) -> str:
    rules: Collection[str] = (info.context or {})["rules"]
    rule = current(pattern)
    if not any(fnmatchcase(known, rule) for known in rules):
        hint = did_you_mean(rule, rules, otherwise="'adhere rules' lists them all")
        raise wrong(f"no rule is called {shown(rule)}", hint)
    return rule


def _day(value: object) -> date:
    if not isinstance(value, str):
        raise PydanticKnownError("string_type")
    try:
        if _DAY.match(value):
            return date.fromisoformat(value)
    except ValueError:  # the 31st of February
        pass
    raise wrong(f"{shown(value)} is no day", "write it as in 2027-03-31")


def _some(values: tuple[str, ...]) -> tuple[str, ...]:
    """An empty list would refuse everything, by mistake more often than not."""
    if not values:
        raise wrong("lists nothing", "remove it to accept any value")
    return values


_Profile: TypeAlias = Annotated[Text, AfterValidator(_profile)]
_Selectors: TypeAlias = Several[SelectorSection]


class OverrideSection(FileSection):
    """Another profile for some endpoints."""

    select: SelectorSection = Field(description="select the endpoints, as in select: {namespaces: [shop]}")
    profile: _Profile = Field(description="the profile that these endpoints must follow instead")
    justification: Text = Field(description="say why they may deviate")
    enforcement: _Enforcement = "enforced"


class WaiverSection(FileSection):
    """A finding that is accepted until a day."""

    rule: Annotated[Text, AfterValidator(_rule)] = Field(
        description="the id of a rule, or a pattern as in cert-*: see 'adhere rules'"
    )
    select: SelectorSection = Field(description="select the endpoints, as in select: {namespaces: [shop]}")
    reason: Text = Field(description="say why the finding is accepted")
    owner: Text = Field(description="say who answers for it")
    expires: Annotated[date, BeforeValidator(_day)] = Field(
        description="every waiver ends: its last day, as in expires: 2027-03-31"
    )


class ScopeSection(FileSection):
    """The ``scope`` section."""

    include: _Selectors = ()
    exclude: _Selectors = ()
    accept_unreadable: Several[
        Annotated[Text, one_of(_RESOURCES, "write it as oc get does: secrets, routes.route.openshift.io")]
    ] = ()
    endpoints_per_namespace: _Count = MOST_OF_NAMESPACE

    def value(self) -> Scope:
        """The scope itself."""
        include, exclude = _selectors(self.include), _selectors(self.exclude)
        return Scope(**{**self.given(), "include": include, "exclude": exclude})


class RequireSection(FileSection):
    """The ``require`` section."""

    min_endpoints: _Count | None = None
    adherence: Literal["Strict"] | None = None
    max_inconclusive: Annotated[int, Field(ge=0, le=10_000_000)] | None = None
    pki_coverage: Literal["complete"] | None = None
    pki_not_implemented: Literal["violation"] | None = None
    post_quantum: Literal[True] | None = None
    severity: Literal["low", "medium", "high", "critical"] = "high"

    def value(self) -> Require:
        """The requirements themselves."""
        return Require(
            min_endpoints=self.min_endpoints,
            strict_adherence=self.adherence is not None,
            max_inconclusive=self.max_inconclusive,
            pki_coverage=self.pki_coverage is not None,
            pki_not_implemented=self.pki_not_implemented is not None,
            severity=self.severity,
        )


class CertificatesSection(FileSection):
    """The ``certificates`` section: requirements without a PKI object."""

    HINTS: ClassVar = {"maxDays": "write longestDays"}

    min_rsa_bits: Annotated[int, Field(ge=512, le=16_384)] | None = None
    curves: Annotated[Several[Annotated[Text, one_of(CURVES)]], AfterValidator(_some)] = ()
    signatures: Annotated[Several[Annotated[Text, one_of(_SIGNATURES)]], AfterValidator(_some)] = ()
    longest_days: Annotated[int, Field(ge=1, le=36_500)] | None = None

    def value(self) -> CertificateMinimums:
        """The minimums themselves."""
        return CertificateMinimums(
            rsa_bits=self.min_rsa_bits,
            curves=self.curves,
            signatures=self.signatures,
            longest_days=self.longest_days,
        )


_ENDPOINT: Final = "endpoint"
_NOT_YET: Final = ("verdict", "status", "outcome", "findings", "reasons")
"""Fields of a row that follow from the rules, and the reasons for what is unknown."""


def _custom_id(value: str) -> str:
    if not re.match(r"custom/[a-z0-9][a-z0-9-]{0,60}\Z", value):
        raise wrong(f"invalid id {shown(value)}", "write custom/NAME, with lower-case letters, digits and -")
    return value


def _subject(value: str, info: ValidationInfo) -> str:
    known = (_ENDPOINT, *(info.context or {}).get("kinds", _KINDS))
    if value not in known:
        hint = did_you_mean(value, known, otherwise="use endpoint, or a kind that lint reads, such as Route")
        raise wrong(f"unknown kind {shown(value)}", hint)
    return value


def _subjects(values: tuple[str, ...]) -> tuple[str, ...]:
    if _ENDPOINT in _some(values) and len(set(values)) > 1:
        raise wrong("mixes endpoints and objects", "write a rule for each")
    return values


class CustomRuleSection(FileSection):
    """A requirement of the user."""

    HINTS: ClassVar = {"kind": "write on: [KIND]", "kinds": "write on: [KIND]", "name": "write id: custom/NAME"}

    id: Annotated[Text, AfterValidator(_custom_id)] = Field(description="write id: custom/NAME")
    title: Text = Field(description="write the requirement in a few words")
    severity: Severity = Field(description="info, low, medium, high or critical")
    on: Annotated[Several[Annotated[Text, AfterValidator(_subject)]], AfterValidator(_subjects)] = Field(
        description="write on: [endpoint], or the kinds of objects for lint: on: [Route]"
    )
    message: Text = Field(description="say what is wrong where the expression is false")
    fix: Text | None = None
    expression: Text = Field(description="write what must be true, in CEL")

    def value(self, source: str, holds: Holds) -> CustomRule:
        """The rule itself."""
        kinds = () if _ENDPOINT in self.on else self.on
        return CustomRule(**{**self.model_dump(exclude={"on"}), "kinds": kinds, "source": source, "holds": holds})


def _custom_rules(document: Located, sections: tuple[CustomRuleSection, ...]) -> Iterator[CustomRule]:
    """Check the expressions. Raises ``InputError`` for the mistakes in all of them."""
    problems = Problems(document)
    seen: set[str] = set()
    for number, each in enumerate(sections):
        steps = ("customRules", number)
        if each.id in seen:
            problems.add((*steps, "id"), f"{each.id} is there twice", "an id names one rule")
        seen.add(each.id)
        types: Mapping[str, Any] = {"object": dict[str, Any]}
        if _ENDPOINT in each.on:
            types = {name: kind for name, kind in variables_of(EndpointRow).items() if name not in _NOT_YET}
        try:
            yield each.value(document.position(steps), compiled(each.expression, types))
        except WrongExpressionError as error:
            problems.add((*steps, "expression"), str(error), f"its variables are: {', '.join(types)}")
    problems.raise_any()


_Days: TypeAlias = Annotated[int, Field(ge=0, le=MOST_DAYS)]
Plaintext: TypeAlias = Literal["not_applicable", "warn", "fail"]


class ThresholdsSection(FileSection):
    """The ``thresholds`` section; the configuration file has it too."""

    expires_within_days: _Days = Policy().expires_within_days
    expires_within_days_medium: _Days = Policy().expires_within_days_medium
    expires_within_days_high: _Days = Policy().expires_within_days_high
    min_rsa_bits: Annotated[int, Field(ge=512, le=16_384)] = Policy().min_rsa_bits
    groups: Literal["informational", "enforced"] = Policy().groups


class PolicyFile(AdhereFile):
    """The whole file."""

    HINTS: ClassVar = {
        "spec": "its fields stand at the top of the file",
        "metadata": "a policy has no name and no labels",
        "plaintext": "write plaintextPorts",
    }

    kind: Literal["ScanPolicy"] = Field(description="write kind: ScanPolicy")
    profile: _Profile | None = None
    overrides: Several[OverrideSection] = ()
    layered: _Selectors = ()
    user_workloads: _Enforcement = "readiness"
    plaintext_ports: Plaintext = Policy().plaintext_candidate
    scope: ScopeSection = Field(default_factory=ScopeSection)
    certificates: CertificatesSection = Field(default_factory=CertificatesSection)
    thresholds: ThresholdsSection = Field(default_factory=ThresholdsSection)
    waivers: Several[WaiverSection] = ()
    require: RequireSection = Field(default_factory=RequireSection)
    custom_rules: Several[CustomRuleSection] = ()
    rules: dict[Annotated[Text, AfterValidator(_rule)], Level] = Field(default={}, max_length=MOST_ITEMS)


def load_scan_policy(path: str, rules: Collection[str], kinds: Collection[str] = _KINDS) -> ScanPolicy:
    """Read the policy file. ``rules``: ids of all rules on endpoints or objects; ``kinds``: those that lint reads.

    Raises ``InputError`` with everything that is wrong in it, each with file, line and column.
    """
    return parse(yaml_values.read(path), rules, kinds)


def parse(document: Located, rules: Collection[str], kinds: Collection[str] = _KINDS) -> ScanPolicy:
    """``load_scan_policy`` of a file that was read already."""
    file = parse_file(document, PolicyFile, "policy", rules=(*rules, *_custom_ids(document)), kinds=kinds)
    return ScanPolicy(
        source=document.file,
        profile=file.profile,
        overrides=tuple(
            Override(
                selector=each.select.value(),
                profile=each.profile,
                justification=each.justification,
                source=document.position(("overrides", number)),
                binding=each.enforcement == "enforced",
            )
            for number, each in enumerate(file.overrides)
        ),
        layered=_selectors(file.layered),
        user_workloads_bound=file.user_workloads == "enforced",
        scope=file.scope.value(),
        waivers=tuple(
            Waiver(
                rule=each.rule,
                selector=each.select.value(),
                reason=each.reason,
                owner=each.owner,
                expires=each.expires,
                source=document.position(("waivers", number)),
            )
            for number, each in enumerate(file.waivers)
        ),
        require=file.require.value(),
        certificates=file.certificates.value(),
        thresholds=Policy(
            **file.thresholds.given(),
            plaintext_candidate=file.plaintext_ports,
            post_quantum=file.require.severity if file.require.post_quantum else None,
        ),
        custom_rules=tuple(_custom_rules(document, file.custom_rules)),
        rules=tuple(file.rules.items()),
    )


def _custom_ids(document: Located) -> Iterator[str]:
    """The ids of the custom rules, which waivers may name."""
    found = document.get(("customRules",))
    for each in found if isinstance(found, list) else ():
        if isinstance(each, dict) and isinstance(each.get("id"), str):
            yield str(each["id"])


def _selectors(sections: tuple[SelectorSection, ...]) -> tuple[Selector, ...]:
    return tuple(each.value() for each in sections)


# --- adhere scan --config FILE ----------------------------------------------------------------------------------------
# Fields are written as in a policy file (``failOn``), or as the options are (``fail_on``).

_Text: TypeAlias = Annotated[str, Field(min_length=1, max_length=4096)]
_Seconds: TypeAlias = Annotated[float, Field(gt=0, le=86_400)]
_Limit: TypeAlias = Annotated[int, Field(ge=1, le=100_000)]
_BY_NAME = ConfigDict(validate_by_name=True, validate_by_alias=True)


class _Policy(ThresholdsSection):
    model_config = _BY_NAME

    plaintext_candidate: Plaintext = Policy().plaintext_candidate


class ConfigurationFile(FileSection):
    """The whole file: the fields of ``Config``."""

    model_config = _BY_NAME

    profile: _Text | None = None
    mode: Literal["inventory", "verdict"] | None = None
    fail_on: FailOn | None = None
    timeout: _Seconds | None = None
    deadline: _Seconds | None = None
    concurrency: _Limit | None = None
    per_host: _Limit | None = None
    rate: Annotated[float, Field(gt=0, le=1_000_000)] | None = None
    confirm: bool | None = None
    deep: bool | None = None
    active_http: bool | None = None
    sni: _Text | None = None
    targets: Several[_Text] | None = None
    formats: Several[_Text] | None = None
    policy: _Policy | None = None


def load_config(path: str) -> Config:
    """Read the file. Raises ``InputError`` with all errors, each with file, line and column."""
    return parse_config(yaml_values.read(path))


def parse_config(document: Located) -> Config:
    """The settings of a file that is already parsed; an empty one sets nothing."""
    if document.value is None:
        return Config()
    file = parse_file(document, ConfigurationFile, "configuration")
    policy = None if file.policy is None else Policy(**file.policy.given())
    return Config(**{**file.given(), "policy": policy})
