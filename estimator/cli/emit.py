"""How every command prints its result: one JSON document for programs, a text for people."""

import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

Document = TypeVar("Document", bound=Mapping[str, Any])


def emit(document: Document, render: Callable[[Document], None], as_json: bool) -> None:
    """Print a command's result on stdout.

    Args:
        document: the result as plain data, which ``--json`` prints whole.
        render: prints the document for people; it may write notes on stderr.
        as_json: whether ``--json`` was given.
    """
    if not as_json:
        render(document)
        return
    from estimator.reports.documents import to_json

    sys.stdout.write(to_json(document))
