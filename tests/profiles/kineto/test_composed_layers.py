"""Which ops of a trace of a processor are parts of a recurrent layer, of attention or of dropout."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.profiles.kineto.events import MM, Event, event, kernel, launch, op, read

LAYER: dict[str, Any] = {
    "Input Dims": [[3, 2, 4], [1, 2, 8], [[8, 4], [8, 8], [8], [8]], [], []],
    "Input type": ["float", "float", "TensorList", "Scalar", "Scalar"],
}
STATE: dict[str, Any] = {"Input Dims": [[2, 8]], "Input type": ["float"]}


def gradient(ts: float, name: str, sequence: int) -> tuple[Event, Event]:
    """What autograd runs for an op of the forward pass, with an op inside."""
    node = event(f"autograd::engine::evaluate_function: {name}", ts, 8, **{"Sequence number": sequence})
    return node, event("aten::neg", ts + 2, 4, **STATE)


BEFORE = op("aten::mm", 0, 4, **MM)
INSIDE = (op("aten::rnn_tanh", 10, 5, 30, **LAYER), op("aten::addmm", 12, 5, **MM), op("aten::tanh", 20, 6, **STATE))
BEHIND = op("aten::mm", 50, 7, **MM)
BACKWARD = (*gradient(60, "MmBackward0", 7), *gradient(70, "TanhBackward0", 6), *gradient(80, "AddmmBackward0", 5),
            *gradient(90, "MmBackward0", 4))  # fmt: skip


def attributes(path: Path, *events: Event) -> pd.Series:
    """The attributes of each row by the op's name and start."""
    ops = read(path, *events).ops
    return ops["attributes"].set_axis(ops["op"].str.removeprefix("autograd::engine::evaluate_function: ")).fillna("")


def test_the_ops_of_a_layer_and_of_its_gradients_are_its_parts(tmp_path: Path) -> None:
    actual = attributes(tmp_path, BEFORE, *INSIDE, BEHIND, *BACKWARD)
    number = actual["aten::rnn_tanh"].split("layer=")[1].split(";")[0]
    assert actual["aten::rnn_tanh"] == f"dispatch=1;layer={number};trained=1"
    part = f"part_of_layer={number}"
    is_part = actual.str.contains(part, regex=False)
    assert is_part[["aten::addmm", "aten::tanh", "TanhBackward0", "AddmmBackward0"]].all()
    assert not is_part[["aten::mm", "MmBackward0"]].any()
    assert is_part["aten::neg"].tolist() == [False, True]  # inside the gradients of other ops, and of the layer's


def test_the_layer_keeps_its_operands_and_their_format(tmp_path: Path) -> None:
    types = ["c10::BFloat16", "c10::BFloat16", "TensorList", "Scalar", "Scalar"]
    narrow = op("aten::rnn_tanh", 10, 5, 30, **{**LAYER, "Input type": types})
    ops = read(tmp_path, BEFORE, narrow, *INSIDE[1:], BEHIND).ops.set_index("op")
    assert ops["shapes"]["aten::rnn_tanh"] == "3x2x4;1x2x8;8x4;8x8;8;8"
    assert ops["precision"]["aten::rnn_tanh"] == "bf16"
    assert ops["calls"]["aten::rnn_tanh"] == 1


def test_layers_with_and_without_gradients_are_rows_of_their_own(tmp_path: Path) -> None:
    without = (op("aten::rnn_tanh", 40, 7, 8, **LAYER), op("aten::tanh", 41, 7, **STATE))
    actual = attributes(tmp_path, BEFORE, *INSIDE, *without, BEHIND, *BACKWARD)
    assert actual["aten::rnn_tanh"].str.endswith("trained=1").tolist() == [True, False]


def test_what_is_computed_again_behind_a_layer_is_no_part_of_it(tmp_path: Path) -> None:
    """A checkpoint runs the layer and a tanh again inside of a gradient, and then their gradients."""
    again = event("autograd::engine::evaluate_function: CheckpointBackward", 60, 60, **{"Sequence number": 4})
    layer = (op("aten::rnn_tanh", 62, 9, 20, **LAYER), op("aten::addmm", 63, 9, **MM), op("aten::neg", 70, 10, **STATE))
    behind = op("aten::sigmoid", 90, 11, **STATE)
    back = (*gradient(100, "SigmoidBackward0", 11), *gradient(109, "NegBackward0", 10))
    actual = attributes(tmp_path, BEFORE, again, *layer, behind, *back)
    is_part = actual.str.contains("part_of_layer=")
    assert is_part[["aten::addmm", "NegBackward0"]].all()
    assert not is_part[["aten::sigmoid", "SigmoidBackward0"]].any()


def test_what_runs_again_inside_of_a_layers_gradient_is_no_part_of_it(tmp_path: Path) -> None:
    """A checkpoint that is not reentrant runs its block again where the first gradient asks for a kept tensor."""
    back, inside = gradient(60, "MulBackward0", 5)
    again = (op("aten::addmm", 61, 11, 4, **MM), event("aten::copy_", 62, 1, **STATE))
    first = {**inside, "ts": 66, "dur": 1}
    actual = attributes(tmp_path, BEFORE, *dropout(10, 5), BEHIND, back, *again, first)
    is_part = actual.str.contains("part_of_layer=")
    assert not is_part[["aten::addmm", "aten::copy_"]].any()
    assert is_part[["MulBackward0", "aten::neg"]].all()


def test_a_layer_that_is_only_computed_again_has_no_gradients(tmp_path: Path) -> None:
    """Those of the first pass are its gradients, where the checkpoint keeps their numbers."""
    again = event("autograd::engine::evaluate_function: AddmmBackward0", 60, 60, **{"Sequence number": 6})
    layer = (
        op("aten::rnn_tanh", 62, 9, 20, **LAYER),
        op("aten::addmm", 63, 9, **MM),
        op("aten::tanh", 70, 10, **STATE),
    )
    back = (*gradient(130, "TanhBackward0", 6), *gradient(139, "AddmmBackward0", 5))
    actual = attributes(tmp_path, BEFORE, *INSIDE, BEHIND, again, *layer, *back)
    assert sorted(actual["aten::rnn_tanh"].str.endswith("trained=1")) == [False, True]


def test_a_layer_that_a_library_runs_has_no_parts(tmp_path: Path) -> None:
    library = op("aten::mkldnn_rnn_layer", 12, 5, **STATE)
    actual = attributes(tmp_path, BEFORE, op("aten::lstm", 10, 5, 30, **LAYER), library, BEHIND)
    assert not actual.str.contains("layer=").any()


def test_kernels_of_a_device_are_no_parts(tmp_path: Path) -> None:
    ran = kernel("cudnn::rnn", 40, 5, correlation=1)
    actual = attributes(tmp_path, BEFORE, *INSIDE, launch(13, 1), ran, BEHIND)
    assert not actual.str.contains("layer=").any()


def test_a_layer_without_numbers_of_autograd_has_forward_parts(tmp_path: Path) -> None:
    plain = [{**each, "args": {k: v for k, v in each["args"].items() if k != "Sequence number"}} for each in INSIDE]
    actual = attributes(tmp_path, BEFORE, *plain, BEHIND, *BACKWARD)
    assert actual[actual.str.contains("part_of_layer=")].index.tolist() == ["aten::addmm", "aten::tanh"]


def attention(causal: str) -> Event:
    heads = [2, 4, 16, 8]
    inputs = {
        "Input Dims": [heads, heads, heads, [], [], [], [], [], []],
        "Input type": ["float", "float", "float", "", "Scalar", "Scalar", "", "", "Scalar"],
        "Concrete Inputs": ["", "", "", "", "0.10000000000000001", causal, "", "", "False"],
    }
    return op("aten::_scaled_dot_product_attention_math", 10, 5, 30, **inputs)


def test_attention_without_a_kernel_of_its_own_is_a_layer(tmp_path: Path) -> None:
    ops = read(tmp_path, BEFORE, attention("True"), *INSIDE[1:], BEHIND, *BACKWARD).ops
    (layer,) = ops[ops["op"] == "aten::_scaled_dot_product_attention_math"].to_dict("records")
    mark, number, *others = layer["attributes"].replace("layer=", "").split(";")
    assert layer["shapes"] == "2x4x16x8;2x4x16x8;2x4x16x8"
    assert (mark, others) == ("dispatch=1", ["trained=1", "causal=1"])
    parts = ops[ops["attributes"].eq(f"part_of_layer={number}")]["phase"]
    assert parts.value_counts().to_dict() == {"backward": 3, "forward": 2}


@pytest.mark.parametrize(("backward", "place"), [(BACKWARD, "1"), (BACKWARD[-2:], None)])
def test_a_layer_with_gradients_has_a_place_among_what_keeps_tensors(
    tmp_path: Path, backward: tuple[Event, ...], place: str | None
) -> None:
    ops = read(tmp_path, BEFORE, attention("True"), *INSIDE[1:], BEHIND, *backward).ops
    (actual,) = ops[ops["op"].str.endswith("attention_math")]["places"].to_numpy(dtype=object, na_value=None)
    assert actual == place


def test_attention_that_sees_all_keys_has_no_mask(tmp_path: Path) -> None:
    assert "causal" not in "".join(attributes(tmp_path, BEFORE, attention("False"), *INSIDE[1:], BEHIND))


def dropout(ts: float, sequence: int, name: str = "aten::dropout", dur: float = 8) -> tuple[Event, ...]:
    """A dropout in training."""
    inside = ("aten::bernoulli_", "aten::div_", "aten::mul")
    return (
        op(name, ts, sequence, dur, **STATE),
        *(op(each, ts + 1 + 2 * place, sequence, 1, **STATE) for place, each in enumerate(inside)),
    )


def test_dropout_that_draws_is_a_layer(tmp_path: Path) -> None:
    idle = op("aten::dropout", 45, 7, 2, **STATE)  # in inference, or of nothing
    ops = read(tmp_path, BEFORE, *dropout(10, 5), idle, BEHIND, *gradient(60, "MulBackward0", 5)).ops
    actual = ops.set_index("op")["attributes"].fillna("")
    marks = actual["aten::dropout"].sort_values().tolist()
    number = marks[1].split("=")[-2].split(";")[0]
    assert marks[1] == f"dispatch=1;layer={number};trained=1"
    assert "layer" not in marks[0]
    parts = actual[actual == f"part_of_layer={number}"].index
    assert sorted(parts.str.split("::").str[-1]) == sorted(
        ["bernoulli_", "div_", "mul", "evaluate_function: MulBackward0", "neg"]
    )


def test_dropout_in_place_runs_op_by_op_everywhere(tmp_path: Path) -> None:
    actual = attributes(tmp_path, BEFORE, *dropout(10, 5, "aten::dropout_"), BEHIND)
    assert not actual.str.contains("layer=").any()


def test_dropout_inside_of_attention_is_a_part_of_it(tmp_path: Path) -> None:
    actual = attributes(tmp_path, BEFORE, attention("False"), *dropout(12, 5), BEHIND)
    number = actual["aten::_scaled_dot_product_attention_math"].split(";layer=")[1]
    assert (actual[["aten::dropout", "aten::bernoulli_", "aten::mul"]] == f"part_of_layer={number}").all()


def test_layers_have_the_gradients_of_their_own_numbers(tmp_path: Path) -> None:
    """Up to that of the next op of the forward pass."""
    forward = (*dropout(10, 5), *dropout(20, 6), *dropout(30, 8), op("aten::mm", 50, 9, **MM))
    nodes = [("MulBackward0", 8), ("Sixth", 6), ("Seventh", 7), ("MmBackward0", 9)]
    backward = [each for place, node in enumerate(nodes) for each in gradient(60 + 10 * place, *node)]
    ops = read(tmp_path, BEFORE, *forward, *backward).ops
    actual = ops.assign(name=ops["op"].str.split(": ").str[-1]).set_index("name")["attributes"].fillna("")
    is_part = actual[[name for name, _ in nodes]].str.contains("part_of_layer")
    assert is_part.tolist() == [True, True, True, False]
    calls = ops[ops["attributes"].str.endswith("trained=1", na=False)]["calls"]
    assert calls.tolist() == [2]
