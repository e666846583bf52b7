"""Certificates and CAs of OpenShift's configuration: valid, faulty, missing and not configured."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from scanner.kube.kinds import CONFIG_MAP
from scanner.lint.openshift.ingress_controllers import matches_everything, refused
from scanner.values import replace
from tests.lint.examples import authority, empty, leaf
from tests.lint.openshift.router_objects import WHOLE, configuration, controller
from tests.lint.openshift.saying import said

pytestmark = pytest.mark.crypto

WILD = "*.apps.cluster.example"


def secret(name: str, namespace: str, data: str, kind: str = "kubernetes.io/tls") -> str:
    return (
        f"apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, namespace: {namespace}}}\n"
        f"type: {kind}\ndata: {{{data}}}\n---\n"
    )


def pair(names: str, *, key: str = "", certificate: str = "CERTIFICATE") -> str:
    return f'tls.crt: "{certificate}({names})", tls.key: "KEY({key or names})"'


def server(spec: str) -> str:
    return f"apiVersion: config.openshift.io/v1\nkind: APIServer\nmetadata: {{name: cluster}}\nspec: {{{spec}}}\n---\n"


def bundle(data: str, namespace: str = "openshift-config") -> str:
    return (
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: clients, namespace: {namespace}}}\ndata: {{{data}}}\n---\n"
    )


BY_NAME = controller("domain: apps.cluster.example, defaultCertificate: {name: apps}")
NO_DOMAIN = controller("defaultCertificate: {name: apps}")
ROUTER = "openshift-ingress"


def apps(names: str = WILD, **more: str) -> str:
    return secret("apps", ROUTER, pair(names, **more))


def web(names: str) -> str:
    return secret("web", "openshift-config", pair(names))


def asking(policy: str) -> str:
    return controller(f"clientTLS: {{clientCertificatePolicy: {policy}, clientCA: {{name: clients}}}}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (controller("replicas: 2"), []),
        (controller("defaultCertificate: null"), []),
        (controller("defaultCertificate: {}"), ["high: names no Secret"]),
        (controller("defaultCertificate: {name: ''}"), ["high: names no Secret"]),
        (BY_NAME, ["inconclusive: whether it contains a certificate and its private key"]),
        (WHOLE + BY_NAME, ["high: Secret/openshift-ingress/apps does not exist"]),
        (BY_NAME + apps(), []),
        (BY_NAME + secret("apps", ROUTER, pair(WILD), "Opaque"), []),
        (
            BY_NAME + secret("apps", "openshift-config", pair(WILD)),
            ["inconclusive: whether it contains a certificate and its private key"],
        ),
        (BY_NAME + apps("a.example"), [f"high: is not valid for {WILD}"]),
        (BY_NAME + apps(key="b.example"), ["high: key that does not belong"]),
        (BY_NAME + apps(certificate="EXPIRED"), ["high: key", "high: expired on"]),
        (BY_NAME + apps(certificate="CLIENT"), ["high: key that does not belong", "medium: is not for serverAuth"]),
        (NO_DOMAIN + apps(), ["inconclusive: so it is unknown whether the certificate covers the domain"]),
        (WHOLE + NO_DOMAIN + apps(), ["inconclusive: no object sets the domain"]),
        (NO_DOMAIN + apps() + configuration("domain: apps.cluster.example"), []),
        (
            NO_DOMAIN + apps() + configuration("domain: apps.other.example"),
            ["high: is not valid for *.apps.other.example"],
        ),
    ],
)
def test_default_certificates(tmp_path: Path, text: str, expected: list[str]) -> None:
    told(tmp_path, "ingress-default-certificate", text, expected)


def test_a_chain_that_is_out_of_order(tmp_path: Path) -> None:
    made, other = leaf(WILD, expired=False, client=False), authority("other")
    good = base64.b64encode(made.pem + authority().pem).decode()
    bad = base64.b64encode(made.pem + other.pem).decode()
    for chain, expected in ((good, []), (bad, ["medium: which did not issue it"])):
        text = BY_NAME + secret("apps", ROUTER, f'tls.crt: {chain}, tls.key: "KEY({WILD})"')
        told(tmp_path, "ingress-default-certificate", text, expected)


ASKS = "clientTLS: {clientCertificatePolicy: Required, clientCA: {name: clients}%s}"
CAS = bundle("ca-bundle.pem: CA(clients)")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (controller("replicas: 2"), []),
        (controller(ASKS % "") + CAS, []),
        (controller(ASKS % ""), ["inconclusive: whether there are CAs"]),
        (controller(ASKS % "") + bundle("ca.crt: CA(clients)"), ["high: has no ca-bundle.pem"]),
        (controller(ASKS % "") + bundle("ca-bundle.pem: nothing"), ["high: ca-bundle.pem has no certificate in PEM"]),
        (controller(ASKS % "") + bundle("ca-bundle.pem: PEM(a.example)"), ["high: is not a CA"]),
        (
            controller(ASKS % "") + bundle("ca-bundle.pem: CA(clients)", "openshift-ingress"),
            ["inconclusive: whether there are CAs"],
        ),
        (controller("clientTLS: {clientCertificatePolicy: Required, clientCA: {name: ''}}"), ["high: is not set"]),
        (asking("''") + CAS, ["medium: clients need no certificate"]),
        (asking("Optional") + CAS, ["info: accepts clients without a certificate"]),
        (controller(ASKS % ", allowedSubjectPatterns: ['^/CN=web$']") + CAS, []),
        (controller(ASKS % ", allowedSubjectPatterns: []") + CAS, ["medium: filters nothing"]),
        (controller(ASKS % ", allowedSubjectPatterns: ['.*']") + CAS, ["medium: matches every subject"]),
        (controller(ASKS % ", allowedSubjectPatterns: ['(CN']") + CAS, ["high: it is not a regular expression"]),
        (
            controller(ASKS % ", allowedSubjectPatterns: ['a', '(?=b)']") + CAS,
            ["high: PCRE syntax that RE2 does not have"],
        ),
        (controller(ASKS % r", allowedSubjectPatterns: ['\pL+']") + CAS, ["inconclusive: operator accepts"]),
    ],
)
def test_clients(tmp_path: Path, text: str, expected: list[str]) -> None:
    told(tmp_path, "ingress-client-tls", text, expected)


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("^/C=DE/CN=[a-z]+$", None),
        (r"CN=a\(\?=b", None),
        (r"CN=[(?=]", None),
        ("a{1000}", None),
        ("a{1001}", "repetitions"),
        ("(?!a)", "PCRE"),
        ("(?<=a)b", "PCRE"),
        ("(?>a)", "PCRE"),
        (r"(a)\1", "PCRE"),
        (r"(a)\\1", None),
        ("a++", "PCRE"),
        ("a**", "not a regular expression"),
        ("[a", "not a regular expression"),
        ("(" * 300, "not a regular expression"),
        (r"\QCN=*\E", True),
        ("a" * 5000, True),
    ],
)
def test_patterns(pattern: str, why: str | bool | None) -> None:
    found = refused(pattern)
    if isinstance(why, str):
        assert isinstance(found, str)
        assert why in found
    else:
        assert found is why
    assert not matches_everything(pattern)


def named(names: str = "names: [api.cluster.example], ", more: str = "") -> str:
    return server(f"servingCerts: {{namedCertificates: [{{{names}servingCertificate: {{name: api}}}}{more}]}}")


def api(names: str = "api.cluster.example", **more: str) -> str:
    return secret("api", "openshift-config", pair(names, **more))


INFRASTRUCTURE = (
    "apiVersion: config.openshift.io/v1\nkind: Infrastructure\nmetadata: {name: cluster}\n"
    "status: {apiServerInternalURI: 'https://inner.cluster.example:6443'}\n---\n"
)
OTHER = ", {names: [API.cluster.example], servingCertificate: {name: api}}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (server("servingCerts: {}"), []),
        (named() + api(), []),
        (named(), ["inconclusive: whether it contains a certificate and its private key"]),
        (WHOLE + named(), ["high: Secret/openshift-config/api does not exist"]),
        (named() + secret("api", "openshift-config", pair("api.cluster.example"), "Opaque"), ["high: type 'Opaque'"]),
        (named() + api("other.example"), ["high: is not valid for api.cluster.example"]),
        (named() + api(key="other.example"), ["high: key that does not belong"]),
        (named() + api(certificate="EXPIRED"), ["high: key", "high: expired on"]),
        (named("") + api(), []),
        (named("") + api("api-int.cluster.example"), ["high: an internal name of the API server"]),
        (named("names: [api-int.cluster.example], "), ["inconclusive: whether", "high: an internal name"]),
        (named("names: [kubernetes.default.svc], ") + api("kubernetes.default.svc"), ["high: an internal name"]),
        (
            INFRASTRUCTURE + named("names: [inner.cluster.example], ") + api("inner.cluster.example"),
            ["high: an internal name"],
        ),
        (named(more=OTHER) + api(), ["medium: is also in namedCertificates[0]"]),
        (server("servingCerts: {namedCertificates: [{names: [a.example]}]}"), ["high: it names no Secret"]),
    ],
)
def test_named_certificates(tmp_path: Path, text: str, expected: list[str]) -> None:
    told(tmp_path, "apiserver-named-certificate", text, expected)


def test_named_certificates_of_a_hosted_cluster_are_beside_it(tmp_path: Path) -> None:
    serving = "servingCerts: {namedCertificates: [{servingCertificate: {name: api}}]}, clientCA: {name: clients}"
    hosted = (
        "apiVersion: hypershift.openshift.io/v1beta1\nkind: HostedCluster\nmetadata: {name: one, namespace: clusters}\n"
        f"spec: {{configuration: {{apiServer: {{{serving}}}}}}}\n---\n"
    )
    good = (
        hosted + secret("api", "clusters", pair("api.one.example")) + bundle("ca-bundle.crt: CA(clients)", "clusters")
    )
    told(tmp_path, "apiserver-named-certificate", good, [])
    told(tmp_path, "apiserver-client-ca", good, [])
    told(tmp_path, "apiserver-named-certificate", hosted, ["inconclusive: Secret/clusters/api"])
    told(tmp_path, "apiserver-client-ca", hosted, ["inconclusive: ConfigMap/clusters/clients"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (server("audit: {}"), []),
        (server("clientCA: {name: ''}"), []),
        (server("clientCA: {name: clients}"), ["inconclusive: whether there are CAs"]),
        (server("clientCA: {name: clients}") + bundle("ca-bundle.crt: CA(clients)"), []),
        (server("clientCA: {name: clients}") + CAS, ["high: has no ca-bundle.crt"]),
    ],
)
def test_client_authorities(tmp_path: Path, text: str, expected: list[str]) -> None:
    told(tmp_path, "apiserver-client-ca", text, expected)


def test_config_maps_that_are_not_there(tmp_path: Path) -> None:
    """The ConfigMaps that were read from the cluster."""
    asked = replace(empty(), requested={CONFIG_MAP: frozenset({("openshift-config", "clients")})})
    texts = {"ingress-client-tls": controller(ASKS % ""), "apiserver-client-ca": server("clientCA: {name: clients}")}
    for rule, text in texts.items():
        found = said(tmp_path, rule, text, asked)
        assert [each[::2] for each in found] == [("high", "ConfigMap/openshift-config/clients does not exist")]


def route(host: str, more: str = "") -> str:
    each = f"{{namespace: openshift-console, name: console, hostname: {host}{more}}}"
    return configuration(f"domain: apps.cluster.example, componentRoutes: [{each}]")


WEB = ", servingCertKeyPairSecret: {name: web}"
APPS = configuration("domain: apps.cluster.example, appsDomain: apps.other.example")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (configuration("domain: apps.cluster.example"), []),
        (route("web.apps.cluster.example"), []),
        (route("a.web.apps.cluster.example"), ["high: no certificate is set for a.web.apps.cluster.example"]),
        (route("web.example"), ["high: no certificate is set for web.example"]),
        (route("web.example", WEB), ["inconclusive: whether it contains a certificate"]),
        (route("web.example", WEB) + web("web.example"), []),
        (route("web.example", WEB) + web("other.example"), ["high: is not valid for web.example"]),
        (WHOLE + route("web.example", WEB), ["high: Secret/openshift-config/web does not exist"]),
        (APPS, ["inconclusive: whether a default certificate covers *.apps.other.example"]),
        (APPS + controller("domain: apps.other.example", "other"), []),
        (APPS + controller("replicas: 2"), ["inconclusive: whether a default certificate covers"]),
        (WHOLE + APPS + controller("replicas: 2"), ["medium: no IngressController has a default certificate"]),
        (WHOLE + APPS + BY_NAME + apps("*.apps.other.example"), []),
        (WHOLE + APPS + BY_NAME + secret("apps", ROUTER, "a: b"), ["medium: no IngressController has a"]),
    ],
)
def test_hosts_of_the_platform(tmp_path: Path, text: str, expected: list[str]) -> None:
    told(tmp_path, "ingress-config-certificate", text, expected)


def console(more: str) -> str:
    return (
        "apiVersion: operator.openshift.io/v1\nkind: Console\nmetadata: {name: cluster}\n"
        f"spec: {{route: {{hostname: web.example{more}}}}}\n---\n"
    )


OWN_CONSOLE = console(", secret: {name: web}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (console(""), ["inconclusive: whether the default certificate covers web.example"]),
        (console("") + configuration("domain: example"), []),
        (console("") + configuration("domain: apps.example"), ["high: no certificate is set for web.example"]),
        (OWN_CONSOLE, ["inconclusive: whether it contains a certificate"]),
        (OWN_CONSOLE + secret("web", "openshift-config", pair("web.example"), "Opaque"), []),
        (
            OWN_CONSOLE + web("b.example"),
            ["high: is not valid for web.example"],
        ),
    ],
)
def test_the_console(tmp_path: Path, text: str, expected: list[str]) -> None:
    told(tmp_path, "ingress-config-certificate", text, expected)


def oauth(provider: str) -> str:
    return (
        "apiVersion: config.openshift.io/v1\nkind: OAuth\nmetadata: {name: cluster}\n"
        f"spec: {{identityProviders: [{{name: people, {provider}}}]}}\n---\n"
    )


LDAPS, LDAP = "url: 'ldaps://l.example/o=x'", "url: 'ldap://l.example/o=x'"
BASIC = "basicAuth: {url: 'https://a.example'%s}"
CLIENT = ", tlsClientCert: {name: web}, tlsClientKey: {name: web}"
OF_CLIENT = "tls.crt: CLIENT(web), tls.key: CLIENT_KEY(web)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (oauth("htpasswd: {fileData: {name: users}}"), []),
        (oauth(f"ldap: {{{LDAPS}}}"), []),
        (oauth(f"ldap: {{{LDAP}, insecure: false}}"), []),
        (oauth(f"ldap: {{{LDAP}, insecure: true}}"), ["high: passwords of all users are sent in plaintext"]),
        (oauth(f"ldap: {{{LDAPS}, insecure: true}}"), ["low: has no effect"]),
        (oauth(f"ldap: {{{LDAPS}, ca: {{name: clients}}}}"), ["inconclusive: whether there are CAs"]),
        (oauth(f"ldap: {{{LDAPS}, ca: {{name: clients}}}}") + bundle("ca.crt: CA(clients)"), []),
        (oauth(f"ldap: {{{LDAPS}, ca: {{name: clients}}}}") + CAS, ["high: has no ca.crt"]),
        (oauth("gitlab: {url: 'http://gitlab.example'}"), ["high: 'http://gitlab.example' does not use TLS"]),
        (oauth("openID: {issuer: 'https://id.example'}"), []),
        (oauth("openID: {issuer: 'http://id.example'}"), ["high: does not use TLS"]),
        (oauth("requestHeader: {loginURL: 'https://p.example'}"), ["high: no ca"]),
        (oauth(BASIC % ""), []),
        (oauth(BASIC % ", tlsClientCert: {name: web}"), ["high: without tlsClientKey"]),
        (oauth(BASIC % CLIENT), ["inconclusive: whether it contains a certificate and its private key"]),
        (oauth(BASIC % CLIENT) + secret("web", "openshift-config", OF_CLIENT), []),
        (oauth(BASIC % CLIENT) + web("web"), ["medium: is not for clientAuth"]),
        (oauth(BASIC % CLIENT.replace("Key: {name: web", "Key: {name: key")), ["inconclusive: belong together"]),
    ],
)
def test_identity_providers(tmp_path: Path, text: str, expected: list[str]) -> None:
    told(tmp_path, "oauth-provider-tls", text, expected)


def told(directory: Path, rule: str, text: str, expected: list[str]) -> None:
    """The message is checked here, because Secrets of examples have no key."""
    found = said(directory, rule, text)
    assert len(found) == len(expected), found
    for (severity, _, message), wanted in zip(found, expected, strict=True):
        assert severity == wanted.partition(": ")[0], found
        assert wanted.partition(": ")[2] in message, found
