from pathlib import Path
from typing import Any

import pytest

from estimator.core.errors import EstimatorError
from tests.profiles.kineto.events import event, kernel, launch, read, step
from tests.profiles.own_step import replayed_s


def named(*names: str) -> list[dict[str, Any]]:
    return [{"id": i, "name": name} for i, name in enumerate(names)]


@pytest.mark.parametrize(
    ("properties", "name"),
    [
        (named("H100", "H100"), "H100"),
        (named("A100", "T4"), "T4"),  # kernels ran on device 1
        (named(""), None),
        ([{"id": 1, "name": 5}], None),
        ("text", None),
        ([{"id": 1, "name": "x" * 999}], None),
    ],
)
def test_the_name_of_the_device_that_ran(properties: Any, name: str | None, tmp_path: Path) -> None:
    assert read(tmp_path, kernel("work", 0, 5, 0, device=1), deviceProperties=properties).device_recorded == name


@pytest.mark.parametrize(
    ("category", "words"),
    [
        ("cuda_profiler_range", "no kernel"),
        ("mtia_ccp_events", "MTIA"),
        ("mtia_runtime", "MTIA"),
        ("privateuse1_kernels", "PRIVATEUSE1"),
        ("hpu_op", "HPU"),
    ],
)
def test_refuses_events_of_devices_that_are_no_kernels(category: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(EstimatorError, match=words):
        read(tmp_path, event("aten::mul", 0, 10), event("range", 0, 10, category))


def test_annotations_and_waits_on_the_tracks_of_a_device_take_no_time(tmp_path: Path) -> None:
    spans = [event("span", 0, 90, category) for category in ("gpu_user_annotation", "cuda_sync", "overhead")]
    profile = read(tmp_path, kernel("work", 10, 5, 0), *spans)
    assert profile.busy_step_s == profile.ops["time_s"].sum() == pytest.approx(5e-6)


def test_several_devices_of_a_process_are_a_mean_without_those_that_only_copy(tmp_path: Path) -> None:
    copy = event("Memcpy", 40, 50, "gpu_memcpy", 7, correlation=3, device=2, stream=7)
    profile = read(
        tmp_path, step(1, 0, 100), *(launch(i, i) for i in (1, 2, 3)),
        kernel("work", 10, 10, 1, device=0), kernel("work", 10, 30, 2, device=1), copy,
    )  # fmt: skip
    assert profile.ranks == 2
    assert profile.busy_step_s == pytest.approx(20e-6)
    assert profile.ops["time_s"].sum() == pytest.approx(20e-6)
    assert profile.timeline  # of device 0
    assert profile.timeline.events["lane"].tolist() == ["gpu:0/7"]
    assert profile.timeline.events["op"].tolist() == [0]
    assert replayed_s(profile) == pytest.approx(100e-6)


@pytest.mark.parametrize(("duration", "ranks"), [(0.4, 1), (0.6, 2)])
def test_a_device_that_ran_next_to_nothing_is_no_rank(duration: float, ranks: int, tmp_path: Path) -> None:
    """As where each process of a training also touches the first device."""
    profile = read(
        tmp_path, step(1, 0, 100), launch(1, 1), launch(2, 2),
        kernel("work", 10, 10, 1, device=3), kernel("fill", 10, duration, 2, device=0),
    )  # fmt: skip
    assert profile.ranks == ranks
    assert any("one device of this process; left out: gpu:0, which" in w for w in profile.warnings) == (ranks == 1)
    assert profile.busy_step_s == pytest.approx((10e-6 + duration * 1e-6 * (ranks - 1)) / ranks)


def test_unknown_keys_of_a_dump_are_never_shown(tmp_path: Path) -> None:
    profile = read(tmp_path, kernel("work", 0, 5, 0), environment={"TOKEN": "secret"}, hostname="secret")
    assert "secret" not in repr(profile) + profile.ops.to_csv()
