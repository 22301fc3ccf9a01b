"""Results as HTML for notebooks: the tables of text that the command line prints, and its notes folded away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from estimator.reports.summaries import TextTable

LONG = 44  # letters of a text that may be folded


def to_html(title: str, after: str, tables: Sequence[TextTable], notes: Mapping[str, Sequence[str]]) -> str:
    """A title with some words after it, tables, and lists of sentences under their headings; all texts are escaped."""
    parts = [f"<p><b>{escape(title)}</b> {escape(after)}</p>", *map(_table, tables)]
    return f"<div>{''.join(parts)}{''.join(_notes(name, sentences) for name, sentences in notes.items())}</div>"


def _table(table: TextTable) -> str:
    caption = f'<caption style="text-align: left">{escape(table.title)}</caption>' if table.title else ""
    heads = _cells("th", table.headings, table)
    rows = "".join(f"<tr>{_cells('td', row, table)}</tr>" for row in table.rows)
    return f'<table style="margin: 0.5em 0">{caption}<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'


def _cells(tag: str, texts: Sequence[str], table: TextTable) -> str:
    sides = ["right" if heading in table.right else "left" for heading in table.headings]
    return "".join(_cell(tag, text, side) for text, side in zip(texts, sides, strict=True))


def _cell(tag: str, text: str, side: str) -> str:
    style = f"text-align: {side}; padding: 0.1em 0.5em{'' if len(text) > LONG else '; white-space: nowrap'}"
    return f'<{tag} style="{style}">{escape(text)}</{tag}>'


def _notes(name: str, sentences: Sequence[str]) -> str:
    if not sentences:
        return ""
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return f"<details><summary>{len(sentences)} {escape(name)}</summary><ul>{items}</ul></details>"
