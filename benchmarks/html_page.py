"""Cost of the HTML report: ``python -m benchmarks.html_page [--keep DIR] [PAGE.html ...]``.

Scans the demo's cluster, multiplies its endpoints, each with names, addresses, certificates and times of its own, and
writes the page of 58, 500, 2,000 and 5,000 endpoints. Then Chromium opens each page, and each PAGE of another release
beside them, until it is usable: loaded, with its list, and after a click that filters this list.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from itertools import chain, cycle, islice
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from scanner.model.inventory import CertificateReport
from scanner.model.report import EndpointRow, Report, Summary
from scanner.report.formats import html

_SIZES = (58, 500, 2000, 5000)
_CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_USABLE = """() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(
    document.getElementById('count').textContent))))"""


def main() -> int:
    """Exit code 0: a benchmark informs, it does not judge."""
    parser = ArgumentParser(prog="python -m benchmarks.html_page", description=__doc__)
    parser.add_argument("--keep", type=Path, help="directory for the pages")
    parser.add_argument("pages", nargs="*", type=Path, help="pages of another release, to measure beside these")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="adhere-") as temporary:
        directory = options.keep or Path(temporary)
        directory.mkdir(exist_ok=True)
        document = scanned(Path(temporary))
        pages = [write(document, size, directory / f"report-{size}.html") for size in _SIZES]
        opened([*pages, *options.pages])
    return 0


def scanned(directory: Path) -> dict[str, Any]:
    """Return the JSON report of the demo's cluster."""
    command = [sys.executable, "-m", "scanner", "demo", "--quiet", "--output", str(directory)]
    subprocess.run(command, capture_output=True, check=False)
    found: dict[str, Any] = json.loads((directory / "report.json").read_text())
    return found


def rows(document: dict[str, Any], number: int) -> Iterator[EndpointRow]:
    """Yield ``number`` endpoints: those of the scan, and copies with names, addresses and times of their own. Half of
    the copies fail or are inconclusive: the page shows more of these."""
    found: list[EndpointRow] = document["endpoints"]
    unsettled = [row for row in found if row["verdict"] in ("fail", "inconclusive")]
    mixed = [*found, *islice(cycle(unsettled), len(found) - 2 * len(unsettled))]
    copies = (_copy(row, turn) for turn, row in enumerate(cycle(mixed), start=1))
    return islice(chain(found, copies), number)


def _copy(row: EndpointRow, turn: int) -> EndpointRow:
    chance = random.Random(f"{turn} {row['instance']}")
    text = json.dumps(row)
    owner = row["owner"]
    text = text.replace(json.dumps(owner["name"])[1:-1], f"{owner['name']}-{turn}")
    if row["standing"] == "user" and owner["namespace"]:
        text = re.sub(rf"\b{re.escape(owner['namespace'])}\b", f"{owner['namespace']}-{turn % 40}", text)
    text = text.replace(row["address"], f"10.{turn % 250}.{chance.randrange(250)}.{chance.randrange(1, 250)}")
    text = re.sub(r"\((\d+) ms\)", lambda _: f"({chance.randrange(1, 40)} ms)", text)
    text = re.sub(r'"sha256": "(\w+)"', lambda found: f'"sha256": "{_digest(found[1], turn)}"', text)
    copied: EndpointRow = json.loads(text)
    return copied


def _digest(digest: str, turn: int) -> str:
    return sha256(f"{digest} {turn}".encode()).hexdigest()


def report(document: dict[str, Any], read: Callable[[], Iterator[EndpointRow]]) -> Report:
    """Return a report of these rows, with the certificates and cluster-wide findings of the scan."""
    summary = Summary()
    for row in read():
        summary.add(row)
    document["coverage"]["endpoints"] = summary.endpoints
    head = {
        key: document[key] for key in ("scanner", "started", "finished", "cluster", "coverage", "rules", "findings")
    }
    listed = CertificateReport(summary=document["inventory"], rows=lambda: iter(document["certificates"]))
    return Report(**head, summary=summary, rows=read, certificates=listed)


def write(document: dict[str, Any], number: int, path: Path) -> Path:
    """Write the page of ``number`` endpoints."""
    made = list(rows(document, number))
    start = time.process_time()
    with path.open("w") as out:
        html.write(report(document, lambda: iter(made)), out)
    print(f"{path.name}: {time.process_time() - start:.1f} s of CPU, {path.stat().st_size / 1e6:.2f} MB")
    return path


def opened(pages: Iterable[Path]) -> None:
    """Open each page in Chromium, three times in turn, and print the median time until it is usable."""
    if _CHROMIUM is None:
        print("chromium is not installed: the pages are not opened")
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_CHROMIUM, args=["--headless", "--no-sandbox"])
        told = {page: [_usable(browser, page) for _ in range(3)] for page in pages}
        browser.close()
    for page, times in told.items():
        first, filtered, nodes = sorted(times)[1]
        print(f"{page.name}: list after {first:.2f} s, filtered after {filtered:.2f} s, {nodes} elements")


def _usable(browser: Browser, page: Path) -> tuple[float, float, int]:
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    tab.set_default_timeout(300_000)
    start = time.monotonic()
    tab.goto(page.resolve().as_uri(), wait_until="load")
    before = tab.evaluate(_USABLE)
    first = time.monotonic() - start
    tab.locator(".card.fail").click()
    while tab.evaluate(_USABLE) == before and time.monotonic() - start < 300:
        pass
    filtered = time.monotonic() - start
    nodes = int(tab.evaluate("document.querySelectorAll('*').length"))
    tab.close()
    return first, filtered, nodes


if __name__ == "__main__":
    sys.exit(main())
