"""Take the pictures of docs/gallery.md: python docs/pictures.py [STUDY...]

Renders each shipped study, or those named, in headless Chromium, and keeps the first screen of its report as
``gallery/STUDY.png``. It needs the extra ``dev`` and some minutes, and is run by hand where a report looks different.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from shutil import which

from PIL import Image
from playwright.sync_api import sync_playwright

from estimator.core import library
from estimator.reports.html import write_report
from estimator.studies.run import run_study

PICTURES = Path(__file__).parent / "gallery"
WIDTH, HEIGHT = 1280, 900  # pixels
COLOURS = 64
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def main(names: Sequence[str]) -> None:
    """Render and keep."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in names or library.names("reports", "*"):
            write_report(run_study(name), Path(folder))
            picture = Image.open(BytesIO(screen(Path(folder) / "report.html")))
            picture.convert("RGB").quantize(COLOURS).save(PICTURES / f"{name}.png", optimize=True)


def screen(report: Path) -> bytes:
    """The first screen of a page, as PNG."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=next(filter(None, map(which, BROWSERS))), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(report.resolve().as_uri())
        picture = page.screenshot()
        browser.close()
    return bytes(picture)


if __name__ == "__main__":
    main(sys.argv[1:])
