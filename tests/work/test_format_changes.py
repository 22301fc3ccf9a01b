"""The casts between ops in fp32 and ops in a narrow format, by hand."""

import pytest

from estimator.core.types import Workload
from estimator.work import convert_precision, count_work
from tests.conftest import make_ops

Row = dict[str, object]
TORCH = Workload(name="toy", framework="PyTorch", precision="fp32", batch_size=8)
ONE = 8 * 4 * (4 + 2)  # bytes of one cast of 8x4


def row(op: str, op_type: str, inputs: str, phase: str = "forward", shape: str = "8x4") -> Row:
    shapes = ";".join([shape] * len(inputs.split(";")))
    return {"op": op, "op_type": op_type, "inputs": inputs, "phase": phase, "shapes": shapes, "output_shapes": shape}


def product(op: str, inputs: str, phase: str = "forward") -> Row:
    return {**row(op, "aten::mm", inputs, phase), "shapes": "8x4;4x4"}


def around(*rows: Row, workload: Workload = TORCH) -> tuple[dict[str, float], dict[str, str]]:
    """The bytes of the casts around each op, and the format of each op."""
    work = convert_precision(count_work(make_ops(*rows), workload).work, workload, "bf16").work.set_index("op")
    casts = work[work.index.str.startswith("casts around ")]
    names = casts.index.str.removeprefix("casts around ")
    return dict(zip(names, casts["bytes"], strict=True)), work["precision"].iloc[: len(rows)].to_dict()


def test_ops_in_fp32_pass_tensors_to_each_other_without_casts() -> None:
    chain = [product("in", "x;w"), *(row(b, "aten::exp", a) for a, b in (("in", "a"), ("a", "b"), ("b", "c")))]
    casts, _ = around(*chain, product("out", "c;w"))
    assert casts == {"a": ONE, "c": ONE}  # where it begins and where it ends


def test_what_the_forward_pass_has_cast_is_kept_for_the_backward_pass() -> None:
    casts, _ = around(
        product("in", "x;w"),
        row("softmax", "aten::_softmax", "in"),
        product("out", "softmax;w"),
        product("out grad", "loss;w", "backward"),
        row("softmax grad", "aten::_softmax_backward_data", "out grad;softmax", "backward"),
        product("weights grad", "softmax;loss", "backward"),
        product("in grad", "softmax grad;w", "backward"),
        product("in weights grad", "softmax grad;x", "backward"),
    )
    assert casts == {"softmax": 2 * ONE, "softmax grad": 2 * ONE}  # its gradients in and out, and nothing that is saved


def test_autocast_casts_activations_for_each_product_that_reads_them() -> None:
    casts, _ = around(row("norm", "aten::exp", "x"), *(product(name, "norm;w") for name in "qkv"))
    assert casts == {"norm": 3 * ONE}
    keras = TORCH.model_copy(update={"framework": "Keras on TensorFlow"})
    casts, _ = around(row("norm", "aten::exp", "x"), *(product(name, "norm;w") for name in "qkv"), workload=keras)
    assert casts == {"norm": ONE}


def test_a_sum_of_both_formats_is_in_fp32_and_casts_nothing() -> None:
    """The residual stream of a transformer, which begins with its embeddings."""
    casts, formats = around(
        {**row("tokens", "aten::embedding", "table"), "shapes": "100x4;8"},
        row("norm", "aten::native_layer_norm", "tokens"),
        product("up", "norm;w"),
        row("relu", "aten::relu", "up"),
        row("residual", "aten::add", "tokens;relu"),
        row("next norm", "aten::native_layer_norm", "residual"),
        row("gradient sum", "aten::add", "residual;up grad", "backward"),
    )
    assert casts == {"norm": ONE}
    assert [formats[op] for op in ("relu", "residual", "gradient sum")] == ["bf16", "fp32", "fp32"]


def test_a_gradient_of_another_format_than_its_sum_is_cast() -> None:
    """Autograd casts it back where the forward pass cast its tensor."""
    norm = row("norm grad", "aten::native_layer_norm_backward", "g", "backward")
    casts, _ = around(
        norm, product("up grad", "h;w", "backward"), row("sum", "aten::add", "norm grad;up grad", "backward")
    )
    assert casts == {"sum": ONE}


def test_keras_casts_at_the_entrance_of_each_layer() -> None:
    keras = TORCH.model_copy(update={"framework": "Keras on TensorFlow"})
    table: Row = {**row("tokens", "GatherV2", "table"), "shapes": "100x4;8;1"}
    casts, formats = around(table, row("sum", "AddV2", "tokens;tokens"), workload=keras)
    assert (casts, formats["sum"]) == ({"tokens": ONE}, "bf16")


def test_calls_count() -> None:
    rows = [product("in", "x;w"), {**row("exp", "aten::exp", "in"), "calls": 3}]
    assert around(*rows)[0] == {"exp": 3 * ONE}


@pytest.mark.parametrize(("before", "behind", "halves"), [("mm", "mm", 2), ("mm", "exp", 1), ("exp", "exp", 0)])
def test_an_op_of_unknown_sizes_is_cast_by_the_ops_beside_it(before: str, behind: str, halves: int) -> None:
    unknown: Row = {"op": "it", "op_type": "aten::exp", "flop": 1.0, "bytes": 2048.0, "phase": "forward"}
    first, last = ({"op": kind, "op_type": f"aten::{kind}", "phase": "forward"} for kind in (before, behind))
    casts, _ = around({**first}, unknown, {**last, "op": "last"})
    assert casts.get("it", 0.0) == 2048 / 4 * 6 * halves / 2


def test_without_names_tensors_of_equal_sizes_are_the_same() -> None:
    rows = [product("in", ""), row("a", "aten::exp", ""), row("b", "aten::exp", ""), product("out", "")]
    casts, _ = around(*({name: value for name, value in each.items() if name != "inputs"} for each in rows))
    assert casts == {"a": ONE, "b": ONE}


def test_a_step_without_changes_of_format_has_no_casts() -> None:
    assert around(product("in", "x;w"), row("relu", "aten::relu", "in"))[0] == {}
