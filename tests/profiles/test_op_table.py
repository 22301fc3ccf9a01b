from pathlib import Path

import pytest

from estimator.core.errors import EstimatorError
from estimator.profiles import read_profile
from estimator.work import count_work
from tests.conftest import unpacked

TABLE = "op,op_type,calls,time_s,m,n,k,bytes\nd1,MatMul,2,0.003,256,4096,1024,\nr,Relu,1,0.001,,,,8388608\n"


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "table.csv"
    path.write_text(text)
    return path


def test_dimensions_and_amounts_of_the_table_are_kept(tmp_path: Path) -> None:
    profile = read_profile(write(tmp_path, TABLE))
    work, warnings = unpacked(count_work(profile.ops, profile.workload))
    assert len(warnings) == 1  # neither the table nor a workload.yaml states the precision
    assert work["flop"].iloc[0] == 2 * 2 * 256 * 4096 * 1024
    assert work["bytes"].iloc[1] == 8388608
    assert list(work["work_source"]) == ["shapes", "reported"]


def test_steps_divide_the_amounts_of_the_table(tmp_path: Path) -> None:
    one, four = (read_profile(write(tmp_path, TABLE), steps=steps).ops for steps in (None, 4))
    assert four["time_s"].sum() == pytest.approx(one["time_s"].sum() / 4)
    assert four["calls"].iloc[0] == 0.5
    assert four["m"].iloc[0] == 256


def test_op_class_alone_is_enough(tmp_path: Path) -> None:
    profile = read_profile(write(tmp_path, "op_class,time_s,m,n,k\ngemm,0.1,8,8,8\n"))
    assert list(profile.ops["op"]) == ["gemm"]


def test_order_of_rows_and_columns_does_not_matter(tmp_path: Path) -> None:
    header, *rows = TABLE.splitlines()
    shuffled = "\n".join([header, *reversed(rows)])
    a, b = (read_profile(write(tmp_path, text)).ops for text in (TABLE, shuffled))
    assert a.sort_values("op").reset_index(drop=True).equals(b.sort_values("op").reset_index(drop=True))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (TABLE.replace("0.003", "-0.003"), "time_s is '-0.003'; expected a number of at least 0"),
        (TABLE.replace("0.003", "0"), "row 1: time_s is 0; expected above 0"),
        (TABLE.replace("0.003", "nan"), "time_s is 'nan'"),
        (TABLE.replace("0.003", "1e999"), "time_s is '1e999'"),
        (TABLE.replace("0.003", ""), "time_s is missing"),
        (TABLE.replace("256", "0"), "m is '0'; expected a whole number above 0"),
        (TABLE.replace("256", "2.5"), "m is '2.5'; expected a whole number"),
        ("op_type,time_s,shapes\nMatMul,1,10y3;3x4\n", "row 1: shapes is '10y3;3x4', which cannot be read"),
        (TABLE + "short,1\n", ":4: found 2 cells, expected 8"),
        ("op_type,time_s\n", "the file has no rows"),
        ("op_type,time_s,calls\nMatMul,0,0\n", "no op took any time"),
        ("op_type,time_s,calls\nMatMul,1,0\n", "row 1: 'MatMul' took time in 0 calls"),
        ("op_type;time_s\nMatMul;1\n", "the columns are separated by ';'"),
        (TABLE.replace("256", "99999999999999999999"), "9', which is too large; expected a whole number above 0"),
        ("op_type,time_s\n" + "x" * 200000 + ",1\n", "field larger than"),
        (
            TABLE + "TOTAL,,,0.00402,,,,\n",
            "row 3: 'TOTAL' states neither op_type nor op_class, and takes as long as all",
        ),
        ("op_type,op_class,time_s\nMatMul,magic,1\n", "op_class is 'magic'; expected one of gemm"),
    ],
)
def test_faults_are_named_in_one_sentence(tmp_path: Path, text: str, words: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(EstimatorError, match=r".") as caught:
        read_profile(path)
    assert words in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("op,op_type,time_ms", "without time_s; its columns are op, op_type, time_ms; add time_s, in seconds"),
        ("op,kind,time_s", "without op_type; its columns are op, kind, time_s; add op_type or op_class"),
        ("OP,Op_Type,TIME_S", "whose column names have capitals; write them small, such as op_type and time_s"),
        (
            "# mine\n\n# [s]\nop,op_type,time_s",
            "below comments; expected the column names on the first line, so delete",
        ),
    ],
)
def test_a_table_that_lacks_a_column_is_refused_by_its_name(tmp_path: Path, header: str, words: str) -> None:
    with pytest.raises(EstimatorError, match=f"table.csv: this is a table of ops {words}"):
        read_profile(write(tmp_path, f"{header}\na,MatMul,3\n"))


@pytest.mark.parametrize(
    ("more", "warnings"),
    [
        ("", 0),
        ("other,,,0.001,,,,\n", 1),
        ("most,,,0.006,,,,\nother,,,0.001,,,,\n", 1),
        ("like,Relu,1,0.004,,,,\n", 0),
    ],
)
def test_rows_of_no_kind_are_a_warning(tmp_path: Path, more: str, warnings: int) -> None:
    assert len(read_profile(write(tmp_path, TABLE + more)).warnings) == warnings
