"""``docs/report.png``, the picture in the README: ``python -m tests.report.picture`` scans the demo's cluster and takes
it with Chromium."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Final

from playwright.sync_api import sync_playwright

from scanner.cli import run

PICTURE: Final = Path(__file__).parents[2] / "docs" / "report.png"


def take(page: Path, picture: Path) -> None:
    """Save the top of an HTML report as PNG."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        shown = browser.new_page(viewport={"width": 1100, "height": 680}, color_scheme="light")
        shown.goto(page.as_uri())
        shown.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        assert run(["demo", "--quiet", "--output", directory]) == 0
        take(Path(directory) / "report.html", PICTURE)
