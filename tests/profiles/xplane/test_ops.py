from dataclasses import replace

import numpy as np
import pytest

from estimator.profiles.events import Tally
from estimator.profiles.xplane import ops
from estimator.profiles.xplane.hlo import Turn
from estimator.profiles.xplane.state import State


def kind(event: int, share: float, **columns: str | None) -> ops.Kind:
    return ops.Kind(event, {**dict.fromkeys(ops.COLUMNS), **columns}, "", share)


def test_the_products_of_a_fusion_share_its_time() -> None:
    columns = {"op": "fusion.1", "op_type": "fusion", "kernel": "dot", "placement": "/host:CPU"}
    op_kinds = [kind(0, 0.25, **columns, shapes="8x4;4x3"), kind(0, 0.75, **columns, shapes="8x3;3x9")]
    rows, row = ops.rows(op_kinds, Tally(np.array([2]), np.array([4000]), np.array([0]), np.ones(1)))
    assert rows["shapes"][row].tolist() == ["8x4;4x3", "8x3;3x9"]
    assert rows.set_index("shapes")["time_s"].to_dict() == pytest.approx({"8x4;4x3": 1e-9, "8x3;3x9": 3e-9})
    assert rows["calls"].tolist() == [2, 2]
    assert rows["phase"].tolist() == ["unknown", "unknown"]


@pytest.mark.parametrize(
    ("path", "by_executor", "programs", "version", "framework"),
    [
        ("jit(step)/jit(main)/dot_general", False, (), None, "JAX"),
        ("", False, ("12", "jit_step"), None, "JAX"),
        ("", False, (), "jax 0.6.2", "JAX"),
        ("dense/MatMul", True, (), None, "TensorFlow"),
        ("dense/MatMul", True, ("jit_step",), None, "JAX"),  # whose input TensorFlow's executor prepares
        ("dense/MatMul", False, ("cluster_0",), None, None),
        (
            "dense/MatMul",
            False,
            ("a_inference_step_265__XlaMustCompile_true_config_proto_8.8", "0"),
            None,
            "TensorFlow",
        ),
        ("", False, (), None, None),
    ],
)
def test_the_framework_by_its_programs_or_its_executor(
    path: str, by_executor: bool, programs: tuple[str, ...], version: str | None, framework: str | None
) -> None:
    assert ops.framework([ops.Kind(0, {}, path, by_executor=by_executor)], programs, version) == framework


def test_names_types_and_times_of_the_ops_of_several_devices() -> None:
    named = ops.Kind(1, {**dict.fromkeys(ops.COLUMNS), "op_type": "dot"}, "jit(f)/dot_general", 0.25)
    total = Tally(np.ones(2, int), np.array([2000, 4000]), np.zeros(2, int), np.ones(2))
    names, types, times = ops.names_types_times([([kind(0, 1.0, op_type="copy")], total), ([named], total)])
    assert names.isna().tolist() == [True, False]
    assert (names[1], types.tolist()) == ("jit(f)/dot_general", ["copy", "dot"])
    assert times.tolist() == pytest.approx([2e-9, 1e-9])


def test_the_state_of_the_step_is_that_of_the_program_that_took_most_of_the_time() -> None:
    step, other = State(30, 3.0), State(500, 1.0)
    kinds = [replace(kind(number, 1.0), state=state) for number, state in enumerate((other, step, None, step))]
    total = Tally(np.ones(4, int), np.array([40, 30, 20, 30]), np.zeros(4, int), np.ones(4))
    assert ops.state_of_step([(kinds, total)]) == step
    assert ops.state_of_step([(kinds[2:3], total)]) is None
    assert ops.state_of_step([]) is None


def test_the_states_behind_gradients_are_those_of_the_program_that_updates_as_many_weights() -> None:
    gradients, update, other = State(30, None), State(30, 2.0), State(500, 1.0)
    kinds = [replace(kind(number, 1.0), state=state) for number, state in enumerate((gradients, update, other))]
    total = Tally(np.ones(3, int), np.array([90, 30, 20]), np.zeros(3, int), np.ones(3))
    assert ops.state_of_step([(kinds, total)]) == update
    assert ops.state_of_step([(kinds[::2], total)]) == gradients


def test_turns_of_loops_over_steps() -> None:
    loops = (Turn("f.2"), Turn("f.2"), Turn("f.3", steps=2), None)
    kinds = [replace(kind(number, 1.0), loop=loop) for number, loop in enumerate(loops)]
    total = Tally(np.array([4, 16, 10, 99]), np.ones(4, int), np.zeros(4, int), np.ones(4))
    assert ops.turns_of_steps(kinds, total) == 36
    assert ops.turns_of_steps(kinds[3:], total) == 0


def test_ops_of_a_loop_around_both_passes_are_marked() -> None:
    path = "jit(step)/while/body/jvp(Net)/dot_general"
    named = [replace(kind(n, 1.0, op_type="dot", attributes=text), path=path) for n, text in enumerate(("a=1", None))]
    rows, _ = ops.rows([*named, kind(2, 1.0, op_type="copy", attributes="b=1")], Tally(*np.ones((4, 3), dtype=int)))
    assert rows["attributes"].tolist() == ["a=1;turn=once", "turn=once", "b=1"]


def test_rows_are_sorted_by_first_run() -> None:
    times = {"last": (10, 90), "first": (30, 20), "between": (20, 50)}  # self time and first start
    op_kinds = [kind(number, 1.0, op=name, op_type="Mul", kernel="Mul") for number, name in enumerate(times)]
    self_ps, first_ps = np.array(list(times.values())).T
    rows, row = ops.rows(op_kinds, Tally(np.ones(3, int), self_ps, first_ps, np.ones(3)))
    assert rows["op"].tolist() == ["first", "between", "last"]
    assert row.tolist() == [2, 0, 1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(float[100,50];bfloat16[50,10])", ("100x50;50x10", "fp32")),
        ("(int32[2];half[])", ("2;1", "fp16")),
        ("(;float[?,3])", ("unknown;-1x3", "fp32")),
        ("(int64[7])", ("7", None)),
        ("", (None, None)),
    ],
)
def test_shapes_and_precision_of_typed_shapes(text: str, expected: tuple[str | None, str | None]) -> None:
    assert ops.typed_shapes(text) == expected


@pytest.mark.parametrize(
    ("name", "matters"),
    [
        ("layer/MatMul:MatMul", True),
        ("train", True),
        ("IteratorGetNextOp::DoCompute", True),
        ("IteratorGetNextAsOptionalOp::DoCompute", True),
        ("ExecutorState::Process", False),
        ("MemoryAllocation", False),
        ("while:While", False),
        ("EagerLocalExecute: __inference_train_step_530", True),
        ("EagerExecute", False),
        ("EagerLocalExecute: MatMul", True),
        ("EagerLocalExecute: _EagerConst", True),
        ("EagerLocalExecute: IteratorGetNext", False),
        ("EagerLocalExecute: StatefulPartitionedCall", False),
        ("end: copy.2", False),
        ("$train.py:12 step", False),
    ],
)
def test_names_that_may_be_an_op_or_a_step(name: str, matters: bool) -> None:
    assert ops.may_be_op_or_step(name) is matters
