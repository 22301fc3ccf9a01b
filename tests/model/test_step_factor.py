"""What the source's step made of its ops goes with them to the target."""

import numpy as np
import pandas as pd
import pytest

from estimator.core.interval import Z
from estimator.core.types import Workload
from estimator.model.isolated import DeviceOps
from estimator.model.step_factor import (
    StepTimes,
    cold_fraction,
    has_common_kernels,
    hidden_launch_fraction,
    in_step_factor,
    transferable,
    without_launch,
)
from estimator.work import convert_precision, count_work
from tests.conftest import make_device, make_measurements, make_ops
from tests.model.toy import NEAR, ROW, SHAPE, SLOW, predict_in_step, predict_on, streams, table


def test_time_added_by_the_sources_step_is_added_on_the_target() -> None:
    measured, near = predict_in_step(table(ROW), table(SLOW), 4.5e-4, SHAPE, NEAR).to_dict("records")
    assert measured["method"] == "measured"
    assert measured["target_time_s"] == pytest.approx(6e-4 + 1.5e-4 * np.sqrt(2))  # what is added grows by the root
    assert near["method"] == "transferred"


def test_an_op_that_is_shorter_in_its_step_is_shorter_by_the_same_factor() -> None:
    actual = predict_in_step(table(ROW), table(SLOW), 2e-4, SHAPE)
    assert actual["target_time_s"].item() == pytest.approx(4e-4, rel=1e-5)


def test_a_launch_that_the_sources_step_hides_is_left_out_on_the_target() -> None:
    """Timed in chains 300 us there and 600 us here, of which launches are 40 us and 60 us; in its step 260 us."""
    work = count_work(make_ops({"op_type": "MatMul", "time_s": 2.6e-4, **SHAPE}), Workload(name="toy")).work
    source, target = make_device(name="source", launch_latency="40 us"), make_device(launch_latency="60 us")
    there, here = (rows.assign(library="toy 1") for rows in (table(ROW), table(SLOW)))
    actual = predict_on(work, target, here, source=source, at_source=there).ops
    assert actual["target_time_s"].item() == pytest.approx(5.4e-4)


@pytest.mark.parametrize(("own", "kept"), [(2.4e-4, 0.0), (9e-4, 1.0)])
def test_a_hidden_launch_is_left_out_of_a_modelled_time_as_well(own: float, kept: float) -> None:
    """Its time by itself and its least time stay what they are."""
    work = count_work(make_ops({"op_type": "MatMul", "time_s": own, **NEAR}), Workload(name="toy")).work
    source, target = make_device(name="source", launch_latency="40 us"), make_device(launch_latency="60 us")
    there, here = (rows.assign(library="toy 1") for rows in (table(ROW), table(SLOW)))
    actual, without = (predict_on(work, target, here, source=source, at_source=at) for at in (there, there.iloc[:0]))
    assert actual.ops["method"].tolist() == ["transferred"]
    assert (actual.launch > 0).all() == (kept > 0)
    assert actual.floor_s[0] <= without.floor_s[0]


def test_an_op_that_ran_beside_another_is_not_slower_for_it() -> None:
    """Twice as long as by itself, as another op had half of each instant."""
    actual = predict_in_step(table(ROW), table(SLOW), 6e-4, {**SHAPE, "shared_s": 3e-4})
    assert actual["target_time_s"].item() == pytest.approx(12e-4)


@pytest.mark.parametrize(("own", "wanted"), [(3e-4, 4e-4), (6e-4, 1e-3), (4.5e-4, 7e-4), (1.2e-3, 2.0e-3)])
def test_an_op_is_as_cold_on_the_target_as_its_step_made_it_on_the_source(own: float, wanted: float) -> None:
    """In the cache, 300 and 400 us; out of it, 600 and 1000; half of the way between; beyond, it is the step's own."""
    there, here = (pd.concat([table(ROW).assign(time_s=warm), table(ROW).assign(time_s=cold, cache="cold")])
                   for warm, cold in ((3e-4, 6e-4), (4e-4, 1e-3)))  # fmt: skip
    added = 1.0 + np.sqrt(6e-4 / 1e-3)  # grows by the root
    stored: tuple[dict[str, object], ...] = ({}, {"trans_a": "n", "trans_b": "t"})  # not known how, and as measured
    actual = predict_in_step(there, here, own, *({**SHAPE, **how} for how in stored))["target_time_s"]
    assert actual.to_numpy() == pytest.approx(wanted if own < 1e-3 else 1e-3 * added)


@pytest.mark.slow
def test_cold_times_of_one_device_alone_change_nothing() -> None:
    """What the source's step lacks of the cache is in its own time already."""
    cold = pd.concat([table(SLOW), table(SLOW).assign(time_s=5e-3, cache="cold")])
    for there, here in ((table(ROW), cold), (cold, table(SLOW))):
        alone = there["time_s"].min()
        assert predict_in_step(there, here, alone, SHAPE)["target_time_s"].item() == pytest.approx(6e-4)


@pytest.mark.slow
def test_a_cast_that_is_added_to_the_step_runs_cold() -> None:
    """The source does not tell of it: the weights that it reads were used a step ago."""
    rows = pd.DataFrame({"op_class": "elementwise", "precision": "fp32", "kernel": "add", "bytes": 1024 * 512 * 6,
                         "cache": ["warm", "cold"], "time_s": [1e-4, 9e-4]})  # fmt: skip
    streams = make_measurements(rows).assign(library="toy 1")
    ops = make_ops({"op_type": "MatMul", "shapes": "8x1024;1024x512", "output_shapes": "8x512", "phase": "forward"},
                   {"op_type": "MatMul", "shapes": "8x1024;8x512", "phase": "backward"})  # fmt: skip
    work = count_work(ops, Workload(name="toy")).work
    narrow = convert_precision(work, Workload(name="toy"), "bf16").work
    device = make_device(launch_latency="1 ns", peak={"fp32": "10 TFLOP/s", "bf16": "20 TFLOP/s"})
    actual = predict_on(narrow, device, streams, source=device, profiled=work, at_source=streams).ops.iloc[len(work) :]
    assert actual["target_time_s"].to_numpy() == pytest.approx(9e-4, rel=0.05)


def test_streams_from_the_cache_count_where_one_library_timed_them_on_both_devices() -> None:
    """Twice as fast as memory on the source, eight times on the target."""
    there, here = (streams(*(12e3 * 2**place / 800e9 / by for place in range(6))) for by in (2.0, 8.0))
    assert here["flag"].notna().all()
    work = count_work(make_ops({"op_type": "AddV2", "shapes": "4000;4000", "time_s": 25e-9}), Workload(name="toy")).work
    source = make_device(name="source", launch_latency="0.01 ns")
    device = make_device(launch_latency="0.01 ns")
    actual = predict_on(work, device, here, source=source, at_source=there).ops
    assert actual["target_time_s"].item() == pytest.approx(25e-9 / 4, rel=0.1)
    assert actual["low_s"].item() < 0.98 * actual["target_time_s"].item()


def test_an_op_that_moved_nothing_on_the_source_moves_nothing_on_the_target() -> None:
    rows = streams(*(12e3 * 2**place / 800e9 for place in range(3)))
    ran = {"op_type": "AssignVariableOp", "shapes": "1;100000000", "time_s": 1e-7}
    work = count_work(make_ops(ran), Workload(name="toy")).work
    actual = predict_on(work, make_device(), rows, source=make_device(name="source"), at_source=rows)
    assert actual.ops["target_time_s"].item() == pytest.approx(1e-7)
    assert actual.floor_s.item() <= 1e-7


def test_the_factor_is_the_time_in_the_step_over_that_by_itself() -> None:
    own, alone = np.array([3.0, 1.0, 0.0, 1.0]), np.array([2.0, 2.0, 2.0, np.nan])
    np.testing.assert_array_equal(in_step_factor(StepTimes(own, own), alone, alone), [1.5, 0.5, np.nan, np.nan])


def test_added_time_grows_as_the_square_root() -> None:
    """Twice as long in its step; then half of that is another op's; then nothing tells of the op on the target."""
    own, alone = np.full(4, 2.0), np.ones(4)
    actual = in_step_factor(StepTimes(own, np.array([2.0, 2.0, 1.0, 2.0])), alone, np.array([4.0, 0.25, 4.0, np.nan]))
    np.testing.assert_allclose(actual, [1.5, 3.0, 2.0, 2.0])


def test_time_added_beside_another_op_grows_as_the_square_root_too() -> None:
    """Beside another throughout, of its 8 s it had 4, 3 more than by itself; other ops' growth does not matter."""
    own, shared, alone = np.array([8.0, 8.0]), np.array([4.0, 8.0]), np.array([1.0, 8.0])
    actual = in_step_factor(StepTimes(own, shared), alone, np.array([4.0, 0.5]))
    np.testing.assert_allclose(actual[0] * 4.0, 2.0 * (4.0 + 3.0 * 2.0))
    assert actual[1] == 1.0


def test_the_cold_fraction_is_how_far_a_step_empties_the_cache() -> None:
    """Half; all, beyond it as well; none where it is shorter; all where nothing tells: unknown, or hardly longer."""
    shared, warm, cold = np.array([1.5, 2.0, 4.0, 0.5, np.nan, 1.0, 0.9]), np.ones(7), np.array([2.0] * 5 + [1.0, 1.04])
    np.testing.assert_array_equal(cold_fraction(shared, warm, cold), [0.5, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0])
    assert cold_fraction(np.ones(1), np.full(1, np.nan), cold[:1]).item() == 1.0


def test_the_hidden_fraction_is_how_much_of_its_launch_an_op_lacks_in_its_step() -> None:
    """Half; all, and no more where it is shorter still; nothing where it is longer, or nothing tells."""
    shared, launch = np.array([8.0, 6.0, 3.0, 11.0, np.nan, 0.0, 8.0]), np.array([4.0] * 6 + [0.0])
    fraction = hidden_launch_fraction(shared, np.full(7, 10.0), launch)
    np.testing.assert_array_equal(fraction, [0.5, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(without_launch(np.array([10.0, 4.0]), np.full(2, 4.0)), [6.0, 0.4])


def kernels_of(precision: str = "fp32", time_s: float = 1e-3, **known: object) -> DeviceOps:
    rows = make_ops({"op_type": "MatMul", "time_s": time_s, **SHAPE})
    work = count_work(rows, Workload(name="toy", precision=precision)).work
    return DeviceOps(work, make_device(**known), {})


@pytest.mark.parametrize(
    ("target", "wanted"),
    [
        (kernels_of(architecture="one"), 3.0),  # the same kernels
        (kernels_of(architecture="two"), 3.0 * np.exp(-Z * 0.2)),  # what the model's interval leaves
        (kernels_of("bf16", architecture="one"), np.nan),  # other kernels
    ],
)
def test_of_the_sources_time_over_its_model_that_part_holds_which_is_the_kernels(
    target: DeviceOps, wanted: float
) -> None:
    source, log_std = kernels_of(architecture="one"), np.array([0.2])
    assert transferable(np.array([3.0]), source, target, log_std) == pytest.approx([wanted], nan_ok=True)
    assert transferable(1 / np.array([3.0]), source, target, log_std) == pytest.approx([1 / wanted], nan_ok=True)


def test_a_small_ratio_is_the_devices_own() -> None:
    source, target = (kernels_of(architecture=name) for name in ("one", "two"))
    assert transferable(np.array([1.3, 0.8]), source, target, np.array([0.2])).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("source", "target", "common"),
    [
        ({"vendor": "NVIDIA"}, {"vendor": "nvidia"}, True),
        ({"vendor": "NVIDIA"}, {"vendor": "AMD"}, False),
        ({"vendor": "NVIDIA", "compute_unit": "core"}, {"vendor": "NVIDIA"}, False),
        ({}, {}, False),
    ],
)
def test_accelerators_of_one_vendor_run_common_kernels(
    source: dict[str, str], target: dict[str, str], common: bool
) -> None:
    assert has_common_kernels(make_device(**source), make_device(**target)) == common


@pytest.mark.parametrize(("vendor", "ratio"), [("NVIDIA", 1.0), ("AMD", None)])
def test_a_kernel_that_its_model_does_not_know_takes_as_long_on_the_next_device(
    vendor: str, ratio: float | None
) -> None:
    """Ten times what the model says, on both devices of one architecture; of another vendor the model's own time."""
    known = {"vendor": "NVIDIA", "architecture": "one", "compute_unit": "SM"}
    source, target = make_device(name="source", **known), make_device(**{**known, "vendor": vendor})
    alone, empty = table(ROW).iloc[:0], table(ROW).iloc[:0]
    rows = make_ops({"op_type": "MatMul", "time_s": 1.0, **SHAPE})
    work = count_work(rows, Workload(name="toy")).work
    actual = predict_on(work, target, alone, source=source, at_source=empty).ops
    assert actual["method"].tolist() == ["transferred" if ratio else "roofline"]
    if ratio:
        assert actual["target_time_s"].item() == pytest.approx(ratio, rel=1e-6)
