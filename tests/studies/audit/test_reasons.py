"""Reasons for times made from predictions."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from estimator.rollup.host import PACE
from tests.studies.audit.tables import STEPS, audit_rows, audit_study, scaled_times, write_study


def reason(folder: Path, times: Mapping[str, object], **fields: object) -> str:
    return str(audit_rows(folder, times, "2x", **fields).cell("times", "A", "new")[0].reason)


@pytest.mark.slow
@pytest.mark.parametrize("new", [0.5, 1.0, 2.9, 3.1, 9.0])
def test_the_reason_gives_the_multiple_of_the_kernels(tmp_path: Path, kernels: Mapping[str, float], new: float) -> None:
    sentence = reason(tmp_path, scaled_times(kernels, 1, new))
    assert f" a step, {new:.3g} times the " in sentence
    assert "on p100-pcie-16gb the epoch's kernels would take" in sentence
    assert "% of the fp32 peak" in sentence
    assert ("no utilisation is printed" in sentence) == (new > 3)


@pytest.mark.slow
def test_the_reason_says_whether_the_interval_of_the_step_holds(tmp_path: Path, kernels: Mapping[str, float]) -> None:
    """The toy profile's host sleeps for 30 s, which no printed time does; another host has its own pace."""
    sentence = reason(tmp_path, scaled_times(kernels, 1, 1.0))
    (ends,) = re.findall("; with its launches 30.0 s are predicted, (.*) s to (.*) s, which miss it; ", sentence)
    assert [float(end) / 30 for end in ends] == pytest.approx([PACE[0], PACE[2]], rel=0.2)  # of few draws
    sentence = reason(tmp_path, {**scaled_times(kernels, 1, 1.0), "new": f"{30 * STEPS + kernels['new']} s"})
    assert "which hold it; " in sentence


@pytest.mark.slow
def test_a_time_below_the_physical_floor_is_named(tmp_path: Path, kernels: Mapping[str, float]) -> None:
    assert "that peak and bandwidth allow" in reason(tmp_path, scaled_times(kernels, 1, 0.01))
    assert "that peak and bandwidth allow" not in reason(tmp_path, scaled_times(kernels, 1, 1.0))


@pytest.mark.slow
def test_the_reason_names_the_validation_samples(tmp_path: Path, kernels: Mapping[str, float]) -> None:
    sentence = reason(tmp_path, scaled_times(kernels, 1, 1), validation_samples=12)
    assert "share of the forward passes over 12 samples held out" in sentence


@pytest.mark.slow
def test_statements_of_source_and_study_come_last(tmp_path: Path, kernels: Mapping[str, float]) -> None:
    stated = [{"of": "new", "reason": "it waits"}]
    sentence = reason(tmp_path, scaled_times(kernels, 1, 9), stated=stated, busy={"new": "90 %"})
    assert sentence.endswith("; busy 90 % of the time, as its source says; it waits")


def test_estimated_times_and_declared_updates_come_first(tmp_path: Path, kernels: Mapping[str, float]) -> None:
    times = {**scaled_times(kernels, 1, 1), "new": f"[{kernels['new']:.9f} s]"}
    sgd = {"name": "sgd", "update_ops": {"Add": {"calls": 1, "reads": 2, "writes": 1}}}
    path = write_study(tmp_path, times, both=False, optimizer=sgd)
    (tmp_path / "workload.yaml").write_text(f"name: w\nbatch_size: 8\nsamples: {8 * STEPS}\nparameters: 1000\n")
    first, second, *_ = str(audit_study(path).cell("times", "A", "new")[0].reason).split("; ")
    assert first == "estimated by its source, not measured"
    assert second == "predicted with the update of sgd that the study declares, not the profile's own"


@pytest.mark.slow
def test_an_unknown_number_of_samples_is_bounded_by_the_fastest_column(
    tmp_path: Path, kernels: Mapping[str, float]
) -> None:
    path = write_study(tmp_path, scaled_times(kernels, 1, 7))
    (tmp_path / "workload.yaml").write_text("name: w\nbatch_size: 8\n")
    audit = audit_study(path)
    old, new = (audit.cell("times", "A", column)[0] for column in ("old", "new"))
    assert (old.mark, new.mark, old.ours, old.implied_step) == ("cannot be told", "cannot be told", None, None)
    assert "its samples are not known; it would be 10 steps" in str(old.reason)
    assert "leaves room" not in str(old.reason)
    assert "but old's time leaves room for 10: at least 7 times its kernels" in str(new.reason)
    assert not audit.checked["like rows"]


@pytest.mark.slow
def test_an_estimated_time_bounds_no_number_of_steps(tmp_path: Path, kernels: Mapping[str, float]) -> None:
    path = write_study(tmp_path, {**scaled_times(kernels, 1, 7), "old": "[1 s]"}, both=False)
    (tmp_path / "workload.yaml").write_text("name: w\nbatch_size: 8\n")
    old, new = (audit_study(path).cell("times", "A", column)[0] for column in ("old", "new"))
    assert old.reason == "estimated by its source, not measured; its samples are not known"
    assert "leaves room" not in str(new.reason)
