"""Choose the cluster: a kubeconfig's context, or the service account of this pod."""

from __future__ import annotations

import ipaddress
import os
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from scanner.cluster import kubeconfig as files
from scanner.cluster.api_connection import (
    Access,
    Credential,
    Pair,
    Source,
    Trust,
    checked,
    environment_proxy,
    understood,
)
from scanner.cluster.exec_plugin import VERSIONS, Executed, Fixed, Plugin, TokenFile, checked_token, terminal
from scanner.cluster.kubeconfig import Entry, Kubeconfig
from scanner.errors import InputError, UsageError
from scanner.files.source_positions import shown
from scanner.kube.objects import Fields

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where the kubelet mounts a pod's identity (Kubernetes, "Accessing the Kubernetes API from a Pod")."""
_EXTENSION = "client.authentication.k8s.io/exec"
"""The cluster's extension whose content a plugin gets as ``spec.cluster.config``."""


def contexts(kubeconfig: str | None = None, environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The names of the kubeconfig's contexts. Raises ``InputError``."""
    found = files.load(kubeconfig, environment)
    return found.names("contexts") if found else ()


def access(
    kubeconfig: str | None = None,
    context: str | None = None,
    *,
    environment: Mapping[str, str] = os.environ,
    service_account: Path = SERVICE_ACCOUNT,
) -> Access:
    """The way to the cluster that is meant: the kubeconfig's context, else this pod's own cluster.

    Raises ``InputError`` for what is wrong with a file, and ``UsageError`` where no cluster is meant at all.
    """
    found = files.load(kubeconfig, environment)
    if found is not None:
        return _of_context(found, context, environment)
    if context is not None:
        raise UsageError(f"there is no kubeconfig with the context {shown(context)}", hint="name one: --kubeconfig")
    if environment.get("KUBERNETES_SERVICE_HOST"):
        return in_cluster(environment, service_account)
    raise UsageError(
        "no cluster: there is no kubeconfig, and this is no pod of a cluster",
        hint="name a kubeconfig (--kubeconfig, KUBECONFIG), or a saved cluster (--snapshot)",
    )


def in_cluster(environment: Mapping[str, str], directory: Path = SERVICE_ACCOUNT) -> Access:
    """This pod's own cluster, as its service account. Raises ``InputError``."""
    host, port = environment["KUBERNETES_SERVICE_HOST"], environment.get("KUBERNETES_SERVICE_PORT") or "443"
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    authorities = directory / "ca.crt"
    try:
        trust = Trust(authorities.read_bytes())
    except OSError as error:
        raise InputError(
            f"{authorities}: cannot be read: {error.strerror}",
            hint="does the pod mount its service account (automountServiceAccountToken)?",
        ) from None
    origin = "this pod's service account"
    return Access(
        name="in-cluster",
        server=server,
        source=TokenFile(directory / "token", origin),
        trust=trust,
        proxy=environment_proxy(server, environment),
        origin=origin,
    )


def _of_context(found: Kubeconfig, asked: str | None, environment: Mapping[str, str]) -> Access:
    name = asked or found.current
    if not name:
        raise InputError(f"{found.name}: there is no current-context", hint="name one: --context")
    context = found.entry("contexts", name, "--context" if asked else "current-context")
    cluster = found.entry("clusters", _needed(context, "cluster"), context.at("cluster"))
    user_name = context.fields.text("user")
    user = found.entry("users", user_name, context.at("user")) if user_name else None
    trust, server = _trust(cluster), _server(cluster)
    source = _source(user, cluster, server, trust) if user else Fixed(Credential())
    if urlsplit(server).scheme == "http" and source != Fixed(Credential()) and not _loopback(server):
        cluster.refuse("server", "is http: the credential would travel in clear", "write https")
    warnings = () if trust.verify else (f"{cluster.at('insecure-skip-tls-verify')}: {_UNVERIFIED}",)
    proxy = cluster.fields.text("proxy-url")
    return Access(
        name=name,
        server=server,
        source=source,
        trust=trust,
        proxy=checked(proxy, cluster.at("proxy-url")) if proxy else environment_proxy(server, environment),
        namespace=context.fields.text("namespace") or "default",
        origin=f"{context.at()}, {cluster.what}" + (f", {user.what}" if user else ""),
        warnings=warnings,
    )


_UNVERIFIED = "the API server is not verified: anyone on the network path can read the credential"


def _needed(entry: Entry, name: str) -> str:
    value = entry.fields.text(name)
    if not value:
        entry.refuse(name, "is missing")
    return value


def _server(cluster: Entry) -> str:
    text = _needed(cluster, "server")
    try:
        url = urlsplit(text if "://" in text else f"https://{text}")
        usable = url.scheme in ("https", "http") and understood(url.geturl()) and (url.port or 1) > 0
    except ValueError:
        usable, url = False, urlsplit("")
    if not usable or url.query or url.fragment or not text.isprintable():
        cluster.refuse("server", f"is no URL of an API server: {shown(text)}", "write https://host:port")
    if url.username is not None:
        cluster.refuse("server", "holds a user name or password", "API servers know no basic authentication any more")
    return url.geturl().rstrip("/")


def _loopback(server: str) -> bool:
    host = urlsplit(server).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _trust(cluster: Entry) -> Trust:
    return Trust(
        authorities=cluster.data("certificate-authority"),
        server_name=cluster.fields.text("tls-server-name") or None,
        verify=not cluster.fields.flag("insecure-skip-tls-verify"),
    )


def _source(user: Entry, cluster: Entry, server: str, trust: Trust) -> Source:
    """A token file is fresher than a token, and either needs no plugin: the order of client-go."""
    fields = user.fields
    for name, hint in _REFUSED.items():
        if fields.has(name):
            user.refuse(name, "is not supported", hint)
    base = Credential(pair=_pair(user), headers=_impersonation(fields))
    path = user.path("tokenFile")
    if path is not None:
        return TokenFile(path, user.at("tokenFile"), base)
    token = fields.text("token")
    if token:
        return Fixed(Credential(checked_token(token, user.at("token")), base.pair, base.headers))
    if fields.has("exec"):
        return Executed(_plugin(user, cluster, server, trust), base)
    return Fixed(base)


_REFUSED = {
    "username": "Kubernetes has had no basic authentication since 1.19: use a token, a certificate or a plugin",
    "password": "Kubernetes has had no basic authentication since 1.19: use a token, a certificate or a plugin",
    "auth-provider": "kubectl removed it in 1.26: use a credential plugin (exec)",
}


def _pair(user: Entry) -> Pair | None:
    certificate, key = user.data("client-certificate"), user.data("client-key")
    if certificate and not key:
        user.refuse("client-certificate-data", "has no client-key", "both are needed")
    return Pair(certificate, key) if certificate and key else None


def _impersonation(fields: Fields) -> tuple[tuple[str, str], ...]:
    """Kubernetes, "User impersonation": whom the API server shall take us for."""
    pairs = [("Impersonate-User", fields.text("as")), ("Impersonate-Uid", fields.text("as-uid"))]
    pairs += [("Impersonate-Group", group) for group in fields.texts("as-groups")]
    return tuple((name, value) for name, value in pairs if value and value.isprintable())


def _plugin(user: Entry, cluster: Entry, server: str, trust: Trust) -> Plugin:
    spec = user.fields.fields("exec")
    version, command = spec.text("apiVersion"), spec.text("command")
    at = user.at("exec")
    if version not in VERSIONS:
        raise InputError(f"{at}: exec.apiVersion is {shown(version)}", hint=f"known here: {', '.join(VERSIONS)}")
    if not command:
        raise InputError(f"{at}: exec.command is missing")
    if "/" in command and not command.startswith("/"):
        command = str(Path(user.document.file).parent.absolute() / command)
    return Plugin(
        api_version=version,
        command=command,
        arguments=spec.texts("args"),
        variables={each.text("name"): each.text("value") for each in spec.each("env") if each.text("name")},
        interactive=_interactive(spec, version, at),
        cluster=_cluster_info(cluster, server, trust) if spec.flag("provideClusterInfo") else None,
        install_hint=spec.text("installHint"),
        origin=at,
    )


def _interactive(spec: Fields, version: str, at: str) -> bool:
    mode = spec.text("interactiveMode") or ("IfAvailable" if version.endswith("v1beta1") else "")
    if mode not in ("Never", "IfAvailable", "Always"):
        raise InputError(f"{at}: exec.interactiveMode is {shown(mode)}", hint="Never, IfAvailable or Always")
    if mode == "Always" and not terminal():
        raise InputError(f"{at}: the plugin must ask the user, and there is no terminal", hint="use a token")
    return mode != "Never" and terminal()


def _cluster_info(cluster: Entry, server: str, trust: Trust) -> dict[str, object]:
    """``spec.cluster`` of the request, from the cluster that the context names."""
    fields = cluster.fields
    extension = next((each for each in fields.each("extensions") if each.text("name") == _EXTENSION), Fields({}))
    said = {
        "server": server,
        "tls-server-name": trust.server_name,
        "insecure-skip-tls-verify": None if trust.verify else True,
        "certificate-authority-data": b64encode(trust.authorities).decode() if trust.authorities else None,
        "proxy-url": fields.text("proxy-url") or None,
        "config": extension.at("extension"),
    }
    return {name: value for name, value in said.items() if value is not None}
