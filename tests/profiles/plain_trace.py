"""The plain way to scan a Chrome trace, which the fast one must equal: all of it through ``json``, event by event."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from estimator.profiles.dump import Dump


def scan(dump: Dump, event: type, metadata: dict[str, Any]) -> Iterator[list[Any]]:
    """The events in batches of one; what else the file says goes to ``metadata``."""
    whole = json.loads(bytes(dump.content))
    found = whole if isinstance(whole, list) else whole.pop("traceEvents")
    metadata.update(whole if isinstance(whole, dict) else {})
    for one in found:
        yield [msgspec.json.decode(json.dumps(one), type=event)]
