import io
from collections.abc import Sequence
from pathlib import Path

import pytest
import xlsxwriter  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from estimator.core.errors import EstimatorError
from estimator.devices.importers import deepbench_sheet
from estimator.devices.importers.declared import Declared
from tests.devices.importers.samples import import_text, read_text, rows_of

Cell = str | float | None
Rows = Sequence[Sequence[Cell]]

FACTS: Rows = [["DeepBench"], ["CUDA Version", "8.0.88"], ["Cudnn Version", "6.0.21"], ["Precision", "Float"], []]
GEMM: Rows = [
    ["Dense Matrix Multiplication"],
    ["M", "N", "K", "A Transpose", "B Transpose", "Time (msec)", "TeraFLOPS"],
    [1760, 16, 1760, "N", "T", 0.055, 1.8],
    [7680, 64, 2560, "N", "N", 0.3, 8.39],
    [],
]
CONV: Rows = [
    ["W", "H", "C", "N", "K", "S", "R", "Pad W", "Pad H", "Stride W", "Stride H", "Fwd Time (usec)",
     "Bwd Inputs Time (msec)", "Bwd Params Time (msec)", "Total Time (msec)", "Fwd Algo"],
    [700, 161, 1, 4, 32, 20, 5, 0, 0, 2, 2, 122, None, 0.257, 0.4, "WINOGRAD"],
    [],
]  # fmt: skip
RNN: Rows = [["Type", "Hidden Units", "N", "TimeSteps", "Fwd Time (ms)"], ["lstm", 512, 16, 25, 0.89], []]
ALL_REDUCE: Rows = [
    ["Size (# of floats)", "# chips / accelerator cards", "Time (msec)"], [100000, 8, 0.15], ["OSU"], [1]
]  # fmt: skip


def book(**sheets: Rows) -> bytes:
    """A workbook of sheets whose tables do not begin in the first column."""
    stream = io.BytesIO()
    with xlsxwriter.Workbook(stream) as written:
        for name, rows in sheets.items():
            sheet = written.add_worksheet(name.replace("_", " "))
            for number, row in enumerate(rows):
                sheet.write_row(number + 2, 1, row)
    return stream.getvalue()


def test_every_table_of_a_sheet_is_read(tmp_path: Path) -> None:
    result = import_text(tmp_path, book(Results_FP32=[*FACTS, *GEMM, *CONV, *RNN, *ALL_REDUCE]), name="P100.xlsx")
    rows = rows_of(result)
    assert rows["op_class"].tolist() == ["gemm"] * 2 + ["convolution"] * 2 + ["recurrent", "collective"]
    assert rows["time_s"].tolist() == pytest.approx([55e-6, 3e-4, 122e-6, 257e-6, 0.89e-3, 0.15e-3])
    assert set(rows["precision"]) == {"fp32"}
    assert set(rows["library"]) == {"CUDA Version=8.0.88; Cudnn Version=6.0.21"}
    assert set(rows["source"]) == {"P100.xlsx, sheet Results FP32"}
    assert rows["trans_b"].tolist()[:2] == ["t", "n"]
    assert rows.loc[2, ["conv_w", "conv_h", "conv_s", "conv_r", "kernel"]].tolist() == [700, 161, 20, 5, "WINOGRAD"]
    assert (rows.loc[5, "ranks"], rows.loc[5, "bytes"]) == (8, 4e5)
    assert result.survey["left_out"].sum() == 1  # the gradient that nobody timed


@pytest.mark.parametrize(
    ("precision", "expected", "accumulate"),
    [
        ("16 bit inputs, 32 bit multiplication, 32 bit addition", "fp16", "fp32"),
        ("GEMM, Conv: Int8 multiplication, 32 bit accumulation", "int8", None),
        ("Float", "fp32", None),
        ("bfloat16", "bf16", None),
    ],
)
def test_precision_from_the_cells_of_a_sheet(
    tmp_path: Path, precision: str, expected: str, accumulate: str | None
) -> None:
    rows = read_text(tmp_path, book(Results=[["Precision", precision], *GEMM]))
    assert set(rows["precision"]) == {expected}
    assert rows["accumulate"].dropna().tolist() == [accumulate] * (2 if accumulate else 0)


@pytest.mark.parametrize(
    ("sheet", "expected"),
    [("Results_FP32", "fp32"), ("Results_-_Psuedo_FP16", "fp16"), ("FP16_ip,_Mixed_math", "fp16")],
)  # fmt: skip
def test_precision_from_the_name_of_a_sheet(tmp_path: Path, sheet: str, expected: str) -> None:
    assert set(read_text(tmp_path, book(**{sheet: GEMM}))["precision"]) == {expected}


def test_precision_of_products_does_not_apply_to_recurrent_layers(tmp_path: Path) -> None:
    sheet = book(Mixed=[["Precision", "GEMM, Conv: Int8 multiplication, 32 bit accumulation"], *GEMM, *RNN])
    with pytest.raises(EstimatorError, match="sheet 'Mixed': row 10 says no precision"):
        import_text(tmp_path, sheet)
    rows = read_text(tmp_path, sheet, Declared(precision="fp32"))
    assert rows["precision"].tolist() == ["int8", "int8", "fp32"]


@pytest.mark.parametrize(
    ("sheets", "words"),
    [
        ({"FP32": [["nothing", "here"]]}, "found no table on its sheets"),
        ({"FP32": [["M", "N", "K", "Time"], [1, 2, 3, 4]]}, "'Time' has no unit"),
        ({"FP32": [["M", "N", "K", "a", "b"], [1, 2, 3, 4, 5]]}, "found no time"),
        ({"FP32": [["M", "N", "K", "Time (msec)"], [16, 16, 16, -1]]}, "time_s is '-0.001'"),
        ({"FP32": [["M", "N", "K", "Time (sec)", "TFLOPS"], [1760, 16, 1760, 55, 1.8]]}, "check the units of both"),
        ({"Sheet1": GEMM}, "sheet 'Sheet1': row 5 says no precision"),
    ],
)
def test_faults_of_a_workbook_are_reported(tmp_path: Path, sheets: dict[str, Rows], words: str) -> None:
    with pytest.raises(EstimatorError) as caught:
        import_text(tmp_path, book(**sheets))
    assert words in str(caught.value)


WHOLE = book(Results_FP32=[*FACTS, *GEMM, *CONV])


def test_a_sheet_with_a_cell_far_out_is_refused(tmp_path: Path) -> None:
    stream = io.BytesIO()
    with xlsxwriter.Workbook(stream) as written:
        written.add_worksheet().write(1_048_575, 16_383, 1)
    with pytest.raises(EstimatorError, match="spans more than"):
        import_text(tmp_path, stream.getvalue())


@pytest.mark.slow
@settings(max_examples=60)
@given(start=st.integers(0, len(WHOLE)), length=st.integers(0, 200), by=st.binary(max_size=50))
def test_a_mutilated_workbook_is_read_or_refused(
    start: int, length: int, by: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    try:
        import_text(tmp_path_factory.mktemp("book"), WHOLE[:start] + by + WHOLE[start + length :])
    except EstimatorError as error:
        assert error.faults


def test_a_zip_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deepbench_sheet, "MOST_UNZIPPED", 1000)
    with pytest.raises(EstimatorError, match="unzips to more than"):
        import_text(tmp_path, WHOLE)
