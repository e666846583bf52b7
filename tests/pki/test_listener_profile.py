"""Certificates and TLS profiles together."""

from __future__ import annotations

import pytest

from scanner.kube.tls_profile import Profile
from scanner.model.finding import Finding
from scanner.model.pki_config import RSA_2048, PkiConfig, Rule
from scanner.pki.listener_profile import PROFILE, Serving
from scanner.pki.recognition import Classified
from scanner.tls.certificate import CertificateFacts
from scanner.tls.codepoints import TLS12, TLS13
from scanner.values import replace
from tests.pki.subjects import CONFIG, LEAF, NAME, SILENT, classified

pytestmark = pytest.mark.crypto

TLS13_SUITES, ECDSA_SUITES, RSA_SUITES = (0x1301, 0x1302), (0xC02B, 0xC02C), (0xC02F, 0xC030)
RSA = replace(LEAF, key_algorithm="RSA", key_size=2048, curve=None)
ASKS_RSA = replace(CONFIG, defaults=Rule(key=RSA_2048, field="spec.defaults.key"))
ASKS_EC = CONFIG
IDLE = replace(NAME, owner=replace(NAME.owner, implements=False))


def said(
    facts: CertificateFacts | tuple[CertificateFacts, ...],
    suites: tuple[int, ...],
    config: PkiConfig = SILENT,
    *,
    told: Classified | None = None,
    least: int = TLS12,
) -> list[Finding]:
    profile = Profile(
        name="custom", min_version=least, suites=(*TLS13_SUITES, *suites), groups=None, source="APIServer"
    )
    served = facts if isinstance(facts, tuple) else (facts,)
    leaves = tuple((each, told or classified(NAME)) for each in served)
    return list(PROFILE.check(PROFILE, Serving(endpoint="x:1", profile=profile, leaves=leaves, config=config)))


@pytest.mark.parametrize(
    ("facts", "suites", "config"),
    [
        (LEAF, (*ECDSA_SUITES, *RSA_SUITES), ASKS_RSA),
        (LEAF, ECDSA_SUITES, ASKS_EC),
        (LEAF, ECDSA_SUITES, SILENT),
        (RSA, RSA_SUITES, ASKS_RSA),
        ((RSA, LEAF), ECDSA_SUITES, SILENT),
        *((replace(LEAF, key_algorithm=each, curve=None), ECDSA_SUITES, SILENT) for each in ("Ed25519", "Ed448")),
        (replace(RSA, key_algorithm="RSA-PSS"), RSA_SUITES, SILENT),
        (RSA, (), ASKS_RSA),  # no suite at all below TLS 1.3: then none is of the other kind
    ],
)
def test_kinds_that_fit_say_nothing(facts: CertificateFacts, suites: tuple[int, ...], config: PkiConfig) -> None:
    assert said(facts, suites, config) == []


@pytest.mark.parametrize(
    ("facts", "suites", "config", "when"),
    [
        (RSA, ECDSA_SUITES, SILENT, "now and after its next rotation"),
        (RSA, ECDSA_SUITES, ASKS_RSA, "now and after its next rotation"),
        (RSA, ECDSA_SUITES, ASKS_EC, "can connect now:"),
        (RSA, RSA_SUITES, ASKS_EC, "after its next rotation, which the PKI configuration decides"),
        (LEAF, ECDSA_SUITES, ASKS_RSA, "after its next rotation, which the PKI configuration decides"),
        (replace(LEAF, key_algorithm="ML-DSA-65", curve=None), (*ECDSA_SUITES, *RSA_SUITES), SILENT, "now and after"),
    ],
)
def test_kinds_that_do_not_fit_fail_with_when(
    facts: CertificateFacts, suites: tuple[int, ...], config: PkiConfig, when: str
) -> None:
    (finding,) = said(facts, suites, config)
    assert (finding.rule, finding.verdict, finding.severity, finding.about) == ("pki-profile", "fail", "medium", "x:1")
    assert when in finding.message
    assert "PKI/cluster" in (finding.fix or "")
    assert finding.expected[0].endswith(" after the next rotation")
    assert finding.observed[0].endswith(" keys only")
    assert finding.evidence == ("by its Secret",)


def test_whoever_does_not_follow_the_configuration_keeps_the_kind_that_it_has() -> None:
    assert said(RSA, RSA_SUITES, ASKS_EC, told=classified(IDLE)) == []


def test_tls_1_3_alone_goes_with_any_key() -> None:
    assert said(RSA, ECDSA_SUITES, least=TLS13) == []


def test_what_users_gave_is_theirs() -> None:
    assert said(RSA, ECDSA_SUITES, told=classified(governed=False)) == []


def test_a_key_that_cannot_be_read_is_never_a_pass() -> None:
    odd = replace(LEAF, key_algorithm=None)
    (finding,) = said(odd, ECDSA_SUITES)
    assert (finding.verdict, finding.status) == ("inconclusive", "not-tested")
    assert said(odd, (*ECDSA_SUITES, *RSA_SUITES)) == []


def test_a_key_that_nobody_can_foretell_is_no_failure() -> None:
    either = replace(NAME, name="other")
    config = replace(
        CONFIG,
        defaults=None,
        overrides={"other": Rule(key=RSA_2048, field="x"), NAME.name: Rule(key=RSA_2048, field="y")},
    )
    assert len(said(LEAF, ECDSA_SUITES, config, told=classified(NAME, either))) == 1
    differ = replace(config, overrides={**config.overrides, "other": Rule(key=CONFIG.defaults.key, field="z")})  # type: ignore[union-attr] # it has
    assert said(LEAF, ECDSA_SUITES, differ, told=classified(NAME, either)) == []
    (now,) = said(RSA, ECDSA_SUITES, differ, told=classified(NAME, either))
    assert now.expected == ("TLS 1.2 suites for the kind of key that is served: RSA 2048 now",)
