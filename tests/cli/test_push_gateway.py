"""``--push``: what a Pushgateway gets, and what the user reads if it does not get it."""

from __future__ import annotations

import base64
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

import pytest
import trio
from prometheus_client.parser import text_string_to_metric_families

from scanner.cli import push_gateway
from scanner.cli.push_gateway import push
from scanner.errors import ResourceError
from scanner.model.report import Report
from scanner.values import replace
from tests.certs import Authority
from tests.cli.calling import PATIENCE, Call, assert_refused
from tests.report import cluster_samples, samples


@dataclass(slots=True)
class Gateway:
    """A server that records what it gets."""

    url: str = ""
    status: int = 200
    answer: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    silent: Event | None = None
    """No answer until it is set."""
    requests: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    """Method, path, headers and body."""

    def samples(self) -> dict[str, float]:
        """The sums of the pushed families."""
        (_, _, _, body) = self.requests[-1]
        found: dict[str, float] = {}
        for family in text_string_to_metric_families(body.decode()):
            found[family.name] = sum(each.value for each in family.samples)
        return found


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, gateway: Gateway, *given: object) -> None:
        self.gateway = gateway
        super().__init__(*given)  # type: ignore[arg-type] # the server's own

    def do_PUT(self) -> None:
        gateway = self.gateway
        body = self.rfile.read(int(self.headers["Content-Length"]))
        gateway.requests.append((self.command, self.path, dict(self.headers.items()), body))
        if gateway.silent:
            gateway.silent.wait()
        self.send_response(gateway.status)
        for name, value in gateway.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(gateway.answer)))
        self.end_headers()
        self.wfile.write(gateway.answer)

    def log_message(self, *_: object) -> None:
        """A test has its own words."""


@contextmanager
def serving(gateway: Gateway, context: ssl.SSLContext | None = None) -> Iterator[Gateway]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, gateway)) as server:
        if context:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        gateway.url = f"http{'s' if context else ''}://127.0.0.1:{server.server_address[1]}"
        try:
            yield gateway
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    with serving(Gateway()) as found:
        yield found


CLUSTER = cluster_samples.report()
TARGETS = samples.report()


def group(cluster: str) -> str:
    return "/metrics/job/adhere/cluster@base64/" + base64.urlsafe_b64encode(cluster.encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    ("report", "path", "expected"),
    [
        (CLUSTER, "", group("prod-eu")),
        (CLUSTER, "/", group("prod-eu")),
        (CLUSTER, "/behind/proxy", "/behind/proxy" + group("prod-eu")),
        (CLUSTER, "/metrics/job/tls/env/prod", "/metrics/job/tls/env/prod"),
        (TARGETS, "", "/metrics/job/adhere"),
        (replace(CLUSTER, cluster={"name": "a/b é"}), "", group("a/b \\xe9")),
        (replace(CLUSTER, cluster={"clusters": [{"name": "a"}, {"name": "b"}]}), "", "/metrics/job/adhere"),
    ],
)
async def test_the_group_is_the_job_and_the_cluster(gateway: Gateway, report: Report, path: str, expected: str) -> None:
    await push(report, gateway.url + path)
    ((method, where, headers, _),) = gateway.requests
    assert (method, where) == ("PUT", expected)
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert "Authorization" not in headers
    assert gateway.samples()["adhere_endpoint_outcomes"] == report.summary.endpoints


async def test_a_password_is_sent_and_never_shown(gateway: Gateway) -> None:
    host = gateway.url.removeprefix("http://")
    await push(TARGETS, f"http://user:p%40ss@{host}")
    (_, _, headers, _) = gateway.requests[0]
    assert headers["Authorization"] == "Basic " + base64.b64encode(b"user:p@ss").decode()
    gateway.status = 401
    with pytest.raises(ResourceError, match="HTTP 401") as caught:
        await push(TARGETS, f"http://user:p%40ss@{host}")
    assert "ss" not in caught.value.message.replace("/metrics/job/adhere", "")
    assert "password" in caught.value.hint


@pytest.mark.parametrize(
    ("status", "answer", "text"),
    [
        (400, b"pushed metrics are invalid\x1b[2J\n::error::x", "HTTP 400: pushed metrics are invalid"),
        (404, b"", "HTTP 404"),
        (500, b"x" * 100_000, "HTTP 500: xxx"),
        (302, b"", "HTTP 302"),
    ],
)
async def test_what_the_gateway_answers_is_shown_escaped_and_cut(
    gateway: Gateway, status: int, answer: bytes, text: str
) -> None:
    """A redirect is an error: it could lead to another host."""
    gateway.status, gateway.answer, gateway.headers = status, answer, {"Location": f"{gateway.url}/other"}
    with pytest.raises(ResourceError, match=text) as caught:
        await push(TARGETS, gateway.url)
    assert caught.value.hint
    assert len(caught.value.message) < 700
    assert caught.value.message.isprintable()
    assert "::error" not in caught.value.message
    assert len(gateway.requests) == 1


async def test_an_error_that_is_cut_off_is_the_gateways(gateway: Gateway) -> None:
    gateway.status, gateway.headers, gateway.answer = 503, {"Transfer-Encoding": "chunked"}, b"no chunk\r\n"
    with pytest.raises(ResourceError, match="HTTP 503"):
        await push(TARGETS, gateway.url)


async def test_no_answer_is_an_error_in_time(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push_gateway, "_WITHIN", 0.2)
    gateway.silent = Event()
    with trio.fail_after(PATIENCE), pytest.raises(ResourceError, match="cannot push the metrics to http://127"):
        await push(TARGETS, gateway.url)
    gateway.silent.set()


async def test_a_closed_port_is_an_error_with_the_address() -> None:
    with serving(Gateway()) as closed:
        pass
    with pytest.raises(ResourceError, match="Connection refused") as caught:
        await push(TARGETS, closed.url)
    assert closed.url in caught.value.message


@pytest.mark.crypto
async def test_tls_is_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = Authority("pushgateway")
    credential = authority.leaf(names=("127.0.0.1",))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*credential.write(tmp_path, "gateway"))
    (tmp_path / "ca.pem").write_bytes(authority.pem)
    with serving(Gateway(), context) as gateway:
        with pytest.raises(ResourceError, match="certificate verify failed") as caught:
            await push(TARGETS, gateway.url)
        assert "SSL_CERT_FILE" in caught.value.hint
        assert gateway.requests == []
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        await push(TARGETS, gateway.url)
    assert len(gateway.requests) == 1


# --- the command line -------------------------------------------------------------------------------------------------


def test_a_scan_is_pushed_beside_its_report(call: Call, gateway: Gateway, tmp_path: Path) -> None:
    with serving(Gateway()) as closed:
        port = closed.url.rpartition(":")[2]
    saved = tmp_path / "saved"
    done = call("scan", f"127.0.0.1:{port}", "--push", gateway.url, "--save", saved, "--quiet")
    assert done.code == 3
    assert gateway.samples()["adhere_endpoint_reaches"] == 1
    assert done.out
    merged = call("merge", saved, "--push", gateway.url, "--format", "json")
    assert merged.code == 3
    assert len(gateway.requests) == 2
    assert gateway.samples()["adhere_scan_exit_code"] == 3


def test_a_push_that_fails_makes_the_scan_incomplete(call: Call, gateway: Gateway) -> None:
    """After the report, and never better than it."""
    gateway.status = 503
    done = call("scan", "--fail-on", "never", f"{gateway.url.removeprefix('http://')}", "--push", gateway.url)
    assert "HTTP 503" in done.err
    assert "the metrics were not pushed" in done.err
    assert done.code == 3
    assert done.out


@pytest.mark.parametrize(
    "url",
    [
        "",
        "gateway:9091",
        "ftp://host",
        "http://",
        "http://host:port",
        "http://host/?a=b",
        "http://ho st",
        "http://[::1",
    ],
)
def test_what_is_no_url_is_refused(call: Call, url: str) -> None:
    assert_refused(call("scan", "127.0.0.1:1", "--push", url), "--push")


def test_a_password_is_not_taken_from_the_command_line(
    call: Call, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = gateway.url.replace("http://", "http://user:hunter2x9@")
    done = call("scan", "127.0.0.1:1", "--push", url)
    assert_refused(done, "ADHERE_SCAN_PUSH")
    assert "hunter2x9" not in done.err
    monkeypatch.setenv("ADHERE_SCAN_PUSH", url)
    done = call("scan", "127.0.0.1:1", "--format", "json")
    assert len(gateway.requests) == 1
    assert "hunter2x9" not in done.out + done.err


def test_a_shard_has_nothing_to_push(call: Call, tmp_path: Path) -> None:
    assert_refused(
        call("scan", "--resume", tmp_path, "--shard", "0/2", "--push", "http://host:9091"),
        "--push is for the report, and a shard has none",
    )
