import numpy as np
import pandas as pd

from estimator.model.coefficients import shipped
from estimator.model.kernels.kernel_model import KernelInputs, amounts_per_call, calls_of, have_all, launch_latency
from tests.conftest import make_device

ROWS = pd.DataFrame(
    {"op_class": ["gemm", "pooling", "gemm"], "precision": "fp32", "calls": [2.0, np.nan, 0.0], "flop": [6.0, 3.0, 0.0],
     "bytes": [8.0, np.nan, 0.0]}
)  # fmt: skip


def test_a_row_without_calls_is_one_call() -> None:
    assert calls_of(ROWS).tolist() == [2, 1, 0]
    assert calls_of(ROWS.drop(columns="calls")).tolist() == [1, 1, 1]


def test_amounts_are_those_of_one_call_and_nothing_where_there_are_none() -> None:
    flop, bytes_ = amounts_per_call(ROWS)
    assert flop.tolist() == [3, 3, 0]
    np.testing.assert_array_equal(bytes_, [4, np.nan, 0])


def test_a_row_needs_its_class_and_all_columns() -> None:
    assert have_all(ROWS, ["gemm"], ["flop", "bytes"]).tolist() == [True, False, True]
    assert have_all(ROWS, ["gemm", "pooling"], ["bytes"]).tolist() == [True, False, True]


def test_launch_latency_is_that_of_the_device_file_else_the_default() -> None:
    usual = shipped().launches.latency_s.mid
    assert launch_latency(make_device(), shipped()) == usual
    assert launch_latency(make_device(launch_latency="9 us"), shipped()) == 9e-6


def test_selected_inputs_keep_their_hardware() -> None:
    inputs = KernelInputs.on_device(ROWS, make_device(compute_units="80"), shipped()).at(np.array([False, True, False]))
    assert inputs.rows["op_class"].tolist() == ["pooling"]
    assert inputs.hardware.units.tolist() == [80]
    assert inputs.launch_s == shipped().launches.latency_s.mid
