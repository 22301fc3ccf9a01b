"""What commands print that only write files: ``report``, ``init`` and ``measure --kit``."""

import sys
from collections.abc import Mapping
from typing import Any


def render_written(document: Mapping[str, Any]) -> None:
    """The path of each file, on a line of its own."""
    for path in document["written"]:
        sys.stdout.write(f"wrote {path}\n")
