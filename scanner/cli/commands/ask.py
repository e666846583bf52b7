"""``adhere ask``: send one ClientHello and print the answer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import click

from scanner.cli.shared_options import SECONDS
from scanner.cli.streams import say, show
from scanner.cli.targets import parse_server_name, parse_target
from scanner.cli.trio_run import run_trio
from scanner.errors import UsageError
from scanner.model.endpoint import Target
from scanner.model.report import EXIT_FINDINGS, EXIT_INCOMPLETE, EXIT_OK
from scanner.probe import candidates, dial
from scanner.probe.dial import Where
from scanner.probe.exchange import Peer, exchange
from scanner.probe.offers import Offer, Reply, Shape
from scanner.probe.session import in_other_shape
from scanner.report.escape import plain
from scanner.tls.codepoints import SSL2, SSL3, TLS12, TLS13
from scanner.tls.extensions import ALPN_LENGTH, push_alpn
from scanner.tls.names import (
    alert_name,
    group_code,
    group_label,
    is_tls13,
    suite_code,
    suite_label,
    version_code,
    version_name,
)

VERSIONS = "1.3, 1.2, 1.1, 1.0, SSLv3 or SSLv2"

_HINTS = {"--version": VERSIONS}


@click.command()
@click.argument("target", metavar="TARGET")
@click.option("--version", "version", metavar="V", help=f"{VERSIONS}.  [default: that of --suites, else 1.3]")
@click.option(
    "--suites", metavar="A,B", help="Cipher suites to offer, in this order: IANA or OpenSSL names, or 0x1301."
)
@click.option("--groups", metavar="A,B", help="Groups to offer, in this order.")
@click.option(
    "--extensions",
    type=click.Choice(("usual", "other")),
    default="usual",
    show_default=True,
    help="Extensions up to TLS 1.2 that decide about suites: of OpenSSL, or of Go and others.",
)
@click.option("--alpn", metavar="A,B", help="Protocols of ALPN to offer, in this order, such as h2,http/1.1.")
@click.option("--sni", metavar="NAME", help="Server name to send; '' for none.")
@click.option("--timeout", type=SECONDS, default=5.0, show_default=True, metavar="S", help="Time limit of the command.")
def ask(
    target: str,
    version: str | None,
    suites: str | None,
    groups: str | None,
    extensions: Shape,
    alpn: str | None,
    sni: str | None,
    timeout: float,
) -> int:
    """Send one ClientHello to TARGET and print the answer.

    It offers TLS 1.3 only, or the older version of --version as the highest one, with all suites and groups of that
    version that adhere knows. The handshake is not completed; nothing is sent after the ClientHello.

    Exit codes: 0 the listener selected from the offer · 1 it refused · 3 inconclusive, such as no answer.
    """
    asked = parse_target(target, "argument 1")
    name = asked.server_name if sni is None else parse_server_name(sni, "--sni") if sni else None
    offer = offer_of(version, suites, groups, alpn)
    offer = in_other_shape(offer, offer.alpn) if extensions == "other" else offer
    try:
        address = run_trio(partial(_first_address, asked))
    except dial.NotResolved as missing:
        say(f"adhere: {plain(asked.host, 80)}: {missing}")
        return EXIT_INCOMPLETE
    peer = Peer(
        where=Where(address=address, port=asked.port, timeout=timeout),
        server_name=name,
        transport=asked.transport,
        host=asked.host,
    )
    reply = run_trio(partial(exchange, peer, offer))
    show("\n".join(map(plain, describe(reply))))
    return exit_code_of(reply)


def offer_of(version: str | None, suites: str | None, groups: str | None, alpn: str | None = None) -> Offer:
    """Return the offer for the options. Raises ``UsageError`` for an unknown name, or one that cannot be sent."""
    chosen = _codes("--suites", suites, suite_code)
    offered = _code("--version", version, version_code) if version else _version_for(chosen)
    listed = _codes("--groups", groups, group_code)
    if offered == SSL2 and (chosen or listed):
        raise UsageError("SSLv2 has its own cipher suites and no groups", hint="remove --suites and --groups")
    protocols = tuple(name.strip() for name in alpn.split(",")) if alpn is not None else ()
    if protocols and offered <= SSL3:
        raise UsageError(f"{version_name(offered)} has no ALPN", hint="remove --alpn")
    try:
        _ = push_alpn(protocols) if protocols else None
    except ValueError:
        wanted = f"names of 1 to {ALPN_LENGTH} ASCII characters are needed"
        raise UsageError(f"--alpn: {wanted}", hint="use h2,http/1.1") from None
    return Offer(
        f"{version_name(offered)} asked for",
        offered,
        chosen or candidates.suites(offered),
        listed or candidates.groups(offered),
        alpn=protocols,
    )


def describe(reply: Reply) -> list[str]:
    """Describe the reply, a line for each fact."""
    if reply.ending == "alert" and reply.alert is not None:
        return [f"refused: alert {reply.alert} {alert_name(reply.alert)}"]
    if reply.ending != "hello":
        return [f"no answer to the offer: {reply.ending} {reply.text}".rstrip()]
    lines = [f"version  {version_name(reply.version or 0)}"]
    lines += [f"suite    {suite_label(reply.suite)}"] if reply.suite is not None else []
    lines += [f"group    {group_label(reply.group)}"] if reply.group is not None else []
    if reply.certificate_requested is not None:
        lines.append(f"client certificate  {'requested' if reply.certificate_requested else 'not requested'}")
    lines.append("accepted" if reply.accepted else "selected, but the server did not continue: this proves nothing")
    return lines


def exit_code_of(reply: Reply) -> int:
    """Return 0 if accepted, 1 if refused by an alert, else 3."""
    if reply.accepted:
        return EXIT_OK
    return EXIT_FINDINGS if reply.ending == "alert" else EXIT_INCOMPLETE


def _version_for(suites: tuple[int, ...]) -> int:
    """Return the version of the suites, else TLS 1.3."""
    return TLS13 if not suites or any(is_tls13(code) for code in suites) else TLS12


def _codes(option: str, names: str | None, code: Callable[[str], int]) -> tuple[int, ...]:
    return tuple(_code(option, name.strip(), code) for name in names.split(",")) if names else ()


def _code(option: str, name: str, code: Callable[[str], int]) -> int:
    try:
        return code(name)
    except KeyError:
        hint = f"use {_HINTS.get(option, 'IANA or OpenSSL names, or a code point: 0xC02F')}"
        raise UsageError(f"{option}: unknown name '{plain(name, 80)}'", hint=hint) from None


async def _first_address(target: Target) -> str:
    return (await dial.addresses(target.host, target.port))[0]
