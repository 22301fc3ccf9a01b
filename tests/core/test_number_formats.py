"""Number formats are known by any of their names, in any case."""

from pathlib import Path

import pandas as pd
import pytest

from estimator.core import yaml_files
from estimator.core.errors import EstimatorError
from estimator.core.number_formats import format_of_updates, known_format, read_format
from estimator.core.schema import MEASUREMENTS
from estimator.core.types import ITEMSIZE, DeviceSpec, RunPlan, Workload

NAMES = {
    "BF16": "bf16", "bfloat16": "bf16", "FP16": "fp16", "float16": "fp16", "half": "fp16", "Float32": "fp32",
    "single": "fp32", "double": "fp64", "TF32": "tf32", "torch.bfloat16": "bf16", " fp8 ": "fp8",
    "E4M3": "fp8", "Int8": "int8", "c10::BFloat16": "bf16", "at::Half": "fp16", "c10::Float8_e4m3fnuz": "fp8",
    "c10::Float4_e2m1fn_x2": "fp4", "c10::quint8": "int8", "signed char": "int8",
    "CUBLAS_COMPUTE_32F_FAST_16BF": "bf16", "CUBLAS_COMPUTE_32F_FAST_16F": "fp16",
}  # fmt: skip


@pytest.mark.parametrize(("written", "ours"), [*NAMES.items(), *((name, name) for name in ITEMSIZE), ("FP31", "fp31")])
def test_a_format_has_many_names(written: str, ours: str) -> None:
    assert read_format(written) == ours


@pytest.mark.parametrize("written", ["c10::Float8_e8m0fnu", "long int", "int", "c10::complex<float>", "FP31"])
def test_scales_and_other_types_are_no_known_format(written: str) -> None:
    assert known_format(written) is None


@pytest.mark.parametrize(("written", "ours"), NAMES.items())
def test_plans_files_and_tables_take_them_all(written: str, ours: str) -> None:
    assert RunPlan("v100", precision=written).precision == ours
    assert Workload(name="toy", precision=written).precision == ours
    frame = pd.DataFrame({"op_class": ["gemm"], "precision": [written], "time_s": [1.0]})
    assert MEASUREMENTS.conform(frame, "table")["precision"].tolist() == [ours]


def test_words_of_tables_may_have_capitals() -> None:
    frame = pd.DataFrame({"op_class": ["GEMM"], "precision": ["fp32"], "time_s": [1.0], "trans_a": ["T"]})
    table = MEASUREMENTS.conform(frame, "table")
    assert table[["op_class", "trans_a"]].to_numpy().tolist() == [["gemm", "t"]]


def test_a_device_file_takes_them_but_not_two_of_one_format(tmp_path: Path) -> None:
    path = tmp_path / "toy.yaml"
    peaks = "{FP32: 1 TFLOP/s, bfloat16: {value: 2 TFLOP/s, accumulate: Float32}}"
    text = f"name: toy\npeak: {peaks}\nmemory_bandwidth: 1 TB/s\n"
    path.write_text(text)
    device = yaml_files.check(DeviceSpec, yaml_files.read_yaml(path))
    assert [*device.peak] == ["fp32", "bf16"]
    assert device.peak["fp32"].vector
    assert device.peak["bf16"].tensor
    assert device.peak["bf16"].tensor.accumulate == "fp32"
    path.write_text(text.replace("FP32:", "fp32: 3 TFLOP/s, FP32:"))
    with pytest.raises(EstimatorError, match="peak gives fp32 and FP32, which are one format; keep one"):
        yaml_files.check(DeviceSpec, yaml_files.read_yaml(path))


@pytest.mark.parametrize(
    ("formats", "expected"),
    [
        (["bf16", "bf16", "fp32"], "bf16"),
        (["fp32", "fp64", "fp64"], None),  # the steps that an update counts
        (["fp32", None, None], None),
        ([None, None, None], None),
    ],
)
def test_the_format_of_updates_is_that_of_most_of_their_time(formats: list[str | None], expected: str | None) -> None:
    rows = pd.DataFrame({"precision": [*formats, "fp16"], "time_s": 1.0, "phase": ["optimizer"] * 3 + ["backward"]})
    assert format_of_updates(rows) == expected
    assert format_of_updates(rows.iloc[:0]) is None
    assert format_of_updates(rows.assign(phase=pd.Series(pd.NA, rows.index, "string"))) is None
