"""The phase of the training step that an op belongs to, from the names and types that frameworks use."""

from __future__ import annotations

import re

import pandas as pd

from estimator.core.attributes import OFTEN_A_TURN, ONCE_A_TURN

UPDATE = re.compile(r"^(Resource)?(Sparse)?Apply|^Assign(Add|Sub)")  # types of an optimizer's ops
TYPE_RULES = (
    ("optimizer", UPDATE),
    ("input", re.compile(r"Iterator|Queue|^Placeholder|^_Arg$|Dataset|^MEMCPYHtoD|InfeedEnqueue")),
)
GRADIENT = re.compile(r"(?:Backprop(?:Input|Filter)?|Grad)(?:V\d)?$")  # types of gradients
VIEW_BY_TYPE = 0.8  # share of rows whose name is their type, beyond which all such rows are whole types
GRAPPLER = r"(Arithmetic|Layout|Dependency|Loop|Memory)Optimizer"  # TensorFlow's rewriters of graphs
BACKWARD = re.compile(r"(^|/)gradients(_\d+)?/|gradient_tape/|transpose\(jvp|_grad/")  # also in an optimizer's scope
NAME_RULES = (
    ("backward", BACKWARD),
    (
        "backward",
        re.compile(r"^((Stateful)?PartitionedCall(_\d+)?/)*AddN(_\d+)?$"),
    ),  # a tape sums gradients in no scope
    (
        "optimizer",
        re.compile(r"(?i)(^|/)(sgd|momentum|adam\w*|ada(grad|delta|max)|rm_?sprop|ftrl|lamb|lion|nadam)(_\d+)?/"),
    ),
    ("optimizer", re.compile(rf"(^|/)(?!{GRAPPLER})(GradientDescent\w*|\w*Optimizer\w*|update_[^/]+)(/|$)")),
    ("forward", re.compile(r"jvp\(")),  # JAX marks what it differentiates
    ("input", re.compile(r"(?i)(^|/)(one_?shot_?)?iterator|get_?next|(^|/)(fifo_)?queue")),
)
LOOP, DIFFERENTIATED = "while/body/", "jvp("  # in JAX's names of ops: of a loop's, and of those with gradients


def fill(ops: pd.DataFrame) -> pd.DataFrame:
    """OPS with the phase of each op where the dump has none."""
    phase = classify(ops["op"], ops["op_type"])
    return ops.assign(phase=ops["phase"].fillna(phase))


def turns(names: pd.Series) -> pd.Series:
    """The attribute of ops that JAX runs in a loop around forward and backward pass, such as one over micro-batches.

    NA for other ops; ``names`` are the ops' names in the program.
    """
    parts = names.fillna("").str.partition(DIFFERENTIATED)
    around = parts[0].str.contains(LOOP, regex=False) & (parts[1] != "")
    often = parts[2].str.contains(LOOP, regex=False)
    return often.map({True: OFTEN_A_TURN, False: ONCE_A_TURN}).astype(names.dtype).where(around)


def fill_forward(ops: pd.DataFrame) -> pd.DataFrame:
    """OPS of an inference run: ops without a phase are forward."""
    return ops.assign(phase=ops["phase"].fillna("forward"))


def classify(names: pd.Series, types: pd.Series) -> pd.Series:
    """The phase of ops by their names and types.

    Ops that match no rule are forward where the dump marks backward ops only, unknown where it marks forward ops too,
    and NA where it marks no backward ops. In a view by type, rows may hold ops of both passes: they are unknown, but
    for gradients.
    """
    phases = _first_match(types, TYPE_RULES)
    phases = phases.fillna(_first_match(names, NAME_RULES))
    if not (phases == "backward").any():
        return phases
    is_type = are_whole_types(names, types)
    is_gradient = is_type & types.str.contains(GRADIENT).fillna(False)
    unmarked = "unknown" if (phases == "forward").any() else "forward"
    phases = phases.mask(phases.isna() & is_gradient, "backward")
    return phases.mask(phases.isna() & is_type, "unknown").fillna(unmarked)


def are_whole_types(names: pd.Series, types: pd.Series) -> pd.Series:
    """Whether each row is all ops of a type; none where the dump is no view by type."""
    is_type = (names.str.split(" ", n=1).str[0] == types).fillna(False)  # shapes may follow
    return is_type & (is_type.mean() > VIEW_BY_TYPE)


def _first_match(texts: pd.Series, rules: tuple[tuple[str, re.Pattern[str]], ...]) -> pd.Series:
    """The phase of the first rule that each text matches; each distinct text is matched once."""
    phase_of_text = {
        text: next((phase for phase, pattern in rules if pattern.search(text)), pd.NA)
        for text in texts.dropna().unique()
    }
    return texts.map(phase_of_text).astype("string[python]")
