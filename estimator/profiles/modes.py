"""Whether a dump is of a training or of inference, as far as the names and types of its ops tell.

A framework names the gradients that it derives, so that ops with names and no gradient among them are an inference's.
Where too little has a name, a view may list some ops alone, or JAX ran op by op, nobody knows: the run is what the
workload says.
"""

from __future__ import annotations

import re

import pandas as pd

from estimator.core.types import Workload
from estimator.profiles import phases

NAMED = 0.5  # least share of the ops' time, apart from that of input, for which a name tells
PROGRAM = r"^jit\(([^()]*)\)"  # how names of JAX begin
UNLISTED = "unlisted"  # the type of a row that stands for what a view does not list
COUNTS = re.compile(r"^AssignAdd")  # types of updates of weights, but of metrics and counters too


def with_mode(workload: Workload, is_inference: bool) -> Workload:
    """The workload as inference where its dump tells so, and it states no mode itself."""
    if "mode" in workload.model_fields_set or not is_inference:
        return workload
    return workload.model_copy(update={"mode": "inference"})


def is_inference(names: pd.Series, types: pd.Series, time_s: pd.Series) -> bool:
    """Whether ops are those of an inference: most of their time has a name, and none is a gradient or an update.

    Args:
        names: of the ops in the framework's program, NA where they have none.
        types: of the ops.
        time_s: of the ops; those of no time did not run.
    """
    ran = time_s > 0
    names, types, time_s = names[ran], types[ran], time_s[ran]
    phase = phases.classify(names, types)
    computes = ~(phase == "input").fillna(False)
    named_s = time_s[computes & names.notna()].sum()
    if not named_s > NAMED * time_s[computes].sum() or _lists_some(names, types) or _is_op_by_op(names, time_s):
        return False
    is_update = (phase == "optimizer") & ~types.str.contains(COUNTS).fillna(False)
    is_differentiated = phase.isin(["backward", "forward"]) | types.str.contains(phases.GRADIENT).fillna(False)
    return not (is_update.fillna(False) | is_differentiated).any()


def _is_op_by_op(names: pd.Series, time_s: pd.Series) -> bool:
    """Whether JAX compiled each op as a program, ``jit(add)/add``: no program took half of the time of all."""
    program = names.str.extract(PROGRAM, expand=False)
    of_programs = time_s.groupby(program).sum()
    return not of_programs.empty and bool(of_programs.max() < NAMED * of_programs.sum())


def _lists_some(names: pd.Series, types: pd.Series) -> bool:
    """Whether a view lists ops of some names alone, or types, which may be those that somebody asked for."""
    return bool((types == UNLISTED).any() or phases.are_whole_types(names, types).any())
