import pandas as pd
import pytest

from estimator.core.errors import EstimatorError
from estimator.core.operators import class_of
from estimator.core.types import Mode, Workload
from estimator.work import Transformed, count, count_work
from tests.conftest import make_ops, unpacked

BATCH = Workload(name="toy", batch_size=10)


def test_class_of_each_op_type() -> None:
    expected = {
        "MatMul": "gemm", "_FusedMatMul": "gemm", "BatchMatMulV2": "gemm", "Conv2D": "convolution",
        "Conv2DBackpropFilter": "convolution", "Relu": "elementwise", "ReluGrad": "elementwise", "Assign": "movement",
        "AssignAdd": "elementwise", "ResourceApplyAdam": "elementwise", "BiasAddGrad": "reduction",
        "FusedBatchNormV3": "normalization", "Placeholder": "input", "VariableV2": "host", "MaxPool": "pooling",
        "Mystery": "unmodelled", "unlisted": "unmodelled",
    }  # fmt: skip
    work = count_work(make_ops(*({"op_type": name} for name in expected)), BATCH).work
    assert dict(zip(expected, work["op_class"], strict=True)) == expected


def test_a_class_that_a_row_states_outranks_its_names() -> None:
    work = count_work(make_ops({"op_type": "Relu", "op_class": "movement"}, {"operator": "tanh"}), BATCH).work
    assert work[["operator", "op_class"]].to_numpy().tolist() == [["relu", "movement"], ["tanh", "elementwise"]]


def test_an_unknown_operator_is_refused_with_a_hint() -> None:
    with pytest.raises(EstimatorError, match=r"operator 'sigmoyd' is not known\. Did you mean sigmoid"):
        count_work(make_ops({"operator": "sigmoyd"}), BATCH)


@pytest.mark.parametrize(
    ("op_type", "length"),
    [("Softmax", 50), ("aten::native_layer_norm", 50), ("Relu", None), ("FusedBatchNormV3", None)],
)
def test_row_length_is_the_last_dimension(op_type: str, length: int | None) -> None:
    work = count_work(make_ops({"op_type": op_type, "shapes": "-1x50"}), BATCH).work
    row_length = work["row_length"].item()
    assert pd.isna(row_length) if length is None else row_length == length


def test_an_op_on_nothing_has_no_rows() -> None:
    work = count_work(make_ops({"op_type": "aten::_softmax", "shapes": "8x0"}), BATCH).work
    assert work["row_length"].isna().all()


def test_streams_read_every_operand_and_write_one_result() -> None:
    work = count_work(make_ops({"op_type": "Add", "shapes": "-1x50;50", "calls": 3}), BATCH).work
    row = work.iloc[0]
    assert row["bytes"] == 3 * 4 * (500 + 50 + 500)
    assert row["flop"] == 3 * 500


def test_a_convolution_from_its_dimensions() -> None:
    dims = {"conv_n": 8, "conv_c": 3, "conv_h": 32, "conv_w": 32, "conv_k": 16, "conv_r": 3, "conv_s": 3, "pad_h": 1}
    work = count_work(make_ops({"op_type": "Conv2D", **dims, "pad_w": 1}), BATCH).work
    assert work["flop"].iloc[0] == 2 * 8 * 16 * 32 * 32 * 3 * 3 * 3


def test_unknown_ops_have_no_work() -> None:
    work = count_work(make_ops({"op_type": "Mystery", "shapes": "8x8"}), BATCH).work
    assert work["op_class"].iloc[0] == "unmodelled"
    assert work[["flop", "bytes"]].isna().all(axis=None)
    assert work["work_source"].iloc[0] == "none"


def test_reported_amounts_are_kept() -> None:
    work = count_work(make_ops({"op_type": "Mystery", "flop": 7.0, "bytes": 9.0}), BATCH).work
    assert tuple(work[["flop", "bytes", "work_source"]].iloc[0]) == (7.0, 9.0, "reported")


def test_the_order_of_rows_does_not_matter(p1b3: object) -> None:
    ops = make_ops(
        {"op_type": "MatMul", "shapes": "-1x50;50x20"}, {"op_type": "MatMul", "shapes": "-1x50;-1x20"},
        {"op_type": "Relu", "shapes": "-1x20"}, {"op_type": "Mystery"},
    )  # fmt: skip
    forward = count_work(ops, BATCH).work
    backward = count_work(ops.iloc[::-1].reset_index(drop=True), BATCH).work
    assert forward.equals(backward.iloc[::-1].reset_index(drop=True))


def test_forward_products_that_never_ran_are_a_warning() -> None:
    ops = make_ops({"op_type": "MatMul", "shapes": "-1x50;50x20", "calls": 0}, {"op_type": "Relu", "shapes": "-1x20"})
    _, warnings = unpacked(count_work(ops, BATCH))
    assert "have no time of their own" in str(warnings)


def test_an_unknown_class_is_refused() -> None:
    with pytest.raises(EstimatorError, match="op_class is 'magic'"):
        count_work(make_ops({"op_class": "magic"}), BATCH)


UPDATED = Workload.model_validate(
    {
        "name": "toy", "batch_size": 10, "parameters": 1000, "variables": 2,
        "optimizer": {"name": "sgd", "update_ops": {"Mul": {"calls": 2, "reads": 1, "writes": 1}}},
    }
)  # fmt: skip


def test_an_update_is_shared_by_the_rows_of_its_op_type() -> None:
    whole = count_work(make_ops({"op_type": "Mul", "time_s": 4.0}), UPDATED).work
    parts = count_work(make_ops({"op_type": "Mul", "time_s": 1.0}, {"op_type": "Mul", "time_s": 3.0}), UPDATED).work
    assert whole["bytes"].sum() == parts["bytes"].sum() == 2 * 2 * 4 * 1000
    assert whole["calls"].iloc[0] == 4
    assert list(parts["bytes"]) == [4000, 12000]


def test_a_stated_phase_is_kept() -> None:
    work = count_work(make_ops({"op_type": "Mul", "phase": "forward"}), UPDATED).work
    assert work["phase"].iloc[0] == "forward"


def test_a_shape_operand_is_not_counted() -> None:
    work = count_work(make_ops({"op_type": "Fill", "shapes": "2"}), BATCH).work
    assert pd.isna(work["bytes"].iloc[0])


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"op_type": "MatMul", "shapes": "100x50;60x7"}, "which do not multiply"),
        ({"op_type": "Conv2D", **{f"conv_{d}": 2 for d in "nchwk"}, "conv_r": 3, "conv_s": 3}, "do not fit"),
    ],
)
def test_impossible_shapes_are_refused(row: dict[str, object], words: str) -> None:
    with pytest.raises(EstimatorError, match=words):
        count_work(make_ops(row), BATCH)


def test_work_without_shapes_is_a_warning() -> None:
    _, warnings = unpacked(
        count_work(make_ops({"op_type": "MatMul"}, {"op_type": "Conv2D", "shapes": "1x2x3x4;5x6x7x8"}), BATCH)
    )
    assert any("1 matrix products state no shapes" in warning for warning in warnings)
    assert any("1 convolutions state no dimensions" in warning for warning in warnings)


def test_rows_that_took_no_time_share_an_update_alike() -> None:
    rows = ({"op_type": "Mul", "op": name, "time_s": 0.0, "phase": "optimizer"} for name in "abcd")
    work = count_work(make_ops(*rows), UPDATED).work
    assert work["bytes"].tolist() == [4000] * 4
    assert work["calls"].tolist() == [1] * 4


def test_equal_contents_are_counted_once_and_others_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[Workload] = []

    def counting(ops: pd.DataFrame, workload: Workload, where: str) -> Transformed:
        counted.append(workload)
        return Transformed(ops, changed=True)

    monkeypatch.setattr(count, "_count", counting)
    ops = make_ops({"op_type": "Relu", "shapes": "-1x50", "time_s": 1e-6})
    count_work(ops, BATCH, "kept")
    count_work(ops.copy(), BATCH.model_copy(), "kept")
    assert len(counted) == 1
    stated = Workload(name="toy", batch_size=10, precision=BATCH.precision)  # equal, but it states its precision
    for others in (
        (ops.assign(time_s=2e-6), BATCH, "kept"),
        (ops.rename(columns={"time_s": "shared_s"}), BATCH, "kept"),
        (ops, BATCH.model_copy(update={"batch_size": 20}), "kept"),
        (ops, stated, "kept"),
        (ops, BATCH, "elsewhere"),
    ):
        count_work(*others)
    assert len(counted) == 6


def test_a_count_that_is_changed_does_not_change_the_next() -> None:
    ops = make_ops({"op_type": "Relu", "shapes": "-1x50"})
    first = count_work(ops, BATCH).work
    first.loc[:, "flop"] = -1.0
    assert count_work(ops, BATCH).work["flop"].item() == 500


def test_no_large_count_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(count, "MOST_KEPT_ROWS", 0)
    monkeypatch.setattr(count, "_COUNTS", None)
    assert len(count_work(make_ops({"op_type": "Relu", "shapes": "-1x50"}), BATCH).work) == 1


def test_a_profile_whose_name_is_no_utf8_is_counted() -> None:
    ops = make_ops({"op_type": "MatMul", "m": 2, "n": 2, "k": 2})
    assert count_work(ops, BATCH, b"pr\xf6.csv".decode(errors="surrogateescape")).work["flop"].item() == 16


@pytest.mark.parametrize(("mode", "operator"), [("training", "batch_norm"), ("inference", "batch_norm_inference")])
def test_a_batch_normalization_of_inference_has_its_statistics(mode: Mode, operator: str) -> None:
    row = {"op_type": "aten::cudnn_batch_norm", "shapes": "64x32x8x8;32;32;32;32"}
    work = count_work(make_ops(row), Workload(name="toy", mode=mode)).work
    assert (work["operator"].item(), work["op_class"].item()) == (operator, class_of(operator))
    assert work["bytes"].item() > 0
