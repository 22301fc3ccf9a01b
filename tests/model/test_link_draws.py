"""Links that a file gives with an uncertainty, or not at all: how far their messages may be off."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimator.core.interval import bounds
from estimator.core.types import DeviceSpec, Floats, MeasuredLink, RunPlan
from estimator.model import SourceRun, TargetDevice
from estimator.model.coefficients import shipped
from estimator.model.collectives import hop_bandwidths
from estimator.model.kernels.collectives import messages_of
from estimator.model.ladder import estimate_op_times
from estimator.model.link_draws import link_draws
from estimator.model.links import links_of
from estimator.model.sampling import sampler
from tests.conftest import make_device, make_measurements
from tests.model.kernels.test_collectives import rows

PLAN = RunPlan("toy", draws=400)
SIZE = 1e8
NETWORK = {"injection_bandwidth": "25 GB/s", "linked_devices": 4, "interconnect": "InfiniBand"}
FABRIC = {"per_direction": "300 GB/s"}
FEW = settings(max_examples=15)


def rate(uncertainty: float, value: str = "25 GB/s") -> dict[str, object]:
    return {"value": value, "uncertainty": f"{100 * uncertainty:g} %", "status": "read", "source": "x"}


def times(device: DeviceSpec, ranks: int = 16, size: float = SIZE) -> Floats:
    """Samples of an all-reduce [s]."""
    target = TargetDevice(device, make_measurements([]))
    work = rows(size, ranks=ranks)
    return sampler(work, estimate_op_times(work, SourceRun(), target), device, PLAN)(slice(None))[0][:, 0]


def width(device: DeviceSpec, ranks: int = 16, size: float = SIZE) -> float:
    low, _, high = bounds(times(device, ranks, size))
    return float(np.log(high / low))


def with_network(**network: object) -> DeviceSpec:
    return make_device(network={**NETWORK, **network}, link=FABRIC)


@pytest.mark.slow
@FEW
@given(st.lists(st.floats(0.01, 3.0), min_size=2, max_size=2).map(sorted))
def test_the_less_a_network_is_known_the_wider_the_interval(uncertainties: list[float]) -> None:
    less, more = (width(with_network(injection_bandwidth=rate(each, "2 GB/s"))) for each in uncertainties)
    assert less <= more * (1 + 1e-6)


@pytest.mark.slow
@FEW
@given(st.lists(st.floats(0.01, 3.0), min_size=2, max_size=2).map(sorted))
def test_the_less_a_link_is_known_the_wider_the_interval(uncertainties: list[float]) -> None:
    less, more = (width(make_device(link={"per_direction": rate(each)}), ranks=4) for each in uncertainties)
    assert less <= more * (1 + 1e-6)


def test_the_uncertainty_of_a_latency_counts_where_steps_take_the_time() -> None:
    tight, wide = (with_network(latency=rate(each, "50 us")) for each in (0.01, 1.0))
    assert width(wide, size=8.0) > 1.2 * width(tight, size=8.0)
    assert width(wide, size=1e10) == pytest.approx(width(tight, size=1e10), rel=0.02)


def test_a_network_that_nobody_gave_is_less_known_than_one_that_is_the_same() -> None:
    nowhere, given_one = make_device(network={"linked_devices": 4}, link=FABRIC), with_network()
    assert times(nowhere)[0] == pytest.approx(times(given_one)[0])
    assert width(nowhere) > 1.2 * width(given_one)
    assert np.quantile(times(nowhere), 0.95) > 1.5 * np.quantile(times(given_one), 0.95)


def test_a_message_within_a_node_knows_nothing_of_the_network() -> None:
    nowhere, given_one = make_device(network={"linked_devices": 4}, link=FABRIC), with_network()
    np.testing.assert_array_equal(times(nowhere, ranks=4), times(given_one, ranks=4))


def test_a_device_of_neither_link_nor_bus_is_less_known_than_one_with_a_bus() -> None:
    nothing, bus = make_device(), make_device(pcie_generation=4)
    assert times(nothing, ranks=4)[0] == pytest.approx(times(bus, ranks=4)[0])
    assert width(nothing, ranks=4) > 1.5 * width(bus, ranks=4)


def test_a_message_is_never_faster_than_its_other_hop() -> None:
    """However fast the network may be, the bus of the node stays."""
    work, device = rows(SIZE, ranks=16), make_device(network={"linked_devices": 4}, pcie_generation=4)
    actual = link_draws(work, device, PLAN)
    (inside,), (between,) = hop_bandwidths(messages_of(work, device), links_of(device), shipped().collectives)
    assert actual is not None
    assert actual.transfer.of_ops(slice(None)).min() == pytest.approx(min(inside, between) / inside)


def test_what_is_known_or_timed_is_not_drawn() -> None:
    known = with_network()
    assert link_draws(rows(SIZE, ranks=16), known, PLAN) is None
    assert link_draws(rows(SIZE, ranks=1), make_device(), PLAN) is None
    timed = MeasuredLink(operator="all_reduce", ranks=16, latency_s=1e-4, seconds_per_byte=1e-9)
    network = make_device(network={"linked_devices": 4}).network
    assert network is not None
    device = make_device().model_copy(update={"network": network.model_copy(update={"measured": (timed,)})})
    assert link_draws(rows(SIZE, ranks=16), device, PLAN) is None


def test_a_network_of_unknown_transport_may_be_as_slow_as_sockets() -> None:
    unnamed, named = (with_network(interconnect=name) for name in (None, "InfiniBand"))
    slow = with_network(transport="sockets")
    assert times(unnamed)[0] == times(named)[0]
    assert width(unnamed) > width(named)
    assert bounds(times(unnamed))[2] > times(slow)[0]


def test_ethernet_may_be_as_fast_as_rdma() -> None:
    ethernet, tcp, fast = (with_network(interconnect=name) for name in ("25GbE", "25GbE, TCP", "InfiniBand"))
    assert times(ethernet)[0] == times(tcp)[0]
    assert bounds(times(ethernet))[0] < 1.05 * times(fast)[0]
    assert bounds(times(tcp))[0] > 1.05 * times(fast)[0]


def test_devices_on_a_bus_may_not_reach_each_other() -> None:
    bus, fabric = make_device(pcie_generation=4), make_device(link=FABRIC)
    factors = [link_draws(rows(SIZE, ranks=8), device, PLAN) for device in (bus, fabric)]
    assert factors[1] is None
    assert factors[0] is not None
    low, mid, high = bounds(factors[0].transfer.of_ops(slice(None))[:, 0])
    assert low == mid == 1.0
    assert high == pytest.approx(1 / shipped().links.bus_factor.low, rel=0.3)
