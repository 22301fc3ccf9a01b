from pathlib import Path

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


def test_a_graph_tells_what_the_trace_lacks(tmp_path: Path) -> None:
    (tmp_path / "graph.csv").write_text(GRAPH)
    (tmp_path / "ops.csv").write_text(TABLE)
    work, _ = count_work((profile := read_profile(tmp_path)).ops, profile.workload)
    assert work["shapes"].fillna("").tolist() == ["100x50;50x10", "100x10", "100x10;50x10", ""]
    assert work["flop"].tolist()[0] == 2 * 100 * 50 * 10  # the fused kernel bears the name of its last op
    assert work.loc[2, ["m", "n", "k", "precision"]].tolist() == [100, 50, 10, "bf16"]


def test_what_the_trace_says_stays(tmp_path: Path) -> None:
    (tmp_path / "graph.csv").write_text(GRAPH)
    (tmp_path / "ops.csv").write_text("op,op_type,shapes,time_s\nlayer/MatMul,MatMul,7x50;50x10,1\n")
    assert read_profile(tmp_path).ops["shapes"].tolist() == ["7x50;50x10"]


def test_a_changed_graph_is_another_profile(tmp_path: Path) -> None:
    (tmp_path / "ops.csv").write_text(TABLE)
    without = read_profile(tmp_path).sha256
    (tmp_path / "graph.csv").write_text(GRAPH)
    assert read_profile(tmp_path).sha256 != without


def test_a_wrong_graph_is_told(tmp_path: Path) -> None:
    (tmp_path / "ops.csv").write_text(TABLE)
    (tmp_path / "graph.csv").write_text("op,shapes\na,1x2\n")
    with pytest.raises(EstimatorError, match=r"graph\.csv: the column 'op_type' is missing"):
        read_profile(tmp_path)
