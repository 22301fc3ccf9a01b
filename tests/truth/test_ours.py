"""Only what is asked for is fitted, and what is fitted for a class of ops does not depend on what else is."""

import itertools
from collections.abc import Mapping

import pandas as pd
import pytest

from estimator.core.errors import EstimatorError
from estimator.model.coefficients import shipped
from estimator.truth import ours
from tests.truth.public import truth

pytest.importorskip("scipy", reason="extra 'fit' is not installed")
DEVICES = ("p4", "v100-pcie-32gb")
SIZES = itertools.product((512, 2048, 4096), (1, 1024, 4096), (2048, 8192))
PRODUCTS = [{"m": m, "n": n, "k": k} for m, n, k in SIZES]
STREAMS = [{"op_class": "elementwise", "op": "add", "bytes": 3e7 * 2**i} for i in range(6)]


def of_both(*shapes: Mapping[str, object]) -> pd.DataFrame:
    return truth(*({"device": device, **shape} for device in DEVICES for shape in shapes))


def test_memory_bound_ops_need_no_product() -> None:
    found = ours.fit(of_both(*STREAMS), ["elementwise"])
    assert (found.gemm, found.convolution) == (shipped().gemm, shipped().convolution)
    assert found.memory_bound != shipped().memory_bound
    with pytest.raises(EstimatorError, match="no matrix product"):
        ours.fit(of_both(*STREAMS))


def test_products_are_predicted_alike_whatever_else_is_fitted() -> None:
    rows = of_both(*PRODUCTS, *STREAMS)
    asked = rows[rows["op_class"] == "gemm"]
    alone, everything = (ours.predictor(c)(asked, rows.iloc[:0]) for c in (ours.fit(rows, ["gemm"]), ours.fit(rows)))
    assert alone.tolist() == everything.tolist()
