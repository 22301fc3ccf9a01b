"""A workflow of phases, by hand."""

import numpy as np

from estimator.core.types import Number
from estimator.rollup import chain
from estimator.rollup.campaign import campaign_links, campaigns_per_day, sum_of_phases


def given(**values: float) -> dict[str, Number]:
    return {name: chain.given(name, name, value, "1", "system", "test") for name, value in values.items()}


def test_phases_follow_each_other() -> None:
    assert sum_of_phases(np.array([3600.0, 10.0]), np.array([7200.0])).tolist() == [10800, 7210]
    assert campaigns_per_day(np.array([43200.0])).tolist() == [2]


def test_a_campaign_is_derived_from_its_phases() -> None:
    phases = {"a.phase_s": 3600.0, "b.phase_s": 7200.0, "a.phase_energy_kwh": 1.0, "b.phase_energy_kwh": 2.0}
    numbers = given(**phases, **{"baseline.campaigns_per_day": 2.0})
    actual = chain.derive("m", "system", numbers, campaign_links(["a", "b"]))
    nominal = {name: float(number.samples[0]) for name, number in actual.items()}
    assert (nominal["campaign_s"], nominal["campaigns_per_day"], nominal["campaign_ratio"]) == (10800, 8, 4)
    assert nominal["campaign_energy_kwh"] == 3
    assert "campaign_usd" not in actual, "no phase has a price"
    assert actual["campaign_s"].inputs == ("a.phase_s", "b.phase_s")
    assert (actual["campaign_s"].unit, actual["campaign_ratio"].unit) == ("s", "1")
    assert actual["campaign_s"].id == "m/campaign_s"
