"""A self-test as a whole: its plan, its document, and its warning."""

import json
from pathlib import Path

import pandas as pd
import pytest

from estimator.core.errors import EstimatorError
from estimator.profiles import read_profile
from estimator.profiles.workload import Provenance
from estimator.validation import selftest
from estimator.validation.selftest import runs, settings, worker
from estimator.validation.selftest.folder import Folder
from estimator.validation.selftest.judge import COLUMNS
from estimator.validation.selftest.settings import Setting
from estimator.validation.selftest.workloads import Workload
from tests.validation.selftest.plans import ONE, TWO


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"repeats": 5}, "even number"),
        ({"repeats": 2}, "at least 4"),
        ({"workload_names": ["p1b3", "p1b3"]}, "give each once"),
    ],
)
def test_invalid_plans_are_refused(words: dict[str, object], message: str) -> None:
    with pytest.raises(EstimatorError, match=message):
        selftest.make_plan(**words)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.skipif(not Path("/proc/cpuinfo").exists(), reason="needs Linux")
def test_selftest_on_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What ``--quick`` runs, with less time for shapes. Structure, not figures: what else runs here decides those."""
    monkeypatch.setattr(runs, "MEASURING_S", 6)
    monkeypatch.setattr(runs, "REPEATS_PER_PROCESS", 2)
    try:
        plan = selftest.make_plan(quick=True)
    except EstimatorError as error:
        pytest.skip(str(error))
    document = selftest.selftest(plan, tmp_path / "runs").document()
    assert json.loads(json.dumps(document)) == document
    steps = pd.read_csv(tmp_path / "runs" / "steps.csv")
    assert document["repeats"] == {"predictions": [1, 4], "truth": [2, 3]}
    assert (steps.groupby(["repeat", "setting", "workload"]).size() >= worker.MIN_STEPS).all()
    assert len(steps.groupby(["repeat", "setting", "workload"])) == 4 * 2 * 2
    for row in document["rows"]:  # a prediction knows the steps of its own repeats alone
        of_row = steps[(steps["setting"] == row["source"]) & (steps["workload"] == row["workload"])]
        known = of_row[of_row["repeat"].isin([1, 4])].groupby("repeat")["wall_s"].min().median()
        message = read_profile(tmp_path / "runs" / "captures" / row["source"] / row["workload"]).wall_step_s
        assert row["source_s"] == pytest.approx(known, rel=1e-12)  # pandas may round the last digit
        assert message == pytest.approx(known, rel=1e-3)
    assert len(document["rows"]) == 2 * 2
    figures = pd.DataFrame(document["rows"]).drop(columns=["workload", "source", "target"]).astype(float)
    assert figures.notna().all(axis=None)
    assert (figures[["source_s", "predicted_s", "low_s", "high_s", "measured_s"]] > 0).all(axis=None)
    own = {path.name for path in (tmp_path / "runs" / "captures" / plan.settings[0].name).iterdir()}
    assert own == {*selftest.QUICK}
    assert selftest.selftest(plan, tmp_path / "runs").document()["rows"] == document["rows"]  # nothing is run again
    with pytest.raises(EstimatorError, match="other workloads"):
        selftest.selftest(selftest.Plan(plan.workloads[:1], plan.settings), tmp_path / "runs")


@pytest.mark.parametrize(("load", "message"), [(0.3, ()), (1.0, ("the machine is busy: load 1.0 on 2 processor(s)",))])
def test_a_busy_machine_has_a_warning(load: float, message: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (load, 0.0, 0.0))
    monkeypatch.setattr("estimator.validation.selftest.usable_processors", lambda: [0, 1])
    assert tuple(text.split(";")[0] for text in selftest.warn_if_busy()) == message


def test_a_quick_plan_has_two_workloads_in_two_settings_of_few_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    three = tuple(Setting(threads, "AVX2") for threads in (1, 2, 3))
    monkeypatch.setattr(settings, "choose_settings", lambda names: three)
    quick, full = selftest.make_plan(quick=True), selftest.make_plan()
    assert [workload.name for workload in quick.workloads] == ["p1b3@0.3", "cnn"]
    assert (quick.settings, quick.repeats) == (three[:2], 4)
    assert (len(full.workloads), full.settings, full.repeats) == (5, three, 12)
    assert selftest.make_plan(setting_names=["any"], quick=True).settings == three


def test_the_document_tells_which_repeats_are_of_the_truth() -> None:
    plan = selftest.Plan((Workload("toy", Path("toy.py"), 1.0),), (ONE, TWO), repeats=6)
    row = {"workload": "toy", "source": ONE.name, "target": TWO.name} | dict.fromkeys(COLUMNS[3:], 1.0)
    result = selftest.Result(
        plan, pd.DataFrame([row], columns=COLUMNS), Provenance(date="2026-11-30", processor="a CPU")
    )
    document = result.document()
    assert document["repeats"] == {"predictions": [1, 4, 5], "truth": [2, 3, 6]}
    assert (document["date"], document["processor"], document["settings"]) == (
        "2026-11-30",
        "a CPU",
        [ONE.name, TWO.name],
    )
    assert document["summary"] == result.summary()
    assert json.loads(json.dumps(document)) == document


def test_a_machine_whose_runs_are_all_kept_may_be_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (99.0, 0.0, 0.0))
    assert selftest.warn_if_busy(tmp_path)
    Folder(tmp_path).steps.write_text("")
    assert not selftest.warn_if_busy(tmp_path)
