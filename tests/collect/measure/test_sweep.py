"""The shapes to measure."""

import csv
from pathlib import Path

import pandas as pd
import pytest

from estimator.collect.bench.jobs import make_job
from estimator.collect.bench.operators import KERNELS
from estimator.collect.bench.shapes import Shape
from estimator.collect.bench.types import CAST, ITEMSIZE, LAUNCH
from estimator.collect.measure import kit, sweep
from estimator.core import operators, types
from estimator.core.operators import timed_streams
from estimator.core.schema import PRECISIONS, SHAPES, UNPOOLED


def classes(table: pd.DataFrame) -> set[str]:
    return set(table["op_class"])


def test_the_default_sweep_holds_every_kind_of_work() -> None:
    for quick in (True, False):
        swept = sweep.default(("fp32", "fp64"), quick=quick)
        shapes = SHAPES.conform(sweep.with_anchors(swept, quick=quick), "sweep")
        assert set(shapes["precision"]) == {"fp32", "fp64"}
        assert classes(shapes) == {"gemm", "convolution", "elementwise", "reduction", "normalization", "movement"}
        transposes = shapes[shapes["op_class"] == "gemm"][["trans_a", "trans_b"]].drop_duplicates()
        assert len(transposes) == 4
        assert set(shapes["pass"].dropna()) == {"forward", "grad_input", "grad_weights"}
        assert (shapes["batch"] > 1).any()
        assert set(timed_streams()) | {LAUNCH} == set(shapes["kernel"].dropna())


def test_the_full_sweep_casts_to_every_narrow_format() -> None:
    shapes = sweep.default(("fp32", "bf16", "fp16"))
    assert set(shapes.loc[shapes["kernel"] == CAST, "precision"]) == {"bf16", "fp16"}


def test_the_quick_sweep_is_the_smaller_one() -> None:
    quick, full = (sweep.with_anchors(sweep.default(("fp32", "fp64"), quick=q), quick=q) for q in (True, False))
    assert len(quick) < 60 < len(full)


def test_every_precision_has_products_from_small_to_large() -> None:
    shapes = sweep.anchors(("fp32", "bf16"))
    for precision in ("fp32", "bf16"):
        sizes = shapes.loc[(shapes["op_class"] == "gemm") & (shapes["precision"] == precision), "m"]
        assert sizes.is_monotonic_increasing
        assert sizes.iloc[-1] >= 8192


def test_the_program_takes_every_shape() -> None:
    table = sweep.with_anchors(sweep.default(("fp32", "fp64", "bf16")), ranks=4)
    for row in csv.DictReader(kit.csv_text(table).splitlines()):
        assert make_job(Shape(row, "sweep"), ranks=4).work > 0


def test_requested_shapes_come_before_anchors_and_small_before_large() -> None:
    requested = SHAPES.conform(
        pd.DataFrame([{"op_class": "gemm", "precision": "bf16", "m": 9, "n": 9, "k": 9}]), "asked"
    )
    shapes = sweep.with_anchors(requested, ranks=2)
    assert list(shapes["m"][:1]) == [9]
    assert classes(shapes[1 : 1 + len(sweep.MESSAGES)]) == {"collective"}
    anchors = sweep.anchors(("fp32", "fp64"))
    assert anchors["kernel"][0] == LAUNCH == operators.LAUNCH
    last_small = anchors.index[anchors["m"] == 512].max()
    assert last_small < anchors.index[anchors["m"] == 1024].min()
    assert anchors.index[anchors["bytes"].notna()].min() < anchors.index[anchors["m"] == 16384].min()


def test_deepbench_gives_distinct_shapes_without_times() -> None:
    shapes = sweep.deepbench("v100-sxm2-16gb")
    assert len(shapes[shapes["op_class"] == "gemm"]) >= 160
    assert not shapes.duplicated().any()
    assert "time_s" not in shapes
    assert classes(shapes) <= {"gemm", "convolution", *UNPOOLED}


def test_a_frameworks_table_gives_no_shapes_of_deepbench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, shipped = tmp_path / "devices" / "measurements", sweep.deepbench("v100-sxm2-16gb")
    folder.mkdir(parents=True)
    (folder / "v100-sxm2-16gb.torch.csv").write_text(
        "op_class,kernel,precision,bytes,time_s\nelementwise,add,fp32,12,1\n"
    )
    monkeypatch.setenv("ESTIMATOR_LIBRARY", str(tmp_path))
    pd.testing.assert_frame_equal(sweep.deepbench("v100-sxm2-16gb"), shipped)


def test_the_programs_columns_are_those_of_the_schema() -> None:
    assert set(ITEMSIZE) <= set(PRECISIONS)
    assert ITEMSIZE.items() <= types.ITEMSIZE.items()
    assert (LAUNCH, CAST) == (operators.LAUNCH, operators.CAST)
    assert {kernel.op_class for kernel in KERNELS.values()} < set(SHAPES.columns[1].choices)
