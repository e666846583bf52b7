"""Credentials of a kubeconfig: fixed ones, files that are rotated, and programs that print one.

The protocol is ``client.authentication.k8s.io`` (v1 and v1beta1, which differ in nothing that is read here but the
default of ``interactiveMode``): the request travels in the environment variable KUBERNETES_EXEC_INFO, the answer is an
ExecCredential on standard output. Source: kubernetes.io, "client-go credential plugins", and
k8s.io/client-go/pkg/apis/clientauthentication.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import trio

from scanner.cluster.api_connection import Credential, Pair
from scanner.errors import ClusterError, InputError
from scanner.files.source_positions import shown
from scanner.kube.objects import Fields

FRESH = 60.0
"""Seconds for which a token that was read from a file is used. The kubelet renews a projected token when 80 % of its
life has passed (Kubernetes, "Bound service account tokens"), so this is never too late."""
MAX_TOKEN = 64 * 1024
"""Bytes; the API server takes no header that is larger."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """A credential that never changes: a token or a client certificate in the kubeconfig, or none at all."""

    value: Credential

    async def credential(self, *, renew: bool = False) -> Credential:  # noqa: ARG002 - there is no other one
        """The same, always."""
        return self.value


@dataclass(slots=True)
class TokenFile:
    """A token in a file that is rotated: a service account's, or ``tokenFile`` of a kubeconfig."""

    path: Path
    origin: str
    """For error messages: who names this file."""
    base: Credential = field(default_factory=Credential)
    """What goes with the token."""
    clock: Callable[[], float] = time.monotonic
    _token: str = field(default="", repr=False)
    _until: float = 0.0

    async def credential(self, *, renew: bool = False) -> Credential:
        """The file's token, read again after a minute or when the last one was refused. Raises ``InputError``."""
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
        raise InputError(f"{origin}: {path}: the token cannot be read: {reason}", hint="is the path right?") from None
    return checked_token(data, f"{origin}: {path}")


def checked_token(data: bytes | str, origin: str) -> str:
    """A token that can stand in a header. Raises ``InputError``, which never shows it."""
    text = data.decode("ascii", "replace") if isinstance(data, bytes) else data
    text = text.strip()
    if not text or len(text) > MAX_TOKEN or not text.isascii() or not text.isprintable() or " " in text:
        raise InputError(f"{origin}: this is no token", hint="a token is one line of letters, digits and punctuation")
    return text


VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
PATIENCE = 60.0
"""Seconds for a plugin that may not ask the user; one that may gets ten times as much."""
EARLY = timedelta(seconds=30)
"""How long before its expiry a credential is replaced."""
MAX_ANSWER = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """What the kubeconfig says about the program."""

    api_version: str
    command: str
    """A path, or a name to look up in PATH."""
    arguments: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    interactive: bool = False
    """Whether it may ask the user: ``interactiveMode``, and whether there is a terminal."""
    cluster: Mapping[str, object] | None = None
    """``spec.cluster`` of the request (``provideClusterInfo``)."""
    install_hint: str = ""
    origin: str
    """For error messages."""


def terminal() -> bool:
    """Whether there is somebody to ask."""
    return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()


@dataclass(slots=True)
class Executed:
    """The credential that a plugin prints, kept until it expires."""

    plugin: Plugin
    base: Credential = field(default_factory=Credential)
    """What goes with what it prints."""
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    patience: float = PATIENCE
    _value: Credential | None = None
    _expires: datetime | None = None
    _lock: trio.Lock = field(default_factory=trio.Lock)

    async def credential(self, *, renew: bool = False) -> Credential:
        """The plugin's credential; runs it when there is none, it expires or was refused. Raises ``ClusterError``."""
        before = self._value
        async with self._lock:
            stale = self._expires is not None and self.clock() >= self._expires - EARLY
            # Several requests are refused at once; the first to get here renews for all of them.
            if self._value is None or stale or (renew and self._value is before):
                self._value, self._expires = read_answer(await self._run(), self.plugin, self.base)
            return self._value

    async def _run(self) -> bytes:
        plugin = self.plugin
        wait = self.patience * (10 if plugin.interactive else 1)
        try:
            with trio.fail_after(wait):
                code, answer, said = await _ended(plugin)
        except trio.TooSlowError:
            raise _failed(plugin, f"has not answered within {wait:g} seconds") from None
        except FileNotFoundError:
            raise _failed(plugin, "is not installed") from None
        except (OSError, ValueError) as error:
            raise _failed(plugin, f"cannot be run: {getattr(error, 'strerror', None) or error}") from None
        if len(answer) > MAX_ANSWER:
            raise _failed(plugin, f"printed more than {MAX_ANSWER >> 20} MiB")
        if code:
            text = said.decode("utf-8", "replace").strip()
            raise _failed(plugin, f"ended with {code}" + (f": {shown(text, 300)}" if text else ""))
        return answer


async def _ended(plugin: Plugin) -> tuple[int, bytes, bytes]:
    """Run the program: its exit code and the beginning of what it wrote. One that writes too much is killed."""
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
    """What the plugin is told: an ExecCredential without status."""
    spec: dict[str, object] = {"interactive": plugin.interactive}
    if plugin.cluster is not None:
        spec["cluster"] = plugin.cluster
    return json.dumps({"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec})


def read_answer(answer: bytes, plugin: Plugin, base: Credential) -> tuple[Credential, datetime | None]:
    """The credential and when it expires. Raises ``ClusterError``, which never shows what was printed."""
    try:
        document = json.loads(answer) if len(answer) <= MAX_ANSWER else None
    except (ValueError, RecursionError):
        document = None
    fields = Fields(document if isinstance(document, dict) else {})
    if fields.text("kind") != "ExecCredential":
        raise _failed(plugin, "printed no ExecCredential")
    if fields.text("apiVersion") != plugin.api_version:
        said = shown(fields.text("apiVersion"))
        raise _failed(plugin, f"answered as {said}, not {plugin.api_version} as the kubeconfig says")
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
        raise _failed(plugin, f"printed an expirationTimestamp that is no time: {shown(text)}") from None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _failed(plugin: Plugin, what: str) -> ClusterError:
    hint = shown(plugin.install_hint, 300) if plugin.install_hint else "does kubectl work with this kubeconfig?"
    return ClusterError(f"{plugin.origin}: the credential plugin {shown(plugin.command)} {what}", hint=hint)
