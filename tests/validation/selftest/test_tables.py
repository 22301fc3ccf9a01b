"""Shapes to measure in each setting, and the merging of measured rows."""

import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from estimator.collect.measure import Plan
from estimator.core import library
from estimator.core.errors import EstimatorError
from estimator.core.schema import MEASUREMENTS, SHAPES
from estimator.devices import load_device
from estimator.devices.measurements import load_measurements
from estimator.model.measured_rows import applicable_rows, one_row_per_shape
from estimator.validation.selftest import tables
from estimator.validation.selftest.folder import Folder
from estimator.validation.selftest.settings import Setting
from tests.validation.selftest.plans import ONE


def table(folder: Folder, number: int, times: list[float], peak: str, clock: str = "2 GHz") -> None:
    place = folder.table(number, ONE)
    place.parent.mkdir(parents=True)
    rows = pd.DataFrame({"op_class": "gemm", "precision": "fp32", "m": [8, 16], "n": 4096, "k": 32768, "time_s": times})
    rows = rows.assign(clock=clock, library="toy 1", threads=1, source="here")
    rows.to_csv(place.with_suffix(".csv"), index=False)
    place.with_suffix(".yaml").write_text(f"name: {ONE.name}\npeak: {{fp32: {peak}}}\nmemory_bandwidth: 9 GB/s\n")


@pytest.mark.parametrize("clock", ["2 GHz", "3 GHz"])
def test_merged_products_have_the_shortest_time(tmp_path: Path, clock: str) -> None:
    folder = Folder(tmp_path)
    for number, (times, rate) in enumerate((([2.0, 3.0], 4), ([1.0, 5.0], 3), ([4.0, 5.0], 2))):
        table(folder, number, times, f"{rate} GFLOP/s", clock if number else "2 GHz")
    tables.merge(folder, ONE)
    device = load_device(str(folder.device(ONE)))
    rows = load_measurements(device, named=folder.device(ONE))
    assert one_row_per_shape(applicable_rows(rows)).set_index("m")["time_s"].to_dict() == {8: 1.0, 16: 3.0}
    assert len(rows) == 2
    assert rows["clock"].dropna().unique().tolist() == ([clock] if clock == "2 GHz" else [])
    peak = device.peak_of("fp32").vector
    assert peak is not None
    assert peak.value == 4e9


def test_merged_memory_bound_ops_have_the_median_time(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    for number, time in enumerate((2.0, 1.0, 4.0)):
        table(folder, number, [1.0, 2.0], "4 GFLOP/s")
        path = folder.table(number, ONE).with_suffix(".csv")
        rows = pd.read_csv(path)
        stream = rows.iloc[:1].assign(op_class="elementwise", kernel="add", m=None, n=None, k=None, bytes=8_000_000_000)
        pd.concat([rows, stream.assign(time_s=time, time_low_s=0.9 * time)]).to_csv(path, index=False)
    tables.merge(folder, ONE)
    rows = load_measurements(load_device(str(folder.device(ONE))), named=folder.device(ONE))
    stream = rows[rows["op_class"] == "elementwise"]
    assert stream[["time_s", "time_low_s"]].to_numpy().tolist() == [[2.0, 1.8]]


@pytest.mark.slow
def test_shapes_are_measured_in_their_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shapes that an earlier table lacks come first."""
    folder, asked, isa = Folder(tmp_path), list[pd.DataFrame](), list[str]()
    budgets = list[tuple[float, float]]()
    shipped = library.names("profiles", "*")["nt3"] / "amd-epyc.xplane"
    shutil.copytree(shipped, folder.captures(ONE) / "nt3")

    def measured(shapes: pd.DataFrame, output: Path, plan: Plan, command: str) -> None:
        budgets.append((plan.budget_s, plan.relative_error))
        asked.append(shapes[shapes["op_class"] == "convolution"])
        asked[-1][:1].assign(time_s=1.0).to_csv(output.with_suffix(".csv"), index=False)
        isa.append(os.environ["ONEDNN_MAX_CPU_ISA"])
        raise EstimatorError("no memory is left")

    monkeypatch.setattr(tables, "measure_shapes", measured)
    for number in (0, 1):
        with pytest.raises(EstimatorError, match=f"in setting {ONE.name}, measuring ended so: no memory is left"):
            tables.measure(folder, number, ONE, tables.needed_shapes(folder, [ONE], "fp32"), budget_s=20.0)
    assert budgets == [(20.0, tables.RELATIVE_ERROR)] * 2
    first, then = (shapes.drop_duplicates("pass")["pass"].tolist() for shapes in asked)
    assert len(first) == 3
    assert then == [*first[1:], first[0]]
    assert isa == [ONE.isa, ONE.isa]


def test_shapes_timed_least_often_come_first() -> None:
    shapes = [("gemm", 8, None), ("gemm", 16, None), ("elementwise", None, 1000.0), ("gemm", 32, None)]
    rows = pd.DataFrame(shapes, columns=["op_class", "m", "bytes"]).assign(precision="fp32", n=8, k=8)
    wanted = SHAPES.conform(rows, "shapes")
    timed = wanted.assign(kernel=["", "", "add", ""], time_s=1.0)  # bytes of half an octave are one shape
    timed = MEASUREMENTS.conform(timed.assign(bytes=[None, None, 1010.0, None]).replace("", None), "table")
    order = [
        tables.least_timed_first(wanted, of)["m"].fillna(0).tolist() for of in ([], [timed[:1]], [timed[:1], timed[:3]])
    ]
    assert order == [[8, 16, 0, 32], [16, 0, 32, 8], [32, 16, 0, 8]]


def test_streams_are_measured_once_in_half_an_octave() -> None:
    rows = [("elementwise", 1000.0), ("elementwise", 1010.0), ("elementwise", 2000.0), ("reduction", 1000.0)]
    shapes = pd.DataFrame(rows, columns=["op_class", "bytes"])
    every = pd.DataFrame([("gemm", float("nan")), ("pooling", 1000.0)] * 2, columns=["op_class", "bytes"])
    distinct = tables._distinct(
        SHAPES.conform(pd.concat([shapes, every], ignore_index=True).assign(precision="fp32"), "")
    )
    assert list(distinct["op_class"]) == ["elementwise", "elementwise", "reduction", "gemm", "pooling"]
    streams = distinct["op_class"].isin(["elementwise", "reduction"])
    assert set(distinct.loc[streams, "cache"]) == {"warm"}
    assert distinct.loc[~streams, "cache"].isna().all()
    formats = {"precision": ["fp32", "bf16", "fp32", "fp32"], "kernel": [None, None, "tanh", None]}
    of_formats = shapes.iloc[[0, 0, 0, 0]].reset_index(drop=True).assign(**formats, conv_c=[None, None, None, 32])
    assert len(tables._distinct(SHAPES.conform(of_formats, ""))) == 4


def test_needed_shapes_are_in_the_precision_of_the_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is predicted: captures of other precisions are converted to it, its own may keep layers in fp32."""
    folder, narrow = Folder(tmp_path), Setting(1, "AVX512_CORE_BF16", "bf16")
    asked = list[tuple[list[str], str | None]]()
    products = {None: [(8, "bf16"), (4, "fp32")], "bf16": [(8, "bf16"), (4, "bf16")]}
    for setting in (ONE, narrow):
        (folder.captures(setting) / "cnn").mkdir(parents=True)

    def shapes(names: list[str], precision: str | None) -> tuple[pd.DataFrame, tuple[str, ...]]:
        asked.append(([Path(name).parent.name for name in names], precision))
        rows = [{"op_class": "gemm", "precision": p, "m": m, "n": 1, "k": 2} for m, p in products[precision]]
        return SHAPES.conform(pd.DataFrame(rows), "shapes"), ()

    monkeypatch.setattr(tables, "profile_shapes", shapes)
    needed = tables.needed_shapes(folder, [ONE, narrow], "bf16")
    assert asked == [([narrow.name], None), ([ONE.name], "bf16")]
    assert needed[["m", "precision"]].to_numpy().tolist() == [[8, "bf16"], [4, "fp32"], [4, "bf16"]]
    anchored = tables._anchors(narrow, needed)
    assert set(anchored.loc[anchored["op_class"] == "gemm", "precision"]) == {"fp32", "bf16"}


def test_a_device_has_the_highest_peak_of_each_precision(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    for number, peak in enumerate(("1 GFLOP/s, bf16: 5 GFLOP/s", "2 GFLOP/s, bf16: 4 GFLOP/s", "1 GFLOP/s")):
        table(folder, number, [4.0, 5.0], peak)
    tables.merge(folder, ONE)
    device = load_device(str(folder.device(ONE)))
    assert [tables.highest_rate(device, p) for p in ("fp32", "bf16", "fp16")] == pytest.approx(
        [2e9, 5e9, np.nan], nan_ok=True
    )
