"""One profile at other batch sizes: ops that scale with the batch, ops that do not, and ops without information."""

from itertools import pairwise

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal, assert_series_equal

from estimator.core.errors import EstimatorError
from estimator.core.schema import MATRIX
from estimator.core.types import Workload
from estimator.profiles import read_profile
from estimator.work import count_work, rebatch
from estimator.work.rebatch import TooLargeError, names_batch
from tests.conftest import unpacked_by_kind
from tests.profiles.layers.models import profile as layers_profile

DIMENSIONS = ["batch", "m", "n", "k", "flop", "bytes"]
PROFILES = ["p1b3", "p1b3/amd-epyc.xplane", "p1b3/amd-epyc.tfprof", "nt3", "p2b1", "p3b2", "p3b3"]


def counted(name: str) -> tuple[pd.DataFrame, Workload]:
    profile = read_profile(name)
    return count_work(profile.ops, profile.workload).work, profile.workload


def work_of(rows: list[dict[str, object]]) -> pd.DataFrame:
    table = pd.DataFrame(rows)
    names = table["op"].fillna(table["op_type"]) if "op" in table else table["op_type"]
    return count_work(table.assign(op=names, time_s=1e-3), Workload(name="own", batch_size=8)).work


def perceptron(batch: int, widths: list[int]) -> pd.DataFrame:
    """Training of dense layers with an activation each, as TensorFlow's trace has it."""
    rows = []
    for inside, outside in pairwise(widths):
        x, w, y = f"{batch}x{inside}", f"{inside}x{outside}", f"{batch}x{outside}"
        for trans_a, trans_b, phase, shapes, result in (
            ("n", "n", "forward", f"{x};{w}", y),
            ("n", "t", "backward", f"{y};{w}", x),
            ("t", "n", "backward", f"{x};{y}", w),
        ):
            form = f"trans_a={trans_a};trans_b={trans_b}"
            rows.append(("MatMul", phase, shapes, result, form))
        rows.append(("Relu", "forward", y, y, ""))
        rows.append(("ReluGrad", "backward", f"{y};{y}", y, ""))
        rows.append(("BiasAddGrad", "backward", y, str(outside), ""))
        rows += [("ResourceApplyAdam", "optimizer", ";".join([shape] * 4), "", "") for shape in (w, str(outside))]
    table = pd.DataFrame(rows, columns=["op_type", "phase", "shapes", "output_shapes", "attributes"])
    table = table.assign(op=table["op_type"], time_s=1e-3, calls=1.0)
    return count_work(table, Workload(name="perceptron", batch_size=batch)).work


@pytest.mark.slow
@given(
    batch=st.integers(2, 100),
    widths=st.lists(st.tuples(st.integers(1, 6), st.integers(0, 1), st.integers(1, 300)), min_size=2, max_size=5),
    size=st.integers(1, 6400),
)
@settings(max_examples=15, deadline=None)
def test_dense_layers_are_as_counted_at_the_other_batch(
    batch: int, widths: list[tuple[int, int, int]], size: int
) -> None:
    """Also where widths equal the batch, or several batches."""
    sizes = [times * batch if alike else other for times, alike, other in widths]
    sized, _, warnings = unpacked_by_kind(rebatch(perceptron(batch, sizes), Workload(name="p", batch_size=batch), size))
    assert_frame_equal(sized[DIMENSIONS], perceptron(size, sizes)[DIMENSIONS])
    assert not warnings


@pytest.mark.slow
@pytest.mark.parametrize("name", PROFILES)
def test_products_scale_with_the_batch_and_updates_do_not(name: str) -> None:
    work, workload = counted(name)
    profiled = workload.batch_size or 0
    matrix, updates = work["op_class"].isin(MATRIX), work["phase"].eq("optimizer").fillna(False)
    updates &= ~work["op"].str.contains("tmp_var")
    for size in (1, 2 * profiled, 64 * profiled):
        sized, notes, _ = unpacked_by_kind(rebatch(work, workload, size))
        assert_series_equal(sized["flop"][matrix] * profiled, work["flop"][matrix] * size)
        assert_frame_equal(sized[updates], work[updates])
        assert f"batch {size}, from a profile of batch {profiled}" in notes[0]


@pytest.mark.parametrize("name", PROFILES)
def test_the_profiled_batch_is_the_profile_itself(name: str) -> None:
    work, workload = counted(name)
    for size in (None, workload.batch_size):
        same, *nothing = unpacked_by_kind(rebatch(work, workload, size))
        assert same is work
        assert nothing == [(), ()]


def test_rebatching_forth_and_back_gives_the_same_work() -> None:
    work, workload = counted("p1b3/amd-epyc.xplane")
    there = rebatch(work, workload, 700).work
    back = rebatch(there, workload.model_copy(update={"batch_size": 700}), 100).work
    assert_frame_equal(back, work)


def test_a_layer_as_wide_as_the_batch() -> None:
    """P1B3's fourth layer takes 100 in and is trained on 100 samples."""
    work, workload = counted("p1b3/amd-epyc.xplane")
    layer = work["op"].str.contains("dense_3_1") & (work["op_class"] == "gemm")
    sized, notes, _ = unpacked_by_kind(rebatch(work, workload, 200))
    rebatched = {(row.trans_a, row.trans_b): (row.m, row.n, row.k) for row in sized[layer].itertuples()}
    assert rebatched == {("n", "n"): (200, 50, 100), ("n", "t"): (200, 100, 50), ("t", "n"): (100, 50, 200)}
    assert any("a size that may be the batch or a weight's" in sentence for sentence in notes)


def test_time_steps_flattened_rows_and_temporaries() -> None:
    variable: dict[str, object] = {"op_type": "AssignSubVariableOp", "phase": "optimizer", "shapes": "16x4;16x4"}
    work = work_of(
        [
            variable,
            {"op_type": "Tanh", "phase": "forward", "shapes": "20x8x5"},
            {"op_type": "Relu", "phase": "forward", "shapes": "24x5"},
            {"op_type": "Square", "phase": "forward", "shapes": "16x4"},
            {"op_type": "AssignAdd", "op": "AddN/tmp_var_accum", "phase": "optimizer", "shapes": "8x3;8x3"},
            {"op_type": "Fill", "phase": "forward", "shapes": "", "output_shapes": "-1x7"},
        ]
    )
    sized = rebatch(work, Workload(name="own", batch_size=8), 16).work
    assert sized["shapes"].fillna("").tolist() == ["16x4;16x4", "20x16x5", "48x5", "16x4", "16x3;16x3", ""]
    assert sized["output_shapes"].tolist()[-1] == "16x7"
    ratio = (sized["bytes"] / work["bytes"]).tolist()
    assert ratio == [1, 2, 2, 1, 2, 2]


def test_a_product_grows_as_its_flop_and_a_stream_as_its_bytes() -> None:
    """The weights of a product, which its bytes hold, stay."""
    product: dict[str, object] = {"shapes": "8x20;20x30", "output_shapes": "8x30", "attributes": "trans_a=n;trans_b=n"}
    work = work_of([{"op_type": "MatMul", "phase": "forward", **product}, {"op_type": "Cast", "shapes": "8x30"}])
    sized = rebatch(work, Workload(name="own", batch_size=8), 32).work
    assert sized["growth"].tolist() == [4, 4]
    assert sized["bytes"][0] < 4 * work["bytes"][0]


def test_ops_without_dimensions_are_kept_with_a_note() -> None:
    work = work_of(
        [
            {"op_type": "Relu", "phase": "forward", "bytes": 4096.0},
            {"op_type": "MatMul", "phase": "forward", "shapes": "3x5;5x7", "attributes": "trans_a=n;trans_b=n"},
            {"op_type": "Mystery", "phase": "forward", "shapes": "8x5"},
            {"op_type": "IteratorGetNext", "phase": "input", "output_shapes": "8x5"},
            {"op_type": "ReadVariableOp", "phase": "forward", "shapes": "8x6"},
        ]
    )
    sized, notes, warnings = unpacked_by_kind(rebatch(work, Workload(name="own", batch_size=8), 32))
    assert sized["time_s"].tolist() == [1e-3] * 5
    assert sized["growth"].fillna(1).tolist() == [1, 1, 4, 4, 1]
    assert_frame_equal(sized.loc[:1], work.loc[:1])
    assert warnings == (
        "2 op(s), 40.0 % of the source's time, keep their work and time: how they depend on the batch is not known",
    )
    assert notes[1].startswith("2 op(s), 40.0 % of the source's time, have no model")


@pytest.mark.parametrize(("batch", "message"), [(None, "is not known; write batch_size"), (1, "batch 1, which every")])
def test_an_unknown_or_single_sample_batch_is_refused(batch: int | None, message: str) -> None:
    work, _ = counted("p1b3")
    with pytest.raises(EstimatorError, match=message):
        rebatch(work, Workload(name="own", batch_size=batch), 64)


def test_two_unknown_sizes_leave_the_batch_unknown() -> None:
    work = work_of([{"op_type": "Relu", "shapes": "-1x-1x300", "output_shapes": "-1x-1x300"}])
    assert rebatch(work, Workload(name="own", batch_size=8), 64).work["shapes"].tolist() == ["-1x-1x300"]


def test_products_of_which_a_dimension_is_missing_stay() -> None:
    work = work_of([{"op_type": "MatMul", "m": 8, "n": 20, "k": None}])
    assert rebatch(work, Workload(name="own", batch_size=8), 64).work["m"].tolist() == [8]


@pytest.mark.parametrize("channels", [3, 8, 64])
@pytest.mark.parametrize(
    ("image", "window", "labels"),
    [
        ("{batch}x10x10x{channels}", "{batch}x8x8x16", "f01b_i01o->01bf"),
        ("{channels}x10x10x{batch}", "8x8x{batch}x16", "b01f_01io->01bf"),  # as a processor runs it
    ],
)
def test_the_batch_of_a_gradient_that_xla_writes_as_a_convolution(
    channels: int, image: str, window: str, labels: str
) -> None:
    def counted_at(batch: int) -> pd.DataFrame:
        shapes = f"{image};{window}".format(batch=batch, channels=channels)
        row = {"op_type": "convolution", "shapes": shapes, "output_shapes": f"3x3x{channels}x16",
               "attributes": f"labels={labels};window=8x8"}  # fmt: skip
        table = pd.DataFrame([{"op": "dW", "time_s": 1e-3, **row}])
        return count_work(table, Workload(name="own", batch_size=batch)).work

    rebatched = rebatch(counted_at(8), Workload(name="own", batch_size=8), 32).work
    assert rebatched[["flop", "bytes"]].to_dict() == counted_at(32)[["flop", "bytes"]].to_dict()


def test_a_pool_scales_with_its_images() -> None:
    """Its window of 10 points over 128 channels is as large as an activation at batch 10."""
    rows: list[dict[str, object]] = [
        {"op_type": "MaxPool", "shapes": "10x50x1x128", "output_shapes": "10x5x1x128", "attributes": "window=10x1"},
        {"op_type": "Relu", "shapes": "10x128", "output_shapes": "10x128"},
    ]
    table = pd.DataFrame(rows).assign(op=lambda rebatched: rebatched["op_type"], time_s=1e-3)
    work = count_work(table, Workload(name="own", batch_size=10)).work
    sized, notes, _ = unpacked_by_kind(rebatch(work, Workload(name="own", batch_size=10), 40))
    assert sized["bytes"].tolist() == pytest.approx((4 * work["bytes"]).tolist())
    assert sized["conv_n"].tolist()[0] == 40
    assert not any("a weight are alike" in sentence for sentence in notes)


def test_flop_of_a_convolution_with_stated_sizes_go_with_its_images() -> None:
    """Without shapes, its sizes are not read again."""
    sizes = {"conv_n": 8, "conv_c": 3, "conv_h": 32, "conv_w": 32, "conv_k": 16, "conv_r": 3, "conv_s": 3}
    work = work_of([{"op_type": "Conv2D", "op_class": "convolution", **sizes, "pass": "forward"}])
    sized = rebatch(work, Workload(name="own", batch_size=8), 32).work
    assert sized["conv_n"].tolist() == [32]
    assert sized["flop"].tolist() == pytest.approx((4 * work["flop"]).tolist())


def test_each_note_has_its_code_and_its_share_of_the_time() -> None:
    work = work_of(
        [
            {"op_type": "Relu", "phase": "forward", "bytes": 4096.0},
            {"op_type": "Mystery", "phase": "forward", "shapes": "8x5"},
            {"op_type": "ResourceApplyAdam", "phase": "optimizer", "shapes": "8x6;8x6;8x6;8x6"},
            {"op_type": "Relu", "phase": "forward", "shapes": "8x6", "output_shapes": "8x6"},
        ]
    )
    notes = rebatch(work, Workload(name="own", batch_size=8), 32).notes
    assert [note.code for note in notes] == ["rebatched", "rebatch-ambiguous", "rebatch-unmodelled", "rebatch-unknown"]
    assert [note.share for note in notes] == pytest.approx([0, 0.25, 0.25, 0.25])
    assert notes[0].text == (
        "ops are those of batch 32, from a profile of batch 8: 2 scale with it; "
        "weights, their updates, and host and idle time stay"
    )


@pytest.mark.slow
@pytest.mark.parametrize("given", [{}, {"kind": "bert"}, {"experts": 4, "attention": "unfused"}])
@pytest.mark.parametrize("size", [1, 7, 64])
def test_layers_are_as_built_at_the_other_batch(given: dict[str, object], size: int) -> None:
    """At any batch, also from and to 1: shapes name it, and no size that equals it is taken for it."""
    for before in (1, 16, 64):  # 64 is also the hidden size
        read, built = (layers_profile(**given, micro_batch=batch) for batch in (before, size))
        work, wanted = (count_work(each.ops, each.workload).work for each in (read, built))
        resized = rebatch(work, read.workload, size)
        columns = ["op", "batch", "m", "n", "k", "row_length", "flop", "bytes", "work_source", "operator"]
        assert_frame_equal(resized.work[columns], wanted[columns])
        if size != before:
            assert [note.code for note in resized.notes] == ["rebatched"]
            assert not resized.work["shapes"].str.contains("-1").any()


def test_a_batch_of_layers_that_cannot_be_counted_is_refused() -> None:
    read = layers_profile()
    work = count_work(read.ops, read.workload).work
    with pytest.raises(TooLargeError, match=r"batch 1000000000000 of one device makes '.+' too large to be") as raised:
        rebatch(work, read.workload, 10**12)
    most = int(str(raised.value).rpartition("expected at most ")[2])
    assert rebatch(work, read.workload, most).changed
    with pytest.raises(TooLargeError):
        rebatch(work, read.workload, most + 1)


def test_only_what_nothing_ran_names_its_batch() -> None:
    read = layers_profile()
    work = count_work(read.ops, read.workload).work
    assert names_batch(work)
    assert not names_batch(work.assign(time_s=1.0))
    assert not names_batch(rebatch(work, read.workload, 7).work)
