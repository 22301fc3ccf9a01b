"""Steps to quality of a unit of work: by the table, between its batches, beyond its ends, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from estimator.core.errors import EstimatorError
from estimator.core.types import RunPlan
from estimator.rollup import quality
from estimator.studies.quality import given_steps
from tests.studies.test_unit import write
from tests.studies.test_unit_chain import GROUPED, chain, nominal

TABLE = {64: 9000.0, 1024: 1500.0}


def test_a_batch_of_the_table_takes_its_steps() -> None:
    (actual,) = given_steps(TABLE, 64, "device", RunPlan("v100"))
    assert (actual.name, actual.value, actual.source) == ("steps_to_quality", 9000, "study file")


def test_between_two_batches_the_origin_names_them() -> None:
    (actual,) = given_steps(TABLE, 256, "device", RunPlan("v100"))
    assert actual.value == pytest.approx((9000 * 1500) ** 0.5)
    assert actual.source == "study file: batches 64, 1024"


def test_one_batch_tells_of_no_other() -> None:
    with pytest.raises(EstimatorError, match=r"batch is 512, and the table tells of 64 alone; expected two"):
        list(given_steps({64: 9000.0}, 512, "device", RunPlan("v100")))


def test_a_run_lasts_as_many_steps_as_the_quality_needs(tmp_path: Path) -> None:
    write(tmp_path, workload=GROUPED)
    n = nominal(chain(tmp_path, samples=800, steps_to_quality={8: 500, 64: 100}))
    assert n["epochs"] == pytest.approx(5)
    assert n["time_per_unit_s"] == pytest.approx(500 * n["step_s"])


def test_a_group_needs_the_steps_of_its_whole_batch(tmp_path: Path) -> None:
    write(tmp_path, workload=GROUPED)
    n = nominal(chain(tmp_path, {"nodes": 4}, devices=8, samples=800, steps_to_quality={8: 500, 64: 100}))
    assert n["batch_size"] == 64
    assert n["time_per_unit_s"] == pytest.approx(100 * n["step_s"])


def test_beyond_the_table_the_model_holds_in_a_wide_interval(tmp_path: Path) -> None:
    write(tmp_path, workload=GROUPED)
    actual = chain(tmp_path, {"nodes": 4}, devices=8, samples=800, steps_to_quality={8: 500, 32: 200})
    n = nominal(actual)
    assert n["steps_to_quality"] == pytest.approx(n["least_steps"] * (1 + n["critical_batch"] / 64))
    assert 100 < n["steps_to_quality"] < 200
    assert actual["steps_to_quality"].inputs[-1] == "new/A/beyond_table"
    assert actual["beyond_table"].samples.std() > 0


def test_one_sample_more_than_the_table_has_makes_hardly_a_difference() -> None:
    table = {32: 100000.0, 64: 50500.0, 128: 26000.0, 256: 14500.0, 512: 9500.0, 1024: 8200.0, 2048: 8000.0}
    for batch, low, high in ((2049, 7996, 8000), (31, 100000, 103226)):
        plan = RunPlan("v100", draws=200)
        least, critical, beyond = (np.atleast_1d(each.value) for each in given_steps(table, batch, "device", plan))
        steps = quality.steps_by_model(least, critical, np.array(float(batch)), beyond)
        assert low < steps[0] < high
        assert (np.quantile(steps, [0.05, 0.95]) > low * 0.99).all()
