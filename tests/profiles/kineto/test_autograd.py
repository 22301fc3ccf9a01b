"""Which calls of the forward pass keep tensors, as the numbers of a trace tell."""

from pathlib import Path

from tests.profiles.kineto.events import BACKWARD, FORWARD, TENSOR, event, op, places, read


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
