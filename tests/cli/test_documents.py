"""The documents of the command line: plain data, with the keys that other programs rely on."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from estimator.cli import documents
from estimator.core.errors import Fault
from estimator.core.types import MemoryUse, RunPlan, StudyResult, Workload
from estimator.devices.specs.table.columns import DEVICES, SYSTEMS
from estimator.reports.documents import plain
from estimator.validation import validate
from estimator.validation.tables import KEYS


def test_paths_are_texts() -> None:
    assert documents.written([Path("a") / "b.csv"]) == {"written": [str(Path("a/b.csv"))]}


@pytest.mark.slow
def test_a_report_lists_the_steps_of_published_tables(shipped_study: Callable[[str], StudyResult]) -> None:
    """NT3 and TC1 of the lecture's table on its two GPUs: each step lies in the interval of the predicted one."""
    document = documents.report([Path("r.html")], shipped_study("lecture-table"))
    assert document["written"] == ["r.html"]
    steps = {(step["unit"], step["on"]): step for step in document["steps"]}
    assert len(steps) == len(document["steps"]) > 30
    for unit, on in ((unit, on) for unit in ("NT3", "TC1") for on in ("V100", "P100")):
        assert steps[unit, on]["step_holds"]
    assert steps["NT3", "V100"]["implied_step_s"] == pytest.approx(11 / 56)
    assert steps["NT3", "V100"]["predicted_step_s"]["mid"] == pytest.approx(11 / 56, rel=0.3)


def test_a_report_without_tables_has_no_steps(shipped_study: Callable[[str], StudyResult]) -> None:
    assert documents.report([], shipped_study("lecture-example")) == {"written": [], "steps": []}


def test_a_shipped_profile_has_a_title_and_a_default_dump() -> None:
    workloads = {"toy": Workload(name="toy", title="A toy"), "bare": Workload(name="bare")}
    assert documents.shipped_profiles(workloads) == {
        "toy": {"title": "A toy", "default_profile": None},
        "bare": {"title": None, "default_profile": None},
    }


def test_an_allocator_that_takes_less_than_its_tensors_has_no_memory_below_zero() -> None:
    use = MemoryUse({"parameters": np.full(3, 10.0), "allocator": np.array([1.0, -2.0, 3.0]), "reserve": np.zeros(3)})
    document = documents.memory("toy", RunPlan(""), use)
    assert document["intervals"]["allocator"]["low"] >= 0.0
    assert document["total_interval"]["low"] < 10.0


def test_an_unknown_time_is_null() -> None:
    rows = pd.DataFrame({"op_class": ["gemm"], "m": [pd.NA], "time_s": [float("nan")]})
    document = documents.predicted_shapes(rows, "toy", ("assumed",))
    row = {"op_class": "gemm", "m": None, "time_s": None}
    assert document == {"target": "toy", "rows": [row], "assumptions": ["assumed"]}


def test_an_entry_separates_what_is_derived() -> None:
    entry = documents.catalogue_entry(DEVICES, DEVICES.load("v100"))
    assert entry["memory_bandwidth"]["value"] == 900e9
    ridge_point = {"value": pytest.approx(125e12 / 900e9), "unit": "FLOP/B", "unverified": False}
    assert entry["derived"]["ridge_point_fp16"] == ridge_point
    assert documents.catalogue_entry(SYSTEMS, SYSTEMS.load("summit"))["nodes"]["value"] == 4608


def test_a_comparison_names_what_is_compared() -> None:
    subjects = {name: DEVICES.load(name) for name in ("v100", "a100")}
    document = documents.catalogue_comparison(DEVICES, subjects, {"year": {"a100": 2.0}})
    assert document.keys() == {"devices", "ratios"}
    assert list(document["devices"]) == ["v100", "a100"]
    assert document["ratios"] == {"year": {"a100": 2.0}}


def test_a_column_has_a_unit_a_kind_and_a_meaning() -> None:
    columns = documents.catalogue_columns(DEVICES.columns.values())
    assert columns.keys() == DEVICES.columns.keys()
    assert columns["memory_bandwidth"]["unit"] == "B/s"
    assert {column["kind"] for column in columns.values()} == {"text", "plain", "number"}


@pytest.mark.parametrize(
    ("sentence", "parts"),
    [
        ("a b/c:d.yaml:12: it is: wrong", ("a b/c:d.yaml", 12, "it is: wrong")),
        ("x.yml: it is wrong", ("x.yml", None, "it is wrong")),
        ("it is wrong", (None, None, "it is wrong")),
    ],
)
def test_a_fault_is_taken_apart(sentence: str, parts: tuple[str | None, int | None, str]) -> None:
    file, line, rest = parts
    finding = {"file": file, "line": line, "rule": "r", "sentence": rest}
    fault = Fault(sentence, "r")
    assert documents.catalogue_check(3, [fault]) == {"checked": 3, "faults": [sentence], "findings": [finding]}


def test_a_fault_without_a_rule_has_none() -> None:
    assert documents.finding("it is wrong")["rule"] is None


def test_measured_rows_are_counted_and_their_empty_conditions_null() -> None:
    survey = pd.DataFrame({"op_class": ["gemm", "copy"], "rows": [2, 3], "best_share": [0.5, float("nan")]})
    conditions = pd.DataFrame({"op_class": ["gemm"], "clock": [""]})
    assert documents.device_measurements("toy", survey, conditions, ["a note"]) == {
        "device": "toy",
        "rows": 5,
        "kinds": [
            {"op_class": "gemm", "rows": 2, "best_share": 0.5},
            {"op_class": "copy", "rows": 3, "best_share": None},
        ],
        "conditions": [{"op_class": "gemm", "clock": None}],
        "notes": ["a note"],
    }


def test_held_out_errors_say_what_was_judged() -> None:
    shipped = validate.shipped(["gemm"])
    document = plain(documents.held_out_errors(shipped, None))
    assert (document["source"], document["data"], document["worst"]) == ("shipped fit", None, {})
    assert list(document["problems"]) == ["gemm"]
    assert len(document["held_out"]) == len(shipped.held_out)
    rows = pd.DataFrame({**dict.fromkeys(KEYS, "x"), "time_s": [1.0, 1.0], "ours": [1.1, 2.0], "m": [1, 2]})
    judged = validate.Validation(shipped.held_out, {"gemm": rows}, ("a note",))
    document = plain(documents.held_out_errors(judged, Path("public")))
    assert (document["source"], document["data"], document["notes"]) == ("data", "public", ["a note"])
    assert [row["predicted_s"] for row in document["worst"]["gemm"]] == [2.0, 1.1]
