from pathlib import Path

import pytest

import estimator


def test_the_verbs_work_together(tmp_path: Path) -> None:
    profile = estimator.read_profile("p1b3")
    step = estimator.estimate(profile, estimator.RunPlan(target="v100", draws=5)).step
    assert 0 < step.total[0] < 0.1
    study = Path(__file__).resolve().parent.parent / "reports" / "lecture-example" / "study.yaml"
    written = estimator.write_report(estimator.figure_of_merit(study), tmp_path)
    assert [path.name for path in written] == ["report.html", "results.json"]
    assert estimator.load_system("titan").device == estimator.load_device("k20x").name
    assert set(estimator.__all__) <= set(dir(estimator))


def test_no_other_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'guess'"):
        _ = estimator.guess
