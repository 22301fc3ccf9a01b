from pathlib import Path

import pytest

from estimator.core.errors import EstimatorError
from estimator.profiles import read_profile
from estimator.studies.audit.runs import plan_runs, run_rows
from estimator.studies.study import read_study
from tests.studies.audit.tables import STEPS, audit_study, write_study


def test_a_row_runs_on_every_device_that_a_column_may_be(tmp_path: Path) -> None:
    (table,) = read_study(write_study(tmp_path, {"old": "9 s", "new": "9 s"})).tables.values()
    plans = plan_runs(table, tmp_path, draws=5, seed=3)
    assert {column: list(by_device) for column, by_device in plans.items()} == {
        "old": ["k20x"], "new": ["v100-sxm2-16gb", "p100-pcie-16gb"], "dark": [],
    }  # fmt: skip
    plan = plans["old"]["k20x"]
    assert (plan.target, plan.precision, plan.layout, plan.draws, plan.seed) == ("k20x", "fp32", "none", 5, 3)


@pytest.mark.slow
def test_the_flop_of_a_step_are_those_of_products_and_its_share_of_the_validation(tmp_path: Path) -> None:
    held_out: list[tuple[dict[str, object], float]] = [({}, 0), ({"validation_samples": 12}, 2 / STEPS)]
    for fields, share in held_out:
        path = write_study(tmp_path, {"old": "9 s"}, ratio="", **fields)  # type: ignore[arg-type]
        (table,) = read_study(path).tables.values()
        profiles = dict.fromkeys(table.rows, read_profile(tmp_path / "dump.csv"))
        runs = run_rows("one", table, profiles, plan_runs(table, tmp_path, 0, 0))
        assert list(runs) == [("A", "old"), ("B", "old")]
        (run,) = runs["A", "old"]
        assert run.matrix_flop == pytest.approx((1 + share) * 4 * 2 * 2048**3)
        assert run.peak == pytest.approx(3.95e12)


def test_a_profile_without_a_modelled_op_is_refused(tmp_path: Path) -> None:
    path = write_study(tmp_path, {"old": "9 s", "new": "9 s"})
    (tmp_path / "dump.csv").write_text("op_type,op_class,time_s\nSleep,host,30\n")
    with pytest.raises(EstimatorError, match="one: A on k20x: no op of the profile is modelled"):
        audit_study(path)
