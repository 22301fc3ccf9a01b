"""The casts of mixed precision as rows of WORK, by hand; tests/work/test_precision.py has them in whole steps."""

import pandas as pd
import pytest

from estimator.core.types import Workload
from estimator.work import count_work
from estimator.work.casts import Use, add_casts, moved_sizes, remove_casts
from estimator.work.format_changes import Formats
from tests.conftest import make_ops

Row = dict[str, object]
TOY = Workload(name="toy", precision="fp32", batch_size=8)
FORWARD: Row = {"op_type": "MatMul", "shapes": "8x16;16x4", "output_shapes": "8x4", "phase": "forward"}  # weights 16x4
BACKWARD: Row = {"op_type": "MatMul", "shapes": "16x8;8x4", "phase": "backward"}
SOFTMAX: Row = {"op_type": "Softmax", "shapes": "8x4", "output_shapes": "8x4", "phase": "forward"}
CAST: Row = {"op_type": "Cast", "shapes": "8x4", "output_shapes": "8x4"}


def work_of(*rows: Row) -> pd.DataFrame:
    return count_work(make_ops(*rows), TOY).work


def cast(
    work: pd.DataFrame,
    workload: Workload = TOY,
    kept: list[int] | None = None,
    layers: dict[int, str] | None = None,
    already: list[int] | None = None,
    to: tuple[str, str] = ("bf16", "bf16"),
    folded: bool = False,
) -> tuple[pd.DataFrame, str]:
    """The casts behind WORK, by their names, and what is told."""
    here = pd.Series(work.index, index=work.index)
    layer = here.map(layers or {}).astype("string[python]")
    each = pd.Series(to[1], index=work.index).mask(here.isin(kept or []), "fp32")
    formats = Formats(each, layer, widened=here < 0, stored=to[1], casts_each_use=False)
    actual, notes = add_casts(work, workload, None if folded else formats, here.isin(already or []), *to)
    assert {notes.code for notes in notes} <= {"casts"}
    pd.testing.assert_frame_equal(actual.iloc[: len(work)], work)
    return actual.iloc[len(work) :].set_index("op"), "\n".join(notes.text for notes in notes)


def test_weights_of_one_size_and_of_several_on_average() -> None:
    assert (Use(64.0, 3.0, "shapes").shown, Use(64.0, 3.0, "shapes").elements) == ("64", 192.0)
    assert Use(64.4, 2.0, "workload").shown == "about 64"


def test_casts_of_the_weights_of_a_step() -> None:
    casts, notes = cast(work_of({**FORWARD, "calls": 3}, BACKWARD))
    columns = ["phase", "calls", "flop", "bytes", "intensity", "work_source", "from_precision", "to_precision"]
    size = 3 * 64
    assert casts[columns].T.to_dict("list") == {
        "cast of weights of 64 elements, fp32 to bf16": ["forward", 3, size, 6 * size, 1 / 6, "shapes", "fp32", "bf16"],
        "cast of gradients of 64 elements, bf16 to fp32": [
            "backward", 3, size, 6 * size, 1 / 6, "shapes", "bf16", "fp32",
        ],
    }  # fmt: skip
    common = casts[["op_type", "operator", "op_class", "precision", "time_s"]].drop_duplicates()
    assert common.to_numpy().tolist() == [["cast", "cast", "elementwise", "fp32", 0.0]]
    assert notes.splitlines() == [
        "casts add 2.304 kB of traffic a step: "
        "cast of weights of 64 elements, fp32 to bf16, cast of gradients of 64 elements, bf16 to fp32",
        "casts of weights and gradients cover 192 elements over all their uses, "
        "counted from the dimensions of forward products and of biases' gradients",
    ]


def test_weights_of_recurrent_layers_are_cast() -> None:
    sizes = {"cell": "lstm", "hidden": 8, "input_width": 4, "sequences": 2, "timesteps": 5, "pass": "forward"}
    casts, _ = cast(work_of({"op_class": "recurrent", "phase": "forward", **sizes}, BACKWARD))
    assert casts.index[0] == "cast of weights of 384 elements, fp32 to bf16"


def test_fp16_scales_all_gradients_back_in_one_cast() -> None:
    work = work_of(FORWARD, {**FORWARD, "shapes": "8x4;4x2", "output_shapes": "8x2"}, BACKWARD)
    casts, _ = cast(work, to=("fp16", "fp16"))
    scale = casts.loc["cast of gradients' scale, fp32 to fp32"]
    assert scale[["phase", "calls", "flop", "bytes", "work_source"]].tolist() == [
        "optimizer", 1, 72, 72 * 8, "shapes",
    ]  # fmt: skip
    assert len(casts) == 5


def test_five_casts_are_named_and_more_only_counted() -> None:
    work = work_of(*({**FORWARD, "shapes": f"8x{k};{k}x4"} for k in (2, 3, 4)), BACKWARD)
    _, notes = cast(work)
    assert notes.splitlines()[0].count("cast of") == 5
    assert notes.splitlines()[0].endswith(", …")
    _, notes = cast(work, folded=True)
    assert notes.splitlines()[0].count("cast of") == 3
    assert notes.splitlines()[0].endswith("8 elements, fp32 to bf16")
    assert notes.splitlines()[1] == "casts of activations and gradients are fused into the ops beside them"


def test_the_workload_file_tells_weights_beyond_those_of_products() -> None:
    casts, notes = cast(work_of(FORWARD, BACKWARD), TOY.model_copy(update={"parameters": 104, "variables": 5}))
    others = casts.loc["cast of weights of 10 elements, fp32 to bf16"]
    assert others[["calls", "flop", "work_source"]].tolist() == [4, 40, "workload"]
    assert "104 elements" in notes
    assert notes.endswith("of forward products and of biases' gradients and the number of trained parameters")


def test_there_are_no_more_weights_than_the_file_says_where_the_first_cast_is_kept() -> None:
    steps: Row = {**FORWARD, "op_type": "aten::mm", "calls": 4}
    casts, _ = cast(work_of(steps, BACKWARD), TOY.model_copy(update={"parameters": 64}))
    weights = casts.loc["cast of weights of 64 elements, fp32 to bf16"]
    assert weights[["calls", "flop", "work_source"]].tolist() == [1, 64, "workload"]
    unknown, _ = cast(work_of(steps, BACKWARD))
    assert unknown["calls"].tolist() == [4, 4]


def test_nothing_tells_the_weights_of_a_step_without_products() -> None:
    casts, notes = cast(work_of({**SOFTMAX, "phase": "backward"}))
    assert casts.empty
    assert (
        notes == "casts of weights and gradients take no time: neither workload.yaml nor a product gives their number"
    )


def test_a_step_that_does_not_train_has_its_weights_cast_beforehand() -> None:
    casts, notes = cast(work_of(FORWARD))
    assert casts.empty
    assert notes == "no op of a backward pass or an update is known, so weights are taken to be cast beforehand"


def test_operands_are_cast_to_a_format_narrower_than_they_are_stored_in() -> None:
    work = work_of({**FORWARD, "calls": 2}, BACKWARD)
    work["bytes"] /= 4  # as in fp8
    casts, _ = cast(work, to=("fp8", "bf16"))
    operands = casts.loc["cast of products' operands, bf16 to fp8"]
    elements = 2 * (8 * 16 + 8 * 4)
    assert operands[["phase", "calls", "flop", "bytes", "work_source"]].tolist() == [
        "forward", 4, elements, elements * 3, "shapes",
    ]  # fmt: skip


def test_casts_of_narrow_formats_move_what_they_read_and_write() -> None:
    rows: list[Row] = [
        {**CAST, "attributes": formats} for formats in ("from=bf16;to=fp32", "from=fp32;to=fp8", "from=other;to=fp32")
    ]
    read, written = moved_sizes(work_of(*rows, FORWARD))
    assert (read.tolist(), written.tolist()) == ([2, 4, 4, 4], [4, 1, 4, 4])


def test_masks_take_a_byte_an_element() -> None:
    mask: Row = {"shapes": "8x4;8x4", "output_shapes": "8x4", "precision": "fp32"}
    work = work_of(*({**mask, "op_type": kind} for kind in ("IsNan", "LogicalOr", "xor", "Mul")))
    assert (work["bytes"] / 32).tolist() == [9, 3, 12, 12]


def test_elements_without_a_precision_take_the_bytes_that_are_stated() -> None:
    stated = ("read_bytes=8;written_bytes=16", "padding=SAME;read_bytes=1", None)
    read, written = moved_sizes(work_of(*({**CAST, "op_type": "Relu", "attributes": text} for text in stated)))
    assert (read.tolist(), written.tolist()) == ([8, 1, 4], [16, 4, 4])


def test_on_the_way_back_casts_are_gone_and_all_else_stays() -> None:
    formats = ("from=fp32;to=bf16", None, "from=fp64;to=fp32", "from=fp8;to=fp4")
    work = work_of(*({**CAST, "attributes": text} for text in formats), FORWARD, {"op_type": "Relu", "shapes": "8x4"})
    actual, notes = remove_casts(work)
    gone = [True, True, False, True, False, False]
    for name in ("calls", "flop", "bytes"):
        expected = work[name].fillna(-1).mask(pd.Series(gone), 0)
        assert actual[name].fillna(-1).tolist() == expected.tolist()
    assert actual["intensity"].isna().tolist() == gone
    assert [note.text for note in notes] == [
        "3 casts between formats are dropped",
        "updates and all else that the profile has in fp32 stay as they are",
    ]
    assert {notes.code for notes in notes} == {"casts"}


def test_where_no_cast_is_found_none_is_noted_to_be_gone() -> None:
    actual, (notes,) = remove_casts(work_of(FORWARD))
    assert actual["bytes"].tolist() == work_of(FORWARD)["bytes"].tolist()
    assert "dropped" not in notes.text


@pytest.mark.parametrize("already", [[], [0]])
def test_weights_that_are_cast_already_are_not_cast_again(already: list[int]) -> None:
    other: Row = {**FORWARD, "shapes": "8x32;32x4"}
    casts, _ = cast(work_of(other, FORWARD, BACKWARD), already=already, folded=True)
    assert casts["flop"].tolist() == ([64] if already else [128, 64])


def test_products_of_activations_alone_cast_all_that_they_move() -> None:
    batched: Row = {"op_type": "BatchMatMulV2", "shapes": "3x8x16;3x16x4", "output_shapes": "3x8x4", "phase": "forward"}
    work = work_of(batched, BACKWARD)
    work["bytes"] /= 4  # as in fp8
    casts, _ = cast(work, to=("fp8", "bf16"))
    operands = casts.loc["cast of products' operands, bf16 to fp8"]
    assert operands["flop"] == 3 * (8 * 16 + 16 * 4 + 8 * 4)
