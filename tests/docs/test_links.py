"""Links of README and docs: files and headings are there, addresses are well formed.

The build of the docs checks theirs too; it does not see README and CONTRIBUTING. Nothing here asks the network.
"""

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.conftest import ROOT
from tests.docs.pages import links, pages

MADE = ROOT / "docs" / "_parts"  # what only a build makes, and checks


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as forges and MyST make them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def fault(page: Path, target: str) -> str | None:
    """What is wrong with a link of a page."""
    parts = urlsplit(target)
    if parts.scheme:
        well_formed = parts.scheme in ("http", "https") and re.fullmatch(r"[\w-]+(\.[\w-]+)+(:\d+)?", parts.netloc)
        return None if well_formed else "is no address"
    path = (page.parent / parts.path).resolve() if parts.path else page
    if MADE in path.parents:
        return None
    if not path.exists():
        return "leads to no file"
    made = path.suffix == ".md" and MADE.name in path.read_text(encoding="utf-8")
    return None if not parts.fragment or made or parts.fragment in anchors(path) else "leads to no heading"


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert [f"{line}: {target} {fault(page, target)}" for line, target in links(page) if fault(page, target)] == []


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("https://www.top500.org/lists", None),
        ("https:/top500.org", "is no address"),
        ("nowhere.md", "leads to no file"),
        ("page.md#a-part-of-it", None),
        ("#another", "leads to no heading"),
    ],
)
def test_faults_of_links_are_found(target: str, expected: str | None, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A part, of it\n")
    assert fault(page, target) == expected
