"""The fit finds the coefficients behind times it is shown, and holds on devices it was not shown."""

import numpy as np
import pandas as pd
import pytest

from estimator.fitting import memory_bound
from estimator.fitting.memory_bound import fit
from estimator.model.coefficients import shipped
from estimator.model.memory_bound import MemoryBoundCoefficients, stream_calls, stream_time
from estimator.validation import arguments
from tests.validation.public import truth

DEVICES = ("v100-pcie-32gb", "p4", "a100-pcie-40gb")
TRUE = MemoryBoundCoefficients(
    source="made up", streaming=0.85, streaming_std=0.1, softmax_short=1.2, softmax_long=1.5, row_overhead=100.0,
    cache=shipped().memory_bound.cache, unit_elements=shipped().memory_bound.unit_elements,
)  # fmt: skip
LATENCY = 10e-6


def rows() -> pd.DataFrame:
    """Element-wise, softmax and layer norm rows of three devices, timed as an eager framework with TRUE times them."""
    sizes = [
        (op, count, length) for op in ("add", "softmax", "ln") for count in (8, 16384, 65536) for length in (512, 3000)
    ]
    kinds = {"add": "elementwise", "softmax": "normalization", "ln": "normalization"}
    given = [
        {"device": device, "op": op, "op_class": kinds[op], "bytes": 8.0 * count * length, "row_length": length,
         "data_set": "neusight-vector"}
        for device in DEVICES for op, count, length in sizes
    ]  # fmt: skip
    actual = truth(*given)
    hardware = arguments.hardware(actual)
    time = stream_time(stream_calls(actual), hardware, TRUE.streaming * hardware.bandwidth, TRUE)
    return actual.assign(time_s=LATENCY + time)


def test_the_fit_finds_what_made_the_times() -> None:
    actual = fit(rows())
    for name in ("softmax_short", "softmax_long", "row_overhead"):
        assert getattr(actual, name) == pytest.approx(getattr(TRUE, name), rel=0.05), name
    assert memory_bound.SHARE < actual.streaming < TRUE.streaming  # drawn to what is known of memory in general


def test_the_order_of_rows_does_not_matter() -> None:
    one, two = fit(rows()), fit(rows().sample(frac=1.0, random_state=0))
    assert np.allclose(
        list(one.model_dump(exclude={"source", "cache", "unit_elements"}).values()),
        list(two.model_dump(exclude={"source", "cache", "unit_elements"}).values()),
    )


def test_without_rows_the_priors_remain() -> None:
    priors = memory_bound.PRIORS
    actual = fit(rows().iloc[:0])
    assert {name: getattr(actual, name) for name in priors} == {
        name: pytest.approx(m) for name, (m, _) in priors.items()
    }
    assert actual.streaming == memory_bound.SHARE
