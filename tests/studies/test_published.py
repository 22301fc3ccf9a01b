"""Published figures of merit beside ours, by the rates of their source."""

from pathlib import Path

import pytest

from estimator.core.errors import EstimatorError
from tests.studies.toy_merit import run_toy

MACHINES = "machines: {old: {nodes: 10}, new: {nodes: 20}}"
UNIT = "  A: {time_per_unit: {old: 1 h, new: 0.5 h}, count: 40}"


@pytest.mark.parametrize(
    ("definition", "ours", "theirs"),
    [
        ("{}", 4, 10),  # machines: 240 a day of the old one
        ("{level: node}", 2, 100),
        ("{level: worker}", 2, 100),
        ("{preset: mlperf-hpc}", 4, 10),  # 40 units in 4 hours of the old one, 240 a day
    ],
)
def test_their_rates_are_of_the_level_of_the_figure(
    definition: str, ours: float, theirs: float, tmp_path: Path
) -> None:
    published = "published: [{quantity: fom, machine: new, printed: 3, source: x, units_per_day: {new: {A: 2400}}}]"
    (actual,) = run_toy(tmp_path, f"{UNIT}\n{published}", definition, MACHINES).comparisons
    assert actual.ours.samples[0] == pytest.approx(ours)
    assert actual.with_their_rates == pytest.approx(theirs)


def test_rates_of_a_unit_that_is_not_there_are_refused(tmp_path: Path) -> None:
    published = "published: [{quantity: fom, machine: new, printed: 3, source: x, units_per_day: {new: {B: 2400}}}]"
    with pytest.raises(EstimatorError, match="there is no unit 'B' on a machine 'new' in this study"):
        run_toy(tmp_path, f"{UNIT}\n{published}", machines=MACHINES)
