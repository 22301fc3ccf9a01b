"""Foreign names of columns and values."""

from decimal import Decimal
from pathlib import Path

import pytest

from estimator.devices.importers import names
from tests.devices.importers.samples import read_text


@pytest.mark.parametrize(
    ("header", "written", "read"),
    [
        ("clock_mhz", "1980", "1980 MHz"),
        ("SM Clock (GHz)", "1.98", "1.98 GHz"),
        ("clock_mhz", "1980 MHz", "1980 MHz"),
        ("sm_clock", "1980 MHz", "1980 MHz"),
        ("clock", "boost", "boost"),
    ],
)
def test_spellings_of_clocks(tmp_path: Path, header: str, written: str, read: str) -> None:
    rows = read_text(tmp_path, f"m,n,k,dtype,time_us,{header}\n64,64,64,half,9,{written}\n")
    assert rows["clock"].tolist() == [read]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("column", "spelling", "ours"),
    [
        *(("dtype", spelling, "fp16") for spelling in ("torch.float16", "half", "FP16", "CUDA_R_16F", "f16_r", "F16")),
        *(("in_dtype", spelling, "fp8") for spelling in ("float8_e4m3fn", "torch.float8_e5m2", "E4M3", "fp8_e4m3fnuz")),
        *(("data_type", spelling, "bf16") for spelling in ("jnp.bfloat16", "CUDA_R_16BF", "bf16_r", "BFloat16")),
        *(("input_type", spelling, "fp32") for spelling in ("float", "torch.float32", "single", "f32")),
        *(("Precision", spelling, "tf32") for spelling in ("TensorFloat32", "xf32", "TF32")),
        *(("dtype", spelling, "fp4") for spelling in ("nvfp4", "float4_e2m1fn_x2", "mxfp4", "e2m1")),
        *(("dtype", spelling, "int8") for spelling in ("s8", "torch.int8", "uint8", "CUDA_R_8I", "qint8")),
        ("dtype", "double", "fp64"),
        ("dtype", "u4", "int4"),
    ],
)
def test_spellings_of_precisions(tmp_path: Path, column: str, spelling: str, ours: str) -> None:
    rows = read_text(tmp_path, f"m,n,k,{column},time_us\n64,64,64,{spelling},9\n")
    assert rows["precision"].tolist() == [ours]


@pytest.mark.parametrize(
    ("spelling", "ours"),
    [
        ("fwd", "forward"), ("dgrad", "grad_input"), ("BWD_DATA", "grad_input"), ("backward data", "grad_input"),
        ("wgrad", "grad_weights"), ("bwd_filter", "grad_weights"), ("bwd", "backward"), ("forward", "forward"),
    ],
)  # fmt: skip
def test_spellings_of_passes(tmp_path: Path, spelling: str, ours: str) -> None:
    columns, cells = "conv_n,conv_c,conv_h,conv_w,conv_k,conv_r,conv_s,dtype", "8,64,9,9,64,3,3,half"
    assert read_text(tmp_path, f"{columns},pass,time_us\n{cells},{spelling},9\n")["pass"].tolist() == [ours]
    header = f"{spelling} time (us)"
    assert read_text(tmp_path, f"{columns},{header}\n{cells},9\n")["pass"].tolist() == [ours]


@pytest.mark.parametrize(
    ("header", "name", "seconds"),
    [
        ("Kernel Time (usec)", "kernel_time", "0.000001"), ("latency_ms", "latency", "0.001"),
        ("time [NS]", "time", "1e-9"), ("time μs", "time", "1e-6"), ("time_s", "time", "1"),
        ("# of floats", "#_of_floats", None),
        ("time", "time", None), ("items", "items", None),
    ],
)  # fmt: skip
def test_a_header_is_a_name_and_perhaps_a_unit_of_time(header: str, name: str, seconds: str | None) -> None:
    assert names.name_and_unit(header) == (name, None if seconds is None else Decimal(seconds))


@pytest.mark.parametrize(
    ("header", "meaning"),
    [
        ("fwd_time (us)", "forward"), ("bwd_inputs_time", "grad_input"), ("Backward weights time", "grad_weights"),
        ("bprop_ms", "backward"), ("mean latency (ms)", "time_s"), ("runtime_s", "time_s"),
        ("min_time_us", "time_low_s"), ("latency_max", "time_high_s"), ("total_time", "total"),
        ("timesteps", None), ("fwd_algo (usec)", None),
    ],
)  # fmt: skip
def test_the_meaning_of_a_time(header: str, meaning: str | None) -> None:
    assert names.time_of(header) == meaning


@pytest.mark.parametrize(
    ("header", "flop_per_s"),
    [
        ("TFLOPS", 1e12),
        ("TFLOP/s", 1e12),
        ("gops", 1e9),
        ("GigaFlops", 1e9),
        ("GF/s", 1e9),
        ("TB/s", None),
        ("flop", None),
    ],
)
def test_the_unit_of_a_rate(header: str, flop_per_s: float | None) -> None:
    assert names.rate_of(header) == flop_per_s


@pytest.mark.parametrize(
    ("headers", "op_class"),
    [
        ("m n k time", "gemm"), ("w h c n k f_w f_h pad_w", "convolution"), ("type hidden N timesteps", "recurrent"),
        ("# of floats", "collective"), ("m n time", None), ("w h c n k", None),
    ],
)  # fmt: skip
def test_the_columns_of_a_table_tell_its_op_class(headers: str, op_class: str | None) -> None:
    """A blank divides headers here, but for that of the floats."""
    assert names.op_class_of([headers] if "#" in headers else headers.split()) == op_class


def test_one_header_means_another_size_in_each_class() -> None:
    columns = [names.column_of("N", names.TABLES[op_class][0]) for op_class in ("gemm", "convolution", "recurrent")]
    assert columns == ["n", "conv_n", "sequences"]
    assert (names.column_of("GPU"), names.column_of("row_length"), names.column_of("remark")) == (
        "device", "row_length", None
    )  # fmt: skip


@pytest.mark.parametrize(
    ("column", "text", "ours"),
    [
        ("trans_a", "True", "t"), ("trans_b", "0", "n"), ("trans_b", "N", "n"), ("cell", "RNN", "vanilla"),
        ("cell", "LSTM", "lstm"), ("op_class", "MatMul", "gemm"), ("op_class", "conv2d", "convolution"),
        ("padding", "no", ""), ("padding", "1", "padded"),
        ("accumulate", "torch.int32", ""), ("accumulate", "float", "fp32"),
    ],
)  # fmt: skip
def test_values_are_translated_to_our_words(column: str, text: str, ours: str) -> None:
    assert names.translate_word(column, text) == ours
