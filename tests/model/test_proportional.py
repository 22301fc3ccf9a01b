"""Times of ops without usable shapes, by ratios of rates."""

import itertools
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from estimator.core.schema import CONV_COLUMNS, GEMM_COLUMNS
from estimator.core.types import Floats, Workload
from estimator.devices import load_device
from estimator.model.proportional import (
    LEAST_SHARE,
    REFERENCE,
    WIDENING,
    Rates,
    binding_rate,
    fixed_share,
    has_rates,
    is_host_work,
    rates_of,
    ratio_by_rates,
    ratio_of_step,
    ratios_by_class,
    reference_products,
)
from estimator.validation.data import read_truth
from estimator.work import count_work
from tests.conftest import make_device, make_ops

UNKNOWN = float("nan")
BINDING = np.array(["compute", "memory", "unknown"], dtype=object)
LONG_S, KERNELS_ALONE = 50e-6, ("aiconfigurator", "vidur")  # tables whose times have no launches in them


def rates(compute: float, memory: float, uncertainty: float = 0.0) -> Rates:
    return Rates(np.full(3, compute), np.full(3, memory), uncertainty, np.full(3, "", dtype=object))


def ratios(target: Rates, starts: float = 0.0) -> Floats:
    return ratio_by_rates(BINDING, rates(1.0, 1.0), target, np.full(3, starts))


def test_products_go_by_the_peak_streams_by_bandwidth_others_by_the_mean() -> None:
    low, mid, high = ratios(rates(16.0, 4.0))
    assert mid == pytest.approx([1 / 16, 1 / 4, 1 / 8])
    assert low * WIDENING == pytest.approx([1 / 16, 1 / 8, 1 / 16])
    assert high / WIDENING == pytest.approx([1 / 8, 1 / 4, 1 / 4])


def test_where_one_rate_is_unknown_the_other_tells() -> None:
    assert ratios(rates(UNKNOWN, 4.0))[1, :3] == pytest.approx(1 / 4)
    assert ratios(rates(16.0, UNKNOWN))[1, :3] == pytest.approx(1 / 16)
    assert np.isnan(ratios(rates(UNKNOWN, UNKNOWN))[1]).all()


def test_the_interval_holds_its_mid_and_grows_with_the_spread_of_the_ratios() -> None:
    near, far = ratios(rates(5.0, 4.0)), ratios(rates(50.0, 4.0))
    assert (near[0] < near[1]).all() and (near[1] < near[2]).all()  # noqa: PT018
    assert (far[2] / far[0] > near[2] / near[0]).all()


def test_the_start_of_kernels_takes_as_long_on_any_gpu() -> None:
    by_rates, half = ratios(rates(16.0, 4.0)), ratios(rates(16.0, 4.0), 0.5)
    assert half == pytest.approx(0.5 * by_rates + 0.5 * np.array([[1 / WIDENING], [1.0], [WIDENING]]))
    assert ratios(rates(16.0, 4.0), 1.0)[1].tolist() == [1.0] * 3


def test_kernels_start_within_their_own_time_and_on_gpus_alone() -> None:
    rows = (
        {"op_type": "Relu", "time_s": time_s, "calls": calls} for time_s, calls in ((3e-5, 1), (3e-5, 5), (1e-6, 1))
    )
    work = count_work(make_ops(*rows, {"op_type": "Relu", "time_s": 0.0}), Workload(name="toy")).work
    gpu, processor = load_device("v100"), load_device("xeon-platinum-8280")
    assert fixed_share(work, gpu, gpu).tolist() == pytest.approx([0.1, 0.5, 1.0, 0.0])
    assert not fixed_share(work, processor, gpu).any()
    assert not fixed_share(work, gpu, processor).any()


def test_the_reference_products_are_one_in_each_precision() -> None:
    rows = ({"op_type": "MatMul", "precision": precision} for precision in ("bf16", "fp32", "bf16"))
    products = reference_products(count_work(make_ops(*rows), Workload(name="toy")).work)
    assert products["precision"].tolist() == ["bf16", "fp32"]
    assert products["flop"].tolist() == [2.0 * REFERENCE**3] * 2
    assert products["bytes"].tolist() == [3.0 * 2 * REFERENCE**2, 3.0 * 4 * REFERENCE**2]


def test_the_rate_of_products_stands_for_the_sustained_peak_but_not_of_streams() -> None:
    rows = ({"op_type": name, "precision": precision} for name in ("MatMul", "Relu") for precision in ("fp32", "bf16"))
    work = count_work(make_ops(*rows), Workload(name="toy")).work
    device = make_device(peak={"fp32": "10 TFLOP/s", "bf16": "100 TFLOP/s"})
    products = pd.DataFrame({"precision": ["bf16"], "rate": [7e12], "measured_on": ["here"]})
    actual, without = rates_of(device, work, products), rates_of(device, work)
    assert actual.measured_on.tolist() == ["", "here", "", ""]
    assert actual.compute.tolist() == pytest.approx([without.compute[0], 7e12, *without.compute[2:]])


@pytest.mark.slow
def test_intervals_hold_nine_of_ten_shapes_that_two_devices_timed(public_data: Callable[[str], Path]) -> None:
    """Of ops of 50 us and more, and of shorter ones in tables of kernels alone: the others have launches in them."""
    truth = read_truth(public_data("data"))[0]
    shaped = ["data_set", "op_class", "precision", *(column.name for column in (*GEMM_COLUMNS, *CONV_COLUMNS)), "bytes"]
    truth["shape"] = pd.util.hash_pandas_object(truth[shaped].astype(str), index=False)
    of_shape = truth.groupby(["device", "shape"])[["data_set", "op_class", "precision", "time_s"]].first()
    tables = {str(device): rows.droplevel(0) for device, rows in of_shape.groupby("device")}
    held = [held_of_pair(*pair, tables) for pair in itertools.permutations(tables, 2)]
    rows = pd.concat(held)
    shares = rows[rows["time_s"] > LONG_S].groupby("binding")["held"].mean()
    assert shares["compute"] == pytest.approx(0.93, abs=0.04)
    assert shares["memory"] == pytest.approx(0.93, abs=0.04)
    short = rows[rows["data_set"].isin(KERNELS_ALONE) & (rows["time_s"] <= LONG_S)]
    assert short["held"].mean() == pytest.approx(0.93, abs=0.04)
    assert short["error"].median() < 0.8 * short["error_by_rates"].median()


def held_of_pair(source: str, target: str, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """What binds each shape that both devices timed, whether the interval holds its time on the target, and errors."""
    both = tables[source].join(tables[target]["time_s"].rename("target_s"), how="inner")
    both = both[both["data_set"].isin(KERNELS_ALONE) | (both["time_s"] > LONG_S)].assign(calls=1.0)
    devices, binding = [load_device(name) for name in (source, target)], binding_rate(both["op_class"])
    on_source, on_target = (rates_of(device, both) for device in devices)
    low, mid, high = ratio_by_rates(binding, on_source, on_target, fixed_share(both, *devices))
    by_rates = ratio_by_rates(binding, on_source, on_target, np.zeros(len(both)))[1]
    ratio = (both["target_s"] / both["time_s"]).to_numpy(dtype=float)
    errors = {"error": abs(np.log(ratio / mid)), "error_by_rates": abs(np.log(ratio / by_rates))}
    return both[["data_set", "time_s"]].assign(binding=binding, held=(low < ratio) & (ratio < high), **errors)


def test_declared_uncertainty_widens_the_interval() -> None:
    sure, unsure = ratios(rates(16.0, 4.0)), ratios(rates(16.0, 4.0, uncertainty=0.2))
    assert unsure[2] / unsure[0] == pytest.approx(1.2**2 * sure[2] / sure[0])


def test_between_equal_devices_every_ratio_is_1() -> None:
    assert ratios(rates(1.0, 1.0))[1].tolist() == [1.0] * 3


def test_the_ratio_of_a_step_is_that_of_its_modelled_ops() -> None:
    source, target = np.array([3.0, 1.0, 4.0, 0.0]), np.array([0.3, 0.1, UNKNOWN, 5.0])
    assert ratio_of_step(source, target) == pytest.approx([LEAST_SHARE * 0.1, 0.1, 1.0])


def test_ops_that_the_target_does_not_run_tell_nothing() -> None:
    """As those that one op of a library stands for."""
    source, target = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0]), np.array([0.1, 0.1, 0.2, 0.2, 0.2, UNKNOWN])
    binding, removed = np.array(["memory"] * 7, dtype=object), (np.append(source, 99.0), np.append(target, 0.0))
    of_step = ratio_of_step(source, target)
    assert ratio_of_step(*removed).tolist() == of_step.tolist()
    assert ratios_by_class(of_step, *removed, binding)[:, 5].tolist() == [0.1 / WIDENING, 0.2, 0.2 * WIDENING]


@pytest.mark.parametrize(("target_s", "ends"), [(3.0, (1.0, 3.0)), (0.1, (0.1, 1.0))])
def test_a_few_short_ops_tell_only_how_far_the_step_may_reach(target_s: float, ends: tuple[float, float]) -> None:
    actual = ratio_of_step(np.array([1.0, 99.0]), np.array([target_s, UNKNOWN]))
    assert actual.tolist() == pytest.approx([LEAST_SHARE * ends[0], 1.0, WIDENING * ends[1]])


def test_onto_a_slower_device_the_ratio_of_a_step_may_exceed_1() -> None:
    low, mid, high = ratio_of_step(np.array([1.0]), np.array([2.0]))
    assert (low, mid, high) == pytest.approx((2 * LEAST_SHARE, 2.0, 2.0 * WIDENING))


def test_without_any_modelled_op_a_step_may_take_as_much_more_as_less() -> None:
    actual = ratio_of_step(np.array([1.0]), np.array([UNKNOWN])).tolist()
    assert actual == pytest.approx([LEAST_SHARE, 1.0, 1.0 / LEAST_SHARE])


def test_without_rates_ops_go_with_the_modelled_ops_of_their_class() -> None:
    """Of memory-bound ops nine tenths of the time go at 1/10; of products too little is modelled."""
    source = np.array([80.0, 10.0, 4.0, 2.0, 4.0, 50.0, 1.0, 300.0, 7.0])
    target = np.array([8.0, 1.0, 0.04, 0.02, 2.0, UNKNOWN, 0.5, UNKNOWN, UNKNOWN])
    binding = np.array([*["memory"] * 6, *["compute"] * 2, "unknown"], dtype=object)
    of_step = np.array([0.1, 0.2, 1.0])
    actual = ratios_by_class(of_step, source, target, binding)
    assert actual[:, 5] == pytest.approx([0.01 / WIDENING, 0.1, 0.1 * WIDENING])
    assert actual[:, [7, 8]].T.tolist() == [of_step.tolist()] * 2


@pytest.mark.parametrize(("modelled", "other_s"), [(4, 1.0), (5, 51.0)])
def test_few_or_short_ops_of_a_class_tell_nothing_of_its_others(modelled: int, other_s: float) -> None:
    source, binding = np.array([1.0] * modelled + [other_s]), np.array(["memory"] * (modelled + 1), dtype=object)
    target, of_step = np.append(source[:-1] / 10, UNKNOWN), np.array([0.1, 0.2, 1.0])
    assert ratios_by_class(of_step, source, target, binding)[:, -1].tolist() == of_step.tolist()


def test_the_class_of_an_op_tells_what_binds_it() -> None:
    names = ("MatMul", "Conv2D", "CudnnRNN", "Relu", "NcclAllReduce", "Mystery", "Const", "Placeholder", "VariableV2")
    work = count_work(make_ops(*({"op_type": name} for name in names)), Workload(name="toy")).work
    assert binding_rate(work["op_class"])[:6].tolist() == [*["compute"] * 3, "memory", "link", "unknown"]
    assert is_host_work(work).tolist() == [False] * 6 + [True, True, False]


def test_rates_are_of_the_ops_precision_and_path() -> None:
    peak = {"fp32": "10 TFLOP/s", "bf16": "100 TFLOP/s"}
    device = make_device(peak=peak)
    rows = [{"op_type": name, "precision": precision} for name in ("MatMul", "Relu") for precision in ("fp32", "bf16")]
    actual = rates_of(device, count_work(make_ops(*rows), Workload(name="toy")).work)
    wide, narrow, *streams = actual.compute
    assert narrow > 5 * wide
    assert streams[0] == streams[1]


def test_a_device_without_peak_and_bandwidth_has_no_rates() -> None:
    assert has_rates(make_device())
    device = make_device(specifications="unknown", peak={}, memory_bandwidth=None)
    assert not has_rates(device)
    work = count_work(make_ops({"op_type": "Relu"}), Workload(name="t")).work
    assert np.isnan(rates_of(device, work).memory).all()
