"""Which evidence an op's time stands on, where several speak."""

import numpy as np
import pandas as pd
import pytest

from estimator.core.errors import EstimatorError, UnfitError
from estimator.core.interval import Z
from estimator.core.types import MeasuredDevice, Peak, RunPlan, Workload
from estimator.model import SourceRun, TargetDevice, predict
from estimator.model.ladder import refuse_unsupported
from estimator.work import count_work
from estimator.work.training_array import fuse_trainings
from tests.conftest import make_device, make_measurements, make_ops
from tests.model.toy import NEAR, PLAN, ROW, SLOW, activated, activation_tables, pool, predict_on, table


def test_on_a_target_measured_like_the_source_an_op_takes_its_own_time() -> None:
    work = count_work(make_ops({"op_type": "MatMul", "time_s": 1e-3, **NEAR}), Workload(name="toy")).work
    rows, device = table(ROW).assign(library="toy 1"), make_device()
    same = predict_on(work, device.model_copy(update={"name": "twin"}), rows, source=device, at_source=rows).ops
    assert same["target_time_s"].item() == pytest.approx(1e-3)


def test_times_that_go_with_the_sources_run_are_as_uncertain_as_the_run() -> None:
    work = count_work(make_ops({"op_type": "Const"}, {"op_type": "MatMul", **NEAR}), Workload(name="toy")).work
    device, plan = make_device(), RunPlan("toy", draws=4000)
    carried, modelled = predict_on(work, device, table(), plan, step_spread=0.1).ops.to_dict("records")
    assert carried["high_s"] / carried["target_time_s"] == pytest.approx(np.exp(0.1 * Z), rel=0.02)
    assert modelled["high_s"] == predict_on(work, device, table(), plan).ops["high_s"][1]
    rows = table(ROW).assign(library="toy 1")
    near, far = (
        predict_on(work, device, rows, plan, source=device, at_source=rows, step_spread=spread).samples[1:, 1].std()
        for spread in (0.0, 0.5)
    )
    assert far > 2 * near > 0


def ladder_ops(**source: object) -> pd.DataFrame:
    """PREDICTION of a product, a product without shapes, an unknown op, a stream, a variable and host work."""
    rows = [{"op_type": "MatMul", "time_s": 1e-3, **NEAR}]
    rows += [{"op_type": name} for name in ("MatMul", "Mystery", "Relu", "VariableV2", "Const", "Placeholder")]
    work = count_work(make_ops(*rows), Workload(name="toy")).work
    device = make_device(name="source", compute_unit="MXU", **source) if source else None
    return predict_on(work, make_device(), table(), RunPlan("toy", draws=100), source=device).ops


def test_nothing_that_ran_on_a_device_is_unchanged() -> None:
    for ops in (ladder_ops(), ladder_ops(memory_bandwidth="250 GB/s")):
        expected = ["roofline", *["proportional"] * 4, "unchanged", "unchanged"]
        assert ops["method"].tolist() == expected


def test_ops_without_shapes_go_by_the_rate_that_binds_them() -> None:
    """The target has twice the source's bandwidth and eight times its peak."""
    ops = ladder_ops(memory_bandwidth="250 GB/s", peak={"fp32": "1.25 TFLOP/s"})
    product, mystery, stream = (ops["target_time_s"] / ops["time_s"])[1:4]
    assert product == pytest.approx(1 / 8, rel=0.03)  # as a large product by its model, whose traffic counts
    assert [mystery, stream] == pytest.approx([1 / 4, 1 / 2])
    assert ops["bound"][1:4].isna().all()
    unknown = ops.iloc[2]
    assert unknown["low_s"] < unknown["time_s"] / 8 * 1.1
    assert unknown["high_s"] > unknown["time_s"] / 2 * 0.9


def test_from_an_unknown_source_ops_without_shapes_go_as_the_modelled_ones() -> None:
    ops = ladder_ops()
    share = ops["target_time_s"] / ops["time_s"]
    assert share[1:5].tolist() == pytest.approx([share[0]] * 4)
    assert (ops["low_s"] < 0.1 * ops["target_time_s"])[1:5].all()
    assert (ops["high_s"] > 0.8 * ops["time_s"])[1:5].all()


def test_input_takes_as_much_longer_as_a_batch_is_larger() -> None:
    work = count_work(make_ops({"op_type": "MatMul", **NEAR}, {"op_type": "Placeholder"}), Workload(name="toy")).work
    actual = predict_on(work.assign(growth=[1.0, 4.0]), make_device(), table(), profiled=work).ops
    assert actual["method"].tolist() == ["roofline", "unchanged"]
    assert actual["target_time_s"][1] == pytest.approx(4 * work["time_s"][1])


def test_a_smaller_batch_makes_ops_without_shapes_no_slower() -> None:
    """Launches do not shrink with the batch: they make no op slower that does as much as before."""
    relu = {"op_type": "Relu", "shapes": "16000x64", "time_s": 1e-3, "calls": 50}
    work = count_work(make_ops(relu, {"op_type": "Mystery"}, {"op_type": "Mystery"}), Workload(name="toy")).work
    less = work.assign(bytes=work["bytes"] / 16, flop=work["flop"] / 16, growth=[1 / 16, 1.0, 1 / 16])
    before, after = (
        predict_on(each, make_device(), table(), profiled=work, as_large=work).ops["target_time_s"]
        for each in (work, less)
    )
    assert (after < before * 1.01).all()
    assert after[2] < 0.2 * before[2]


def test_weights_that_a_smaller_batch_leaves_make_ops_without_shapes_no_slower() -> None:
    """The ratio of the devices is that of equal work: weights are read whole at any batch."""
    work = count_work(make_ops({"op_type": "MatMul", **NEAR}, {"op_type": "Mystery"}), Workload(name="toy")).work
    less = work.assign(flop=work["flop"] / 64, growth=[1 / 64, 1.0])  # and as many bytes
    before, after = (
        predict_on(each, make_device(), table(), profiled=work, as_large=work).ops["target_time_s"]
        for each in (work, less)
    )
    assert after[1] == pytest.approx(before[1])


def test_what_more_trainings_add_to_ops_without_shapes_counts_once() -> None:
    """From an unknown source they go with the modelled ops, which hold it already."""
    work = count_work(
        make_ops({"op_type": "MatMul", "time_s": 1e-3, **NEAR}, {"op_type": "Mystery"}), Workload(name="toy")
    ).work
    one = predict_on(work, make_device(), table(), profiled=work).ops["target_time_s"]
    run = predict_on(fuse_trainings(work, 4).work, make_device(), table(), profiled=work, as_large=work)
    assert 3 * one[1] < run.ops["target_time_s"][1] <= 4 * one[1]


def test_an_op_faster_than_its_source_could_be_is_not_modelled_by_its_shapes() -> None:
    work = count_work(make_ops({"op_type": "MatMul", "time_s": 1e-5, **NEAR}), Workload(name="toy")).work
    for rows in (table(), table(ROW)):
        actual = predict_on(work, make_device(), rows, source=make_device(name="source"))
        assert actual.ops["method"].tolist() == ["proportional"]
        assert actual.ops["target_time_s"].item() == pytest.approx(1e-5, rel=0.01)
        (note,) = (note for note in actual.warnings if note.code == "work-unbelievable")
        assert (note.subject, note.share, note.kind) == ("op0", 1.0, "warning")
    unknown = predict_on(work, make_device(), table())
    assert unknown.ops["method"].tolist() == ["roofline"]


def test_streams_correct_a_pool_that_one_device_timed_in_another_precision() -> None:
    """Else the factor between the devices would be that between a pool and a stream."""
    wide = {"op_class": "elementwise", "kernel": "add", "pass": None, "bytes": 3e8, "flop": 1.0, "time_s": 3e-3}
    there, here = (
        make_measurements([{**pool(1.0, ""), **wide}, {**pool(60e-3, "forward"), "precision": p}])
        for p in ("fp32", "bf16")
    )
    pooled = {"op_type": "MaxPool", "shapes": "800x32x32x64", "output_shapes": "800x16x16x64", "time_s": 60e-3}
    work = count_work(make_ops(pooled), Workload(name="toy")).work
    actual = predict_on(work, make_device(), here, source=make_device(name="source"), at_source=there).ops
    assert actual["target_time_s"].item() == pytest.approx(60e-3, rel=0.1)


@pytest.mark.parametrize("with_sums", [(True, False), (False, True)])
def test_a_kernel_along_channels_that_one_device_alone_timed_is_not_used(with_sums: tuple[bool, bool]) -> None:
    amounts = {"op_class": "elementwise", "precision": "fp32", "library": "toy 1", "bytes": 3e8, "flop": 1e8}
    add = {**amounts, "kernel": "add", "time_s": 1e-3}
    bias = {**amounts, "kernel": "bias_add", "conv_c": 64, "time_s": 9e-3}
    sums = {**bias, "op_class": "reduction", "kernel": "bias_grad"}
    there, here = (make_measurements([add, bias] + [sums] * timed) for timed in with_sums)
    image, source = "37500x16x64", make_device(name="source")
    ran = (
        {"op_type": "BiasAdd", "shapes": f"{image};64", "time_s": 9e-3},
        {"op_type": "BiasAddGrad", "shapes": image, "output_shapes": "64", "time_s": 9e-3},
    )
    work = count_work(make_ops(*ran), Workload(name="toy")).work
    actual = predict_on(work, make_device(), here, source=source, profiled=work, at_source=there).ops["target_time_s"]
    assert list(actual) == pytest.approx([9e-3, 9e-3], rel=0.1)


@pytest.mark.parametrize("tables", [(4e-3, None), (None, 4e-3), (None, None)])
def test_streams_stand_for_an_activation_that_one_device_alone_timed(
    tables: tuple[float | None, ...],
) -> None:
    there, here = activation_tables(*tables)
    assert activated(there, here) == pytest.approx([4e-3, 1e-3], rel=0.05)


@pytest.mark.parametrize(
    ("lacks", "named"),
    [
        ({"peak": {}}, "peak"),
        ({"memory_bandwidth": None}, "memory_bandwidth"),
        ({"peak": {}, "memory_bandwidth": None}, "peak and memory_bandwidth"),
    ],
)
def test_a_target_of_which_nothing_is_known_is_refused(lacks: dict[str, object], named: str) -> None:
    target = make_device(specifications="incomplete", **lacks)
    work = count_work(make_ops({"op_type": "MatMul", **NEAR}), Workload(name="toy")).work
    with pytest.raises(EstimatorError) as error:
        predict_on(work, target, table())
    assert str(error.value) == (
        f"toy has no specifications of {named}, and no measurements; "
        "write a device file with them, or choose another target"
    )


@pytest.mark.parametrize(
    ("supported", "fault"), [(True, "gives no peak for fp16"), (False, "has no hardware path for fp16")]
)
def test_a_target_without_the_precision_of_a_product_is_refused(supported: bool, fault: str) -> None:
    device = make_device(peak={"fp32": "10 TFLOP/s", "fp64": "5 TFLOP/s"})
    target = device.model_copy(update={"peak": {**device.peak, "fp16": Peak(supported=supported)}})
    rows: list[dict[str, object]] = [{"op_type": "MatMul", **NEAR}, {"op_type": "Relu", "shapes": "9"}]
    work = count_work(make_ops(*rows), Workload(name="toy", precision="fp16")).work
    with pytest.raises(EstimatorError) as error:
        predict_on(work, target, table())
    assert str(error.value) == (
        f"toy {fault}; matrix products run there in fp32, fp64; write --precision fp32, or 'precision: fp32' in a study"
    )


@pytest.mark.parametrize(
    ("lacking", "fault"),
    [
        (("bf16",), "has no hardware path for bf16; matrix products run there in fp32, fp16; write --precision fp16"),
        (("tf32",), "has no hardware path for tf32; matrix products run there in fp32, fp16; write --precision fp32"),
        (
            ("fp8", "bf16"),
            "has no hardware path for bf16 and fp8; matrix products run there in fp32, fp16; write --precision fp32",
        ),
    ],
)
def test_all_precisions_that_a_target_lacks_are_named(lacking: tuple[str, ...], fault: str) -> None:
    device = make_device(peak={"fp32": "10 TFLOP/s", "fp16": "80 TFLOP/s"})
    without = {**device.peak, **{name: Peak(supported=False) for name in ("tf32", "bf16", "fp8")}}
    with pytest.raises(UnfitError) as error:
        refuse_unsupported(device.model_copy(update={"peak": without}), lacking)
    assert str(error.value).partition(", or ")[0] == f"toy {fault}"


@pytest.mark.parametrize("lacking", [("fp32",), ("tf32",), ("fp32", "tf32")])
def test_a_device_of_narrow_formats_alone_is_advised_to_take_the_frameworks(lacking: tuple[str, ...]) -> None:
    with pytest.raises(UnfitError, match="write --precision auto, or 'precision: auto' in a study"):
        refuse_unsupported(make_device(peak={"bf16": "80 TFLOP/s"}), lacking)


GPU = {"compute_unit": "SM", "compute_units": 80, "vendor": "toy"}


@pytest.mark.parametrize(
    ("architecture", "precision", "by_sibling"),
    [("other", "fp32", True), ("toy", "fp32", False), ("toy", "fp16", True)],
)
def test_the_sources_own_times_come_before_those_of_a_sibling(
    architecture: str, precision: str, by_sibling: bool
) -> None:
    """Where the profile was taken on the target's architecture, its times show what kernels in its format take."""
    profiled = count_work(make_ops({"op_type": "MatMul", "time_s": 1e-3, **NEAR}), Workload(name="toy")).work
    work = profiled.assign(precision=precision)
    device = {**GPU, "peak": {"fp32": "10 TFLOP/s", "fp16": "10 TFLOP/s"}}
    source, target = (make_device(name=name, architecture=name, **device) for name in (architecture, "toy"))
    rows = table(SLOW).assign(precision=precision)
    sibling = MeasuredDevice(target.model_copy(update={"name": "sibling"}), rows)
    alone, beside = (
        predict(work, SourceRun(source, None, profiled), TargetDevice(target, table(), read), PLAN).ops
        for read in (tuple, lambda: [sibling])
    )
    assert bool((beside["target_time_s"] > 1.1 * alone["target_time_s"]).all()) == by_sibling
    assert by_sibling or beside.equals(alone)


def without_shapes(
    rows: pd.DataFrame, of_source: pd.DataFrame | None = None, of_sibling: pd.DataFrame | None = None, **fields: str
) -> tuple[float, str]:
    """Time [s] of a product without shapes that took 10 ms, by measured products of target, source and a sibling of the
    target; and whose products it rests on, as the prediction names them. ``fields``: of the source.
    """
    work = count_work(make_ops({"op_type": "MatMul", "time_s": 1e-2, "precision": "fp32"}), Workload(name="toy")).work
    profiled = make_device(**{"name": "source", "architecture": "s", "compute_unit": "MXU", **fields})
    target = make_device(architecture="t", vendor="v", compute_unit="MXU")
    siblings = (
        [MeasuredDevice(target.model_copy(update={"name": "sibling"}), of_sibling)] if of_sibling is not None else []
    )
    itself = [MeasuredDevice(profiled, of_source)] if of_source is not None else []
    run = SourceRun(profiled, siblings=lambda: itself)
    op = predict(work, run, TargetDevice(target, rows, lambda: siblings), RunPlan("toy", draws=0)).ops.iloc[0]
    return float(op["target_time_s"]), "" if pd.isna(op["resembling"]) else str(op["resembling"])


LARGE = table(*((m, m, m, "n", "t", 2 * 2 * m**3 / 10e12) for m in (2048, 4096, 8192)))  # at half the peak


def test_measured_products_tell_the_rate_of_those_without_shapes() -> None:
    cases = [(table(),), (LARGE,), (table(), LARGE), (LARGE, LARGE), (table(), None, LARGE)]
    (same_s, slower_s, faster_s, both_s, by_sibling_s), rests_on = zip(
        *(without_shapes(*case) for case in cases), strict=True
    )
    assert [same_s, both_s] == pytest.approx([1e-2, 1e-2])
    assert 1.5e-2 < slower_s < 2e-2  # the model of the other device is below its peak, too
    assert faster_s == pytest.approx(1e-4 / slower_s)
    assert same_s < by_sibling_s < slower_s
    of_both = "source in fp32 and toy in fp32"
    assert rests_on == ("", "toy in fp32", "source in fp32", of_both, "sibling in fp32, with a weight of 44 %")


@pytest.mark.parametrize("source", [{"architecture": "t"}, {"vendor": "v"}])
def test_devices_that_run_the_same_kernels_are_as_far_off_their_peaks(source: dict[str, str]) -> None:
    """What the source's products show is in its time already, and holds for the target as well."""
    assert without_shapes(table(), LARGE, **source) == without_shapes(table())


def test_one_device_is_as_far_off_its_peaks_in_all_formats() -> None:
    """Its measured products tell nothing of the ratio of two formats, of which one alone was measured."""
    work = count_work(make_ops({"op_type": "MatMul", "time_s": 1e-2, "precision": "fp32"}), Workload(name="toy")).work
    device = make_device(peak={"fp32": "10 TFLOP/s", "bf16": "20 TFLOP/s"})
    rows = table(*((m, m, m, "n", "t", 2 * 2 * m**3 / 10e12) for m in (2048, 4096, 8192)))
    narrow = work.assign(precision="bf16")
    actual = predict_on(narrow, device, rows, source=device, profiled=work).ops["target_time_s"].item()
    assert actual == predict_on(narrow, device, table(), source=device, profiled=work).ops["target_time_s"].item()
