"""How a model is judged: each device by what was learnt from the rows of other families alone.

A family (``architecture`` of the device file) is left out of every data set at once, as twins give each other away.
Rows given to calibrate are not judged; the times of judged rows are not handed over. Matrix products and memory-bound
ops are judged where their roofline time exceeds 0.1 ms: below, a framework's launch is what was measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from estimator.core.errors import EstimatorError
from estimator.core.schema import STREAMING
from estimator.core.types import Flags, Floats
from estimator.validation import shapes
from estimator.validation.calibration_rows import kit_rows
from estimator.validation.tables import KEYS

if TYPE_CHECKING:
    import pandas as pd

Predictor = Callable[["pd.DataFrame", "pd.DataFrame"], Floats]  # rows without times, own rows → time of one call [s]
Method = Callable[["pd.DataFrame"], Predictor]  # TRUTH of all other families → what predicts rows of the unseen one
Progress = Callable[[int, int], None]
JUDGED_OVER_S = 1e-4  # roofline time
OWN_SHARE = 0.25
SEED = 0
TARGET = ["stack", "device"]  # what is calibrated at once
MEASURED = ["time_s", "time_low_s", "time_high_s", "flag"]  # what a predictor does not see
TOLD = [*KEYS, "op", "pass", *shapes.SIZES, *shapes.TRANSPOSES, "ideal_s", "time_s"]  # of a judged row


@dataclass(frozen=True)
class Problem:
    """One row of the table: which op classes are judged, and what is known of the target beside its device file."""

    name: str
    title: str
    op_classes: tuple[str, ...]
    own: Literal["nothing", "kit", "quarter"] = "nothing"


PROBLEMS = (
    Problem("gemm", "matrix products, specs only", ("gemm",)),
    Problem("gemm-kit", "matrix products, with the kit", ("gemm",), "kit"),
    Problem("gemm-own", "matrix products, own 25 % of shapes", ("gemm",), "quarter"),
    Problem("convolution", "convolutions, specs only", ("convolution",)),
    Problem("memory", "memory-bound ops, specs only", STREAMING),
    Problem("memory-kit", "memory-bound ops, with the kit", STREAMING, "kit"),
)


def worth_judging(rows: pd.DataFrame) -> Flags:
    """Which rows are judged unless they calibrate: convolutions, and others above JUDGED_OVER_S."""
    return np.asarray((rows["op_class"] == "convolution") | (rows["ideal_s"] > JUDGED_OVER_S), dtype=bool)


def families_of(truth: pd.DataFrame, problem: Problem) -> set[str]:
    """The families that have rows of a problem worth judging."""
    return set(truth.loc[_of(problem, truth) & worth_judging(truth), "family"])


def obstacle(truth: pd.DataFrame, problem: Problem) -> str:
    """What there is instead of rows of several families, in words; nothing where a problem can be judged."""
    families = families_of(truth, problem)
    if not families:
        return "no rows of these ops worth judging"
    return "" if len(families) > 1 else f"rows of one device family alone, {min(families)}"


def judge(
    truth: pd.DataFrame,
    methods: Mapping[str, Method],
    problems: Sequence[Problem] = PROBLEMS,
    most: int | None = None,
    progress: Progress = lambda done, total: None,
) -> dict[str, pd.DataFrame]:
    """The judged rows of each problem: TOLD, and one column per method with the time [s] that it predicts.

    ``most``: so many rows of each data set and device, drawn by lot; all where None. Problems that meet an obstacle are
    left out; raises EstimatorError where all do.
    """
    import pandas as pd

    judged = [problem for problem in problems if not obstacle(truth, problem)]
    if not judged:
        met = dict.fromkeys(obstacle(truth, problem) for problem in problems)
        raise EstimatorError(f"there are {', or '.join(met)}; expected rows of several families to learn from")
    families = sorted(set().union(*(families_of(truth, problem) for problem in judged)))
    found: dict[str, list[pd.DataFrame]] = {problem.name: [] for problem in judged}
    for done, family in enumerate(families, start=1):
        unseen = (truth["family"] == family).to_numpy()
        predictors = {name: method(truth[~unseen]) for name, method in methods.items()}
        for problem in judged:
            found[problem.name] += judged_rows(truth[unseen], predictors, problem, most)
        progress(done, len(families))
    return {name: pd.concat(frames) for name, frames in found.items() if frames}


def remembered(method: Method) -> Method:
    """The method, fitted once for the same families."""
    fitted: dict[tuple[str, ...], Predictor] = {}

    def fit(train: pd.DataFrame) -> Predictor:
        families = tuple(sorted(train["family"].unique()))
        if families not in fitted:
            fitted[families] = method(train)
        return fitted[families]

    return fit


def judged_rows(
    rows: pd.DataFrame, predictors: Mapping[str, Predictor], problem: Problem, most: int | None
) -> Iterator[pd.DataFrame]:
    """The judged rows of each target of a family, with what is predicted of them."""
    for _, of_target in rows.groupby(TARGET):
        own = own_rows(of_target, problem)
        asked = _of(problem, of_target) & worth_judging(of_target) & ~own
        judged = _drawn(of_target[asked], most)
        if len(judged):
            timeless, evidence = judged.drop(columns=MEASURED), of_target[own]
            times = {name: predict(timeless, evidence) for name, predict in predictors.items()}
            for name, found in times.items():
                if not (np.isfinite(found) & (found > 0)).all():  # else its errors would not count
                    raise ValueError(f"{name} gives no time for some rows of {problem.name}")
            yield judged[TOLD].assign(**times)


def own_rows(of_target: pd.DataFrame, problem: Problem) -> Flags:
    """Which rows of one device and stack are given to calibrate."""
    if problem.own == "kit":
        return kit_rows(of_target)
    share = OWN_SHARE if problem.own == "quarter" else 0.0
    return shapes.lowest(shapes.lots(of_target, SEED), of_target["data_set"], share) & _of(problem, of_target)


def _of(problem: Problem, rows: pd.DataFrame) -> Flags:
    return np.asarray(rows["op_class"].isin(problem.op_classes), dtype=bool)


def _drawn(rows: pd.DataFrame, most: int | None) -> pd.DataFrame:
    return rows if most is None else rows[shapes.lowest(shapes.lots(rows, SEED + 1), rows["data_set"], most)]
