"""Memory-bound kernels: which measured ones correct which."""

import numpy as np
import pandas as pd
import pytest

from estimator.core.types import Workload
from estimator.work import convert_precision, count_work
from tests.conftest import make_device, make_measurements, make_ops
from tests.model.toy import activated, activation_tables, pool, predict_on, streams


def streamed(precision: str, **row: object) -> float:
    """Time of a large element-wise op by one measured stream that took ten times the roofline."""
    sizes = {"op_class": "elementwise", "kernel": "add", "precision": "fp32", "bytes": 8e8, "time_s": 8e-3, **row}
    measured = make_measurements([sizes])
    relu = make_ops({"op_type": "Relu", "shapes": "10000x10000"})
    work = count_work(relu, Workload(name="t", precision=precision)).work
    return float(predict_on(work, make_device(), measured).ops["target_time_s"].iloc[0])


@pytest.mark.slow
def test_a_stream_corrects_streams_of_every_precision_and_of_either_cache_state() -> None:
    slow, usual = streamed("fp32", cache="cold"), streamed("fp32", cache="cold", time_s=1e-3)
    assert slow > 3 * usual
    assert streamed("fp32", cache="warm") == pytest.approx(slow)
    assert streamed("fp16", cache="cold") > 3 * streamed("fp16", cache="cold", time_s=1e-3)


def cast_on(target: dict[str, object], *rows: dict[str, object]) -> float:
    """What a cast to bf16 of a megabyte takes that is added to a step, of a device on which these rows were timed."""
    ops = make_ops({"op_type": "MatMul", "shapes": "8x512;512x512", "output_shapes": "8x512", "phase": "forward"},
                   {"op_type": "MatMul", "shapes": "8x512;8x512", "phase": "backward"})  # fmt: skip
    work = count_work(ops, Workload(name="toy")).work
    narrow = convert_precision(work, Workload(name="toy"), "bf16").work
    streams = make_measurements([target, *rows]).assign(library="toy 1")
    device = make_device(launch_latency="1 ns", peak={"fp32": "10 TFLOP/s", "bf16": "20 TFLOP/s"})
    there = streams.iloc[:1]
    actual = predict_on(narrow, device, streams, source=device, profiled=work, at_source=there).ops.iloc[len(work) :]
    return float(actual["target_time_s"].iloc[0])


@pytest.mark.slow
def test_measured_casts_correct_casts_though_the_source_has_none() -> None:
    """Also where the source's table has none: its step has none either."""
    stream = {"op_class": "elementwise", "precision": "fp32", "kernel": "add", "bytes": 1.5e6, "time_s": 1e-4}
    assert cast_on(stream) == pytest.approx(1e-4, rel=0.1)
    assert cast_on(stream, {**stream, "kernel": "cast", "precision": "bf16", "time_s": 3e-4}) == pytest.approx(
        3e-4, rel=0.1
    )


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
    return float(predict_on(work, device, measured, source=named, at_source=there).ops["target_time_s"].item())


@pytest.mark.slow
def test_streams_of_a_narrow_format_hardly_correct_wide_ones() -> None:
    """The target adds at the source's rate in fp32, and at a fifth of it in bf16, which its processor lacks."""
    wide, slow = (streams(*(by * 12e3 * 2**place / 800e9 for place in range(6))) for by in (1.0, 5.0))
    both = pd.concat([wide, slow.assign(precision="bf16")])
    assert in_format("bf16", both) == pytest.approx(5 * 1.2e-7, rel=0.25)
    assert in_format("fp32", both) == pytest.approx(1.2e-7, rel=0.25)


@pytest.mark.slow
def test_streams_of_another_format_stand_for_one_that_was_not_measured() -> None:
    """Streams that the caches hold at eight times the rate of memory, in fp32 alone, on both devices."""
    cached = streams(*(12e3 * 2**place / 800e9 / 8.0 for place in range(6)))
    assert in_format("bf16", cached) == pytest.approx(in_format("fp32", cached), rel=0.05)


def test_a_measured_pool_corrects_pools_of_its_own_pass() -> None:
    there, here = (make_measurements([pool(1e-3, "forward"), pool(back, "grad_input")]) for back in (2e-3, 60e-3))
    images = {"shapes": "800x32x32x64", "output_shapes": "800x16x16x64"}
    gradient = {"shapes": "800x32x32x64;800x16x16x64;800x16x16x64", "output_shapes": "800x32x32x64"}
    ran = ({"op_type": "MaxPool", **images, "time_s": 1e-3}, {"op_type": "MaxPoolGrad", **gradient, "time_s": 2e-3})
    work = count_work(make_ops(*ran), Workload(name="toy")).work
    actual = predict_on(work, make_device(), here, source=make_device(name="source"), at_source=there).ops
    forward, back = actual["target_time_s"]
    assert forward == pytest.approx(1e-3, rel=0.1)
    assert back == pytest.approx(60e-3, rel=0.1)


def test_pools_correct_no_streams_and_streams_correct_pools_where_no_pool_was_measured() -> None:
    slow = make_measurements([pool(60e-3, "grad_input")])
    wide = {"op_class": "elementwise", "kernel": "add", "pass": None, "bytes": 3e8, "flop": 1.0, "time_s": 3e-3}
    stream = make_measurements([{**pool(1.0, ""), **wide}])
    pooled = {"op_type": "MaxPool", "shapes": "800x32x32x64", "output_shapes": "800x16x16x64"}
    work = count_work(make_ops({"op_type": "Relu", "shapes": "8000x4000"}, pooled), Workload(name="toy")).work
    alone, both, neither = (
        predict_on(work, make_device(), rows).ops["target_time_s"]
        for rows in (stream, pd.concat([stream, slow], ignore_index=True), stream.iloc[:0])
    )
    assert both[0] == alone[0] > 2 * neither[0]
    assert alone[1] > 2 * neither[1]


def test_streams_correct_a_pool_of_a_precision_in_which_no_pool_was_measured() -> None:
    wide = {"op_class": "elementwise", "kernel": "add", "pass": None, "bytes": 3e8, "flop": 1.0, "time_s": 3e-3}
    rows = make_measurements([{**pool(1.0, ""), **wide}, pool(60e-3, "forward")])
    pooled = {"op_type": "MaxPool", "shapes": "800x32x32x64", "output_shapes": "800x16x16x64"}
    work = count_work(make_ops(pooled), Workload(name="toy", precision="fp16")).work
    slow, usual = (predict_on(work, make_device(), t).ops["target_time_s"].item() for t in (rows, rows[:0]))
    assert 1.5 * usual < slow < 20e-3


def test_kernels_along_channels_correct_their_own_ops_and_no_streams() -> None:
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
    stream, broadcast, gradient = predict_on(work, make_device(), rows).ops["target_time_s"]
    assert stream < 5e-3
    assert broadcast == pytest.approx(60e-3, rel=0.1)
    assert gradient == pytest.approx(10e-3, rel=0.25)
    modelled = predict_on(work, make_device(), rows[:1]).ops["target_time_s"]
    assert modelled[1] == pytest.approx(stream, rel=0.1)


@pytest.mark.parametrize(("here", "took"), [(4e-3, 4e-3), (8e-3, 8e-3)])
def test_a_measured_activation_corrects_activations(here: float, took: float) -> None:
    assert activated(*activation_tables(4e-3, here)) == pytest.approx([took, 1e-3], rel=0.05)


def test_an_activation_stays_slow_in_a_format_that_was_not_measured() -> None:
    there, here = activation_tables(4e-3, 4e-3)
    sigmoid, relu = activated(there, here, "bf16")
    assert sigmoid > 2.5 * relu


def test_a_softmax_is_the_least_known_of_streams_and_a_layer_norm_less_than_plain_ones() -> None:
    shapes = {"shapes": "20000x500", "output_shapes": "20000x500"}
    ops = make_ops(*({"op_type": name, **shapes} for name in ("Relu", "LayerNorm", "Softmax")))
    actual = predict_on(count_work(ops, Workload(name="t")).work, make_device(), make_measurements([])).ops
    relu, layer_norm, softmax = np.log(actual["high_s"] / actual["low_s"])
    assert 1.3 * relu < layer_norm
    assert 1.3 * layer_norm < softmax
