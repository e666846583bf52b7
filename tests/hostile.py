"""Hostile listeners and objects, scanned in a process of their own: what each costs everybody else.

    python -m tests.hostile listeners
    python -m tests.hostile objects

Both write JSON. A standstill is the processor time of one step of one of the scanner's tasks, in the thread of the
event loop: whatever else runs on the machine, nobody else gets a turn in that time. Clocks on the wall say less.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from base64 import b64encode, encodebytes
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, redirect_stderr, redirect_stdout
from contextvars import ContextVar
from functools import cache, partial
from io import StringIO
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import trio
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from scanner import cli
from scanner.demo.behaviours import abort, alert, read_hello, say, silent
from scanner.demo.listening import Handler, listening
from scanner.demo.tls_server import TlsSettings, tls_handler
from scanner.jobs import TargetRequirements, of_targets
from scanner.judge.chain import MOST
from scanner.kube.profile_catalogue import load_profile
from scanner.model.endpoint import Target
from scanner.model.report import EndpointRow
from scanner.probe.limits import Gate, Limits
from scanner.report.stream import RowFile
from scanner.scan import Settings, scan
from scanner.tls.certificate import LONGEST_SIGNED, CertificateMessage
from scanner.tls.client_hello import ClientHello
from scanner.tls.codepoints import TLS12
from scanner.tls.flight import ServerHello, ServerKeyExchange
from scanner.tls.records import HANDSHAKE, encode_records
from scanner.tls.wire import Malformed
from scanner.values import replace
from tests.certs import Authority, private_key, slow_to_verify
from tests.servers import drip, endless, ordinary, patient_clock

Chain = tuple[bytes, ...]
Signer = Callable[[bytes], ServerKeyExchange]
"""Of the client's random bytes."""

ECDHE, DHE = 0xC02F, 0x009E
SIGNED = b"\x08\x04\x01\x00" + bytes(256)
"""By an RSA key of 2,048 bits, it says."""
ENDLESS_WARNINGS = b"\x15\x03\x03\x00\x02\x01\x5a" * 2000
"""user_canceled, which ends nothing (RFC 5246, section 7.2)."""
MOST_ENTRIES = 100
"""Certificates that one message may have."""


# --- certificates -----------------------------------------------------------------------------------------------------


def element(tag: int, *content: bytes) -> bytes:
    """A DER element of any length (X.690, section 8.1)."""
    inside = b"".join(content)
    size = len(inside).to_bytes((len(inside).bit_length() + 7) // 8 or 1, "big")
    return bytes((tag,)) + (size if len(inside) < 0x80 else bytes((0x80 | len(size),)) + size) + inside


def certificate(
    number: int, *, subject: bytes = b"", issuer: bytes = b"", key: bytes = b"", extensions: bytes = b""
) -> bytes:
    """A certificate made element by element, with ``number`` as its serial number."""
    algorithm = element(0x30, bytes.fromhex("06092a864886f70d01010b0500"))
    validity = element(0x30, element(23, b"260101000000Z"), element(23, b"360101000000Z"))
    key = key or element(0x30, bytes.fromhex("06092a864886f70d0101010500"))
    rsa = element(0x30, element(2, b"\x00" + b"\xc1" * 256), element(2, b"\x01\x00\x01"))
    parts = (
        element(0xA0, element(2, b"\x02")),
        element(2, (1 << 62 | number).to_bytes(8, "big")),
        algorithm,
        element(0x30, issuer or attribute(b"Any CA")),
        validity,
        element(0x30, subject or attribute(b"a.example")),
        element(0x30, key, element(3, b"\x00", rsa)),
    )
    tbs = element(0x30, *parts, element(0xA3, element(0x30, extensions)) if extensions else b"")
    return element(0x30, tbs, algorithm, element(3, b"\x00" + bytes(256)))


def attribute(value: bytes, kind: bytes = bytes.fromhex("0603550403")) -> bytes:
    """A relative distinguished name of one attribute, the common name."""
    return element(0x31, element(0x30, kind, element(12, value)))


def long_identifier(size: int) -> Callable[[int], Chain]:
    """One certificate whose key has an object identifier of ``size`` bytes, a single number."""
    identifier = element(6, b"\x81" * (size - 1) + b"\x01")
    return lambda number: (certificate(number, key=element(0x30, identifier)),)


def _many(one: bytes) -> bytes:
    """As many of these as a certificate may have that is still read."""
    return one * ((LONGEST_SIGNED - 1200) // len(one))


def many_names(number: int) -> Chain:
    """Alternative names of four bytes each, as many as there can be."""
    names = element(0x30, _many(element(0x82, b"ab")))
    return (certificate(number, extensions=element(0x30, bytes.fromhex("0603551d11"), element(4, names))),)


def many_addresses(number: int) -> Chain:
    """The same of IP addresses."""
    names = element(0x30, _many(element(0x87, b"\x0a\x00\x00\x01")))
    return (certificate(number, extensions=element(0x30, bytes.fromhex("0603551d11"), element(4, names))),)


def many_directories(number: int) -> Chain:
    """The same of names of directories, each of which is an object of its own."""
    names = element(0x30, _many(element(0xA4, element(0x30, attribute(b"a")))))
    return (certificate(number, extensions=element(0x30, bytes.fromhex("0603551d11"), element(4, names))),)


def many_attributes(number: int) -> Chain:
    """A subject of as many attributes as there can be."""
    return (certificate(number, subject=_many(attribute(b"a"))),)


def many_certificates(number: int) -> Chain:
    """As many certificates as a message may have, all new."""
    return tuple(certificate(number * MOST_ENTRIES + each) for each in range(MOST_ENTRIES))


def namesakes(number: int) -> Chain:
    """Authorities of one name, whose signatures take 400 times as long to verify as others."""
    slow = tuple(each.public_bytes(Encoding.DER) for each in _slow()[:MOST])
    return (certificate(number, issuer=attribute(b"CA")), *slow)


@cache
def _slow() -> tuple[x509.Certificate, ...]:
    return tuple(slow_to_verify("CA", serial) for serial in range(1, 71))


CERTIFICATES: dict[str, Callable[[int], Chain]] = {
    "identifier of 240 KB": long_identifier(240_000),
    "identifier of 60 KB": long_identifier(60_000),
    "names": many_names,
    "addresses": many_addresses,
    "directories": many_directories,
    "attributes": many_attributes,
    "certificates": many_certificates,
    "namesakes": namesakes,
}
"""By what there is too much of; the number makes each one new."""


# --- listeners --------------------------------------------------------------------------------------------------------


def in_clear(make: Callable[[int], Chain], suite: int = ECDHE, signer: Signer | None = None) -> Handler:
    """TLS 1.2 to ServerHelloDone, with another chain on each connection."""
    number = count(1)
    point = private_key("p256").public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    ecdhe = ServerKeyExchange(kind="ecdhe", group=23, public=point, signed=SIGNED)

    async def part(stream: trio.SocketStream) -> None:
        try:
            asked = ClientHello.decode((await read_hello(stream))[5:])
        except Malformed:  # the hello of SSLv2
            asked = None
        if asked is None or suite not in asked.suites:
            await say(alert(40))(stream)
            return
        hello = ServerHello(version=TLS12, random=bytes(32), suite=suite).encode()
        chain = CertificateMessage(chain=make(next(number))).encode()
        exchange = signer(asked.random) if signer else ecdhe
        await stream.send_all(encode_records(HANDSHAKE, TLS12, hello + chain + exchange.encode() + b"\x0e\0\0\0"))
        await silent(stream)

    return part


def modulus(bits: int) -> Handler:
    """Nothing but finite-field Diffie-Hellman, and in order as far as it goes: the client has to compute."""
    prime = ((1 << bits) - 1).to_bytes(bits // 8, "big")
    exchange = ServerKeyExchange(kind="dhe", prime=prime, generator=b"\x02", public=prime[:-1] + b"\x05")
    leaf = Authority("Any CA").leaf(names=("localhost",), key="rsa2048")
    key = leaf.key
    assert isinstance(key, RSAPrivateKey)

    def signed(random: bytes) -> ServerKeyExchange:
        """With rsa_pss_rsae_sha256 (RFC 5246, section 7.4.3)."""
        content = random + bytes(32) + exchange.encode()[4:]
        signature = key.sign(content, padding.PSS(padding.MGF1(hashes.SHA256()), 32), hashes.SHA256())
        return replace(exchange, signed=b"\x08\x04" + len(signature).to_bytes(2, "big") + signature)

    return in_clear(lambda _: (leaf.der,), DHE, signed)


def chained() -> Handler:
    """A real server whose chain takes a second to verify, which is more than anybody asked for."""
    leaf = Authority("CA", key="rsa2048").leaf(names=("localhost",))
    credential = type(leaf)(certificate=leaf.certificate, key=leaf.key, issuers=_slow())
    return tls_handler(TlsSettings(credential=credential))


def stalls_in_tls13() -> Handler:
    """Ends its hello with TLS 1.3, and then says no more."""
    good, seen = tls_handler(TlsSettings(credential=ordinary())), count()

    async def part(stream: trio.SocketStream) -> None:
        await (good(stream) if next(seen) < 3 else silent(stream))

    return part


LISTENERS: dict[str, Callable[[], Handler]] = {
    **{name: partial(in_clear, make) for name, make in CERTIFICATES.items()},
    "modulus of 10,000 bits": partial(modulus, 10_000),
    "modulus of 4,096 bits": partial(modulus, 4096),
    "chain of TLS 1.3": chained,
    "stall in TLS 1.3": stalls_in_tls13,
    "drip": lambda: drip(b"\x16\x03\x03\x40\x00" + b"\x0b\x00\x10\x00" + bytes(4096)),
    "records": endless,
    "warnings": lambda: endless(ENDLESS_WARNINGS, ENDLESS_WARNINGS),
    "plaintext": lambda: endless(b"220-x\r\n", b"220-x\r\n" * 1000),
    "silence": lambda: silent,
    "resets": lambda: abort,
}


_SCANNER: ContextVar[bool] = ContextVar("_SCANNER", default=False)


class Standstill(trio.abc.Instrument):
    """The longest step of any of the scanner's tasks."""

    def __init__(self, *, everybody: bool = False) -> None:
        self._everybody = everybody
        self._since = 0.0
        self.longest = 0.0
        self.where = ""

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self._since = time.thread_time()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        if self._everybody or task.context.get(_SCANNER, False):
            took = time.thread_time() - self._since
            if took > self.longest:
                self.longest, self.where = took, task.name


@asynccontextmanager
async def _open(parts: dict[str, Handler]) -> AsyncIterator[dict[str, tuple[str, int]]]:
    async with AsyncExitStack() as stack:
        open_now = {name: await stack.enter_async_context(listening(part)) for name, part in parts.items()}
        yield {name: each.sockaddr for name, each in open_now.items()}


@cache
def _root() -> Authority:
    return Authority("Root")


async def _scanned(names: tuple[str, ...], directory: Path) -> dict[str, Any]:
    """Verdicts of these listeners, and of one that is in order, by name."""
    good = tls_handler(TlsSettings(credential=_root().leaf(names=("localhost", "127.0.0.1"))))
    async with _open({"good": good, **{name: LISTENERS[name]() for name in names}}) as where:
        _SCANNER.set(True)
        anchors = (_root().der, *(each.public_bytes(Encoding.DER) for each in _slow()))
        owed = TargetRequirements(profile=load_profile("intermediate@4.22"), anchors=anchors)
        settings = Settings(mode="inventory", limits=Limits(timeout=2, deadline=30, per_host=50))
        targets = [Target(host=host, port=port, server_name="localhost") for host, port in where.values()]
        with RowFile(directory / "rows.jsonl") as rows:
            report = await scan(of_targets(targets, owed), settings, rows, lambda _: None, Gate(settings.limits))
            return dict(zip(where, map(_row, report.rows()), strict=True))


def _row(row: EndpointRow) -> dict[str, Any]:
    messages = [each["message"] for each in row["findings"] if each["verdict"] not in ("pass", "not_applicable")]
    seen = row["observed"]
    return {"verdict": row["verdict"], "reach": row["reach"], "why": messages, "attempts": seen["attempts"][-2:]}


def listeners(names: tuple[str, ...]) -> dict[str, Any]:
    """All of them at once, beside one that is in order."""
    standstill = Standstill()
    _slow(), ordinary()
    with TemporaryDirectory() as directory:
        scanned = partial(_scanned, names, Path(directory))
        verdicts = trio.run(scanned, instruments=[standstill], clock=patient_clock())
    return {"standstill": standstill.longest, "where": standstill.where, "verdicts": verdicts}


# --- objects ----------------------------------------------------------------------------------------------------------

_ROUTE = """
apiVersion: route.openshift.io/v1
kind: Route
metadata: {{name: web, namespace: shop, uid: "{number}"}}
spec: {{host: web.shop.example, to: {{kind: Service, name: web}}, tls: {{termination: edge, certificate: {pem}}}}}
---
apiVersion: v1
kind: Secret
metadata: {{name: web, namespace: shop}}
type: kubernetes.io/tls
data: {{tls.crt: {coded}, tls.key: ""}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {{name: shop}}
webhooks:
- name: web.shop.example
  clientConfig: {{url: "https://192.0.2.1/", caBundle: {coded}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: trust, namespace: shop}}
data: {{ca.crt: {pem}}}
"""


def _manifest(make: Callable[[int], Chain], copies: int) -> str:
    blocks = (encodebytes(der).decode() for number in range(1, copies + 1) for der in make(number))
    pem = "".join(f"-----BEGIN CERTIFICATE-----\n{block}-----END CERTIFICATE-----\n" for block in blocks)
    return _ROUTE.format(number=1, pem=json.dumps(pem), coded=b64encode(pem.encode()).decode())


def objects() -> dict[str, Any]:
    """What each kind of certificate costs in objects of 1 MiB, by command: seconds of the processor."""
    found: dict[str, Any] = {}
    harmless: dict[str, Callable[[int], Chain]] = {"harmless": lambda number: (certificate(number),)}
    run = trio.run
    for name, make in {**harmless, **CERTIFICATES}.items():
        standstill, seconds = Standstill(everybody=True), {}
        trio.run = partial(run, instruments=[standstill])  # type: ignore[assignment]
        copies = 1 if name == "harmless" else max(1, 700_000 // sum(map(len, make(1))))
        with TemporaryDirectory() as directory:
            (Path(directory) / "web.yaml").write_text(_manifest(make, copies))
            for command in (["lint", directory], ["certs", "--secrets", "--snapshot", directory]):
                seconds[command[0]] = _seconds(command)
            seconds["scan"] = _seconds(["scan", "--secrets", "--snapshot", directory, "--timeout", "0.1"])
        found[name] = {"standstill": standstill.longest, "where": standstill.where, "seconds": seconds}
    return found


def _seconds(command: list[str]) -> float:
    began = time.process_time()
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        code = cli.run(command)
    assert code in (0, 1, 3), (command, code)
    return time.process_time() - began


def main() -> None:
    """Write what was found, and the most memory that this process ever had, in MiB."""
    what, *names = sys.argv[1:]
    gc.freeze()  # as the program does: what was imported is no hostile input, and looking through it takes 50 ms
    found = objects() if what == "objects" else listeners(tuple(names) or tuple(LISTENERS))
    # Not ru_maxrss: that is never less than what the process that started this one had (getrusage(2)).
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    peak = int(status["VmHWM"].split()[0]) / 1024
    sys.stdout.write(json.dumps({"found": found, "peak": peak}, indent=1))


if __name__ == "__main__":
    main()
