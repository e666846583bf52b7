"""Options of watches and port-forwards, from the query: what they mean, and how they are refused."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

from scanner.demo.api.messages import Request, Watch
from scanner.demo.api.selectors import Test
from scanner.demo.api.status import Failure, bad_request
from scanner.demo.api.store import Resource

_LONGEST_WATCH = 1800.0


def watch(resource: Resource, version: str, test: Test, query: dict[str, str]) -> Watch:
    """What a watch asks for. Raises ``Failure``."""
    since = query.get("resourceVersion", "")
    seconds = query.get("timeoutSeconds", "")
    if not ((seconds.isascii() and seconds.isdigit()) or not seconds):
        raise bad_request(f'strconv.ParseInt: parsing "{seconds}": invalid syntax')
    if not ((since.isascii() and since.isdigit()) or not since):
        message = f'resourceVersion: Invalid value: "{since}": strconv.ParseUint: parsing "{since}": invalid syntax'
        raise Failure(code=500, reason="", message=message)
    revision = int(since or "0")
    wanted = float(int(seconds or "0")) or _LONGEST_WATCH
    return Watch(
        resource=resource,
        version=version,
        test=test,
        since=revision or None,
        seconds=min(wanted, _LONGEST_WATCH),
    )


def ports(request: Request) -> tuple[int, ...]:
    """The ports of a port-forward. Raises ``Failure``, in kubelet's own words (``pkg/cri/streaming/portforward``): it
    sees ``ports`` under the name port."""
    text = ",".join(value for name, value in parse_qsl(urlsplit(request.target).query) if name == "ports")
    if not text:
        raise bad_request('query parameter "port" is required')
    found = []
    for each in text.split(","):
        if not (each.isascii() and each.isdigit() and int(each) < 65536):
            raise bad_request(f'unable to parse "{text}" as a port: strconv.ParseUint: parsing "{each}"')
        if int(each) == 0:
            raise bad_request(f'port "{text}" must be > 0')
        found.append(int(each))
    return tuple(found)


def is_true(text: str | None) -> bool:
    """As Go reads a bool (strconv.ParseBool)."""
    return text in {"true", "1", "True", "t", "T", "TRUE"}
