"""Ops of unknown size in a loop over slices of the batch count one slice a call."""

import pandas as pd
import pytest

from estimator.core.types import Workload
from estimator.work import count_work, rebatch
from tests.conftest import make_ops

BATCH = 64
INPUTS = ("x/slice", "x/slice;w", "dense", "")


def of_loop(calls: float, last_calls: float | None = None, source: str = f"{BATCH}x8") -> pd.DataFrame:
    """A slice of the batch, a product and an activation of it, and an op of unknown size that takes none of it."""
    ops = make_ops(
        {"op_type": "StridedSlice", "shapes": f"{source};1;1;1", "output_shapes": "-1x8"},
        {"op_type": "MatMul", "shapes": "-1x8;8x32", "output_shapes": "-1x32", "attributes": "trans_a=n;trans_b=n"},
        {"op_type": "Relu", "shapes": "-1x32", "output_shapes": "-1x32"},
        {"op_type": "Relu", "shapes": "-1x32", "output_shapes": "-1x32"},
    )
    each = [calls, calls, calls, last_calls or calls]
    return ops.assign(op=["x/slice", "dense", "relu", "other"], inputs=list(INPUTS), calls=each)


def counted(ops: pd.DataFrame) -> pd.DataFrame:
    return count_work(ops, Workload(name="toy", batch_size=BATCH)).work


def test_each_call_in_a_loop_takes_one_slice() -> None:
    work = counted(of_loop(4.0))
    assert work["m"].iloc[1] == 16
    assert work["flop"].iloc[1:].tolist() == [2.0 * BATCH * 32 * 8, BATCH * 32, 4 * BATCH * 32]


@pytest.mark.parametrize("calls", [1.0, 3.0, 3.5])
def test_a_slice_that_no_number_of_calls_tells_stays_unknown(calls: float) -> None:
    work = counted(of_loop(calls, last_calls=2.0))
    assert work["flop"].isna().tolist() == [True, True, True, False]


@pytest.mark.parametrize("source", ["-1x8", "32x8", "640x8"])
def test_other_unknown_sizes_are_the_batch(source: str) -> None:
    assert counted(of_loop(4.0, source=source))["m"].iloc[1] == BATCH


def test_slices_grow_with_the_batch() -> None:
    work = counted(of_loop(4.0))
    out = rebatch(work, Workload(name="toy", batch_size=BATCH), 2 * BATCH).work
    assert out[["m", "n", "k"]].iloc[1].tolist() == [32, 32, 8]
    assert (out["flop"] / work["flop"]).iloc[1:].tolist() == [2.0, 2.0, 2.0]
