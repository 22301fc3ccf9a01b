"""Recurrent layers and attention that a processor ran op by op, as a library runs them."""

import pandas as pd
import pytest

from estimator.core.types import Workload
from estimator.work import count_work
from estimator.work.joined_layers import join_in_place, join_layers, stack_of
from estimator.work.kept_tensors import kept_tensors
from estimator.work.rebatch import rebatch
from estimator.work.step_tensors import step_tensors
from tests.conftest import make_ops

TOY = Workload(name="toy", batch_size=2, precision="fp32")
GRU = "3x2x4;2x2x8;24x4;24x8;24;24;24x8;24x8;24;24"  # two layers of width 8, over 3 steps of 2 sequences
LAYER = "dispatch=1;layer=7;trained=1"
PART = {"attributes": "part_of_layer=7", "shapes": "2x8;2x8"}
OPS: tuple[dict[str, object], ...] = (
    {
        "op_type": "aten::gru",
        "shapes": GRU,
        "attributes": "dispatch=1;layer=7;trained=1",
        "phase": "forward",
        "calls": 2.0,
    },
    {"op_type": "aten::add", **PART, "phase": "forward", "calls": 6.0},
    {"op_type": "aten::something", **PART, "phase": "backward", "calls": 3.0},
    {"op_type": "aten::add", "shapes": "2x8;2x8", "phase": "forward", "calls": 1.0},
)


def joined(*ops: dict[str, object], growth: float | None = None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows as they were, and the rows that the library adds; ``growth``: of the parts, at another batch."""
    work = count_work(make_ops(*ops), TOY).work
    grown = work.assign(growth=work["growth"].mask(work["attributes"].str.contains("part_of").fillna(False), growth))
    out = join_layers(grown, by_library=True).work
    return out.iloc[: len(work)], out.iloc[len(work) :]


def test_parts_have_no_work_and_others_stay() -> None:
    before, _ = joined(*OPS)
    assert before["calls"].tolist() == [2, 0, 0, 1]
    assert before["growth"].fillna(1.0).tolist() == [1, 0, 0, 1]  # of no known kind: their time goes by it
    assert before["bytes"].tolist()[1:] == [0, 0, 3 * 4 * 16]
    assert before["time_s"].tolist() == [1e-3] * 4


def test_each_layer_of_a_stack_is_an_op_of_either_pass() -> None:
    _, added = joined(*OPS)
    columns = ["op", "operator", "pass", "phase", "cell", "hidden", "input_width", "sequences", "timesteps", "calls"]
    assert added[columns].to_numpy().tolist() == [
        ["op0 1 forward", "recurrent", "forward", "forward", "gru", 8, 4, 2, 3, 2],
        ["op0 2 forward", "recurrent", "forward", "forward", "gru", 8, 8, 2, 3, 2],
        ["op0 1 backward", "recurrent_grad", "backward", "backward", "gru", 8, 4, 2, 3, 2],
        ["op0 2 backward", "recurrent_grad", "backward", "backward", "gru", 8, 8, 2, 3, 2],
    ]
    assert added["flop"].tolist() == [
        2 * 2 * 24 * 12 * 6,
        2 * 2 * 24 * 16 * 6,
        4 * 2 * 24 * 12 * 6,
        4 * 2 * 24 * 16 * 6,
    ]
    assert (added["op_class"] == "recurrent").all()
    assert (added["time_s"] == 0).all()


def test_inference_has_no_backward_pass() -> None:
    _, added = joined(OPS[0], OPS[1])
    assert added["pass"].tolist() == ["forward", "forward"]


def test_a_layer_computed_again_in_the_backward_pass_has_one_gradient() -> None:
    first = {**OPS[0], "attributes": "dispatch=1;layer=7"}
    again = {**OPS[0], "phase": "backward", "op": "again"}
    _, added = joined(first, *OPS[1:3], again)
    assert added["pass"].tolist() == [*["forward"] * 4, "backward", "backward"]
    assert added["phase"].tolist() == ["forward", "forward", *["backward"] * 4]


def test_layers_of_other_kinds_have_their_own_gradients_and_formats() -> None:
    """Autocast narrows the products inside of a layer."""
    other = {**OPS[0], "attributes": "dispatch=1;layer=8", "op": "other"}
    product: dict[str, object] = {"op_type": "aten::addmm", "shapes": "24;6x4;4x24", "precision": "bf16"}
    _, added = joined(*OPS, other, {**product, "attributes": "part_of_layer=8"})
    assert added["pass"].tolist() == ["forward"] * 2 + ["backward"] * 2 + ["forward"] * 2
    assert added["precision"].tolist() == ["fp32"] * 4 + ["bf16"] * 2


def test_packed_sequences_have_the_mean_of_their_steps() -> None:
    (packed,) = stack_of("20x4;6;1x5x8;24x4;24x8;24;24")  # 20 samples in 6 steps, of 5 sequences at most
    assert (packed["sequences"], packed["timesteps"], packed["input_width"]) == (3, 6, 4)


def test_layers_of_unknown_sizes_stay_with_a_note() -> None:
    projected = {
        **OPS[0],
        "shapes": "3x2x4;1x2x6;1x2x8;32x4;32x6;6x8",
        "attributes": "dispatch=1;layer=9",
        "calls": 3.0,
    }
    part = {**OPS[1], "attributes": "part_of_layer=9"}
    actual = join_layers(count_work(make_ops(projected, part), TOY).work, by_library=True)
    assert [(note.code, note.text[:25]) for note in actual.notes] == [("layers-apart", "3 layer(s) stay op by op,")]
    assert not actual.changed
    both = join_layers(count_work(make_ops(projected, part, *OPS), TOY).work, by_library=True)
    assert [note.code for note in both.notes] == ["layers-joined", "layers-apart"]
    assert both.notes[0].text.startswith("9 ops of recurrent layers, attention or dropout become 8 of")
    assert both.work["calls"].tolist()[:2] == [3, 6]


ATTENTION: tuple[dict[str, object], ...] = (
    {
        "op_type": "aten::_scaled_dot_product_attention_math",
        "shapes": "2x4x16x8;2x4x32x8;2x4x32x8",
        "attributes": LAYER,
        "phase": "forward",
        "precision": "bf16",
        "calls": 3.0,
    },
    {"op_type": "aten::bmm", **PART, "phase": "forward", "precision": "fp32", "calls": 6.0},
    {"op_type": "aten::bmm", **PART, "phase": "backward", "precision": "fp32", "calls": 12.0},
)


def test_attention_is_an_op_of_either_pass() -> None:
    before, added = joined(*ATTENTION, growth=2.0)
    scores, elements = 2 * 4 * 16 * 32, 2 * (2 * 4 * 16 * 8 + 2 * 4 * 32 * 8)
    flop, moved = 2 * 3 * 2 * 2 * scores * 8, 2 * 3 * 2 * elements  # twice the batch, 3 calls, 2 bytes
    columns = ["op", "operator", "op_class", "phase", "precision", "calls", "flop", "bytes"]
    assert before["calls"].tolist() == [3, 0, 0]
    assert added[columns].to_numpy().tolist() == [
        ["op0 forward", "attention", "attention", "forward", "bf16", 3, flop, moved],
        ["op0 backward", "attention_grad", "attention", "backward", "bf16", 3, 2.5 * flop, 2 * moved],
    ]


def test_a_causal_mask_halves_the_work_of_attention() -> None:
    masked = {**ATTENTION[0], "attributes": f"{LAYER};causal=1"}
    (_, whole), (_, half) = (joined(first, *ATTENTION[1:]) for first in (ATTENTION[0], masked))
    assert half["flop"].tolist() == (whole["flop"] / 2).tolist()
    assert half["bytes"].tolist() == whole["bytes"].tolist()


def test_attention_without_gradients_runs_forward_alone() -> None:
    _, added = joined({**ATTENTION[0], "attributes": "dispatch=1;layer=7"}, ATTENTION[1])
    assert added["operator"].tolist() == ["attention"]


def test_attention_of_unknown_operands_stays_op_by_op() -> None:
    work = count_work(make_ops({**ATTENTION[0], "shapes": None}, *ATTENTION[1:]), TOY).work
    actual = join_layers(work, by_library=True)
    assert not actual.changed
    assert [note.code for note in actual.notes] == ["layers-apart"]


DROPOUTS: tuple[dict[str, object], ...] = (
    {"op_type": "aten::dropout", "shapes": "2x16", "attributes": LAYER, "phase": "forward", "calls": 3.0},
    {**PART, "op_type": "aten::bernoulli_", "shapes": "2x16", "phase": "forward", "calls": 3.0},
    {**PART, "op_type": "aten::mul", "shapes": "2x16;2x16", "phase": "forward", "calls": 3.0},
    {**PART, "op_type": "aten::mul", "shapes": "2x16;2x16", "phase": "backward", "calls": 3.0},
)


def test_dropout_is_an_op_of_either_pass() -> None:
    before, added = joined(*DROPOUTS, growth=2.0)
    columns = ["op", "operator", "op_class", "phase", "calls", "flop", "bytes"]
    numbers = 2 * 3 * 2 * 16  # twice the batch
    assert before["calls"].tolist() == [3, 0, 0, 0]
    assert added[columns].to_numpy().tolist() == [
        ["op0 forward", "dropout", "elementwise", "forward", 3, numbers, 2 * 4 * numbers],
        ["op0 backward", "dropout_grad", "elementwise", "backward", 3, numbers, 3 * 4 * numbers],
    ]


def test_a_layer_grows_as_its_parts_do() -> None:
    _, added = joined(*DROPOUTS)
    _, grown = joined(*DROPOUTS, growth=4.0)
    assert (grown["bytes"] == 4 * added["bytes"]).all()


def test_many_layers_of_both_kinds_are_joined_at_once() -> None:
    other = {**ATTENTION[0], "attributes": "dispatch=1;layer=8", "op": "other"}
    _, added = joined(*DROPOUTS, other, *({**OPS[0], "attributes": "dispatch=1;layer=9"}, OPS[1]))
    assert added["operator"].tolist() == ["dropout", "attention", "dropout_grad", "recurrent", "recurrent"]


def test_for_its_tensors_dropout_keeps_a_mask_of_bytes() -> None:
    held = join_in_place(count_work(make_ops(*DROPOUTS[:3]), TOY).work, by_library=True).work
    assert held["operator"].tolist() == ["dropout"]
    assert kept_tensors(held, TOY).activations.tolist() == [3 * 2 * 16]


def test_for_its_tensors_attention_is_one_op_in_the_place_of_its_parts() -> None:
    work = count_work(make_ops(OPS[3], *ATTENTION), TOY).work
    fused = join_in_place(work, by_library=True)
    columns = ["op_type", "operator", "op_class", "precision", "calls", "attributes"]
    assert fused.changed
    assert fused.work[columns].iloc[1:].to_numpy().tolist() == [
        [ATTENTION[0]["op_type"], "attention", "attention", "bf16", 3, ";layer=7;trained=1"]
    ]
    assert fused.work.iloc[:1].equals(work.iloc[:1])
    assert not join_in_place(work, by_library=False).changed


def test_for_its_tensors_a_stack_of_recurrent_layers_is_one_op() -> None:
    actual = join_in_place(count_work(make_ops(*OPS), TOY).work, by_library=True).work
    assert actual[["op_type", "operator"]].to_numpy().tolist() == [["aten::gru", "recurrent"], ["aten::add", "add"]]
    assert not join_in_place(count_work(make_ops(OPS[3]), TOY).work, by_library=True).changed


LSTM = "3x2x5;1x2x4;1x2x4;16x5;16x4;16;16"
FLOW: tuple[dict[str, object], ...] = (  # of which each op names what it reads
    {"op": "x", "op_type": "Relu", "phase": "forward", "inputs": "batch", "shapes": "2x3x5", "output_shapes": "2x3x5"},
    {
        "op": "loop",
        "op_type": "While",
        "phase": "forward",
        "inputs": "x",
        "shapes": LSTM,
        "output_shapes": "unknown",
        "attributes": "dispatch=1;layer=0;trained=1",
    },
    {
        "op": "loop/MatMul",
        "op_type": "MatMul",
        "phase": "forward",
        "inputs": "loop/step;w",
        "calls": 3.0,
        "shapes": "2x5;5x16",
        "output_shapes": "2x16",
        "attributes": "part_of_layer=0",
    },
    {"op": "y", "op_type": "Relu", "phase": "forward", "inputs": "loop", "shapes": "3x2x4", "output_shapes": "3x2x4"},
    {
        "op": "gradients/MatMul",
        "op_type": "MatMul",
        "phase": "backward",
        "calls": 3.0,
        "shapes": "5x2;2x16",
        "output_shapes": "5x16",
        "attributes": "part_of_layer=0",
    },
)


def test_where_ops_name_what_they_read_a_layer_keeps_its_input_its_result_and_its_reserve() -> None:
    work = count_work(make_ops(*FLOW), TOY).work
    held = join_in_place(work, by_library=True).work
    assert held["op"].tolist() == work["op"].tolist()  # the products still tell the parameters
    assert held["calls"].fillna(1.0).tolist() == [1, 1, 0, 1, 0]
    assert held.loc[1, ["operator", "output_shapes"]].tolist() == ["recurrent", "3x2x4;3x2x20"]
    assert held["inputs"].fillna("").tolist() == ["batch", "x", "loop/step;w", "loop", ";x;loop"]
    at_end = [float(step_tensors(each, TOY).activations[-1]) for each in (work, held)]
    assert at_end[1] - at_end[0] == 4 * (2 * 3 * 5 + 3 * 2 * 4 + 3 * 2 * 20)


def test_where_ops_name_what_they_read_nothing_changes_without_a_library() -> None:
    work = count_work(make_ops(*FLOW), TOY).work
    assert join_in_place(work, by_library=False).work is work


def test_what_a_layer_keeps_goes_with_the_batch() -> None:
    held = join_in_place(count_work(make_ops(*FLOW), TOY).work, by_library=True).work
    grown = rebatch(held, TOY, 6).work
    assert grown.at[1, "output_shapes"] == "3x6x4;3x6x20"


def test_tensors_of_attention_go_with_the_batch() -> None:
    """As those of an op that the processor's own library fused."""
    names = ("aten::_scaled_dot_product_attention_math", "aten::_scaled_dot_product_flash_attention_for_cpu")
    own = [{**ATTENTION[0], "op_type": name, "attributes": ""} for name in names]
    math = join_in_place(count_work(make_ops(*ATTENTION), TOY).work, by_library=True).work
    works = [rebatch(math, TOY, 6).work, *(rebatch(count_work(make_ops(each), TOY).work, TOY, 6).work for each in own)]
    assert {work["shapes"].tolist()[0] for work in works} == {"6x4x16x8;6x4x32x8;6x4x32x8"}
    batch = TOY.model_copy(update={"batch_size": 6})
    assert len({float(kept_tensors(work, batch).activations[0]) for work in works}) == 1


def test_another_batch_has_more_sequences() -> None:
    _, added = joined(*OPS, growth=8.0)
    assert set(added["sequences"]) == {16}


@pytest.mark.parametrize(
    "text",
    [
        "", "3x2x4;2x2x8", "6x4;2x2x8;24x4;24x8;24x8;24x8", "3x2x4;1x2x8;24x4;24x8;24x8;24x8",
        "3x2x4;1x2x8;24x4;24x7", "3x2x4;1x2x8;23x4;23x8", "3x2x4;1x2x8;40x4;40x8", "3x3x4;1x2x8;24x4;24x8",
        "3x2x4;1x2x8;24x4;16x8", "unknown;1x2x8;24x4;24x8",
    ],
)  # fmt: skip
def test_layers_whose_operands_tell_too_little_stay(text: str) -> None:
    assert stack_of(text) == []
    work = count_work(make_ops({**OPS[0], "shapes": text or None}, *OPS[1:]), TOY).work
    assert not join_layers(work, by_library=True).changed


def test_directions_are_layers_of_their_own() -> None:
    both = stack_of("3x2x4;2x2x8;2x2x8;32x4;32x8;32;32;32x4;32x8;32;32")
    assert [(each["cell"], each["input_width"]) for each in both] == [("lstm", 4), ("lstm", 4)]


def test_without_a_library_nothing_changes() -> None:
    work = count_work(make_ops(*OPS), TOY).work
    assert not join_layers(work, by_library=False).changed
    assert not join_layers(count_work(make_ops(OPS[3]), TOY).work, by_library=True).changed
