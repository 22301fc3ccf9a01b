"""Accelerators of an XPlane dump: which count as ranks, their steps, and what the dump calls them."""

from pathlib import Path

import numpy as np
import pytest

from estimator.profiles.steps import NO_WINDOWS
from estimator.profiles.xplane import devices
from tests.profiles.xplane.dumps import OP_STATS, accelerators, event, read_bytes
from tests.profiles.xplane.plain_reader import field

COPY_STATS = [field(1, 6) + field(5, "size:112 dest:4 async:0")]


def test_a_gpu_that_only_copied_is_no_rank(tmp_path: Path) -> None:
    lines = [{"Stream #1": [event(2, 0, 10, *stats)]} for stats in (COPY_STATS, OP_STATS)]
    profile = read_bytes(accelerators(*lines), tmp_path)
    assert (profile.ranks, profile.ops["calls"].tolist()) == (1, [1])
    assert "left out: /device:GPU:0, which only copied" in str(profile.warnings)


@pytest.mark.parametrize(("duration", "ranks"), [(40, 1), (60, 2)])
def test_a_gpu_that_ran_next_to_nothing_is_no_rank(duration: int, ranks: int, tmp_path: Path) -> None:
    lines = [{"Stream #1": [event(2, 0, time, *OP_STATS)]} for time in (1000, duration)]
    profile = read_bytes(accelerators(*lines), tmp_path)
    assert profile.ranks == ranks
    assert ("less than 5 % of the busiest" in str(profile.warnings)) == (ranks == 1)


def test_gpus_that_all_only_copied_are_ranks(tmp_path: Path) -> None:
    lines = [{"Stream #1": [event(2, 0, 10, *COPY_STATS)]} for _ in range(2)]
    assert read_bytes(accelerators(*lines), tmp_path).ranks == 2


def test_busy_time_is_the_mean_over_the_devices(tmp_path: Path) -> None:
    lines = [{"Stream #1": [event(2, start, 10, *OP_STATS)]} for start in (0, 100)]
    profile = read_bytes(accelerators(*lines), tmp_path)
    assert profile.busy_step_s == pytest.approx(10e-12)
    assert profile.ops["shared_s"].tolist() == pytest.approx([10e-12])


def test_the_line_of_steps_bounds_a_devices_steps(tmp_path: Path) -> None:
    kernels = [event(2, start, 20, *OP_STATS) for start in (0, 100, 150, 200, 300)]
    steps = [event(1, start, 80) for start in (100, 200)]
    profile = read_bytes(accelerators({"Stream #1": kernels, "Steps": steps}), tmp_path)
    assert profile.steps == 2
    assert profile.wall_step_s == pytest.approx(100e-12)
    assert profile.ops["calls"].tolist() == [1.5]
    assert profile.busy_step_s == pytest.approx(30e-12)
    assert "40 % of the ops' time lies outside the steps" in str(profile.warnings)


def test_the_device_is_recorded_as_the_dump_describes_it(tmp_path: Path) -> None:
    own = b"".join(field(6, field(1, 8 + row) + field(3, value)) for row, value in enumerate((1530000, 80, 7)))
    content = accelerators({"Stream #1": [event(2, 0, 9)]}, own=own)
    assert read_bytes(content, tmp_path).device_recorded == "NVIDIA 80 cores 1.53 GHz cc 7.0"


@pytest.mark.parametrize(
    ("name", "stats", "copies"),
    [
        ("MemcpyH2D", ["correlation_id", "memcpy_details"], True),
        ("Memset", ["memset_details"], True),
        ("__amd_rocclr_copyBuffer.kd", ["kernel_details"], True),
        ("loop_add_fusion", ["kernel_details", "hlo_op"], False),
    ],
)
def test_events_that_only_copy(name: str, stats: list[str], copies: bool) -> None:
    assert devices.is_copy(name, stats) is copies


def test_devices_without_steps_of_their_own_have_those_of_the_others() -> None:
    assert devices.step_counts([np.array([(0, 9), (10, 19)]), NO_WINDOWS], 5) == [2, 2]
    assert devices.step_counts([NO_WINDOWS, NO_WINDOWS], 5) == [5, 5]
    assert devices.step_counts([NO_WINDOWS], 0) == [1]


def test_the_time_of_a_step() -> None:
    own = [np.array([(0, 10), (10, 21), (20, 30)]), np.array([(0, 20)]), NO_WINDOWS]
    assert devices.mean_step_s(own) == pytest.approx((10e-12 + 20e-12) / 2)
    assert devices.mean_step_s([NO_WINDOWS]) is None
