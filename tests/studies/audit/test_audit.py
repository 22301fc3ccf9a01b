"""A table of two devices whose printed times are made from the predictions, so that every mark is known beforehand."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from estimator.core.errors import EstimatorError
from estimator.core.types import Audit
from estimator.reports import documents
from estimator.studies.run import run_study

STEPS = 10
OPS = """op_type,op_class,phase,precision,m,n,k,calls,time_s,bytes
MatMul,gemm,forward,fp32,2048,2048,2048,4,0.5,
Add,elementwise,backward,fp32,,,,2,0.1,80000000
Sleep,host,other,,,,,1,30,
"""


def study(folder: Path, times: Mapping[str, object], ratio: str = "2x", **fields: object) -> Path:
    """A study of one table in a folder, with the profile it names."""
    (folder / "dump.csv").write_text(OPS)
    workload = f"name: w\nbatch_size: 8\nsamples: {8 * STEPS}\n"
    (folder / "workload.yaml").write_text(workload)
    columns = {"old": {"devices": "k20x"}, "new": {"devices": ["v100-sxm2-16gb", "p100-pcie-16gb"]}, "dark": {}}
    row = {"profile": "dump.csv", "batch_size": 8, "times": times, "ratios": {"new": ratio}, **fields}
    rows = {"A": row, "B": {**row, "ratios": {}, "stated": []}}
    table = {"title": "T", "source": "s", "baseline": "old", "columns": columns, "rows": rows,
             "alike": [{"rows": ["A", "B"], "reason": "the same run"}]}  # fmt: skip
    path = folder / "study.yaml"
    path.write_text(json.dumps({"title": "t", "draws": 20, "tables": {"one": table}}))
    return path


def audited(folder: Path, times: Mapping[str, object], ratio: str = "2x", **fields: object) -> Audit:
    (found,) = run_study(study(folder, times, ratio, **fields)).audits
    return found


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    """The epoch's kernels on each device [s], as predicted."""
    found = audited(tmp_path_factory.mktemp("kernels"), {"old": "999 s", "new": "999 s"})
    return {str(c.on): float(c.ours.samples[0]) for c in found.comparisons["times"] if c.ours and c.unit == "A"}


def times(kernels: Mapping[str, float], old: float, new: float) -> dict[str, object]:
    return {"old": f"{old * kernels['old']:.9f} s", "new": f"{new * kernels['new']:.9f} s"}


def test_the_sources_host_time_is_no_part_of_the_kernels(kernels: dict[str, float]) -> None:
    assert 0 < kernels["new"] < kernels["old"] < STEPS * 30


@pytest.mark.parametrize(
    ("new", "mark"),
    [(1.0, "reproduced"), (1.3, "reproduced"), (1.4, "cannot be told"), (0.5, "cannot be told"), (9, "cannot be told")],
)
def test_times_are_marked_by_the_predicted_kernels(
    tmp_path: Path, kernels: dict[str, float], new: float, mark: str
) -> None:
    found = audited(tmp_path, times(kernels, 1, new)).cells("times", "A", "new")[0]
    assert found.mark == mark
    assert found.implied_step_s == pytest.approx(new * kernels["new"] / STEPS)
    assert f"{new:.3g} times the" in str(found.reason)
    assert "on p100-pcie-16gb the epoch's kernels would take" in str(found.reason)
    assert found.achieved_flop_per_s == pytest.approx(4 * 2 * 2048**3 / (new * kernels["new"] / STEPS))
    assert ("no utilisation is printed" in str(found.reason)) == (new > 3)


def test_an_epoch_ends_with_forward_passes_over_the_samples_held_out(tmp_path: Path, kernels: dict[str, float]) -> None:
    """12 samples of them are two steps of 8, beside the ten of training."""
    found = audited(tmp_path, times(kernels, 1, 1), validation_samples=12).cells("times", "A", "new")[0]
    at = "one/A/new/v100-sxm2-16gb/"
    numbers = {n.id.removeprefix(at): n for n in found.numbers if n.id.startswith(at)}
    said = {name: float(number.samples[0]) for name, number in numbers.items()}
    assert str(numbers["forward_s"].source).startswith("forward ops of one/A/new")
    assert "; inference is the forward pass of the profiled training" in str(numbers["forward_s"].source)
    assert 0 < said["forward_s"] < said["step_s"]
    assert said["epoch_s"] == pytest.approx(STEPS * said["step_s"] + 2 * said["forward_s"])
    assert said["epoch_step_s"] == pytest.approx(said["epoch_s"] / STEPS)
    assert found.ours is not None
    assert found.ours.samples[0] == pytest.approx(said["epoch_s"])
    assert found.achieved_flop_per_s == pytest.approx((1 + 2 / STEPS) * 4 * 2 * 2048**3 / (kernels["new"] / STEPS))
    assert "share of the forward passes over 12 samples held out" in str(found.reason)


def test_a_ratio_of_unlike_times_says_what_like_with_like_would_be(tmp_path: Path, kernels: dict[str, float]) -> None:
    ratio = 50 * kernels["old"] / kernels["new"]
    stated = [{"of": "old", "mark": "data-bound", "reason": "it waits"}]
    found = audited(tmp_path, times(kernels, 50, 1), f"{ratio:.3f}x", stated=stated).cells("ratios", "A", "new")[0]
    assert found.mark == "data-bound"
    assert found.ours is not None
    assert found.ours.samples[0] == pytest.approx(ratio, rel=1e-5)
    assert found.like_with_like is not None
    assert found.like_with_like.samples[0] == pytest.approx(ratio / 50)
    assert "unlike is divided by unlike" in str(found.reason)
    assert f"it would be {ratio / 50:.3g}" in str(found.reason)


def test_a_stated_mark_must_be_borne_out(tmp_path: Path, kernels: dict[str, float]) -> None:
    stated = [{"of": "new", "mark": "data-bound", "reason": "it waits"}]
    with pytest.raises(EstimatorError, match=r"one: A: new is stated to be 'data-bound', but .* 'reproduced'"):
        audited(tmp_path, times(kernels, 1, 1.1), stated=stated)


def test_a_machine_that_nothing_is_known_of_has_an_implied_step_alone(
    tmp_path: Path, kernels: dict[str, float]
) -> None:
    found = audited(tmp_path, {**times(kernels, 1, 1), "dark": "50 s"}).cells("times", "A", "dark")[0]
    assert (found.ours, found.mark) == (None, "cannot be told")
    assert found.implied_step_s == pytest.approx(50 / STEPS)


def test_rows_of_the_same_work_that_contradict_each_other(tmp_path: Path, kernels: dict[str, float]) -> None:
    path = study(tmp_path, times(kernels, 1, 0.5))
    document = json.loads(path.read_text())
    document["tables"]["one"]["rows"]["B"]["times"] = times(kernels, 1.1, 2)
    path.write_text(json.dumps(document))
    old, new = run_study(path).audits[0].comparisons["like rows"]
    assert (old.mark, new.mark) == ("reproduced", "reproduced")  # the geometric mean of a half and two is one
    assert "agree within 10 %" in str(old.reason)
    assert "contradict each other, 4 to 1" in str(new.reason)
    assert new.printed == pytest.approx(kernels["new"] / STEPS)


def test_an_unknown_number_of_samples_is_bounded_by_the_fastest_column(
    tmp_path: Path, kernels: dict[str, float]
) -> None:
    path = study(tmp_path, times(kernels, 1, 7))
    (tmp_path / "workload.yaml").write_text("name: w\nbatch_size: 8\n")
    audit = run_study(path).audits[0]
    old, new = (audit.cells("times", "A", column)[0] for column in ("old", "new"))
    assert (old.mark, new.mark, old.ours) == ("cannot be told", "cannot be told", None)
    assert "it would be 10 steps" in str(old.reason)
    assert "but old's time leaves room for 10: at least 7 times its kernels" in str(new.reason)
    assert not audit.comparisons["like rows"]


def test_documents_carry_the_marks_and_a_study_of_tables_has_no_figure_of_merit(
    tmp_path: Path, kernels: dict[str, float]
) -> None:
    result = run_study(study(tmp_path, times(kernels, 1, 1)))
    document = json.loads(documents.to_json(documents.results(result)))
    (audit,) = document["audits"]
    assert [entry["mark"] for entry in audit["printed"]["times"]] == ["reproduced"] * 4
    assert audit["counts"]["reproduced"]["times"] == 4
    assert audit["marks"].keys() == audit["counts"].keys()
    assert document["figure_of_merit"] is None
    assert {"profile of w", "device k20x", "device p100-pcie-16gb"} <= document["inputs_sha256"].keys()
    with pytest.raises(EstimatorError, match="no machines and so no figure of merit"):
        documents.figures_of_merit(result)
