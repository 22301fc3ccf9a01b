"""Launches of an optimizer's update that goes over many tensors at once, by hand."""

import pandas as pd
import pytest

from estimator.core.types import Workload
from estimator.work import count_work
from estimator.work.update_launches import join_updates
from tests.conftest import make_ops

TOY = Workload(name="toy", batch_size=8, precision="fp32")
SCALED = {"op_type": "Mul", "phase": "optimizer", "shapes": "20x30", "output_shapes": "20x30", "calls": 96.0}
ADDED = {"op_type": "Add", "phase": "optimizer", "shapes": "20x30;20x30", "output_shapes": "20x30"}
FORWARD = {"op_type": "Mul", "phase": "forward", "shapes": "8x30", "output_shapes": "8x30", "calls": 96.0}


def test_an_op_is_launched_once_for_so_many_tensors() -> None:
    """96 + 32 tensors are scaled, 64 in a launch: two, divided as the calls are; a sum of one tensor stays."""
    work = count_work(make_ops(SCALED, {**SCALED, "shapes": "7x5", "calls": 32.0}, ADDED, FORWARD), TOY).work
    joined = join_updates(work, 64)
    assert joined.changed
    assert joined.work["calls"].fillna(1.0).tolist() == pytest.approx([1.5, 0.5, 1.0, 96.0])
    pd.testing.assert_frame_equal(joined.work[["flop", "bytes", "time_s"]], work[["flop", "bytes", "time_s"]])
    (note,) = joined.notes
    assert "129 launches become 3" in note.text


@pytest.mark.parametrize(("rows", "tensors"), [([SCALED], 1), ([ADDED, FORWARD], 64)])
def test_where_nothing_is_joined_the_step_stays(rows: list[dict[str, object]], tensors: int) -> None:
    work = count_work(make_ops(*rows), TOY).work
    joined = join_updates(work, tensors)
    assert (joined.work is work, joined.changed, joined.notes) == (True, False, ())
