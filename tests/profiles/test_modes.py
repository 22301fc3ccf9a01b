"""Whether a dump is of a training or of inference, by the names and types of its ops."""

import pandas as pd
import pytest

from estimator.core.types import Workload
from estimator.profiles import modes

FORWARD = (("dense/MatMul", "MatMul", 5.0), ("dense/Relu", "Relu", 3.0))
Op = tuple[str | None, str, float]


def is_inference(*ops: Op) -> bool:
    names, types, times = zip(*ops, strict=True)
    return modes.is_inference(
        pd.Series(names, dtype="string[python]"), pd.Series(types, dtype="string[python]"), pd.Series(times)
    )


@pytest.mark.parametrize(
    "op",
    [
        ("gradient_tape/dense/MatMul", "MatMul", 1.0),
        ("gradients/dense/MatMul_grad/MatMul", "MatMul", 1.0),
        ("jit(step)/transpose(jvp(Dense))/dot_general", "dot", 1.0),
        ("jit(step)/jvp(Dense)/dot_general", "dot", 1.0),  # differentiated, whatever became of the gradient
        ("custom/ReluGrad", "ReluGrad", 1.0),
        ("custom/Conv", "Conv2DBackpropFilter", 1.0),
        ("w", "ResourceApplyAdam", 1.0),
        ("w", "AssignSubVariableOp", 1.0),
        ("sgd/Sub", "Sub", 1.0),
    ],
)
def test_a_gradient_or_an_update_is_of_a_training(op: Op) -> None:
    assert is_inference(*FORWARD)
    assert not is_inference(*FORWARD, op)


@pytest.mark.parametrize(
    ("ops", "expected"),
    [
        ([("total", "AssignAddVariableOp", 1.0)], True),  # a metric's
        ([("gradients/Mul", "Mul", 0.0)], True),  # of the graph, but it did not run
        ([("IteratorGetNext", "IteratorGetNext", 99.0)], True),
        ([(None, "copy", 7.0)], True),  # XLA's own
        ([(None, "fusion", 9.0)], False),  # more than half of the time has no name
        ([("unlisted", "unlisted", 0.5)], False),
    ],
)
def test_what_else_ran_beside_the_forward_pass(ops: list[Op], expected: bool) -> None:
    assert is_inference(*FORWARD, *ops) is expected


def test_a_view_by_type_or_of_no_computation_does_not_tell() -> None:
    assert not is_inference(*((f"{name} 4x4;4x4", name, 1.0) for name in ("MatMul", "Relu", "Const")))
    assert not is_inference(("IteratorGetNext", "IteratorGetNext", 1.0))


@pytest.mark.parametrize(
    ("workload", "is_inference", "mode"),
    [
        (Workload(name="toy"), True, "inference"),
        (Workload(name="toy"), False, "training"),
        (Workload(name="toy", mode="training"), True, "training"),
    ],
)
def test_a_workload_that_states_its_mode_keeps_it(workload: Workload, is_inference: bool, mode: str) -> None:
    assert modes.with_mode(workload, is_inference).mode == mode


def test_programs_of_one_op_each_are_of_no_known_mode() -> None:
    by_op = [(f"jit({name})/{name}", name, 1.0) for name in ("add", "dot_general", "select_n")]
    assert not is_inference(*by_op)
    assert is_inference(("jit(apply)/Dense/dot_general", "dot", 5.0), *by_op)
