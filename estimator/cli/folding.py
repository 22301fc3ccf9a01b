"""Texts in the columns of a terminal: how wide they are, and folded between words or cut in the middle to a width."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

CURSOR = dict.fromkeys(map(ord, "\a\b\v\f\r"))
WORD = re.compile(r"\s*\S+\s*")


def cell_width(text: str) -> int:
    """How many columns of a terminal a text takes: wide letters two, marks on other letters none."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(bool(unicodedata.combining(letter)) for letter in text)


def text_width(texts: Iterable[str]) -> int:
    """The width of the longest line."""
    return max((cell_width(line) for text in texts for line in text.split("\n")), default=0)


def printable(text: str) -> str:
    """A text without what would move a terminal's cursor."""
    return text.translate(CURSOR).expandtabs()


def cut(text: str, width: int) -> str:
    """A text of one line with an ellipsis in its middle, where it is too wide; a text of several lines as it is."""
    if cell_width(text) <= width or "\n" in text:
        return text
    head = _fitting(text, max(1, width // 2))
    tail = next(
        (n for n in range(head, len(text)) if cell_width(text[n:]) < width - cell_width(text[:head])), len(text)
    )
    return f"{text[:head]}…{text[tail:]}"


def fold(text: str, width: int) -> list[str]:
    """The lines of a text, folded between words; a word that is too long by itself is folded too."""
    return [part for line in text.split("\n") for part in _folded(line, width)]


def _folded(line: str, width: int) -> list[str]:
    if cell_width(line) <= width:
        return [line]
    parts, room = [""], width
    for word in WORD.findall(line):
        if parts[-1] and cell_width(word.rstrip()) > room:
            parts.append("")
            room = width
        while cell_width(word.rstrip()) > room:
            place = _fitting(word, room)
            parts[-1] += word[:place]
            parts.append("")
            word, room = word[place:], width
        parts[-1] += word
        room -= cell_width(word)
    return [part.rstrip() for part in parts]


def _fitting(word: str, room: int) -> int:
    """How many characters of a word there is room for, at least one."""
    return next((n for n in range(len(word), 1, -1) if cell_width(word[:n]) <= room), 1)
