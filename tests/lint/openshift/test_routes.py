"""Routes: one line a case, by what the API server and the router make of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scanner.cluster.lint_input import read_manifests
from scanner.kube.snapshot import Snapshot
from scanner.lint import READS, RULES, lint
from scanner.linting import declared
from tests.certs import Authority, weakly_signed
from tests.lint.examples import WHOLE, authority, leaf, linted
from tests.lint.openshift.saying import RULES as ROUTE_RULES
from tests.lint.openshift.saying import route, said, secret, severities

EDGE = "{termination: edge, externalCertificate: {name: web}}"
PAIR = "tls.crt: CERTIFICATE(web.shop.example), tls.key: KEY(web.shop.example)"
WITHOUT = "passthrough termination does not support certificates"


@pytest.mark.parametrize(
    ("spec", "tls", "expected"),
    [
        ("", "{}", None),
        ("", "{termination: edge}", None),
        ("", "{termination: Edge}", None),
        ("", "{termination: Reencrypt, destinationCACertificate: x}", None),
        ("", "{termination: EDGE}", ("spec.tls.termination", "Unsupported value: 'EDGE'")),
        ("", "{termination: 3}", None),
        ("", "{destinationCACertificate: x}", ("spec.tls.termination", "Unsupported value: ''")),
        ("", "{termination: passthrough, certificate: x}", ("spec.tls.certificate", WITHOUT)),
        ("", "{termination: passthrough, key: x}", ("spec.tls.key", WITHOUT)),
        ("", "{termination: passthrough, caCertificate: x}", ("spec.tls.caCertificate", WITHOUT)),
        ("", "{termination: passthrough, destinationCACertificate: x}", ("spec.tls.destinationCACertificate", WITHOUT)),
        ("", "{termination: passthrough, externalCertificate: {name: x}}", ("spec.tls.externalCertificate", WITHOUT)),
        ("path: /a", "{termination: passthrough}", ("spec.path", "passthrough termination does not support paths")),
        ("path: /a", "{termination: edge}", None),
        ("path: /a", "", None),
        (
            "httpHeaders: {actions: {request: [{name: a}]}}",
            "{termination: passthrough}",
            ("spec.httpHeaders.actions.request", "only edge and re-encrypt routes are supported"),
        ),
        ("", "{termination: edge, destinationCACertificate: x}", ("spec.tls.destinationCACertificate", "edge termi")),
        (
            "",
            "{termination: reencrypt, certificate: x, externalCertificate: {name: y}}",
            ("spec.tls.externalCertificate", "cannot specify both tls.certificate and tls.externalCertificate"),
        ),
        (
            "",
            "{termination: edge, insecureEdgeTerminationPolicy: allow}",
            ("spec.tls.insecureEdgeTerminationPolicy", "acceptable values are None, Allow, Redirect, or empty"),
        ),
        (
            "",
            "{termination: passthrough, insecureEdgeTerminationPolicy: Allow}",
            ("spec.tls.insecureEdgeTerminationPolicy", "acceptable values are None, Redirect, or empty"),
        ),
        ("", "{termination: edge, externalCertificate: {}}", ("spec.tls.externalCertificate", "counts as unset: the")),
        (
            "",
            "{termination: edge, certificate: x, externalCertificate: {}}",
            ("spec.tls.externalCertificate", "cannot have both spec.tls.certificate and spec.tls.externalCertificate"),
        ),
        (
            'host: "", wildcardPolicy: Subdomain',
            "{termination: edge}",
            ("spec.wildcardPolicy", "host name not specified for wildcard policy"),
        ),
        (  # whatever it says of TLS
            'host: "", wildcardPolicy: Subdomain',
            "",
            ("spec.wildcardPolicy", "host name not specified for wildcard policy"),
        ),
        ("wildcardPolicy: Subdomain", "", None),
    ],
)
def test_fields(tmp_path: Path, spec: str, tls: str, expected: tuple[str, str] | None) -> None:
    found = said(tmp_path, "route-fields", route(spec, tls))
    if expected is None:
        assert found == []
        return
    ((severity, field, message),) = found
    assert field == expected[0]
    assert expected[1] in message
    assert severity == ("medium" if "without a name" in message else "high")


def test_a_reference_with_a_namespace_names_no_secret(tmp_path: Path) -> None:
    text = route(tls="{termination: edge, externalCertificate: {name: other/web}}") + secret(PAIR, namespace="other")
    ((severity, _, message),) = said(tmp_path, "route-external-secret", text)
    assert severity == "high"
    assert "'other/web' cannot exist" in message


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        (secret(PAIR), []),
        (secret(PAIR, "Opaque"), [("high", "is of type 'Opaque', not kubernetes.io/tls")]),
        (secret("tls.key: KEY(a)"), [("high", "has no tls.crt")]),
        (secret("tls.crt: bm9uZQ==, tls.key: KEY(a)"), [("high", "has no certificate in PEM")]),
        (secret("tls.crt: CERTIFICATE(a)"), [("high", "there is no tls.key")]),
        (secret("tls.crt: CERTIFICATE(a), tls.key: KEY(b)"), [("high", "does not belong to the certificate")]),
        (secret(PAIR, namespace="other"), [("inconclusive", "Secret/shop/web was not read")]),
        ("", [("inconclusive", "not among the manifests")]),
    ],
)
def test_the_secret(tmp_path: Path, others: str, expected: list[tuple[str, str]]) -> None:
    found = said(tmp_path, "route-external-secret", route(tls=EDGE) + others)
    assert [severity for severity, _, _ in found] == [severity for severity, _ in expected]
    for (_, field, message), (_, part) in zip(found, expected, strict=True):
        assert part in message
        assert field == "spec.tls.externalCertificate"


def test_a_secret_that_a_cluster_does_not_have_and_string_data(tmp_path: Path) -> None:
    empty = Snapshot(
        taken_at=authority().now, origin=declared(None, None).known.origin, objects=dict.fromkeys(READS, ())
    )
    ((severity, _, message),) = said(tmp_path, "route-external-secret", route(tls=EDGE), empty)
    assert (severity, message) == ("high", "Secret/shop/web does not exist")
    text = secret("").replace(
        "data: {}", "stringData: {tls.crt: PEM(web.shop.example), tls.key: PEM_KEY(web.shop.example)}"
    )
    assert said(tmp_path, "route-external-secret", route(tls=EDGE) + text) == []


def test_cert_manager_is_named_in_the_fix(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(
        route(tls=EDGE)
        + secret("tls.crt: bm9uZQ==", "Opaque")
        + "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: c, namespace: shop}\n"
        "spec: {secretName: web}\n"
    )
    fixes = [
        each.finding.fix
        for one in lint(declared(read_manifests([str(file)], READS), None))
        for each in one.findings
        if each.finding.rule == "route-external-secret"
    ]
    assert fixes
    assert all(fix and fix.startswith("Certificate/shop/c (cert-manager writes Secret/shop/web)") for fix in fixes)


@pytest.mark.crypto
def test_what_the_router_takes_of_nobody(tmp_path: Path) -> None:
    edwards = authority().leaf(names=("web.shop.example",), key="ed25519")
    weak = weakly_signed(Authority("rsa", key="rsa2048"), names=("web.shop.example",))
    for made, part in ((edwards, "Ed25519"), (weak, "CA-signed certs using SHA1")):
        certificate, key = json.dumps(made.pem.decode()), json.dumps(made.key_pem.decode())
        text = secret("").replace("data: {}", f"stringData: {{tls.crt: {certificate}, tls.key: {key}}}")
        ((severity, _, message),) = said(tmp_path, "route-external-secret", route(tls=EDGE) + text)
        assert severity == "high"
        assert part in message
        inline = route(tls=f"{{termination: edge, certificate: {certificate}, key: {key}}}")
        ((severity, _, message),) = said(tmp_path, "route-inline-certificate", inline)
        assert severity == "high"
        assert part in message


def test_what_the_router_takes_in_no_key(tmp_path: Path) -> None:
    made = authority().leaf(names=("web.shop.example",))
    certificate, key = made.pem.decode(), made.key_pem.decode()
    both, curve = (
        json.dumps(key + certificate),
        "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n",
    )
    for held, expected in ((both, ["field contains invalid types CERTIFICATE"]), (json.dumps(curve + key), [])):
        text = secret("").replace("data: {}", f"stringData: {{tls.crt: {json.dumps(certificate)}, tls.key: {held}}}")
        of_secret = said(tmp_path, "route-external-secret", route(tls=EDGE) + text)
        inline = route(tls=f"{{termination: edge, certificate: {json.dumps(certificate)}, key: {held}}}")
        of_route = said(tmp_path, "route-inline-certificate", inline)
        for found in (of_secret, of_route):
            assert [severity for severity, _, _ in found] == ["high"] * len(expected)
            assert all(part in message for (_, _, message), part in zip(found, expected, strict=True))


@pytest.mark.crypto
def test_what_the_router_takes_in_no_ca(tmp_path: Path) -> None:
    made = authority().leaf(names=("web.shop.example",))
    pair = f"certificate: {json.dumps(made.pem.decode())}, key: {json.dumps(made.key_pem.decode())}"
    weak = weakly_signed(Authority("rsa", key="rsa2048"), names=("weak",)).pem.decode()
    alien = "-----BEGIN DH PARAMETERS-----\nMAA=\n-----END DH PARAMETERS-----\n"
    root = authority().pem.decode()
    for added, part in ((weak, "CA-signed certs using SHA1"), (alien, "unrecognized PEM block DH PARAMETERS")):
        held = json.dumps(root + added)
        inline = route(tls=f"{{termination: edge, {pair}, caCertificate: {held}}}")
        ((severity, field, message),) = said(tmp_path, "route-inline-certificate", inline)
        assert (severity, field) == ("high", "spec.tls.caCertificate")
        assert part in message
        behind = route(tls=f"{{termination: reencrypt, destinationCACertificate: {held}}}")
        found = said(tmp_path, "route-backend-trust", behind)
        assert [(severity, field) for severity, field, message in found if part in message] == [
            ("high", "spec.tls.destinationCACertificate")
        ]


@pytest.mark.parametrize(("data", "expected"), [(PAIR, []), (PAIR + ", ca.crt: CERTIFICATE(ca)", ["info"])])
def test_what_else_the_secret_holds(tmp_path: Path, data: str, expected: list[str]) -> None:
    assert severities(tmp_path, "route-external-chain", route(tls=EDGE) + secret(data)) == expected


def test_a_second_certificate(tmp_path: Path) -> None:
    both = leaf("web.shop.example").pem.decode() + authority().pem.decode()
    key = leaf("web.shop.example").key_pem.decode()
    text = secret("").replace("data: {}", f"stringData: {{tls.crt: {json.dumps(both)}, tls.key: {json.dumps(key)}}}")
    ((severity, _, message),) = said(tmp_path, "route-external-chain", route(tls=EDGE) + text)
    assert severity == "low"
    assert "a CA's certificate after the leaf" in message
    (file,) = tmp_path.glob("*.yaml")
    every = [each.finding for one in lint(declared(read_manifests([str(file)], READS), None)) for each in one.findings]
    (fix,) = [each.fix for each in every if each.rule == "route-external-chain"]
    assert fix
    assert "so that the intermediates are served" in fix


@pytest.mark.parametrize(
    ("spec", "names", "covered"),
    [
        ("", "web.shop.example", True),
        ("", "*.shop.example", True),
        ("", "*.example", False),
        ("", "other.example, WEB.shop.example", True),
        ("wildcardPolicy: Subdomain", "*.shop.example", True),
        ("wildcardPolicy: Subdomain", "web.shop.example", False),
        ('host: ""', "anything.example", True),
    ],
)
def test_the_host(tmp_path: Path, spec: str, names: str, *, covered: bool) -> None:
    data = f"tls.crt: CERTIFICATE({names}), tls.key: KEY({names})"
    expected = [] if covered else ["medium"]
    assert severities(tmp_path, "route-certificate-host", route(spec, EDGE) + secret(data)) == expected
    inline = route(spec, f"{{termination: edge, certificate: PEM({names}), key: PEM_KEY({names})}}")
    found = said(tmp_path, "route-certificate-host", inline)
    assert [(severity, field) for severity, field, _ in found] == (
        [] if covered else [("medium", "spec.tls.certificate")]
    )


def test_a_host_under_which_a_router_admitted_it_counts_too(tmp_path: Path) -> None:
    text = route('host: ""', EDGE).removesuffix("---\n") + "status: {ingress: [{host: made.apps.example}]}\n---\n"
    ((_, _, message),) = said(tmp_path, "route-certificate-host", text + secret(PAIR))
    assert "made.apps.example" in message


def grant(rule: str, subject: str = "{kind: ServiceAccount, name: router, namespace: openshift-ingress}") -> str:
    return (
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: r, namespace: shop}\n"
        f"rules: [{rule}]\n---\n"
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: b, namespace: shop}\n"
        f"roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}}\nsubjects: [{subject}]\n---\n"
    )


SECRETS = '{apiGroups: [""], resources: [secrets], '
GROUP = "{kind: Group, name: 'system:serviceaccounts:openshift-ingress'}"


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        (grant(SECRETS + "resourceNames: [web], verbs: [get, list, watch]}"), []),
        (grant(SECRETS + "verbs: ['*']}"), []),
        (grant(SECRETS + "resourceNames: [web], verbs: [get]}"), [("high", "to list"), ("high", "to watch")]),
        (grant(SECRETS + "verbs: ['*']}", GROUP), [("high", "to get"), ("high", "to list"), ("high", "to watch")]),
        (grant(SECRETS + "resourceNames: [other], verbs: ['*']}"), [("inconclusive", "whether the router may read")]),
        ("", [("inconclusive", "whether the router may read")]),
    ],
)
def test_the_router_may_read_it(tmp_path: Path, others: str, expected: list[tuple[str, str]]) -> None:
    found = said(tmp_path, "route-router-access", route(tls=EDGE) + others)
    assert [severity for severity, _, _ in found] == [severity for severity, _ in expected]
    assert all(part in message for (_, _, message), (_, part) in zip(found, expected, strict=True))


@pytest.mark.parametrize(
    ("rule", "expected"),
    [("resourceNames: [web], verbs: [get, list, watch]}", []), ("verbs: [get, list, watch]}", ["low"])],
)
def test_wide_grants(tmp_path: Path, rule: str, expected: list[str]) -> None:
    assert severities(tmp_path, "route-router-access-wide", route(tls=EDGE) + grant(SECRETS + rule)) == expected


HOSTS = ", {apiGroups: [route.openshift.io], resources: [routes/custom-host], verbs: [create]}"


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (SECRETS + "verbs: [patch]}", ["low"]),
        (SECRETS + "resourceNames: [web], verbs: [patch]}", ["low"]),
        (SECRETS + "resourceNames: [other], verbs: [patch]}", ["inconclusive"]),
        (SECRETS + "verbs: [get]}", ["inconclusive"]),
        (SECRETS + "verbs: [patch]}" + HOSTS, ["inconclusive"]),
    ],
)
def test_who_may_replace_the_certificate(tmp_path: Path, rule: str, expected: list[str]) -> None:
    text = route(tls=EDGE) + grant(rule, "{kind: User, name: eve}")
    assert severities(tmp_path, "route-secret-writers", text) == expected


@pytest.mark.parametrize(
    ("tls", "expected"),
    [
        ("{termination: edge, certificate: PEM(a), key: PEM_KEY(a)}", []),
        ("{termination: edge, certificate: PEM(a), key: PEM_KEY(b)}", [("high", "spec.tls.key", "does not match")]),
        ("{termination: edge, certificate: PEM(a)}", [("high", "spec.tls.key", "no key specified")]),
        ("{termination: edge, certificate: none, key: PEM_KEY(a)}", [("high", "spec.tls.certificate", "no certifica")]),
        ("{termination: edge, key: PEM_KEY(a)}", [("low", "spec.tls.key", "no effect")]),
        ("{termination: edge, caCertificate: CA(x)}", [("low", "spec.tls.caCertificate", "no effect")]),
        ("{termination: edge, certificate: PEM(a), key: PEM_KEY(a), caCertificate: CA(examples)}", []),
        (
            "{termination: edge, certificate: PEM(a), key: PEM_KEY(a), caCertificate: none}",
            [("high", "spec.tls.caCertificate", "failed to parse CA certificate")],
        ),
        ("{termination: edge, certificate: PEM(a), key: broken}", [("high", "spec.tls.key", "no private key in PEM")]),
        ("{termination: edge, certificate: PEM(a), key: PEM(a)}", [("high", "spec.tls.key", "types CERTIFICATE")]),
        ("{termination: edge, certificate: PEM(a), key: PEM_KEY(a), caCertificate: PEM(a)}", []),
    ],
)
def test_what_stands_in_the_route(tmp_path: Path, tls: str, expected: list[tuple[str, str, str]]) -> None:
    found = said(tmp_path, "route-inline-certificate", route(tls=tls))
    assert [each[:2] for each in found] == [each[:2] for each in expected]
    assert all(part in message for (_, _, message), (_, _, part) in zip(found, expected, strict=True))


def test_no_key_is_ever_printed(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    key = leaf("web.shop.example").key_pem.decode()
    file.write_text(route(tls=f"{{termination: edge, certificate: x, key: {json.dumps(key)}}}"))
    given = read_manifests([str(file)], READS)
    found = list(lint(declared(given, None), RULES))
    assert any(each.finding.rule == "route-inline-key" for one in found for each in one.findings)
    assert "PRIVATE KEY-----" not in repr([one.findings for one in found]) + repr(given.objects[0].object)


SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\nspec: {ports: [{port: 443}]}\n---\n"
ANNOTATED = SERVICE.replace(
    "namespace: shop", "namespace: shop, annotations: {service.alpha.openshift.io/serving-cert-secret-name: t}"
)


@pytest.mark.parametrize(
    ("tls", "others", "expected"),
    [
        ("{termination: reencrypt}", ANNOTATED, []),
        ("{termination: reencrypt}", SERVICE, ["medium"]),
        ("{termination: reencrypt}", "", ["inconclusive"]),
        ("{termination: edge}", SERVICE, []),
        ("{termination: reencrypt, destinationCACertificate: CA(b)}", SERVICE, []),
        ("{termination: reencrypt, destinationCACertificate: none}", SERVICE, ["high"]),
        ("{termination: reencrypt, destinationCACertificate: PEM(b)}", SERVICE, ["medium"]),
        ("{termination: reencrypt, destinationCACertificate: PEM_EXPIRED(b)}", SERVICE, ["medium", "medium"]),
    ],
)
def test_the_backend(tmp_path: Path, tls: str, others: str, expected: list[str]) -> None:
    assert severities(tmp_path, "route-backend-trust", route(tls=tls) + others) == expected


def other(spec: str, tls: str, namespace: str = "shop") -> str:
    return route(spec, tls, name="other", namespace=namespace)


@pytest.mark.parametrize(
    ("second", "part"),
    [
        (other("path: /a", "{termination: edge}"), ""),
        (other("host: else.example", "{termination: passthrough}"), ""),
        (other("path: /a", ""), ""),
        (other("", "{termination: edge}"), "the same path"),
        (other("path: /a", "{termination: edge}", "else"), "another namespace"),
        (other("path: /a", "{termination: passthrough}"), "only one of them is passthrough"),
        (other("path: /a", EDGE), "another certificate"),
        (other("path: /a, host: WEB.shop.example", "{termination: passthrough}"), "only one of them"),
    ],
)
def test_routes_of_one_host(tmp_path: Path, second: str, part: str) -> None:
    found = said(tmp_path, "route-same-host", route(tls="{termination: edge}") + second)
    assert len(found) == (2 if part else 0)  # each says it of the other
    assert all(part in message for _, _, message in found)


CONTROLLER = "apiVersion: operator.openshift.io/v1\nkind: IngressController\nmetadata: {name: default, namespace: o}\n"
DOMAIN = CONTROLLER + "spec: {domain: shop.example}\n---\n"
OTHER_DOMAIN = CONTROLLER + "status: {domain: apps.example}\n---\n"
CONFIG = (
    "apiVersion: config.openshift.io/v1\nkind: Ingress\nmetadata: {name: cluster}\nspec: {domain: shop.example}\n---\n"
)
NAMED = CONTROLLER + "spec: {defaultCertificate: {name: web}}\n---\n"


@pytest.mark.parametrize(
    ("text", "others", "expected"),
    [
        (route(tls="{termination: edge}"), DOMAIN, []),
        (route(tls="{termination: edge}"), OTHER_DOMAIN, ["medium"]),
        (route(tls="{termination: edge}"), CONTROLLER + "spec: {}\n---\n" + CONFIG, []),
        (route(tls="{termination: edge}"), CONTROLLER + "spec: {}\n---\n", ["inconclusive"]),
        (route(tls="{termination: edge}"), "", ["inconclusive"]),
        (route(tls="{termination: edge}"), NAMED, ["inconclusive"]),
        (route(tls="{termination: edge}"), NAMED + secret(PAIR, namespace="openshift-ingress"), []),
        (
            route("host: x.example", "{termination: edge}"),
            NAMED + secret(PAIR, namespace="openshift-ingress"),
            ["medium"],
        ),
        (
            route(tls="{termination: edge}").removesuffix("---\n") + "status: {ingress: [{routerName: inner}]}\n---\n",
            OTHER_DOMAIN + DOMAIN.replace("name: default", "name: inner"),
            [],
        ),
        (
            route(tls="{termination: edge}").removesuffix("---\n") + "status: {ingress: [{routerName: else}]}\n---\n",
            DOMAIN,
            ["inconclusive"],
        ),
        (route(tls=EDGE), OTHER_DOMAIN, []),
        (route('host: ""', "{termination: edge}"), OTHER_DOMAIN, []),
        (route(tls="{termination: passthrough}"), OTHER_DOMAIN, []),
        (route(), OTHER_DOMAIN, []),
    ],
)
def test_the_default_certificate(tmp_path: Path, text: str, others: str, expected: list[str]) -> None:
    assert severities(tmp_path, "route-default-certificate", text + others) == expected


def test_without_any_ingress_controller_the_default_certificate_is_no_question(tmp_path: Path) -> None:
    """No repository of Routes has IngressControllers, and most Routes bring no certificate."""
    (one,) = linted(tmp_path, route(tls="{termination: edge}"), [ROUTE_RULES["route-default-certificate"]])[0]
    assert [(each.finding.verdict, each.finding.severity) for each in one.findings] == [("inconclusive", "info")]


def admitted(status: str, reason: str, kind: str = "Admitted") -> str:
    before = "" if kind == "Admitted" else "{type: Admitted, status: 'True'}, "
    conditions = f"[{before}{{type: {kind}, status: '{status}', reason: {reason}, message: why}}]"
    status = f"status: {{ingress: [{{routerName: default, conditions: {conditions}}}]}}\n"
    return route(tls=EDGE).removesuffix("---\n") + status


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (admitted("True", "ExternalCertificateSecretUpdated"), None),
        (admitted("False", "NoHostValue"), ("high", "it has no host")),
        (admitted("False", "InvalidHost"), ("high", "not valid for the router")),
        (admitted("False", "HostAlreadyClaimed"), ("high", "an older Route has the host")),
        (admitted("False", "RouteNotAdmitted"), ("high", "routeAdmission")),
        (admitted("False", "ExtendedValidationFailed"), ("high", "rejects its certificates")),
        (
            admitted("False", "ExternalCertificateValidationFailed"),
            ("high", "missing, is not of type kubernetes.io/tls"),
        ),
        (admitted("False", "ExternalCertificateGetFailed"), ("high", "cannot read the Secret")),
        (admitted("False", "ExternalCertificateSecretDeleted"), ("high", "was deleted")),
        (admitted("False", "ExternalCertificateSecretRecreated"), ("medium", "was created again")),
        (admitted("False", "ExternalCertificateSecretUpdated"), ("medium", "was changed")),
        (admitted("False", "Whatever"), ("high", "adhere does not know")),
        (admitted("Unknown", "Whatever"), ("inconclusive", "unknown")),
        (admitted("True", "UpgradeRouteValidationFailed", "UnservableInFutureVersions"), ("medium", "a later release")),
        (
            admitted("True", "ForceUpgradeValidationCondition", "UnservableInFutureVersions"),
            ("medium", "a later release"),
        ),
        (admitted("True", "x").replace("type: Admitted", "type: Other"), ("inconclusive", "has no condition Admitted")),
        (admitted("False", "x", "UnservableInFutureVersions"), None),
        (route(tls=EDGE, more=", uid: 'a'"), ("medium", "no router serves it")),
        (route(tls=EDGE), None),
    ],
)
def test_what_routers_say(tmp_path: Path, text: str, expected: tuple[str, str] | None) -> None:
    found = said(tmp_path, "route-status", text)
    assert [severity for severity, _, _ in found] == ([expected[0]] if expected else [])
    if expected:
        assert expected[1] in found[0][2]


def cluster_wide(kind: str, name: str, status: str) -> str:
    return f"apiVersion: config.openshift.io/v1\nkind: {kind}\nmetadata: {{name: {name}}}\nstatus: {status}\n---\n"


def release(version: str, gate: str = "") -> str:
    text = cluster_wide("ClusterVersion", "version", f"{{desired: {{version: {version}}}}}")
    if gate:
        lists = f"{{version: {version}, {gate}: [{{name: RouteExternalCertificate}}]}}"
        text += cluster_wide("FeatureGate", "cluster", f"{{featureGates: [{lists}]}}")
    return text


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        (release("4.15.3"), ["high"]),
        (release("4.17.0"), ["inconclusive"]),
        (release("4.17.0", "disabled"), ["high"]),
        (release("4.17.0", "enabled"), []),
        (release("4.19.1"), []),
        (release("5.0.0"), []),
        ("", ["inconclusive"]),
    ],
)
def test_releases_that_ignore_the_field(tmp_path: Path, others: str, expected: list[str]) -> None:
    assert severities(tmp_path, "route-external-unsupported", route(tls=EDGE) + others) == expected


INGRESS = (
    "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web, namespace: shop, annotations: {%s}}\n---\n"
)
TERMINATION = "route.openshift.io/termination: reencrypt"
DESTINATION = "route.openshift.io/destination-ca-certificate-secret: web"


@pytest.mark.parametrize(
    ("annotations", "others", "expected"),
    [
        (TERMINATION, "", []),
        ("", "", []),
        ("route.openshift.io/termination: Edge", "", ["medium"]),
        (f"{TERMINATION}, {DESTINATION}", secret(PAIR), []),
        (f"{TERMINATION}, {DESTINATION}", secret("ca.crt: CERTIFICATE(a)"), ["medium"]),
        (f"{TERMINATION}, {DESTINATION}", "", ["inconclusive"]),
        (DESTINATION, secret(PAIR), ["medium"]),
    ],
)
def test_ingresses_that_become_routes(tmp_path: Path, annotations: str, others: str, expected: list[str]) -> None:
    assert severities(tmp_path, "route-from-ingress", INGRESS % annotations + others) == expected


def controller(spec: str, name: str = "default") -> str:
    return (
        f"apiVersion: operator.openshift.io/v1\nkind: IngressController\nmetadata: {{name: {name}, namespace: o}}\n"
        f"spec: {{{spec}}}\n---\n"
    )


OPTIONAL = controller("clientTLS: {clientCertificatePolicy: Optional}")
REQUIRED = controller("clientTLS: {clientCertificatePolicy: Required}")
ADMITTED = "status: {ingress: [{routerName: default}]}\n---\n"
ALLOW = "{termination: reencrypt, insecureEdgeTerminationPolicy: Allow}"


@pytest.mark.parametrize(
    ("text", "others", "expected"),
    [
        (route(tls="{termination: edge}"), REQUIRED, []),
        (route(tls=ALLOW), REQUIRED, [("medium", "spec.tls.insecureEdgeTerminationPolicy")]),
        (route(), REQUIRED, [("medium", "spec.tls")]),
        (route(tls="{termination: passthrough}"), REQUIRED, [("low", "spec.tls.termination")]),
        (route(tls=ALLOW), OPTIONAL, [("inconclusive", "spec.tls.insecureEdgeTerminationPolicy")]),
        (route(tls=ALLOW), f"{WHOLE}\n{OPTIONAL}", []),
        (route(tls=ALLOW), "", [("inconclusive", "spec.tls.insecureEdgeTerminationPolicy")]),
        (
            route(tls=ALLOW).removesuffix("---\n") + ADMITTED,
            REQUIRED.replace("name: default", "name: inner") + controller(""),
            [],
        ),
    ],
)
def test_client_certificates(tmp_path: Path, text: str, others: str, expected: list[tuple[str, str]]) -> None:
    found = said(tmp_path, "route-client-certificates", others + text)
    assert [each[:2] for each in found] == expected


@pytest.mark.parametrize(
    ("spec", "others", "expected"),
    [
        ("wildcardPolicy: Subdomain", controller("routeAdmission: {wildcardPolicy: WildcardsAllowed}"), []),
        ("wildcardPolicy: Subdomain", controller(""), ["inconclusive"]),
        ("wildcardPolicy: Subdomain", f"{WHOLE}\n{controller('')}", ["medium"]),
        ("wildcardPolicy: Subdomain", "", ["inconclusive"]),
        ("wildcardPolicy: None", controller(""), []),
    ],
)
def test_wildcards(tmp_path: Path, spec: str, others: str, expected: list[str]) -> None:
    assert severities(tmp_path, "route-wildcard", others + route(spec, "{termination: edge}")) == expected


@pytest.mark.parametrize(("path", "count"), [("path: /a", 0), ("path: /", 2)])
def test_namespaces_may_share_a_host(tmp_path: Path, path: str, count: int) -> None:
    shared = controller("routeAdmission: {namespaceOwnership: InterNamespaceAllowed}")
    text = route(tls="{termination: edge}") + other(path, "{termination: edge}", "else") + shared
    assert len(said(tmp_path, "route-same-host", text)) == count


@pytest.mark.parametrize(("name", "expected"), [("examples", []), ("another", ["medium"])])
def test_the_ca_of_a_backend_that_is_known(tmp_path: Path, name: str, expected: list[str]) -> None:
    service = ANNOTATED.replace("secret-name: t", "secret-name: web")
    tls = f"{{termination: reencrypt, destinationCACertificate: CA({name})}}"
    assert severities(tmp_path, "route-backend-trust", route(tls=tls) + service + secret(PAIR)) == expected


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        ("{kind: ServiceAccount, name: bot, namespace: ci}", "system:serviceaccount:ci:bot"),
        ("{kind: Group, name: developers}", "group developers"),
        ("{kind: ServiceAccount, name: s, namespace: kube-system}", None),
        ("{kind: Group, name: 'system:masters'}", None),
    ],
)
def test_who_is_named(tmp_path: Path, subject: str, expected: str | None) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(route(tls=EDGE) + grant(SECRETS + "verbs: [patch]}", subject))
    found = [
        each.finding.observed
        for one in lint(declared(read_manifests([str(file)], READS), None))
        for each in one.findings
        if each.finding.rule == "route-secret-writers" and each.finding.verdict == "fail"
    ]
    assert found == ([(expected,)] if expected else [])
