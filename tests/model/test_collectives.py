"""Times of collectives by their links, against the equations of the literature."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.model.coefficients import shipped
from estimator.model.collectives import Messages, collective_times, least_times
from estimator.model.links import Hop, Kind, Links

C = shipped().collectives
LARGE = 2.0**33
OPERATORS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "collective_broadcast", "send_recv")


def links(kind: Kind = "fabric", inside: float = 300e9, between: float = 25e9, *, in_network: bool = False) -> Links:
    return Links(Hop(kind, inside), Hop("rdma", between), in_network)


def messages(operator: str, *sizes: float, ranks: int = 8, per_node: int = 8) -> Messages:
    count = len(sizes)
    return Messages(
        np.full(count, operator, dtype=object), np.array(sizes, float), np.full(count, float(ranks)),
        np.full(count, float(per_node)),
    )  # fmt: skip


def total(asked: Messages, over: Links | None = None) -> np.ndarray:
    return collective_times(asked, over or links(), C).total_s


@pytest.mark.parametrize(
    ("operator", "volume"),
    [("all_reduce", 14 / 8), ("all_gather", 7 / 8), ("reduce_scatter", 7 / 8), ("all_to_all", 7 / 8),
     ("collective_broadcast", 1.0), ("send_recv", 1.0)],
)  # fmt: skip
def test_a_large_message_takes_its_volume_at_the_sustained_rate(operator: str, volume: float) -> None:
    sustained = C.efficiency("fabric") * 300e9
    assert total(messages(operator, LARGE))[0] == pytest.approx(volume * LARGE / sustained, rel=0.01)


def test_between_nodes_the_slowest_hop_counts() -> None:
    expected = 2 * 15 / 16 * LARGE / (C.efficiency("rdma") * 25e9)
    assert total(messages("all_reduce", LARGE, ranks=16))[0] == pytest.approx(expected, rel=0.01)


def test_an_all_to_all_shares_what_goes_into_a_node() -> None:
    """Each of 8 devices sends half of its bytes to the other node."""
    leaving = 8 * LARGE * 8 / 16
    expected = leaving / (C.efficiency("rdma") * 25e9)
    assert total(messages("all_to_all", LARGE, ranks=16))[0] == pytest.approx(expected, rel=0.01)


def test_a_short_all_reduce_takes_the_steps_of_a_ring_by_the_protocol_for_short_messages() -> None:
    expected = C.start("ll") + 14 * C.step("fabric", "ll")
    tree = C.start("ll") + 2 * 7 * C.step("fabric", "ll")
    assert total(messages("all_reduce", 1.0))[0] == pytest.approx(min(expected, tree), rel=1e-3)


def test_steps_of_many_nodes_go_by_a_tree() -> None:
    """Ten thousand devices do not wait for a ring."""
    many = collective_times(messages("all_reduce", 1.0, ranks=8192), links(), C).latency_s[0]
    assert many < C.start("ll") + 2 * (7 * C.step("fabric", "ll") + 10.5 * C.step("rdma", "ll"))


def test_switches_that_reduce_halve_the_volume() -> None:
    plain, reduced = (total(messages("all_reduce", LARGE, ranks=64), links(in_network=on))[0] for on in (False, True))
    assert reduced / plain == pytest.approx(0.5, rel=0.02)


def test_switches_of_the_network_help_no_message_that_stays_in_a_node() -> None:
    plain, reduced = (total(messages("all_reduce", LARGE), links(in_network=on))[0] for on in (False, True))
    assert reduced == plain


def test_what_switches_reduce_still_goes_round_each_node() -> None:
    wide = Links(Hop("fabric", 300e9), Hop("rdma", 1e13), in_network=True)
    expected = 2 * 7 / 8 * LARGE / (C.efficiency("fabric") * 300e9)
    assert total(messages("all_reduce", LARGE, ranks=64), wide)[0] == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(("ranks", "rate"), [(2, 50e9), (3, 100e9), (4, 150e9), (8, 150e9)])
def test_few_ranks_have_only_the_links_to_each_other(ranks: int, rate: float) -> None:
    wired = Links(Hop("fabric", 150e9, per_neighbour=50e9), Hop("rdma", 25e9))
    expected = (ranks - 1) / ranks * LARGE / (C.efficiency("fabric") * rate)
    asked = messages("all_gather", LARGE, ranks=ranks, per_node=ranks)
    assert total(replace(asked, fixed=True), wired)[0] == pytest.approx(expected, rel=0.01)


def test_a_group_that_grows_with_the_machine_has_all_links() -> None:
    """So that more devices never make a step shorter."""
    wired = Links(Hop("fabric", 150e9, per_neighbour=50e9), Hop("rdma", 25e9))
    times = [total(messages("all_reduce", LARGE, ranks=n, per_node=n), wired)[0] for n in (2, 3, 4, 8)]
    assert times == sorted(times)
    pair = replace(messages("send_recv", LARGE, ranks=2, per_node=2), fixed=True)
    assert total(pair, wired)[0] == pytest.approx(LARGE / (C.efficiency("fabric") * 50e9), rel=0.01)


def test_what_stages_pass_on_may_go_to_the_slowest_neighbour() -> None:
    wired = Links(Hop("fabric", 200e9, per_neighbour=200e9, slowest_neighbour=50e9), Hop("rdma", 25e9))
    for operator, rate in (("send_recv", 50e9), ("collective_broadcast", 200e9)):
        pair = replace(messages(operator, LARGE, ranks=2, per_node=2), fixed=True)
        assert total(pair, wired)[0] == pytest.approx(LARGE / (C.efficiency("fabric") * rate), rel=0.01)


def test_no_device_sends_more_than_its_bus_carries() -> None:
    over = Links(Hop("fabric", 300e9), Hop("rdma", 400e9), bus=63e9)
    alone, whole_node = messages("send_recv", LARGE, ranks=2, per_node=1), messages("all_reduce", LARGE, ranks=16)
    assert total(alone, over)[0] == pytest.approx(LARGE / (C.efficiency("rdma") * 63e9), rel=0.01)
    assert total(whole_node, over)[0] == total(whole_node, links(between=400e9))[0]


def test_a_torus_makes_a_ring_of_each_dimension() -> None:
    torus = Links(Hop("fabric", 300e9, per_neighbour=50e9), Hop("rdma", 25e9), torus_dimensions=3)
    short = messages("all_gather", 1.0, ranks=4096, per_node=4096)
    latency = collective_times(short, torus, C).latency_s[0]
    assert latency == pytest.approx(C.start("ll") + 3 * 15 * C.step("fabric", "ll"))
    pair = messages("send_recv", 1.0, ranks=2, per_node=2)
    assert collective_times(pair, torus, C).latency_s == collective_times(pair, links(), C).latency_s


def test_a_kernel_that_reads_all_others_needs_a_fabric_or_one_partner() -> None:
    one, ring = messages("custom_all_reduce", 1024.0), messages("all_reduce", 1024.0)
    assert total(one)[0] == pytest.approx(C.one_shot_s, rel=0.01)
    assert total(one, links("pcie"))[0] == pytest.approx(total(ring, links("pcie"))[0])
    pair = messages("custom_all_reduce", 1024.0, ranks=2)
    assert total(pair, links("pcie"))[0] == pytest.approx(C.one_shot_s, rel=0.01)


def test_servers_take_gradients_and_give_weights_back() -> None:
    assert total(messages("parameter_server", LARGE, ranks=16))[0] == pytest.approx(
        2 * LARGE / (C.efficiency("rdma") * 25e9), rel=0.01
    )


def test_sockets_limit_a_fast_network() -> None:
    over = Links(Hop("pcie", 16e9), Hop("tcp", 12.5e9))
    assert total(messages("all_reduce", LARGE, ranks=8, per_node=4), over)[0] == pytest.approx(
        14 / 8 * LARGE / C.socket_rate, rel=0.01
    )


def test_devices_on_a_bus_slow_each_other_down() -> None:
    two, eight = (total(messages("all_gather", LARGE, ranks=n, per_node=n), links("pcie", 32e9))[0] for n in (2, 8))
    assert eight / two == pytest.approx((7 / 8) / (1 / 2) * 4**C.contention, rel=0.01)


@given(st.sampled_from(OPERATORS), st.sampled_from(["fabric", "pcie"]), st.integers(2, 64), st.integers(0, 30))
def test_no_message_beats_its_links_and_larger_ones_take_longer(
    operator: str, kind: Kind, ranks: int, octave: int
) -> None:
    asked = messages(operator, 2.0**octave, 2.0 ** (octave + 1), ranks=ranks, per_node=min(ranks, 8))
    time = total(asked, links(kind))
    assert (time >= least_times(asked, links(kind))).all()
    assert time[1] >= time[0]


def test_one_rank_sends_nothing() -> None:
    assert total(messages("all_reduce", 1e9, ranks=1, per_node=1))[0] == 0.0
