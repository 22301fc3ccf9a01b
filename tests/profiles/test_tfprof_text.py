from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.core.errors import EstimatorError
from estimator.core.types import Profile
from estimator.profiles import read_profile, tfprof_text
from estimator.work import count_work

TODAY = """
node name | requested bytes | total execution time | accelerator execution time | cpu execution time | op occurrence
MatMul    121.01MB (100.00%, 50.00%),   67.25ms (100.00%, 90.00%),  0us (0.00%, 0.00%), 67.25ms (100.00%, 90.00%), 2|3

input_type: 0:-1x500,\t1:1000x500\t(run*1|defined*1)\texec_time: 1.25ms
input_type: 0:-1x29532,\t1:-1x1000\t(run*1|defined*1)\texec_time: 66.00ms
input_type: 0:-1x1000,\t1:29532x1000\t(run*0|defined*1)\texec_time: 0us

VariableV2  120.35MB (50.00%, 50.00%),   7.47ms (10.00%, 10.00%),  0us (0.00%, 0.00%),  7.47ms (10.00%, 10.00%), 10|10

input_type: \t(run*10|defined*10)\texec_time: 7.47ms
"""


def read(tmp_path: Path, text: str) -> Profile:
    path = tmp_path / "dump.txt"
    path.write_text(text)
    return read_profile(path)


def test_todays_layout(tmp_path: Path) -> None:
    ops = read(tmp_path, TODAY).ops
    assert list(ops["op_type"]) == ["MatMul"] * 3 + ["VariableV2"]
    assert list(ops["calls"]) == [1, 1, 0, 10]
    assert ops["time_s"].sum() == pytest.approx(74.72e-3)
    assert "unlisted" not in set(ops["op"])


def test_the_lectures_layout_and_its_missing_time(p1b3: Profile) -> None:
    assert p1b3.format == "tfprof text"
    assert p1b3.device == "lecture-x86"
    times = p1b3.ops.groupby("op_type")["time_s"].sum()
    assert times["MatMul"] == pytest.approx(115.528e-3)
    assert times["unlisted"] == pytest.approx(2.77e-3, abs=0.02e-3)
    assert times.sum() == pytest.approx(287.3e-3, abs=0.05e-3)


def test_the_listing_of_the_tutorial_is_read(tmp_path: Path) -> None:
    text = (
        "node name | requested bytes | total execution time | accelerator execution time | cpu execution time\n"
        "SoftmaxCrossEntropyWithLogits      36.58MB (100.00%, 0.05%),      1.37sec (100.00%, 26.68%)\n"
        "MatMul                           2720.57MB (99.95%, 3.66%),    708.14ms (73.32%, 13.83%)\n"
    )
    ops = read(tmp_path, text).ops
    assert ops["time_s"].iloc[0] == 1.37
    assert ops["reported_bytes"].iloc[1] == pytest.approx(2720.57e6)
    assert ops["time_s"].sum() == pytest.approx(1.37 / 0.2668, rel=1e-3)  # the rest is unlisted


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the file is empty"),
        ("hello, this is no dump\n", "no reader knows this dump"),
        ("\x00\x01\x02", "no reader knows this dump"),
        (TODAY.replace("0:-1x500", "0:-1y500"), "the shape '0:-1y500' cannot be read"),
        (TODAY.replace("exec_time: 1.25ms", "exec_time: soon"), "this shape line cannot be read"),
        (TODAY.replace("exec_time: 1.25ms", "exec_time: -1.25ms"), "below zero"),
        (TODAY + "\nAssign  0B garbage\n", "no time can be read for 'Assign'"),
        (
            TODAY.replace("67.25ms (100.00%, 90.00%),  0us", "0us (100.00%, 90.00%),  0us"),
            "has 90.00 % of the time but 0us",
        ),
        ("MatMul  0B (0.00%, 0.00%), 0us (0.00%, 0.00%)\n", "no op took any time"),
        ("MatMul 1B (1%, 1%), 5us (1.0%, 1.0%)\nMatMul 1B (1%, 1%), 3us (1.0%, 1.0%)\n", "expected views of one run"),
        ("0:1x2, 1:2x3 (run*1|defined*1) exec_time: 5us\nAdd  1us\n", "which is no op line"),
    ],
)
def test_faults_are_sentences_with_their_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(EstimatorError, match=r".") as caught:
        read(tmp_path, text)
    assert words in str(caught.value)
    assert "dump.txt" in str(caught.value) or str(tmp_path) in str(caught.value)


@given(data=st.data())
def test_a_damaged_dump_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    text = list(TODAY)
    for _ in range(data.draw(st.integers(1, 8))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.characters(codec="utf-8"))
    path = tmp_path_factory.mktemp("damaged") / "dump.txt"
    path.write_text("".join(text), encoding="utf-8", newline="")
    try:
        profile = read_profile(path, batch=100)
        count_work(profile.ops, profile.workload)
    except EstimatorError as error:
        assert error.faults


@pytest.mark.parametrize("threads", [1, 2])
def test_real_dumps_of_today(public_data: Callable[[str], Path], threads: int) -> None:
    folder = public_data(f"profiles/p1b3_tf1_t{threads}")
    views = [read_profile(folder / f"{name}.txt", batch=100) for name in ("op_input_shapes", "op_micros_bytes_occ")]
    totals = [view.ops["time_s"].sum() for view in views]
    assert totals[0] == pytest.approx(totals[1], rel=1e-3)
    work, warnings = count_work(views[0].ops, views[0].workload)
    assert (
        work.loc[work["op_class"] == "gemm", "calls"].sum() == 9
    )  # the five forward ones are fused into Relu, BiasAdd
    assert any("forward" in warning for warning in warnings)


def test_recognition_looks_at_content_alone() -> None:
    assert tfprof_text.recognises(TODAY.encode())
    assert not tfprof_text.recognises(b"op_type,time_s\nMatMul,1\n")
