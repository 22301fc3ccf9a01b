"""A measured rate is the best case itself; a data sheet's is never reached."""

import numpy as np
import pandas as pd
import pytest

from estimator.core import schema
from estimator.core.types import RunPlan
from estimator.model import coefficients, predict, specifications
from estimator.model.uncertainty import draw_rates
from tests.conftest import make_device

WORK = pd.DataFrame(
    {"op_class": ["gemm", "elementwise"], "precision": ["fp32", "fp32"], "flop": [1e9, 1e6], "bytes": [1e6, 1e9]}
)


@pytest.mark.parametrize("status", ["read", "measured"])
@pytest.mark.parametrize(("field", "op"), [("peak", 0), ("memory_bandwidth", 1)])
def test_shares_of_a_measured_rate_are_shares_of_the_best(field: str, op: int, status: str) -> None:
    written = {"peak": {"fp32": "10 TFLOP/s"}, "memory_bandwidth": "1 TB/s"}
    value = {"value": "10 TFLOP/s" if field == "peak" else "1 TB/s", "status": status, "source": "x"}
    device = make_device(**(written | {field: {"fp32": value} if field == "peak" else value}))
    efficiency = draw_rates(device, WORK, RunPlan("toy", draws=10)).efficiency
    shipped = coefficients.load()
    share = (shipped.matrix_vector, shipped.memory)[op]
    expected = share.mid / (share.high if status == "measured" else 1)
    assert efficiency[0, op] == pytest.approx(expected)
    assert (efficiency <= 1).all()
    assert efficiency[0, 1 - op] == (shipped.memory, shipped.matrix_vector)[op].mid
    assert np.isfinite(efficiency).all()


def test_the_numbers_behind_a_prediction_are_those_it_divides_by() -> None:
    device = make_device(peak={"fp32": "10 TFLOP/s", "bf16": "100 TFLOP/s"})
    work = WORK.assign(precision="bf16", op=["a", "b"], time_s=1.0, calls=1.0)
    nothing = schema.MEASUREMENTS.conform(pd.DataFrame(columns=schema.MEASUREMENTS.names()), "test")
    ops = predict(schema.WORK.conform(work, "test"), None, device, nothing, RunPlan("toy", draws=2)).ops
    assert set(specifications(ops, device)) == {
        "toy: peak.bf16.tensor",
        "toy: peak.fp32.vector",
        "toy: memory_bandwidth",
    }
    assert set(specifications(ops.iloc[:1], device)) == {"toy: peak.bf16.tensor", "toy: memory_bandwidth"}
