"""A measured rate is the best case itself; a data sheet's is never reached."""

import numpy as np
import pandas as pd
import pytest

from estimator.core import schema
from estimator.core.types import RunPlan
from estimator.model import specifications, uncertainty
from estimator.model.coefficients import shipped
from tests.conftest import make_device, make_measurements
from tests.model.toy import predict_on

WORK = pd.DataFrame(
    {"op_class": ["gemm", "elementwise"], "precision": ["fp32", "fp32"], "flop": [1e12, 1e6], "bytes": [1e6, 1e9],
     "op": ["a", "b"], "time_s": [1.0, 1.0], "calls": [1.0, 1.0]}
)  # fmt: skip
NO_MEASUREMENTS = make_measurements([])


def time(op: int, field: str, status: str) -> float:
    written = {"peak": {"fp32": "10 TFLOP/s"}, "memory_bandwidth": "1 TB/s"}
    value = {"value": "10 TFLOP/s" if field == "peak" else "1 TB/s", "status": status, "source": "x"}
    device = make_device(**(written | {field: {"fp32": value} if field == "peak" else value}), launch_latency="1 us")
    actual = predict_on(schema.WORK.conform(WORK.iloc[[op]], "test"), device, NO_MEASUREMENTS, RunPlan("toy", draws=0))
    return float((actual.samples - actual.launch)[0, 0])


def test_a_power_limit_that_no_file_gives_widens_the_interval_to_longer_times() -> None:
    work = schema.WORK.conform(WORK.iloc[[0]], "test")
    powers = {"given": "900 W", "none": None}
    devices = (make_device(peak={"fp32": "10 TFLOP/s"}, power_limit=power, year=2022) for power in powers.values())
    given, none = (uncertainty.peaks(each, work, RunPlan("toy", draws=500)).samples[:, 0] for each in devices)
    assert not given.any()
    assert (none[0], none.min()) == (0, 0)
    assert np.exp(np.quantile(none, 0.95)) == pytest.approx(1 / uncertainty.UNKNOWN_POWER, rel=0.05)


@pytest.mark.parametrize(("power", "is_wider"), [("900 W", False), ("40 W", True)])
def test_an_uncertain_power_limit_widens_the_interval_where_it_binds(power: str, is_wider: bool) -> None:
    work, limit = schema.WORK.conform(WORK.iloc[[0]], "test"), {"value": power, "uncertainty": "40 %"}
    device = make_device(peak={"fp32": "10 TFLOP/s"}, power_limit=limit, year=2022)
    samples = uncertainty.peaks(device, work, RunPlan("toy", draws=500)).samples[:, 0]
    assert samples[0] == 0.0
    assert (samples.min() < -0.1 and samples.max() > 0.1) == is_wider
    assert is_wider or np.abs(samples).max() < 0.01


@pytest.mark.parametrize(("power", "is_wider"), [("900 W", False), ("100 W", True)])
def test_a_year_that_no_file_gives_widens_the_interval_where_power_binds(power: str, is_wider: bool) -> None:
    work = schema.WORK.conform(WORK, "test")
    devices = (make_device(peak={"fp32": "10 TFLOP/s"}, power_limit=power, year=year) for year in (2022, None))
    given, none = (uncertainty.peaks(each, work, RunPlan("toy", draws=500)).samples for each in devices)
    assert not given.any()
    assert not none[0].any()
    assert bool(np.quantile(none[:, 0], 0.95) > 0.1) == is_wider
    assert np.isfinite(none).all()


@pytest.mark.parametrize(("field", "op"), [("peak", 0), ("memory_bandwidth", 1)])
def test_a_measured_rate_is_what_is_attained_and_a_quoted_one_is_not(field: str, op: int) -> None:
    coefficients = shipped()
    share = (coefficients.gemm.sustained.share, coefficients.memory_bound.streaming)[op]
    assert time(op, field, "measured") == pytest.approx(share * time(op, field, "read"), rel=0.01)
    assert time(1 - op, field, "measured") == pytest.approx(time(1 - op, field, "read"), rel=0.02)


def test_the_numbers_behind_a_prediction_are_those_it_divides_by() -> None:
    device = make_device(peak={"fp32": "10 TFLOP/s", "bf16": "100 TFLOP/s"})
    work = WORK.assign(precision="bf16")
    ops = predict_on(schema.WORK.conform(work, "test"), device, NO_MEASUREMENTS, RunPlan("toy", draws=2)).ops
    assert set(specifications(ops, device)) == {
        "toy: peak.bf16.tensor",
        "toy: peak.fp32.vector",
        "toy: memory_bandwidth",
    }
    assert set(specifications(ops.iloc[:1], device)) == {"toy: peak.bf16.tensor", "toy: memory_bandwidth"}
