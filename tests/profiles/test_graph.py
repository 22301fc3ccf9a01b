import gzip
from pathlib import Path

import pandas as pd
import pytest

from estimator.core.errors import EstimatorError
from estimator.profiles import read_profile
from estimator.work import count_work

GRAPH = """op,op_type,inputs,shapes,output_shapes,attributes,precision
x,Placeholder,,,100x50,,fp32
w,ReadVariableOp,,,50x10,,fp32
layer/MatMul,MatMul,x;w,100x50;50x10,100x10,trans_a=n;trans_b=n,fp32
layer/BiasAdd,BiasAdd,layer/MatMul;b,100x10;10,100x10,,fp32
layer/Relu,Relu,layer/BiasAdd,100x10,100x10,,fp32
grad/MatMul,MatMul,layer/Relu;w,100x10;50x10,100x50,trans_a=n;trans_b=t,bf16
"""
TABLE = """op,op_type,kernel,time_s
layer/Relu,Relu,_MklNativeFusedMatMul,0.5
layer/Relu,Relu,Relu,0.1
grad/MatMul,MatMul,_MklMatMul,0.25
elsewhere,Mul,,0.1
"""


def test_a_graph_fills_what_the_trace_lacks(tmp_path: Path) -> None:
    (tmp_path / "graph.csv").write_text(GRAPH)
    (tmp_path / "ops.csv").write_text(TABLE)
    work = count_work((profile := read_profile(tmp_path)).ops, profile.workload).work
    assert work["shapes"].fillna("").tolist() == ["100x50;50x10", "100x10", "100x10;50x10", ""]
    assert work["flop"].tolist()[0] == 2 * 100 * 50 * 10  # the fused kernel bears the name of its last op
    assert work.loc[2, ["m", "n", "k", "precision"]].tolist() == [100, 50, 10, "bf16"]


def test_a_graph_may_be_gzip(tmp_path: Path) -> None:
    (tmp_path / "graph.csv.gz").write_bytes(gzip.compress(GRAPH.encode()))
    (tmp_path / "ops.csv").write_text(TABLE)
    assert read_profile(tmp_path).ops["shapes"].fillna("").tolist() == ["100x50;50x10", "100x10", "100x10;50x10", ""]
    (tmp_path / "graph.csv.gz").write_bytes(gzip.compress(GRAPH.encode())[:-9])
    with pytest.raises(EstimatorError, match=r"graph\.csv\.gz: this gzip file is damaged"):
        read_profile(tmp_path)


SHORTCUT = """op,op_type,inputs,shapes
first/MatMul,MatMul,x;w,100x50;50x64
first/BiasAdd,BiasAdd,first/MatMul;b,100x64;64
second/MatMul,MatMul,first/BiasAdd;v,100x64;64x64
second/BiasAdd,BiasAdd,second/MatMul;c,100x64;64
add,AddV2,first/BiasAdd;second/BiasAdd,100x64;100x64
"""


@pytest.mark.parametrize(
    ("ops", "shapes"),
    [
        ("add,_FusedMatMul,1", None),  # either product may be in it
        ("first/BiasAdd,_FusedMatMul,1\nadd,_FusedMatMul,1", "100x64;64x64"),  # the first is in its own kernel
        ("first/MatMul,_MklMatMul,1\nadd,_FusedMatMul,1", "100x64;64x64"),  # the first ran under its own name
    ],
)
def test_a_fused_kernel_takes_a_product_only_where_it_is_certain(ops: str, shapes: str | None, tmp_path: Path) -> None:
    (tmp_path / "graph.csv").write_text(SHORTCUT)
    (tmp_path / "ops.csv").write_text(f"op,op_type,time_s\n{ops}\n")
    filled = read_profile(tmp_path).ops.set_index("op").at["add", "shapes"]
    assert (None if pd.isna(filled) else filled) == shapes


def test_helper_kernels_take_no_shapes(tmp_path: Path) -> None:
    (tmp_path / "graph.csv").write_text("op,op_type,shapes\nconv,Conv2D,1x4x4x2;3x3x2x8\n")
    rows = "conv,Conv2D,winograd_transform,helper=1,1\nconv,Conv2D,sgemm,,5\nconv,,unknown,,1\n"
    (tmp_path / "ops.csv").write_text(f"op,op_type,kernel,attributes,time_s\n{rows}")
    ops = read_profile(tmp_path).ops.set_index("kernel")
    assert ops["shapes"].isna().to_dict() == {"winograd_transform": True, "sgemm": False, "unknown": False}
    assert ops.at["unknown", "op_type"] == "Conv2D"


def test_shapes_of_the_trace_outrank_the_graph(tmp_path: Path) -> None:
    (tmp_path / "graph.csv").write_text(GRAPH)
    (tmp_path / "ops.csv").write_text("op,op_type,shapes,time_s\nlayer/MatMul,MatMul,7x50;50x10,1\n")
    assert read_profile(tmp_path).ops["shapes"].tolist() == ["7x50;50x10"]


def test_a_graph_changes_the_profiles_hash(tmp_path: Path) -> None:
    (tmp_path / "ops.csv").write_text(TABLE)
    without = read_profile(tmp_path).sha256
    (tmp_path / "graph.csv").write_text(GRAPH)
    assert read_profile(tmp_path).sha256 != without


def test_a_graph_without_a_required_column_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ops.csv").write_text(TABLE)
    (tmp_path / "graph.csv").write_text("op,shapes\na,1x2\n")
    with pytest.raises(EstimatorError, match=r"graph\.csv: the column 'op_type' is missing"):
        read_profile(tmp_path)
