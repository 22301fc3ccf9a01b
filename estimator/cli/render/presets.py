"""The printed output of ``estimator presets``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from estimator.cli import terminal


def render_presets(document: Mapping[str, Any]) -> None:
    """Each preset in full."""
    terminal.console().print("\n\n".join(describe(preset) for preset in document["presets"]))


def describe(preset: Mapping[str, Any]) -> str:
    """A preset's name, definition in words, what a unit counts, and its sources, on a line each."""
    name, of_rates = preset["mean"], preset["of"] == "rates"
    mean = f"ratio of {name} means of the rates" if of_rates else f"{name} mean of the ratios"
    weights = "weighted" if preset["weighted"] else "unweighted"
    sources = (f"  {source['status']}: {source['cite']}: {source['says']}" for source in preset["sources"])
    return "\n".join((
        f"{preset['name']}: {preset['title']}; {mean}, {weights}, level {' or '.join(preset['levels'])}",
        f"  {preset['equation']}",
        f"  a unit is {preset['counts']}",
        *sources,
    ))  # fmt: skip
