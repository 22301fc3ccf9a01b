"""A profile → the shapes that its step needs."""

import csv
from pathlib import Path

import pandas as pd
import pytest

from estimator.collect.bench.jobs import make_job
from estimator.collect.bench.shapes import Shape
from estimator.collect.measure import kit
from estimator.core.schema import SHAPES
from estimator.studies.profile_shapes import profile_shapes, with_cold_rows

TABLE = """op_type,op_class,precision,m,n,k,bytes,flop,calls,time_s
MatMul,gemm,fp32,8,4,2,,,3,0.001
MatMul,gemm,fp32,8,4,2,,,1,0.004
MatMul,gemm,fp32,9,4,2,,,1,0.002
Relu,elementwise,fp32,,,,800,100,4,0.003
Sum,reduction,fp32,,,,0,0,1,0.003
Magic,unmodelled,fp32,,,,,,1,0.087
"""


def test_distinct_shapes_are_listed_by_share_of_time(tmp_path: Path) -> None:
    path = tmp_path / "ops.csv"
    path.write_text(TABLE)
    shapes, notes = profile_shapes([str(path), str(path)])
    assert shapes["op_class"].tolist() == ["gemm", "elementwise", "gemm"]
    assert shapes["m"].fillna(0).tolist() == [8, 0, 9]
    assert shapes.loc[1, ["bytes", "flop"]].tolist() == [200, 25]
    assert shapes["bytes"].isna().tolist() == [True, False, True]
    assert len(notes) == 2
    assert "90.0 % of the step's time" in notes[0]


def test_every_profile_has_the_same_weight(tmp_path: Path) -> None:
    """A hundredth of a long step, and most of a short one."""
    head = "op_type,op_class,precision,m,n,k,time_s"
    long, short = tmp_path / "long.csv", tmp_path / "short.csv"
    long.write_text(f"{head}\nMatMul,gemm,fp32,8,4,2,1\nMagic,unmodelled,fp32,,,,99\n")
    short.write_text(f"{head}\nMatMul,gemm,fp32,9,4,2,0.001\n")
    assert profile_shapes([str(long), str(short)])[0]["m"].tolist() == [9, 8]


def test_shapes_have_the_precision_of_the_target(tmp_path: Path) -> None:
    path = tmp_path / "ops.csv"
    path.write_text(TABLE)
    shapes, _ = profile_shapes([str(path)], "bf16")
    assert shapes["precision"].tolist() == ["bf16", "bf16", "bf16"]  # activations as well
    assert shapes.loc[1, "bytes"] == 100


def test_shapes_of_pools_have_their_sizes(tmp_path: Path) -> None:
    path = tmp_path / "ops.csv"
    rows = [
        'MaxPool,"2x8x8x3","2x4x4x3",window=3x3;strides=2x2;padding=SAME,0.002',
        'AvgPoolGrad,"4;2x4x4x3","2x8x8x3",,0.001',
        "aten::max_pool2d,2x3x8x8,2x3x4x4,,0.001",
    ]  # fmt: skip
    path.write_text("\n".join(["op_type,shapes,output_shapes,attributes,time_s", *rows]))
    shapes, notes = profile_shapes([str(path)])
    assert shapes["kernel"].tolist() == ["max_pool", "avg_pool"]
    assert shapes[["conv_h", "conv_r", "conv_p", "stride_h", "pass"]].to_numpy().tolist() == [
        [8, 3, 4, 2, "forward"], [8, 2, 4, 2, "grad_input"],
    ]  # fmt: skip
    assert "25.0 % of the step's time" in notes[0]


def test_shapes_of_activations_name_their_kernel(tmp_path: Path) -> None:
    path = tmp_path / "ops.csv"
    copy = "aten::tanh_backward,movement,100x64,0.0005"  # a copy that its op launched
    path.write_text(f"op_type,op_class,shapes,time_s\nSigmoid,,100x64,0.002\nRelu,,100x64,0.001\n{copy}\n")
    assert profile_shapes([str(path)])[0]["kernel"].tolist() == ["sigmoid", "relu", "copy"]


def test_shapes_of_casts_have_their_narrower_format(tmp_path: Path) -> None:
    """Those of the dump, of any framework, and those that another precision adds."""
    path, moved = tmp_path / "ops.csv", "100x64,100x64"
    path.write_text(f"op_type,attributes,shapes,output_shapes,time_s\nCast,from=bf16;to=fp32,{moved},0.002\n"
                    f"aten::copy_,from=fp32;to=fp16,{moved},0.0015\nCast,from=other;to=fp32,{moved},0.001\n"
                    f"Cast,from=fp64;to=fp32,{moved},0.0005\n")  # fmt: skip
    shapes = profile_shapes([str(path)])[0]
    rows = shapes[["op_class", "kernel", "precision", "bytes"]].fillna("").to_numpy().tolist()
    assert rows[:2] == [["elementwise", "cast", name, 6400 * 6] for name in ("bf16", "fp16")]
    assert shapes["kernel"].tolist() == ["cast", "cast", "add", "add"]
    for row in csv.DictReader(kit.csv_text(shapes).splitlines()):
        assert make_job(Shape(row, "shapes")).work > 0
    added, _ = profile_shapes(["p1b3/amd-epyc.xplane"], "fp16")
    assert added.loc[added["kernel"] == "cast", "precision"].unique().tolist() == ["fp16"]


@pytest.mark.parametrize(("name", "note_count"), [("p1b3", 1), ("p1b3/amd-epyc.xplane", 0)])
def test_shapes_of_shipped_profiles(name: str, note_count: int) -> None:
    shapes, notes = profile_shapes([name])
    assert {1000, 100, 29532} == set(shapes.loc[shapes["k"] == 29532, ["m", "n", "k"]].iloc[0])
    assert not shapes.duplicated().any()
    assert ["1.3 %" in sentence for sentence in notes] == [True] * note_count


def test_shapes_of_ops_along_channels_name_their_kernel(tmp_path: Path) -> None:
    rows = [
        "BiasAdd,elementwise,60x1024;1024,60x1024,0.001",
        "BiasAddGrad,reduction,60x1024,1024,0.001",
        "Sum,reduction,60x1024;2,1,0.001",
    ]
    (tmp_path / "ops.csv").write_text("\n".join(["op_type,op_class,shapes,output_shapes,time_s", *rows]))
    shapes, _ = profile_shapes([str(tmp_path / "ops.csv")])
    channels = shapes.dropna(subset="conv_c").set_index("kernel")["conv_c"]
    assert channels.to_dict() == {"bias_add": 1024, "bias_grad": 1024}
    assert len(shapes) == 3
    assert with_cold_rows(shapes.assign(cache="warm", bytes=4e6))["cache"].eq("cold").sum() == 1


def test_shapes_that_a_cache_may_evict_are_timed_warm_and_cold() -> None:
    """Small, compute-bound and pooling ops are not."""
    product = {"op_class": "gemm", "precision": "fp32", "batch": 1, "m": 10, "n": 1000}
    stream = {"op_class": "elementwise", "precision": "fp32", "cache": "warm", "flop": 1.0}
    products = [{**product, "k": 1000}, {**product, "k": 100}, {**product, "m": 1000, "k": 1000}]
    streams = [{**stream, "bytes": size} for size in (4e6, 4e4, 4e8)]
    rows = [*products, *streams, {**stream, "op_class": "pooling", "bytes": 4e6}]
    shapes = with_cold_rows(SHAPES.conform(pd.DataFrame(rows), "shapes"))
    assert shapes["cache"].fillna("").tolist() == ["", "cold", "", "", "warm", "cold", "warm", "warm", "warm"]
    assert shapes["k"].fillna(0).tolist()[:4] == [1000, 1000, 100, 1000]


def test_streams_without_a_cache_state_get_no_cold_twin(tmp_path: Path) -> None:
    path = tmp_path / "ops.csv"
    path.write_text(
        "op_type,op_class,precision,m,n,k,bytes,time_s\nMatMul,gemm,fp32,9,1000,1000,,1\nRelu,elementwise,fp32,,,,8e6,1\n"
    )
    shapes = with_cold_rows(profile_shapes([str(path)])[0])
    assert shapes[["op_class", "cache"]].fillna("").to_numpy().tolist() == [
        ["gemm", ""],
        ["gemm", "cold"],
        ["elementwise", ""],
    ]
