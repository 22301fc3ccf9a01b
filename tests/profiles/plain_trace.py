"""A simple scan of Chrome traces, which the fast one must equal: ``json`` reads the whole file."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from estimator.profiles.dump import Dump


def scan(dump: Dump, event: type, metadata: dict[str, Any]) -> Iterator[list[Any]]:
    """Yield the events in batches of one; all other keys of the file go to ``metadata``."""
    whole = json.loads(bytes(dump.content))
    events = whole if isinstance(whole, list) else whole.pop("traceEvents")
    metadata.update(whole if isinstance(whole, dict) else {})
    for one_event in events:
        yield [msgspec.json.decode(json.dumps(one_event), type=event)]
