"""Every rule about listeners has an example that fails and one that passes on its page, and they do.

``tests/golden/findings.txt`` has every field of what the rules say of these examples and of ``MORE``. After a change
that is meant: ``ADHERE_GOLDEN=write .venv/bin/pytest tests/judge/test_examples.py``; then read the difference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest
import yaml

from scanner.config.scan_policy import parse
from scanner.files import yaml_values
from scanner.judge import RULES, SCAN_RULES, judge
from scanner.judge.sslyze_result import DEEP_RULES, confirm
from scanner.kube.maybe import Unknown
from scanner.lint.fields import FIELD_RULES
from scanner.model.finding import Finding
from scanner.model.observation import Reach
from scanner.model.rule import Case, Rule
from tests.judge.cases import ISSUER, case
from tests.judge.examples import TO_DO, WORDS, case_of, certificate, place
from tests.judge.scan_examples import findings, scanned
from tests.lint.examples import examples, linted
from tests.report.golden import assert_golden

pytestmark = pytest.mark.crypto

EACH = pytest.mark.parametrize("rule", [*RULES, *DEEP_RULES], ids=lambda rule: rule.id)

SILENT = ("tls-withheld", "backend-fail-open", "policy-override")
"""Report nothing where nothing is wrong; their examples that pass begin with ``QUIET``."""
QUIET = "# Nothing is reported\n"


described = cache(case_of)


def verdicts(rule: Rule, text: str) -> set[str]:
    return {each.verdict for each in rule.check(rule, described(text))}


@EACH
def test_the_examples_that_fail_do(rule: Rule) -> None:
    fails = examples(rule, "fails")
    assert [verdicts(rule, each) for each in fails] == [{"fail"}] * (len(fails) or 1), f"docs/rules/{rule.id}.md"


@EACH
def test_the_examples_that_pass_do(rule: Rule) -> None:
    passes = [each for each in examples(rule, "passes") if rule.id not in SILENT]
    number = len(passes) or (rule.id not in SILENT)
    assert [verdicts(rule, each) for each in passes] == [{"pass"}] * number, f"docs/rules/{rule.id}.md"


@pytest.mark.parametrize("rule", [each for each in RULES if each.id in SILENT], ids=lambda rule: rule.id)
def test_where_a_silent_rule_has_nothing_to_report_the_page_says_so(rule: Rule) -> None:
    passes = examples(rule, "passes")
    assert [each.startswith(QUIET) for each in passes] == [True] * (len(passes) or 1)
    told = [each.rule for text in passes for each in judge(case_of(text)).findings]
    assert "tls-reach" in told
    assert rule.id not in told


@EACH
def test_the_listeners_are_in_order_but_for_that(rule: Rule) -> None:
    shown = {"fails": {rule.id}, "passes": set[str]()}
    for which, failed in shown.items():
        for text in examples(rule, which):
            every = [(each.id, verdicts(each, text)) for each in (rule, *RULES)]
            assert {each for each, found in every if "fail" in found} == failed, f"{place(text)}: {TO_DO}"


@EACH
def test_the_configuration_in_the_examples_is_valid(rule: Rule, tmp_path: Path) -> None:
    for text in (*examples(rule, "fails"), *examples(rule, "passes")):
        for document in text.split("---\n"):
            kind = (yaml.safe_load(document) or {}).get("kind")
            if kind == "ScanPolicy":
                parse(yaml_values.load(document.encode(), f"{place(text)}: example"), [each.id for each in RULES])
            elif kind is not None:
                objects, _ = linted(tmp_path, document, FIELD_RULES)
                assert [each.finding.message for found in objects for each in found.findings] == [], place(text)
                assert objects or kind == "GatewayClass", place(text)  # no rule has it as its subject


WRONG = {
    "version: [TLSv1.2]": "unknown word 'version': add it to WORDS in tests/judge/examples.py",
    "certificate: {expires: in 10 days}": "'expires': add it to CERTIFICATE_WORDS in tests/judge/examples.py",
    "certificate: {ends: tomorrow}": "'tomorrow' is no time",
    "certificate: {serial: one}": "Expected `int | null`",
    "expectation: {certificates: {}}": "unknown field 'certificates' of Expectation",
    "expectation: {plainPort: {port: 80, path: /, owed: null, because: a, paths: []}}": "unknown field 'paths'",
    "heartbleed: maybe": "'maybe' is neither 'vulnerable' nor 'not vulnerable'",
    "kind: Secret": "unknown word 'Secret': add it to KINDS in tests/judge/examples.py",
}


@pytest.mark.parametrize("text", WRONG)
def test_an_unknown_word_or_value_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(WRONG[text])):
        case_of(text)


def test_an_error_has_the_page_with_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(WORDS, "robot")
    (text,) = examples(next(each for each in DEEP_RULES if each.id == "vuln-robot"), "fails")
    with pytest.raises(ValueError, match="unknown word 'robot'") as caught:
        case_of(text)
    (note,) = caught.value.__notes__
    assert re.fullmatch(r"docs/rules/vuln-robot\.md:\d+: robot: vulnerable", note)


FIELDS: Mapping[str, Callable[[Case], object]] = {
    "alpn: h2": lambda case: case.observation.alpn == "h2",
    "clientCertificate: {unknown: none}": lambda case: case.observation.client_certificate == Unknown("none"),
    "certificate: {serial: -5, isCA: true, keySize: null}": lambda case: (
        case.observation.chain == (certificate({"isCA": True, "keySize": None, "serialNumber": -5}), ISSUER)
    ),
    "expectation: {clientCertificate: required, certificate: {names: [b.example]}}": lambda case: (
        case.expectation.client_certificate == "required" and case.expectation.certificate.names == ("b.example",)
    ),
    "policy: {minRsaBits: 3072}": lambda case: case.policy.min_rsa_bits == 3072,
    "opinion: {flaws: {robot: true}}": lambda case: case.opinion and case.opinion.flaws == {"robot": True},
    "endpoint: {certainty: candidate}": lambda case: case.endpoint.certainty == "candidate",
}


@pytest.mark.parametrize("text", FIELDS)
def test_each_field_is_a_word(text: str) -> None:
    assert FIELDS[text](case_of(text))


BAD = "versions: [TLSv1.3, TLSv1.2, TLSv1], cipherSuites: [TLS_RSA_WITH_AES_128_CBC_SHA], groups: [secp521r1]"
LEVERS = (
    "{where: IngressController/ingress/own, field: spec.tlsSecurityProfile, appliedBy: router}",
    "{where: APIServer/cluster, field: spec.tlsSecurityProfile, appliedBy: etcd, others: [HostedCluster/a/b]}",
    "{where: HTTPProxy/shop/web, field: spec.virtualhost.tls}",
    "{where: Pod/a/b, minimum: --tls-min, suites: --suites, spelling: component-base, container: c, files: [d]}",
    "{where: Pod/kube-system/etcd, minimum: --tls-min-version, suites: --cipher-suites, spelling: etcd, told: TLS1.1}",
    "{where: Node/a, minimum: tlsMinVersion, suites: tlsCipherSuites, spelling: component-base, others: [ConfigMap/b]}",
    "{where: Deployment/a/b, minimum: --min, spelling: openssl}",
)
OF_ROUTE = "subject: {kind: Route, namespace: a, name: b}"
BY = "because: [{source: APIServer/cluster, field: spec.tlsSecurityProfile, said: Modern, decides: true}]"
OTHER_NAMES = (
    "expectation: {otherNames: [{name: x.example, owed: validated, because: a}, {name: null, owed: refused, because: b}"
    ", {name: y.example, owed: refused, because: c}, {name: z.example, owed: unasked, because: d}]}"
)
CHAIN = "chain: [{subject: a.example, issuer: Lower}, {subject: Lower, issuer: Upper}]"
MORE = (
    # What cannot be judged
    "observation: {chain: {unknown: it broke off}}",
    "observation: {chain: []}",
    *(
        f"{{reach: {reach}, endpoint: {{certainty: {certainty}, ready: {ready}}}}}"
        for reach in ("closed", "hung-up")
        for certainty, ready in (("candidate", "true"), ("hinted", "false"), ("hinted", "true"), ("declared", "false"))
    ),
    *(f"reach: {each}" for each in Reach if each not in (Reach.TLS, Reach.CLOSED, Reach.HUNG_UP)),
    *(
        f"{{plaintext: http, endpoint: {{certainty: {certainty}}}, policy: {{plaintextCandidate: {result}}},"
        f" expectation: {{binding: {binding}}}}}"
        for certainty, result, binding in (
            *(("candidate", each, "must-follow") for each in ("not_applicable", "warn", "fail")),
            *(("declared", "warn", each) for each in ("must-follow", "settling", "not-enforced")),
            ("hinted", "fail", "must-follow"),
        )
    ),
    "{starttls: smtp, expectation: {rejection: its controller rejected it}}",
    "{alert: unrecognized_name, expectation: {rejection: its controller rejected it}}",
    "observation: {reach: filtered, dialled: false, detail: 10.0.0.1 is outside}",
    "{endpoint: {sampled: true}}",
    "{observation: {stopped: SIGTERM, groups: {}, suites: {}}, cipherSuites: [TLS_AES_128_GCM_SHA256]}",
    # The profile
    "expectation: {profile: {unknown: it cannot be read}}",
    "{versions: [TLSv1.2, TLSv1, SSLv2], expectation: {binding: settling}}",
    "{versions: [TLSv1], expectation: {binding: not-enforced, standing: platform, adherence: Legacy}}",
    "{cipherSuites: [TLS_RSA_WITH_AES_128_CBC_SHA, TLS_RSA_WITH_RC4_128_SHA, TLS_AES_128_CCM_SHA256]}",
    "observation: {groups: {}, suites: {}}",
    "{groups: [X25519], policy: {postQuantum: critical}}",
    "{observation: {groups: {}}, policy: {postQuantum: high}}",
    *(
        f"{{{BAD}, clientCertificate: none, policy: {{groups: enforced, postQuantum: low}},"
        f" expectation: {{lever: {lever}, clientCertificate: required, clientSource: catalogue, {more}}}}}"
        for lever in LEVERS
        for more in ("", BY)
    ),
    *(
        f"{{versions: [TLSv1], expectation: {{{more}, {BY}}}, endpoint: {{owner: {{kind: Deployment, namespace: a,"
        " name: b}}}"
        for more in (
            "standing: layered",
            "binding: not-enforced",
            f"binding: not-enforced, standing: platform, adherence: Legacy, lever: {LEVERS[0]}",
            f"binding: not-enforced, standing: platform, lever: {LEVERS[0]}",
        )
    ),
    *(
        f"{{{BAD}, policy: {{groups: enforced}}, clientCertificate: none, certificate: {{ends: 1 days ago}},"
        f" expectation: {{clientCertificate: required}}, opinion: {{{opinion}}}}}"
        for opinion in (
            "failure: it crashed",
            "highest: null",
            "suites: {769: {refused: [47]}, 771: {accepted: [47]}}, groups: {accepted: [25]}, clientCertificate: none",
            "suites: {769: {accepted: [47]}, 771: {refused: [47]}}, groups: {refused: [25]}, certificates: [ab]",
        )
    ),
    # Certificates
    "certificate: {ends: 1 days ago, isCA: true, names: [b.example, c.example], signature: sha1WithRSAEncryption}",
    "intermediate: {ends: 1 days ago, starts: 5 days ago, key: {algorithm: RSA, keySize: 1024}}",
    "{certificate: {starts: in 1 days, ends: in 29 days}, intermediate: {ends: in 2 days}}",
    "certificate: {starts: 10 days ago, ends: in 2 days}",
    "certificate: {notAfter: null, notBefore: null, signatureHash: null, keySize: null, isCA: null, dnsNames: null}",
    "{endpoint: {host: 10.0.0.1}}",
    "{endpoint: {host: 10.0.0.1}, certificate: {ipAddresses: [10.0.0.1], names: []}}",
    f"{{endpoint: {{{OF_ROUTE}}}, expectation: {{binding: not-enforced, certificate: {{names: [b.example, a.b]}}}}}}",
    f"{{{CHAIN}, trustAnchors: [Upper]}}",
    f"{{{CHAIN}, trustAnchors: [Other]}}",
    f"{{{CHAIN}, trustAnchors: [Lower], endpoint: {{{OF_ROUTE}}}}}",
    "{chain: [{subject: a.example, issuer: Lower}], trustAnchors: [Upper]}",
    # Client certificates
    *(
        f"{{clientCertificate: {asked}, expectation: {{clientCertificate: {wanted}, clientSource: catalogue}}}}"
        for asked in ("none", "requested", "required", "{unknown: it broke off}")
        for wanted in ("none", "requested", "required")
    ),
    *(
        f"{{clientCertificate: {asked}, expectation: {{clientUnasked: HTTPProxy/a/b}}}}"
        for asked in ("none", "required")
    ),
    *(
        f"{{clientCertificate: requested, untrustedClient: accepted, requestUntrusted: {answer},"
        f" requestWithoutCertificate: {answer}, expectation: {{clientTrust: Gateway/a/b spec.tls, clientCertificate:"
        f" required}}, endpoint: {{subject: {{kind: {kind}, namespace: a, name: b}}}}}}"
        for kind in ("Gateway", "HTTPProxy")
        for answer in ("'200'", "'403'", "'503'", "{unknown: it broke off}")
    ),
    "{untrustedClient: {unknown: it broke off}, expectation: {clientTrust: Gateway/a/b spec.tls}}",
    "{untrustedClient: refused, expectation: {clientTrust: Gateway/a/b spec.tls}}",
    *(
        f"{{clientCertificate: {asked}, expectation: {{upstreams: [{{gateway: Gateway/a/b, policy: TLSPolicy/c/d,"
        f" {more}}}]}}}}"
        for asked in ("none", "required", "{unknown: it broke off}")
        for more in ("identity: Secret/a/c", "doubt: it was not read", "identity: Secret/a/c, doubt: it was not read")
    ),
    *(
        f"expectation: {{upstreams: [{{gateway: Gateway/a/b, policy: BackendTLSPolicy/c/d, failsOpen: {opens},"
        f" plaintext: {plain}}}]}}"
        for opens in ("true", "false")
        for plain in ("''", "its ConfigMap is missing")
    ),
    # Other names and HTTP
    f"{{serverNames: [{{name: x.example}}, {{name: null, alert: a}}, {{name: y.example}}], {OTHER_NAMES}}}",
    *(
        f"{{serverNames: [{seen}], expectation: {{otherNames: [{{name: x.example, owed: {owed}, because: a}}]}}}}"
        for owed in ("validated", "refused", "default", "same")
        for seen in (
            "",
            "{name: x.example, alert: unrecognized_name}",
            "{name: x.example}",
            "{name: x.example, subject: CN=x}",
            "{name: x.example, clientCertificate: {unknown: it broke off}}",
        )
    ),
    "expectation: {rejection: its controller rejected it}",
    *(f"cleartext: {answer}" for answer in ("HTTP/1.1 200", "HTTP/1.1 400", "{unknown: it broke off}", "null")),
    *(
        f"{{plainPort: {answer}, expectation: {{binding: not-enforced, plainPort:"
        f" {{port: 80, path: /a, owed: {owed}, because: Route/a/b, conditional: {conditional}}}}}}}"
        for owed in ("nothing", "redirect", "served", "null")
        for answer, conditional in (
            *(("HTTP/1.1 200", each) for each in ("true", "false")),
            *(("HTTP/1.1 302 to https://a.example", each) for each in ("true", "false")),
            *(("null", each) for each in ("true", "false")),
            ("{unknown: it broke off}", "false"),
        )
    ),
)
"""Further observations and expectations, for what no page needs an example of."""


WAIVER = "select: {endpoints: ['%s']}, reason: old, owner: a, expires: %s"
SCANS = (
    # Replicas with other certificates, with other versions, and of several kinds
    *(
        "---\n".join(
            f"{{listener: 'Deployment/shop/web:8443', address: 10.0.0.{number}, {more}}}\n"
            for number, more in enumerate(["alpn: h2"] * 7 + list(others))
        )
        for others in (
            ("certificate: {serialNumber: 5}", "certificate: {serialNumber: 6}", "certificate: {serialNumber: 6}"),
            (BAD, BAD, f"{BAD}, expectation: {{binding: settling}}"),
            (f"{BAD}, expectation: {{binding: not-enforced}}", "versions: [TLSv1.2], groups: [X25519]"),
            (f"{BAD}, reach: closed",),
        )
    ),
    # Routers with HTTP/2 and their default certificate; a certificate for the names of others
    "---\n".join(
        f"{{listener: 'Deployment/ingress/router-{router}:443', address: 192.0.2.{router}, object: {kind}/shop/web,"
        f" serverName: {name}, sent: [{{names: ['*.apps.example', B.example]}}], alpn: {alpn}, endpoint: {{expects:"
        f" {expects}}}}}\n"
        for router, kind, name, alpn, expects in (
            *((1, "Route", name, "h2", "null") for name in ("b.apps.example", "A.apps.example", "null")),
            (1, "Route", "c.apps.example", "h2", "required"),
            (2, "Gateway", "null", "h2", "null"),
            *((2, "Gateway", name, "h2", "null") for name in ("b.example", "c.example", "e.apps.example")),
            (3, "Route", "null", "http/1.1", "null"),
            (3, "Route", "d.apps.example", "http/1.1", "required"),
        )
    ),
    # Requirements and waivers
    *(
        f"{{kind: ScanPolicy, apiVersion: adhere/v1, require: {{minEndpoints: {least}, maxInconclusive: {most},"
        f" adherence: Strict, pkiCoverage: complete, severity: low}}, waivers: ["
        + ", ".join(
            f"{{rule: {rule}, {WAIVER % (where, until)}}}"
            for rule, where, until in (
                ("tls-version", "*/web:*", "2026-11-20"),
                ("tls-version", "*/api:*", "2027-01-01"),
                ("tls-cipher-suite", "*", "2027-01-01"),
                ("tls-group", "*/gone:*", "2027-01-01"),
                ("cert-*", "*", "2026-01-01"),
            )
        )
        + "]}\n---\n"
        + "---\n".join(
            f"{{listener: 'Deployment/shop/{name}:8443', address: 10.0.0.{number}, {more}}}\n"
            for number, (name, more) in enumerate((("web", BAD), ("web", BAD), ("api", BAD), ("api", "reach: silent")))
        )
        for least, most in ((4, 1), (5, 0))
    ),
)
"""Further scans, for the rules across endpoints."""


def described_finding(found: Finding) -> Iterator[str]:
    yield f"  {found.rule}: {found.verdict}, {found.severity}, {found.status}: {found.message}"
    for name in ("expected", "observed", "fix", "reproduce", "evidence", "waiver", "about"):
        value = getattr(found, name)
        text = "; ".join(value) if isinstance(value, tuple) else value
        if text:
            yield re.sub("[0-9a-f]{64}", "SHA256", f"    {name}: {text[:400]}")


def test_these_are_the_findings() -> None:
    """Of the examples by their rule, and of further observations by every rule that says something new of them."""
    lines, usual = [], judge(case()).findings
    for rule in (*RULES, *DEEP_RULES):
        for which in ("fails", "passes"):
            for text in examples(rule, which):
                lines.append(f"{rule.id}, {which}")
                lines += [line for each in rule.check(rule, described(text)) for line in described_finding(each)]
    for scan_rule in SCAN_RULES:
        for which in ("fails", "passes"):
            for text in examples(scan_rule, which):
                lines.append(f"{scan_rule.id}, {which}")
                lines += [line for each in findings(scan_rule, text) for line in described_finding(each)]
    for text in SCANS:
        lines.append(text.replace("\n---", "").rstrip())
        lines += [line for each in scanned(text) for line in described_finding(each)]
    for text in MORE:
        lines.append(text)
        of = described(text)
        found = confirm(judge(of).findings, of) if of.opinion else judge(of).findings
        lines += [line for each in found if each not in usual for line in described_finding(each)]
    assert_golden("findings.txt", "\n".join(lines) + "\n")
