import dataclasses
from collections.abc import Sequence
from pathlib import Path

import pytest

from estimator.core.errors import EstimatorError
from estimator.core.types import Profile, Workload
from estimator.profiles import canonical, read_profile
from estimator.profiles.ranks import merge
from estimator.work import count_work
from tests.conftest import make_ops

HEADER = "op,op_type,shapes,placement,calls,time_s\n"


def ranks(folder: Path, *tables: Sequence[str]) -> Path:
    for number, rows in enumerate(tables):
        (folder / f"rank{number}.csv").write_text(HEADER + "\n".join(rows) + "\n")
    return folder


def test_times_are_means_and_their_spread_is_kept(tmp_path: Path) -> None:
    folder = ranks(
        tmp_path,
        ["a,MatMul,10x20;20x5,host0,2,0.3", "b,Mul,,host0,1,0.1"],
        ["a,MatMul,10x20;20x5,host1,2,0.5"],
    )
    ops = read_profile(folder).ops.set_index("op")
    assert ops["time_s"].to_dict() == pytest.approx({"a": 0.4, "b": 0.05})
    assert ops["time_spread_s"].to_dict() == pytest.approx({"a": 0.02**0.5, "b": 0.005**0.5})
    assert ops["calls"].to_dict() == {"a": 2, "b": 0.5}
    assert ops["placement"].isna()["a"]
    assert ops.at["b", "placement"] == "host0"


def test_a_row_without_calls_that_one_of_two_ranks_has_is_half_a_call(tmp_path: Path) -> None:
    folder = ranks(tmp_path, ["a,MatMul,10x20;20x5,,,0.3", "b,Relu,100,,,0.1"], ["b,Relu,100,,,0.1"])
    profile = read_profile(folder)
    assert profile.ops.set_index("op")["calls"].to_dict() == {"a": 0.5, "b": 1.0}
    assert count_work(profile.ops, profile.workload).work["flop"].iloc[0] == 0.5 * 2 * 10 * 20 * 5


def test_ranks_in_separate_folders_are_read_together(tmp_path: Path) -> None:
    for name in ("worker0", "worker1"):
        (tmp_path / name).mkdir()
        ranks(tmp_path / name, ["a,MatMul,,,1,0.3"])
    assert read_profile(tmp_path).ops["time_s"].tolist() == [0.3]
    assert len(read_profile(tmp_path).files) == 2


def test_each_rank_has_its_own_side_files(tmp_path: Path) -> None:
    for number, wall in enumerate((1.0, 3.0)):
        folder = tmp_path / f"rank{number}"
        folder.mkdir()
        ranks(folder, ["a,MatMul,,,4,0.8"])
        (folder / "provenance.yaml").write_text(f"wall_step: {wall} s\nsteps: 2\ndevice: v100\n")
        (folder / "graph.csv").write_text("op,op_type,shapes\na,MatMul,10x20;20x5\n")
    profile = read_profile(tmp_path)
    assert (profile.wall_step_s, profile.steps, profile.device) == (2.0, 2, "v100")
    assert profile.busy_step_s is None
    assert profile.ops.loc[0, ["time_s", "calls", "shapes"]].tolist() == [0.4, 2, "10x20;20x5"]


def test_ranks_with_and_without_shapes_are_refused(tmp_path: Path) -> None:
    folder = ranks(tmp_path, ["a,MatMul,10x20;20x5,,2,0.3"], ["a,MatMul,,,2,0.5"])
    with pytest.raises(EstimatorError, match="rank 1 has no operand shapes"):
        read_profile(folder)


def test_number_of_ranks(tmp_path: Path) -> None:
    assert read_profile(ranks(tmp_path, ["a,MatMul,,,2,0.3"], ["a,MatMul,,,2,0.5"])).ranks == 2


def window(start: float, steps: int, time_s: float, rank: int | None = None) -> Profile:
    """A record of so many steps that began at a time [s] and took 1 s; ``time_s`` is of one step."""
    ops = canonical.to_ops(make_ops({"op": "a", "time_s": time_s, "rank": rank}), "toy")
    profile = Profile(ops, Workload(name="toy"), None, "toy", steps=steps, recorded_s=(start, start + 1.0))
    return dataclasses.replace(profile, wall_step_s=2 * time_s, busy_step_s=time_s)


def test_windows_and_runs_of_one_process_are_no_ranks() -> None:
    merged = merge([window(0.0, 1, 0.4), window(5.0, 3, 0.2)])
    assert merged.ranks == 1
    assert merged.ops["time_s"].tolist() == pytest.approx([0.25])  # of one step among four
    assert merged.wall_step_s == pytest.approx(0.5)
    assert merged.busy_step_s == pytest.approx(0.25)


def test_ranks_count_alike_however_many_steps_each_has() -> None:
    merged = merge([window(0.0, 1, 0.4, rank=0), window(0.0, 3, 0.2, rank=1)])
    assert merged.ranks == 2
    assert merged.ops["time_s"].tolist() == pytest.approx([0.3])
    assert merged.wall_step_s == pytest.approx(0.6)
    for rank in (None, 0):
        with pytest.raises(EstimatorError, match="cover 1 and 3 steps"):
            merge([window(0.0, 1, 0.4, rank=0), window(0.5, 3, 0.2, rank=rank)])


def test_dumps_recorded_at_the_same_time_or_of_stated_ranks_are_ranks() -> None:
    assert merge([window(0.0, 2, 0.4), window(0.5, 2, 0.2)]).ranks == 2
    assert merge([window(0.0, 2, 0.4, rank=0), window(5.0, 2, 0.2, rank=1)]).ranks == 2
    of_two = [window(start, 2, 0.4, rank=rank) for start in (0.0, 5.0) for rank in (0, 1)]
    assert merge(of_two).ranks == 2


def test_a_process_of_several_devices_counts_as_so_many_ranks() -> None:
    two_devices = dataclasses.replace(window(0.0, 2, 0.3, rank=0), ranks=2)
    merged = merge([two_devices, window(0.0, 2, 0.6, rank=1)])
    assert merged.ranks == 3
    assert merged.busy_step_s == pytest.approx((2 * 0.3 + 0.6) / 3)


def test_a_copy_of_a_dump_is_no_rank() -> None:
    """As of a trace and its zipped copy; a dump that records no time may be that of an equal rank."""
    merged = merge([window(0.0, 2, 0.4), window(0.0, 2, 0.4), window(0.0, 2, 0.2)])
    assert merged.ranks == 2
    assert merged.warnings == ("1 of the dumps hold the same record as another one: they are left out",)
    timeless = dataclasses.replace(window(0.0, 2, 0.4), recorded_s=None)
    assert merge([timeless, timeless]).ranks == 2
