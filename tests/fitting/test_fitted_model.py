"""What is asked for is fitted alone, on other families, and does not depend on what else is."""

import itertools
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pytest

from estimator.core.errors import EstimatorError
from estimator.core.schema import STREAMING
from estimator.fitting import fitted_model
from estimator.model.coefficients import shipped
from estimator.validation import protocol, scores, validate
from estimator.validation.data import read_truth
from tests.validation.public import truth

pytest.importorskip("scipy", reason="extra 'fit' is not installed")
DEVICES = ("p4", "v100-pcie-32gb")
SIZES = itertools.product((512, 2048, 4096), (1, 1024, 4096), (2048, 8192))
PRODUCTS = [{"m": m, "n": n, "k": k} for m, n, k in SIZES]
STREAMS = [{"op_class": "elementwise", "op": "add", "bytes": 3e7 * 2**i} for i in range(6)]


def of_both(*shapes: Mapping[str, object]) -> pd.DataFrame:
    return truth(*({"device": device, **shape} for device in DEVICES for shape in shapes))


def test_memory_bound_ops_need_no_product() -> None:
    actual = fitted_model.fit(of_both(*STREAMS), ["elementwise"])
    assert (actual.gemm, actual.convolution) == (shipped().gemm, shipped().convolution)
    assert actual.memory_bound != shipped().memory_bound
    with pytest.raises(EstimatorError, match="no matrix product"):
        fitted_model.fit(of_both(*STREAMS))


@pytest.mark.slow
def test_products_are_predicted_alike_whatever_else_is_fitted() -> None:
    rows = of_both(*PRODUCTS, *STREAMS)
    asked = rows[rows["op_class"] == "gemm"]
    alone, everything = (
        fitted_model.predictor(c)(asked, rows.iloc[:0])
        for c in (fitted_model.fit(rows, ["gemm"]), fitted_model.fit(rows))
    )
    assert alone.tolist() == everything.tolist()


def test_a_judged_family_is_never_fitted_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """In threads, of which a spy sees what each fits."""
    monkeypatch.setattr(fitted_model, "ProcessPoolExecutor", ThreadPoolExecutor)
    monkeypatch.setattr(fitted_model, "_hold", [])
    monkeypatch.setattr(fitted_model, "fit", lambda truth, op_classes: set(truth["family"]))
    monkeypatch.setattr(fitted_model, "predictor", lambda families: families)
    rows = truth(*({"device": device, **PRODUCTS[0]} for device in (*DEVICES, "v100-sxm2-16gb", "a100-pcie-40gb")))
    families = set(rows["family"])
    with fitted_model.fitted_side_by_side(rows, ["gemm"]) as method:
        learnt: dict[str, object] = {f: method(rows[rows["family"] != f]) for f in families}
        everything: object = method(rows)  # of a family without rows
    assert learnt == {family: families - {family} for family in families}
    assert (everything, len(families)) == (families, 3)


@pytest.mark.slow
def test_streams_of_a_family_judged_anew_are_off_as_the_table_says(public_data: Callable[[str], Path]) -> None:
    """By a fit without it; a family that moves the coefficients where it is not left out."""
    family, written = "ampere-ga100", validate.shipped().held_out
    rows = read_truth(public_data("data"))[0]
    streams = rows[rows["op_class"].isin(STREAMING)]
    unseen = streams["family"] == family
    predict = fitted_model.predictor(fitted_model.fit(streams[~unseen], STREAMING))
    problems = [problem for problem in protocol.PROBLEMS if problem.name in ("memory", "memory-kit")]
    judged = {p.name: pd.concat(protocol.judged_rows(streams[unseen], {"ours": predict}, p, None)) for p in problems}
    again = scores.held_out(judged, ["ours"])
    of_family = written[(written["method"] == "ours") & (written["family"] == family) & (written["device"] == "")]
    for problem in judged:  # the first line is of all rows
        one, other = (t.loc[t["problem"] == problem, ["median", "mean"]].iloc[0] for t in (again, of_family))
        assert one.tolist() == pytest.approx(other.tolist(), rel=0.02)
