"""NeuSight's kernels."""

from pathlib import Path

import pandas as pd
import pytest

from estimator.devices import load_device
from estimator.validation import neusight
from estimator.validation.data import read_truth
from tests.validation.public import LINEAR, write


def test_the_traffic_of_a_memory_bound_op_counts_its_operands(tmp_path: Path) -> None:
    shape = {"device": "Tesla P4", "B": 1000, "H": 512, "time_ms": 1.0, "kernel": "k"}
    write(tmp_path, "neusight/vector_ops.parquet", [{**shape, "op": op} for op in ("add", "addu", "softmax")])
    binary, unary, softmax = read_truth(tmp_path)[0].to_dict("records")
    assert (binary["bytes"], unary["bytes"], softmax["bytes"]) == (3 * 2.048e6, 2 * 2.048e6, 2 * 2.048e6)
    assert (binary["op_class"], softmax["op_class"], softmax["row_length"]) == ("elementwise", "normalization", 512)
    assert pd.isna(binary["row_length"])
    bandwidth = load_device("p4").memory_bandwidth
    assert bandwidth
    assert unary["ideal_s"] == pytest.approx(unary["bytes"] / bandwidth.value)


def test_a_linear_layer_stores_its_weights_transposed_and_a_batched_product_does_not(tmp_path: Path) -> None:
    rows = neusight.read(
        write(tmp_path, neusight.FILES[0], [{**LINEAR, "device": "Tesla P4", "op": op} for op in ("linear", "bmm")])
    )
    assert rows["trans_b"].tolist() == ["t", "n"]
    assert rows["data_set"].tolist() == ["neusight-linear", "neusight-bmm"]
    assert rows[["precision", "library"]].drop_duplicates().values.tolist() == [["fp32", "torch, eager"]]


def test_a_convolution_is_square_in_its_image_kernel_stride_and_padding(tmp_path: Path) -> None:
    row = {
        "device": "Tesla P4", "B": 2, "Input_Channel": 3, "Input_Size": 224, "Output_Channel": 64, "Kernel_Szie": 7,
        "Stride": 2, "Padding": 3, "kernel": "k", "time_ms": 1.0,
    }  # fmt: skip
    (rows,) = neusight.read(write(tmp_path, neusight.FILES[2], [row])).to_dict("records")
    sizes = {"n": 2, "c": 3, "h": 224, "w": 224, "k": 64, "r": 7, "s": 7}
    assert {name: rows[f"conv_{name}"] for name in sizes} == sizes
    assert [rows[name] for name in ("stride_h", "stride_w", "pad_h", "pad_w", "pass")] == [2, 2, 3, 3, "forward"]


@pytest.mark.parametrize(
    ("name", "device"),
    [("Tesla P4", "p4"), ("Tesla_P4", "p4"), ("NVIDIA_A100-SXM4-40GB", "a100-sxm4-40gb"), ("P5", None)],
)
def test_blanks_of_a_devices_name_may_be_underscores(name: str, device: str | None) -> None:
    known = neusight.device_of(name)
    assert (known and known.name) == device
