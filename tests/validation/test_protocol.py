"""The protocol: families apart, times hidden, calibration rows not judged, the same rows every time."""

import itertools

import numpy as np
import pandas as pd
import pytest

from estimator.collect.measure import sweep
from estimator.core.errors import EstimatorError
from estimator.core.types import Floats
from estimator.validation import calibration_rows, protocol
from estimator.validation.protocol import JUDGED_OVER_S, PROBLEMS, Predictor, judge, own_rows
from tests.validation.public import truth

DEVICES = {"neusight-linear": ("p4", "v100-pcie-32gb"), "deepbench-fp32": ("gtx-1080-ti", "v100-sxm2-16gb")}
SIZES = tuple(itertools.product((64, 512, 2048, 4096), (96, 1024, 4096), (128, 2048, 8192)))
OF = {problem.name: problem for problem in PROBLEMS}


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    plain = [
        {"device": device, "data_set": data_set, "m": m, "n": n, "k": k}
        for data_set, devices in DEVICES.items()
        for device in devices
        for m, n, k in SIZES
    ]
    of_neusight = [{"device": device, "data_set": "neusight-bmm"} for device in DEVICES["neusight-linear"]]
    batched = [
        {**of, "batch": 2**b, "m": m, "n": m, "k": 64} for of in of_neusight for b in range(2, 10) for m in (64, 999)
    ]
    streams = [
        {**of, "data_set": "neusight-vector", "op_class": "elementwise", "op": op, "bytes": 12 * 4**e}
        for of in of_neusight for op in ("add", "relu") for e in range(14)
    ]  # fmt: skip
    return truth(*plain, *batched, *streams)


def test_methods_see_neither_rows_of_the_family_nor_times(rows: pd.DataFrame) -> None:
    seen: list[tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]] = []

    def method(train: pd.DataFrame) -> Predictor:
        def predict(rows_to_predict: pd.DataFrame, own: pd.DataFrame) -> Floats:
            seen.append((train, rows_to_predict, own))
            return np.asarray(rows_to_predict["ideal_s"])

        return predict

    judge(rows, {"spy": method})
    families = {frozenset(train["family"]) for train, _, _ in seen}
    assert families == {frozenset({"volta"}), frozenset({"pascal-gp102"})}
    for train, rows_to_predict, own in seen:
        assert not set(train["family"]) & set(rows_to_predict["family"])
        assert len(rows_to_predict[["device", "stack"]].drop_duplicates()) == 1
        assert "time_s" not in rows_to_predict
        assert not set(rows_to_predict.index) & (set(own.index) | set(train.index))
        assert set(own["device"]) <= set(rows_to_predict["device"])
        assert (rows_to_predict["ideal_s"] > JUDGED_OVER_S).all()
    assert len({len(own) for _, _, own in seen}) > 1


def test_without_own_rows_every_eligible_row_is_judged_once(rows: pd.DataFrame) -> None:
    judged = judge(
        rows, {"roofline": lambda train: lambda rows_to_predict, own: rows_to_predict["ideal_s"].to_numpy()}
    )["gemm"]
    worth = rows[(rows["op_class"] == "gemm") & (rows["ideal_s"] > JUDGED_OVER_S)]
    assert sorted(judged.index) == sorted(worth.index)
    assert judged.loc[worth.index, "time_s"].equals(worth["time_s"])


def test_own_shapes_are_a_quarter_of_each_group_whatever_the_order(rows: pd.DataFrame) -> None:
    shuffled = rows.sample(frac=1, random_state=1)
    for of_target, again in ((rows, shuffled),):
        own = [frame.index[own_rows(frame, OF["gemm-own"])] for frame in (of_target, again)]
        assert set(own[0]) == set(own[1])
    target = rows[(rows["stack"] == "neusight") & (rows["device"] == "p4")]
    shares = pd.Series(own_rows(target, OF["gemm-own"]), target.index).groupby(target["data_set"]).mean()
    assert shares["neusight-linear"] == pytest.approx(protocol.OWN_SHARE, abs=0.03)
    assert shares["neusight-bmm"] == pytest.approx(protocol.OWN_SHARE, abs=0.03)
    assert shares["neusight-vector"] == 0


def test_max_rows_limits_each_group(rows: pd.DataFrame) -> None:
    judged = judge(rows, {"one": lambda train: lambda rows_to_predict, own: np.ones(len(rows_to_predict))}, max_rows=5)
    assert set(judged["gemm"].groupby(["data_set", "device"]).size()) == {5}


def test_the_kit_is_the_nearest_rows_each_once() -> None:
    near = [{"device": "p4", "m": m + 1, "n": n, "k": k} for m, n, k in sweep.PLAIN]
    far = [{"device": "p4", "m": 5 * m, "n": n, "k": 7 * k} for m, n, k in sweep.PLAIN]
    batched = [{"device": "p4", "batch": b, "m": m, "n": n, "k": k} for b, m, n, k in sweep.BATCHED]
    sizes = (12, 3e3, 150e6, 210e6)
    streams = [
        {"device": "p4", "op_class": "elementwise", "op": op, "bytes": s} for op in ("add", "tanh") for s in sizes
    ]
    table = truth(*far, *near, *batched, *streams)
    chosen = table[calibration_rows.kit_rows(table)]
    assert len(chosen) == len(sweep.PLAIN) + len(sweep.BATCHED) + len(calibration_rows.STREAMS)
    assert set(chosen.index[chosen["op_class"] == "gemm"]) == set(range(len(far), len(far + near + batched)))
    assert chosen.loc[chosen["op"] == "add", "bytes"].tolist() == [12, 210e6]


def test_the_kit_has_the_documented_size() -> None:
    assert (len(set(sweep.PLAIN)), len(set(sweep.BATCHED))) == (30, 10)
    few = truth(*({"device": "p4", "m": 2**e, "n": 64, "k": 64} for e in range(3, 9)))
    assert calibration_rows.kit_rows(few).all()


def test_each_precision_has_its_kit() -> None:
    shapes = [{"device": "v100-sxm2-16gb", "m": m, "n": n, "k": k} for m, n, k in sweep.PLAIN]
    table = truth(*shapes, *({**shape, "precision": "fp16"} for shape in shapes), *({**s, "n": 7} for s in shapes))
    assert table[calibration_rows.kit_rows(table)].groupby("precision").size().to_dict() == {"fp32": 30, "fp16": 30}


@pytest.mark.parametrize("bad", [np.nan, 0.0, -1.0])
def test_a_method_without_a_time_for_a_row_is_refused(rows: pd.DataFrame, bad: float) -> None:
    def one_bad(rows_to_predict: pd.DataFrame) -> Floats:
        times = rows_to_predict["ideal_s"].to_numpy(copy=True)
        times[-1] = bad
        return np.asarray(times)

    with pytest.raises(ValueError, match="shy gives no time"):
        judge(rows, {"shy": lambda train: lambda rows_to_predict, own: one_bad(rows_to_predict)})


def test_a_single_family_is_refused(rows: pd.DataFrame) -> None:
    with pytest.raises(EstimatorError, match="one device family"):
        judge(rows[rows["family"] == "volta"], {})
