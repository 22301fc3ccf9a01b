"""The printed output of ``estimator memory``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from estimator.cli import terminal
from estimator.core import units

MEANINGS = {
    "parameters": "weights and biases, with a copy for products in a narrower format",
    "gradients": "those that live at the fullest moment",
    "optimizer": "states of the optimizer, such as moments",
    "activations": "kept from the forward for the backward pass, with the batch of data",
    "workspace": "what else lives at the fullest moment: temporaries of ops and of the update",
    "buckets": "gradients and weights that travel among copies of the model",
    "allocator": "rounding and caching by the framework's allocator",
    "reserve": "context of the driver, code of libraries",
}
IN_INFERENCE = {
    "parameters": "weights and biases, in the format of the products",
    "activations": "results that live at the fullest moment, with the batch of data",
}


def render_memory(document: Mapping[str, Any]) -> None:
    """The parts of more than 0 bytes with their sum, then whether it fits."""
    batch = f", batch {document['batch_size']} of each copy of the model" if document["batch_size"] else ""
    on = f" on {document['device']}" if document["device"] else ""
    title = f"memory of one device: {document['workload']}{on}, {document['mode']}{batch}"
    table = terminal.new_table(title, "part", "memory", "what it is", right=("memory",))
    meanings = MEANINGS | (IN_INFERENCE if document["mode"] == "inference" else {})
    for name, meaning in meanings.items():
        if document[name]:
            table.add_row(name, _size(document[name]), meaning)
    table.add_row("total", _size(document["total"]), _interval(document["total_interval"]))
    terminal.print_table(table)
    out = terminal.console()
    if document["capacity"] is not None:
        verb = "fits" if document["fits"] else "does not fit"
        out.print(f"{verb}: {document['device']} has {_size(document['capacity'])}{_largest(document)}")
    terminal.print_notes(document["notes"])


def _largest(document: Mapping[str, Any]) -> str:
    largest = document["largest_batch"]
    if largest is None:
        return ""
    return (
        f"; by the middle of the interval the largest batch that fits is {largest:,}"
        if largest
        else "; not even a batch of 1 fits"
    )


def _interval(interval: Mapping[str, Any]) -> str:
    if interval["low"] is None:
        return "sum of the parts"
    return f"sum of the parts, 90 % between {_size(interval['low'])} and {_size(interval['high'])}"


def _size(size: float) -> str:
    return units.show(size, "B", 4, binary=True)
