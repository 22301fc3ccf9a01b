import numpy as np
import pytest

from estimator.core.types import Workload
from estimator.model.efficiency import source_efficiency
from estimator.work import count_work
from tests.conftest import make_device, make_ops

SOURCE = make_device()  # 10 TFLOP/s, 500 GB/s
WORK = count_work(
    make_ops(
        {"op_type": "MatMul", "m": 1000, "n": 1000, "k": 1000, "time_s": 1e-3},
        {"op_type": "AddV2", "bytes": 5e8, "flop": 0.0, "time_s": 4e-3},
        {"op_type": "MatMul", "m": 8, "n": 8, "k": 8, "time_s": 0.0},
        {"op_type": "Mystery", "time_s": 1e-3},
    ),
    Workload(name="toy"),
).work


def test_the_efficiency_is_roofline_time_over_measured_time() -> None:
    actual = source_efficiency(WORK, SOURCE)
    assert actual[:2] == pytest.approx([0.2, 0.25])
    assert np.isnan(actual[2:]).all()  # took no time; no work is known


def test_without_specifications_of_the_source_there_is_none() -> None:
    unknown = SOURCE.model_copy(update={"specifications": "unknown"})
    assert np.isnan([source_efficiency(WORK, source) for source in (None, unknown)]).all()
