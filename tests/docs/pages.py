"""The pages that people read, as data: their code blocks, the sentences of their prose, and their links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.conftest import ROOT

MADE = {"_parts", "_build"}  # folders of what the build makes
COMMENT = re.compile(r"<!--\s*(?P<word>not run|reads|output):\s*(?P<what>.*?)\s*-->", re.S)
NO_PROSE = re.compile(  # front matter, equations, lines of directives, comments
    r"\A---\n.*?\n---\n|^\$\$.*?^\$\$[^\n]*$|^:::.*?$|^\([\w-]+\)=$|<!--.*?-->", re.S | re.M
)
ENDS = re.compile(r"(?<=[.!?])[\"”’')\]*]*\s+(?=[\"“‘'(\[*]*[A-Z0-9`×])")
ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|et al|eqs?|figs?|vs|cf|p|pp|approx|ed|eds|vol|no)\.$", re.I)
HIDDEN = {"heading_open", "th_open", "td_open"}  # what stands in these is no sentence


@dataclass(frozen=True)
class Block:
    """A block of code: its language, and what the comment in front of it says."""

    page: Path
    line: int
    language: str
    text: str
    not_run: str | None = None  # the reason
    reads: str | None = None  # what reads a block of YAML
    output: str | None = None  # what prints the lines of the block; … stands for lines left out

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@dataclass(frozen=True)
class Sentence:
    """A sentence of a page; code and equations count as one word each."""

    page: Path
    line: int
    text: str

    @property
    def words(self) -> int:
        """How many words it has: what holds a letter or a digit."""
        return sum(any(letter.isalnum() for letter in word) for word in self.text.split())

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}: {self.words} words: {self.text}"


def pages() -> list[Path]:
    """README, CONTRIBUTING and all pages of docs that people write."""
    top = [ROOT / name for name in ("README.md", "CONTRIBUTING.md") if (ROOT / name).exists()]
    return [*top, *sorted(path for path in (ROOT / "docs").rglob("*.md") if not MADE & set(path.parts))]


def blocks(page: Path) -> Iterator[Block]:
    """Yield the blocks of code of a page, without directives of Sphinx."""
    tokens = _tokens(page.read_text(encoding="utf-8"))
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.type == "fence" and not token.info.startswith("{"):
            comment = COMMENT.search(before.content) if before is not None and before.type == "html_block" else None
            marks = {comment["word"].replace(" ", "_"): comment["what"]} if comment else {}
            yield Block(page, (token.map or [0])[0] + 1, token.info.strip(), token.content, **marks)


def sentences(page: Path) -> Iterator[Sentence]:
    """Yield the sentences of a page's paragraphs and lists; headings, tables and code are none."""
    text = NO_PROSE.sub(lambda actual: "\n" * actual[0].count("\n"), page.read_text(encoding="utf-8"))
    tokens = _tokens(text)
    for before, token in pairwise(tokens):
        if token.type == "inline" and before.type not in HIDDEN:
            for sentence in split(_plain(token)):
                yield Sentence(page, (token.map or [0])[0] + 1, sentence)


def split(text: str) -> list[str]:
    """The sentences of a paragraph; a colon ends none."""
    actual: list[str] = []
    for part in ENDS.split(text.strip()):
        if actual and ABBREVIATION.search(actual[-1]):
            actual[-1] += f" {part}"
        elif part:
            actual.append(part)
    return actual


def _tokens(text: str) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(text)


def _plain(token: Token) -> str:
    """The text of a paragraph: code is one word, a picture none, a link its own text."""
    words = {"code_inline": "`code`", "softbreak": " ", "hardbreak": " ", "image": ""}
    text = "".join(words.get(child.type, child.content) for child in token.children or [])
    return re.sub(r"\$[^$]+\$", "equation", " ".join(text.split()))


def links(page: Path) -> Iterator[tuple[int, str]]:
    """Yield the targets of a page's links and pictures, with the line of their paragraph."""
    for token in _tokens(page.read_text(encoding="utf-8")):
        for child in token.children or []:
            target = child.attrGet("href") or child.attrGet("src")
            if target:
                yield (token.map or [0])[0] + 1, str(target)
