"""Judging of made-up runs: the steps used, which truth and predictions do not share."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pytest
import yaml

from estimator.collect.measure import kit
from estimator.core import files, library
from estimator.core.schema import MEASUREMENTS
from estimator.studies.profile_shapes import profile_shapes
from estimator.validation.selftest import runs, tables
from estimator.validation.selftest.folder import Folder
from estimator.validation.selftest.judge import COLUMNS, judge, summary
from estimator.validation.selftest.settings import Setting
from estimator.validation.selftest.workloads import parse

ONE, TWO = Setting(1, "AVX2"), Setting(2, "AVX2")
WORKLOAD = parse("p1b2")
OTHER = "p1b3"
SHIPPED = {name: library.names("profiles", "*")[name] / "amd-epyc.xplane" for name in (WORKLOAD.name, OTHER)}
WALLS = {ONE: (0.9, 1.1, 1.0, 0.8), TWO: (0.5, 0.7, 0.6, 0.45)}  # [s] of each repeat: known, truth, truth, known


def filled(path: Path, walls: Mapping[Setting, tuple[float, ...]], others: str = "") -> Folder:
    """As if steps had taken so long: captures of the shipped one (or of ``others`` in all but the first setting),
    devices with a product of either workload, and every step.
    """
    captured = WORKLOAD.name
    folder = Folder(path)
    for setting in walls:
        table = folder.table(0, setting)
        files.write_text(table.with_suffix(".yaml"), yaml.safe_dump(device(setting)))
        files.write_text(table.with_suffix(".csv"), kit.csv_text(measured(setting)))
        tables.merge(folder, setting)
        shutil.copytree(SHIPPED[captured], folder.captures(setting) / WORKLOAD.name)
        captured = others or captured
    tables.write_known_rows(folder, list(walls))
    steps = [(n, s.name, WORKLOAD.name, wall) for s, seconds in walls.items() for n, wall in enumerate(seconds, 1)]
    table = pd.DataFrame(steps, columns=["repeat", "setting", "workload", "wall_s"])
    runs.write_steps(folder, table, [WORKLOAD], list(walls))
    return folder


def measured(setting: Setting) -> pd.DataFrame:
    """A product of each workload, of which one is slow."""
    shapes = pd.concat([profile_shapes([str(SHIPPED[name])])[0] for name in (WORKLOAD.name, OTHER)])
    products = shapes[shapes["op_class"] == "gemm"].groupby("k").head(1)
    times = 2 * products[["m", "n", "k"]].astype(float).prod(axis=1) / 1e9 / setting.threads
    columns = {"time_s": times, "library": "toy 1", "clock": "1 GHz", "threads": setting.threads, "source": "here"}
    return MEASUREMENTS.conform(products.assign(**columns), "products")


def device(setting: Setting) -> dict[str, object]:
    peak, bandwidth = 50 * setting.threads, 10 * setting.threads
    return {
        "name": setting.name,
        "peak": {"fp32": f"{peak} GFLOP/s"},
        "memory_bandwidth": f"{bandwidth} GB/s",
    }


def judged(path: Path, walls: Mapping[Setting, tuple[float, ...]]) -> pd.DataFrame:
    return judge(filled(path, walls), [WORKLOAD], [ONE, TWO]).set_index(["source", "target"])


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    return judged(tmp_path_factory.mktemp("runs"), WALLS)


@pytest.mark.slow
def test_every_ordered_pair_of_settings_is_judged(rows: pd.DataFrame) -> None:
    assert set(rows.reset_index()) == set(COLUMNS)
    assert list(rows.index) == [(ONE.name, TWO.name), (TWO.name, ONE.name)]
    there = rows.loc[ONE.name, TWO.name]
    assert (there["source_s"], there["measured_s"]) == pytest.approx((0.85, 0.65))
    assert there["noise"] == pytest.approx(0.475 / 0.65 - 1)
    assert there["error_if_unchanged"] == pytest.approx(0.85 / 0.65 - 1)
    assert there["error_by_peaks"] == pytest.approx(0.85 / 2 / 0.65 - 1)
    assert there["error"] == pytest.approx(there["predicted_s"] / 0.65 - 1)


@pytest.mark.slow
def test_truth_and_predictions_are_independent(rows: pd.DataFrame, tmp_path: Path) -> None:
    slow = {setting: (first, 7.0, 9.0, last) for setting, (first, _, _, last) in WALLS.items()}
    other = judged(tmp_path / "truth", slow)
    known = ["source_s", "predicted_s", "low_s", "high_s"]
    pd.testing.assert_frame_equal(other[known], rows[known])
    assert (other["measured_s"] == 8.0).all()
    fast = {setting: (0.01, second, third, 0.02) for setting, (_, second, third, _) in WALLS.items()}
    assert (judged(tmp_path / "known", fast)["measured_s"] == rows["measured_s"]).all()


@pytest.mark.slow
def test_known_rows_of_a_target_are_those_of_the_sources_shapes(rows: pd.DataFrame, tmp_path: Path) -> None:
    """Also where something else was captured in the target."""
    folder = filled(tmp_path, WALLS, OTHER)
    all_rows, known_rows = (
        pd.read_csv(p) for p in (folder.device(TWO).with_suffix(".csv"), folder.known_rows(ONE, TWO))
    )
    assert 0 < len(known_rows) < len(all_rows)
    actual = judge(folder, [WORKLOAD], [ONE, TWO]).set_index(["source", "target"]).loc[ONE.name, TWO.name]
    assert actual["predicted_s"] == rows.loc[ONE.name, TWO.name]["predicted_s"]


def test_summary_of_all_rows(rows: pd.DataFrame) -> None:
    made = rows.assign(error=[0.05, -0.3], noise=[0.2, -0.1], low_s=[0.0, 5.0], high_s=[9.0, 6.0])
    actual = summary(made)
    assert (actual["median_error"], actual["worst_error"]) == pytest.approx((0.175, 0.3))
    assert actual["noise_floor"] == pytest.approx(0.15)
    assert actual["median_reach"] == pytest.approx(1.5 * 0.15)
    assert actual["interval_coverage"] == 0.5
    assert not actual["reached"]
    assert summary(made.assign(error=[0.05, -0.2]))["reached"]
