"""What a prediction holds beside its times."""

import numpy as np
import pandas as pd
import pytest

from estimator.core.interval import Z, bounds
from estimator.core.types import Workload
from estimator.model import SourceRun, TargetDevice, coefficients, predict, uncertainty
from estimator.model.measured_times import USUAL_STD
from estimator.model.prediction import predict_ops
from estimator.work import count_work
from tests.conftest import make_device, make_ops
from tests.model.toy import PLAN, ROW, SHAPE, SLOW, predict_on, table


def test_the_ceiling_takes_the_longest_launch() -> None:
    """As on a device that always takes as long to launch as another at its worst."""
    work = count_work(make_ops({"op_type": "MatMul", "m": 128, "n": 128, "k": 128}), Workload(name="toy")).work
    wide = make_device(launch_latency={"value": "20 us", "uncertainty": "90 %"})
    longest = float(bounds(uncertainty.latency(wide, PLAN))[2][0])
    slow = make_device(launch_latency=f"{1e6 * longest} us")
    one, other = (predict_on(work, device, table()) for device in (wide, slow))
    assert list(one.ops["bound"]) == ["latency"]
    assert one.ceiling_s == pytest.approx(other.ceiling_s)


def some_ops() -> pd.DataFrame:
    """A measured op, a modelled one, one bound by its launch, a stream and one that is carried."""
    sizes = (SHAPE, {"m": 900, "n": 512, "k": 4096}, {"m": 4, "n": 4, "k": 4})
    products = [{"op_type": "MatMul", **size, "calls": 2} for size in sizes]
    others: list[dict[str, object]] = [{"op_type": "Relu", "shapes": "9000x1000"}, {"op_type": "Mystery"}]
    return count_work(make_ops(*products, *others), Workload(name="toy")).work


@pytest.mark.parametrize("at_once", [1, 2, 100])
def test_ops_that_are_no_step_are_predicted_alike_in_parts_of_any_size(at_once: int) -> None:
    work, target = some_ops(), TargetDevice(make_device(), table(ROW))
    whole = predict(work, SourceRun(), target, PLAN).ops
    actual = predict_ops(work, target, PLAN, at_once=at_once)
    assert list(actual["method"]) == ["measured", "interpolated", "scaled", "roofline", "proportional"]
    assert list(actual["bound"].fillna("")) == ["compute", "compute", "latency", "memory", ""]
    pd.testing.assert_frame_equal(actual, whole)


def test_ops_that_are_no_step_may_be_measured_with_a_cold_cache() -> None:
    rows = pd.concat([table(ROW).assign(cache="warm"), table(SLOW).assign(cache="cold")], ignore_index=True)
    target = TargetDevice(make_device(), rows)
    warm, cold = (predict_ops(some_ops(), target, PLAN, at_once=9, cache=cache) for cache in ("warm", "cold"))
    assert warm["target_time_s"].iloc[0] == pytest.approx(2 * ROW[-1])
    assert cold["target_time_s"].iloc[0] == pytest.approx(2 * SLOW[-1])
    assert predict_ops(some_ops(), target, PLAN, at_once=9).equals(warm)


def test_an_interval_is_given_where_something_is_uncertain() -> None:
    wide = make_device(memory_bandwidth={"value": "500 GB/s", "uncertainty": "20 %"})
    actual = predict_ops(some_ops(), TargetDevice(wide, table(ROW)), PLAN, at_once=9)
    assert actual["low_s"].isna().tolist() == actual["high_s"].isna().tolist() == [False] * 5
    between = actual.dropna(subset=["low_s"])
    assert ((between["low_s"] < between["target_time_s"]) & (between["target_time_s"] < between["high_s"])).all()


@pytest.mark.parametrize(("carried", "warned"), [(0.5, True), (0.2, False)])
def test_much_carried_time_has_a_warning(carried: float, warned: bool) -> None:
    rows = [{"op_type": "MatMul", **SHAPE, "time_s": 1 - carried}, {"op_type": "Mystery", "time_s": carried}]
    less = {"op_type": "Mystery", "op": "less", "time_s": 0.0}
    actual = predict_on(count_work(make_ops(less, *rows), Workload(name="toy")).work, make_device(), table())
    assert actual.covered_fraction == pytest.approx(1 - carried)
    text = (
        "only 50 % of the source's op time is modelled on toy; the rest, such as 'op2', is scaled from the source's "
        "time or is host time"
    )
    assert [note.text for note in actual.warnings] == [text] * warned


def test_the_least_and_the_most_that_an_op_takes() -> None:
    """What is carried may vanish; nothing that is modelled takes less than at the quoted peaks, without a launch."""
    actual = predict_on(some_ops(), make_device(), table(ROW))
    product = 2 * 900 * 512 * 4096 / 10e12
    assert actual.floor_s[1] == pytest.approx(2 * product)
    assert actual.floor_s[3] == pytest.approx(2 * 4 * 9e6 / 500e9)
    assert actual.floor_s[4] == 0
    assert actual.ceiling_s[0] == pytest.approx(actual.ops["high_s"][0])
    assert actual.ceiling_s[0] == pytest.approx(2 * ROW[-1] * np.exp(Z * USUAL_STD), rel=0.05)
    assert actual.ceiling_s[4] == pytest.approx(actual.ops["high_s"][4])
    assert (actual.ceiling_s[1:4] > actual.ops["high_s"][1:4]).all()


def test_a_prediction_says_by_which_coefficients() -> None:
    assert predict_on(some_ops(), make_device(), table()).coefficients == coefficients.shipped().model_dump()
