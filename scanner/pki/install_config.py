"""install-config: ``pki.signerCertificates``, the keys of the signers that the installer makes, and the rule on them.

Checked as openshift/installer does it (``pkg/types/pki/validation.go``), with its messages. What it makes beside the
signers, and all that it makes where ``pki`` is not set, has the platform's own keys, which differ by release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from scanner.errors import InputError
from scanner.files import yaml_values
from scanner.files.problems import Problems
from scanner.files.source_positions import Located, Steps, dotted
from scanner.kube.kinds import CONFIG_MAP, Kind
from scanner.kube.maybe import Known, Unknown
from scanner.kube.schema import NumberShape, Record, TextShape
from scanner.kube.secrets import ConfigMap
from scanner.kube.snapshot import Snapshot
from scanner.model.finding import Finding
from scanner.model.pki_config import CURVES, Complaint, Key, PkiConfig, Required, Rule
from scanner.model.rule import ScanRule
from scanner.pki.config_schemas import ALGORITHMS, complaints, unknown_fields, without_nulls
from scanner.pki.object_rules import Configuration
from scanner.pki.resolution import required
from scanner.values import replace

READS: tuple[Kind, ...] = (CONFIG_MAP,)
_PLACE: Final = ("cluster-config-v1", "kube-system")
_STEPS: Final[Steps] = ("pki",)
_GATED: Final = (
    "while a release has the feature gate ConfigurablePKI off, the installer takes pki with a featureSet only "
    "(TechPreviewNoUpgrade, CustomNoUpgrade), and none is set"
)
_UNKNOWN_MOST: Final = 50
"""Most unknown fields that are named."""
_KEY: Final = Record(
    {
        "algorithm": TextShape(),
        "rsa": Record({"keySize": NumberShape()}),
        "ecdsa": Record({"curve": TextShape()}),
    }
)
_TYPES: Final = Record({"signerCertificates": Record({"key": _KEY})})
"""Types that Go can decode; other values do not reach the validation."""


def install_config(document: Located) -> PkiConfig:
    """The configuration of an install-config. Raises ``InputError`` with everything that the installer would reject."""
    problems = Problems(document)
    if not isinstance(document.value, dict):
        problems.add((), "no install-config in this file", "it has baseDomain, platform and so on")
    config = asked_of_installer(document)
    for each in config.problems:
        problems.add(each.steps, each.message)
    problems.raise_any()
    return config


def install_config_of_cluster(snapshot: Snapshot) -> PkiConfig | None:
    """The configuration in ConfigMap kube-system/cluster-config-v1, read leniently; None if the cluster has none."""
    found = snapshot.get(CONFIG_MAP, *_PLACE)
    if found is None or "install-config" not in ConfigMap.of(found).data:
        return None
    source = f"{found.reference} data[install-config]"
    try:
        return asked_of_installer(
            yaml_values.load(ConfigMap.of(found).data["install-config"].encode("utf-8", "replace"), source)
        )
    except InputError as error:
        return PkiConfig(source=source, reason="unreadable", platform_said=error.message)


def asked_of_installer(document: Located) -> PkiConfig:
    """The configuration of an install-config; values that the installer would reject are among its problems."""
    value = without_nulls(document.get(_STEPS))  # Go takes null for nothing
    config = PkiConfig(source=document.file, shape="install-config")
    if value is None:
        return replace(config, reason="empty", platform_said="pki is not set: the installer's own choice")
    wrong = tuple(_wrong(value))
    steps = (*_STEPS, "signerCertificates", "key")
    key = Unknown(str(wrong[0])) if wrong else _key(value)
    gated = () if document.get(("featureSet",)) or document.get(("featureGates",)) else (_GATED,)
    return replace(
        config,
        categories={"signer": Rule(key=key, field=dotted(steps))},
        platform_said="the installer's own choice: pki.signerCertificates speaks of signers only",
        problems=wrong,
        unknown_fields=tuple(map(dotted, unknown_fields(_TYPES, value, _STEPS)))[:_UNKNOWN_MOST],
        remarks=gated,
    )


def _wrong(value: object) -> Iterator[Complaint]:
    odd = list(complaints(_TYPES, value, _STEPS))
    yield from odd
    if odd:
        return
    key, steps = _fields(value), (*_STEPS, "signerCertificates", "key")
    algorithm = key.get("algorithm") or ""
    if not algorithm:
        yield Complaint(steps, "Required value: signerCertificates.key is required when pki is specified")
    elif algorithm not in ALGORITHMS:
        listed = ", ".join(f'"{each}"' for each in ALGORITHMS)
        yield Complaint((*steps, "algorithm"), f'Unsupported value: "{algorithm}": supported values: {listed}')
    else:
        yield from _members(key, str(algorithm), steps)


def _members(key: Mapping[str, object], algorithm: str, steps: Steps) -> Iterator[Complaint]:
    for member, name, good, words in _MEMBERS:
        inner = key.get(member)
        if member != algorithm.lower():
            if inner is not None:
                yield Complaint((*steps, member), f"Forbidden: {member} must not be set when algorithm is {algorithm}")
        elif not isinstance(inner, dict):
            message = f"{member} must be specified when algorithm is {algorithm}"
            yield Complaint((*steps, member), f"Required value: {message}")
        elif not good(inner.get(name)):
            yield Complaint((*steps, member, name), f"Invalid value: {words}")


def _stepped(size: object) -> bool:
    return isinstance(size, int) and 2048 <= size <= 8192 and size % 1024 == 0


_MEMBERS: Final[tuple[tuple[str, str, Callable[[object], bool], str], ...]] = (
    ("rsa", "keySize", _stepped, "must be a multiple of 1024 from 2048 to 8192"),
    ("ecdsa", "curve", lambda curve: curve in CURVES, "must be P256, P384, or P521"),
)


def _key(value: object) -> Known[Key]:
    key = _fields(value)
    rsa, ecdsa = key.get("rsa"), key.get("ecdsa")
    if isinstance(rsa, dict):
        return Key(algorithm="RSA", size=rsa["keySize"])
    if isinstance(ecdsa, dict):
        return Key(algorithm="ECDSA", curve=ecdsa["curve"])
    return Unknown("no key")


def _fields(value: object) -> Mapping[str, object]:
    for name in ("signerCertificates", "key"):
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def check_installation(rule: ScanRule, about: Configuration) -> Iterator[Finding]:
    """The install-config configures the same signer keys as the PKI object."""
    day_one = about.day_one or install_config_of_cluster(about.snapshot)
    if day_one is None or day_one.reason == "empty" or day_one == about.config:
        return
    for each in day_one.problems:
        yield _finding(rule, day_one.source, f"the installer refuses {each}", "correct the file")
    asked = day_one.categories.get("signer")
    if asked is not None and not isinstance(asked.key, Unknown):
        yield from _compared(rule, day_one, asked.field, asked.key, about.config)


def before_installation(rule: ScanRule, document: Located) -> Iterator[tuple[Steps, Finding]]:
    """Findings on values that the installer rejects, with the field of each, before an installation."""
    day_one = asked_of_installer(document)
    for each in day_one.problems:
        fix = f"correct {dotted(each.steps)}"
        yield each.steps, rule.finding(day_one.source, f"the installer refuses {each}", fix, severity="high")
    for remark in day_one.remarks:
        yield ("pki",), rule.finding(day_one.source, remark, "set featureSet, or remove pki", severity="medium")
    for field in day_one.unknown_fields:
        yield ("pki",), rule.finding(day_one.source, f"unknown field {field}: the installer ignores it", "remove it")


def _compared(rule: ScanRule, day_one: PkiConfig, field: str, key: Key, config: PkiConfig) -> Iterator[Finding]:
    requirement = required(config, "signer")
    asks = f"{field} asks for {key} keys of signers"
    if requirement.unknown is not None:
        text = f"{asks}, and what {config.source} requires is unknown: {requirement.unknown}"
        yield replace(_finding(rule, day_one.source, text), verdict="inconclusive", status="not-tested")
    elif requirement.key != key:
        text = f"{asks}, and {config.source} for {_asked(requirement)}"
        yield _finding(rule, day_one.source, text, f"say the same in {config.source} and in the install-config")


def _asked(requirement: Required) -> str:
    if requirement.key is None:
        return "nothing"
    return str(requirement.key) if requirement.exact else f"nothing, which leaves {requirement.key}"


def _finding(rule: ScanRule, about: str, asks: str, fix: str | None = None) -> Finding:
    return rule.finding(about, f"{about}: {asks}", fix)


INSTALLATION = ScanRule(id="pki-install-config", check=check_installation)
