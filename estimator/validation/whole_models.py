"""Whole transformers on devices never seen (NeuSight's ``whole_model.csv``): from one device's run to another's time.

Of the source device the run is known: its ops, and the whole time. The target's time is the sum over kernels of what a
:data:`~estimator.validation.protocol.Method` predicts, times a part of what the source's whole run took beyond the
same sum for the source: (whole / sum)^weight. The weight is how far devices of other families share such misses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from estimator.core import csv_files, physics
from estimator.core.errors import EstimatorError
from estimator.core.schema import STREAMING
from estimator.core.types import ITEMSIZE
from estimator.devices import load_device
from estimator.validation.calibration_rows import kit_rows
from estimator.validation.data import WHOLE_MODELS, describe
from estimator.validation.layer_ops import PRECISION, read_ops
from estimator.validation.neusight import device_of
from estimator.validation.protocol import MEASURED, Method, Predictor
from estimator.validation.tables import TRUTH, with_operator

if TYPE_CHECKING:
    import pandas as pd

FILE = WHOLE_MODELS[0]
OP_CLASSES = ("gemm", *STREAMING)  # of the kernels that transformers launch
STACK, DATA_SET = "neusight", "neusight-whole"  # the stack that timed the kit's rows; kernels of a pass queue up
PROBLEMS = {
    "whole": "whole models, specs only",
    "whole-kit": "whole models, with the kit",
    "whole-kit-75w": "whole models, with the kit, over 75 W",
}
EVERY_PAIR = "every pair of devices"  # whose errors are pooled
LOW_POWER_W = 75.0
SHORTEST_S = 2e-5  # of a forward pass from which a backward multiplier is learnt
ACCUMULATED = 3  # tensors moved when a gradient is added to another: two reads, one write
RUN = ["device", "model"]
UNTIMED_S = 1e6  # stands for the time of a kernel that nobody timed: no peak is exceeded
PRIOR_WEIGHT, PRIOR_PAIRS = 0.25, 20.0  # the weight before any pair is seen, and how many pairs that counts


@dataclass(frozen=True)
class Runs:
    """Whole times by device and model [s], the ops of one pass, and how many runs of which kind were left out."""

    whole_s: pd.Series = field(repr=False)
    ops: pd.DataFrame = field(repr=False)
    notes: tuple[str, ...] = ()


def obstacle(folder: str | Path) -> str:
    """Which table a folder lacks, in words; nothing where whole models can be judged."""
    return next((f"no {name}" for name in WHOLE_MODELS if not (Path(folder) / name).is_file()), "")


def read_runs(folder: str | Path) -> Runs:
    """The whole runs and their ops, with ``calls`` of each op in a pass. Raises EstimatorError where unreadable.

    Left out are runs in another form than the listed ops (fused graphs, several devices), on a device without a file,
    and those whose ops are not listed (a mixture of experts).
    """
    import pandas as pd

    path = Path(folder) / FILE
    table = csv_files.read_csv(path)
    if lacking := [name for name in ("device", "name", "option", "num_layer", "e2e_latency") if name not in table]:
        raise EstimatorError(f"{path}: the column '{lacking[0]}' is missing; check that this is the public table")
    files = {name: device_of(str(name)) for name in table["device"].unique()}
    known = table["device"].map({name: spec.name for name, spec in files.items() if spec})
    runs = table.assign(device=known, model=table["name"])
    plain = runs[runs["option"].isna() & runs["device"].notna()].set_index(RUN)
    ops = read_ops(Path(folder)).join(plain["num_layer"].astype(float).rename("layers"), on=RUN)
    ops["calls"] = ops["layers"].where(ops["layer"], 1.0)
    listed = plain[plain.index.isin(pd.MultiIndex.from_frame(ops[RUN]))]
    reasons = {
        "they are fused graphs or ran on several devices": int(table["option"].notna().sum()),
        "no device file bears the device's name": int((runs["option"].isna() & runs["device"].isna()).sum()),
        "their ops are not listed": len(plain) - len(listed),
    }
    notes = (f"{count} of {len(table)} whole runs are left out, as {why}" for why, count in reasons.items() if count)
    whole_s = listed["e2e_latency"].astype(float).mul(1e-3)
    return Runs(whole_s, ops[ops["calls"].notna()].drop(columns=["layers", "layer"]), tuple(notes))


def backward_multipliers(ops: pd.DataFrame) -> dict[str, float]:
    """Backward over forward time of each kind of memory-bound op: the median over training runs."""
    seen = ops[ops["model"].str.contains("train") & (ops["op_class"] != "gemm") & (ops["forward_s"] > SHORTEST_S)]
    return dict((seen["backward_s"] / seen["forward_s"]).groupby(seen["op"]).median())


def kernels(ops: pd.DataFrame, multipliers: Mapping[str, float]) -> pd.DataFrame:
    """TRUTH rows of the kernels that a run's ops launch in one pass, each with its ``model`` and ``calls``.

    A training pass adds, for each product C = A·B, those for the gradients dC·Bᵀ and Aᵀ·dC, and what adds a weight's
    gradient up; for other ops the forward kernel with its traffic times the multiplier of its kind, 1 where none is.
    """
    import pandas as pd

    trained = ops[ops["model"].str.contains("train")]
    products, others = trained[trained["op_class"] == "gemm"], trained[trained["op_class"] != "gemm"]
    more = others["op"].map(multipliers).astype(float).fillna(1.0)
    backward = others.assign(bytes=others["bytes"] * more, flop=others["flop"] * more)[more > 0]
    parts = [part for part in (ops, *_gradients(products), backward) if len(part)]
    found = pd.concat(parts, ignore_index=True)
    stored = found["trans_a"].astype(object).where(found["trans_a"].notna(), "n")
    return found.assign(precision=PRECISION, time_s=np.nan, data_set=DATA_SET, trans_a=stored)


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
    """Every ordered pair of devices that ran one model, for each problem: KEYS, ``source``, ``target``, ``model``, all
    three in ``op``, measured ``time_s`` and a column of predicted times [s] per method, learnt from other families than
    the target's.
    """
    import pandas as pd

    families = {device: _family(device) for device in runs.whole_s.index.unique("device")}
    found: dict[str, list[pd.DataFrame]] = {problem: [] for problem in problems}
    for target, family in families.items():
        seen = {device for device, other in families.items() if other != family}
        train = truth[truth["family"] != family]
        predictors = {name: method(train) for name, method in methods.items()}
        for problem, rows in found.items():
            if problem.endswith("75w") and not _power(target) > LOW_POWER_W:
                continue
            own = _kit(truth, target) if "kit" in problem else truth.iloc[:0]
            pairs = _pairs(runs.whole_s, target, seen)
            times = {name: _whole(p, runs, truth, target, seen, own) for name, p in predictors.items()}
            found_s = {name: pairs.index.map(time) for name, time in times.items()}
            rows.append(pairs.assign(target=target, **found_s).reset_index())
    return {problem: pd.concat(rows, ignore_index=True) for problem, rows in found.items() if rows}


def _pairs(whole_s: pd.Series, target: str, seen: set[str]) -> pd.DataFrame:
    """The models that the target and a seen device ran, by (source, model)."""
    of_target = whole_s[target]
    pairs = whole_s[[place[0] in seen and place[1] in of_target for place in whole_s.index]]
    return (
        pairs.rename_axis(["source", "model"])
        .to_frame("source_s")
        .assign(
            data_set=DATA_SET, device=EVERY_PAIR, family=_family(target), op_class="whole model", precision=PRECISION,
            path="vector", time_s=[of_target[model] for _, model in pairs.index],
            op=[f"{model} from {source} to {target}" for source, model in pairs.index],
        )
    )  # fmt: skip


def _whole(
    predictor: Predictor, runs: Runs, truth: pd.DataFrame, target: str, seen: set[str], own: pd.DataFrame
) -> dict[tuple[str, str], float]:
    """Predicted time [s] on the target by (source, model), for every run of a seen source."""
    ops = runs.ops[runs.ops["device"].isin(seen)]
    multipliers = backward_multipliers(ops)
    sums = summed(predictor, ops, multipliers, target, own)
    missed = misses(predictor, runs, truth, seen)
    weight = shared_weight(missed)
    return {place: float(time) * missed[place] ** weight for place, time in sums.items()}


def misses(predictor: Predictor, runs: Runs, truth: pd.DataFrame, devices: set[str]) -> dict[tuple[str, str], float]:
    """Whole time over the sum of predicted kernels, by (device, model), each device calibrated by its own kit."""
    ops = runs.ops[runs.ops["device"].isin(devices)]
    multipliers = backward_multipliers(ops)
    of_device = {d: summed(predictor, o, multipliers, str(d), _kit(truth, str(d))) for d, o in ops.groupby("device")}
    return {place: float(runs.whole_s[place] / time) for sums in of_device.values() for place, time in sums.items()}


def summed(
    predictor: Predictor, ops: pd.DataFrame, multipliers: Mapping[str, float], device: str, own: pd.DataFrame
) -> pd.Series:
    """Sum over kernels of the time that a device takes [s], by (device, model) of the runs that list the ops."""
    launched = kernels(ops, multipliers)
    rows, _ = describe(
        with_operator(TRUTH.conform(launched.assign(device=device, time_s=UNTIMED_S), FILE)), load_device(device)
    )
    times = (
        predictor(rows.drop(columns=[*MEASURED, "calls"]).assign(stack=DATA_SET), own) * launched["calls"].to_numpy()
    )
    return launched.assign(time_s=times).groupby(RUN)["time_s"].sum()


def shared_weight(missed: Mapping[tuple[str, str], float]) -> float:
    """The part of one device's miss (whole / sum, in logarithms) of a model that other devices share, from 0 to 1.

    Least squares over ordered pairs of devices that ran the same model, drawn to PRIOR_WEIGHT as by PRIOR_PAIRS pairs.
    """
    logs = {place: float(np.log(ratio)) for place, ratio in missed.items()}
    pairs = [(a, logs[other]) for (d, m), a in logs.items() for other in logs if other[1] == m and other[0] != d]
    if not pairs:
        return PRIOR_WEIGHT
    one, two = np.array(pairs).T
    prior = PRIOR_PAIRS * np.mean(one**2)
    return float(np.clip((PRIOR_WEIGHT * prior + one @ two) / max(prior + one @ one, np.finfo(float).tiny), 0.0, 1.0))


def _kit(truth: pd.DataFrame, device: str) -> pd.DataFrame:
    """The rows of a device that stand for its kit."""
    rows = truth[(truth["device"] == device) & (truth["stack"] == STACK)]
    return rows[kit_rows(rows)]


def _family(device: str) -> str:
    return load_device(device).architecture or device


def _power(device: str) -> float:
    """Power limit [W]; unlimited where unknown."""
    limit = load_device(device).power_limit
    return limit.value if limit else np.inf
