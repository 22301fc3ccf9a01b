from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given

from estimator.core.types import Profile
from estimator.profiles import read_profile
from estimator.profiles.tfprof import scope, text
from tests.profiles.tensorflow_dumps import damaged, read_or_refuse, refusal

SCOPE = """
Doc:
scope: The nodes in the model graph are organized by their names, which is hierarchical like filesystem.

Profile:
node name | requested bytes | total execution time | accelerator execution time | cpu execution time | # float_ops
_TFProfRoot (--/242.03MB, --/9.00ms, --/0us, --/9.00ms, --/1.50k flops)
  dense (0B/2.00MB, 0us/7.00ms, 0us/0us, 0us/7.00ms, 0/1.50k flops)
    dense/MatMul_3 (2.00MB/2.00MB, 6.00ms/6.00ms, 0us/0us, 6.00ms/6.00ms, 1.50k/1.50k flops)
    dense/kernel (0B/0B, 500us/1.00ms, 0us/0us, 500us/1.00ms, 0/0 flops)
      dense/kernel/read (0B/0B, 500us/500us, 0us/0us, 500us/500us, 0/0 flops)
  gradients/Relu_grad/ReluGrad (0B/0B, 2.00ms/2.00ms, 0us/0us, 2.00ms/2.00ms, 0/0 flops)
"""
ADVICE = 'checkers {\n  key: "ExpensiveOperationChecker"\n}\n'


def read(tmp_path: Path, text: str) -> Profile:
    path = tmp_path / "scope.txt"
    path.write_text(text)
    return read_profile(path)


def test_self_amounts_of_each_node(tmp_path: Path) -> None:
    profile = read(tmp_path, SCOPE)
    ops = profile.ops.set_index("op")
    assert profile.workload.framework == "TensorFlow"
    assert list(ops.index) == ["dense/MatMul_3", "dense/kernel", "dense/kernel/read", "gradients/Relu_grad/ReluGrad"]
    assert list(ops["op_type"]) == ["MatMul", "kernel", "read", "ReluGrad"]
    assert list(ops["time_s"]) == pytest.approx([6e-3, 5e-4, 5e-4, 2e-3])
    assert ops.loc["dense/MatMul_3", "reported_flop"] == pytest.approx(1500)
    assert ops.loc["dense/MatMul_3", "reported_bytes"] == pytest.approx(2e6)
    assert ops["reported_flop"].notna().sum() == 1
    assert [w.split(":")[0].split(",")[0] for w in profile.warnings] == [
        "this view has no shapes",
        "op types are the last parts of the names",
        "this view lists no optimizer's updates",
    ]


def test_time_of_the_root_without_a_line_is_unlisted(tmp_path: Path) -> None:
    ops = read(tmp_path, SCOPE.replace("--/9.00ms", "--/10.00ms")).ops.set_index("op")
    assert ops.loc["unlisted", "time_s"] == pytest.approx(1e-3)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the file is empty"),
        (ADVICE, "tfprof's advice, which lists the largest ops only; make the op view"),
        (SCOPE.replace("dense/kernel ", "train.py:18:<module> "), "code view, whose lines are of Python, not ops"),
        (SCOPE.replace("total execution time", "parameters"), "expected a column 'total execution time', found requ"),
        (SCOPE.replace("node name |", "name |"), "found no header line"),
        (SCOPE.replace("2.00ms/2.00ms, 0us", "2.00ms, 0us"), "scope.txt:12: expected 'name (self/total, …)'"),
        (SCOPE.replace("6.00ms/6.00ms, 0us", "-6.00ms/6.00ms, 0us"), "scope.txt:9: total execution time is '-6.00ms'"),
        (SCOPE.replace("6.00ms/6.00ms, 0us", "6.00h/6.00ms, 0us"), "one of the units us, ms, sec"),
        (SCOPE[:-30], "scope.txt:12: expected"),
        (SCOPE.split("  dense", 1)[0].replace("9.00ms", "0us"), "no op took any time"),
    ],
)
def test_faults_are_named_in_one_sentence(tmp_path: Path, text: str, words: str) -> None:
    assert words in refusal(tmp_path / "scope.txt", text.encode())


@pytest.mark.slow
@given(content=damaged(SCOPE.encode()))
def test_a_damaged_dump_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    read_or_refuse(scope, tmp_path_factory.mktemp("damaged") / "scope.txt", content)


def test_recognises_trees_but_no_op_views() -> None:
    assert scope.recognises(SCOPE.encode())
    assert not text.recognises(SCOPE.encode())
    assert not scope.recognises(b"MatMul  1B (1%, 1%), 5us (1%, 1%)\n")


@pytest.mark.parametrize("threads", [1, 2])
def test_real_dumps_agree_with_the_same_steps_metadata(public_data: Callable[[str], Path], threads: int) -> None:
    folder = public_data(f"profiles/p1b3_tf1_t{threads}")
    graph, scope, metadata = (read_profile(folder / n) for n in ("graph_time.txt", "scope_time.txt", "run_metadata.pb"))
    updates = metadata.ops["op_type"].eq("ApplyGradientDescent")
    whole = metadata.ops["time_s"].sum()
    assert graph.ops["time_s"].sum() == pytest.approx(whole, rel=0.02)
    assert scope.ops["time_s"].sum() == pytest.approx(metadata.ops.loc[~updates, "time_s"].sum(), rel=0.02)
    assert any("no optimizer" in warning for warning in scope.warnings)
    assert not any("no optimizer" in warning for warning in graph.warnings)


def test_inference_is_distinguished_from_training(tmp_path: Path) -> None:
    assert read(tmp_path, SCOPE).workload.mode == "training"
    forward = SCOPE.replace("gradients/Relu_grad/ReluGrad", "dense/Relu")
    assert read(tmp_path, forward).workload.mode == "inference"
    assert read(tmp_path, forward.replace("--/9.00ms", "--/10.00ms")).workload.mode == "training"  # 1 ms is not listed
