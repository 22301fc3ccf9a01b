"""Elements that ops write whose dump lists no results."""

import pandas as pd
import pytest

from estimator.core.types import Workload
from estimator.work import count_work, shapes
from estimator.work.result_sizes import written_elements

WORKLOAD = Workload(name="own", framework="PyTorch", batch_size=4)
POOL, GRADIENT = "aten::max_pool2d_with_indices", "aten::max_pool2d_with_indices_backward"


def written(*ops: tuple[str, str, str]) -> list[float]:
    table = pd.DataFrame(ops, columns=["op_type", "shapes", "phase"]).assign(op="op", time_s=1e-3)
    work = count_work(table, WORKLOAD).work
    return list(written_elements(work, shapes.parse_ops(work, 4)))


@pytest.mark.parametrize(
    ("op_type", "operands", "expected"),
    [
        ("aten::mm", "4x16;16x32", 4 * 32),
        ("aten::mean", "4x16", 0),
        ("aten::cat", "4x16;4x8", 4 * 24),
        ("aten::index_select", "1000x16;32", 32 * 16),
        ("aten::gather", "1000x16;32x16", 32 * 16),
        ("aten::gather", "1000x16;32x16;32x16", 32 * 16),
        ("aten::scatter_add", "1000x16;32x16;32x16", 1000 * 16),
        ("aten::embedding", "1000x16;4x8", 4 * 8 * 16),
        ("aten::add", "4x16;16", 4 * 16),
        ("aten::_scaled_dot_product_flash_attention", "4x2x16x4;4x1x16x4;4x1x16x4;1x2x64x64", 4 * 2 * 16 * 4),
    ],
)
def test_operands_tell(op_type: str, operands: str, expected: int) -> None:
    assert written((op_type, operands, "forward")) == [expected]


def test_gradients_tell_what_pooling_writes_and_else_the_next_op() -> None:
    image, pooled = "4x8x6x6", "4x8x3x3"
    behind = ("aten::relu", pooled, "forward")
    assert written((POOL, image, "forward"), (GRADIENT, f"{pooled};{image}", "backward"))[0] == 4 * 8 * 9
    assert written((POOL, image, "forward"), behind)[0] == 4 * 8 * 9
    assert written((POOL, image, "forward"))[0] == 0
