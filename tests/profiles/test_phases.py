import pandas as pd
import pytest

from estimator.profiles import phases

TEXT = "string[python]"
BACKWARD = ("gradients/dense_1/MatMul_grad/MatMul_1", "MatMul")


def classify(*ops: tuple[str, str | None]) -> list[object]:
    names, types = zip(*ops, strict=True)
    phase_of_op = phases.classify(pd.Series(names, dtype=TEXT), pd.Series(types, dtype=TEXT))
    return [None if pd.isna(phase) else phase for phase in phase_of_op]


@pytest.mark.parametrize(
    ("op", "op_type", "phase"),
    [
        ("dense_1/Relu", "Relu", "forward"),
        ("gradient_tape/model/dense/MatMul", "MatMul", "backward"),
        ("jit(step)/transpose(jvp(Dense))/dot_general", "dot", "backward"),
        ("training/Adam/gradients/dense/MatMul_grad/MatMul", "MatMul", "backward"),
        ("training/Adam/mul_3", "Mul", "optimizer"),
        ("GradientDescent/update_dense_0/kernel/ApplyGradientDescent", "ApplyGradientDescent", "optimizer"),
        ("sgd/sgd/AssignSubVariableOp", "AssignSubVariableOp", "optimizer"),
        ("x", "ResourceApplyAdam", "optimizer"),
        ("RMSprop/mul", "Mul", "optimizer"),
        ("rm_sprop/Square", "Square", "optimizer"),
        ("training/MyOptimizer/mul", "Mul", "optimizer"),
        ("StatefulPartitionedCall/AddN_3", "AddN", "backward"),  # sums of gradients
        ("net/add_1/AddN", "AddN", "forward"),
        ("resnet50_1/add_1/ArithmeticOptimizer/AddOpsRewrite_Add", "AddV2", "forward"),  # Grappler's, no optimizer's
        ("IteratorGetNext", "IteratorGetNext", "input"),
        ("x", "Placeholder", "input"),
        ("input/fifo_queue_Dequeue", "QueueDequeueV2", "input"),
    ],
)
def test_phase_by_name_and_type(op: str, op_type: str, phase: str) -> None:
    assert classify((op, op_type), BACKWARD) == [phase, "backward"]


def test_ops_without_a_phase_are_forward_in_inference() -> None:
    ops = phases.fill_forward(pd.DataFrame({"phase": pd.Series([pd.NA, "input"], dtype=TEXT)}))
    assert list(ops["phase"]) == ["forward", "input"]


def test_nothing_is_forward_where_no_op_is_marked_backward() -> None:
    assert classify(("dense/MatMul", "MatMul"), ("x", None), ("v", "AssignAddVariableOp")) == [None, None, "optimizer"]


def test_ops_that_jax_leaves_unmarked_are_unknown() -> None:
    marked = [("jit(step)/jvp(Dense)/dot_general", "dot"), ("jit(step)/transpose(jvp(Dense))/dot_general", "dot")]
    assert classify(*marked, ("jit(step)/sub", "subtract")) == ["forward", "backward", "unknown"]


def test_rows_of_a_whole_type_are_gradients_or_unknown_beside_backward_ops() -> None:
    """A view by type names each row by its type; one op that is folded to a constant has a name of its own."""
    types = ["Conv2D", "Conv2DBackpropFilter", "ReluGrad", "FusedBatchNormGradV3", "MatMul"]
    marked = classify(*((f"{name} 4x4;4x4", name) for name in types), ("gradients/Mean/folded", "Const"))
    assert marked == ["unknown", "backward", "backward", "backward", "unknown", "backward"]
    assert classify(*((name, name) for name in types)) == [None] * 5  # where nothing is marked, nothing is guessed


def test_phases_of_the_dump_outrank_names() -> None:
    ops = pd.DataFrame({"op": ["a", BACKWARD[0]], "op_type": ["Mul", "MatMul"], "phase": ["input", None]}, dtype=TEXT)
    assert list(phases.fill(ops)["phase"]) == ["input", "backward"]


def test_ops_in_a_loop_around_forward_and_backward_pass() -> None:
    turn = "jit(step)/while/body/closed_call"
    names = pd.Series(
        [
            f"{turn}/jvp(Net)/dot_general",
            f"{turn}/transpose(jvp(Net))/dot_general",
            f"{turn}/jvp(Net)/while/body/dot_general",  # over layers, in each turn
            "jit(step)/jvp(Net)/while/body/dot_general",  # over layers alone
            "jit(step)/transpose(jvp(Net))/while/body/jvp(Net)/dot_general",  # run again
            f"{turn}/add",
            None,
        ],
        dtype=TEXT,
    )
    assert phases.turns(names).fillna("").tolist() == ["turn=once", "turn=once", "turn=often", "", "", "", ""]
