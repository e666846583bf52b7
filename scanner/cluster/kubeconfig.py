"""Kubeconfig files and the choice of the cluster: a context, or the service account of this pod.

Files are found and merged as kubectl does it (kubernetes.io, "Organizing Cluster Access Using kubeconfig Files"):
``--kubeconfig`` alone; else the existing files of KUBECONFIG; else ~/.kube/config. Of entries with the same name the
first is used completely. Paths in a file are relative to it.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import os
from base64 import b64encode
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NoReturn
from urllib.parse import urlsplit

from msgspec import Struct

from scanner.cluster.api_connection import (
    Access,
    Credential,
    Pair,
    Source,
    Trust,
    checked_proxy,
    environment_proxy,
    is_usable_url,
)
from scanner.cluster.exec_plugin import VERSIONS, Executed, Fixed, Plugin, TokenFile, checked_token, terminal
from scanner.errors import InputError, UsageError
from scanner.files.problems import did_you_mean
from scanner.files.source_positions import Located, Steps, dotted, shown
from scanner.files.yaml_values import read
from scanner.kube.objects import Fields

MAX_BYTES = 16 << 20
"""Bytes of one file: those with the certificates of some hundred clusters have a few megabytes."""
MAX_FILE = 1 << 20
"""Bytes of a certificate or key file."""

Section = Literal["contexts", "clusters", "users"]
_BODY: dict[Section, str] = {"contexts": "context", "clusters": "cluster", "users": "user"}


class Entry(Struct, frozen=True):
    """One named context, cluster or user."""

    document: Located
    steps: Steps
    """Path to its body."""
    what: str
    """``user 'admin'``."""

    @property
    def fields(self) -> Fields:
        """Its values."""
        value = self.document.get(self.steps)
        return Fields(value if isinstance(value, dict) else {})

    def at(self, *steps: str | int) -> str:
        """``file:line:column: user 'admin'``, for error messages."""
        return f"{self.document.position((*self.steps, *steps))}: {self.what}"

    def refuse(self, name: str, what: str, hint: str = "") -> NoReturn:
        """Raises ``InputError`` about the field ``name``."""
        raise InputError(f"{self.at(name)}: {name} {what}", hint=hint)

    def path(self, name: str) -> Path | None:
        """The file that the field names."""
        value = self.fields.text(name)
        return Path(self.document.file).parent / value if value else None

    def data(self, name: str) -> bytes | None:
        """The content of ``name-data`` (base64), else of the file ``name``. Raises ``InputError``."""
        text = self.fields.text(f"{name}-data")
        if text:
            try:
                return base64.b64decode("".join(text.split()), validate=True)
            except (binascii.Error, ValueError):
                self.refuse(f"{name}-data", "is not base64", f"write a file's name into {name}")
        path = self.path(name)
        return self._content(name, path) if path else None

    def _content(self, name: str, path: Path) -> bytes:
        try:
            with path.open("rb") as file:
                data = file.read(MAX_FILE + 1)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            self.refuse(name, f"names {path}, which cannot be read: {reason}")
        if len(data) > MAX_FILE:
            self.refuse(name, f"names {path}, which is larger than {MAX_FILE >> 10} KiB")
        return data


class Kubeconfig(Struct, frozen=True):
    """The kubeconfig files in use, in their order."""

    files: tuple[Located, ...]

    @property
    def name(self) -> str:
        """The files' names, for error messages."""
        return os.pathsep.join(each.file for each in self.files)

    @property
    def current(self) -> str:
        """The first ``current-context``, or "" if no file has one."""
        return next(filter(None, (_text(file, "current-context") for file in self.files)), "")

    def names(self, section: Section) -> tuple[str, ...]:
        """The names of a section's entries, each once."""
        return tuple(dict.fromkeys(name for _, _, name in self._entries(section)))

    def entry(self, section: Section, name: str, origin: str) -> Entry:
        """The entry with that name. Raises ``InputError``; ``origin``: the place of the reference."""
        body = _BODY[section]
        for document, index, found in self._entries(section):
            if found == name:
                return Entry(document, (section, index, body), f"{body} {shown(name)}")
        hint = did_you_mean(name, self.names(section))
        raise InputError(f"{origin}: there is no {body} {shown(name)} in {self.name}", hint=hint)

    def _entries(self, section: Section) -> Iterator[tuple[Located, int, str]]:
        for document in self.files:
            entries = document.get((section,))
            for index, entry in enumerate(entries if isinstance(entries, list) else ()):
                name = entry.get("name") if isinstance(entry, dict) else None
                if isinstance(name, str | int):
                    yield document, index, str(name)


def load(path: str | None, environment: Mapping[str, str]) -> Kubeconfig | None:
    """The kubeconfig in use, or None if there is none. Raises ``InputError``."""
    if path is not None:
        return Kubeconfig((_file(path),))
    named = [part for part in environment.get("KUBECONFIG", "").split(os.pathsep) if part]
    home = environment.get("HOME")
    paths = named or ([str(Path(home, ".kube", "config"))] if home else [])
    files = tuple(_file(each) for each in dict.fromkeys(paths) if Path(each).exists())
    if not files and named:
        raise InputError(
            f"KUBECONFIG names {os.pathsep.join(named)}, which does not exist", hint="unset KUBECONFIG, or correct it"
        )
    return Kubeconfig(files) if files else None


def _file(path: str) -> Located:
    document = read(path, MAX_BYTES)
    if not isinstance(document.value, dict | None):
        raise InputError(f"{document.position()}: a kubeconfig is a mapping, not {shown(document.value)}")
    kind = document.get(("kind",))
    if kind not in (None, "", "Config"):
        raise InputError(f"{document.position(('kind',))}: this is a {shown(kind)}, not a kubeconfig (kind: Config)")
    for section in _BODY:
        if not isinstance(document.get((section,)), list | None):
            raise InputError(f"{document.position((section,))}: {dotted((section,))} must be a list")
    return document


def _text(document: Located, name: str) -> str:
    value = document.get((name,))
    return value if isinstance(value, str) else ""


SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Mount path of a pod's service account (Kubernetes, "Accessing the Kubernetes API from a Pod")."""
_EXTENSION = "client.authentication.k8s.io/exec"
"""The cluster's extension that a plugin gets as ``spec.cluster.config``."""


def contexts(kubeconfig: str | None = None, environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The names of the kubeconfig's contexts. Raises ``InputError``."""
    found = load(kubeconfig, environment)
    return found.names("contexts") if found else ()


def access(
    kubeconfig: str | None = None,
    context: str | None = None,
    *,
    environment: Mapping[str, str] = os.environ,
    service_account: Path = SERVICE_ACCOUNT,
) -> Access:
    """The access to the cluster of the kubeconfig's context, else of this pod.

    Raises ``InputError`` for an invalid file, and ``UsageError`` without any cluster.
    """
    found = load(kubeconfig, environment)
    if found is not None:
        return _of_context(found, context, environment)
    if context is not None:
        raise UsageError(f"there is no kubeconfig for the context {shown(context)}", hint="set --kubeconfig")
    if environment.get("KUBERNETES_SERVICE_HOST"):
        return in_cluster(environment, service_account)
    raise UsageError(
        "no cluster: there is no kubeconfig, and this is not a pod of a cluster",
        hint="name a kubeconfig (--kubeconfig, KUBECONFIG), or a saved cluster (--snapshot)",
    )


def in_cluster(environment: Mapping[str, str], directory: Path = SERVICE_ACCOUNT) -> Access:
    """The access to this pod's own cluster, as its service account. Raises ``InputError``."""
    host, port = environment["KUBERNETES_SERVICE_HOST"], environment.get("KUBERNETES_SERVICE_PORT") or "443"
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    authorities = directory / "ca.crt"
    try:
        trust = Trust(authorities.read_bytes())
    except OSError as error:
        raise InputError(
            f"{authorities}: cannot be read: {error.strerror}",
            hint="let the pod mount its service account (automountServiceAccountToken)",
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


def _of_context(found: Kubeconfig, chosen: str | None, environment: Mapping[str, str]) -> Access:
    name = chosen or found.current
    if not name:
        raise InputError(f"{found.name}: there is no current-context", hint="set --context")
    context = found.entry("contexts", name, "--context" if chosen else "current-context")
    cluster = found.entry("clusters", _needed(context, "cluster"), context.at("cluster"))
    user_name = context.fields.text("user")
    user = found.entry("users", user_name, context.at("user")) if user_name else None
    trust, server = _trust(cluster), _server(cluster)
    source = _source(user, cluster, server, trust) if user else Fixed(Credential())
    if urlsplit(server).scheme == "http" and source != Fixed(Credential()) and not _loopback(server):
        cluster.refuse("server", "is http: the credential would be sent unencrypted", "write https")
    warnings = () if trust.verify else (f"{cluster.at('insecure-skip-tls-verify')}: {_UNVERIFIED}",)
    proxy = cluster.fields.text("proxy-url")
    return Access(
        name=name,
        server=server,
        source=source,
        trust=trust,
        proxy=checked_proxy(proxy, cluster.at("proxy-url")) if proxy else environment_proxy(server, environment),
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
        usable = url.scheme in ("https", "http") and is_usable_url(url.geturl()) and (url.port or 1) > 0
    except ValueError:
        usable, url = False, urlsplit("")
    if not usable or url.query or url.fragment or not text.isprintable():
        cluster.refuse("server", f"is not the URL of an API server: {shown(text)}", "write https://host:port")
    if url.username is not None:
        cluster.refuse("server", "contains a user name or password", "API servers have no basic authentication")
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
    """The source of the credential. The order is that of client-go: token file, token, plugin."""
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
    """Headers of impersonation (Kubernetes, "User impersonation")."""
    pairs = [("Impersonate-User", fields.text("as")), ("Impersonate-Uid", fields.text("as-uid"))]
    pairs += [("Impersonate-Group", group) for group in fields.texts("as-groups")]
    return tuple((name, value) for name, value in pairs if value and value.isprintable())


def _plugin(user: Entry, cluster: Entry, server: str, trust: Trust) -> Plugin:
    spec = user.fields.fields("exec")
    version, command = spec.text("apiVersion"), spec.text("command")
    at = user.at("exec")
    if version not in VERSIONS:
        raise InputError(f"{at}: exec.apiVersion is {shown(version)}", hint=f"supported: {', '.join(VERSIONS)}")
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
        raise InputError(f"{at}: the plugin must ask the user, but there is no terminal", hint="use a token")
    return mode != "Never" and terminal()


def _cluster_info(cluster: Entry, server: str, trust: Trust) -> dict[str, object]:
    """``spec.cluster`` of the plugin's request."""
    fields = cluster.fields
    extension = next((each for each in fields.each("extensions") if each.text("name") == _EXTENSION), Fields({}))
    info = {
        "server": server,
        "tls-server-name": trust.server_name,
        "insecure-skip-tls-verify": None if trust.verify else True,
        "certificate-authority-data": b64encode(trust.authorities).decode() if trust.authorities else None,
        "proxy-url": fields.text("proxy-url") or None,
        "config": extension.at("extension"),
    }
    return {name: value for name, value in info.items() if value is not None}
