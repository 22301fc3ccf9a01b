"""A batch that the sizes of a profile's ops cannot be of."""

import pandas as pd
import pytest

from estimator.core.errors import EstimatorError
from estimator.core.types import Workload
from estimator.work import count_work, rebatch, tensors_at_two_batches
from estimator.work.stated_batch import contradicted_batch
from tests.conftest import make_ops

Row = dict[str, object]
PRODUCT: Row = {"op_type": "MatMul", "m": 96, "n": 50, "k": 50}
WEIGHTS: Row = {"op_type": "Mul", "shapes": "64x64;64x64"}
IMAGES: Row = {"op_type": "Conv2D", "shapes": "4x8x8x3;3x3x3x64", "output_shapes": "4x8x8x64"}
GRADIENT: Row = {
    "op_type": "convolution",
    "shapes": "8x10x10x3;8x8x8x16",
    "output_shapes": "3x3x3x16",
    "attributes": "labels=f01b_i01o->01bf;window=8x8",
}
NAMED: Row = {"op_type": "Relu", "shapes": "-1x50", "output_shapes": "-1x50"}


def counted(batch: int | None, *rows: Row) -> pd.DataFrame:
    return count_work(make_ops(*rows), Workload(name="toy", batch_size=batch)).work


@pytest.mark.parametrize(
    ("batch", "rows", "expected"),
    [
        (8, [IMAGES], "batch_size is 8, but convolutions and pools take 4 images"),  # though channels are a multiple
        (3, [IMAGES], "batch_size is 3, but convolutions and pools take 4 images"),
        (4, [IMAGES], ""),
        (2, [IMAGES], ""),  # two rows of a table may be one image
        (1, [IMAGES], ""),
        (8, [GRADIENT], ""),  # in XLA its images are channels
        (None, [IMAGES], ""),
        (32, [PRODUCT], ""),
        (7, [PRODUCT], "batch_size is 7, but no size of any op is a multiple of it"),
        (64, [PRODUCT, WEIGHTS], ""),  # the weights may be of the batch
        (7, [NAMED], ""),
        (7, [{"op_type": "MatMul"}], ""),
    ],
)
def test_a_batch_that_no_size_holds(batch: int | None, rows: list[Row], expected: str) -> None:
    notes = contradicted_batch(counted(batch, *rows), Workload(name="toy", batch_size=batch))
    assert [note.text.partition(":")[0] for note in notes] == [expected] * bool(expected)


def test_the_count_of_ops_notes_it() -> None:
    notes = count_work(make_ops(IMAGES), Workload(name="toy", batch_size=8)).notes
    assert [note.kind for note in notes if note.code == "batch-contradicted"] == ["warning"]


def test_such_a_step_has_no_other_batch() -> None:
    work, workload = counted(8, IMAGES), Workload(name="toy", batch_size=8)
    assert [batch for batch, _ in tensors_at_two_batches(work, workload, None, None)] == [8]
    with pytest.raises(EstimatorError, match="toy: batch_size is 8, but convolutions and pools take 4 images; another"):
        rebatch(work, workload, 16)
