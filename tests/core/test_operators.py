"""The vocabulary of operators, and what tables of ops and of measurements hold of it."""

import dataclasses

import pandas as pd
import pytest

from estimator.collect.bench.operators import KERNELS, STAND_INS
from estimator.core.operators import (
    CAST,
    CHANNEL_KERNELS,
    COLUMNS,
    LAUNCH,
    Operator,
    benchmark_kernels,
    cast_formats,
    is_cast,
    operators,
    with_operators,
)
from estimator.core.schema import OP_CLASSES, PASSES


def test_every_row_of_operators_csv_is_valid() -> None:
    allowed = {
        "op_class": OP_CLASSES, "direction": ("", "update", *PASSES), "kept_in_fp32": ("", "yes", "forward", "by op"),
        "along": ("", "rows", "channels", "images", "windows"), "benchmark_kernel": ("", *operators()),
    }  # fmt: skip
    cells = [(row.operator, name, getattr(row, name)) for row in operators().values() for name in allowed]
    assert [(operator, name, cell) for operator, name, cell in cells if cell not in allowed[name]] == []


def test_every_column_has_a_meaning() -> None:
    assert list(COLUMNS) == [field.name for field in dataclasses.fields(Operator)]


def test_every_class_is_an_operator_of_itself() -> None:
    assert all(operators()[name].op_class == name for name in OP_CLASSES)


def test_every_kernel_of_a_benchmark_is_an_operator() -> None:
    for name, kernel in KERNELS.items():
        assert operators()[name].op_class == kernel.op_class
    timed = {row.benchmark_kernel for row in operators().values() if row.op_class in STAND_INS}
    assert timed - {LAUNCH, CAST} <= KERNELS.keys()


def table(**columns: object) -> pd.DataFrame:
    given = {"op_class": "elementwise", "conv_c": None, "conv_n": None, "precision": "fp32", **columns}
    return pd.DataFrame(given).astype({"conv_c": "Int64", "conv_n": "Int64"})


def test_kernels_of_ops_along_channels() -> None:
    rows = table(
        op_class=["elementwise", "reduction", "reduction", "elementwise", "elementwise", "pooling", "reduction"],
        operator=["mul", "sum", "bias_grad", "mul", "mul", "max_pool", "bias_grad"],
        conv_c=[32, 32, 32, None, 32, 32, None],
        conv_n=[None, None, None, None, 8, None, None],
    )
    expected = ["bias_add", "channel_sum", "bias_grad", "add", "add", "max_pool", "sum"]
    assert benchmark_kernels(rows).tolist() == expected
    assert set(CHANNEL_KERNELS.values()) <= operators().keys()


@pytest.mark.parametrize(
    ("formats", "narrow"),
    [
        (("fp32", "bf16"), "bf16"), (("fp16", "fp64"), "fp16"), (("fp32", "tf32"), None), (("fp64", "fp32"), None),
        (("other", "fp32"), None), ((None, None), None),
    ],
)  # fmt: skip
def test_the_narrow_format_of_a_cast(formats: tuple[str | None, str | None], narrow: str | None) -> None:
    text = {name: pd.Series([cell], dtype="string[python]") for name, cell in zip(("from", "to"), formats, strict=True)}
    rows = table(operator=[CAST]).assign(from_precision=text["from"], to_precision=text["to"])
    format_ = cast_formats(rows).item()
    assert pd.isna(format_) if narrow is None else format_ == narrow
    assert is_cast(rows).item() == (narrow is not None)


def test_a_measured_cast_goes_from_fp32_to_its_precision() -> None:
    rows = table(operator=["add", CAST, CAST], precision=["bf16", "fp16", "fp32"])
    assert is_cast(rows).tolist() == [False, True, False]


def test_operators_of_measured_rows_that_state_none() -> None:
    rows = pd.DataFrame(
        [("elementwise", "relu", None), ("elementwise", "void some_kernel<4>(x)", None), ("reduction", "relu", None),
         ("gemm", "volta_sgemm_128x64_nn", None), ("convolution", None, "grad_weights"), ("convolution", None, None),
         ("pooling", "avg_pool", "grad_input"), ("pooling", "max_pool", "forward"), ("elementwise", LAUNCH, None)],
        columns=["op_class", "kernel", "pass"], dtype="string[python]",
    ).assign(operator=pd.Series([None] * 9, dtype="string[python]"))  # fmt: skip
    expected = ["relu", "elementwise", "reduction", "gemm", "convolution_grad_weights", "convolution", "avg_pool_grad",
                "max_pool", LAUNCH]  # fmt: skip
    assert with_operators(rows)["operator"].tolist() == expected
    assert with_operators(rows.assign(operator="exp"))["operator"].eq("exp").all()
