"""The fit recovers coefficients from times, for any launch latency, with equal weight of families."""

import itertools

import numpy as np
import pandas as pd
import pytest

from estimator.core.types import Floats
from estimator.fitting.gemm import fit
from estimator.model.coefficients import shipped
from estimator.model.gemm import GemmCoefficients, overlapped, product_shapes, product_times
from estimator.validation import arguments
from tests.validation.public import truth

TILING = {"start": 60.0, "half_tile": 8.0, "wave": 0.3, "memory": 0.65, "reload": 0.5, "resident": 1.0}
SUSTAINED = {"share": 0.95, "vector_need": 1.1e-11, "tensor_need": 1.5e-12, "halving": 4.0}
TRUE = shipped().gemm.model_copy(
    update={
        "vector": shipped().gemm.vector.model_copy(update=TILING),
        "sustained": shipped().gemm.sustained.model_copy(update=SUSTAINED),
    }
)
LATENCIES = {"neusight-linear": 30e-6, "deepbench-fp32": 4e-6}  # what a call of each stack takes beside its kernel [s]
V100, PASCAL = "v100-pcie-32gb", "gtx-1080-ti"
SIZES = tuple(itertools.product((256, 1000, 4096), (64, 1000, 4096), (512, 4096)))


def kernel_times(rows: pd.DataFrame, coefficients: GemmCoefficients) -> Floats:
    return overlapped(*product_times(product_shapes(rows), arguments.hardware(rows), coefficients))


def timed(*groups: tuple[str, str], share: float = TRUE.sustained.share) -> pd.DataFrame:
    """Products of each data set and device as TRUE times them, on devices that sustain such a share of their peak."""
    rows = truth(*({"data_set": name, "device": d, "m": m, "n": n, "k": k} for name, d in groups for m, n, k in SIZES))
    c = TRUE.model_copy(update={"sustained": TRUE.sustained.model_copy(update={"share": share})})
    return rows.assign(time_s=rows["data_set"].map(LATENCIES) + kernel_times(rows, c))


@pytest.mark.slow
def test_the_fit_finds_what_made_the_times() -> None:
    rows = timed(*itertools.product(LATENCIES, (V100, PASCAL)))
    missed = np.log(kernel_times(rows, fit(rows)) / kernel_times(rows, TRUE))[rows["ideal_s"] > 1e-4]
    assert np.abs(missed).mean() < 0.02


@pytest.mark.slow
def test_families_count_alike_in_what_is_sustained() -> None:
    """However many data sets tell of one of them."""
    fast = timed(("deepbench-fp32", PASCAL))
    slow = timed(("deepbench-fp32", V100), share=0.6)
    again = [slow.assign(data_set=f"deepbench-{i}") for i in range(5)]
    once, often = (fit(pd.concat([fast, *rows], ignore_index=True)).sustained.share for rows in ([slow], again))
    assert often == pytest.approx(once, rel=0.01)
