"""An array of trainings, by hand, and as a step."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest

from estimator.core.conv_shape import ConvShape
from estimator.core.schema import TIMELINE
from estimator.core.types import Estimate, Profile, RunPlan, Timeline, Workload
from estimator.pipeline.step import estimate
from estimator.profiles import canonical
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
UNKNOWN = {"op_type": "NoSuchOp", "op_class": "unmodelled", "time_s": 3e-3, "shapes": "8x30"}
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


def test_what_runs_on_the_device_grows_and_the_input_is_read_once() -> None:
    one, all_of_them = array(PRODUCT, UNKNOWN, ON_HOST)
    assert all_of_them["growth"].fillna(1).tolist() == [4, 4, 1]
    assert all_of_them["time_s"].tolist() == one["time_s"].tolist()
    (note,) = fuse_trainings(one, 4).notes
    assert note.text == "4 trainings run as one program, which launches each op once for all and reads their input once"


def test_a_convolution_by_its_dimensions_alone_becomes_groups_too() -> None:
    sizes = {"conv_n": 8, "conv_c": 4, "conv_h": 20, "conv_w": 30, "conv_k": 6, "conv_r": 3, "conv_s": 3}
    one, all_of_them = array({"op_type": "Conv2D", **sizes})
    assert one["groups"].isna().all()
    assert all_of_them["groups"].tolist() == [4]


def test_an_array_of_one_is_the_training() -> None:
    one, same = array(PRODUCT, UNKNOWN, trainings=1)
    assert same is one


def step(profile: Profile, **plan: object) -> Estimate:
    return estimate(profile, RunPlan("v100-sxm2-16gb", draws=50, **plan))  # type: ignore[arg-type]


@pytest.mark.slow
def test_an_array_takes_no_longer_than_its_trainings_in_turn(p1b3: Profile) -> None:
    alone, two, four = step(p1b3), step(p1b3, trainings=2, sharing="fused"), step(p1b3, trainings=4, sharing="fused")
    assert alone.step.total[0] < two.step.total[0] < 2 * alone.step.total[0]
    assert two.step.total[0] < four.step.total[0] < 2 * two.step.total[0]
    assert np.isnan(two.source_step_s)  # of one training


@pytest.mark.slow
@pytest.mark.parametrize("device", ["v100-sxm2-16gb", None])
@pytest.mark.parametrize("more", [{"batch": 32}, {"trainings": 4, "sharing": "fused"}])
@pytest.mark.parametrize("with_timeline", [True, False])
def test_what_has_no_model_grows_in_the_replayed_step_too(
    device: str | None, more: dict[str, object], with_timeline: bool
) -> None:
    """Little of the step is modelled; from a known device and from an unknown one, with a timeline and without."""
    ops = canonical.to_ops(
        make_ops({**PRODUCT, "time_s": 1e-4, "placement": "gpu"}, {**UNKNOWN, "placement": "gpu"}), "t"
    )
    ends = {"op": [0, 1], "lane": "gpu", "start_s": [0.0, 1e-4], "duration_s": [1e-4, 3e-3], "launch_s": 0.0}
    timeline = Timeline(TIMELINE.conform(pd.DataFrame(ends), "t"), 0.0, 3.1e-3) if with_timeline else None
    profile = Profile(ops, TOY, device, "toy", timeline=timeline, wall_step_s=3.1e-3)
    alone, grown = (
        estimate(profile, RunPlan("a100-sxm4-40gb", draws=0, host="none", **plan)).step  # type: ignore[arg-type]
        for plan in ({}, more)
    )
    assert grown.unmodelled[0] == pytest.approx(4 * alone.unmodelled[0], rel=0.01)
    assert grown.total[0] > 3.5 * alone.total[0]


def memory_parts(profile: Profile, **plan: object) -> dict[str, float]:
    use = step(profile, **plan).memory
    assert use is not None
    return {name: float(samples[0]) for name, samples in use.parts.items()}


@pytest.mark.slow
def test_fused_trainings_hold_one_reserve(p1b3: Profile) -> None:
    alone, in_turn = memory_parts(p1b3), memory_parts(p1b3, trainings=3)
    fused = memory_parts(p1b3, trainings=3, sharing="fused")
    assert in_turn == pytest.approx({name: 3 * size for name, size in alone.items()})
    assert fused == pytest.approx(in_turn | {"reserve": alone["reserve"]})


def test_an_array_of_batch_normalizations_has_the_channels_of_all() -> None:
    one, all_of_them = array({"op_type": "aten::native_batch_norm", "shapes": "8x32x7x7;32;32;32;32"})
    assert (one["conv_c"].item(), all_of_them["conv_c"].item()) == (32, 128)
