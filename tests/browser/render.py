"""Render a report in headless Chromium: python tests/browser/render.py REPORT.html OUT_DIR

Writes a screenshot at 1280 and one at 400 pixels width, and prints every network request and console message that the
page should not have made.
"""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

WIDTHS = (1280, 400)
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def render(report: Path, folder: Path, *, full_page: bool = True) -> list[str]:
    """Write the screenshots, of the whole page or of its first screen; return what the page should not have done."""
    complaints: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        for width in WIDTHS:
            page = browser.new_page(viewport={"width": width, "height": 900})
            _listen(page, report, complaints)
            page.goto(report.resolve().as_uri())
            complaints += _overflow(page, width)
            page.screenshot(path=folder / f"report-{width}.png", full_page=full_page)
            page.close()
        browser.close()
    return complaints


def _listen(page: Page, report: Path, complaints: list[str]) -> None:
    page.on("console", lambda message: complaints.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
    page.on("request", lambda request: complaints.extend(_outside(request.url, report)))


def _outside(url: str, report: Path) -> list[str]:
    own = url == report.resolve().as_uri() or url.startswith("data:")
    return [] if own else [f"request: {url}"]


def _overflow(page: Page, width: int) -> list[str]:
    wide = page.evaluate("document.documentElement.scrollWidth")
    return [f"layout: the page is {wide} pixels wide in a window of {width}"] if wide > width else []


def wide_tables(report: Path, section: str, width: int) -> list[str]:
    """The tables of a section that scroll sideways in a window of this width, each by its first cells."""
    scrolls = (
        f"[...document.querySelectorAll('#{section} .scroll')].filter(each => each.scrollWidth > each.clientWidth)"
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.goto(report.resolve().as_uri())
        actual: list[str] = page.evaluate(f"{scrolls}.map(each => each.textContent.slice(0, 60))")
        browser.close()
    return actual


if __name__ == "__main__":
    target = Path(sys.argv[2])
    target.mkdir(parents=True, exist_ok=True)
    actual = render(Path(sys.argv[1]), target)
    sys.stdout.write("\n".join(actual or [f"no complaints; screenshots in {target}"]) + "\n")
    sys.exit(bool(actual))
