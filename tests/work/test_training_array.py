"""An array of trainings, by hand, and as a step."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest

from estimator.core.conv_shape import ConvShape
from estimator.core.types import Estimate, Profile, RunPlan, Workload
from estimator.pipeline import estimate
from estimator.work import count_work
from estimator.work.training_array import fuse_trainings
from tests.conftest import make_ops

TOY = Workload(name="toy", batch_size=8, precision="fp32")
PRODUCT = {"op_type": "MatMul", "shapes": "8x20;20x30", "output_shapes": "8x30"}
CONVOLUTION = {
    "op_type": "Conv2D", "shapes": "8x20x30x4;3x3x4x6", "output_shapes": "8x20x30x6",
    "attributes": "strides=1x1;padding=SAME;layout=NHWC;kernel_layout=HWIO",
}  # fmt: skip
ELEMENTWISE = {"op_type": "Relu", "shapes": "8x30", "output_shapes": "8x30"}
UNKNOWN = {"op_type": "NoSuchOp", "op_class": "unmodelled", "time_s": 3e-3}
ON_HOST = {"op_type": "IteratorGetNext", "op_class": "input", "time_s": 1e-3}


def array(*rows: Mapping[str, object], trainings: int = 4) -> tuple[pd.DataFrame, pd.DataFrame]:
    work = count_work(make_ops(*rows), TOY).work
    return work, fuse_trainings(work, trainings).work


@pytest.mark.parametrize("row", [PRODUCT, CONVOLUTION, ELEMENTWISE])
def test_an_array_has_the_work_of_all_and_the_launches_of_one(row: dict[str, object]) -> None:
    one, all_of_them = array({**row, "calls": 3.0})
    for name in ("flop", "bytes"):
        assert all_of_them[name].tolist() == (4 * one[name]).tolist()
    for name in ("calls", "time_s", "m", "n", "k", "intensity"):
        pd.testing.assert_series_equal(all_of_them[name], one[name])


def test_products_become_a_batch_and_convolutions_groups() -> None:
    """The sizes of the array tell its amounts."""
    (product,) = array(PRODUCT)[1].to_dict("records")
    assert product["flop"] == 2 * product["batch"] * 8 * 20 * 30
    convolution = array(CONVOLUTION)[1]
    shape = ConvShape.from_table(convolution)
    assert (shape.groups.tolist(), shape.c.tolist(), shape.k.tolist()) == ([4], [16], [24])
    assert convolution["flop"].to_numpy(dtype=float) == pytest.approx(shape.flop())
    assert convolution["bytes"].to_numpy(dtype=float) == pytest.approx(shape.bytes(4))


def test_only_the_time_of_what_has_no_model_grows() -> None:
    one, all_of_them = array(PRODUCT, UNKNOWN, ON_HOST)
    growth = all_of_them["time_s"].to_numpy(dtype=float) / np.maximum(one["time_s"].to_numpy(dtype=float), 1e-12)
    assert growth[1:].tolist() == [4, 1]
    (note,) = fuse_trainings(one, 4).notes
    assert "take 4 times as long" in note.text
    assert note.share == pytest.approx(one["time_s"][1] / one["time_s"].sum())


def test_an_array_of_one_is_the_training() -> None:
    one, same = array(PRODUCT, UNKNOWN, trainings=1)
    assert same is one


def step(profile: Profile, **plan: object) -> Estimate:
    return estimate(profile, RunPlan("v100-sxm2-16gb", draws=50, **plan))  # type: ignore[arg-type]


def test_an_array_takes_no_longer_than_its_trainings_in_turn(p1b3: Profile) -> None:
    alone, two, four = step(p1b3), step(p1b3, trainings=2, sharing="fused"), step(p1b3, trainings=4, sharing="fused")
    assert alone.step.total[0] < two.step.total[0] < 2 * alone.step.total[0]
    assert two.step.total[0] < four.step.total[0] < 2 * two.step.total[0]
    assert np.isnan(two.source_step_s)  # of one training


def memory_parts(profile: Profile, **plan: object) -> dict[str, float]:
    use = step(profile, **plan).memory
    assert use is not None
    return {name: float(samples[0]) for name, samples in use.parts.items()}


def test_fused_trainings_hold_one_reserve(p1b3: Profile) -> None:
    alone, in_turn = memory_parts(p1b3), memory_parts(p1b3, trainings=3)
    fused = memory_parts(p1b3, trainings=3, sharing="fused")
    assert in_turn == pytest.approx({name: 3 * size for name, size in alone.items()})
    assert fused == pytest.approx(in_turn | {"reserve": alone["reserve"]})
