"""Kernels that the target runs with an op, by hand."""

import pandas as pd

from estimator.core.types import Workload
from estimator.work import count_work
from estimator.work.added_kernels import append, kernels_of
from tests.conftest import make_ops

TOY = Workload(name="toy", batch_size=8)
OP = {"op_type": "Relu", "shapes": "8x30", "output_shapes": "8x30", "phase": "forward", "calls": 3.0}


def test_a_kernel_runs_with_its_op_and_took_no_time_on_the_source() -> None:
    work = count_work(make_ops({**OP, "precision": "tf32"}, {**OP, "precision": "bf16"}), TOY).work
    operators = pd.Series(["sum", "transpose"], index=work.index)
    added = append(work, kernels_of(work, " (more)", operators, bytes=7.0, flop=1.0)).iloc[2:]
    assert added["operator"].tolist() == added["op_type"].tolist() == ["sum", "transpose"]
    assert added["op_class"].tolist() == ["reduction", "movement"]
    assert added["op"].tolist() == [f"{name} (more)" for name in work["op"]]
    assert (added["precision"].tolist(), added["phase"].tolist()) == (["fp32", "bf16"], ["forward"] * 2)
    assert added[["calls", "time_s", "bytes", "flop"]].to_numpy().tolist() == [[3.0, 0.0, 7.0, 1.0]] * 2


def test_kernels_stand_behind_all_ops() -> None:
    work = count_work(make_ops(OP, OP), TOY).work
    out = append(work, kernels_of(work.iloc[:1], " (more)", "transpose", bytes=7.0))
    pd.testing.assert_frame_equal(out.iloc[:2], work)
    assert out.index.tolist() == [0, 1, 2]
