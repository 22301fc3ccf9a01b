"""Whole transformers on devices never seen (NeuSight's ``whole_model.csv``): from one device's run to another's time.

Known of the source device are its ops. The target's time is the sum over kernels of the times that a
:data:`~estimator.validation.protocol.Method` predicts. The source's ratio of whole time to sum of kernels is not used:
no weight on it made held-out devices better.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from estimator.core import physics
from estimator.core.schema import STREAMING
from estimator.core.types import ITEMSIZE
from estimator.devices import load_device
from estimator.validation.calibration_rows import kit_rows
from estimator.validation.data import WHOLE_MODELS, describe
from estimator.validation.layer_ops import PRECISION, read_ops
from estimator.validation.neusight import device_of
from estimator.validation.protocol import MEASURED, FittedPredictor, Method, Predictor
from estimator.validation.step_intervals import ENDS, OURS, step_intervals
from estimator.validation.tables import TRUTH, read_columns, with_operator

if TYPE_CHECKING:
    import pandas as pd

FILE, _ = FILES = WHOLE_MODELS
OP_CLASSES = ("gemm", *STREAMING)  # of the kernels that transformers launch
STACK, DATA_SET = "neusight", "neusight-whole"  # the stack of the kit's rows; kernels of a pass are queued
PROBLEMS = {
    "whole": "whole models, specs only",
    "whole-kit": "whole models, with the kit",
    "whole-kit-75w": "whole models, with the kit, over 75 W",
}
EVERY_PAIR = "every pair of devices"  # whose errors are pooled
LOW_POWER_W = 75.0
SHORTEST_S = 2e-5  # shortest forward pass from which a backward multiplier is learnt
ACCUMULATED = 3  # tensors moved when a gradient is added to another: two reads, one write
RUN = ["device", "model"]
PLACEHOLDER_S = 1e6  # in place of an unknown time; exceeds no peak


@dataclass(frozen=True)
class Runs:
    """Whole times by device and model [s], the ops of one pass, and notes on runs left out."""

    whole_s: pd.Series = field(repr=False)
    ops: pd.DataFrame = field(repr=False)
    notes: tuple[str, ...] = ()


def read_runs(folder: str | Path) -> Runs:
    """Read the whole runs and their ops, with ``calls`` of each op in a pass.

    Left out are runs in another form than the listed ops (fused graphs, several devices), on a device without a file,
    and those whose ops are not listed (a mixture of experts).
    """
    import pandas as pd

    table = read_columns(Path(folder) / FILE, ("device", "name", "option", "num_layer", "e2e_latency"))
    specs = {name: device_of(str(name)) for name in table["device"].unique()}
    our_names = table["device"].map({name: spec.name for name, spec in specs.items() if spec})
    runs = table.assign(device=our_names, model=table["name"])
    usable = runs[runs["option"].isna() & runs["device"].notna()].set_index(RUN)
    ops = read_ops(Path(folder)).join(usable["num_layer"].astype(float).rename("layers"), on=RUN)
    ops["calls"] = ops["layers"].where(ops["layer"], 1.0)
    listed = usable[usable.index.isin(pd.MultiIndex.from_frame(ops[RUN]))]
    reasons = {
        "they are fused graphs or ran on several devices": int(table["option"].notna().sum()),
        "no device file bears the device's name": int((runs["option"].isna() & runs["device"].isna()).sum()),
        "their ops are not listed": len(usable) - len(listed),
    }
    notes = (
        f"{count} of {len(table)} whole runs are left out, as {reason}" for reason, count in reasons.items() if count
    )
    whole_s = listed["e2e_latency"].astype(float).mul(1e-3)
    return Runs(whole_s, ops[ops["calls"].notna()].drop(columns=["layers", "layer"]), tuple(notes))


def backward_multipliers(ops: pd.DataFrame) -> dict[str, float]:
    """Backward over forward time of each kind of memory-bound op: the median over training runs."""
    training_ops = ops[
        ops["model"].str.contains("train") & (ops["op_class"] != "gemm") & (ops["forward_s"] > SHORTEST_S)
    ]
    return dict((training_ops["backward_s"] / training_ops["forward_s"]).groupby(training_ops["op"]).median())


def kernels(ops: pd.DataFrame, multipliers: Mapping[str, float]) -> pd.DataFrame:
    """TRUTH rows of the kernels that a run's ops launch in one pass, each with its ``model`` and ``calls``.

    A training pass adds, for each product C = A·B, the gradients dC·Bᵀ and Aᵀ·dC and the accumulation of a weight's
    gradient; for other ops the forward kernel with its traffic times the multiplier of its kind (default 1).
    """
    import pandas as pd

    trained = ops[ops["model"].str.contains("train")]
    products, other_ops = trained[trained["op_class"] == "gemm"], trained[trained["op_class"] != "gemm"]
    multiplier = other_ops["op"].map(multipliers).astype(float).fillna(1.0)
    backward = other_ops.assign(bytes=other_ops["bytes"] * multiplier, flop=other_ops["flop"] * multiplier)[
        multiplier > 0
    ]
    parts = [part for part in (ops, *_gradients(products), backward) if len(part)]
    launched = pd.concat(parts, ignore_index=True)
    trans_a = launched["trans_a"].astype(object).where(launched["trans_a"].notna(), "n")
    return launched.assign(precision=PRECISION, time_s=np.nan, data_set=DATA_SET, trans_a=trans_a)


def _gradients(products: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """The two products of each product's gradient, and the sums of weights' gradients."""
    flipped = products["trans_b"].map({"n": "t", "t": "n"})
    yield products.assign(n=products["k"], k=products["n"], trans_b=flipped)
    yield products.assign(m=products["k"], k=products["m"], trans_a="t", trans_b="n")
    weights = products[products["op"] != "bmm"]
    moved = physics.streaming_bytes(weights["k"] * weights["n"], ACCUMULATED - 1, 1, ITEMSIZE[PRECISION])
    yield weights.assign(
        op="add", op_class="elementwise", bytes=moved, flop=0.0, **dict.fromkeys(("batch", *"mnk"), np.nan)
    )


def judge(
    truth: pd.DataFrame, runs: Runs, methods: Mapping[str, Method], problems: Mapping[str, str] = PROBLEMS
) -> dict[str, pd.DataFrame]:
    """Judge every ordered pair of devices that ran one model, for each problem, without rows of the target's family.

    Columns: KEYS, ``source``, ``target``, ``model``, all three in ``op``, measured ``time_s``, per method a column of
    predicted times [s], and the ends of our interval, ``low_s`` and ``high_s`` [s].
    """
    import pandas as pd

    families = {device: load_device(device).family for device in runs.whole_s.index.unique("device")}
    frames: dict[str, list[pd.DataFrame]] = {problem: [] for problem in problems}
    for target, family in families.items():
        sources = {device for device, source_family in families.items() if source_family != family}
        train = truth[truth["family"] != family]
        predictors = {name: method(train) for name, method in methods.items()}
        here = [problem for problem in problems if not problem.endswith("75w") or _power(target) > LOW_POWER_W]
        for with_kit in {"kit" in problem for problem in here}:
            own = _rows_of_kit(truth, target) if with_kit else truth.iloc[:0]
            pairs = _predicted_pairs(predictors, runs, target, sources, own)
            for problem in here:
                if ("kit" in problem) == with_kit:
                    frames[problem].append(pairs)
    return {problem: pd.concat(rows, ignore_index=True) for problem, rows in frames.items() if rows}


def _predicted_pairs(
    predictors: Mapping[str, Predictor], runs: Runs, target: str, sources: set[str], own: pd.DataFrame
) -> pd.DataFrame:
    """The pairs of a target with the times of each method and the ends of our interval [s]."""
    pairs = _pairs(runs.whole_s, target, sources)
    times = {name: _predict_whole(predictor, runs, target, sources, own) for name, predictor in predictors.items()}
    predicted_s = {name: pairs.index.map(time_by_pair) for name, time_by_pair in times.items()}
    ends = _ends(predictors.get(OURS), runs, target, pairs, own)
    return pairs.assign(target=target, **predicted_s, **ends).reset_index()


def _pairs(whole_s: pd.Series, target: str, sources: set[str]) -> pd.DataFrame:
    """The models that both the target and a source ran, by (source, model)."""
    target_s = whole_s[target]
    pairs = whole_s[[run[0] in sources and run[1] in target_s for run in whole_s.index]]
    return (
        pairs.rename_axis(["source", "model"])
        .to_frame("source_s")
        .assign(
            data_set=DATA_SET, device=EVERY_PAIR, family=load_device(target).family, op_class="whole model",
            precision=PRECISION, path="vector", time_s=[target_s[model] for _, model in pairs.index],
            op=[f"{model} from {source} to {target}" for source, model in pairs.index],
        )
    )  # fmt: skip


def _predict_whole(
    predictor: Predictor, runs: Runs, target: str, sources: set[str], own: pd.DataFrame
) -> dict[tuple[str, str], float]:
    """Predicted time [s] on the target by (source, model), for every run of a source."""
    ops = runs.ops[runs.ops["device"].isin(sources)]
    return dict(sum_of_kernels(predictor, ops, backward_multipliers(ops), target, own))


def _ends(
    predictor: Predictor | None, runs: Runs, target: str, pairs: pd.DataFrame, own: pd.DataFrame
) -> dict[str, list[float]]:
    """The ends of the interval of each pair [s], where the predictor has coefficients."""
    if not isinstance(predictor, FittedPredictor):
        return {}
    ops = runs.ops[runs.ops["device"].isin(pairs.index.get_level_values("source"))]
    launched = kernels(ops, backward_multipliers(ops))
    rows = _described(launched, target).assign(source=launched["device"], model=launched["model"])
    stated = step_intervals(rows, ["source", "model"], target, own, predictor.coefficients)
    return {name: [stated[pair][end] for pair in pairs.index] for end, name in enumerate(ENDS)}


def sum_of_kernels(
    predictor: Predictor, ops: pd.DataFrame, multipliers: Mapping[str, float], device: str, own: pd.DataFrame
) -> pd.Series:
    """Sum of the predicted kernel times on a device [s], by (device, model) of the runs."""
    launched = kernels(ops, multipliers)
    rows = _described(launched, device)
    times = (
        predictor(rows.drop(columns=[*MEASURED, "calls"]).assign(stack=DATA_SET), own) * launched["calls"].to_numpy()
    )
    return launched.assign(time_s=times).groupby(RUN)["time_s"].sum()


def _described(launched: pd.DataFrame, device: str) -> pd.DataFrame:
    """TRUTH rows of launched kernels on a device, with their ``calls``; none is left out."""
    rows = TRUTH.conform(launched.assign(device=device, time_s=PLACEHOLDER_S), FILE)
    return describe(with_operator(rows), load_device(device))[0].assign(calls=launched["calls"].to_numpy())


def _rows_of_kit(truth: pd.DataFrame, device: str) -> pd.DataFrame:
    """The rows of a device in place of its kit."""
    rows = truth[(truth["device"] == device) & (truth["stack"] == STACK)]
    return rows[kit_rows(rows)]


def _power(device: str) -> float:
    """Power limit [W]; unlimited where unknown."""
    limit = load_device(device).power_limit
    return limit.value if limit else np.inf
