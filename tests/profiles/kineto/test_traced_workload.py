"""The optimizer, and how long gradients live, as marks and ops tell."""

from pathlib import Path

import pytest

from tests.profiles.kineto.events import BACKWARD, FORWARD, TENSOR, UPDATE, event, mark, read


@pytest.mark.parametrize(
    ("marked", "kernels", "name"),
    [
        ("SGD", ("aten::add_",), "sgd"),
        ("SGD", ("aten::_foreach_mul_", "aten::_foreach_add_"), "sgd_momentum"),
        ("AdamW", ("aten::_foreach_mul_",), "adamw"),
        ("Adam", ("aten::_foreach_maximum_",), "adam_amsgrad"),
        ("RMSprop", ("aten::mul_",), "rmsprop"),
        ("RMSprop", ("aten::lerp_",), "centered_rmsprop"),
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
