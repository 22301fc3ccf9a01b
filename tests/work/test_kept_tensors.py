"""What the forward pass keeps, by rules."""

import pandas as pd
import pytest

from estimator.core.operators import operators
from estimator.core.types import Workload
from estimator.profiles import read_profile
from estimator.work import count_work
from estimator.work.kept_tensors import has_forward_shapes, kept_by_operator, kept_tensors, layer_tensors
from estimator.work.tensor_flow import flowing_tensors

WORKLOAD = Workload(name="own", batch_size=8)
SIZE = 8 * 16  # of one tensor
PRODUCT = ("aten::mm", "8x16;16x16")


def kept(*ops: tuple[str, str], **changes: object) -> float:
    table = pd.DataFrame(ops, columns=["op_type", "shapes"]).assign(
        **{"op": "op", "time_s": 1e-3, "phase": "forward", **changes}
    )
    return float(kept_tensors(count_work(table, WORKLOAD).work, WORKLOAD).activations[0])


@pytest.mark.parametrize(
    ("ops", "tensors"),
    [
        ([PRODUCT], 1),  # its input, the data
        ([PRODUCT, ("aten::relu", "8x16")], 2),  # the data; relu's result
        ([PRODUCT, ("aten::relu", "8x16"), PRODUCT], 2),  # relu's result is the next product's input
        ([PRODUCT, ("aten::silu", "8x16"), PRODUCT], 3),  # its operand, and the next product's input
        ([PRODUCT, ("aten::native_batch_norm", "8x16;16;16"), ("aten::relu", "8x16")], 3),
        ([PRODUCT, ("aten::native_dropout", "8x16"), PRODUCT], 2 + 1 / 4),  # a mask of one byte an element
        ([PRODUCT, ("aten::add", "8x16;8x16")], 1),
    ],
)
def test_what_is_kept(ops: list[tuple[str, str]], tensors: float) -> None:
    assert kept(*ops) == tensors * SIZE * 4


@pytest.mark.parametrize(
    ("key_width", "key", "mask"),
    [
        (8, "8x2x16x4", ""),
        (8, "8x2x16x4", ";1x2x64x64"),  # larger than a query
        (4, "8x1x16x4", ""),  # heads that share keys and values
    ],
)
def test_attention_keeps_queries_keys_values_and_its_result(key_width: int, key: str, mask: str) -> None:
    products = [("aten::mm", f"128x16;16x{width}") for width in (8, key_width, key_width)]
    attention = ("aten::_scaled_dot_product_flash_attention", f"8x2x16x4;{key};{key}{mask}")
    assert kept(*products, attention) == 4 * 128 * (16 + 8 + 2 * key_width + 8)


@pytest.mark.parametrize(("single", "tensors"), [("number", 1), ("weight", 2), (None, 1)])
@pytest.mark.parametrize("op_type", ["aten::mul", "aten::div"])
def test_a_factor_that_is_a_number_keeps_nothing(op_type: str, single: str | None, tensors: int) -> None:
    """A weight of one element keeps the other factor; without the attribute it is taken for a number."""
    attributes = [None, None if single is None else f"single={single}"]
    assert kept(PRODUCT, (op_type, "8x16;1"), attributes=attributes) == tensors * SIZE * 4


def test_a_product_with_a_mask_that_was_drawn_keeps_the_mask_alone() -> None:
    """As dropout of a processor: the mask has no gradient."""
    drawn = [("aten::bernoulli_", "8x16"), ("aten::div_", "8x16;1"), ("aten::mul", "8x16;8x16")]
    attributes = [None, None, None, "single=number", None]
    assert kept(PRODUCT, ("aten::tanh", "8x16"), *drawn, attributes=attributes) == (1 + 1 + 1) * SIZE * 4
    assert kept(PRODUCT, *drawn, attributes=attributes[1:]) == (1 + 1) * SIZE * 4
    square = ("aten::mul", "8x16;8x16")  # of a tensor with a gradient
    assert kept(PRODUCT, ("aten::relu", "8x16"), PRODUCT, square) == (1 + 1 + 2) * SIZE * 4


@pytest.mark.parametrize(
    ("between", "tensors"),
    [
        ([], 1),
        ([("aten::copy_", "8x2x8;8x2x8")], 1),  # of queries, into heads
        ([("aten::mul", "8x16;1"), ("aten::copy_", "8x2x8;8x2x8")], 1),
        ([("aten::relu", "8x16")], 2),
    ],
)
def test_products_of_one_operand_keep_it_once(between: list[tuple[str, str]], tensors: int) -> None:
    ops = [PRODUCT, ("aten::relu", "8x16"), PRODUCT, *between, PRODUCT]
    attributes = ["single=number" if shapes.endswith(";1") else None for _, shapes in ops]
    assert kept(*ops, attributes=attributes) == (1 + tensors) * SIZE * 4


def test_picked_elements_keep_what_they_are_picked_of() -> None:
    assert kept(PRODUCT, ("aten::gather", "8x16;8x2")) == (1 + 1) * SIZE * 4 + 8 * 2 * 8  # and the indices


def test_blocks_that_run_again_hold_their_tensors_one_at_a_time() -> None:
    phases, places = ["forward", "forward", "backward"], ["0@1;2@1;4@2;6@2", "1@1;3@1;5@2;7@2", None]
    table = pd.DataFrame([PRODUCT, ("aten::relu", "8x16"), PRODUCT], columns=["op_type", "shapes"])
    table = table.assign(op="op", time_s=1e-3, phase=phases, places=places)
    actual = kept_tensors(count_work(table, WORKLOAD).work, WORKLOAD)
    inside, outside = 2 * 4 * SIZE, 2 * 4 * SIZE  # results of relu; the data, and what the first block hands on
    assert actual.activations[0] == inside + outside
    assert actual.run_again == 2


@pytest.mark.parametrize(("shapes", "tensors"), [(None, 4), ("8x16", 1)])
def test_generated_code_without_shapes_keeps_what_it_reads_of_products(shapes: str | None, tensors: int) -> None:
    """The data, both results, and what the code writes for the second product; else two products read one tensor."""
    assert kept(("CompiledFunction", shapes), PRODUCT, PRODUCT) / (4 * SIZE) == tensors  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("attributes", "calls", "tensors"),
    [
        (["turn=once", "turn=once"], [4, 4], 2),
        (["turn=once", "turn=often"], [4, 12], 1 + 3),  # three layers in each turn
        ([None, "turn=once"], [1, 4], 1 + 1),
        ([None, None], [4, 4], 8),
        (["turn=often", "turn=often"], [4, 4], 8),  # how many turns there are is not known
    ],
)
def test_a_turn_of_a_loop_around_both_passes_frees_what_it_keeps(
    attributes: list[str | None], calls: list[float], tensors: float
) -> None:
    silu = ("aten::silu", "8x16")
    assert kept(silu, silu, attributes=attributes, calls=calls) == tensors * SIZE * 4


def test_products_whose_weights_are_not_trained_keep_nothing() -> None:
    table = pd.DataFrame([("aten::addmm", "8x16;16x16"), ("aten::relu", "8x16")], columns=["op_type", "shapes"])
    table = table.assign(op="op", time_s=1e-3, phase="forward", places=["0;2f", "1"])
    actual = kept_tensors(count_work(table, WORKLOAD.model_copy(update={"mode": "training"})).work, WORKLOAD)
    assert actual.activations.max() == 2 * 4 * SIZE  # the first one's input, and relu's result


def test_the_casts_of_numbers_do_not_make_others_tensors() -> None:
    ops = [PRODUCT, ("aten::mul", "8x16;1"), ("aten::_to_copy", "1"), ("aten::mul", "8x16;1"), ("aten::_to_copy", "1")]
    assert kept(*ops, attributes=[None, "single=number", None, "single=number", None]) == SIZE * 4


@pytest.mark.parametrize(
    ("op_type", "shapes", "layers"),
    [
        ("aten::mkldnn_rnn_layer", "5x8x16;{0}x16;{0}x32;{0};{0};8x32;8x32", 1),
        ("aten::mkldnn_rnn_layer", "5x{0}x16;{0}x16;{0}x32;{0};{0};{0}x32;{0}x32", 1),  # a batch of the matrices' rows
        ("aten::_cudnn_rnn", "5x8x16;{0}x16;{0}x32;{0};{0};5000;1x8x32;1x8x32", 1),
        ("aten::gru", "5x8x16;2x8x32;{0}x16;{0}x32;{0};{0};{0}x32;{0}x32;{0};{0}", 2),
        ("aten::gru", "5x8x16;2x8x32;{0}x16;{0}x32;{0}x32;{0}x32", 2),  # without biases
    ],
)
@pytest.mark.parametrize("gates", [1, 3, 4])
def test_recurrent_layers_keep_input_result_gates_and_cells(op_type: str, shapes: str, layers: int, gates: int) -> None:
    text = shapes.format(32 * gates)
    steps = 5 * int(text.split("x")[1])
    assert kept((op_type, text), operator="recurrent") == 4 * steps * (16 + 32 + layers * (gates + 1) * 32)


def test_narrow_formats_and_the_other_passes() -> None:
    assert kept(PRODUCT, precision="bf16") == SIZE * 2
    assert kept(PRODUCT, phase="backward") == 0
    assert not has_forward_shapes(count_work(pd.DataFrame({"op": ["a"], "time_s": [1.0]}), WORKLOAD).work)


def test_inference_holds_its_largest_op() -> None:
    work = count_work(
        pd.DataFrame({"op": ["a", "b"], "op_type": ["aten::mm", "aten::mm"], "time_s": 1e-3, "phase": "forward",
                      "shapes": ["8x16;16x64", "8x64;64x2"]}), WORKLOAD,
    ).work  # fmt: skip
    inference = WORKLOAD.model_copy(update={"mode": "inference"})
    assert kept_tensors(work, inference).activations[0] == 4 * 8 * (16 + 64)


def test_layers_stand_in_for_shapes() -> None:
    workload = Workload(name="own", batch_size=10, layer_outputs=(100, 50), precision="bf16")
    assert layer_tensors(workload).activations.tolist() == [10 * 150 * 2]
    assert layer_tensors(workload).evidence == "layers"


def test_every_rule_is_of_an_operator_with_words_that_are_known() -> None:
    assert kept_by_operator().keys() <= operators().keys()
    words = {
        "operand",
        "operands",
        "result",
        "mask",
        "operand and result",
        "operands and result",
        "operand and indices",
    }
    assert set(kept_by_operator().values()) <= words


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cnn", "resnet50", "densenet121", "nt3", "vgg16"])
def test_rules_agree_with_the_flow_of_convolutional_networks(name: str) -> None:
    profile = read_profile(name)
    work = count_work(profile.ops, profile.workload).work
    flow = flowing_tensors(work, profile.workload).activations.max()
    assert kept_tensors(work, profile.workload).activations[0] == pytest.approx(flow, rel=0.05)
