"""Ops that take the widest format of what they read, by hand; tests/work/test_format_changes.py has their casts."""

import pandas as pd
import pytest

from estimator.core.types import Workload
from estimator.work import count_work
from estimator.work.autocast import casts_op_by_op, formats_of_operands
from tests.conftest import make_ops


@pytest.mark.parametrize(("framework", "by_op"), [("PyTorch 2.4", True), ("Keras on TensorFlow", False), (None, False)])
def test_pytorch_casts_op_by_op(framework: str | None, by_op: bool) -> None:
    assert casts_op_by_op(Workload(name="toy", framework=framework)) == by_op


def test_fp32_goes_on_through_free_ops_up_to_one_of_another_format() -> None:
    workload = Workload(name="toy", framework="PyTorch", batch_size=8)
    names = (("wide", ""), ("a", "wide"), ("b", "a"), ("narrow", "b"), ("c", "narrow"), ("sum", "c;a"))
    shape = {"op_type": "aten::add", "shapes": "8x4;8x4", "output_shapes": "8x4"}
    work = count_work(make_ops(*({**shape, "op": op, "inputs": inputs} for op, inputs in names)), workload).work
    each = pd.Series(["fp32", "bf16", "bf16", "bf16", "bf16", "bf16"])
    free = work["op"].isin(["a", "b", "c", "sum"])
    formats = formats_of_operands(work, workload, each, free)
    assert formats.tolist() == ["fp32", "fp32", "fp32", "bf16", "bf16", "fp32"]
