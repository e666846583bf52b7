"""The client: credentials that change, certificates, proxies, and endings of every kind."""

from __future__ import annotations

import json
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trio

from scanner.cluster.api_connection import Credential, Pair, Trust
from scanner.cluster.client import ApiError, Client, _of_proxy, redacted
from scanner.cluster.exec_plugin import FRESH, VERSIONS, Executed, Fixed, Plugin, TokenFile, first_error
from scanner.demo.listening import listening
from scanner.errors import ClusterError, InputError
from scanner.kube.kinds import NODE
from scanner.values import replace
from tests.certs import Authority
from tests.cluster.api import LIMITS, Answer, Api, Asked, authority, in_turn, named, ok, refused, running

pytestmark = pytest.mark.crypto


def only(token: str) -> Api:
    """An API server that knows one token."""

    def check(asked: Asked) -> Answer:
        if asked.headers.get("authorization") == f"Bearer {token}":
            return ok({"gitVersion": "v1"})
        return refused(401, "Unauthorized", "Unauthorized")

    return Api(script=check)


def tokens(api: Api) -> list[str]:
    return [each.headers.get("authorization", "").removeprefix("Bearer ") for each in api.asked]


async def test_a_token_file_is_read_again_when_its_token_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old\n")
    api = only("new")
    async with running(api, TokenFile(file, "here")), Client(api.access, LIMITS) as client:
        await client.access.source.credential()
        file.write_text("new\n")
        assert await client.get("/version") == {"gitVersion": "v1"}
    assert tokens(api) == ["old", "new"]


async def test_a_token_file_is_read_again_after_a_minute(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("one")
    now = [1000.0]
    source = TokenFile(file, "here", clock=lambda: now[0])
    assert (await source.credential()).token == "one"
    file.write_text("two")
    now[0] += FRESH - 1
    assert (await source.credential()).token == "one"
    now[0] += 2
    assert (await source.credential()).token == "two"


@pytest.mark.parametrize("content", ["", "two\nlines", "sp ace", "umläut", "x" * 100_000])
async def test_a_token_file_without_a_token_is_an_error(tmp_path: Path, content: str) -> None:
    file = tmp_path / "token"
    file.write_text(content)
    with pytest.raises(InputError, match="not a token") as caught:
        await TokenFile(file, "config:3:5: user 'a'").credential()
    assert str(file) in caught.value.message
    assert not content or content[:20] not in caught.value.message


async def test_a_token_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the token cannot be read: No such file"):
        await TokenFile(tmp_path / "token", "here").credential()


def plugin(directory: Path, body: str, **fields: object) -> Plugin:
    """A credential plugin that is a Python script."""
    script = directory / "plugin"
    script.write_text(f"#!{sys.executable}\nimport json, os, sys\n{body}\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    made = Plugin(api_version=VERSIONS[0], command=str(script), origin="config:1:1: user 'a'")
    return replace(made, **fields)  # type: ignore[arg-type]


ANSWER = """
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
count = os.path.getsize(sys.argv[1]) if os.path.exists(sys.argv[1]) else 0
open(sys.argv[1], "a").write("x")
status = {"token": "token-%d" % count, "expirationTimestamp": os.environ.get("UNTIL")}
print(json.dumps({"apiVersion": info["apiVersion"], "kind": info["kind"], "status": status}))
"""


async def test_a_plugin_runs_once_until_its_token_is_refused(tmp_path: Path) -> None:
    made = plugin(tmp_path, ANSWER, arguments=(str(tmp_path / "runs"),))
    api = only("token-1")
    async with running(api, Executed(made)), Client(api.access, LIMITS) as client:
        await client.get("/version")
        await client.get("/version")
    assert tokens(api) == ["token-0", "token-1", "token-1"]


async def test_many_refused_requests_run_a_plugin_once(tmp_path: Path) -> None:
    made = plugin(tmp_path, ANSWER, arguments=(str(tmp_path / "runs"),))
    api = only("token-1")
    async with running(api, Executed(made)), Client(api.access, LIMITS) as client, trio.open_nursery() as nursery:
        for _ in range(4):
            nursery.start_soon(client.get, "/version")
    assert (tmp_path / "runs").read_text() == "xx"


@pytest.mark.parametrize("api_version", VERSIONS)
async def test_a_plugin_runs_again_shortly_before_its_credential_expires(tmp_path: Path, api_version: str) -> None:
    now = [datetime(2026, 1, 1, tzinfo=UTC)]
    made = plugin(
        tmp_path,
        ANSWER,
        api_version=api_version,
        arguments=(str(tmp_path / "runs"),),
        variables={"UNTIL": "2026-01-01T01:00:00Z"},
    )
    source = Executed(made, clock=lambda: now[0])
    assert (await source.credential()).token == "token-0"
    now[0] += timedelta(minutes=59)
    assert (await source.credential()).token == "token-0"
    now[0] += timedelta(seconds=31)
    assert (await source.credential()).token == "token-1"


async def test_a_plugin_is_told_what_the_kubeconfig_says(tmp_path: Path) -> None:
    told = tmp_path / "told"
    body = f"open({str(told)!r}, 'w').write(os.environ['KUBERNETES_EXEC_INFO'] + os.environ['EXTRA'])\n" + ANSWER
    made = plugin(
        tmp_path,
        body,
        arguments=(str(tmp_path / "runs"),),
        variables={"EXTRA": "!"},
        cluster={"server": "https://api.example", "config": {"audience": "x"}},
    )
    await Executed(made).credential()
    assert json.loads(told.read_text().removesuffix("!")) == {
        "apiVersion": VERSIONS[0],
        "kind": "ExecCredential",
        "spec": {"interactive": False, "cluster": {"server": "https://api.example", "config": {"audience": "x"}}},
    }


def printing(document: object) -> str:
    return f"print({json.dumps(document)!r})"


def credential(version: str = VERSIONS[0], **status: object) -> dict[str, object]:
    return {"apiVersion": version, "kind": "ExecCredential", "status": status}


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("401 for eyJhbGciOi.eyJzdWIi.c2ln-_x, log in", "401 for (credential), log in"),
        ("Authorization: Basic YTpi", "Authorization: Basic (credential)"),
        ("sent bearer abc", "sent bearer (credential)"),
        ('{"token": "abc", "kind": 1}', '{"token": (credential) "kind": 1}'),
        ("GET /?access_token=abc failed", "GET /?access_token=(credential) failed"),
        ("sent c2VjcmV0LXNlY3JldC1zZWNyZXQ= to b", "sent (credential) to b"),
        ("https://me:pass@proxy:1 refused", "https://(credential)@proxy:1 refused"),
        ("token abcdef.0123456789abcdef", "token (credential)"),
        ("invalid token: CredentialsUnavailableException", "invalid token: CredentialsUnavailableException"),
        ("AccessDeniedExceptionx1", "(credential)"),
        ("\n first \nsecond", "first"),
    ],
)
def test_an_error_of_a_plugin_has_no_credential(printed: str, shown: str) -> None:
    assert first_error(printed.encode()) == shown


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("sys.exit('not\\x1b[31m logged in')", r"exited with 1: 'not\\x1b\[31m logged in'"),
        ("print('garbage secret-token')", "printed something else than an ExecCredential"),
        ("print('[' * 5000)", "printed something else than an ExecCredential"),
        (printing(credential(VERSIONS[1], token="secret-token")), f"answered with apiVersion '{VERSIONS[1]}'"),
        (printing(credential()), "without a token or client certificate"),
        (printing(credential(clientCertificateData="x")), "only one of clientCertificateData and clientKeyData"),
        (printing(credential(token="t", expirationTimestamp="soon")), "invalid expirationTimestamp: 'soon'"),
        (printing(credential(token="two secret-token")), "not a token"),
        ("while True: print('x' * 4096)", "printed more than 1 MiB"),
        ("while True: print('x' * 4096, file=sys.stderr)", r"exited with -\d+: '\(credential\)'"),
        ("sys.exit('no login\\nsecret-token')", r"exited with 1: 'no login'$"),
        ("import time; time.sleep(60)", "did not answer within 0.4 seconds"),
    ],
)
async def test_a_plugin_that_fails_is_one_clear_error(tmp_path: Path, body: str, complaint: str) -> None:
    made = plugin(tmp_path, body, install_hint="install it with: brew")
    patience = 0.4 if "sleep" in body else 30
    with pytest.raises((ClusterError, InputError), match=complaint) as caught:
        await Executed(made, timeout=patience).credential()
    assert caught.value.message.startswith("config:1:1: user 'a'")
    assert "secret-token" not in caught.value.message


async def test_a_plugin_that_is_not_there_comes_with_its_installation_hint() -> None:
    made = Plugin(api_version=VERSIONS[0], command="adhere-no-such", install_hint="get it\nhere", origin="config")
    with pytest.raises(ClusterError, match="is not installed") as caught:
        await Executed(made).credential()
    assert caught.value.hint == r"'get it\nhere'"


async def test_a_client_certificate_is_shown_and_its_key_stays_in_memory() -> None:
    leaf = authority().leaf(names=("somebody",), common_name="somebody", eku=("clientAuth",))
    api = Api()
    async with running(api, Fixed(Credential(pair=Pair(leaf.pem, leaf.key_pem)))), Client(api.access, LIMITS) as client:
        await client.get("/version")
    assert [each.client for each in api.asked] == ["somebody"]
    assert "authorization" not in api.asked[0].headers
    assert "PRIVATE KEY" not in repr(api.access) + repr(api.access.source)


async def test_whom_to_impersonate_travels_in_headers() -> None:
    headers = (("Impersonate-User", "jäne"), ("Impersonate-Group", "a"))
    api = Api()
    async with running(api, Fixed(Credential(token="t", headers=headers))), Client(api.access, LIMITS) as client:
        await client.get("/version")
    assert api.asked[0].headers["impersonate-user"].encode("latin-1").decode() == "jäne"
    assert api.asked[0].headers["impersonate-group"] == "a"


async def test_a_plugins_new_client_certificate_is_used() -> None:
    leaves = [authority().leaf(names=(name,), common_name=name, eku=("clientAuth",)) for name in ("first", "second")]

    class Rotating:
        async def credential(self, *, renew: bool = False) -> Credential:
            leaf = leaves[1 if renew else 0]
            return Credential(pair=Pair(leaf.pem, leaf.key_pem))

    api = Api(script=lambda asked: refused(401, "Unauthorized", "who?") if asked.client == "first" else ok({}))
    async with running(api, Rotating()), Client(api.access, LIMITS) as client:
        assert await client.get("/version") == {}
    assert [each.client for each in api.asked] == ["first", "second"]


async def test_a_key_that_belongs_to_another_certificate_is_an_error() -> None:
    one, other = (authority().leaf(names=("a",)) for _ in range(2))
    api = Api()
    async with running(api, Fixed(Credential(pair=Pair(one.pem, other.key_pem)))), Client(api.access, LIMITS) as client:
        with pytest.raises(ClusterError, match="client certificate or its key is invalid") as caught:
            await client.get("/version")
    assert "/proc" not in caught.value.message


@pytest.mark.parametrize(
    ("trust", "complaint"),
    [
        (Trust(Authority("Somebody else").pem), "certificate is not accepted"),
        (Trust(authority().pem, server_name="other.example"), "certificate is not accepted: .*other.example"),
    ],
)
async def test_a_server_that_is_not_the_one_gets_no_token(trust: Trust, complaint: str) -> None:
    api = Api()
    async with running(api), Client(replace(api.access, trust=trust), LIMITS) as client:
        with pytest.raises(ClusterError, match=complaint):
            await client.get("/version")
    assert api.asked == []


@pytest.mark.parametrize("trust", [Trust(authority().pem, server_name="api.example"), Trust(verify=False)])
async def test_another_server_name_and_no_verification_are_possible(trust: Trust) -> None:
    api = Api()
    async with running(api), Client(replace(api.access, trust=trust), LIMITS) as client:
        assert await client.get("/version") == {"gitVersion": "v1.34.2"}


async def test_authorities_that_are_none_are_an_error() -> None:
    api = Api()
    async with running(api), Client(replace(api.access, trust=Trust(b"garbage")), LIMITS) as client:
        with pytest.raises(InputError, match="certificate authority is not a PEM"):
            await client.get("/version")


async def test_what_a_server_says_is_bounded_and_printable() -> None:
    api = Api(script=lambda _: refused(400, "Bad\x1b[2J", "a\nb\x00" + "x" * 10_000))
    async with running(api), Client(api.access, LIMITS) as client:
        with pytest.raises(ApiError) as caught:
            await client.get("/version")
    assert caught.value.status == 400
    assert len(caught.value.message) < 500
    assert caught.value.message.isprintable()


async def test_a_server_that_says_nothing_is_left() -> None:
    async def silent(stream: trio.SocketStream) -> None:
        await trio.sleep_forever()

    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with listeners[0], trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, silent, listeners)
        async with running(Api()) as api:
            access = replace(api.access, server=f"https://127.0.0.1:{listeners[0].socket.getsockname()[1]}")
        limits = replace(LIMITS, connect=0.05, tries=2)
        async with Client(access, limits) as client:
            with pytest.raises(ClusterError, match="no answer before the timeout"):
                await client.get("/version")
        nursery.cancel_scope.cancel()


async def test_a_request_cancelled_during_the_handshake_closes_its_connection() -> None:
    cancelled, closed = trio.CancelScope(), trio.Event()

    async def silent(stream: trio.SocketStream) -> None:
        await stream.receive_some(1)
        cancelled.cancel()
        async for _ in stream:
            pass
        closed.set()

    async with listening(silent) as server, running(Api()) as api:
        access = replace(api.access, server=f"https://127.0.0.1:{server.port}")
        with cancelled:
            async with Client(access, LIMITS) as client:
                await client.get("/version")
        with trio.fail_after(5):
            await closed.wait()


@asynccontextmanager
async def proxy(seen: list[bytes], *, refusal: bytes = b"") -> AsyncIterator[str]:
    """An HTTP proxy that knows CONNECT (RFC 9110, section 9.3.6)."""

    async def pump(source: trio.SocketStream, sink: trio.SocketStream) -> None:
        async for data in source:
            await sink.send_all(data)

    async def handle(stream: trio.SocketStream) -> None:
        head = bytes(await stream.receive_some(4096))
        seen.append(head)
        if refusal:
            await stream.send_all(b"HTTP/1.1 " + refusal + b"\r\nContent-Length: 0\r\n\r\n")
            return
        host, port = head.split()[1].decode().rsplit(":", 1)
        upstream = await trio.open_tcp_stream(host, int(port))
        await stream.send_all(b"HTTP/1.1 200 OK\r\n\r\n")
        async with upstream, trio.open_nursery() as nursery:
            nursery.start_soon(pump, stream, upstream)
            await pump(upstream, stream)
            nursery.cancel_scope.cancel()

    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with listeners[0], trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, handle, listeners)
        yield f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}"
        nursery.cancel_scope.cancel()


async def test_a_proxy_is_used_and_sees_no_token() -> None:
    seen: list[bytes] = []
    async with running(Api()) as api, proxy(seen) as url:
        access = replace(api.access, proxy=url, trust=Trust(authority().pem, server_name="api.example"))
        async with Client(access, LIMITS) as client:
            await client.get("/version")
    assert len(seen) == 1
    assert seen[0].startswith(b"CONNECT 127.0.0.1:")
    assert b"sesame" not in seen[0]
    assert tokens(api) == ["sesame"]


async def test_a_proxy_that_refuses_is_asked_once() -> None:
    seen: list[bytes] = []
    async with (
        running(Api()) as api,
        proxy(seen, refusal=b"407 Proxy Authentication Required") as url,
        Client(replace(api.access, proxy=url), LIMITS) as client,
    ):
        with pytest.raises(ClusterError, match=r"407.*\(through a proxy\)"):
            await client.get("/version")
    assert len(seen) == 1


@pytest.mark.parametrize(
    "said",
    [
        "Basic bWU6cCYvcyI=",
        'user me:p&/s" is locked',
        'is p&/s" right?',
        "http://me:p%26%2Fs%22@proxy",
        "http://me:p%26%2fs%22@proxy",
        "http://me:p%26/s%22@proxy",
        '{"password":"p&/s\\""}',
        '{"password":"p\\u0026/s\\""}',
        "?token=a%2Bb%2Fcanary%3D",
        "?token=a%2Bb/canary%3D",
    ],
)
def test_a_secret_is_found_in_clear_and_as_headers_urls_and_json_write_it(said: str) -> None:
    secrets = ("a+b/canary=", *_of_proxy("http://me:p%26%2Fs%22@proxy.example:3128"))
    left = redacted(said.encode(), *secrets).decode()
    assert "(credential)" in left
    assert not any(each in left for each in ("canary", "bWU6", "p%26", "p&", "p\\u0026"))


async def test_what_a_proxy_says_of_our_password_is_not_repeated() -> None:
    api = Api()
    node = api.add(NODE, named("canary"))
    api.script = in_turn("/version", refused(400, "BadRequest", "who is me:canary?"))
    async with running(api), proxy([]) as url:
        known = url.replace("//", "//me:canary@")
        async with Client(replace(api.access, proxy=known), LIMITS) as client:
            with pytest.raises(ApiError, match=r"BadRequest: who is \(credential\)\?"):
                await client.get("/version")
            assert "canary" in repr(await client.get(node))  # an object of that name stays what it is
    async with running(Api()) as api, proxy([], refusal=b"407 canary is wrong") as url:
        known = url.replace("//", "//me:canary@")
        async with Client(replace(api.access, proxy=known), LIMITS) as client:
            with pytest.raises(ClusterError, match=r"407 \(credential\) is wrong"):
                await client.get("/version")


@pytest.mark.parametrize("host", ["a b.invalid", "a" * 70 + ".invalid", "a..invalid", "." * 3, "256.1.1.1"])
async def test_a_host_that_cannot_be_looked_up_is_an_error(host: str) -> None:
    api = Api()
    async with running(api), Client(replace(api.access, server=f"https://{host}"), LIMITS) as client:
        with pytest.raises(ClusterError, match="GET https://"):
            await client.get("/version")
