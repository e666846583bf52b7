"""A real Prometheus server (Debian's package) that scrapes one file, and is asked for what it has understood."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

from tests.e2e.programs import running
from tests.zoo.processes import free_address, program

JOB = "adhere"
INTERVAL = "2s"
"""Also what a scrape may take: when one takes longer, everything is gone for Prometheus until the next."""


def missing() -> str | None:
    """Reason why it cannot run here, or None."""
    absent = [name for name in ("prometheus", "promtool") if not program(name)]
    return f"not installed: {', '.join(absent)} (Debian's package prometheus)" if absent else None


@dataclass(frozen=True, slots=True)
class Prometheus:
    """A running server."""

    url: str

    def query(self, promql: str) -> dict[frozenset[tuple[str, str]], float]:
        """The instant vector that answers: labels without job and instance, and the value.

        Raises ``urllib.error.HTTPError`` for what is no PromQL.
        """
        with urlopen(f"{self.url}/api/v1/query?{urlencode({'query': promql})}", timeout=10) as answer:
            found = json.loads(answer.read())["data"]
        assert found["resultType"] == "vector", promql
        return {_labels(each["metric"]): float(each["value"][1]) for each in found["result"]}

    def alerts(self) -> list[dict[str, Any]]:
        """The active alerts, pending ones too."""
        with urlopen(f"{self.url}/api/v1/alerts", timeout=10) as answer:
            found: list[dict[str, Any]] = json.loads(answer.read())["data"]["alerts"]
        return found

    def scraped(self) -> bool:
        """True if it has read the file."""
        try:
            return bool(self.query(f'up{{job="{JOB}"}} == 1'))
        except URLError:
            return False  # not listening yet, or not ready to be asked


def _labels(metric: dict[str, str]) -> frozenset[tuple[str, str]]:
    return frozenset((name, value) for name, value in metric.items() if name not in ("job", "instance"))


@contextmanager
def scraping(source: Path | str, directory: Path, rules: Path | None = None) -> Iterator[Prometheus]:
    """A Prometheus that has scraped ``source``, and does so again and again: a file, over HTTP on loopback, or the
    address of a server. ``rules``: a file with alerts."""
    address, port = free_address()
    with _offered(source) if isinstance(source, Path) else nullcontext(source) as target:
        configuration = directory / "prometheus.yml"
        job = {"job_name": JOB, "scrape_interval": INTERVAL, "static_configs": [{"targets": [target]}]}
        files = {"global": {"evaluation_interval": "1s"}, "rule_files": [str(rules)]} if rules else {}
        configuration.write_text(json.dumps({"scrape_configs": [job], **files}))
        argv = [
            program("prometheus") or "prometheus",
            f"--config.file={configuration}",
            f"--storage.tsdb.path={directory / 'data'}",
            f"--web.listen-address={address}:{port}",
        ]
        server = Prometheus(f"http://{address}:{port}")
        with running(argv, directory / "prometheus.log", server.scraped):  # 5 s: so often does it look for targets
            yield server


@contextmanager
def _offered(file: Path) -> Iterator[str]:
    """Serve one file at any path, as it is at that moment; the address and port of the server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_File, file.read_bytes)) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


class _File(BaseHTTPRequestHandler):
    """Answers every GET with what ``read`` gives."""

    def __init__(self, read: Callable[[], bytes], *given: object) -> None:
        self._read = read
        super().__init__(*given)  # type: ignore[arg-type] # the server's own: a socket, its peer, itself

    def do_GET(self) -> None:
        """The name is the base class's."""
        body = self._read()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing: a test has its own words."""
