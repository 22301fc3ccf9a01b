"""NeuSight's per-op rows become kernels with the right shapes, and add up to the whole."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from estimator.core.errors import EstimatorError
from estimator.validation.layer_ops import FILE, read_ops

COLUMNS = "device,name,Name,op,target,type,input_shapes,output_shape,dtype,latency,fw_latency,bw_latency,acc_latency"
V100 = "Tesla V100-PCIE-32GB,toy-train-128-2"
ROWS = (
    f'{V100},size,call_method,size,,"[[2, 128]]","(1,)",,0,0.010,0,0',
    f'{V100},x_h_0_view,call_method,view,,"[[2, 128, 512], [1]]","(2, 128, 8, 64)",torch.float32,0,0.015,0,0',
    f'{V100},x_h_0_query,call_module,x.query,,"[[2, 128, 512]]","(2, 128, 1024)",torch.float32,0,0.110,0.210,0.030',
    f'{V100},matmul,call_function,<built-in method matmul of type object at 0x15>,,'
    '"[[2, 8, 128, 64], [2, 8, 64, 96]]","(2, 8, 128, 96)",torch.float32,0,0.060,0.110,0',
    f'{V100},addmm,call_function,<built-in method addmm of type object at 0x15>,,'
    '"[[1024], [256, 512], [512, 1024]]","(256, 1024)",torch.float32,0,0.110,0.210,0',
    f'{V100},x_h_0_ln_1,call_module,x.h.0.ln_1,,"[[16, 1024, 768]]","(16, 1024, 768)",torch.float32,0,0.210,0.510,0',
    f'{V100},contiguous,call_method,contiguous,,"[[64, 1024, 1024]]","(64, 1024, 1024)",torch.float32,0,0.040,0,0',
    f'{V100},add,call_function,<built-in function add>,,"[[4096, 4096], [1, 4096]]","(4096, 4096)",torch.float32,0,'
    "0.200,0.011,0",
)  # fmt: skip


@pytest.fixture
def ops(tmp_path: Path) -> pd.DataFrame:
    path = tmp_path / FILE
    path.parent.mkdir()
    path.write_text("\n".join([COLUMNS, *ROWS]))
    return read_ops(tmp_path).set_index("op")


def test_products_have_the_dimensions_of_the_library_call(ops: pd.DataFrame) -> None:
    dimensions = ops[["batch", "m", "n", "k"]].dropna().astype(int).T.to_dict("list")
    assert dimensions == {"linear": [1, 256, 1024, 512], "bmm": [16, 128, 96, 64], "addmm": [1, 256, 1024, 512]}
    assert ops["trans_b"].dropna().to_dict() == {"linear": "t", "bmm": "n", "addmm": "n"}


def test_views_and_empty_copies_are_no_kernels(ops: pd.DataFrame) -> None:
    assert set(ops.index) == {"linear", "bmm", "addmm", "ln", "add"}  # the copy beat twice the bandwidth


def test_traffic_counts_every_operand_and_result_once(ops: pd.DataFrame) -> None:
    assert ops.loc["add", "bytes"] == 4 * (2 * 4096 * 4096 + 4096)
    assert ops.loc["ln", ["bytes", "row_length"]].tolist() == [4 * 2 * 16 * 1024 * 768, 768]


def test_times_exclude_the_overhead_of_a_call(ops: pd.DataFrame) -> None:
    idle = ops.loc["linear", "forward_s"] - 0.110e-3
    assert -0.015e-3 <= idle <= -0.010e-3
    assert ops.loc["linear", "backward_s"] == pytest.approx(0.240e-3 + 2 * idle)  # two calls


def test_the_traced_layer_ends_with_the_last_op_of_its_name(ops: pd.DataFrame) -> None:
    assert ops["layer"].to_dict() == {"linear": True, "bmm": True, "addmm": True, "ln": True, "add": False}


def test_device_names_may_have_underscores_for_blanks(tmp_path: Path) -> None:
    path = tmp_path / FILE
    path.parent.mkdir()
    path.write_text("\n".join([COLUMNS, *(row.replace("Tesla V100-PCIE-32GB", "NVIDIA_L4") for row in ROWS)]))
    assert set(read_ops(tmp_path)["device"]) == {"l4"}


def test_a_table_without_its_columns_is_refused(tmp_path: Path) -> None:
    path = tmp_path / FILE
    path.parent.mkdir()
    path.write_text("device,name\na,b\n")
    with pytest.raises(EstimatorError, match="'Name' is missing"):
        read_ops(tmp_path)


@pytest.mark.slow
def test_every_large_op_is_known(public_data: Callable[[str], Path]) -> None:
    ops = read_ops(public_data("data"))
    assert (ops["op_class"] == "gemm").mean() > 0.2
    assert ops.groupby("device")["op"].nunique().min() >= 13
    products = ops[ops["op_class"] == "gemm"]
    assert (products[["batch", "m", "n", "k"]] >= 1).all(axis=None)
