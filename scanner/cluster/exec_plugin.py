"""Credentials of a kubeconfig: fixed ones, files that are rotated, and programs that print one.

The protocol is ``client.authentication.k8s.io`` (v1 and v1beta1, which differ here only in the default of
``interactiveMode``): the request is in the environment variable KUBERNETES_EXEC_INFO, the answer is an ExecCredential
on standard output. Source: kubernetes.io, "client-go credential plugins", and
k8s.io/client-go/pkg/apis/clientauthentication.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import trio

from scanner.cluster.api_connection import Credential, Pair
from scanner.errors import ClusterError, InputError
from scanner.files.source_positions import shown
from scanner.kube.objects import Fields
from scanner.values import replace

FRESH = 60.0
"""Seconds for which a token from a file is used. The kubelet renews a projected token after 80 % of its lifetime
(Kubernetes, "Bound service account tokens"), so this is soon enough."""
MAX_TOKEN = 64 * 1024
"""Bytes; the API server accepts no larger header."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """A credential that never changes: a token or a client certificate in the kubeconfig, or anonymous."""

    value: Credential

    async def credential(self, *, renew: bool = False) -> Credential:  # noqa: ARG002 - there is no other one
        """Return the same credential each time."""
        return self.value


@dataclass(slots=True)
class TokenFile:
    """A token in a file that is rotated: a service account's, or ``tokenFile`` of a kubeconfig."""

    path: Path
    origin: str
    """The object that names this file, for error messages."""
    base: Credential = field(default_factory=Credential)
    """The other fields of the credential."""
    clock: Callable[[], float] = time.monotonic
    _token: str = field(default="", repr=False)
    _until: float = 0.0

    async def credential(self, *, renew: bool = False) -> Credential:
        """The file's token, read again after a minute or if the last one was refused. Raises ``InputError``."""
        if renew or not self._token or self.clock() >= self._until:
            self._token = token(self.path, self.origin)
            self._until = self.clock() + FRESH
        return replace(self.base, token=self._token)


def token(path: Path, origin: str) -> str:
    """The token in a file. Raises ``InputError``."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_TOKEN + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{origin}: {path}: the token cannot be read: {reason}", hint="check the path") from None
    return checked_token(data, f"{origin}: {path}")


def checked_token(data: bytes | str, origin: str) -> str:
    """A token that is valid in a header. Raises ``InputError``, without the token."""
    text = data.decode("ascii", "replace") if isinstance(data, bytes) else data
    text = text.strip()
    if not text or len(text) > MAX_TOKEN or not text.isascii() or not text.isprintable() or " " in text:
        raise InputError(f"{origin}: not a token", hint="a token is one line of letters, digits and punctuation")
    return text


VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
TIMEOUT = 60.0
"""Seconds for a plugin without user interaction; one with it gets ten times as long."""
EARLY = timedelta(seconds=30)
"""Time before expiry at which a credential is renewed."""
MAX_ANSWER = 1 << 20
_MAX_LINE = 4096
"""Characters of an error that are searched for credentials; fewer are shown."""
_CREDENTIAL = re.compile(
    r"(?P<name>\b(?:bearer|authorization:\s*\w+)\s+|\b[\w-]*(?:token|password|passwd|secret|key)[\"']?\s*(?:=\s*|:\s*(?=[\"'])))\S+"
    r"|eyJ[\w-]*(?:\.[\w-]*)*"  # a JWT
    r"|\b[a-z0-9]{6}\.[a-z0-9]{16}\b"  # a bootstrap token
    r"|(?<=://)[^\s/@]+(?=@)"
    r"|(?<![\w+/=-])(?!(?-i:(?:[A-Z][a-z]{2,15}){2,})(?![\w+/=-]))[\w+/=-]{21,}",  # base64; no AccessDeniedException
    re.IGNORECASE | re.ASCII,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """The ``exec`` section of the kubeconfig."""

    api_version: str
    command: str
    """A path, or a name to look up in PATH."""
    arguments: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    interactive: bool = False
    """True if it may ask the user: by ``interactiveMode``, and if there is a terminal."""
    cluster: Mapping[str, object] | None = None
    """``spec.cluster`` of the request (``provideClusterInfo``)."""
    install_hint: str = ""
    origin: str
    """For error messages."""


def terminal() -> bool:
    """True if standard input is a terminal."""
    return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()


@dataclass(slots=True)
class Executed:
    """The credential that a plugin prints, kept until it expires."""

    plugin: Plugin
    base: Credential = field(default_factory=Credential)
    """The other fields of the credential."""
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    timeout: float = TIMEOUT
    _value: Credential | None = None
    _expires: datetime | None = None
    _lock: trio.Lock = field(default_factory=trio.Lock)

    async def credential(self, *, renew: bool = False) -> Credential:
        """The plugin's credential. Runs it at first, near expiry, and after a refusal. Raises ``ClusterError``."""
        before = self._value
        async with self._lock:
            expiring = self._expires is not None and self.clock() >= self._expires - EARLY
            # Several requests may be refused at once; the first one renews for all.
            if self._value is None or expiring or (renew and self._value is before):
                self._value, self._expires = read_answer(await self._run(), self.plugin, self.base)
            return self._value

    async def _run(self) -> bytes:
        plugin = self.plugin
        wait = self.timeout * (10 if plugin.interactive else 1)
        try:
            with trio.fail_after(wait):
                code, answer, errors = await _run(plugin)
        except trio.TooSlowError:
            raise _failed(plugin, f"did not answer within {wait:g} seconds") from None
        except FileNotFoundError:
            raise _failed(plugin, "is not installed") from None
        except (OSError, ValueError) as error:
            raise _failed(plugin, f"cannot be run: {getattr(error, 'strerror', None) or error}") from None
        if len(answer) > MAX_ANSWER:
            raise _failed(plugin, f"printed more than {MAX_ANSWER >> 20} MiB")
        if code:
            text = first_error(errors)
            raise _failed(plugin, f"exited with {code}" + (f": {shown(text, 300)}" if text else ""))
        return answer


def first_error(errors: bytes) -> str:
    """The first line that a plugin printed on standard error, without what looks like a credential: with debugging on,
    plugins print their requests and answers."""
    first = errors.decode("utf-8", "replace").strip().partition("\n")[0][:_MAX_LINE].rstrip()
    return _CREDENTIAL.sub(lambda found: f"{found['name'] or ''}(credential)", first)


async def _run(plugin: Plugin) -> tuple[int, bytes, bytes]:
    """Run the program; return its exit code and the beginning of its output. Kills it if it writes too much."""
    process = await trio.lowlevel.open_process(
        [plugin.command, *plugin.arguments],
        env={**os.environ, **plugin.variables, "KUBERNETES_EXEC_INFO": request(plugin)},
        stdin=None if plugin.interactive else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=None if plugin.interactive else subprocess.PIPE,
    )

    async def read(stream: trio.abc.ReceiveStream | None, into: bytearray) -> None:
        while stream is not None and len(into) <= MAX_ANSWER:
            part = await stream.receive_some(MAX_ANSWER)
            if not part:
                return
            into += part
        if stream is not None:
            process.kill()

    output, errors = bytearray(), bytearray()
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(read, process.stdout, output)
            nursery.start_soon(read, process.stderr, errors)
        return await process.wait(), bytes(output), bytes(errors)
    finally:
        with trio.CancelScope(shield=True):
            for stream in filter(None, (process.stdout, process.stderr)):
                await stream.aclose()
            if process.returncode is None:
                process.kill()
            await process.wait()


def request(plugin: Plugin) -> str:
    """The plugin's request: an ExecCredential without status."""
    spec: dict[str, object] = {"interactive": plugin.interactive}
    if plugin.cluster is not None:
        spec["cluster"] = plugin.cluster
    return json.dumps({"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec})


def read_answer(answer: bytes, plugin: Plugin, base: Credential) -> tuple[Credential, datetime | None]:
    """The credential and its expiry. Raises ``ClusterError``, without the printed text."""
    try:
        document = json.loads(answer) if len(answer) <= MAX_ANSWER else None
    except (ValueError, RecursionError):
        document = None
    fields = Fields(document if isinstance(document, dict) else {})
    if fields.text("kind") != "ExecCredential":
        raise _failed(plugin, "printed something else than an ExecCredential")
    if fields.text("apiVersion") != plugin.api_version:
        version = shown(fields.text("apiVersion"))
        raise _failed(plugin, f"answered with apiVersion {version}; the kubeconfig requires {plugin.api_version}")
    status = fields.fields("status")
    pair = _pair(status, plugin)
    token = status.text("token")
    if not token and pair is None:
        raise _failed(plugin, "printed an ExecCredential without a token or client certificate")
    checked = checked_token(token, f"{plugin.origin}: {plugin.command}") if token else None
    return replace(base, token=checked, pair=pair or base.pair), _expiry(status, plugin)


def _pair(status: Fields, plugin: Plugin) -> Pair | None:
    certificate, key = status.text("clientCertificateData"), status.text("clientKeyData")
    if bool(certificate) != bool(key):
        raise _failed(plugin, "printed only one of clientCertificateData and clientKeyData")
    return Pair(certificate.encode(), key.encode()) if certificate else None


def _expiry(status: Fields, plugin: Plugin) -> datetime | None:
    text = status.text("expirationTimestamp")
    if not text:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise _failed(plugin, f"printed an invalid expirationTimestamp: {shown(text)}") from None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _failed(plugin: Plugin, what: str) -> ClusterError:
    hint = shown(plugin.install_hint, 300) if plugin.install_hint else "check that kubectl works with this kubeconfig"
    return ClusterError(f"{plugin.origin}: the credential plugin {shown(plugin.command)} {what}", hint=hint)
