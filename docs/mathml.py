"""Equations as MathML, which browsers show without a script from elsewhere."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert


def inline(translator: Any, node: nodes.math) -> None:
    """An equation in a sentence."""
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def display(translator: Any, node: nodes.math_block) -> None:
    """An equation by itself, which scrolls where it is wider than the page."""
    translator.body.append(f'<div class="equation">{convert(node.astext(), display="block")}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Add the renderer ``mathml``."""
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
