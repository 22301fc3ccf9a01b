"""Timelines of GPUs' XPlanes: launches joined by correlation, steps by the device or the host; and real dumps."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from estimator.core.types import Profile, Timeline, Workload
from estimator.profiles import xplane
from estimator.profiles.dump import Dump
from estimator.profiles.xplane import plane_events, step_timeline
from estimator.rollup.timeline import Events, replay, step_s
from tests.profiles.own_step import busy_s, replayed_s
from tests.profiles.test_public_dumps import READ, read
from tests.profiles.xplane.plain_reader import field

XPLANES = [row for row in READ if row["format"] == "XPlane" and "TPU" not in row["device_recorded"]]
NAMES = ("gemm", "add", "cuLaunchKernel", "cuStreamSynchronize", "train", "other", "MemcpyD2H", "0")
STATS = ("correlation_id", "step_num", "memcpy_details")
US = 10**6  # [ps]

Lines = dict[str, list[bytes]]


def event(name: str, start_us: float, duration_us: float, correlation: int = 0, step: int | None = None) -> bytes:
    """An event; ``correlation`` 0 stands for none."""
    out = field(1, NAMES.index(name) + 1) + field(2, round(start_us * US)) + field(3, round(duration_us * US))
    out += field(4, field(1, 1) + field(3, correlation)) if correlation else b""
    return out + (field(4, field(1, 2) + field(4, step)) if step is not None else b"")


def plane(name: str, lines: Lines) -> bytes:
    out = field(2, name)
    for line, events in lines.items():
        out += field(3, field(2, line) + b"".join(field(4, e) for e in events))
    for table, tag in ((NAMES, 4), (STATS, 5)):
        for key, text in enumerate(table, start=1):
            out += field(tag, field(1, key) + field(2, field(1, key) + field(2, text)))
    return field(1, out)


def profile_of(folder: Path, host: Lines, *devices: Lines) -> Profile:
    path = folder / "toy.xplane.pb"
    path.write_bytes(
        b"".join(plane(f"/device:GPU:{n}", lines) for n, lines in enumerate(devices)) + plane("/host:CPU", host)
    )
    return xplane.read([Dump(path)], Workload(name="toy"))


def timeline_of(profile: Profile) -> Timeline:
    assert profile.timeline
    assert replayed_s(profile) == pytest.approx(profile.timeline.step_s, rel=0.01)
    return profile.timeline


def of_device(timeline: Timeline) -> pd.DataFrame:
    return timeline.events[timeline.events["op"].notna()]


def us(timeline: Timeline, column: str) -> list[float]:
    """A column of the device's rows [us]."""
    return [1e6 * value for value in of_device(timeline)[column].to_numpy(dtype=float, na_value=np.nan)]


def test_kernels_are_joined_with_their_launches_by_correlation(tmp_path: Path) -> None:
    launches = [event("train", 0, 100, step=0), event("cuLaunchKernel", 5, 3, 11), event("gemm", 20, 3, 12)]
    stream, other = [event("gemm", 15, 30, 11), event("gemm", 45, 20, 12)], [event("add", 70, 5)]
    profile = profile_of(tmp_path, {"python": launches}, {"Stream #1": stream, "Stream #2": other})
    timeline = timeline_of(profile)
    assert us(timeline, "launch_s") == pytest.approx([5, 20, 0])  # nobody launched the last one
    assert us(timeline, "start_s") == pytest.approx([15, 45, 70])
    assert of_device(timeline)["lane"].tolist() == ["Stream #1", "Stream #1", "Stream #2"]
    assert profile.ops["op"][of_device(timeline)["op"]].tolist() == ["gemm", "gemm", "add"]
    assert timeline.step_s == timeline.host_step_s == pytest.approx(1e-4)


def test_the_host_waits_where_it_did(tmp_path: Path) -> None:
    host = [event("train", 0, 100, step=0), event("cuLaunchKernel", 5, 3, 11), event("cuStreamSynchronize", 10, 40)]
    timeline = timeline_of(profile_of(tmp_path, {"python": host}, {"Stream #1": [event("gemm", 15, 33, 11)]}))
    wait = timeline.events[timeline.events["op"].isna()].iloc[0]
    assert timeline.events["op"][wait["after"]] == 0
    assert 1e6 * wait["lag_s"] == pytest.approx(2)


def test_a_step_of_the_device_lasts_from_the_end_of_one_to_the_end_of_the_next(tmp_path: Path) -> None:
    begins = (100, 200, 320, 400)
    host = [event("cuLaunchKernel", 90 + begin, 2, number + 1) for number, begin in enumerate(begins)]
    stream = [event("gemm", 200 + begin, 50 + number, number + 1) for number, begin in enumerate(begins)]
    steps = [event("0", 200 + begin, 50 + number) for number, begin in enumerate(begins)]
    profile = profile_of(tmp_path, {"python": host}, {"Stream #1": stream, "Steps": steps})
    timeline = timeline_of(profile)
    assert profile.steps == 4
    assert 1e6 * timeline.step_s == pytest.approx(101)  # of 50, 101, 121 and 81
    assert us(timeline, "launch_s") == pytest.approx([0])  # before the end of the step before, at which this one begins
    assert us(timeline, "start_s") == pytest.approx([50])


def lagging(marks: int, launches: int) -> tuple[list[bytes], list[bytes]]:
    """A host that launches a step within 10 µs, and a GPU that takes 100 µs for each."""
    host = [event("train", 10 * at, 10, step=at) for at in range(marks)]
    host += [event("cuLaunchKernel", 10 * at + 2, 1, at + 1) for at in range(launches)]
    return host, [event("gemm", 100 * at + 5, 98, at + 1) for at in range(launches)]


def test_the_step_of_a_gpu_that_lags_behind_the_hosts_marks_is_its_own(tmp_path: Path) -> None:
    host, stream = lagging(4, 4)
    profile = profile_of(tmp_path, {"python": host}, {"Stream #1": stream})
    assert profile.steps == 4
    assert 1e6 * (profile.wall_step_s or 0) == pytest.approx(100)
    assert 1e6 * (profile.busy_step_s or 0) == pytest.approx(98)
    assert 1e6 * timeline_of(profile).step_s == pytest.approx(100)
    assert profile.warnings == ()


def test_what_the_host_launched_outside_of_its_marks_is_left_out(tmp_path: Path) -> None:
    host, stream = lagging(4, 5)
    early = event("other", 0, 4, 99)  # launched before the trace began
    profile = profile_of(tmp_path, {"python": host}, {"Stream #1": [early, *stream]})
    assert (profile.steps, profile.ops["op"].tolist(), profile.ops["calls"].tolist()) == (4, ["gemm"], [1.0])
    assert 1e6 * (profile.wall_step_s or 0) == pytest.approx(100)
    assert "21 % of the ops' time lies outside the steps" in str(profile.warnings)


def test_marks_in_which_nothing_was_launched_are_no_steps(tmp_path: Path) -> None:
    host, stream = lagging(6, 4)
    profile = profile_of(tmp_path, {"python": host}, {"Stream #1": stream})
    assert (profile.steps, profile.ops["calls"].tolist()) == (4, [1.0])
    assert 1e6 * (profile.wall_step_s or 0) == pytest.approx(100)


def test_marks_of_the_host_come_before_those_of_a_gpus_events(tmp_path: Path) -> None:
    host, stream = lagging(4, 4)
    marked = [kernel + field(4, field(1, 2) + field(4, number)) for number, kernel in enumerate(stream)]
    profile = profile_of(tmp_path, {"python": host}, {"Stream #1": marked}, {"Stream #1": marked})
    assert (profile.steps, profile.ops["calls"].tolist()) == (4, [1.0])
    assert not any("marks have several names" in warning for warning in profile.warnings)


def test_the_step_of_several_gpus_is_their_mean(tmp_path: Path) -> None:
    host, stream = lagging(4, 4)
    other = [event("gemm", 120 * at + 5, 118, at + 1) for at in range(4)]
    profile = profile_of(tmp_path, {"python": host}, {"Stream #1": stream}, {"Stream #1": other})
    assert 1e6 * (profile.wall_step_s or 0) == pytest.approx(110)


def test_an_idle_gpu_leaves_the_step_to_the_host(tmp_path: Path) -> None:
    host = [event("train", 100 * at, 90, step=at) for at in range(3)]
    host += [event("cuLaunchKernel", 100 * at + 2, 1, at + 1) for at in range(3)]
    stream = [event("gemm", 100 * at + 5, 20, at + 1) for at in range(3)]
    profile = profile_of(tmp_path, {"python": host}, {"Stream #1": stream})
    assert 1e6 * (profile.wall_step_s or 0) == pytest.approx(290 / 3)  # the time between two marks is of the first


def test_where_not_all_launches_were_kept_the_start_tells_the_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step_timeline, "MOST_LAUNCHES", 1)
    monkeypatch.setattr(plane_events, "CHUNK_BYTES", (8, 8))
    host = [event("train", 100 * at, 100, step=at) for at in range(3)]
    launches = [event("cuLaunchKernel", 100 * at + 2, 1, at + 1) for at in range(3)]
    stream = [event("gemm", 100 * at + 5, 20, at + 1) for at in range(3)]
    profile = profile_of(tmp_path, {"python": host, "launches": launches}, {"Stream #1": stream})
    assert profile.ops["calls"].tolist() == [1.0]


def test_a_host_that_ran_ahead_holds_up_a_faster_device_by_its_launches_alone(tmp_path: Path) -> None:
    host = [event("cuLaunchKernel", 10 + 10 * at, 2, at + 1) for at in range(6)]
    stream = [event("gemm", 100 + 100 * at, 100, at + 1) for at in range(6)]
    steps = [event("0", 100 + 300 * step, 300) for step in range(2)]
    profile = profile_of(tmp_path, {"python": host}, {"Stream #1": stream, "Steps": steps})
    timeline = timeline_of(profile)
    assert 1e6 * timeline.step_s == pytest.approx(300)
    assert us(timeline, "launch_s") == pytest.approx([0, 0, 0])
    events, tenth = Events(timeline.events), np.full((1, len(profile.ops)), 0.01)
    assert 1e6 * step_s(replay(events, tenth, np.ones(1), timeline.host_step_s))[0] == pytest.approx(20)


def test_the_host_waits_for_the_device_behind_its_last_launch(tmp_path: Path) -> None:
    host = [event("train", 0, 100, step=0), event("cuLaunchKernel", 5, 3, 11)]
    profile = profile_of(tmp_path, {"python": host}, {"Stream #1": [event("gemm", 15, 80, 11)]})
    timeline = timeline_of(profile)
    halved = replay(Events(timeline.events), np.full((1, len(profile.ops)), 0.5), np.ones(1), timeline.host_step_s)
    assert 1e6 * step_s(halved)[0] == pytest.approx(60)


def test_a_step_that_nobody_marked_has_no_pauses(tmp_path: Path) -> None:
    launches = [event("cuLaunchKernel", 0, 1, 1), event("cuLaunchKernel", 500, 1, 2)]
    stream = [event("gemm", 10, 5, 1), event("add", 510, 7, 2)]
    timeline = timeline_of(profile_of(tmp_path, {"python": launches}, {"Stream #1": stream}))
    assert 1e6 * timeline.step_s == pytest.approx(12)


def test_the_timeline_is_of_the_first_device_that_computed(tmp_path: Path) -> None:
    copies = {"Stream #9": [event("MemcpyD2H", 0, 5) + field(4, field(1, 3) + field(5, "x"))]}
    first, second = ({"Stream #1": [event("add", 0, 1), event(name, 10, 20)]} for name in ("gemm", "other"))
    profile = profile_of(tmp_path, {"python": []}, copies, first, second)
    timeline = timeline_of(profile)
    assert profile.ops["op"][of_device(timeline)["op"]].tolist() == ["add", "gemm"]
    assert 1e6 * timeline.step_s == pytest.approx(21)


def test_a_single_lane_that_nests_has_its_program_order_alone(tmp_path: Path) -> None:
    profile = profile_of(tmp_path, {"python": []}, {"XLA Ops": [event("gemm", 0, 9), event("add", 9, 9)]})
    assert profile.timeline is None
    assert profile.ops["op"].tolist() == ["gemm", "add"]


@pytest.mark.slow
@pytest.mark.parametrize("row", XPLANES, ids=lambda row: row["name"])
def test_a_real_step_replayed_with_its_own_times_takes_its_own_time(row: Mapping[str, str]) -> None:
    profile = read(row["file"])
    timeline = timeline_of(profile)
    busy = profile.busy_step_s if profile.ranks == 1 else float(row["gpu_busy_step_s"])
    assert busy_s(timeline) == pytest.approx(busy, rel=0.03)


@pytest.mark.parametrize("row", [row for row in XPLANES if row["steps"]], ids=lambda row: row["name"])
def test_real_launches_are_found(row: Mapping[str, str]) -> None:
    assert of_device(timeline_of(read(row["file"])))["launch_s"].notna().mean() > 0.99


@pytest.mark.parametrize("marks", ["device", "host", "none"])
def test_of_very_many_events_the_first_whole_steps_are_looked_at(
    marks: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step_timeline, "MOST_EVENTS", 150)
    monkeypatch.setattr(plane_events, "CHUNK_BYTES", (256, 256))
    chunks = {f"Stream #{lane}": [event("gemm", 10 * at, 5 + at // 20, at + 1) for at in range(200)] for lane in (1, 2)}
    steps = [event("train", 200 * number, 200, step=number) for number in range(10)]
    launches = [event("cuLaunchKernel", 10 * at, 1, at + 1) for at in range(200)]
    device = {**chunks, "Steps": steps} if marks == "device" else chunks
    profile = profile_of(tmp_path, {"python": launches, "marks": steps if marks == "host" else []}, device)
    if marks == "none":
        assert profile.timeline is None
    else:
        assert set(np.rint(us(timeline_of(profile), "duration_s"))) <= {5, 6, 7}  # of 5 to 14
