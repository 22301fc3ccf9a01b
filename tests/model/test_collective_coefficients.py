"""The coefficients of collectives: what their names give."""

import pytest

from estimator.model.coefficients import shipped

C = shipped().collectives


def test_steps_are_the_librarys_times_a_fitted_factor() -> None:
    ll = C.protocols["ll"]
    assert C.step("fabric", "ll") == pytest.approx(C.steps * ll.fabric_s)
    assert C.step("pcie", "ll") == pytest.approx(C.steps * ll.pcie_s)
    assert C.step("rdma", "ll") == C.step("tcp", "ll") == pytest.approx(C.steps * ll.network_s)
    assert C.start("simple") == pytest.approx(C.latency * C.protocols["simple"].start_s)


def test_only_the_protocol_for_large_messages_fills_the_bandwidth() -> None:
    assert C.share("simple") == 1.0
    assert C.share("ll") < C.share("ll128") < 1.0


def test_shares_are_no_more_than_the_whole() -> None:
    assert all(0 < C.efficiency(kind) <= 1 for kind in ("fabric", "pcie", "rdma", "tcp"))
    assert C.source
