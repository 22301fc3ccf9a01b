"""The shipped captures of six networks of keras.applications against their definitions.

Multiply-adds are those of a forward pass of one image: over all layers, output elements × kernel elements per output.
The papers print 3.8 billion for ResNet-50, 569 million for MobileNet, and 15.3 billion for VGG-16, whose dense layers
(124 million) they leave out. Parameters are those in Keras' own table of applications, moving statistics included.
"""

from collections.abc import Callable
from functools import cache

import pandas as pd
import pytest

from estimator.core.schema import MATRIX
from estimator.core.types import StudyResult, Workload
from estimator.profiles import read_profile, shipped
from estimator.work import count_work, rebatch

MULTIPLY_ADDS = {  # of all layers, and of the first, whose input needs no gradient
    "resnet50": (3_857_973_248, 118_013_952),
    "vgg16": (15_470_264_320, 86_704_128),
    "inception-v3": (5_713_216_096, 19_181_664),
    "mobilenet": (568_740_352, 10_838_016),
    "densenet121": (2_834_161_664, 118_013_952),
    "xception": (8_357_403_496, 19_181_664),
}
PARAMETERS = {  # all, and moving means and variances, which no gradient trains
    "resnet50": (25_636_712, 53_120),
    "vgg16": (138_357_544, 0),
    "inception-v3": (23_851_784, 34_432),
    "mobilenet": (4_253_864, 21_888),
    "densenet121": (8_062_504, 83_648),
    "xception": (22_910_480, 54_528),
}


@cache
def counted(name: str) -> tuple[pd.DataFrame, Workload]:
    """WORK of a capture, and its workload."""
    profile = read_profile(name)
    return count_work(profile.ops, profile.workload).work, profile.workload


@pytest.mark.slow
@pytest.mark.parametrize("name", MULTIPLY_ADDS)
def test_flop_of_a_step_are_those_of_the_layers(name: str) -> None:
    """A step runs each layer forward, and both gradients of all but the first."""
    work, workload = counted(name)
    products = work[work["op_class"].isin(MATRIX)]
    (total, first), batch = MULTIPLY_ADDS[name], workload.batch_size or 0
    assert products.loc[products["phase"] == "forward", "flop"].sum() == 2 * batch * total
    assert products["flop"].sum() == 2 * batch * (3 * total - first)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "batch"), [*zip(MULTIPLY_ADDS, (64, 256) * 3, strict=True)])
def test_flop_at_another_batch_go_with_it(name: str, batch: int) -> None:
    resized = rebatch(*counted(name), batch)
    products = resized.work[resized.work["op_class"].isin(MATRIX)]
    total, first = MULTIPLY_ADDS[name]
    assert products["flop"].sum() == 2 * batch * (3 * total - first)
    assert [note.code for note in resized.notes] == ["rebatched", "rebatch-unmodelled"]
    assert resized.notes[1].text.startswith("1 op(s), 0.0 %")  # the wait for input


@pytest.mark.slow
@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_are_keras_own(name: str) -> None:
    total, moving = PARAMETERS[name]
    assert counted(name)[1].parameters == shipped()[name].parameters == total - moving


@pytest.mark.slow
def test_the_table_of_platforms_frameworks_and_modes_is_filled(
    shipped_study: Callable[[str], StudyResult],
) -> None:
    result = shipped_study("keras-networks")
    step = {pair: actual.step.total[0] for pair, actual in result.estimates.items()}
    assert len(step) == 3 * (4 + 4 + 4 * 2)  # of two networks both frameworks
    for machine, unit in step:
        assert step[machine, unit] <= step[machine, unit.replace("inference", "training")]
        assert step.get((machine, unit.replace("F1", "F2")), 0.0) <= step[machine, unit]
        assert step["GPU", unit] < step["CPU", unit]
    assert [(c.unit, c.on) for c in result.comparisons] == [
        ("ResNet-50 F1 training", "p100-sxm2-16gb"),
        ("VGG16 F1 training", "p100-sxm2-16gb"),
        ("ResNet-50 F1 training", "k80-gpu"),
    ]
    assert all(c.source and c.reason for c in result.comparisons)
