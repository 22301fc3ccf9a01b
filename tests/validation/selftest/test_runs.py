"""Runs of a self-test and their order."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from estimator.core.errors import EstimatorError
from estimator.validation import selftest
from estimator.validation.selftest import runs, tables
from estimator.validation.selftest.folder import Folder
from estimator.validation.selftest.runs import predicts, seconds_of, step_time
from estimator.validation.selftest.workloads import Workload, parse
from tests.validation.selftest.plans import ONE, TWO, plan_of


def test_the_order_of_truth_and_predictions_alternates() -> None:
    assert [repeat for repeat in range(1, 9) if predicts(repeat)] == [1, 4, 5, 8]


def test_processes_are_replaced_after_some_repeats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them runs as many repeats for predictions as of truth; shapes are timed before four of ten."""
    turns, message = list[list[int]](), list[tuple[int, int]]()
    before, measured = list[int](), list[tuple[int, float]]()

    def turn(*given: Any) -> list[pd.DataFrame]:
        *_, measure, repeats, progress = given
        turns.append(list(repeats))
        for repeat in repeats:
            measure(repeat)
            before.extend([repeat] * (len(measured) - len(before)))
        progress(repeats[0] - 1)
        return [pd.DataFrame({"repeat": list(repeats)})]

    monkeypatch.setattr(runs, "_run_turn", turn)
    monkeypatch.setattr(tables, "needed_shapes", lambda *given: None)
    monkeypatch.setattr(tables, "measure", lambda *given: measured.append((given[1], given[-1])))
    steps = runs._run_steps(Folder(tmp_path), [], [ONE], 10, lambda done, total: message.append((done, total)))
    assert before == [1, 4, 7, 10]
    assert measured == [(number, runs.MEASURING_S / 4) for number in range(4)]
    assert turns == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10]]
    assert steps["repeat"].tolist() == list(range(1, 11))
    assert message == [(0, 10), (4, 10), (8, 10), (10, 10)]
    assert all(2 * sum(map(predicts, repeats)) == len(repeats) for repeats in turns)


@pytest.mark.parametrize("plan", [None, '{"mine": 1}', "junk", "[]"])
def test_files_of_other_programs_are_not_deleted(tmp_path: Path, plan: str | None) -> None:
    contents = {"captures/thesis.txt": "mine"} | ({} if plan is None else {"plan.json": plan})
    for name, text in contents.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    with pytest.raises(EstimatorError, match=r"holds something else.*; choose a new folder"):
        selftest.selftest(plan_of("cnn"), tmp_path)
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.*")} == {*contents}
    assert all((tmp_path / name).read_text() == text for name, text in contents.items())


def test_runs_of_another_plan_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = list[int]()

    def steps(*_: object) -> pd.DataFrame:
        begun.append(1)
        raise KeyboardInterrupt

    monkeypatch.setattr(runs, "_run_steps", steps)
    for workload in ("cnn", "p1b3"):  # a run that was cut off gives way
        with pytest.raises(KeyboardInterrupt):
            selftest.selftest(plan_of(workload), tmp_path)
    Folder(tmp_path).steps.write_text("repeat,setting,workload,wall_s\n")
    with pytest.raises(EstimatorError, match="holds runs of other workloads, settings or repeats"):
        selftest.selftest(plan_of("cnn"), tmp_path)
    with pytest.raises(EstimatorError, match="the capture is gone"):  # its own, in whatever order they are asked for
        selftest.selftest(plan_of("p1b3", TWO, ONE), tmp_path)
    assert len(begun) == 2


def test_incomplete_kept_runs_are_refused(tmp_path: Path) -> None:
    folder, plan = Folder(tmp_path), selftest.Plan((parse("cnn"), parse("p1b3")), (ONE, TWO))
    runs._keep_plan(folder, plan.workloads, plan.settings, plan.repeats)
    steps = "repeat,setting,workload,wall_s\n"
    folder.steps.write_text(steps)
    for setting, workload in itertools.product(plan.settings, plan.workloads):
        capture = folder.captures(setting) / workload.name
        for _ in range(2):
            with pytest.raises(EstimatorError, match=f"{setting.name}/{workload.name}: the capture is gone"):
                selftest.selftest(plan, tmp_path)
            capture.mkdir(parents=True, exist_ok=True)  # an empty one is none
        (capture / "provenance.yaml").write_text("")
        for repeat in range(1, plan.repeats + 1):
            with pytest.raises(
                EstimatorError, match=f"no step of {workload.name} in {setting.name} in repeat {repeat};"
            ):
                selftest.selftest(plan, tmp_path)
            steps += f"{repeat},{setting.name},{workload.name},0.1\n"
            folder.steps.write_text(steps)
    with pytest.raises(EstimatorError, match=f"holds no table of {ONE.name}"):
        selftest.selftest(plan, tmp_path)
    folder.steps.write_text(steps.replace("wall_s", "wall"))
    with pytest.raises(EstimatorError, match="the column 'wall_s' is missing"):
        selftest.selftest(plan, tmp_path)


def test_step_time_is_the_median_of_the_shortest_of_each_repeat() -> None:
    one, lucky = np.array([1.3, 1.0, 1.1]), np.array([0.7, 1.2])
    assert step_time([one, lucky]) == pytest.approx(0.85)
    assert step_time([one, lucky, lucky, one, one]) == 1.0
    assert step_time([one, lucky, lucky, one, lucky]) == 0.7


def test_predictions_and_truth_share_no_steps() -> None:
    steps = pd.DataFrame(
        [
            (repeat, setting.name, "toy", wall)
            for setting, slower in ((ONE, 1.0), (TWO, 10.0))
            for repeat, walls in enumerate(([3.0, 9.0, 4.0], [1.0], [2.0], [5.0, 5.0, 2.0]), 1)
            for wall in slower * np.array(walls)
        ],
        columns=["repeat", "setting", "workload", "wall_s"],
    )
    toy = Workload("toy", Path("toy.py"), 1.0)
    assert step_time(seconds_of(steps, ONE, toy, for_predictions=True)) == 2.5
    assert step_time(seconds_of(steps, TWO, toy, for_predictions=False)) == 15.0


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def build():\n    raise ValueError('no data')\n", "no data"),
        ("import os\nos._exit(3)\n", "terminated abruptly; if memory ran out"),
    ],
)
def test_a_failing_workload_is_reported(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "wrong.py").write_text(text)
    plan = selftest.Plan((parse(str(tmp_path / "wrong.py")),), (ONE,))
    with pytest.raises(EstimatorError, match=message):
        runs.run(Folder(tmp_path / "runs"), plan.workloads, plan.settings, 4, lambda done, total: None)
    assert not (tmp_path / "runs" / "steps.csv").exists()
    (tmp_path / "wrong.py").write_text("raise ValueError('mended')\n")
    with pytest.raises(EstimatorError, match="mended"):  # the same folder, as nothing in it is to be kept
        runs.run(Folder(tmp_path / "runs"), plan.workloads, plan.settings, 4, lambda done, total: None)
