"""The printed output of ``--check``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from estimator.cli import terminal
from estimator.core import units


def render_check(document: Mapping[str, Any], what: str) -> None:
    """Print faults with their rules on stderr, and the number of ``what`` (devices, systems) checked."""
    for fault, finding in zip(document["faults"], document["findings"], strict=True):
        sys.stderr.write(f"{fault} [{finding['rule']}]\n" if finding["rule"] else f"{fault}\n")
    checked, faults = document["checked"], len(document["faults"])
    files = what.removesuffix("s") if checked == 1 else what
    terminal.console().print(f"{checked} {files} checked, {faults} {units.plural('fault', faults)}")
