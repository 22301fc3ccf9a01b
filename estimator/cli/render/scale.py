"""The printed output of ``estimator scale``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from estimator.cli import terminal
from estimator.core.files import write_text
from estimator.reports import summaries


def render_scale(document: Mapping[str, Any]) -> None:
    """A table with a row for each number of devices; where it is too wide, intervals stand below their numbers."""
    terminal.print_summary(summaries.scaling_table(document))
    terminal.console().print(summaries.scaling_legend(document))
    terminal.print_warnings(document["warnings"])
    terminal.print_notes(document["notes"])


def write_picture(path: Path, document: Mapping[str, Any]) -> None:
    """Draw rates and efficiency as SVG. Raises EstimatorError where the file cannot be written."""
    from estimator.reports.figures import scaling
    from estimator.reports.html import to_svg

    write_text(path, str(to_svg(scaling(document), "scaling")))
    terminal.print_notes([f"{path} is written"])
