"""The protocol of validation: each device is predicted from rows of other families alone.

A family (``architecture`` of the device file) is left out of all data sets at once, as its devices resemble each other.
Rows used to calibrate are not judged; methods do not see the times of judged rows. Matrix products and memory-bound ops
are judged where their roofline time exceeds 0.1 ms: below, the measurement is mostly a framework's launch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from estimator.core.errors import EstimatorError
from estimator.core.schema import STREAMING
from estimator.core.types import Flags, Floats
from estimator.model.coefficients import Coefficients
from estimator.validation import shapes
from estimator.validation.calibration_rows import kit_rows
from estimator.validation.tables import KEYS

if TYPE_CHECKING:
    import pandas as pd

Predictor = Callable[["pd.DataFrame", "pd.DataFrame"], Floats]  # rows without times, own rows → time of one call [s]
Method = Callable[["pd.DataFrame"], Predictor]  # TRUTH of the other families → predictor for the unseen one
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class FittedPredictor:
    """A predictor of kernels with the coefficients that it stands on, which whole steps are predicted by."""

    predict: Predictor
    coefficients: Coefficients

    def __call__(self, rows: pd.DataFrame, own: pd.DataFrame) -> Floats:
        """Times of one call of each row [s]."""
        return self.predict(rows, own)


JUDGED_OVER_S = 1e-4  # roofline time
OWN_SHARE = 0.25
SEED = 0
TARGET = ["stack", "device"]  # rows that are calibrated together
MEASURED = ["time_s", "time_low_s", "time_high_s", "flag"]  # hidden from predictors
REPORTED_COLUMNS = [*KEYS, "op", "pass", *shapes.SIZES, *shapes.TRANSPOSES, "ideal_s", "time_s"]  # of a judged row


@dataclass(frozen=True)
class Problem:
    """One row of the table: the op classes judged, and the own rows known of the target."""

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
    """Which rows may be judged: convolutions, and others above JUDGED_OVER_S."""
    return np.asarray((rows["op_class"] == "convolution") | (rows["ideal_s"] > JUDGED_OVER_S), dtype=bool)


def families_of(truth: pd.DataFrame, problem: Problem) -> set[str]:
    """The families with rows of a problem that may be judged."""
    return set(truth.loc[_in_problem(problem, truth) & worth_judging(truth), "family"])


def obstacle(truth: pd.DataFrame, problem: Problem) -> str:
    """Why a problem cannot be judged, in words; empty where it can."""
    families = families_of(truth, problem)
    if not families:
        return "no rows of these ops worth judging"
    return "" if len(families) > 1 else f"rows of one device family alone, {min(families)}"


def judge(
    truth: pd.DataFrame,
    methods: Mapping[str, Method],
    problems: Sequence[Problem] = PROBLEMS,
    max_rows: int | None = None,
    progress: Progress = lambda done, total: None,
) -> dict[str, pd.DataFrame]:
    """Judge each problem: rows with REPORTED_COLUMNS and one column of predicted times [s] per method.

    ``max_rows``: number of rows drawn at random from each data set and device; None: all. Problems with an obstacle are
    left out; raises EstimatorError where all have one.
    """
    import pandas as pd

    possible = [problem for problem in problems if not obstacle(truth, problem)]
    if not possible:
        obstacles = dict.fromkeys(obstacle(truth, problem) for problem in problems)
        raise EstimatorError(f"there are {', or '.join(obstacles)}; expected rows of several families to learn from")
    families = sorted(set().union(*(families_of(truth, problem) for problem in possible)))
    frames: dict[str, list[pd.DataFrame]] = {problem.name: [] for problem in possible}
    for done, family in enumerate(families, start=1):
        unseen = (truth["family"] == family).to_numpy()
        predictors = {name: method(truth[~unseen]) for name, method in methods.items()}
        for problem in possible:
            frames[problem.name] += judged_rows(truth[unseen], predictors, problem, max_rows)
        progress(done, len(families))
    return {name: pd.concat(several) for name, several in frames.items() if several}


def remembered(method: Method) -> Method:
    """The method with a cache: it is fitted once per set of families."""
    fitted: dict[tuple[str, ...], Predictor] = {}

    def fit(train: pd.DataFrame) -> Predictor:
        families = tuple(sorted(train["family"].unique()))
        if families not in fitted:
            fitted[families] = method(train)
        return fitted[families]

    return fit


def judged_rows(
    rows: pd.DataFrame, predictors: Mapping[str, Predictor], problem: Problem, max_rows: int | None
) -> Iterator[pd.DataFrame]:
    """Yield the judged rows of each target of a family, with their predictions."""
    for _, target_rows in rows.groupby(TARGET):
        is_own = own_rows(target_rows, problem)
        to_judge = _in_problem(problem, target_rows) & worth_judging(target_rows) & ~is_own
        judged = _draw(target_rows[to_judge], max_rows)
        if len(judged):
            untimed, own = judged.drop(columns=MEASURED), target_rows[is_own]
            times = {name: predict(untimed, own) for name, predict in predictors.items()}
            for name, predicted_s in times.items():
                if not (np.isfinite(predicted_s) & (predicted_s > 0)).all():  # else its error would be missing
                    raise ValueError(f"{name} gives no time for some rows of {problem.name}")
            yield judged[REPORTED_COLUMNS].assign(**times)


def own_rows(target_rows: pd.DataFrame, problem: Problem) -> Flags:
    """Which rows of one device and stack are given to calibrate."""
    if problem.own == "kit":
        return kit_rows(target_rows)
    share = OWN_SHARE if problem.own == "quarter" else 0.0
    return shapes.lowest(shapes.lots(target_rows, SEED), target_rows["data_set"], share) & _in_problem(
        problem, target_rows
    )


def _in_problem(problem: Problem, rows: pd.DataFrame) -> Flags:
    return np.asarray(rows["op_class"].isin(problem.op_classes), dtype=bool)


def _draw(rows: pd.DataFrame, max_rows: int | None) -> pd.DataFrame:
    return rows if max_rows is None else rows[shapes.lowest(shapes.lots(rows, SEED + 1), rows["data_set"], max_rows)]
