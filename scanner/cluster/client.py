"""A client of the Kubernetes API, with retries and limits. ``report_writer`` is the only caller that changes objects.

It never follows a redirect, so that it sends the credential to the API server only.
"""

from __future__ import annotations

import json
import os
import random
import re
import ssl
from base64 import b64encode
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import httpx2
import trio
from msgspec import Struct, field

from scanner import __version__
from scanner.cluster.api_connection import Access, Credential, Pair, ssl_context
from scanner.cluster.decoding import decoded
from scanner.errors import ClusterError, ScannerError
from scanner.kube.objects import Fields

JSON = "application/json"
METADATA = f"{JSON};as=PartialObjectMetadata;g=meta.k8s.io;v=v1,{JSON}"
METADATA_LIST = f"{JSON};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,{JSON}"
"""Media types of an object, and of a list of them, without their content."""
_USER_AGENT = f"adhere/{__version__}"
_RETRIED = frozenset({429, 500, 502, 503, 504})
"""Status codes after which the same request may succeed (Kubernetes API conventions, "HTTP Status codes")."""
_MOST_TEXT = 300
"""Characters of an error's text, which aggregated API servers choose freely."""


PER_OBJECT = 1024
"""Bytes of memory that even the smallest object takes."""


def memory_limit() -> int:
    """Memory of this process in bytes: its container's limit (cgroup v2, ``memory.max``), else the machine's."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        text = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
    except OSError:
        return machine
    return min(machine, int(text)) if text.isdecimal() else machine


class Limits(Struct, frozen=True, kw_only=True):
    """Retries, timeouts (seconds) and limits (bytes)."""

    timeout: float = 60.0
    """For one complete answer."""
    connect: float = 10.0
    page: int = 500
    """Objects in a page of a list, as in kubectl."""
    tries: int = 5
    """Tries of one request, the first included."""
    backoff: float = 0.25
    """Mean wait before the second try; doubles from try to try."""
    longest: float = 30.0
    """Longest wait, also if Retry-After is longer."""
    largest: int = 64 << 20
    """Size of one answer. A page of 500 large pods has 10 MB; of a larger one, smaller pages are requested."""
    overall: float = 1200.0
    """For all answers: a large cluster is read in a minute."""
    total: int = field(default_factory=lambda: int(0.6 * memory_limit()))
    """Size of all answers, decompressed, plus ``PER_OBJECT`` for each object. It is about the most that is kept of
    them, so that the scanner stops with a message before the kernel kills it."""
    lost: int = 5
    """Consecutive requests without an answer, after which no more are sent."""


class ApiError(ClusterError):
    """An error answer of the API server."""

    def __init__(self, status: int, reason: str, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.status = status
        """The HTTP status code."""
        self.reason = reason
        """``reason`` of ``metav1.Status``: ``Forbidden``, ``Expired``; or ""."""


class TooLarge(ClusterError):
    """One answer exceeds ``Limits.largest``; a smaller page may not."""


class _Asked(Struct, frozen=True):
    """A request."""

    method: str
    path: str
    params: Mapping[str, str]
    accept: str = JSON
    body: bytes | None = None
    content_type: str = JSON


class _Answer(Struct, frozen=True):
    status: int
    headers: Mapping[str, str]
    body: bytes


class Client:
    """Use it as ``async with Client(access) as client``."""

    def __init__(
        self,
        access: Access,
        limits: Limits | None = None,
        jitter: Callable[[], float] = random.random,
        notice: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.access = access
        self.limits = limits or Limits()
        self._jitter = jitter
        self._notice = notice
        self._began: float | None = None
        self._spent = 0
        self._lost = 0
        self._http: httpx2.AsyncClient | None = None
        self._pair: Pair | None = None
        self._retired: list[httpx2.AsyncClient] = []

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with trio.CancelScope(shield=True), trio.move_on_after(2):
            for http in (*self._retired, *([self._http] if self._http else [])):
                await http.aclose()
        self._http = None

    async def get(
        self,
        path: str,
        params: Mapping[str, str] | None = None,
        *,
        accept: str = JSON,
        decode: Callable[[bytes], object] = decoded,
    ) -> object:
        """Return the parsed JSON answer of ``GET path``. ``decode`` raises as ``decoded`` does.

        Raises ``ApiError`` for an error answer, and ``ClusterError`` without an answer or if it is not JSON.
        """
        return self._parsed(await self._with_retries(_Asked("GET", path, params or {}, accept)), path, decode)

    async def send(
        self,
        method: str,
        path: str,
        body: bytes,
        params: Mapping[str, str] | None = None,
        *,
        accept: str = JSON,
        content_type: str = JSON,
    ) -> object:
        """Return the parsed answer to a request with a body, which may be sent more than once. Raises as ``get``
        does."""
        asked = _Asked(method, path, params or {}, accept, body, content_type)
        return self._parsed(await self._with_retries(asked), path, decoded, method)

    def _parsed(self, answer: _Answer, path: str, decode: Callable[[bytes], object], method: str = "GET") -> object:
        try:
            return decode(answer.body)
        except (ValueError, RecursionError) as error:
            raise self._failed(path, f"the answer is not JSON: {clean(str(error))}", method=method) from None

    @asynccontextmanager
    async def upgraded(
        self, path: str, params: Mapping[str, str], headers: Mapping[str, str]
    ) -> AsyncGenerator[httpx2.Response]:
        """The 101 answer to an upgrade, with its ``network_stream`` still open.

        Raises as ``get`` does. After a 401 it renews the credential, once; it retries nothing else.
        """
        asked, credential = _Asked("GET", path, params), await self.access.source.credential()
        response = await self._opened(asked, dict(headers), credential)
        if response.status_code == 401:
            await response.aclose()
            credential = await self.access.source.credential(renew=True)
            response = await self._opened(asked, dict(headers), credential)
        try:
            if response.status_code != 101:
                body = await self._bounded(path, response)
                raise refusal(self._answer(response, body, credential), path)
            yield response
        finally:
            with trio.CancelScope(shield=True), trio.move_on_after(2):
                await response.aclose()

    async def follow(
        self,
        path: str,
        params: Mapping[str, str],
        *,
        accept: str,
        began: Callable[[], None],
        use: Callable[[bytes], None],
    ) -> None:
        """Call ``use`` with each line of an answer that lasts, such as that of a watch, until the server ends it.
        ``began`` is called before. A line has at most ``limits.largest`` bytes.

        Raises as ``get`` does, and what ``use`` raises. After a 401 it renews the credential, once; it retries nothing
        else.
        """
        for renew in (False, True):
            credential = await self.access.source.credential(renew=renew)
            response = await self._opened(_Asked("GET", path, params, accept), {"Accept": accept}, credential)
            try:
                if response.status_code == 200:
                    began()
                    return await self._split(path, response, use)
                body = await self._bounded(path, response)
                if response.status_code != 401 or renew:
                    raise refusal(self._answer(response, body, credential), path)
            finally:
                with trio.CancelScope(shield=True), trio.move_on_after(2):
                    await response.aclose()
        return None

    async def _split(self, path: str, response: httpx2.Response, use: Callable[[bytes], None]) -> None:
        rest, failed = b"", list[ScannerError]()
        with trio.CancelScope() as scope:  # see ``_bounded``
            try:
                async for part in response.aiter_bytes():
                    *complete, rest = (rest + part).split(b"\n")
                    try:
                        for line in filter(None, complete if not failed else ()):
                            use(line)
                        if len(rest) > self.limits.largest:
                            raise TooLarge(f"{self.access.name}: GET {self.access.server}{path}: a line is too long")
                    except ScannerError as error:
                        failed.append(error)
                        rest = b""
                        scope.cancel()
            except httpx2.RequestError as error:
                raise self._unanswered(path, error) from None
        if failed:
            raise failed[0]

    async def _opened(self, asked: _Asked, headers: dict[str, str], credential: Credential) -> httpx2.Response:
        """Send a request, and return its answer with the body not yet read."""
        try:
            with trio.fail_after(self.limits.timeout):
                request = self._request(asked, headers, credential)
                return await self._client(credential).send(request, stream=True)
        except httpx2.RequestError as error:
            raise self._unanswered(asked.path, error) from None
        except (httpx2.InvalidURL, ValueError) as error:
            raise self._failed(asked.path, f"invalid request: {clean(str(error))}", "check the server's URL") from None
        except trio.TooSlowError:
            raise self._failed(asked.path, "no answer before the timeout") from None

    def spend(self, size: int, path: str) -> None:
        """Count ``size`` bytes of memory. Raises ``ClusterError`` if all answers exceed the limit."""
        self._spent += size
        if self._spent > self.limits.total:
            raise self._failed(
                path,
                f"the answers take more than {self.limits.total >> 20} MiB, 60 % of the available memory",
                "give the scanner more memory, or exclude namespaces",
            )

    def _within_bounds(self, path: str, method: str) -> None:
        """Raise ``ClusterError`` if no more requests may be sent."""
        now = trio.current_time()
        self._began = now if self._began is None else self._began
        if now - self._began > self.limits.overall:
            what = f"not requested: all requests have taken more than {self.limits.overall:g} s"
            raise self._failed(path, what, method=method)
        if self._lost >= self.limits.lost:
            raise self._failed(
                path,
                f"not requested: the last {self._lost} requests had no answer",
                "check that the API server is up and reachable",
                method,
            )

    async def _with_retries(self, asked: _Asked) -> _Answer:
        renewed, path, method = False, asked.path, asked.method
        for attempt in range(1, self.limits.tries + 1):
            self._within_bounds(path, method)
            last = attempt == self.limits.tries
            credential = await self.access.source.credential()
            lost = self._lost
            try:
                answer = await self._once(asked, credential)
                if answer.status == 401 and not renewed:
                    renewed = True
                    credential = await self.access.source.credential(renew=True)
                    answer = await self._once(asked, credential)
            except httpx2.RequestError as error:
                self._lost += self._lost == lost  # requests that fail at the same time count once
                failed = self._unanswered(path, error, method)
                if last or _is_permanent(error):
                    raise failed from None
                self._notice(f"{failed.message}; retrying ({attempt} of {self.limits.tries})")
                await self._wait(attempt, None)
                continue
            except (httpx2.InvalidURL, ValueError) as error:  # ValueError: from Python's name resolution
                what = f"invalid request: {clean(str(error))}"
                raise self._failed(path, what, "check the server's URL", method) from None
            if answer.status == 200 or (asked.body is not None and answer.status in (201, 202)):
                return answer
            if last or answer.status not in _RETRIED:
                raise refusal(answer, path, method)
            await self._wait(attempt, answer.headers.get("retry-after"))
        raise AssertionError("unreachable: the last try returns or raises")

    async def _once(self, asked: _Asked, credential: Credential) -> _Answer:
        headers = {"Accept": asked.accept} | ({"Content-Type": asked.content_type} if asked.body is not None else {})
        request = self._request(asked, headers, credential)
        try:
            with trio.fail_after(self.limits.timeout):
                response = await self._client(credential).send(request, stream=True)
                try:
                    content = await self._bounded(asked.path, response)
                finally:
                    with trio.CancelScope(shield=True), trio.move_on_after(1):
                        await response.aclose()
        except trio.TooSlowError:
            raise httpx2.ReadTimeout("no complete answer before the timeout") from None
        self._lost = 0
        return self._answer(response, content, credential)

    def _answer(self, response: httpx2.Response, body: bytes, credential: Credential) -> _Answer:
        # Only errors: in objects, a password may be an ordinary word.
        of_proxy = _of_proxy(self.access.proxy) if response.status_code >= 400 else ()
        return _Answer(response.status_code, response.headers, redacted(body, credential.token, *of_proxy))

    async def _bounded(self, path: str, response: httpx2.Response) -> bytes:
        parts, size = [], 0
        # Cancelled inside, the HTTP client's generators end; left in the middle, they would stay open.
        with trio.CancelScope() as scope:
            async for part in response.aiter_bytes():
                size += len(part)
                if size > self.limits.largest:
                    scope.cancel()
                else:
                    parts.append(part)
        if size > self.limits.largest:
            raise TooLarge(
                f"{self.access.name}: GET {self.access.server}{path}: the answer is larger than "
                f"{self.limits.largest >> 20} MiB"
            )
        self.spend(size, path)
        return b"".join(parts)

    def _request(self, asked: _Asked, headers: dict[str, str], credential: Credential) -> httpx2.Request:
        pairs = [("User-Agent", _USER_AGENT), *headers.items(), *credential.headers]
        if credential.token:
            pairs.append(("Authorization", f"Bearer {credential.token}"))
        extensions: dict[str, object] = {"trace": _closing()}
        if self.access.trust.server_name:
            extensions["sni_hostname"] = self.access.trust.server_name
        client = self._client(credential)
        return client.build_request(
            asked.method,
            self.access.server + asked.path,
            params=asked.params,
            content=asked.body,
            headers=[(name.encode("ascii"), value.encode("utf-8", "replace")) for name, value in pairs],
            extensions=extensions,
        )

    def _client(self, credential: Credential) -> httpx2.AsyncClient:
        """The connections; new ones if the client certificate changes."""
        if self._http is None or credential.pair != self._pair:
            if self._http is not None:
                self._retired.append(self._http)  # requests in progress still use it
            self._pair = credential.pair
            self._http = httpx2.AsyncClient(
                verify=ssl_context(self.access, credential.pair),
                proxy=self.access.proxy,
                trust_env=False,  # no netrc, no other proxies
                follow_redirects=False,
                timeout=httpx2.Timeout(self.limits.timeout, connect=self.limits.connect),
            )
        return self._http

    async def _wait(self, attempt: int, asked: str | None) -> None:
        """Wait for Retry-After (seconds; API servers send no date), else twice the last wait, with jitter."""
        seconds = float(asked) if asked and asked.isdecimal() and len(asked) < 6 else None
        if seconds is None:
            seconds = self.limits.backoff * 2 ** (attempt - 1) * (0.5 + self._jitter())
        await trio.sleep(min(seconds, self.limits.longest))

    def _failed(self, path: str, what: str, hint: str = "", method: str = "GET") -> ClusterError:
        return ClusterError(f"{self.access.name}: {method} {self.access.server}{path}: {what}", hint=hint)

    def _unanswered(self, path: str, error: httpx2.RequestError, method: str = "GET") -> ClusterError:
        what, hint = _explained(error)
        what = redacted(what.encode(), *_of_proxy(self.access.proxy)).decode()
        if self.access.proxy:
            what += " (through a proxy)"
        return self._failed(path, what, hint, method)


def _closing() -> Callable[[str, Mapping[str, Any]], Awaitable[None]]:
    """Close the connection of one request if it is cancelled during the TLS handshake, since the HTTP client leaves its
    socket to the garbage collector. Called with events of the request (httpcore, "Request Extensions", ``trace``)."""
    connected = list[trio.abc.AsyncResource]()

    async def event(name: str, details: Mapping[str, Any]) -> None:
        if name.endswith("connect_tcp.complete"):
            connected.append(details["return_value"])
        elif name.endswith("start_tls.failed"):
            with trio.CancelScope(shield=True):
                for stream in connected:
                    await stream.aclose()

    return event


def redacted(body: bytes, *secrets: str | None) -> bytes:
    """``body`` without our own secrets, also as URLs and JSON encode them: proxies and debug servers return them in
    errors."""
    for secret in filter(None, secrets):
        in_json = json.dumps(secret)[1:-1]
        escaped = in_json.translate({ord(char): f"\\u{ord(char):04x}" for char in "<>&"})  # as Go's encoding/json
        in_url = (quote(secret), quote(secret, safe=""))
        forms = {
            secret,
            in_json,
            escaped,
            *in_url,
            *(re.sub("%..", lambda one: one[0].lower(), each) for each in in_url),
        }
        for form in forms:
            body = body.replace(form.encode(), b"(credential)")
    return body


def _of_proxy(proxy: str | None) -> tuple[str, ...]:
    """The proxy's credential: as in its header, and in clear."""
    url = urlsplit(proxy or "")
    user, password = unquote(url.username or ""), unquote(url.password or "")
    both = f"{user}:{password}"
    return (b64encode(both.encode()).decode(), both, password) if password else ()


def clean(text: str, limit: int = _MOST_TEXT) -> str:
    """A text of a server as one printable line of bounded length."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text[: 4 * limit]).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def refusal(answer: _Answer, path: str, method: str = "GET") -> ApiError:
    """The exception for an error answer, from its ``metav1.Status`` if it is one."""
    try:
        document = json.loads(answer.body)
    except (ValueError, RecursionError):
        document = None
    status = Fields(document if isinstance(document, dict) else {})
    detail = status.text("message") or answer.body[: 4 * _MOST_TEXT].decode("utf-8", "replace")
    text = f"{method} {path}: {answer.status} {clean(status.text('reason'), 60)}".rstrip()
    return ApiError(
        answer.status,
        clean(status.text("reason"), 60),
        f"{text}: {clean(detail)}" if detail.strip() else text,
        hint=_HINTS.get(answer.status, ""),
    )


_HINTS = {
    401: "the API server does not accept this credential: check that it has not expired and that kubectl works with it",
    403: "adhere rbac prints the role that a scan needs",
    404: "check that the server's URL is that of a Kubernetes API",
}


def _cause(error: BaseException) -> ssl.SSLError | None:
    """The TLS error below; the HTTP client wraps it twice."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, ssl.SSLError):
            return seen
        seen = seen.__cause__ or seen.__context__
    return None


def _is_permanent(error: httpx2.RequestError) -> bool:
    """True if a retry would fail in the same way."""
    return isinstance(error, httpx2.ProxyError | httpx2.UnsupportedProtocol) or isinstance(
        _cause(error), ssl.SSLCertVerificationError
    )


def _explained(error: httpx2.RequestError) -> tuple[str, str]:
    cause = _cause(error)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return (
            f"the API server's certificate is not accepted: {clean(cause.verify_message)}",
            "set certificate-authority(-data) to its CA, or tls-server-name to its name",
        )
    if cause is not None:
        return f"no TLS connection: {clean(str(cause.reason or cause))}", "check that it is the API server's port"
    if isinstance(error, httpx2.TimeoutException):
        return "no answer before the timeout", "check that the API server is reachable"
    return f"no answer: {clean(str(error)) or type(error).__name__}", "check that the API server is reachable"
