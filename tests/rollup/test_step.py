import dataclasses

import numpy as np
import pytest

from estimator.core.interval import Z, bounds
from estimator.core.types import RunPlan
from estimator.pipeline import estimate
from estimator.rollup import step
from estimator.rollup.parts import PARTS
from tests.rollup.toy_steps import OPS, predicted, profile, replayed


def test_overlap_and_idle_time_carry_over_to_the_target() -> None:
    estimated = estimate(profile(wall_step_s=1.0, busy_step_s=0.5), RunPlan("k20x", draws=3))
    assert estimated.step.unmodelled[0] == pytest.approx(0.5)
    assert estimated.step.host[0] == pytest.approx(0.5)
    assert estimated.step.total[0] == pytest.approx(estimated.source_step_s)


def test_on_its_own_device_a_step_varies_as_the_profiled_steps() -> None:
    ran = dataclasses.replace(profile(wall_step_s=1.25), device="v100", step_spread=0.1)
    low, mid, high = bounds(estimate(ran, RunPlan("v100", draws=4000)).step.total)
    assert mid == 1.25
    assert [low / mid, high / mid] == pytest.approx([np.exp(-0.1 * Z), np.exp(0.1 * Z)], rel=0.02)


def test_each_part_of_a_step_by_hand() -> None:
    found = replayed(0.5, idle_s=0.25)
    expected = {part: sum((op[3] - op[4]) / 2 for op in OPS if op[5] == part) for part in PARTS}
    expected |= {"latency": sum(op[4] for op in OPS) / 2, "host": expected["host"] + 0.25}
    assert {part: samples[0] for part, samples in found.step.parts().items()} == pytest.approx(expected)
    assert found.step.total == pytest.approx(np.array([45.5, 91]) / 2 + [0.25, 0.75])
    assert sum(found.step.parts().values()) == pytest.approx(found.step.total)
    assert found.kernels_s == pytest.approx(np.array([42.5, 85]) / 2)  # without the ops of the host and of input
    assert found.overlap == pytest.approx(np.full(len(OPS), 0.5))


def test_the_time_of_products_alone() -> None:
    assert step.matrix_time(predicted(), np.full(len(OPS), 0.5)).tolist() == [15, 30]
