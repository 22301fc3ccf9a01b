from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest

from estimator.core.interval import Z, bounds
from estimator.core.types import RunPlan, Workload
from estimator.devices import load_device
from estimator.devices.measurements.tables import check_rows, load_measurements
from estimator.model import predict, uncertainty
from estimator.model.assumptions import assumptions
from estimator.model.coefficients import shipped
from estimator.model.evidence import told
from estimator.model.hardware import hardware_of
from estimator.model.kernels import MODELS, launch_latency
from estimator.model.measured import evidence, telling
from estimator.work import convert_precision, count_work
from tests.conftest import make_device, make_measurements, make_ops

PLAN = RunPlan("toy", draws=10)
DEVICES = ("p100-pcie-16gb", "v100-sxm2-16gb", "xeon-phi-7250")


def table(*rows: tuple[int, int, int, str, str, float]) -> pd.DataFrame:
    columns = ("m", "n", "k", "trans_a", "trans_b", "time_s")
    frame = pd.DataFrame(rows, columns=columns).assign(op_class="gemm", precision="fp32", batch=1)
    return make_measurements(frame)


def times(measured: pd.DataFrame, *wanted: dict[str, object]) -> pd.DataFrame:
    ops = make_ops(*({"op_type": "MatMul", **row} for row in wanted))
    work = count_work(ops, Workload(name="toy")).work
    return predict(work, None, make_device(), measured, PLAN).ops


ROW = (1024, 512, 2048, "n", "t", 3e-4)
SLOW = (1024, 512, 2048, "n", "t", 6e-4)
SHAPE: dict[str, object] = {"m": 1024, "n": 512, "k": 2048}


def test_the_very_shape_gives_the_measured_time_of_every_call() -> None:
    found = times(table(ROW), {**SHAPE, "trans_a": "n", "trans_b": "t", "calls": 3}).iloc[0]
    assert (found["method"], found["target_time_s"]) == ("measured", pytest.approx(9e-4))


def test_a_stream_is_known_by_what_one_call_moves() -> None:
    rows = streams(1e-5).assign(bytes=[4e6], flop=[3.0])
    ops = {"op_type": "AddV2", "bytes": 8e6, "flop": 6.0, "calls": 2, "kernel": "some_kernel"}
    work = count_work(make_ops(ops), Workload(name="toy")).work
    found = predict(work, None, make_device(), rows, PLAN).ops.iloc[0]
    assert (found["method"], found["target_time_s"]) == ("measured", pytest.approx(2e-5))


@pytest.mark.parametrize(("length", "method"), [(None, "measured"), (100, "measured"), (64, "interpolated")])
def test_a_normalization_of_unknown_rows_is_one_of_any(length: int | None, method: str) -> None:
    given = {"op_class": "normalization", "operator": "softmax", "precision": "fp32", "bytes": 8e6}
    rows = make_measurements([{**given, "kernel": "softmax", "row_length": 100, "time_s": 1e-3}])
    work = count_work(make_ops({**given, "op_type": "Softmax", "row_length": length}), Workload(name="toy")).work
    assert predict(work, None, make_device(), rows, PLAN).ops["method"].item() == method


def test_a_product_and_its_transpose_are_one_shape() -> None:
    swapped = {"m": 512, "n": 1024, "k": 2048, "trans_a": "t", "trans_b": "n"}
    assert times(table(ROW), swapped).iloc[0]["method"] == "measured"


def test_unknown_transposes_match_any_and_unlike_ones_only_interpolate() -> None:
    assert times(table(ROW), SHAPE).iloc[0]["method"] == "measured"
    unlike = times(table(ROW), {**SHAPE, "trans_a": "t", "trans_b": "t"}).iloc[0]
    assert unlike["method"] == "interpolated"
    assert unlike["target_time_s"] == pytest.approx(3e-4, rel=0.05)


def test_measurements_tell_less_of_shapes_that_are_less_alike() -> None:
    """Twice as slow as modelled: a near shape is nearly so, a far one or a batch of products hardly."""
    near: dict[str, object] = {**SHAPE, "k": 2112}
    far: dict[str, object] = {"m": 64, "n": 64, "k": 64}
    batched: dict[str, object] = {**SHAPE, "batch": 64}
    modelled, measured = (times(rows, near, far, batched) for rows in (table(), table(SLOW)))
    slower = np.log(measured["target_time_s"] / modelled["target_time_s"])
    assert slower[0] > 0.5 * np.log(2)
    assert slower[0] > 2 * slower[1:].max()
    assert list(measured["method"]) == ["interpolated", "scaled", "scaled"]
    assert list(modelled["method"]) == ["roofline"] * 3


def test_what_is_measured_narrows_the_interval() -> None:
    modelled, measured = (times(rows, {**SHAPE, "m": 1032}).iloc[0] for rows in (table(), table(SLOW)))
    assert measured["high_s"] / measured["low_s"] < modelled["high_s"] / modelled["low_s"]


def test_a_launch_tells_nothing_of_a_kernel() -> None:
    small: dict[str, object] = {"m": 16, "n": 16, "k": 16}
    found = times(table((16, 16, 16, "n", "n", 1e-3)), {**small, "m": 32})
    assert found["method"].iloc[0] == "roofline"


def test_interpolated_times_never_beat_the_roofline() -> None:
    cheating = (1024, 512, 2048, "n", "n", 2e-5)
    found = times(table(cheating), {"m": 1028, "n": 512, "k": 2048}).iloc[0]
    assert found["method"] == "interpolated"
    assert found["target_time_s"] == pytest.approx(5e-6 + 2 * 1028 * 512 * 2048 / 10e12)


def test_declared_ends_become_the_interval() -> None:
    measured = table(ROW).assign(time_low_s=2.7e-4, time_high_s=3.3e-4)
    ops = count_work(make_ops({"op_type": "MatMul", **SHAPE}), Workload(name="toy")).work
    found = predict(ops, None, make_device(), measured, RunPlan("toy", draws=4000)).ops.iloc[0]
    assert found["low_s"] == pytest.approx(2.7e-4, rel=0.02)
    assert found["high_s"] == pytest.approx(3.3e-4, rel=0.02)


def test_the_order_of_the_measured_rows_does_not_matter() -> None:
    device = load_device("v100")
    rows = load_measurements(device)
    dims = [
        {"op_type": "MatMul", "m": m, "n": n, "k": k} for m in (64, 1000, 4096) for n in (32, 700) for k in (512, 3000)
    ]
    work = count_work(make_ops(*dims), Workload(name="toy")).work
    shuffled = rows.sample(frac=1, random_state=1).reset_index(drop=True)
    a, b = (predict(work, None, device, table, RunPlan("v100", draws=0)).samples for table in (rows, shuffled))
    assert np.allclose(a, b, rtol=1e-12)


def test_a_square_product_is_its_own_transpose() -> None:
    measured = table((512, 512, 1024, "n", "t", 3e-4))
    swapped: dict[str, object] = {"m": 512, "n": 512, "k": 1024, "trans_a": "t", "trans_b": "n"}
    assert times(measured, swapped).iloc[0]["method"] == "measured"


@pytest.mark.parametrize("name", DEVICES)
def test_small_products_take_a_launch_and_grow_no_faster(name: str) -> None:
    device = load_device(name)
    dims = [{"op_type": "MatMul", "m": m, "n": 16, "k": 64} for m in (64, 96, 128, 192, 256, 384, 512)]
    work = count_work(make_ops(*dims), Workload(name="toy")).work
    found = predict(work, None, device, load_measurements(device), RunPlan(name, draws=0)).samples[0]
    longer = found[1:] / found[:-1]
    assert found.min() >= launch_latency(device, shipped())
    assert (longer > 0.99).all()
    assert (longer < 1.01 * work["m"].to_numpy(dtype=float)[1:] / work["m"].to_numpy(dtype=float)[:-1]).all()


NEAR: dict[str, object] = {**SHAPE, "m": 1032}


def test_rows_of_one_shape_are_one_piece_of_evidence() -> None:
    """Their median, whatever one of them says, with ends that hold them all; written as transposes or not."""
    alike = table(ROW, (512, 1024, 2048, "t", "n", 9e-4), (1024, 512, 2048, "n", "t", 3e-1))
    middle = times(table((*ROW[:5], 9e-4)), SHAPE).iloc[0]
    ops = count_work(make_ops({"op_type": "MatMul", **SHAPE}), Workload(name="toy")).work
    found = predict(ops, None, make_device(), alike, RunPlan("toy", draws=4000)).ops.iloc[0]
    assert (found["method"], found["target_time_s"]) == (middle["method"], pytest.approx(middle["target_time_s"]))
    assert found["low_s"] < 0.5 * middle["target_time_s"]
    assert found["high_s"] > 100 * middle["target_time_s"]


def test_rows_of_one_shape_weigh_no_more_than_one_row() -> None:
    other = (1048, 512, 2048, "n", "t", 6e-4)
    once, often = (times(table(*rows, other), NEAR)["target_time_s"].iloc[0] for rows in ([ROW], [ROW] * 5))
    assert once == pytest.approx(often)


@pytest.mark.parametrize("transposes", [("n", "t"), ("", "")])
def test_flagged_rows_count_only_where_there_are_no_others(transposes: tuple[str, str]) -> None:
    """Neither in the mean of the very shape, nor in the launch that is taken off before its neighbours interpolate."""
    honest, cheating = ROW, (*ROW[:3], *transposes, 1e-9)
    flagged = table(honest, cheating).assign(flag=[None, "beats_bound"])
    assert times(flagged, SHAPE)["target_time_s"].iloc[0] == pytest.approx(3e-4)
    assert times(flagged, NEAR).equals(times(table(honest), NEAR))
    alone = times(flagged.iloc[1:], SHAPE, NEAR)
    assert list(alone["method"]) == ["measured", "roofline"]
    assert alone["target_time_s"].iloc[0] == pytest.approx(1e-9)


def test_products_of_cold_operands_are_no_evidence() -> None:
    assert list(times(table(ROW).assign(cache="cold"), SHAPE, NEAR)["method"]) == ["roofline", "roofline"]


def test_a_flagged_neighbour_does_not_pull_the_others() -> None:
    other = (1048, 512, 2048, "n", "t", 1e-5)
    flagged = table(ROW, other).assign(flag=[None, "beats_bound"])
    assert times(flagged, NEAR).equals(times(table(ROW), NEAR))


def test_a_measured_time_is_of_launch_and_kernel_and_as_sure_as_its_ends() -> None:
    """A row that takes what is modelled, and one of nine in ten within a tenth, up and down."""
    device, latency, c, tenth = make_device(), 20e-6, shipped(), 0.1 * NormalDist().inv_cdf(0.95)
    rows = table(ROW, SLOW)
    on = hardware_of(device, rows["op_class"], rows["precision"])
    time = latency + MODELS["gemm"].busy(rows, on, device, c).time
    sides = np.array([np.nan, tenth])
    rows = rows.assign(time_s=time, time_low_s=time * np.exp(-sides), time_high_s=time * np.exp(sides))
    _, residual, doubt = told(MODELS["gemm"], rows, on, device, latency, c)
    assert residual == pytest.approx([0, 0], abs=1e-12)
    part = time / (time - latency)
    noise = np.sqrt(part**2 - 1.0) * c.gemm.likeness.noise  # what a measurement's noise is more of what is left of it
    assert doubt == pytest.approx(np.hypot([0, 0.1] * part, noise))


def lengthened(measured: pd.DataFrame, slower: float) -> float:
    """Logarithm of the time that is predicted, where the source's run took so many times what is modelled there."""
    work = count_work(make_ops({"op_type": "MatMul", **NEAR}), Workload(name="toy")).work
    source = make_device(name="source")
    modelled = predict(work, None, source, table(), PLAN).samples[0]
    found = predict(work.assign(time_s=slower * modelled), source, make_device(), measured, PLAN)
    return float(np.log(found.samples - found.launch)[0, 0])


def test_what_the_source_tells_counts_as_far_as_the_targets_measurements_do_not() -> None:
    alone, beside = (lengthened(rows, 1.5) - lengthened(rows, 1.0) for rows in (table(), table(SLOW)))
    assert alone == pytest.approx(shipped().transfer.weight * np.log(1.5))
    assert 0 < beside < 0.7 * alone


def test_the_ceiling_is_launched_as_late_as_can_be() -> None:
    """As on a device that always takes as long to launch as another at its worst."""
    work = count_work(make_ops({"op_type": "MatMul", "m": 128, "n": 128, "k": 128}), Workload(name="toy")).work
    wide = make_device(launch_latency={"value": "20 us", "uncertainty": "90 %"})
    longest = float(bounds(uncertainty.latency(wide, PLAN))[2][0])
    slow = make_device(launch_latency=f"{1e6 * longest} us")
    one, other = (predict(work, None, device, table(), PLAN) for device in (wide, slow))
    assert list(one.ops["bound"]) == ["latency"]
    assert one.ceiling_s == pytest.approx(other.ceiling_s)


def streamed(precision: str, **row: object) -> float:
    """Time of a large element-wise op by one measured stream that took ten times the roofline."""
    sizes = {"op_class": "elementwise", "kernel": "add", "precision": "fp32", "bytes": 8e8, "time_s": 8e-3, **row}
    measured = make_measurements([sizes])
    relu = make_ops({"op_type": "Relu", "shapes": "10000x10000"})
    work = count_work(relu, Workload(name="t", precision=precision)).work
    return float(predict(work, None, make_device(), measured, PLAN).ops["target_time_s"].iloc[0])


def test_a_stream_tells_of_every_precision_and_a_cold_one_where_there_is_no_warm_one() -> None:
    slow, usual = streamed("fp32", cache="cold"), streamed("fp32", cache="cold", time_s=1e-3)
    assert slow > 3 * usual
    assert streamed("fp32", cache="warm") == pytest.approx(slow)
    assert streamed("fp16", cache="cold") > 3 * streamed("fp16", cache="cold", time_s=1e-3)


def test_a_cold_stream_counts_only_where_its_shape_has_no_warm_one() -> None:
    rows = pd.DataFrame({"op_class": "elementwise", "precision": "fp32", "kernel": "add", "bytes": 8e8,
                         "cache": ["warm", "cold"], "time_s": [1e-3, 9e-3]})  # fmt: skip
    found = make_measurements(rows)
    assert evidence(telling(found))["time_s"].tolist() == [1e-3]
    assert evidence(telling(found, "cold"))["time_s"].tolist() == [9e-3]


def test_a_warm_row_that_beats_a_bound_leaves_no_cold_one_to_tell_of_the_cache() -> None:
    rows = pd.DataFrame({"op_class": "elementwise", "precision": "fp32", "kernel": "add", "bytes": 8e5,
                         "cache": ["warm", "cold"], "flag": ["beats_bound", None], "time_s": [1e-6, 9e-6]})  # fmt: skip
    found = make_measurements(rows)
    assert telling(found)["time_s"].tolist() == [1e-6]
    assert telling(found, "cold")["time_s"].tolist() == [9e-6]


def test_a_product_tells_of_a_cold_cache_where_it_was_timed_in_none_but_not_the_other_way_round() -> None:
    rows = table(ROW, (8, 8, 8, "n", "n", 1e-6))
    cold = rows.iloc[:1].assign(cache="cold", time_s=5e-4)
    assert evidence(telling(pd.concat([rows, cold]), "cold"))["time_s"].tolist() == [1e-6, 5e-4]
    assert telling(pd.concat([rows, cold]))["time_s"].tolist() == [3e-4, 1e-6]
    assert telling(cold).empty


def in_step(at_source: pd.DataFrame, at_target: pd.DataFrame, own: float, *wanted: dict[str, object]) -> pd.DataFrame:
    """Ops that took so long on a source, predicted where both devices were measured by one library."""
    ops = make_ops(*({"op_type": "MatMul", "time_s": own, **row} for row in wanted))
    work = count_work(ops, Workload(name="toy")).work
    told_by = [rows.assign(library="toy 1") for rows in (at_source, at_target)]
    source, target = (make_device(name=name, launch_latency="1 ns") for name in ("source", "target"))
    return predict(work, source, target, told_by[1], PLAN, at_source=told_by[0]).ops


def test_what_a_step_makes_of_an_op_goes_with_it() -> None:
    measured, near = in_step(table(ROW), table(SLOW), 4.5e-4, SHAPE, NEAR).to_dict("records")
    assert measured["method"] == "measured"
    assert measured["target_time_s"] == pytest.approx(6e-4 + 1.5e-4 * np.sqrt(2))  # what is added grows by the root
    assert near["method"] == "transferred"


def test_an_op_shorter_in_its_step_is_so_by_the_same_factor() -> None:
    found = in_step(table(ROW), table(SLOW), 2e-4, SHAPE)
    assert found["target_time_s"].item() == pytest.approx(4e-4, rel=1e-5)


def test_what_launches_an_op_is_no_part_of_its_step_where_it_is_none_on_the_source() -> None:
    """Timed in chains 300 us there and 600 us here, of which launches are 40 us and 60 us; in its step 260 us."""
    work = count_work(make_ops({"op_type": "MatMul", "time_s": 2.6e-4, **SHAPE}), Workload(name="toy")).work
    source, target = make_device(name="source", launch_latency="40 us"), make_device(launch_latency="60 us")
    there, here = (rows.assign(library="toy 1") for rows in (table(ROW), table(SLOW)))
    found = predict(work, source, target, here, PLAN, at_source=there).ops
    assert found["target_time_s"].item() == pytest.approx(5.4e-4)


@pytest.mark.parametrize(("own", "kept"), [(1e-4, 0.0), (9e-4, 1.0)])
def test_a_launch_that_is_left_out_is_no_part_of_a_modelled_time(own: float, kept: float) -> None:
    """Its time by itself and its least time stay what they are."""
    work = count_work(make_ops({"op_type": "MatMul", "time_s": own, **NEAR}), Workload(name="toy")).work
    source, target = make_device(name="source", launch_latency="40 us"), make_device(launch_latency="60 us")
    there, here = (rows.assign(library="toy 1") for rows in (table(ROW), table(SLOW)))
    found, without = (predict(work, source, target, here, PLAN, at_source=at) for at in (there, there.iloc[:0]))
    assert found.ops["method"].tolist() == ["transferred"]
    assert (found.launch > 0).all() == (kept > 0)
    assert found.floor_s[0] <= without.floor_s[0]


def test_what_ran_beside_an_op_adds_nothing_to_it() -> None:
    """Twice as long as by itself, as another op had half of each instant."""
    found = in_step(table(ROW), table(SLOW), 6e-4, {**SHAPE, "shared_s": 3e-4})
    assert found["target_time_s"].item() == pytest.approx(12e-4)


@pytest.mark.parametrize(("own", "wanted"), [(3e-4, 4e-4), (6e-4, 1e-3), (4.5e-4, 7e-4), (1.2e-3, 2.0e-3)])
def test_an_op_takes_as_much_longer_as_the_caches_of_both_lack_of_it(own: float, wanted: float) -> None:
    """In the cache, 300 and 400 us; out of it, 600 and 1000; half of the way between; beyond, it is the step's own."""
    there, here = (pd.concat([table(ROW).assign(time_s=warm), table(ROW).assign(time_s=cold, cache="cold")])
                   for warm, cold in ((3e-4, 6e-4), (4e-4, 1e-3)))  # fmt: skip
    added = 1.0 + np.sqrt(6e-4 / 1e-3)  # grows by the root
    stored: tuple[dict[str, object], ...] = ({}, {"trans_a": "n", "trans_b": "t"})  # not known how, and as measured
    found = in_step(there, here, own, *({**SHAPE, **how} for how in stored))["target_time_s"]
    assert found.to_numpy() == pytest.approx(wanted if own < 1e-3 else 1e-3 * added)


def test_what_one_device_alone_was_asked_of_an_empty_cache_tells_nothing() -> None:
    """What the source's step lacks of the cache is in its own time already."""
    cold = pd.concat([table(SLOW), table(SLOW).assign(time_s=5e-3, cache="cold")])
    for there, here in ((table(ROW), cold), (cold, table(SLOW))):
        alone = there["time_s"].min()
        assert in_step(there, here, alone, SHAPE)["target_time_s"].item() == pytest.approx(6e-4)


def test_a_cast_that_is_added_finds_nothing_in_the_cache() -> None:
    """The source does not tell of it: the weights that it reads were used a step ago."""
    rows = pd.DataFrame({"op_class": "elementwise", "precision": "fp32", "kernel": "add", "bytes": 1024 * 512 * 6,
                         "cache": ["warm", "cold"], "time_s": [1e-4, 9e-4]})  # fmt: skip
    streams = make_measurements(rows).assign(library="toy 1")
    ops = make_ops({"op_type": "MatMul", "shapes": "8x1024;1024x512", "output_shapes": "8x512", "phase": "forward"},
                   {"op_type": "MatMul", "shapes": "8x1024;8x512", "phase": "backward"})  # fmt: skip
    work = count_work(ops, Workload(name="toy")).work
    narrow = convert_precision(work, Workload(name="toy"), "bf16").work
    device = make_device(launch_latency="1 ns", peak={"fp32": "10 TFLOP/s", "bf16": "20 TFLOP/s"})
    found = predict(narrow, device, device, streams, PLAN, profiled=work, at_source=streams).ops.iloc[len(work) :]
    assert found["target_time_s"].to_numpy() == pytest.approx(9e-4, rel=0.05)


def cast_on(target: dict[str, object], *rows: dict[str, object]) -> float:
    """What a cast to bf16 of a megabyte takes that is added to a step, of a device on which these rows were timed."""
    ops = make_ops({"op_type": "MatMul", "shapes": "8x512;512x512", "output_shapes": "8x512", "phase": "forward"},
                   {"op_type": "MatMul", "shapes": "8x512;8x512", "phase": "backward"})  # fmt: skip
    work = count_work(ops, Workload(name="toy")).work
    narrow = convert_precision(work, Workload(name="toy"), "bf16").work
    streams = make_measurements([target, *rows]).assign(library="toy 1")
    device = make_device(launch_latency="1 ns", peak={"fp32": "10 TFLOP/s", "bf16": "20 TFLOP/s"})
    there = streams.iloc[:1]
    found = predict(narrow, device, device, streams, PLAN, profiled=work, at_source=there).ops.iloc[len(work) :]
    return float(found["target_time_s"].iloc[0])


def test_a_cast_is_told_by_casts_where_they_were_timed() -> None:
    """Also where the source's table has none: its step has none either."""
    stream = {"op_class": "elementwise", "precision": "fp32", "kernel": "add", "bytes": 1.5e6, "time_s": 1e-4}
    assert cast_on(stream) == pytest.approx(1e-4, rel=0.1)
    assert cast_on(stream, {**stream, "kernel": "cast", "precision": "bf16", "time_s": 3e-4}) == pytest.approx(
        3e-4, rel=0.1
    )


def test_only_rows_of_its_precision_are_told_to_be_behind_a_product() -> None:
    measured = pd.concat([table(ROW).assign(source="mine"), table(ROW).assign(precision="fp16", source="theirs")])
    work = count_work(make_ops({"op_type": "MatMul", **SHAPE}), Workload(name="toy")).work
    device = make_device(peak={"fp32": "10 TFLOP/s", "fp16": "20 TFLOP/s"})
    found = predict(work, None, device, measured, PLAN).ops
    said = [s for s in assumptions(found, device, measured, Workload(name="toy")) if "measured ops" in s]
    assert said == ["toy: measured ops are those of mine"]


def test_of_a_kernel_on_both_devices_the_quickest_repeats_tell() -> None:
    """The same kernel: half of the target's repeats were put off the processor."""
    usual = table(ROW).assign(repeats=9)
    late = table(SLOW).assign(time_low_s=ROW[-1], time_high_s=SLOW[-1], repeats=9)
    assert in_step(usual, late, 4.5e-4, SHAPE)["target_time_s"].item() == pytest.approx(4.5e-4)


def test_the_low_end_of_a_printed_time_is_no_repeat() -> None:
    usual, printed = table(ROW).assign(repeats=9), table(ROW).assign(time_low_s=0.9 * ROW[-1])
    assert in_step(usual, printed, 4.5e-4, SHAPE)["target_time_s"].item() == pytest.approx(4.5e-4)


def test_on_a_target_measured_as_the_source_an_op_takes_what_it_took() -> None:
    work = count_work(make_ops({"op_type": "MatMul", "time_s": 1e-3, **NEAR}), Workload(name="toy")).work
    rows, device = table(ROW).assign(library="toy 1"), make_device()
    same = predict(work, device, device.model_copy(update={"name": "twin"}), rows, PLAN, at_source=rows).ops
    assert same["target_time_s"].item() == pytest.approx(1e-3)


def test_what_moves_with_the_sources_run_is_as_uncertain_as_the_run() -> None:
    work = count_work(make_ops({"op_type": "Mystery"}, {"op_type": "MatMul", **NEAR}), Workload(name="toy")).work
    device, plan = make_device(), RunPlan("toy", draws=4000)
    carried, modelled = predict(work, None, device, table(), plan, step_spread=0.1).ops.to_dict("records")
    assert carried["high_s"] / carried["target_time_s"] == pytest.approx(np.exp(0.1 * Z), rel=0.02)
    assert modelled["high_s"] == predict(work, None, device, table(), plan).ops["high_s"][1]
    rows = table(ROW).assign(library="toy 1")
    near, far = (
        predict(work, device, device, rows, plan, at_source=rows, step_spread=spread).samples[1:, 1].std()
        for spread in (0.0, 0.5)
    )
    assert far > 2 * near > 0


CONVOLUTION: dict[str, object] = {
    "op_class": "convolution", "precision": "fp32", "conv_n": 8, "conv_c": 16, "conv_h": 9, "conv_w": 10, "conv_k": 32,
    "conv_r": 3, "conv_s": 3, "pad_h": 1, "pad_w": 1, "stride_h": 2, "pass": "forward",
}  # fmt: skip


@pytest.mark.parametrize(("stated", "method"), [({}, "measured"), ({"conv_p": 5, "conv_q": 10}, "measured"),
                                                ({"conv_p": 4, "conv_q": 10}, "interpolated")])  # fmt: skip
def test_a_convolution_is_measured_whether_its_output_is_stated_or_not(stated: dict[str, object], method: str) -> None:
    for measured, wanted in ((stated, {}), ({}, stated)):
        rows = make_measurements([{**CONVOLUTION, **measured, "time_s": 1e-3}])
        work = count_work(make_ops({"op_type": "Conv2D", **CONVOLUTION, **wanted}), Workload(name="toy")).work
        assert predict(work, None, make_device(), rows, PLAN).ops["method"].tolist() == [method]


def streams(*times: float, kernel: str = "add", op_class: str = "elementwise", **row: object) -> pd.DataFrame:
    """Measured streams of 12, 24, 48 … kB; a device of 800 GB/s needs 15 ns for the first."""
    sizes = [12e3 * 2**place for place in range(len(times))]
    rows = pd.DataFrame({"bytes": sizes, "time_s": times, "flop": [size / 12 for size in sizes]})
    known = rows.assign(op_class=op_class, kernel=kernel, precision="fp32", cache="warm", library="toy 1", **row)
    return check_rows(make_measurements(known), make_device(), "streams")


def test_streams_from_the_cache_tell_of_streams_where_one_library_was_measured_on_both() -> None:
    """Twice as fast as memory on the source, eight times on the target."""
    there, here = (streams(*(12e3 * 2**place / 800e9 / by for place in range(6))) for by in (2.0, 8.0))
    assert here["flag"].notna().all()
    work = count_work(make_ops({"op_type": "AddV2", "shapes": "4000;4000", "time_s": 25e-9}), Workload(name="toy")).work
    source = make_device(name="source", launch_latency="0.01 ns")
    device = make_device(launch_latency="0.01 ns")
    found = predict(work, source, device, here, PLAN, at_source=there).ops
    assert found["target_time_s"].item() == pytest.approx(25e-9 / 4, rel=0.1)
    assert found["low_s"].item() < 0.98 * found["target_time_s"].item()


def in_format(precision: str, measured: pd.DataFrame) -> float:
    """What a stream takes that took 120 ns, no longer than by itself, on a device that is measured as this one."""
    work = count_work(
        make_ops({"op_type": "AddV2", "shapes": "16000;16000", "time_s": 1.2e-7}),
        Workload(name="toy", precision=precision),
    ).work
    device = make_device(launch_latency="1 ns", peak={"fp32": "10 TFLOP/s", "bf16": "10 TFLOP/s"})
    usual = streams(*(12e3 * 2**place / 800e9 for place in range(6)))
    there = pd.concat([usual, usual.assign(precision="bf16")])
    named = device.model_copy(update={"name": "source"})
    return float(predict(work, named, device, measured, PLAN, at_source=there).ops["target_time_s"].item())


def test_streams_of_a_narrow_format_tell_little_of_wide_ones() -> None:
    """The target adds at the source's rate in fp32, and at a fifth of it in bf16, which its processor lacks."""
    wide, slow = (streams(*(by * 12e3 * 2**place / 800e9 for place in range(6))) for by in (1.0, 5.0))
    both = pd.concat([wide, slow.assign(precision="bf16")])
    assert in_format("bf16", both) == pytest.approx(5 * 1.2e-7, rel=0.25)
    assert in_format("fp32", both) == pytest.approx(1.2e-7, rel=0.25)


def test_where_nobody_measured_a_format_bytes_are_bytes() -> None:
    """Streams that the caches hold at eight times the rate of memory, in fp32 alone, on both devices."""
    cached = streams(*(12e3 * 2**place / 800e9 / 8.0 for place in range(6)))
    assert in_format("bf16", cached) == pytest.approx(in_format("fp32", cached), rel=0.05)


def test_a_small_stream_tells_where_one_library_timed_both_devices() -> None:
    """Half as long as a launch beside it; by one device alone its time may be the launch's."""
    rows = streams(1e-6 + 0.5e-6)
    work = count_work(
        make_ops({"op_type": "AddV2", "shapes": "1000;1000", "time_s": 1.5e-6}), Workload(name="toy")
    ).work
    device = make_device(launch_latency="1 us", memory_bandwidth="24 GB/s")
    named = device.model_copy(update={"name": "source"})
    slow = rows.assign(time_s=1e-6 + 1.5e-6)
    one, both = (predict(work, named, device, slow, PLAN, at_source=there).ops for there in (None, rows))
    assert one["method"].item() != "interpolated"
    assert both["target_time_s"].item() == pytest.approx(2.5e-6, rel=0.15)


def test_what_did_not_move_on_the_source_moves_nowhere() -> None:
    rows = streams(*(12e3 * 2**place / 800e9 for place in range(3)))
    ran = {"op_type": "AssignVariableOp", "shapes": "1;100000000", "time_s": 1e-7}
    work = count_work(make_ops(ran), Workload(name="toy")).work
    found = predict(work, make_device(name="source"), make_device(), rows, PLAN, at_source=rows)
    assert found.ops["target_time_s"].item() == pytest.approx(1e-7)
    assert found.floor_s.item() <= 1e-7


def pool(time_s: float, what: str) -> dict[str, object]:
    sizes = {
        "conv_n": 8,
        "conv_c": 64,
        "conv_h": 32,
        "conv_w": 32,
        "conv_r": 2,
        "conv_s": 2,
        "conv_p": 16,
        "conv_q": 16,
    }
    both = 2 if what == "grad_input" else 1  # image and output, and of a gradient theirs too
    moved = {"bytes": both * 4.0 * 800 * 64 * (32 * 32 + 16 * 16), "flop": 800.0 * 64 * 32 * 32}
    about = {"op_class": "pooling", "kernel": "max_pool", "precision": "fp32", "library": "toy 1", "pass": what}
    return {**about, **sizes, **moved, "time_s": time_s}


def test_a_measured_pool_tells_of_pools_of_its_pass() -> None:
    there, here = (make_measurements([pool(1e-3, "forward"), pool(back, "grad_input")]) for back in (2e-3, 60e-3))
    images = {"shapes": "800x32x32x64", "output_shapes": "800x16x16x64"}
    gradient = {"shapes": "800x32x32x64;800x16x16x64;800x16x16x64", "output_shapes": "800x32x32x64"}
    ran = ({"op_type": "MaxPool", **images, "time_s": 1e-3}, {"op_type": "MaxPoolGrad", **gradient, "time_s": 2e-3})
    work = count_work(make_ops(*ran), Workload(name="toy")).work
    found = predict(work, make_device(name="source"), make_device(), here, PLAN, at_source=there).ops
    forward, back = found["target_time_s"]
    assert forward == pytest.approx(1e-3, rel=0.1)
    assert back == pytest.approx(60e-3, rel=0.1)


def test_a_pool_that_one_device_timed_in_another_precision_learns_from_streams_on_both() -> None:
    """Else the factor between the devices would be that between a pool and a stream."""
    wide = {"op_class": "elementwise", "kernel": "add", "pass": None, "bytes": 3e8, "flop": 1.0, "time_s": 3e-3}
    there, here = (
        make_measurements([{**pool(1.0, ""), **wide}, {**pool(60e-3, "forward"), "precision": p}])
        for p in ("fp32", "bf16")
    )
    pooled = {"op_type": "MaxPool", "shapes": "800x32x32x64", "output_shapes": "800x16x16x64", "time_s": 60e-3}
    work = count_work(make_ops(pooled), Workload(name="toy")).work
    found = predict(work, make_device(name="source"), make_device(), here, PLAN, at_source=there).ops
    assert found["target_time_s"].item() == pytest.approx(60e-3, rel=0.1)


def test_streams_learn_nothing_from_pools_but_pools_from_streams_where_no_pool_was_measured() -> None:
    slow = make_measurements([pool(60e-3, "grad_input")])
    wide = {"op_class": "elementwise", "kernel": "add", "pass": None, "bytes": 3e8, "flop": 1.0, "time_s": 3e-3}
    stream = make_measurements([{**pool(1.0, ""), **wide}])
    pooled = {"op_type": "MaxPool", "shapes": "800x32x32x64", "output_shapes": "800x16x16x64"}
    work = count_work(make_ops({"op_type": "Relu", "shapes": "8000x4000"}, pooled), Workload(name="toy")).work
    alone, both, neither = (
        predict(work, None, make_device(), rows, PLAN).ops["target_time_s"]
        for rows in (stream, pd.concat([stream, slow], ignore_index=True), stream.iloc[:0])
    )
    assert both[0] == alone[0] > 2 * neither[0]
    assert alone[1] > 2 * neither[1]


def test_a_pool_of_a_precision_in_which_none_was_measured_learns_from_streams() -> None:
    wide = {"op_class": "elementwise", "kernel": "add", "pass": None, "bytes": 3e8, "flop": 1.0, "time_s": 3e-3}
    rows = make_measurements([{**pool(1.0, ""), **wide}, pool(60e-3, "forward")])
    pooled = {"op_type": "MaxPool", "shapes": "800x32x32x64", "output_shapes": "800x16x16x64"}
    work = count_work(make_ops(pooled), Workload(name="toy", precision="fp16")).work
    slow, usual = (predict(work, None, make_device(), t, PLAN).ops["target_time_s"].item() for t in (rows, rows[:0]))
    assert 1.5 * usual < slow < 20e-3


def test_ops_along_channels_learn_from_their_own_kernels_and_others_nothing_of_them() -> None:
    add = {"op_class": "elementwise", "kernel": "add", "precision": "fp32", "library": "toy 1", "bytes": 3e8}
    add |= {"flop": 1.0, "time_s": 3e-3}
    bias = {**add, "kernel": "bias_add", "conv_c": 64, "time_s": 60e-3}
    sums = {**bias, "op_class": "reduction", "kernel": "bias_grad", "time_s": 20e-3}
    rows = make_measurements([add, bias, sums])
    image, channel = "800x732x64", "64"
    ran = (
        {"op_type": "Relu", "shapes": image},
        {"op_type": "BiasAdd", "shapes": f"{image};{channel}"},
        {"op_type": "BiasAddGrad", "shapes": image, "output_shapes": channel},
    )
    work = count_work(make_ops(*ran), Workload(name="toy")).work
    stream, broadcast, gradient = predict(work, None, make_device(), rows, PLAN).ops["target_time_s"]
    assert stream < 5e-3
    assert broadcast == pytest.approx(60e-3, rel=0.1)
    assert gradient == pytest.approx(10e-3, rel=0.25)
    untold = predict(work, None, make_device(), rows[:1], PLAN).ops["target_time_s"]
    assert untold[1] == pytest.approx(stream, rel=0.1)


@pytest.mark.parametrize("with_sums", [(True, False), (False, True)])
def test_what_one_device_alone_measured_along_channels_tells_nothing(with_sums: tuple[bool, bool]) -> None:
    amounts = {"op_class": "elementwise", "precision": "fp32", "library": "toy 1", "bytes": 3e8, "flop": 1e8}
    add = {**amounts, "kernel": "add", "time_s": 1e-3}
    bias = {**amounts, "kernel": "bias_add", "conv_c": 64, "time_s": 9e-3}
    sums = {**bias, "op_class": "reduction", "kernel": "bias_grad"}
    there, here = (make_measurements([add, bias] + [sums] * told) for told in with_sums)
    image, source = "37500x16x64", make_device(name="source")
    ran = (
        {"op_type": "BiasAdd", "shapes": f"{image};64", "time_s": 9e-3},
        {"op_type": "BiasAddGrad", "shapes": image, "output_shapes": "64", "time_s": 9e-3},
    )
    work = count_work(make_ops(*ran), Workload(name="toy")).work
    found = predict(work, source, make_device(), here, PLAN, profiled=work, at_source=there).ops["target_time_s"]
    assert list(found) == pytest.approx([9e-3, 9e-3], rel=0.1)


def activation_tables(*sigmoid_s: float | None) -> list[pd.DataFrame]:
    """Tables of an addition, and of a sigmoid of the same bytes where it has a time."""
    amounts = {"op_class": "elementwise", "precision": "fp32", "library": "toy 1", "bytes": 3e8, "flop": 1e8}
    add, sigmoid = ({**amounts, "kernel": name, "time_s": 1e-3} for name in ("add", "sigmoid"))
    rows = ([add, {**sigmoid, "time_s": time_s}] if time_s else [add] for time_s in sigmoid_s)
    return [make_measurements(found) for found in rows]


def activated(there: pd.DataFrame, here: pd.DataFrame, precision: str = "fp32") -> list[float]:
    """Time of a sigmoid that took 4 ms and of a Relu that took 1 ms on a source."""
    rows = [{"op_type": name, "shapes": "37500x1000", "time_s": t} for name, t in (("Sigmoid", 4e-3), ("Relu", 1e-3))]
    work = count_work(make_ops(*rows), Workload(name="toy")).work
    crossed = convert_precision(work, Workload(name="toy"), precision).work
    crossed = crossed[crossed["op_type"].isin(["Sigmoid", "Relu"])].reset_index(drop=True)
    source, target = make_device(name="source"), make_device()
    found = predict(crossed, source, target, here, PLAN, profiled=work, at_source=there).ops
    return [float(time) for time in found["target_time_s"]]


@pytest.mark.parametrize(("here", "took"), [(4e-3, 4e-3), (8e-3, 8e-3)])
def test_an_activation_takes_what_its_kernel_takes(here: float, took: float) -> None:
    assert activated(*activation_tables(4e-3, here)) == pytest.approx([took, 1e-3], rel=0.05)


@pytest.mark.parametrize("tables", [(4e-3, None), (None, 4e-3), (None, None)])
def test_where_one_device_alone_has_an_activations_kernel_streams_tell_of_both(
    tables: tuple[float | None, ...],
) -> None:
    there, here = activation_tables(*tables)
    assert activated(there, here) == pytest.approx([4e-3, 1e-3], rel=0.05)


def test_an_activation_in_a_format_that_nobody_measured_stays_as_slow_as_it_is() -> None:
    there, here = activation_tables(4e-3, 4e-3)
    sigmoid, relu = activated(there, here, "bf16")
    assert sigmoid > 2.5 * relu
