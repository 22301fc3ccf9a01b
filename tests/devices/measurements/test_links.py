"""Latency and rate of links from timed collectives."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.core.schema import MEASUREMENTS
from estimator.devices.measurements.links import alpha_beta, measured_links

SIZES = np.array([1e2, 1e4, 1e6, 1e8])


def table(*rows: dict[str, object]) -> pd.DataFrame:
    defaults = {"op_class": "collective", "operator": "all_reduce", "precision": "fp32", "ranks": 4}
    return MEASUREMENTS.conform(pd.DataFrame([{**defaults, **row} for row in rows]), "test")


@given(st.floats(1e-6, 1e-3), st.floats(1e-12, 1e-9))
def test_two_parameters_are_found(latency: float, per_byte: float) -> None:
    assert alpha_beta(SIZES, latency + per_byte * SIZES) == pytest.approx((latency, per_byte), rel=1e-3)


def test_neither_is_negative() -> None:
    assert alpha_beta(SIZES[-2:], 1e-9 * SIZES[-2:] ** 1.2)[0] == 0.0
    assert alpha_beta(SIZES, np.array([4.0, 3.0, 2.0, 1.0]))[1] == 0.0


def test_each_kind_and_group_has_its_own() -> None:
    rows = [{"bytes": size, "time_s": 1e-5 + 1e-10 * size, "ranks": ranks} for size in SIZES for ranks in (4, 8)]
    actual = measured_links(table(*rows, {"bytes": 1.0, "time_s": 1.0, "operator": "all_gather"}))
    assert [(link.operator, link.ranks) for link in actual] == [("all_reduce", 4), ("all_reduce", 8)]
    assert actual[0].latency_s == pytest.approx(1e-5, rel=1e-3)
    assert actual[0].seconds_per_byte == pytest.approx(1e-10, rel=1e-3)


def test_what_the_sizes_do_not_show_stays_unknown() -> None:
    large = measured_links(table({"bytes": 1e8, "time_s": 0.10001}, {"bytes": 1e9, "time_s": 1.00001}))
    assert large[0].latency_s is None
    assert large[0].seconds_per_byte == pytest.approx(1e-9, rel=1e-3)
    assert measured_links(table({"op_class": "gemm", "bytes": 1.0, "time_s": 1.0})) == ()


def test_neither_one_rank_nor_several_groups_at_once_tell_of_a_link() -> None:
    series = [{"bytes": size, "time_s": 1e-5 + 1e-10 * size} for size in SIZES]
    assert not measured_links(table(*({**row, "ranks": 1} for row in series)))
    assert not measured_links(table(*({**row, "groups_at_once": 8} for row in series)))
