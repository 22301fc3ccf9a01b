"""Sizes of what ops write."""

import pandas as pd

from estimator.core.types import Workload
from estimator.work import count_work, shapes
from estimator.work.tensors import in_phase, result_elements, written_itemsizes

WORKLOAD = Workload(name="own", batch_size=8)


def work_of(rows: list[dict[str, object]]) -> pd.DataFrame:
    return count_work(pd.DataFrame(rows).assign(time_s=1e-3), WORKLOAD).work


def test_results_count_and_flags_take_a_byte() -> None:
    work = work_of(
        [
            {"op": "a", "op_type": "Mul", "shapes": "8x4;8x4", "output_shapes": "8x4", "phase": "forward"},
            {"op": "b", "op_type": "GreaterEqual", "shapes": "8x4;1", "phase": "forward"},
            {"op": "c", "op_type": "Mul", "shapes": "8x4;8x4", "precision": "bf16", "phase": "backward"},
            {"op": "d", "op_type": "Mul"},
        ]
    )
    assert result_elements(shapes.parse_ops(work, 8)).tolist() == [32, 32, 32, 0]
    assert written_itemsizes(work, WORKLOAD).tolist() == [4, 1, 2, 4]
    assert in_phase(work, "forward", "input").tolist() == [True, True, False, False]
