"""The held-out errors that the shipped fit carries: what they must not exceed, and that they can be had again."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from estimator.devices import load_device
from estimator.fitting import fitted_model
from estimator.model.calibration import estimate_correction
from estimator.model.coefficients import Coefficients, shipped
from estimator.model.isolated import residuals
from estimator.model.kernels.kernel_model import KernelInputs
from estimator.model.kernels.registry import KERNEL_MODELS
from estimator.validation import arguments, protocol, scores, validate
from estimator.validation.data import read_truth
from estimator.validation.tables import KEYS

pytest.importorskip("scipy", reason="extra 'fit' is not installed")
HELD_OUT = validate.shipped().held_out
Z = 1.645


def figures(problem: str, method: str = "ours", **only: str) -> pd.Series:
    """The line of a problem and method for all rows, or those of one class or family."""
    rows = HELD_OUT[(HELD_OUT["problem"] == problem) & (HELD_OUT["method"] == method)]
    wanted = {key: only.get(key, "") for key in KEYS}
    actual = rows[(rows[list(wanted)] == list(wanted.values())).all(axis=1)]
    assert len(actual) == 1
    return actual.iloc[0]


@pytest.mark.parametrize(
    ("problem", "only", "median", "mean"),
    [  # most that is accepted [%]: the targets that were set, or, above them, what is attained and a margin
        ("gemm", {}, 18, 23),
        ("gemm-kit", {}, 9, 14),
        ("gemm-kit", {"op_class": "gemm"}, 7.2, 12),  # set: 6.5 of the median
        ("gemm-own", {}, 4.5, 8.5),
        ("convolution", {}, 20, 25),  # set: 19 of the median
        ("memory", {}, 10, 12),
        ("memory-kit", {}, 4, 7),
        ("whole", {}, 11, 11),  # of five devices 8 and 9.3; T4, MI210 and H100 came since
        ("whole-kit", {}, 5, 5),
        ("whole-kit-75w", {}, 3.5, 4),
        ("power", {}, 12, 15),
        ("energy", {}, 20, 28),  # set: 15 of the median; most of it is the time of trainings that wait for their host
        ("energy-timed", {}, 15, 17),
    ],
)
def test_no_problem_is_missed_by_more(problem: str, only: dict[str, str], median: float, mean: float) -> None:
    actual = figures(problem, **only)
    assert (actual["median"] <= median, actual["mean"] <= mean) == (True, True), (actual["median"], actual["mean"])


def test_no_whole_model_is_far_off() -> None:
    assert figures("whole")["p95"] <= 25
    assert figures("whole-kit-75w")["p95"] <= 10  # one run is off by 40 %: its forward pass took thrice its inference


@pytest.mark.parametrize("problem", ["gemm", "gemm-kit", "gemm-own", "convolution", "memory-kit", "whole"])
def test_no_simple_method_is_better(problem: str) -> None:
    methods = set(HELD_OUT.loc[HELD_OUT["problem"] == problem, "method"])
    simple = [figures(problem, name) for name in methods - {"ours"}]
    assert figures(problem)["median"] < min(line["median"] for line in simple)
    assert figures(problem)["mean"] < min(line["mean"] for line in simple)


def test_of_streams_only_copying_the_nearest_device_is_better() -> None:
    """MI100 and MI210, P4 and T4 are nearly one device each; a roofline corrected by a constant is better by little."""
    lines = HELD_OUT[(HELD_OUT["problem"] == "memory") & (HELD_OUT[[*KEYS]] == "").all(axis=1)].set_index("method")
    ours = lines.loc["ours"]
    assert set(lines.index[lines["mean"] < ours["mean"]]) == {"nearest neighbours"}
    assert lines.loc["constant efficiency", "median"] == pytest.approx(ours["median"], rel=0.03)


@pytest.fixture(scope="module")
def truth(public_data: Callable[[str], Path]) -> pd.DataFrame:
    return read_truth(public_data("data"))[0]


@pytest.mark.slow
def test_a_family_judged_anew_is_off_as_the_table_says(
    truth: pd.DataFrame, fitted_without: Callable[[str], Coefficients]
) -> None:
    """By a fit without it. With the kit the hyperparameters count, whose likelihood is rather flat: where the fit stops
    depends on how a machine rounds.
    """
    family = "cdna1"
    unseen = truth["family"] == family
    predict = fitted_model.predictor(fitted_without(family))
    problems = [problem for problem in protocol.PROBLEMS if problem.name in ("gemm", "gemm-kit")]
    judged = {p.name: pd.concat(protocol.judged_rows(truth[unseen], {"ours": predict}, p, None)) for p in problems}
    actual = scores.held_out(judged, ["ours"]).set_index("problem")
    for problem in judged:
        again, written = actual.loc[[problem]].iloc[0], figures(problem, family=family)
        assert (again["median"], again["mean"]) == pytest.approx(
            (written["median"], written["mean"]), rel=0.02 if problem == "gemm" else 0.05
        )


@pytest.mark.slow
@pytest.mark.parametrize("own", ["gemm", "gemm-kit", "gemm-own"])
def test_intervals_of_products_hold_about_nine_of_ten(truth: pd.DataFrame, own: str) -> None:
    """By the shipped coefficients, which have seen the devices: what is judged is their spread."""
    problem = next(problem for problem in protocol.PROBLEMS if problem.name == own)
    held = [_held(rows, protocol.own_rows(rows, problem)) for _, rows in truth.groupby(protocol.TARGET)]
    assert np.nanmean(held) == pytest.approx(0.9, abs=0.07)


def _held(rows: pd.DataFrame, own: np.ndarray) -> float:
    """Share of a device's judged products within the interval that its own rows leave; NaN where it has none."""
    model, coefficients, device = KERNEL_MODELS["gemm"], shipped(), load_device(str(rows["device"].iloc[0]))
    judged, mine = rows[protocol.worth_judging(rows) & ~own & model.matches(rows)].head(2000), rows[own]
    mine = mine[model.matches(mine)]
    asked, measured = (KernelInputs(part, arguments.hardware(part), device, coefficients) for part in (judged, mine))
    busy = model.busy_time(asked)
    known = residuals(model, measured, arguments.latencies(mine))
    correction = estimate_correction(known, model.features(asked, busy), model.hyperparameters(coefficients))
    time = busy.launches * arguments.latencies(judged) + busy.time_s * np.exp(correction.mean)
    inside = np.abs(np.log(judged["time_s"].to_numpy() / time)) < Z * correction.std
    return float(inside.mean()) if len(inside) else np.nan
