"""The graphs of a capture: those of eager ops tell nothing, and none ends the process."""

import os
from pathlib import Path
from subprocess import run
from sys import executable
from types import SimpleNamespace
from typing import Any

import pytest

from estimator.collect.capture import nodes
from tests.conftest import ROOT

EAGER_STEP = """
import tensorflow as tf
from estimator.collect.capture import nodes
def step(): return tf.nn.relu(tf.ones((4, 8)) @ tf.ones((8, 2)))
with nodes.record_graphs() as graphs: step()
assert graphs == [], graphs
with nodes.record_graphs() as graphs: tf.function(step)()
assert len(nodes.table(graphs * 2)) > 0
graphs[0].MergeFrom(graphs[0])
assert nodes.table(graphs).empty
"""


def graph(*described: tuple[str, str, str]) -> Any:
    return SimpleNamespace(node=[SimpleNamespace(name=n, op=op, input=given.split()) for n, op, given in described])


ARGUMENTS = (("a", "_Arg", ""), ("b", "_Arg", ""))
RESULT = ("product_RetVal", "_Retval", "MatMul")
ONE_DNN = ("_MklMatMul", "_MklMatMul", "a:0 b:0")


@pytest.mark.parametrize(
    ("eager", "of_nodes"),
    [
        (True, (("MatMul", "MatMul", "a b"),)),
        (True, (("MatMul", "MatMul", "a b"), ONE_DNN)),
        (False, (("MatMul", "MatMul", "a b"), ("Relu", "Relu", "MatMul"))),
        (False, (("model/dense/MatMul", "MatMul", "a b"),)),
    ],
)
def test_an_eager_op_is_recognised_by_its_nodes(eager: bool, of_nodes: tuple[tuple[str, str, str], ...]) -> None:
    assert nodes._is_eager(graph(*ARGUMENTS, *of_nodes, RESULT)) is eager


@pytest.mark.slow
@pytest.mark.tensorflow
def test_an_eager_step_gives_no_nodes_and_does_not_end_the_process(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = run([executable, "-c", EAGER_STEP], env=environment, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
