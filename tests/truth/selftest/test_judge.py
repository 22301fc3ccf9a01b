"""Judgement on runs that were never made: which of them count, and that truth and predictions share none."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pytest
import yaml

from estimator.core import library
from estimator.truth.selftest.judge import COLUMNS, judge, summary
from estimator.truth.selftest.runs import Folder, parse, predicts
from estimator.truth.selftest.settings import Setting

ONE, TWO = Setting(1, "AVX2"), Setting(2, "AVX2")
WORKLOAD = parse("p1b2")
REPEATS = 4
WALLS = {ONE: (0.9, 1.1, 0.8, 1.0), TWO: (0.5, 0.7, 0.45, 0.6)}  # [s] of each round


def captured(place: Path, wall_s: float) -> None:
    """The shipped capture, as if its step had taken so long."""
    shutil.copytree(library.names("profiles", "*")[WORKLOAD.name] / "amd-epyc.xplane", place)
    path = place / "provenance.yaml"
    told = yaml.safe_load(path.read_text()) | {
        "wall_step": f"{wall_s} s",
        "wall_step_low": None,
        "wall_step_high": None,
    }
    path.write_text(yaml.safe_dump({key: value for key, value in told.items() if value is not None}))


def filled(path: Path, walls: Mapping[Setting, tuple[float, ...]]) -> Folder:
    folder = Folder(path)
    for setting, seconds in walls.items():
        device = folder.device(setting)
        device.parent.mkdir(parents=True, exist_ok=True)
        speed = {
            "peak": {"fp32": f"{50 * setting.threads} GFLOP/s"},
            "memory_bandwidth": f"{10 * setting.threads} GB/s",
        }
        device.write_text(yaml.safe_dump({"name": setting.name, **speed}))
        for turn, wall_s in enumerate(seconds, 1):
            captured(folder.capture(turn, setting, WORKLOAD.name), wall_s)
    return folder


def judged(path: Path, walls: Mapping[Setting, tuple[float, ...]]) -> pd.DataFrame:
    return judge(filled(path, walls), [WORKLOAD], [ONE, TWO], REPEATS).set_index(["source", "target"])


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    return judged(tmp_path_factory.mktemp("runs"), WALLS)


def test_every_ordered_pair_is_judged_by_the_least_of_its_runs(rows: pd.DataFrame) -> None:
    assert [turn for turn in range(1, REPEATS + 1) if predicts(turn)] == [1, 3]
    assert set(rows.reset_index()) == set(COLUMNS)
    assert list(rows.index) == [(ONE.name, TWO.name), (TWO.name, ONE.name)]
    there = rows.loc[ONE.name, TWO.name]
    assert (there["source_s"], there["measured_s"]) == (0.8, 0.6)
    assert there["noise"] == pytest.approx(0.45 / 0.6 - 1)
    assert there["error_if_unchanged"] == pytest.approx(0.8 / 0.6 - 1)
    assert there["error_by_peaks"] == pytest.approx(0.8 / 2 / 0.6 - 1)
    assert there["error"] == pytest.approx(there["predicted_s"] / 0.6 - 1)


def test_truth_tells_predictions_nothing_nor_they_it(rows: pd.DataFrame, tmp_path: Path) -> None:
    slow = {setting: (first, 7.0, third, 9.0) for setting, (first, _, third, _) in WALLS.items()}
    other = judged(tmp_path / "truth", slow)
    known = ["source_s", "predicted_s", "low_s", "high_s"]
    pd.testing.assert_frame_equal(other[known], rows[known])
    assert (other["measured_s"] == 7.0).all()
    fast = {setting: (0.01, second, 0.02, fourth) for setting, (_, second, _, fourth) in WALLS.items()}
    assert (judged(tmp_path / "known", fast)["measured_s"] == rows["measured_s"]).all()


def test_the_figures_of_all_rows(rows: pd.DataFrame) -> None:
    made = rows.assign(error=[0.05, -0.3], noise=[0.2, -0.1], low_s=[0.0, 5.0], high_s=[9.0, 6.0])
    found = summary(made)
    assert (found["median_error"], found["worst_error"]) == pytest.approx((0.175, 0.3))
    assert found["noise_floor"] == pytest.approx(0.15)
    assert found["median_reach"] == pytest.approx(1.5 * 0.15)
    assert found["interval_coverage"] == 0.5
    assert not found["reached"]
    assert summary(made.assign(error=[0.05, -0.2]))["reached"]
