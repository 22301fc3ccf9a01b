import itertools
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.core.errors import EstimatorError
from estimator.devices.importers.declared import Declared
from tests.devices.importers.samples import (
    ALL_REDUCE,
    AMD_GEMM,
    ARM_GEMM,
    BANNER,
    CONV,
    GEMM_HEADER,
    INT8_GEMM,
    INTEL_GEMM,
    LOGS,
    NVIDIA_GEMM,
    OLD_GEMM,
    RNN,
    SPARSE,
    import_text,
    read_text,
    rows_of,
)  # fmt: skip

GEMM = ["m", "n", "k", "trans_a", "trans_b", "precision"]


def cells(rows: pd.DataFrame, *names: str) -> list[tuple[object, ...]]:
    return list(rows[list(names)].itertuples(index=False, name=None))


def test_transposes_printed_as_digits_by_nvidia(tmp_path: Path) -> None:
    result = import_text(tmp_path, NVIDIA_GEMM)
    rows = rows_of(result)
    assert cells(rows, *GEMM) == [(1760, 16, 1760, "n", "t", "fp32"), (5124, 9124, 2560, "n", "n", "fp32")]
    assert rows["time_s"].tolist() == [38e-6, 16312e-6]
    assert (rows["op_class"] == "gemm").all()


def test_whole_microseconds_get_rounding_bounds(tmp_path: Path) -> None:
    rows = read_text(tmp_path, NVIDIA_GEMM)
    assert cells(rows, "time_low_s", "time_high_s")[0] == (37.5e-6, 38.5e-6)


def test_unsupported_problems_are_left_out_and_counted(tmp_path: Path) -> None:
    survey = import_text(tmp_path, NVIDIA_GEMM).survey
    assert cells(survey, "op_class", "precision", "rows", "left_out") == [
        ("gemm", "fp16", 0, 1),
        ("gemm", "fp32", 2, 0),
    ]


def test_padding_is_read(tmp_path: Path) -> None:
    rows = read_text(tmp_path, INT8_GEMM)
    assert cells(rows.fillna({"padding": "no"}), "precision", "padding") == [("int8", "no"), ("int8", "padded")]


def test_arm_log_of_int8_in_milliseconds(tmp_path: Path) -> None:
    rows = read_text(tmp_path, ARM_GEMM)
    assert cells(rows, "time_s", "precision", "trans_a") == [(0.1235, "int8", "n")]


@pytest.mark.parametrize(("log", "transposes"), [(OLD_GEMM, ("n", "t")), (AMD_GEMM, ("n", "t"))])
def test_a_log_without_precision_is_taken_as_fp32_with_a_note(
    tmp_path: Path, log: str, transposes: tuple[str, str]
) -> None:
    result = import_text(tmp_path, log)
    assert cells(rows_of(result), "precision", "trans_a", "trans_b") == [("fp32", *transposes)]
    assert any("taken to be fp32" in note for note in result.notes)
    assert read_text(tmp_path, log, Declared(precision="fp16"))["precision"].tolist() == ["fp16"]


def test_intel_log(tmp_path: Path) -> None:
    rows = read_text(tmp_path, INTEL_GEMM)
    assert cells(rows, *GEMM) == [(1760, 16, 1760, "n", "n", "fp32"), (512, 16, 512, "t", "n", "fp32")]
    assert rows["time_s"].tolist() == [77.4e-6, 10e-6]


def test_log_of_sparse_products(tmp_path: Path) -> None:
    assert cells(read_text(tmp_path, SPARSE), "m", "sparsity", "time_s") == [(7680, 0.95, 41e-6)]


def test_a_convolution_has_a_row_for_each_pass(tmp_path: Path) -> None:
    result = import_text(tmp_path, CONV)
    rows = rows_of(result)
    assert rows["pass"].tolist() == ["forward", "grad_input", "grad_weights", "forward", "grad_weights"]
    assert rows["time_s"].tolist() == [122e-6, 473e-6, 257e-6, 920e-6, 1107e-6]
    sizes = [f"conv_{name}" for name in "nchwkrs"] + ["stride_h", "stride_w", "pad_h", "pad_w"]
    assert cells(rows, *sizes)[0] == (4, 1, 161, 700, 32, 5, 20, 2, 2, 0, 0)
    assert rows["kernel"].fillna("").tolist() == ["IMPLICIT_PRECOMP_GEMM", "", "", "DIRECT CONV", ""]
    assert result.survey["left_out"].tolist() == [1]


def test_log_of_recurrent_layers(tmp_path: Path) -> None:
    result = import_text(tmp_path, RNN)
    rows = rows_of(result)
    assert cells(rows, "cell", "hidden", "sequences", "timesteps")[0] == ("vanilla", 1760, 16, 50)
    assert cells(rows, "pass", "time_s")[-1] == ("forward", 1520e-6)
    assert result.survey["left_out"].tolist() == [2]


def test_log_of_collectives(tmp_path: Path) -> None:
    rows = read_text(tmp_path, ALL_REDUCE)
    assert cells(rows, "kernel", "ranks", "bytes", "time_s") == [
        ("NCCL AllReduce", 8, 4e5, 0.148489e-3), ("NCCL AllReduce", 8, 12390400, 2.63694e-3)
    ]  # fmt: skip


def test_shell_noise_windows_line_ends_and_a_second_log_are_read(tmp_path: Path) -> None:
    noise = "root@box:~# ./bin/gemm_bench train float\nmake: nothing to be done\n"
    text = (noise + NVIDIA_GEMM + "$ ./bin/gemm_bench\n" + NVIDIA_GEMM).replace("\n", "\r\n")
    result = import_text(tmp_path, text)
    assert len(rows_of(result)) == 4
    assert any("passed over" in note for note in result.notes)


def test_a_last_line_without_newline_has_a_note(tmp_path: Path) -> None:
    assert any("cut short" in note for note in import_text(tmp_path, NVIDIA_GEMM.rstrip("\n")).notes)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (NVIDIA_GEMM + "   1760     16\n", ":8: found 2 cells, expected 7"),
        (NVIDIA_GEMM + "   1760     64   1760      0      0        float                   0\n", "above 0"),
        (NVIDIA_GEMM + "   1760     64   1760      0      0        float                 -12\n", "row 8: time_s is '-"),
        (NVIDIA_GEMM + "   1760     64   1760      0      0        quad                  12\n", "precision is 'quad'"),
        (NVIDIA_GEMM + "   1760     64   17x0      0      0        float                 12\n", "k is '17x0'"),
        (NVIDIA_GEMM + "   1760     64   1760      2      0        float                 12\n", "trans_a is '2'"),
        (NVIDIA_GEMM.replace("(usec)", ""), "found no unit beside the times"),
        (CONV.replace("(usec)", "(ms)") + CONV, "logs of unlike programs"),
        (OLD_GEMM + AMD_GEMM, "found transposes as n and t, expected as 0 and 1"),
        (NVIDIA_GEMM + ARM_GEMM, "logs of unlike programs stand in one file"),
        (INT8_GEMM.replace("kernels: 2", "kernels: 3"), "counts 3 kernels, found 2 rows"),
        ("SGEMM(N,N,1760,16,1760) 77.4 usec 1281.38\n", "expected a line such as"),
        (INTEL_GEMM.replace("77.4 usec", "77.4 msec"), "x that of 'GFlop/s' beside it"),
        (ALL_REDUCE.replace(" Num Ranks: 8\n", ""), "a collective needs ranks and bytes"),
        (SPARSE.replace("b_t", "b_t sparsity").replace("0.95", "0.95 0.95"), "'sparsity' stands twice"),
        (BANNER + GEMM_HEADER, "found no row with a time"),
    ],
)  # fmt: skip
def test_faults_of_a_log_are_reported(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(EstimatorError) as caught:
        import_text(tmp_path, text)
    assert words in str(caught.value)
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.slow
@given(data=st.data())
def test_a_mutilated_log_is_read_or_refused(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    text = data.draw(st.sampled_from(list(LOGS.values())))
    start, stop = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    inserted = data.draw(
        st.text(max_size=20) | st.sampled_from(["\n", " ", "nan", "1e999", "-1", "Not Supported", "(ms)"])
    )
    try:
        import_text(tmp_path_factory.mktemp("log"), text[:start] + inserted + text[stop:])
    except EstimatorError as error:
        assert error.faults


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), list(itertools.combinations(("nvidia", "conv", "rnn", "all_reduce"), 2)))
def test_two_logs_of_one_program_in_a_file_are_read(tmp_path: Path, first: str, second: str) -> None:
    both = len(read_text(tmp_path, LOGS[first] + LOGS[second]))
    assert both == len(read_text(tmp_path, LOGS[first])) + len(read_text(tmp_path, LOGS[second]))


def test_a_kernel_count_of_thousands_of_digits_is_ignored(tmp_path: Path) -> None:
    rows = read_text(tmp_path, f"{INT8_GEMM} Total kernels: {'9' * 5000}\n")
    assert len(rows) == 2
