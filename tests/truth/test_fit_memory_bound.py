"""The fit finds the coefficients behind times it is shown, and holds on devices it was not shown."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from estimator.core.errors import EstimatorError
from estimator.model.memory_bound import MemoryBound, stream_time, streams
from estimator.truth import arguments, fit_memory_bound, neusight, protocol, scores
from estimator.truth.data import describe
from estimator.truth.fit_memory_bound import calibrate, fit, method
from estimator.truth.tables import TRUTH
from tests.truth.public import truth

DEVICES = ("v100-pcie-32gb", "p4", "a100-pcie-40gb")
TRUE = MemoryBound(
    source="made up", streaming=0.85, streaming_spread=0.1, softmax_short=1.2, softmax_long=1.5, row_overhead=100.0,
    latency_s=10e-6, floor_s=25e-6,
)  # fmt: skip


def rows(latency: float = TRUE.latency_s) -> pd.DataFrame:
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
    found = truth(*given)
    time = stream_time(streams(found), arguments.hardware(found), TRUE, latency, floor=TRUE.floor_s)
    return found.assign(time_s=time)


def test_the_fit_finds_what_made_the_times() -> None:
    found = fit(rows())
    for name in ("softmax_short", "softmax_long", "row_overhead", "latency_s", "floor_s"):
        assert getattr(found, name) == pytest.approx(getattr(TRUE, name), rel=0.05), name
    assert fit_memory_bound.SHARE < found.streaming < TRUE.streaming  # drawn to what is known of memory in general


def test_the_order_of_rows_does_not_matter() -> None:
    one, two = fit(rows()), fit(rows().sample(frac=1.0, random_state=0))
    assert np.allclose(
        list(one.model_dump(exclude={"source"}).values()), list(two.model_dump(exclude={"source"}).values())
    )


def test_one_stream_and_one_launch_tell_share_and_latency() -> None:
    c = TRUE.model_copy(update={"streaming": 0.6})
    of_device = rows()
    own = of_device[(of_device["device"] == "p4") & (of_device["op"] == "add")]
    assert calibrate(own, c) == pytest.approx((TRUE.streaming, TRUE.latency_s, TRUE.floor_s))
    assert calibrate(own.iloc[:0], c) == (0.6, TRUE.latency_s, TRUE.floor_s)


def test_rows_of_other_classes_are_not_predicted() -> None:
    asked = pd.concat([rows().head(1), truth({"device": "p4", "m": 64, "n": 64, "k": 64})])
    assert np.isnan(method(rows())(asked, asked.iloc[:0])).tolist() == [False, True]


def test_without_rows_there_is_no_fit() -> None:
    with pytest.raises(EstimatorError, match=r"vector_ops\.parquet"):
        fit(rows().iloc[:0])


def test_held_out_devices(public_data: Callable[[str], Path]) -> None:
    path = public_data("data/neusight/vector_ops.parquet")
    published = TRUTH.conform(neusight.read(path), str(path))
    devices = {
        "a100-pcie-40gb": "A100",
        "p100-pcie-16gb": "P100",
        "p4": "P4",
        "v100-pcie-32gb": "V100",
        "mi100": "MI100",
    }
    parts = [_described(published, name, word) for name, word in devices.items()]
    problems = [problem for problem in protocol.PROBLEMS if problem.name in ("memory", "memory-kit")]
    judged = protocol.judge(pd.concat(parts, ignore_index=True), {"model": method}, problems)
    table = scores.held_out(judged, ["model"]).set_index("problem")
    overall = table[(table["device"] == "") & (table["op_class"] == "")].groupby(level=0).first()
    assert (overall.loc["memory", ["median", "mean"]] <= [10.0, 12.0]).all()
    assert (overall.loc["memory-kit", ["median", "mean"]] <= [4.0, 7.0]).all()


def _described(published: pd.DataFrame, name: str, word: str) -> pd.DataFrame:
    from estimator.devices import load_device

    return describe(published[published["device"].str.contains(rf"\b{word}\b")], load_device(name))[0]
