from pathlib import Path

import pytest

from estimator.core.errors import EstimatorError
from tests.profiles.kineto.events import event, kernel, launch, read, step


def test_a_kernel_belongs_to_the_step_that_launched_it(tmp_path: Path) -> None:
    profile = read(
        tmp_path,
        *(step(i, 100 * i, 100) for i in (1, 2)),
        launch(110, 1), launch(210, 2), launch(310, 3), launch(50, 4),
        kernel("early", 60, 5, 4), kernel("before_the_trace", 70, 10, 99),
        kernel("work", 120, 20, 1), kernel("work", 320, 20, 2), kernel("late", 345, 5, 3),
    )  # fmt: skip
    assert profile.steps == 2
    assert profile.ops["kernel"].tolist() == ["work"]
    assert profile.ops["time_s"].item() == pytest.approx(20e-6)
    assert profile.busy_step_s == pytest.approx(20e-6)
    assert any("33 % of the ops' time lies outside the steps" in warning for warning in profile.warnings)


def test_a_kernel_without_a_launch_follows_the_one_before_it_on_its_stream(tmp_path: Path) -> None:
    """Triton launches by a call of the driver that profilers did not record before 2023."""
    profile = read(
        tmp_path,
        step(1, 100, 100), step(2, 200, 100), launch(110, 1), launch(210, 2), kernel("before_the_trace", 70, 10, 99),
        kernel("work", 120, 5, 1), kernel("triton", 130, 20, 97), kernel("work", 220, 5, 2),
        kernel("triton", 230, 20, 98),
    )  # fmt: skip
    assert profile.ops["kernel"].tolist() == ["work", "triton"]
    assert profile.ops["calls"].tolist() == [1, 1]
    assert profile.busy_step_s == pytest.approx(25e-6)


def test_a_stream_without_any_launch_follows_the_others(tmp_path: Path) -> None:
    profile = read(
        tmp_path,
        step(1, 100, 100), step(2, 200, 100), launch(110, 1), launch(210, 2), kernel("work", 120, 5, 1),
        kernel("work", 220, 5, 2), *(kernel("ncclKernel", ts, 30, 90 + ts, stream=8) for ts in (70, 122, 240)),
    )  # fmt: skip
    assert profile.ops.set_index("kernel")["calls"].to_dict() == {"work": 1, "ncclKernel": 1}
    assert profile.busy_step_s == pytest.approx((32 + 35) / 2 * 1e-6)


def test_without_any_launch_kernels_belong_to_the_step_in_which_they_begin(tmp_path: Path) -> None:
    profile = read(tmp_path, step(1, 100, 100), kernel("work", 150, 20, 0), kernel("before", 50, 20, 0))
    assert profile.ops["kernel"].tolist() == ["work"]


def test_a_stub_in_which_nothing_ran_is_no_step(tmp_path: Path) -> None:
    profile = read(tmp_path, step(1, 0, 100), step(2, 100, 1), launch(10, 1), kernel("work", 20, 50, 1))
    assert profile.steps == 1
    assert profile.wall_step_s == pytest.approx(100e-6)


@pytest.mark.parametrize(
    ("host_us", "copy_us", "copies", "steps"), [(40, 1, 1, 2), (40, 20, 1, 3), (400, 1, 1, 3), (40, 1, 12, 3)]
)
def test_a_last_step_that_the_end_of_the_trace_cut_off_is_none(
    host_us: float, copy_us: float, copies: int, steps: int, tmp_path: Path
) -> None:
    """As where the loss is printed behind the loop."""
    launched = [10, 1010, *range(2010, 2010 + copies)]
    profile = read(
        tmp_path,
        step(1, 0, 1000), step(2, 1000, 1000), step(3, 2000, host_us), *(launch(ts, ts) for ts in launched),
        kernel("work", 20, 300, 10), kernel("work", 1020, 300, 1010),
        *(kernel("copy", ts + 20, copy_us, ts) for ts in launched[2:]),
    )  # fmt: skip
    assert profile.steps == steps
    assert profile.wall_step_s == pytest.approx((2000 + host_us * (steps - 2)) / steps * 1e-6)


@pytest.mark.parametrize(
    ("host_us", "busy_us", "device_us", "step_us"),
    [
        (50, 90, 110, 110),
        (50, 60, 110, 110),  # less busy, as its streams wait for each other, but ever further behind the host
        (100, 70, 98, 100),
        (100, 90, 98, 98),
    ],
)
def test_the_step_of_a_device_that_sets_the_pace_is_its_own(
    host_us: float, busy_us: float, device_us: float, step_us: float, tmp_path: Path
) -> None:
    hosts = [step(i, host_us * i, host_us) for i in range(4)]
    launches = [launch(host_us * i + 1, i) for i in range(4)]
    kernels = [kernel("work", 10 + device_us * i, busy_us, i) for i in range(4)]
    assert read(tmp_path, *hosts, *launches, *kernels).wall_step_s == pytest.approx(step_us * 1e-6)


def test_a_host_that_goes_on_alone_after_its_first_step_leaves_the_device_in_time(tmp_path: Path) -> None:
    hosts = [step(0, 0, 1000), step(1, 1000, 100), step(2, 1100, 100)]
    kernels = [kernel("work", ts + 5, 20, i) for i, ts in enumerate((0, 1000, 1100))]
    profile = read(tmp_path, *hosts, *(launch(ts + 1, i) for i, ts in enumerate((0, 1000, 1100))), *kernels)
    assert profile.wall_step_s == pytest.approx(400e-6)


def test_refuses_steps_in_which_no_kernel_was_launched(tmp_path: Path) -> None:
    with pytest.raises(EstimatorError, match="no op ran inside its steps"):
        read(tmp_path, step(1, 100, 10), step(2, 110, 10), launch(0, 1), kernel("work", 5, 10, 1))


def test_an_idle_device_leaves_the_step_to_the_host(tmp_path: Path) -> None:
    hosts = [step(i, 50 * i, 50) for i in range(3)]
    launches = [launch(50 * i + 1, i) for i in range(3)]
    kernels = [kernel("work", 50 * i + 10 + 3 * i, 20, i) for i in range(3)]
    assert read(tmp_path, *hosts, *launches, *kernels).wall_step_s == pytest.approx(50e-6)


def test_the_length_of_a_trace_without_marks_is_no_step_of_a_device(tmp_path: Path) -> None:
    profile = read(tmp_path, launch(10, 1), kernel("work", 20, 50, 1), launch(9e6, 2), kernel("work", 9e6 + 5, 50, 2))
    assert (profile.steps, profile.wall_step_s) == (1, None)
    assert profile.ops["time_s"].item() == pytest.approx(100e-6)
    assert any("wall time is unknown" in warning for warning in profile.warnings)


def test_refuses_a_trace_of_which_nothing_ran_in_the_steps(tmp_path: Path) -> None:
    with pytest.raises(EstimatorError, match="no op ran inside its steps"):
        read(tmp_path, step(1, 0, 10), event("aten::mul", 50, 10))
