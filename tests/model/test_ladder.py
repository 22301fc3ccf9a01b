"""Which evidence an op's time stands on, where several speak."""

import numpy as np
import pytest

from estimator.core.interval import Z
from estimator.core.types import RunPlan, Workload
from estimator.work import count_work
from tests.conftest import make_device, make_measurements, make_ops
from tests.model.toy import NEAR, ROW, activated, activation_tables, pool, predict_on, table


def test_on_a_target_measured_like_the_source_an_op_takes_its_own_time() -> None:
    work = count_work(make_ops({"op_type": "MatMul", "time_s": 1e-3, **NEAR}), Workload(name="toy")).work
    rows, device = table(ROW).assign(library="toy 1"), make_device()
    same = predict_on(work, device.model_copy(update={"name": "twin"}), rows, source=device, at_source=rows).ops
    assert same["target_time_s"].item() == pytest.approx(1e-3)


def test_times_that_go_with_the_sources_run_are_as_uncertain_as_the_run() -> None:
    work = count_work(make_ops({"op_type": "Mystery"}, {"op_type": "MatMul", **NEAR}), Workload(name="toy")).work
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


def test_streams_correct_a_pool_that_one_device_timed_in_another_precision() -> None:
    """Else the factor between the devices would be that between a pool and a stream."""
    wide = {"op_class": "elementwise", "kernel": "add", "pass": None, "bytes": 3e8, "flop": 1.0, "time_s": 3e-3}
    there, here = (
        make_measurements([{**pool(1.0, ""), **wide}, {**pool(60e-3, "forward"), "precision": p}])
        for p in ("fp32", "bf16")
    )
    pooled = {"op_type": "MaxPool", "shapes": "800x32x32x64", "output_shapes": "800x16x16x64", "time_s": 60e-3}
    work = count_work(make_ops(pooled), Workload(name="toy")).work
    found = predict_on(work, make_device(), here, source=make_device(name="source"), at_source=there).ops
    assert found["target_time_s"].item() == pytest.approx(60e-3, rel=0.1)


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
    found = predict_on(work, make_device(), here, source=source, profiled=work, at_source=there).ops["target_time_s"]
    assert list(found) == pytest.approx([9e-3, 9e-3], rel=0.1)


@pytest.mark.parametrize("tables", [(4e-3, None), (None, 4e-3), (None, None)])
def test_streams_stand_for_an_activation_that_one_device_alone_timed(
    tables: tuple[float | None, ...],
) -> None:
    there, here = activation_tables(*tables)
    assert activated(there, here) == pytest.approx([4e-3, 1e-3], rel=0.05)
