"""Kubeconfigs and the service account of a pod: what is meant, and what is wrong with it."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path

import pytest

from scanner.cluster import Access, access, contexts
from scanner.cluster.api_connection import Credential, Pair, Trust
from scanner.cluster.exec_plugin import Executed, Fixed, TokenFile
from scanner.errors import InputError, ScannerError, UsageError

HEAD = "apiVersion: v1\nkind: Config\ncurrent-context: main\n"
CONTEXT = "contexts:\n- name: main\n  context: {cluster: c, user: u, namespace: shop}\n"
CLUSTER = "clusters:\n- name: c\n  cluster: {server: 'https://api.example:6443'}\n"
USER = "users:\n- name: u\n  user: {token: sesame}\n"


def written(path: Path, *parts: str) -> str:
    path.write_text("".join(parts))
    return str(path)


def chosen(path: Path, *parts: str, **environment: str) -> Access:
    return access(written(path / "config", *parts), environment=environment)


def as_user(path: Path, user: str) -> Access:
    return chosen(path, HEAD, CONTEXT, CLUSTER, f"users:\n- name: u\n  user: {user}\n")


def as_cluster(path: Path, cluster: str, **environment: str) -> Access:
    return chosen(path, HEAD, CONTEXT, f"clusters:\n- name: c\n  cluster: {cluster}\n", USER, **environment)


def test_a_context_with_a_token(tmp_path: Path) -> None:
    found = chosen(tmp_path, HEAD, CONTEXT, CLUSTER, USER)
    assert found.name == "main"
    assert found.server == "https://api.example:6443"
    assert found.source == Fixed(Credential(token="sesame"))
    assert found.namespace == "shop"
    assert found.trust == Trust()
    assert found.origin == f"{tmp_path}/config:6:12: context 'main', cluster 'c', user 'u'"
    assert "sesame" not in repr(found) + repr(found.source)


def test_json_is_taken_too(tmp_path: Path) -> None:
    document = {
        "current-context": "main",
        "contexts": [{"name": "main", "context": {"cluster": "c"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://api.example/k8s/clusters/c-1/"}}],
    }
    found = chosen(tmp_path, json.dumps(document))
    assert found.server == "https://api.example/k8s/clusters/c-1"
    assert found.source == Fixed(Credential())


def test_of_several_files_the_first_that_says_something_is_heard(tmp_path: Path) -> None:
    first = written(tmp_path / "first", USER.replace("sesame", "from-first"), "contexts: null\n")
    second = written(tmp_path / "second", HEAD, CONTEXT, CLUSTER, USER.replace("{token", "{as: other, token"))
    environment = {"KUBECONFIG": f"{tmp_path}/missing:{first}:{second}:{first}"}
    found = access(environment=environment)
    assert found.server == "https://api.example:6443"
    assert found.source == Fixed(Credential(token="from-first"))
    assert contexts(environment=environment) == ("main",)


def test_the_argument_beats_kubeconfig_and_kubeconfig_beats_the_home(tmp_path: Path) -> None:
    home = tmp_path / ".kube"
    home.mkdir()
    written(home / "config", HEAD, CONTEXT, CLUSTER.replace("api.", "home."), USER)
    named = written(tmp_path / "named", HEAD, CONTEXT, CLUSTER.replace("api.", "named."), USER)
    given = written(tmp_path / "given", HEAD, CONTEXT, CLUSTER, USER)
    assert access(environment={"HOME": str(tmp_path)}).server == "https://home.example:6443"
    assert access(environment={"HOME": str(tmp_path), "KUBECONFIG": named}).server == "https://named.example:6443"
    assert access(given, environment={"KUBECONFIG": named}).server == "https://api.example:6443"


def test_files_are_relative_to_the_file_that_names_them(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    for name in ("ca.crt", "tls.crt", "tls.key"):
        (tmp_path / "keys" / name).write_text(f"-----{name}-----")
    user = "{client-certificate: keys/tls.crt, client-key: keys/tls.key}"
    cluster = "{server: api.example, certificate-authority: keys/ca.crt, tls-server-name: kubernetes}"
    found = chosen(
        tmp_path, HEAD, CONTEXT, f"clusters:\n- name: c\n  cluster: {cluster}\nusers:\n- name: u\n  user: {user}\n"
    )
    assert found.server == "https://api.example"
    assert found.trust == Trust(b"-----ca.crt-----", "kubernetes")
    assert found.source == Fixed(Credential(pair=Pair(b"-----tls.crt-----", b"-----tls.key-----")))
    assert "tls.key" not in repr(found.source)


def test_data_beats_files(tmp_path: Path) -> None:
    data = b64encode(b"from data").decode()
    found = as_cluster(tmp_path, f"{{server: x, certificate-authority-data: {data}, certificate-authority: gone}}")
    assert found.trust.authorities == b"from data"


def test_a_token_file_beats_a_token_and_a_token_beats_a_plugin(tmp_path: Path) -> None:
    plugin = "exec: {apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: Never}"
    found = as_user(tmp_path, f"{{tokenFile: t, token: sesame, {plugin}}}")
    assert isinstance(found.source, TokenFile)
    assert found.source.path == tmp_path / "t"
    assert as_user(tmp_path, f"{{token: sesame, {plugin}}}").source == Fixed(Credential(token="sesame"))
    assert isinstance(as_user(tmp_path, f"{{{plugin}}}").source, Executed)


def test_impersonation(tmp_path: Path) -> None:
    found = as_user(tmp_path, "{token: t, as: jane, as-uid: '7', as-groups: [a, b]}")
    assert found.source == Fixed(
        Credential(
            token="t",
            headers=(
                ("Impersonate-User", "jane"),
                ("Impersonate-Uid", "7"),
                ("Impersonate-Group", "a"),
                ("Impersonate-Group", "b"),
            ),
        )
    )


def test_a_plugin_with_everything(tmp_path: Path) -> None:
    plugin = (
        "{apiVersion: client.authentication.k8s.io/v1beta1, command: ./bin/login, args: [get, token], "
        "env: [{name: A, value: b}], provideClusterInfo: true, installHint: get it}"
    )
    extension = "{name: client.authentication.k8s.io/exec, extension: {audience: x}}"
    ca = b64encode(b"PEM").decode()
    cluster = (
        f"{{server: 'https://x', certificate-authority-data: {ca}, tls-server-name: n, extensions: [{extension}]}}"
    )
    found = chosen(
        tmp_path,
        HEAD,
        CONTEXT,
        f"clusters:\n- name: c\n  cluster: {cluster}\nusers:\n- name: u\n  user: {{exec: {plugin}}}\n",
    )
    assert isinstance(found.source, Executed)
    made = found.source.plugin
    assert (made.command, made.arguments, made.variables) == (f"{tmp_path}/bin/login", ("get", "token"), {"A": "b"})
    assert made.cluster == {
        "server": "https://x",
        "certificate-authority-data": ca,
        "tls-server-name": "n",
        "config": {"audience": "x"},
    }
    assert (made.install_hint, made.interactive) == ("get it", False)


def test_an_unverified_server_is_a_warning(tmp_path: Path) -> None:
    found = as_cluster(tmp_path, "{server: x, insecure-skip-tls-verify: true}")
    assert found.trust.verify is False
    assert found.warnings[0].startswith(f"{tmp_path}/config:9:")
    assert "cluster 'c': the API server is not verified" in found.warnings[0]


def test_proxies_of_the_cluster_beat_those_of_the_environment(tmp_path: Path) -> None:
    environment = {"HTTPS_PROXY": "http://env:3128"}
    assert as_cluster(tmp_path, "{server: x}", **environment).proxy == "http://env:3128"
    found = as_cluster(tmp_path, "{server: x, proxy-url: 'http://me:pass@own:1'}", **environment)
    assert found.proxy == "http://me:pass@own:1"
    assert "pass" not in repr(found)


def test_http_is_for_those_without_a_credential_and_for_loopback(tmp_path: Path) -> None:
    assert as_cluster(tmp_path, "{server: 'http://127.0.0.1:8001'}").server == "http://127.0.0.1:8001"
    anonymous = chosen(
        tmp_path, HEAD, "contexts:\n- {name: main, context: {cluster: c}}\n", CLUSTER.replace("https", "http")
    )
    assert anonymous.server == "http://api.example:6443"
    with pytest.raises(InputError, match="server is http: the credential would be sent unencrypted"):
        as_cluster(tmp_path, "{server: 'http://api.example'}")


@pytest.mark.parametrize(
    ("parts", "complaint"),
    [
        ((HEAD.replace("main", "mian"), CONTEXT), r"current-context: there is no context 'mian' in .*config"),
        (("kind: Config\n",), "there is no current-context"),
        (("kind: Secret\n",), r"config:1:7: this is a 'Secret', not a kubeconfig"),
        (("- a\n",), r"config:1:1: a kubeconfig is a mapping"),
        (("users: {}\n",), r"config:1:8: users must be a list"),
        (("a: [\n",), r"config:2:1: "),
        ((HEAD, CONTEXT, USER), r"config:6:22: context 'main': there is no cluster 'c'"),
        ((HEAD, CONTEXT, CLUSTER), r"config:6:31: context 'main': there is no user 'u'"),
        ((HEAD, "contexts:\n- {name: main, context: {user: u}}\n", USER), "context 'main': cluster is missing"),
        ((HEAD, CONTEXT, "clusters:\n- {name: c, cluster: {}}\n", USER), "cluster 'c': server is missing"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_place(
    tmp_path: Path, parts: tuple[str, ...], complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint) as caught:
        chosen(tmp_path, *parts)
    assert str(tmp_path) in caught.value.message


@pytest.mark.parametrize(
    ("user", "complaint"),
    [
        ("{username: a, password: secret}", r"config:12:20: user 'u': username is not supported"),
        ("{auth-provider: {name: gcp}}", "auth-provider is not supported"),
        ("{client-certificate-data: '%%%'}", "client-certificate-data is not base64"),
        ("{client-certificate-data: eA==}", "has no client-key"),
        ("{client-certificate: gone, client-key: gone}", "names .*/gone, which cannot be read: No such file"),
        ("{client-certificate: /dev/zero, client-key: gone}", "names /dev/zero, which is larger than 1024 KiB"),
        ("{token: 'a b'}", "not a token"),
        ("{exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: x}}", "exec.apiVersion is .*v1alpha1"),
        ("{exec: {apiVersion: client.authentication.k8s.io/v1}}", "exec.command is missing"),
        ("{exec: {apiVersion: client.authentication.k8s.io/v1, command: x}}", "exec.interactiveMode is ''"),
    ],
)
def test_what_is_wrong_with_a_user_is_said_with_its_place(tmp_path: Path, user: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint) as caught:
        as_user(tmp_path, user)
    assert f"{tmp_path}/config:12:" in caught.value.message
    assert "user 'u'" in caught.value.message
    assert "secret" not in caught.value.message


@pytest.mark.parametrize(
    ("cluster", "complaint"),
    [
        ("{server: 'ftp://x'}", "server is not the URL"),
        ("{server: 'https://x:port'}", "server is not the URL"),
        ("{server: 'https://'}", "server is not the URL"),
        ("{server: 'https://a..b'}", "server is not the URL"),
        ("{server: 'https://256.1.1.1'}", "server is not the URL"),
        ("{server: x, proxy-url: 'http://me:secret@a..b'}", "the proxy is not a valid URL"),
        ("{server: 'https://xn--a-\u00fc'}", "server is not the URL"),
        ("{server: 'https://me:secret@x'}", "server contains a user name or password"),
        ("{server: 'https://x/?a=b'}", "server is not the URL"),
        ("{server: x, proxy-url: 'socks5://me:secret@x'}", "proxy scheme 'socks5' is not supported"),
        ("{server: x, certificate-authority: gone}", "certificate-authority names .*gone, which cannot be read"),
    ],
)
def test_what_is_wrong_with_a_cluster_is_said_with_its_place(tmp_path: Path, cluster: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint) as caught:
        as_cluster(tmp_path, cluster)
    assert f"{tmp_path}/config:" in caught.value.message
    assert "secret" not in caught.value.message


def test_kubeconfig_that_names_nothing_that_is_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"KUBECONFIG names .*gone, which does not exist"):
        access(environment={"KUBECONFIG": f"{tmp_path}/gone"})


def test_a_large_kubeconfig_is_taken(tmp_path: Path) -> None:
    many = "".join(f"- name: c{number}\n  cluster: {{server: x, note: {'y' * 4000}}}\n" for number in range(400))
    found = chosen(tmp_path, HEAD, CONTEXT, CLUSTER, many, USER)
    assert found.server == "https://api.example:6443"


@pytest.mark.parametrize("host", ["10.0.0.1", "fd00::1"])
def test_a_pod_is_its_service_account(tmp_path: Path, host: str) -> None:
    (tmp_path / "ca.crt").write_text("PEM")
    environment = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": "443"}
    found = access(environment=environment, service_account=tmp_path)
    assert found.server == ("https://[fd00::1]:443" if ":" in host else "https://10.0.0.1:443")
    assert found.source == TokenFile(tmp_path / "token", "this pod's service account")
    assert found.trust == Trust(b"PEM")
    assert found.name == "in-cluster"


@pytest.mark.parametrize(
    ("context", "environment", "kind", "complaint"),
    [
        (None, {}, UsageError, "no cluster: there is no kubeconfig"),
        ("x", {}, UsageError, "no kubeconfig for the context 'x'"),
        (None, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, InputError, "ca.crt: cannot be read"),
    ],
)
def test_where_no_cluster_is_meant(
    tmp_path: Path, context: str | None, environment: dict[str, str], kind: type[ScannerError], complaint: str
) -> None:
    with pytest.raises(kind, match=complaint) as caught:
        access(None, context, environment=environment, service_account=tmp_path)
    assert caught.value.hint
