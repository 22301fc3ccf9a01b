"""Peak memory of generated perceptrons that were trained with Adam in fp32 by PyTorch on one card (GPUMemNet).

Each network becomes WORK of one training step from its widths, batch, activation, normalizations and dropouts; what it
keeps follows from the rules for any profile, and the parts add up as in ``estimator memory``. Two numbers, the reserve
and the allocator's factor, are fitted without the shape of networks that is judged. The judged columns hold bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from estimator.core.interval import bounds
from estimator.core.schema import WORK
from estimator.core.types import Floats, RunPlan, StepTensors, Variables, Workload
from estimator.rollup import memory
from estimator.rollup.memory import Range
from estimator.validation.tables import PublishedRows, as_numbers, read_columns
from estimator.work.kept_tensors import kept_of_steps

if TYPE_CHECKING:
    import pandas as pd

(FILE,) = FILES = ("memory/gpumemnet_mlp.csv.gz",)
PROBLEMS = {"peak-memory": "Peak memory of perceptrons, GPUMemNet"}
OP_CLASSES: tuple[str, ...] = ()
PARAMETERS_ONLY = "16 bytes a parameter"
MIB = 2.0**20
FRAMEWORK = "PyTorch"
ADAM_SLOTS, ITEMSIZE = 2.0, 4
NUMBERS = ("inputs", "outputs", "batch", "batch_norms", "dropouts", "parameters", "max_mem_mib")
ACTIVATIONS = {"ReLU": "relu", "Tanh": "tanh", "Softplus": "softplus", "GELU": "gelu", "Identity": ""}  # else general
SMALL = 100 * MIB  # of tensors: below it the reserve is most of the peak, above it the allocator's factor tells
ROUNDS, FAR = 10, 4.0  # of the fit, each without rows that many typical residuals away
ENDS = (0.05, 0.95)
DRAWS = 400


@dataclass(frozen=True)
class Fitted:
    """The reserve [B] and the allocator's factor, each with the ends of its interval."""

    reserve: Range
    allocator: Range


def read_networks(folder: str | Path) -> PublishedRows:
    """Read the table, with ``time_s``, the measured peak, and ``tensors``, what we count of each network [B].

    Raises EstimatorError where it lacks a column.
    """
    path = Path(folder) / FILE
    table = read_columns(path, (*NUMBERS, "device", "widths", "arch", "activation"))
    rows = as_numbers(table, path, *NUMBERS, counts=True)
    counted = count_tensors([{str(name): value for name, value in row.items()} for row in rows.to_dict("records")])
    return PublishedRows(rows.assign(time_s=rows["max_mem_mib"] * MIB, tensors=counted))


def count_tensors(networks: Sequence[Mapping[str, object]]) -> list[float]:
    """Bytes of parameters, states, gradients, activations and the update's temporaries of each network."""
    import pandas as pd

    layers = [layer_ops(network) for network in networks]
    step = np.repeat(np.arange(len(layers)), [len(ops) for ops in layers])
    shared = {"op": "layer", "time_s": 0.0, "phase": "forward", "precision": "fp32", "calls": 1.0}
    work = WORK.conform(pd.DataFrame([op for ops in layers for op in ops]).assign(**shared), FILE)
    workload = Workload(name="perceptron", framework=FRAMEWORK)
    kept = kept_of_steps(work, workload, step)
    return [_total(network, tensors, workload) for network, tensors in zip(networks, kept, strict=True)]


def _total(network: Mapping[str, object], kept: StepTensors, workload: Workload) -> float:
    parameters = float(str(network["parameters"])) * ITEMSIZE
    variables = Variables(parameters, ADAM_SLOTS * parameters, ADAM_SLOTS, parameters)
    moment = memory.largest_moment(memory.with_rules(kept, variables, workload))
    return variables.parameters + variables.optimizer + sum(moment)


def layer_ops(network: Mapping[str, object]) -> list[dict[str, object]]:
    """The ops of one network's forward pass: each hidden layer's product, normalization, activation and dropout."""
    batch, inputs = (int(float(str(network[name]))) for name in ("batch", "inputs"))
    widths = [int(width) for width in str(network["widths"]).split("-")]
    activation = ACTIVATIONS.get(str(network["activation"]), "activation")
    optional = (("batch_norm", network["batch_norms"]), (activation, len(widths)), ("dropout", network["dropouts"]))
    rows: list[dict[str, object]] = []
    for layer, (inside, outside) in enumerate(pairwise((inputs, *widths))):
        sizes = {"m": batch, "n": outside, "k": inside}
        product = {"operator": "gemm", "op_class": "gemm", "shapes": f"{batch}x{inside};{inside}x{outside}", **sizes}
        follow = [name for name, count in optional if name and layer < min(float(str(count)), len(widths) - 1)]
        rows.append(product)
        rows += [{"operator": name, "shapes": f"{batch}x{outside}"} for name in follow]
    return [*rows, {"operator": "cross_entropy_loss", "shapes": f"{batch}x{widths[-1]}"}]


def fit(rows: pd.DataFrame) -> Fitted:
    """Fit peak = reserve + factor · tensors, by least squares of relative residuals without far rows."""
    peak, tensors = rows["time_s"].to_numpy(dtype=float), rows["tensors"].to_numpy(dtype=float)
    used = np.ones(len(rows), dtype=bool)
    for _ in range(ROUNDS):
        design = np.stack([1.0 / peak, tensors / peak], axis=1)[used]
        base, factor = np.linalg.lstsq(design, np.ones(int(used.sum())), rcond=None)[0]
        residual = np.abs((base + factor * tensors) / peak - 1.0)
        used = residual <= FAR * np.median(residual)
    small, large = tensors <= SMALL, tensors > SMALL
    return Fitted(
        _range(float(base), peak[small] - factor * tensors[small]),
        _range(float(factor), (peak[large] - base) / tensors[large]),
    )


def _range(mid: float, values: Floats) -> Range:
    low, high = np.quantile(values, ENDS) if len(values) else (mid, mid)
    return Range(low=min(mid, low), mid=mid, high=max(mid, high), status="derived", source=FILE)


def predict(tensors: Floats, fitted: Fitted) -> tuple[Floats, Floats, Floats]:
    """Low end, nominal value and high end of each peak [B]."""
    plan = RunPlan("", draws=DRAWS)
    reserve, factor = (memory.sample(n, getattr(fitted, n), plan)[:, None] for n in ("reserve", "allocator"))
    return bounds(reserve + factor * tensors)


def judge(networks: PublishedRows) -> dict[str, pd.DataFrame]:
    """Judge each shape of networks by numbers fitted without it.

    Columns: KEYS, with the shape of the networks as op class; ``target``, the same; ``time_s`` of the measured peak, a
    column of predicted peaks per method, ``low_s`` and ``high_s`` of ours, all in bytes.
    """
    import pandas as pd

    frames = []
    for shape, rows in networks.rows.groupby("arch"):
        fitted = fit(networks.rows[networks.rows["arch"] != shape])
        low, mid, high = predict(rows["tensors"].to_numpy(dtype=float), fitted)
        frames.append(rows.assign(ours=mid, low_s=low, high_s=high))
    judged = pd.concat(frames).sort_index().rename(columns={"batch": "samples"})
    simple = judged["parameters"] * 4 * ITEMSIZE
    keys = {"data_set": "gpumemnet-mlp", "family": "", "precision": "fp32", "path": ""}
    return {
        "peak-memory": judged.assign(
            op_class=judged["arch"], target=judged["arch"], op="perceptron", **{PARAMETERS_ONLY: simple}, **keys
        )
    }
