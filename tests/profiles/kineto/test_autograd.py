"""What autograd tells of a trace: the calls that keep tensors, parameters, optimizer and gradients."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from estimator.core.types import Profile, Workload
from tests.profiles.kineto.events import Event, event, read

MM: dict[str, Any] = {"Input Dims": [[4, 8], [8, 8]], "Input type": ["float", "float"]}
TENSOR: dict[str, Any] = {"Input Dims": [[4, 8]], "Input type": ["float"]}


def op(name: str, ts: float, sequence: int, /, dur: float = 5, **args: Any) -> Event:
    described: dict[str, Any] = {**(args or TENSOR), "Sequence number": sequence}
    return event(name, ts, dur, **described)


def ends(ts: float, *sizes: int) -> Event:
    described: dict[str, Any] = {"Input Dims": [[*sizes]], "Input type": ["float"]}
    return event("torch::autograd::AccumulateGrad", ts, 2, **described)


def mark(name: str, ts: float, dur: float = 5) -> Event:
    return event(name, ts, dur, "user_annotation")


FORWARD = (op("aten::mm", 0, 7, **MM), op("aten::cos", 10, 8), op("aten::tanh", 20, 8), op("aten::mm", 30, 9, **MM))
BACKWARD = (
    event("autograd::engine::evaluate_function: MmBackward0", 60, 10), event("aten::mm", 62, 5, **MM), ends(72, 8, 8),
    ends(76, 8, 8), ends(80, 8),
)  # fmt: skip
MICRO_BATCHES = (*FORWARD, *BACKWARD, *({**each, "ts": each["ts"] + 200} for each in (*FORWARD, *BACKWARD)))
UPDATE = (mark("Optimizer.step#SGD.step", 90, 20), event("aten::add_", 92, 2, **TENSOR))


def places(profile: Profile) -> dict[str, str]:
    table = profile.ops[profile.ops["phase"].eq("forward")]
    return {str(name): text for name, text in zip(table["op"], table["places"], strict=True) if not pd.isna(text)}


def test_calls_with_gradients_have_places(tmp_path: Path) -> None:
    profile = read(tmp_path, *FORWARD, *BACKWARD)
    assert places(profile) == {"aten::mm": "0;2", "aten::tanh": "1"}  # of one number the last op has the gradient


def test_without_a_backward_pass_all_calls_have_places(tmp_path: Path) -> None:
    assert places(read(tmp_path, *FORWARD)) == {"aten::mm": "0;3", "aten::cos": "1", "aten::tanh": "2"}


def test_a_softmax_keeps_what_it_writes_last(tmp_path: Path) -> None:
    inside = (event("aten::_softmax", 41, 5, **TENSOR), event("aten::where", 46, 5, **TENSOR))
    profile = read(tmp_path, *FORWARD, op("aten::_safe_softmax", 40, 10, 12), *inside, *BACKWARD)
    assert "aten::where" in places(profile)
    assert "aten::_softmax" not in places(profile)


def test_what_an_op_calls_to_do_its_own_work_keeps_nothing(tmp_path: Path) -> None:
    """As the bias that a product copies; unlike what an op only dispatches to, which keeps tensors for it."""
    copy = event("aten::copy_", 3, 1, **TENSOR)
    assert "aten::copy_" not in places(read(tmp_path, *FORWARD, copy, *BACKWARD))
    custom = (op("Custom", 40, 11, 8, **TENSOR), event("aten::sin", 41, 6, **TENSOR))
    gradient = op("CustomBackward", 52, 11)
    assert "aten::sin" in places(read(tmp_path, *FORWARD, *custom, gradient, *BACKWARD))
    assert "aten::sin" not in places(read(tmp_path, *FORWARD, *custom, *BACKWARD))  # as under no_grad


def test_gradients_count_the_parameters_once(tmp_path: Path) -> None:
    assert read(tmp_path, *FORWARD, *BACKWARD).workload.parameters == 64 + 64 + 8
    stated = Workload(name="toy", parameters=5)
    assert read(tmp_path, *FORWARD, *BACKWARD, workload=stated).workload.parameters == 5
    assert read(tmp_path, *FORWARD).workload.parameters is None
    assert read(tmp_path, *MICRO_BATCHES).workload.parameters == 64 + 64 + 8


def test_a_gradient_inside_of_the_forward_pass_is_no_pass_of_its_own(tmp_path: Path) -> None:
    """As of forces, which are the gradient of an energy."""
    forces = [{**each, "ts": each["ts"] - 200} for each in (*FORWARD, *BACKWARD[:2])]
    loss = op("aten::exp", 5, 20)
    profile = read(tmp_path, *forces, *FORWARD[1:], loss, *BACKWARD)
    assert profile.workload.parameters == 64 + 64 + 8
    assert {"aten::mm", "aten::exp"} <= set(places(profile))


def test_of_several_passes_that_of_most_elements_has_places(tmp_path: Path) -> None:
    large: dict[str, Any] = {"Input Dims": [[400, 8]], "Input type": ["float"]}
    profile = read(tmp_path, *MICRO_BATCHES, op("aten::exp", 240, 13, **large), *(op("aten::sin", 41, 12),))
    assert places(profile) == {"aten::mm": "0;2", "aten::tanh": "1", "aten::exp": "3"}
    assert profile.workload.gradients_in_forward  # those of the first micro-batch
    assert not read(tmp_path, *FORWARD, *BACKWARD).workload.gradients_in_forward


@pytest.mark.parametrize(
    ("marked", "kernels", "name"),
    [
        ("SGD", ("aten::add_",), "sgd"),
        ("SGD", ("aten::_foreach_mul_", "aten::_foreach_add_"), "sgd_momentum"),
        ("AdamW", ("aten::_foreach_mul_",), "adamw"),
        ("Adam", ("aten::_foreach_maximum_",), "adam_amsgrad"),
        ("FusedAdam", ("aten::add_",), "adam"),
    ],
)
def test_marks_and_ops_tell_the_optimizer(tmp_path: Path, marked: str, kernels: tuple[str, ...], name: str) -> None:
    ops = [event(kernel, 92 + 3 * place, 2, **TENSOR) for place, kernel in enumerate(kernels)]
    update = mark(f"Optimizer.step#{marked}.step", 90, 20)
    optimizer = read(tmp_path, *FORWARD, *BACKWARD, update, *ops).workload.optimizer
    assert optimizer is not None
    assert optimizer.name == name


@pytest.mark.parametrize(("ts", "kept"), [(-10, False), (50, True), (120, False)])
def test_gradients_outlive_the_forward_pass_where_they_are_dropped_behind_it(
    tmp_path: Path, ts: float, kept: bool
) -> None:
    dropped = mark("Optimizer.zero_grad#SGD.zero_grad", ts + 1000, 2)
    moved = [{**each, "ts": each["ts"] + 1000} for each in (*FORWARD, *BACKWARD, *UPDATE)]
    assert read(tmp_path, *moved, dropped).workload.gradients_in_forward is kept


def test_ops_that_prepare_memory_do_no_work_of_the_op_around_them(tmp_path: Path) -> None:
    inside = event("aten::contiguous", 1, 8, **TENSOR)
    profile = read(tmp_path, event("aten::native_layer_norm", 0, 10, **TENSOR), inside)
    assert profile.ops.set_index("op")["shapes"]["aten::native_layer_norm"] == "4x8"


def test_gradients_of_any_size_are_counted(tmp_path: Path) -> None:
    """10^12 × 10^12 numbers, more than a machine's whole numbers hold."""
    assert read(tmp_path, *FORWARD, *BACKWARD[:2], ends(72, 10**12, 10**12)).workload.parameters == pytest.approx(1e24)
