"""What ``--check`` prints of the catalogue's files."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from estimator.cli import terminal


def render_check(document: Mapping[str, Any], what: str) -> None:
    """The faults on stderr, each with the name of its rule, and how many ``what`` (devices, systems) were checked."""
    for fault, finding in zip(document["faults"], document["findings"], strict=True):
        sys.stderr.write(f"{fault} [{finding['rule']}]\n" if finding["rule"] else f"{fault}\n")
    checked, faults = document["checked"], len(document["faults"])
    files = what.removesuffix("s") if checked == 1 else what
    terminal.console().print(f"{checked} {files} checked, {faults} fault{'s' * (faults != 1)}")
