"""What training keeps from step to step: parameters, and the states of the optimizer."""

from __future__ import annotations

import csv
import math
from functools import cache
from importlib.resources import files

import numpy as np
import pandas as pd

from estimator.core.errors import EstimatorError
from estimator.core.notes import Note
from estimator.core.number_formats import WIDE, format_of_updates
from estimator.core.schema import complete
from estimator.core.types import ITEMSIZE, Variables, Workload
from estimator.work import shapes
from estimator.work.gradients import bucket_bytes, gradient_elements
from estimator.work.operators import is_update
from estimator.work.read_variables import used_before
from estimator.work.repeated_passes import calls_with_own_weights
from estimator.work.tensors import in_phase
from estimator.work.weights import KERNEL, takes_weights, weights_taken

UNKNOWN_SLOTS = 2  # of an optimizer that no table knows: as many as Adam's
NEAR = 0.1  # of a whole number of states
NOT_TRAINED = "{count:,} parameters are not trained: they have no gradients and no states of the optimizer"
NARROW = (
    "most parameters, gradients and states are in {format}, as the profile shows; 'parameter_precision: fp32' in its "
    "workload.yaml states wider ones"
)
MOST_SLOTS = 4  # more updates of a parameter in one step are no states


@cache
def slots_by_optimizer() -> dict[str, float]:
    """States of the parameters' size that each optimizer keeps, as optimizer_slots.csv lists them with their source."""
    text = (files("estimator.work") / "optimizer_slots.csv").read_text(encoding="utf-8")
    return {row["optimizer"]: float(row["slots"]) for row in csv.DictReader(text.splitlines())}


def step_variables(work: pd.DataFrame, workload: Workload, precision: str) -> Variables:
    """Parameters and states [B] of a step whose products run in ``precision``.

    Products in a narrower format than that in which training keeps the parameters, mostly fp32, have a copy of them.
    Weights that are not trained are there in the products' format alone.
    Raises EstimatorError where nothing tells the number of parameters.
    """
    count, notes = _parameters(work, workload)
    not_trained = float(workload.frozen_parameters or 0)
    taken = min(ITEMSIZE.get(name, ITEMSIZE[WIDE]) for name in precision.split("/"))
    itemsize = kept_itemsize(work, workload, taken)
    frozen, block = taken * not_trained, taken * largest_block(work, count, not_trained)
    if workload.mode != "training":
        return Variables(count * taken, 0.0, 0.0, 0.0, block, frozen=frozen, notes=notes)
    if workload.frozen_parameters:
        notes = (*notes, Note("weights-not-trained", NOT_TRAINED.format(count=workload.frozen_parameters)))
    if itemsize < ITEMSIZE[WIDE]:
        notes = (*notes, Note("parameters-narrow", NARROW.format(format=kept_format(work, workload))))
    slots, slot_notes = _slots(work, workload, count)
    copies = count * taken if taken < itemsize else 0.0
    gradients = count * itemsize
    of_block = taken * largest_block(work, count)
    return Variables(
        gradients + copies, slots * gradients, slots, gradients, block, of_block, frozen, (*notes, *slot_notes)
    )


def _parameters(work: pd.DataFrame, workload: Workload) -> tuple[float, tuple[Note, ...]]:
    """How many parameters are trained: as stated, else by the step's products; and a note on that."""
    count = workload.parameters or _count_parameters(work)
    if not count:
        raise EstimatorError(f"{workload.name}: the parameters are not known; add parameters to its workload.yaml")
    if workload.parameters is not None:
        return count, ()
    return count, (Note("parameters-counted", f"{count:,.0f} parameters are counted from the step's products"),)


def kept_itemsize(work: pd.DataFrame, workload: Workload, taken: float) -> float:
    """Bytes of a weight as training keeps it: no narrower than products take it [B]."""
    return max(ITEMSIZE[kept_format(work, workload)], taken)


def kept_format(work: pd.DataFrame, workload: Workload) -> str:
    """The number format in which training keeps parameters: as stated, else that of the updates.

    fp32 where no update is known, or the products' format where that is wider.
    """
    if workload.parameter_precision is not None:
        return workload.parameter_precision
    if ITEMSIZE[workload.precision] > ITEMSIZE[WIDE]:
        return workload.precision
    return format_of_updates(work) or WIDE


def largest_block(work: pd.DataFrame, parameters: float, frozen: float = 0.0) -> float:
    """Elements of the weights of the largest block, or of what is outside blocks; at most half of all parameters.

    A model without blocks has buckets in their place.
    """
    if work["block"].isna().all():
        elements = bucket_bytes((parameters + frozen) * ITEMSIZE[WIDE]) / ITEMSIZE[WIDE]
    else:
        made = gradient_elements(work)
        held = pd.Series(made if made.any() and not frozen else weights_taken(work), work.index)
        elements = float(held.groupby(work["block"], dropna=False).sum().max())
    return min(elements, (parameters + frozen) / 2.0)


def _slots(work: pd.DataFrame, workload: Workload, count: float) -> tuple[float, tuple[Note, ...]]:
    """The states of the optimizer: as stated, else by the variables that the update writes, else by its name."""
    if workload.optimizer_slots is not None:
        return workload.optimizer_slots, ()
    counted = _updated_elements(work, workload) / count - 1.0
    if np.abs(counted - np.rint(counted)) < NEAR and 0 <= np.rint(counted) <= MOST_SLOTS:  # never where it is NaN
        return float(np.rint(counted)), ()
    name = workload.optimizer.name.lower() if workload.optimizer else None
    if name in slots_by_optimizer():
        return slots_by_optimizer()[name], ()
    named = f"the states of the optimizer {name} are not known" if name else "the optimizer is not named"
    text = f"{named}: {UNKNOWN_SLOTS} states for each parameter are taken"
    return UNKNOWN_SLOTS, (Note("optimizer-unknown", text),)


def _updated_elements(work: pd.DataFrame, workload: Workload) -> float:
    """Elements of variables that the optimizer writes in one step; NaN where its rows do not tell."""
    rows = in_phase(work, "optimizer") & is_update(work)
    parsed = shapes.parse_ops(work, workload.batch_size)
    written = 0.0
    for row in np.flatnonzero(rows.to_numpy(dtype=bool)):
        op = parsed.of_row(row)
        sizes = [math.prod(shape) for shape in op.operands if shape]
        if not sizes or "lists" in op.attributes:
            return math.nan
        written += max(sizes) * (op.type_rule.properties.writes if op.type_rule.operator != "assign" else 1)
    return written or math.nan


def _count_parameters(work: pd.DataFrame) -> float:
    """Elements of the weights of forward products and convolutions, and of one bias for each of their columns.

    Where a profile tells the places of a row's calls, each is one of a layer with weights of its own. Weights that
    several products take, as those of a layer that runs twice or again in the backward pass, count once.
    """
    takes = takes_weights(work) & complete(work, ("n", "k"))
    convolves = in_phase(work, "forward") & complete(work, ("conv_k", "conv_r", "conv_s"))
    calls = calls_with_own_weights(work, takes | convolves)
    first = ~used_before(work, takes | convolves)
    products, convolutions = work[takes & first], work[convolves & first]
    dense = float(((products["k"] + 1) * products["n"] * calls[products.index]).sum())
    number = {name: convolutions[name].astype(float).fillna(1.0) for name in KERNEL}
    kernel = number["conv_t"] * number["conv_r"] * number["conv_s"] * number["conv_c"] / number["groups"]
    return dense + float(((kernel + 1) * number["conv_k"] * calls[convolutions.index]).sum())
