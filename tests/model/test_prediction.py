"""What a prediction holds beside its times."""

import pytest

from estimator.core.interval import bounds
from estimator.core.types import Workload
from estimator.model import uncertainty
from estimator.work import count_work
from tests.conftest import make_device, make_ops
from tests.model.toy import PLAN, predict_on, table


def test_the_ceiling_takes_the_longest_launch() -> None:
    """As on a device that always takes as long to launch as another at its worst."""
    work = count_work(make_ops({"op_type": "MatMul", "m": 128, "n": 128, "k": 128}), Workload(name="toy")).work
    wide = make_device(launch_latency={"value": "20 us", "uncertainty": "90 %"})
    longest = float(bounds(uncertainty.latency(wide, PLAN))[2][0])
    slow = make_device(launch_latency=f"{1e6 * longest} us")
    one, other = (predict_on(work, device, table()) for device in (wide, slow))
    assert list(one.ops["bound"]) == ["latency"]
    assert one.ceiling_s == pytest.approx(other.ceiling_s)
