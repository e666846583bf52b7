"""The exporter's server: what it answers to whom, its limits, and its own TLS, scanned by adhere."""

from __future__ import annotations

import json
import ssl
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from shutil import copytree

import pytest
import trio
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from scanner.cli import serve_work
from scanner.cli.serve_work import Exporter, Server
from scanner.cli.shared_options import ClusterAsked
from scanner.cluster.token_review import TokenReviews
from scanner.cluster.watch import Watcher
from scanner.demo.certificates import Authority
from scanner.demo.listening import bind
from scanner.errors import InputError, UsageError
from scanner.kube.kinds import ROUTE
from scanner.kube.profile_catalogue import load_profile
from scanner.serve import http_server
from scanner.serve.cycles import Cycles
from scanner.serve.http_server import HttpServer, Request, Response, Timeouts
from scanner.serve.serving_tls import ServingTls
from scanner.values import replace
from tests.cli.calling import PATIENCE, called
from tests.cluster.api import Answer, Api, Asked, ok, running

pytestmark = pytest.mark.crypto

SERVER = Server(every=1, listen="127.0.0.1:0", tls_cert=None, tls_key=None, allow_plaintext=False)
NEVER = Timeouts(**dict.fromkeys(Timeouts.__struct_fields__, 2 * PATIENCE))


async def hello(request: Request) -> Response:
    return Response(body=request.path.encode())


@asynccontextmanager
async def open_port(server: HttpServer) -> AsyncIterator[int]:
    listener = await bind("127.0.0.1")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(trio.serve_listeners, server.serve, [listener]))
        yield listener.socket.getsockname()[1]
        nursery.cancel_scope.cancel()


async def sent(port: int, data: bytes) -> bytes:
    """Send bytes; all that is answered until the server closes."""
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        received = b""
        with trio.fail_after(PATIENCE), suppress(trio.BrokenResourceError):
            await stream.send_all(data)
            while part := await stream.receive_some():
                received += part
    return received


CLOSE = b"Host: x\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET /a?b HTTP/1.1\r\n" + CLOSE, 200),
        (b"HEAD /a HTTP/1.1\r\n" + CLOSE, 200),
        (b"POST / HTTP/1.1\r\nContent-Length: 0\r\n" + CLOSE, 405),
        (b"GET / HTTP/1.1\r\nContent-Length: 3\r\n" + CLOSE + b"abc", 413),
        (b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" + CLOSE + b"0\r\n\r\n", 413),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * 16_500, 431),
        (b"\x16\x03\x01\x00\x05hello\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
    ],
)
async def test_requests(data: bytes, status: int) -> None:
    async with open_port(HttpServer(hello)) as port:
        answer = await sent(port, data)
        reset = status == 431 and answer == b""  # the answer is lost if the client is still sending
        assert reset or answer.startswith(f"HTTP/1.1 {status} ".encode())
        assert answer.endswith(b"\r\n\r\n/a" if data.startswith(b"GET /a") else b"")
        assert (await sent(port, b"GET /b HTTP/1.1\r\n" + CLOSE)).endswith(b"/b"), "the server still answers"


async def test_slow_clients_are_closed() -> None:
    server = HttpServer(hello, timeouts=Timeouts(handshake=0.2, request=0.2, idle=0.2, response=0.2))
    async with open_port(server) as port:
        assert await sent(port, b"") == b""
        assert await sent(port, b"GET / HT") == b""
        assert (await sent(port, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")).endswith(b"/"), "the second does not come"
        with trio.fail_after(PATIENCE):
            while server.open:  # noqa: ASYNC110 - a counter
                await trio.sleep(0.01)


async def test_idle_connections_lock_nobody_out() -> None:
    """The first is answered and idle, and one has sent half a request: they are closed for new ones, in their order."""
    server = HttpServer(hello, timeouts=NEVER)
    async with AsyncExitStack() as stack, open_port(server) as port:
        idle = []
        for number in range(http_server._MOST_CONNECTIONS):
            idle.append(await stack.enter_async_context(await trio.open_tcp_stream("127.0.0.1", port)))
            await until_open(server, number + 1)
        await idle[1].send_all(b"GET /half")
        await idle[0].send_all(b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n")  # waits less long than all others from here on
        assert await received(idle[0], b"/a")
        for _ in range(2):
            assert (await sent(port, b"GET /b HTTP/1.1\r\n" + CLOSE)).endswith(b"/b")
        with trio.fail_after(PATIENCE):
            assert await idle[1].receive_some() == b""
        await idle[0].send_all(b"GET /c HTTP/1.1\r\n" + CLOSE)
        assert await received(idle[0], b"/c")


async def received(stream: trio.SocketStream, end: bytes) -> bool:
    """True if the answer ends so."""
    data = b""
    with trio.fail_after(PATIENCE):
        while not data.endswith(end) and (part := await stream.receive_some()):
            data += part
    return data.endswith(end)


async def until_open(server: HttpServer, count: int) -> None:
    with trio.fail_after(PATIENCE):
        while server.open != count:  # noqa: ASYNC110 - a counter
            await trio.sleep(0.001)


async def test_clients_that_do_not_read_do_not_lock_out_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection whose request takes longest is closed."""
    monkeypatch.setattr(http_server, "_MOST_CONNECTIONS", 2)

    async def answer(request: Request) -> Response:
        return Response(body=b"x" * 30_000_000 if request.path == "/large" else b"small")

    server = HttpServer(answer, timeouts=NEVER)
    async with AsyncExitStack() as stack, open_port(server) as port:
        for number in (1, 2):
            one = await stack.enter_async_context(await trio.open_tcp_stream("127.0.0.1", port))
            await one.send_all(b"GET /large HTTP/1.1\r\n" + CLOSE)
            with trio.fail_after(PATIENCE):
                while len(server.busy) != number:  # noqa: ASYNC110 - a counter
                    await trio.sleep(0.001)
        assert (await sent(port, b"GET / HTTP/1.1\r\n" + CLOSE)).endswith(b"small")
        await until_open(server, 1)
        assert len(server.busy) == 1


async def test_a_client_that_does_not_read_is_closed() -> None:
    async def answer(_: Request) -> Response:
        return Response(body=b"x" * 30_000_000)

    server = HttpServer(answer, timeouts=Timeouts(chunk=0.2))
    async with open_port(server) as port, await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(b"GET / HTTP/1.1\r\n" + CLOSE)
        await until_open(server, 1)
        await until_open(server, 0)


async def test_a_file_is_sent_as_it_was_when_it_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "report"
    path.write_bytes(b"x" * 1_000_000)

    async def answer(_: Request) -> Response:
        return Response(body=path)

    async with open_port(HttpServer(answer)) as port:
        assert (await sent(port, b"GET / HTTP/1.1\r\n" + CLOSE)).endswith(b"\r\n\r\n" + b"x" * 1_000_000)


# --- who may read what ----------------------------------------------------------------------------------------------


def exporter(directory: Path, server: Server = SERVER) -> Exporter:
    made = Exporter(server, ClusterAsked(cluster=True), directory)
    made.cycles = Cycles(lambda: pytest.fail("no cycle"), made.publish, directory)
    return made


async def status(made: Exporter, path: str, **headers: str) -> int:
    return (await made.answer(Request(path=path, headers={"host": "localhost", **headers}))).status


async def test_on_loopback_only_local_names_read_the_report(tmp_path: Path) -> None:
    made = exporter(tmp_path)
    for host in ("localhost", "127.0.0.1:8080", "[::1]:8080", "localhost:1"):
        assert await status(made, "/", host=host) == 503, "there is no report yet"
    for host in ("evil.example", "evil.example:8080", "", "127.0.0.1.evil.example"):
        assert await status(made, "/report.json", host=host) == 403
        assert await status(made, "/metrics", host=host) == 200


async def test_plaintext_elsewhere_has_no_report(tmp_path: Path) -> None:
    made = exporter(tmp_path, replace(SERVER, listen=":8080", allow_plaintext=True))
    assert [await status(made, path) for path in ("/", "/report.json", "/metrics", "/healthz")] == [403, 403, 200, 200]


async def test_several_clusters_are_reported_on_loopback_only(tmp_path: Path) -> None:
    """A token of one cluster says nothing about another, and must not be sent there."""
    elsewhere = exporter(tmp_path, replace(SERVER, listen="0.0.0.0:0"))
    elsewhere.tls = ServingTls(*credential(tmp_path, Authority("Service CA")))
    answer = await elsewhere.answer(Request(path="/", headers={"authorization": "Bearer good"}))
    assert (answer.status, answer.body) == (
        403, b"the report is served on a loopback address only: it has several clusters\n",
    )  # fmt: skip
    assert elsewhere.reviews_of(["east", "west"]) is None  # type: ignore[list-item]
    assert elsewhere.reviews_of(["east"]) is not None  # type: ignore[list-item]
    assert exporter(tmp_path).reviews_of(["east"]) is None  # type: ignore[list-item]


async def test_a_dead_watch_is_not_hidden_by_a_living_one(tmp_path: Path) -> None:
    made = exporter(tmp_path)
    for state in ("failed", "watching", "watching"):
        made.watchers.append(Watcher(None, (), lambda _: None, states={ROUTE: state}))  # type: ignore[arg-type]
    body = (await made.answer(Request(path="/metrics", headers={}))).body
    assert isinstance(body, bytes)
    lines = [line for line in body.decode().splitlines() if line.startswith("adhere_serve_watches{")]
    assert sorted(lines) == [
        'adhere_serve_watches{resource="routes.route.openshift.io",state="failed"} 1.0',
        'adhere_serve_watches{resource="routes.route.openshift.io",state="watching"} 2.0',
    ]


def test_directories_of_processes_that_were_killed_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with serve_work._scratch() as killed:
        copytree(killed, tmp_path / "adhere-serve-killed")
        copytree(killed, tmp_path / "other")
    for name in ("adhere-serve-killed", "adhere-serve-saved", "adhere-serve-new", "adhere-other", "other"):
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "report.html").touch()
    (tmp_path / "adhere-serve-new" / "report.html").unlink()
    (tmp_path / "adhere-serve-link").symlink_to("other")
    with serve_work._scratch() as first:
        (first / "report.html").touch()
        with serve_work._scratch() as second:
            left = {each.name for each in tmp_path.iterdir()}
            assert left == {
                first.name, second.name, "adhere-serve-saved", "adhere-serve-new", "adhere-serve-link", "adhere-other",
                "other",
            }  # fmt: skip
            assert (first / "report.html").exists()
    assert not first.exists()
    assert (tmp_path / "other" / "report.html").exists()
    assert (tmp_path / "adhere-serve-saved" / "report.html").exists()


class Users:
    """Reviews of two tokens: of a user that may read the report, and of one that may not."""

    def __init__(self) -> None:
        self.api = Api(script=self.answer)
        self.bodies: list[dict[str, object]] = []

    def answer(self, asked: Asked) -> Answer | None:
        if asked.method != "POST":
            return None
        body = json.loads(asked.body)
        self.bodies.append(body)
        if body["kind"] == "TokenReview":
            known = body["spec"]["token"] in ("good", "poor")
            user = {"username": body["spec"]["token"], "groups": ["dev"], "uid": "1", "extra": {"a": ["b"]}}
            return ok({"status": {"authenticated": True, "user": user} if known else {"authenticated": False}})
        return ok({"status": {"allowed": body["spec"]["user"] == "good"}})


async def test_elsewhere_a_token_is_reviewed(tmp_path: Path) -> None:
    users = Users()
    async with running(users.api) as api:
        made = exporter(tmp_path, replace(SERVER, listen="0.0.0.0:0"))
        made.reviews = TokenReviews(api.access, "/adhere/report")
        assert await status(made, "/") == 401
        assert await status(made, "/", authorization="Basic Z29vZDpnb29k") == 401
        assert await status(made, "/", authorization="Bearer a b") == 401
        assert users.bodies == []
        assert await status(made, "/", authorization="Bearer stolen") == 401
        assert await status(made, "/", authorization="Bearer poor") == 403
        assert await status(made, "/", authorization="Bearer good") == 503, "allowed, and there is no report yet"
        count = len(users.bodies)
        assert await status(made, "/report.json", authorization="bearer good") == 503
        assert len(users.bodies) == count, "the answer is cached"
        assert users.bodies[-1]["spec"] == {
            "user": "good", "uid": "1", "groups": ["dev"], "extra": {"a": ["b"]},
            "nonResourceAttributes": {"path": "/adhere/report", "verb": "get"},
        }  # fmt: skip
    made.reviews = TokenReviews(api.access, "/adhere/report")
    answer = await made.answer(Request(path="/", headers={"authorization": "Bearer good"}))
    assert (answer.status, answer.body) == (503, b"the API server could not check the token\n")


def test_the_metrics_are_open_metrics(tmp_path: Path) -> None:
    made = exporter(tmp_path)

    async def get() -> bytes:
        answer = await made.answer(Request(path="/metrics", headers={"accept": "application/openmetrics-text;q=0.7"}))
        assert isinstance(answer.body, bytes)
        return answer.body

    families = text_string_to_metric_families(trio.run(get).decode())  # type: ignore[no-untyped-call]
    found = {each.name for each in families}
    assert {"adhere_serve_cycles", "adhere_pki_certificate_rotations_observed"} <= found


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"listen": ":8443"}, "needs TLS"),
        ({"listen": "localhost:1"}, "not an IP address and port"),
        ({"listen": "127.0.0.1"}, "not an IP address and port"),
        ({"listen": "127.0.0.1:70000"}, "not an IP address and port"),
        ({"tls_cert": "x"}, "belong together"),
    ],
)
def test_options_that_do_not_fit(changes: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        replace(SERVER, **changes).check()  # type: ignore[arg-type]


# --- its own TLS ----------------------------------------------------------------------------------------------------


def credential(directory: Path, authority: Authority, name: str = "127.0.0.1") -> tuple[Path, Path]:
    return authority.leaf(names=(name,)).write(directory, "tls")


@pytest.mark.parametrize("profile", ["intermediate", pytest.param("modern", marks=pytest.mark.slow)])
async def test_it_passes_its_own_scan(tmp_path: Path, profile: str) -> None:
    authority = Authority("Service CA")
    tls = ServingTls(*credential(tmp_path, authority))
    (tmp_path / "ca.pem").write_bytes(authority.pem)
    tls.profile = load_profile(profile)
    async with open_port(HttpServer(hello, tls.context)) as port:
        scan = partial(called, "scan", f"127.0.0.1:{port}", "--profile", profile, "--ca", tmp_path / "ca.pem")
        answer = await trio.to_thread.run_sync(partial(scan, "--format", "json", "--quiet"))
    assert answer.code == 0, answer.out
    (row,) = answer.document["endpoints"]
    accepted = {version for version, found in row["observed"]["versions"].items() if found and found["suites"]}
    assert accepted == ({"TLSv1.2", "TLSv1.3"} if profile == "intermediate" else {"TLSv1.3"})


def test_new_files_and_a_new_profile_are_used(tmp_path: Path) -> None:
    notices: list[str] = []
    files = credential(tmp_path, Authority("Service CA"))
    tls = ServingTls(*files, notices.append)
    first = tls.context()
    assert tls.context() is first
    tls.profile = load_profile("intermediate")
    second = tls.context()
    assert second is not first
    files[0].write_text("half of a cert")
    assert tls.context() is tls.context() is second, "the former one is kept"
    assert len(notices) == 1
    tls.profile = load_profile("modern")
    assert tls.context() is second
    assert second.minimum_version is ssl.TLSVersion.TLSv1_3, "the profile is followed with the former certificate too"
    for old, new in zip(files, Authority("Renewed CA").leaf(names=("localhost",)).write(tmp_path, "new"), strict=True):
        new.replace(old)
    assert tls.context() is not second


def test_an_unusable_certificate_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "tls.crt").write_text("nothing")
    with pytest.raises(InputError, match="cannot serve with this certificate and key"):
        ServingTls(tmp_path / "tls.crt", tmp_path / "tls.key").context()
