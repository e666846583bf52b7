"""Remediation of a finding: the command that reproduces it, and the setting to change."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from scanner.kube.hostnames import request_path
from scanner.model.endpoint import Endpoint, host_port
from scanner.model.expectation import Because, Expectation, Lever
from scanner.model.observation import ALPN, OTHER_EXTENSIONS, WITH_ALPN, Attempt, HttpVersion
from scanner.tls import names
from scanner.tls.codepoints import TLS10, TLS11, TLS12, TLS13
from scanner.values import replace

VERSION_ARGUMENTS = {TLS10: "1.0", TLS11: "1.1", TLS12: "1.2", TLS13: "1.3"}
"""Short spellings of ``adhere ask --version``; other versions are spelled with their names."""

_CURL: Mapping[HttpVersion, str] = {"http/1.1": "http1.1", "h2": "http2"}
_PLAIN = re.compile(r"[\w@%+=:,./#-]+", re.ASCII)


def target(endpoint: Endpoint) -> str:
    """The endpoint as a command-line argument, quoted for a shell: ``tls://192.0.2.1:443#a.example``."""
    name = f"#{endpoint.server_name}" if endpoint.server_name else ""
    text = f"{endpoint.transport}://{host_port(endpoint.address, endpoint.port)}{name}"
    return _quoted([text])


def ask(
    endpoint: Endpoint,
    version: int | None = None,
    *,
    suites: Sequence[int] = (),
    groups: Iterable[int] = (),
    attempts: Iterable[Attempt] = (),
) -> str:
    """The ``adhere ask`` command that sends one ClientHello with exactly this, and with the extensions of the
    ``attempts`` in which the version, or one of the suites, was accepted."""
    words = ["adhere ask", target(endpoint)]
    if version is not None:
        words += ["--version", VERSION_ARGUMENTS.get(version) or names.version_name(version)]
    if chosen := [names.suite_name(code) for code in suites]:
        words += ["--suites", ",".join(chosen)]
    if chosen := [names.group_name(code) for code in groups]:
        words += ["--groups", ",".join(chosen)]
    return " ".join((*words, *_extensions(version, suites, attempts)))


def _extensions(version: int | None, suites: Sequence[int], attempts: Iterable[Attempt]) -> Iterator[str]:
    """Options for extensions without which nothing of it was accepted."""
    begun = names.version_name(version or 0)
    accepted = [f"{begun} {names.suite_name(code)}" for code in suites] or [begun]
    offers = [each.offer for each in attempts if f"{each.reply} ".startswith(tuple(f"{one} " for one in accepted))]
    if offers and all(OTHER_EXTENSIONS in each for each in offers):
        yield "--extensions other"
    if offers and all(WITH_ALPN in each for each in offers):
        yield f"--alpn {','.join(ALPN)}"


def scan(endpoint: Endpoint) -> str:
    """The ``adhere scan`` command, for results of a full handshake: the chain and client certificates."""
    return f"adhere scan {target(endpoint)}"


def scan_as(endpoint: Endpoint, names: Iterable[str | None]) -> str:
    """The ``adhere scan`` command for other server names; None is no server name."""
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
    words.append(f"{'https' if port is None else 'http'}://{name or where}:{number}{request_path(path)}")
    return _quoted(words)


def with_untrusted_certificate(endpoint: Endpoint) -> str:
    """The ``openssl`` commands that connect with a self-signed client certificate."""
    files = ("untrusted.key", "untrusted.pem")
    create = f"openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=untrusted -keyout {files[0]} -out {files[1]}"
    words = ["openssl", "s_client", "-connect", host_port(endpoint.address, endpoint.port)]
    words += ["-servername", endpoint.server_name] if endpoint.server_name else ["-noservername"]
    return f"{create} && {_quoted([*words, '-key', files[0], '-cert', files[1]])}"


def _quoted(words: Iterable[str]) -> str:
    return " ".join(word if _PLAIN.fullmatch(word) else shlex.quote(word) for word in words)


def bug(endpoint: Endpoint) -> str:
    """The command that writes a bug report. ``DIR`` is the directory of ``adhere scan --save``."""
    return f"adhere explain {shlex.quote(endpoint.id)} --bug --results DIR"


def minimum(endpoint: Endpoint, expectation: Expectation, least: int) -> str:
    """The fix for accepted versions below ``least``."""
    lever = expectation.lever
    set_ = f"set the minimum version to {names.version_name(least)}"
    if lever is not None and lever.minimum:
        set_ = f"set {_assigned(lever.minimum, _VERSIONS[lever.spelling].get(least, names.version_name(least)))}"
    return _set(endpoint, expectation, set_)


def suites(endpoint: Endpoint, expectation: Expectation, allowed: Iterable[int]) -> str:
    """The fix for accepted suites outside ``allowed``; for flags with the value to paste."""
    lever, set_ = expectation.lever, "allow only the expected suites"
    older = [names.suite_name(code) for code in allowed if not names.is_tls13(code)]
    if lever is not None and lever.suites and older:
        set_ = f"set {_assigned(lever.suites, ','.join(older))}"
    elif lever is not None and lever.minimum:  # only TLS 1.3, whose suites cannot be configured in Go
        return minimum(endpoint, expectation, TLS13)
    return _set(endpoint, expectation, set_)


def groups(endpoint: Endpoint, expectation: Expectation, allowed: Iterable[int]) -> str:
    """The fix for accepted groups outside ``allowed``; for flags with the value to paste.

    ``k8s.io/apiserver`` (``SecureServingOptions``) and ``KubeletConfiguration`` have a setting since 0.36, with Go's
    numbers (kubernetes/kubernetes pull request 137115). etcd's flags (3.6) have none.
    """
    stated = expectation.stated_groups
    if stated is not None and not stated.unknown and set(stated.codes) <= set(allowed := tuple(allowed)):
        return f"{stated.setting} allows only the expected groups already: restart the process if it is older"
    lever, set_ = expectation.lever, "allow only the expected groups"
    if lever is None or not lever.minimum or lever.spelling == "openssl":
        return _set(endpoint, expectation, set_)
    if lever.spelling == "etcd":
        return f"{lever.where} has no setting for groups: the Go release of its build decides"
    codes = ",".join(map(str, allowed))
    set_ = f"tlsCurvePreferences: [{codes}]"
    if lever.minimum.startswith("--"):
        set_ = f"--tls-curve-preferences={codes}"
    since = "Kubernetes 1.36 or later; earlier releases have no setting for groups"
    return f"set {set_} {_place(lever)} ({since})"


def post_quantum(endpoint: Endpoint, expectation: Expectation) -> str:
    """The fix for a listener without a post-quantum group, which the scan's policy requires."""
    lever, what = expectation.lever, "enable TLS 1.3 and the group X25519MLKEM768"
    if (stated := expectation.stated_groups) and _ML_KEM in stated.codes:
        return f"{stated.setting} has it already: restart the process if it is older"
    if stated:
        return f"{what}: add {_ML_KEM} to {stated.setting}"
    if lever is not None and lever.minimum.startswith("--") and lever.spelling not in ("openssl", "etcd"):
        return f"{what}: set --tls-curve-preferences=4588,29,23 {_place(lever)} (Kubernetes 1.36 or later)"
    return in_the_listener(endpoint, what) + " (Go 1.24, OpenSSL 3.5 or a later release)"


_ML_KEM = 0x11EC


def client_certificate(endpoint: Endpoint, expectation: Expectation, expected: str) -> str:
    """The fix for a client certificate that is not requested or required as expected."""
    lever, by = expectation.lever, expectation.client_source
    if lever is not None and lever.field and lever.applied_by:
        return _not_followed(endpoint, lever, by)
    if lever is not None and lever.minimum.startswith("--") and (setting := _CLIENTS.get(lever.spelling)):
        return f"set {setting} {_place(lever)}: {by} expects that a client certificate is {expected}"
    return in_the_listener(endpoint, f"set the client certificate to {expected}", by)


_CLIENTS: Mapping[str, str] = {"etcd": "--client-cert-auth=true", "component-base": "--client-ca-file"}
"""Flags that make a process ask its clients for a certificate."""


def in_the_listener(endpoint: Endpoint, what: str, by: str = "") -> str:
    """The fix for a setting in the listener's own configuration; ``by`` is the object that requires it."""
    return f"{what} in {_configuration(endpoint)}" + (f": {by} requires it" if by else "")


def required_by(expectation: Expectation) -> str:
    """The object or file, and the field, that requires the profile; empty for a profile of the command line."""
    step = _deciding(expectation)
    if step is None or step.source.startswith("--"):
        return ""
    return f"{step.source} {step.field}".rstrip()


def _deciding(expectation: Expectation) -> Because | None:
    return next((step for step in reversed(expectation.because) if step.decides), None)


_VERSIONS: Mapping[str, Mapping[int, str]] = {
    "openssl": {},
    "component-base": {version: f"VersionTLS{short.replace('.', '')}" for version, short in VERSION_ARGUMENTS.items()},
    "etcd": {version: f"TLS{short}" for version, short in VERSION_ARGUMENTS.items()},
}
"""Version names in each spelling of a ``Lever``."""


def _assigned(setting: str, value: str) -> str:
    return f"{setting}={value}" if setting.startswith("--") else f"{setting}: {value}"


def _set(endpoint: Endpoint, expectation: Expectation, what: str) -> str:
    """Add where to set ``what``: the flags or the field that the listener reads, or its operator."""
    lever, by = expectation.lever, required_by(expectation)
    if lever is None:
        return _of_product(f"{what} in {_configuration(endpoint)}{_reason(expectation, by)}", expectation)
    if not lever.field:
        note = f"; the current value is {lever.told}" if lever.told else "; if it is already set, restart the process"
        return f"{what} {_place(lever)}{note}{_reason(expectation, by)}"
    if expectation.binding == "not-enforced" and expectation.standing == "platform":
        strict = "; spec.tlsAdherence: StrictAllComponents would enforce it" if expectation.adherence else ""
        return f"{lever.where} {lever.field} is not enforced for this component{strict}"
    decided = _deciding(expectation)
    if decided is not None and decided.source not in (lever.where, *lever.others):
        others = f", or in {', '.join(lever.others)}" if lever.others else ""
        return f"{what} in {lever.field} of {lever.where}{others}{_reason(expectation, by)}"
    return _not_followed(endpoint, lever, by)


def _reason(expectation: Expectation, by: str) -> str:
    """The end of a fix: the object that requires the profile, or that it is not enforced here."""
    if not by:
        return ""
    return f"; {by} {'is not enforced here' if expectation.binding == 'not-enforced' else 'requires it'}"


def _not_followed(endpoint: Endpoint, lever: Lever, by: str) -> str:
    """The fix if the object already requires it: the component's operator is stuck, or has a bug."""
    if not lever.applied_by:
        return f"{by or lever.where} requires it already: check in its status that its controller applied it"
    doctor = f"adhere doctor {shlex.quote(lever.applied_by)}"
    return (
        f"{by or lever.where} requires it already: run '{doctor}', which follows the profile from there to the process;"
        f" if it finds no fault, report a bug in the component ({bug(endpoint)})"
    )


def _of_product(text: str, expectation: Expectation) -> str:
    if expectation.standing != "layered":
        return text
    return f"{text}; if the product has no such setting, add an override with its justification to the --policy file"


def _place(lever: Lever) -> str:
    """The place of flags and files: container, object, files of the node, and other objects with a copy."""
    place = f"for container {lever.container} of {lever.where}" if lever.container else f"for {lever.where}"
    files = f" ({', '.join(lever.files)} on its node)" if lever.files else ""
    return f"{place}{files}" + (f", and in {', '.join(lever.others)}" if lever.others else "")


def _configuration(endpoint: Endpoint) -> str:
    """The name of the listener's own configuration, with its owner."""
    owner = endpoint.owner
    if owner.kind in ("Target", ""):
        return "the listener's own configuration"
    return f"the configuration of {'/'.join(filter(None, (owner.kind, owner.namespace, owner.name)))}"
