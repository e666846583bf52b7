"""``adhere scan --push``: send the metrics of a scan to a Prometheus Pushgateway."""

from __future__ import annotations

import base64
from contextlib import suppress
from functools import partial
from http.client import HTTPException
from io import StringIO
from ssl import SSLCertVerificationError
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import SplitResult, quote, unquote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

import trio

from scanner import metrics
from scanner.errors import ResourceError, UsageError
from scanner.model.report import Report
from scanner.report.escape import plain

_WITHIN = 60.0
"""Seconds for the whole request."""
_GROUP = "/metrics/job/"
"""Part of the path of a group (Pushgateway, "API")."""


def parse_gateway(value: str, *, is_visible: bool) -> str:
    """Check the URL of ``--push``. ``is_visible``: it is on the command line, which other processes and the report
    show. Raises ``UsageError``; its message never has the password."""
    hint = "write http://HOST:9091 or https://HOST, or the complete URL of a group: http://HOST:9091/metrics/job/NAME"
    wrong = UsageError("--push is not the URL of a Pushgateway", hint=hint)
    try:
        parts = urlsplit(value)
        known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        raise wrong from None
    if not known or parts.query or parts.fragment or not value.isascii() or not value.isprintable() or " " in value:
        raise wrong
    if parts.username is not None and is_visible:
        raise UsageError(
            "--push has a user name or password on the command line",
            hint="set the URL in the environment: ADHERE_SCAN_PUSH, or ADHERE_MERGE_PUSH",
        )
    return value


async def push(report: Report, gateway: str) -> None:
    """Replace the group of this scan. Raises ``ResourceError``."""
    body = StringIO()
    metrics.write(report, body)
    parts = urlsplit(gateway)
    url = _url(parts, report)
    with trio.move_on_after(_WITHIN):
        return await trio.to_thread.run_sync(
            partial(_put, url, body.getvalue().encode(), parts), abandon_on_cancel=True
        )
    raise _error(url, f"no answer within {_WITHIN:g} s", "check the address, and the load of the Pushgateway")


def _url(parts: SplitResult, report: Report) -> str:
    """Return the URL of the group, without user name and password: the job ``adhere``, and the name of the cluster."""
    path = parts.path.rstrip("/")
    if _GROUP not in f"{path}/":
        path += f"{_GROUP}adhere"
        name = (report.cluster or {}).get("name")
        if isinstance(name, str) and name:
            named = base64.urlsafe_b64encode(metrics.label(name).encode()).decode().rstrip("=")
            path += f"/cluster@base64/{named}"
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{quote(path, safe='/@:%+~=')}"


class _NoRedirect(HTTPRedirectHandler):
    """A redirect could send the metrics, and the password, to another host."""

    def redirect_request(self, *_: Any) -> None:  # noqa: ANN401 - the base class's
        """Return no request: the answer is an error."""


def _put(url: str, body: bytes, parts: SplitResult) -> None:
    request = Request(url, data=body, method="PUT", headers={"Content-Type": "text/plain; version=0.0.4"})  # noqa: S310 - http or https
    if parts.username is not None:
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        request.add_header("Authorization", f"Basic {base64.b64encode(login.encode()).decode()}")
    try:
        with build_opener(_NoRedirect).open(request, timeout=_WITHIN / 2):
            return
    except HTTPError as error:
        said = ""
        with error, suppress(OSError, HTTPException):  # the answer may be cut off
            said = error.read(1000).decode("utf-8", "replace").strip()
        hint = {401: "set a user name and password in the URL, in the environment", 404: "is it a Pushgateway?"}
        text = f"HTTP {error.code}{f': {said}' if said else ''}"
        raise _error(url, text, hint.get(error.code, "read the log of the Pushgateway")) from error
    except (OSError, HTTPException, ValueError) as error:  # ValueError: a name that cannot be resolved
        reason = error.reason if isinstance(error, URLError) else error
        trust = isinstance(reason, SSLCertVerificationError)
        hint_ = "set SSL_CERT_FILE to the CA of the Pushgateway" if trust else "check that the address is reachable"
        raise _error(url, str(reason) or type(reason).__name__, hint_) from error


def _error(url: str, reason: str, hint: str) -> ResourceError:
    return ResourceError(f"cannot push the metrics to {plain(url, 300)}: {plain(reason, 300)}", hint=hint)
