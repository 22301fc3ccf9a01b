"""Which part of the training step an op belongs to, from what its framework puts into names and types."""

from __future__ import annotations

import re

import pandas as pd

UPDATE = re.compile(r"^(Resource)?(Sparse)?Apply|^Assign(Add|Sub)")  # types of an optimizer's ops
TYPE_RULES = (
    ("optimizer", UPDATE),
    ("input", re.compile(r"Iterator|Queue|^Placeholder|^_Arg$|Dataset|^MEMCPYHtoD|InfeedEnqueue")),
)
NAME_RULES = (
    (
        "backward",
        re.compile(r"(^|/)gradients(_\d+)?/|gradient_tape/|transpose\(jvp|_grad/"),
    ),  # also below an optimizer's scope
    (
        "optimizer",
        re.compile(r"(?i)(^|/)(sgd|momentum|adam\w*|ada(grad|delta|max)|rm_?sprop|ftrl|lamb|lion|nadam)(_\d+)?/"),
    ),
    ("optimizer", re.compile(r"(^|/)(GradientDescent\w*|\w*Optimizer\w*|update_[^/]+)(/|$)")),
    ("forward", re.compile(r"jvp\(")),  # JAX marks what it differentiates
    ("input", re.compile(r"(?i)(^|/)(one_?shot_?)?iterator|get_?next|(^|/)(fifo_)?queue")),
)


def fill(ops: pd.DataFrame) -> pd.DataFrame:
    """OPS with the phase where the dump has none: forward where nothing else fits and backward ops are marked."""
    phase = of(ops["op"], ops["op_type"])
    return ops.assign(phase=ops["phase"].fillna(phase))


def fill_forward(ops: pd.DataFrame) -> pd.DataFrame:
    """OPS of a run of the forward pass alone: what is of no other phase is of it."""
    return ops.assign(phase=ops["phase"].fillna("forward"))


def of(names: pd.Series, types: pd.Series) -> pd.Series:
    """The phase of ops by their names and types; NA where a dump marks no backward ops and nothing else fits.

    What a dump leaves unmarked is forward, unless it marks forward ops too: then it is unknown.
    """
    found = _first_match(types, TYPE_RULES)
    found = found.fillna(_first_match(names, NAME_RULES))
    unmarked = "unknown" if (found == "forward").any() else "forward"
    return found.fillna(unmarked) if (found == "backward").any() else found


def _first_match(texts: pd.Series, rules: tuple[tuple[str, re.Pattern[str]], ...]) -> pd.Series:
    """The phase of the first rule that each text matches; every distinct text is judged once."""
    known = {
        text: next((phase for phase, pattern in rules if pattern.search(text)), pd.NA)
        for text in texts.dropna().unique()
    }
    return texts.map(known).astype("string[python]")
