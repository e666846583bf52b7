"""What a failing finding tells its reader to do: the command that shows it again, and what to change."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import replace

from scanner.model.endpoint import Endpoint, host_port
from scanner.model.expectation import Expectation
from scanner.model.names import asked_path
from scanner.model.observation import HttpVersion
from scanner.tls import names
from scanner.tls.codepoints import TLS10, TLS11, TLS12, TLS13

VERSION_ARGUMENTS = {TLS10: "1.0", TLS11: "1.1", TLS12: "1.2", TLS13: "1.3"}
"""How ``adhere ask --version`` spells a version in short; the others go by their names."""

_CURL: Mapping[HttpVersion, str] = {"http/1.1": "http1.1", "h2": "http2"}
_OBJECT = re.compile(r"[A-Z][A-Za-z0-9]*/\S+")
_PLAIN = re.compile(r"[\w@%+=:,./#-]+", re.ASCII)


def target(endpoint: Endpoint) -> str:
    """The endpoint as a command-line argument, quoted for a shell: ``tls://192.0.2.1:443#a.example``."""
    name = f"#{endpoint.server_name}" if endpoint.server_name else ""
    text = f"{endpoint.transport}://{host_port(endpoint.address, endpoint.port)}{name}"
    return _quoted([text])


def ask(
    endpoint: Endpoint, version: int | None = None, *, suites: Iterable[int] = (), groups: Iterable[int] = ()
) -> str:
    """The ``adhere ask`` command that sends one ClientHello with exactly this."""
    words = ["adhere ask", target(endpoint)]
    if version is not None:
        words += ["--version", VERSION_ARGUMENTS.get(version) or names.version_name(version)]
    if chosen := [names.suite_name(code) for code in suites]:
        words += ["--suites", ",".join(chosen)]
    if chosen := [names.group_name(code) for code in groups]:
        words += ["--groups", ",".join(chosen)]
    return " ".join(words)


def scan(endpoint: Endpoint) -> str:
    """The ``adhere scan`` command for what only a full handshake shows: the chain, and who must show a certificate."""
    return f"adhere scan {target(endpoint)}"


def scan_as(endpoint: Endpoint, names: Iterable[str | None]) -> str:
    """The same under other server names, or none."""
    targets = (target(replace(endpoint, server_name=name)) for name in dict.fromkeys(names))
    return " ".join(("adhere scan", *targets))


def head(
    endpoint: Endpoint, authority: str, *, port: int | None = None, path: str = "/", http: HttpVersion = "http/1.1"
) -> str:
    """The ``curl`` command for one HEAD request for ``authority`` on a connection for the endpoint's name; with
    ``port`` to that one of its address, without TLS."""
    where = endpoint.address if ":" not in endpoint.address else f"[{endpoint.address}]"
    name, number = endpoint.server_name, port or endpoint.port
    words = ["curl", "-gskI" if port is None else "-gsI", f"--{_CURL[http]}"]
    if name:
        words += ["--resolve", f"{name}:{number}:{where}"]
    if authority != name:
        words += ["-H", f"Host: {authority}"]
    words.append(f"{'https' if port is None else 'http'}://{name or where}:{number}{asked_path(path)}")
    return _quoted(words)


def as_a_stranger(endpoint: Endpoint) -> str:
    """The ``openssl`` commands that show a client certificate that nobody has signed but itself."""
    files = ("nobody.key", "nobody.pem")
    made = f"openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=nobody -keyout {files[0]} -out {files[1]}"
    words = ["openssl", "s_client", "-connect", host_port(endpoint.address, endpoint.port)]
    words += ["-servername", endpoint.server_name] if endpoint.server_name else ["-noservername"]
    return f"{made} && {_quoted([*words, '-key', files[0], '-cert', files[1]])}"


def _quoted(words: Iterable[str]) -> str:
    return " ".join(word if _PLAIN.fullmatch(word) else shlex.quote(word) for word in words)


def bug(endpoint: Endpoint) -> str:
    """The command that prints a report to file. ``DIR`` is what ``adhere scan --save`` was given."""
    return f"adhere explain {shlex.quote(endpoint.id)} --bug --results DIR"


def in_the_listener(endpoint: Endpoint, expectation: Expectation, what: str) -> str:
    """``what`` is to be set where the listener is configured; names the object that asks for it, if one does.

    Where every component has to follow the cluster's profile, one of the platform's that does not has a bug: nobody
    can set anything in its configuration (enhancement "Cluster-wide TLS Security Profile", TLS Adherence Modes).
    """
    asked = _asks(expectation)
    if expectation.standing == "platform" and expectation.adherence == "StrictAllComponents" and asked:
        return f"{asked} asks for it, and a component that does not follow has a bug: report it ({bug(endpoint)})"
    text = f"{what} in the listener's own configuration"
    return f"{text}: {asked} asks for it" if asked else text


def _asks(expectation: Expectation) -> str:
    """The object and field of the step that decided; of the first one that names an object where none is marked."""
    objects = [step for step in expectation.because if _OBJECT.fullmatch(step.source)]
    decisive = [step for step in objects if step.decides][-1:] or objects[:1]
    return "".join(f"{step.source} {step.field}" for step in decisive)
