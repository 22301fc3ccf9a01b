import dataclasses

import pytest

from estimator.core.errors import EstimatorError
from estimator.core.types import Profile, Workload
from estimator.profiles import canonical
from estimator.rollup.source_step import coverage, idle_time
from tests.conftest import make_ops


def profile(**known: float) -> Profile:
    ops = canonical.to_ops(make_ops({"time_s": 0.6, "time_spread_s": 0.06}, {"time_s": 0.4}), "toy")
    return dataclasses.replace(Profile(ops, Workload(name="toy"), None, "toy"), **known)  # type: ignore[arg-type]


def test_the_unprofiled_step_time_takes_the_profilers_cost_from_idle_time_first() -> None:
    read = profile(wall_step_s=1.6, busy_step_s=1.0)
    light = canonical.remove_profiler_overhead(read, 1.2)
    assert (light.wall_step_s, light.profiled_step_s, light.busy_step_s) == (1.2, 1.6, 1.0)
    assert idle_time(light) == pytest.approx(0.2)
    assert light.ops["time_s"].sum() == pytest.approx(1.0)
    heavy = canonical.remove_profiler_overhead(read, 0.8)
    assert heavy.ops["time_s"].tolist() == pytest.approx([0.48, 0.32])
    assert heavy.ops.at[0, "time_spread_s"] == pytest.approx(0.048)
    assert (idle_time(heavy), coverage(heavy)) == (0.0, 1.0)
    assert "scaled by 0.800" in heavy.warnings[0]
    assert canonical.remove_profiler_overhead(read, None) is read


def test_per_step_divides_all_amounts() -> None:
    read = canonical.per_step(profile(wall_step_s=2.0, busy_step_s=1.0), 4)
    assert (read.steps, read.wall_step_s, read.busy_step_s) == (4, 0.5, 0.25)
    assert read.ops["time_s"].tolist() == pytest.approx([0.15, 0.1])
    assert canonical.per_step(read, 2).wall_step_s == 1.0


def test_a_dump_whose_updates_bound_its_steps_holds_as_many_steps_as_updates() -> None:
    read = dataclasses.replace(profile(wall_step_s=2.0, busy_step_s=1.0), steps=9, updates=10)
    assert canonical.per_step(read, 10) is read
    two_optimizers = canonical.per_step(read, 5)
    assert (two_optimizers.wall_step_s, two_optimizers.busy_step_s) == (4.0, 2.0)


def test_ops_busy_for_longer_than_their_steps_give_a_warning() -> None:
    assert canonical.warn_of_ops_outside_steps(profile(wall_step_s=1.0, busy_step_s=1.01)).warnings == ()
    (warning,) = canonical.warn_of_ops_outside_steps(profile(wall_step_s=1.0, busy_step_s=1.1)).warnings
    assert "1.1 s a step, but a step lasts 1 s" in warning


@pytest.mark.parametrize("places", ["a;b", "1.5", ";", "1;1", "-1", "9" * 20, "1;1@2", "1;1f", "1@", "@2", "f"])
def test_places_are_different_whole_numbers(places: str) -> None:
    rows = make_ops({"time_s": 0.6, "places": "0;2"}, {"time_s": 0.4, "places": places})
    with pytest.raises(EstimatorError, match=r"toy: row 2: places is .* expected different whole numbers"):
        canonical.to_ops(rows, "toy")
