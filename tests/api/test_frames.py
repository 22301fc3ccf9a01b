"""Documents as DataFrames."""

from typing import Any

import numpy as np
import pytest

from estimator.api.frames import end_of, frame


@pytest.mark.parametrize(
    ("name", "low"),
    [
        ("step_s", "step_low_s"),
        ("samples_per_s", "samples_low_per_s"),
        ("units_per_day", "units_low_per_day"),
        ("energy_j_per_step", "energy_low_j_per_step"),
        ("time_per_unit_s", "time_per_unit_low_s"),
        ("power_w", "power_low_w"),
        ("fom", "fom_low"),
    ],
)
def test_an_end_stands_before_the_unit(name: str, low: str) -> None:
    assert end_of(name, "low") == low


def test_absence_is_nan_also_in_texts() -> None:
    records: list[dict[str, Any]] = [
        {"name": "a", "t_s": {"low": 1.0, "mid": 2.0, "high": 3.0, "level": 0.9}},
        {"name": None, "t_s": None, "fits": None},
    ]
    table = frame(records, ("name", "t_s", "fits"), ("t_s",))
    assert list(table.columns) == ["name", "t_s", "t_low_s", "t_high_s", "fits"]
    assert table["t_s"].tolist()[0] == 2.0
    assert np.isnan(table.loc[1, ["t_s", "t_low_s", "t_high_s"]].to_numpy(dtype=float)).all()
    assert [type(value) for value in (table["name"][1], *table["fits"])] == [float, float, float]
    mixed = frame([{"fits": True}, {"fits": None}], ("fits",))["fits"].tolist()
    assert mixed[0] is True
    assert np.isnan(mixed[1])


def test_numbers_stay_numbers_where_none_is_known() -> None:
    table = frame([{"usd": None}], ("usd",), ("usd",))
    assert set(map(str, table.dtypes)) == {"float64"}
    assert frame([], ("usd",), ("usd",)).empty
