import json

import numpy as np
import pandas as pd
import pytest

from estimator.core.types import Profile, RunPlan
from estimator.devices import load_device
from estimator.pipeline.step import estimate
from estimator.reports import documents


def test_plain_converts_numpy_and_missing_values() -> None:
    given = {
        "a": np.float64(1.5),
        "b": np.int64(2),
        "c": pd.NA,
        "d": float("nan"),
        "e": [np.array([1.0, np.inf])],
        3: True,
    }
    assert documents.plain(given) == {"a": 1.5, "b": 2, "c": None, "d": None, "e": [[1.0, None]], "3": True}


def test_keys_of_an_estimate(p1b3: Profile) -> None:
    document = documents.estimate(estimate(p1b3, RunPlan("v100")))
    assert {
        "workload", "source", "target", "precision", "fusion", "step_s", "source_step_s", "speedup", "components_s",
        "evidence", "coverage", "bound_s", "ops", "warnings",
    } <= document.keys()  # fmt: skip
    parts = {"compute", "memory", "latency", "communication_exposed", "input", "host", "unmodelled"}
    assert document["components_s"].keys() == parts
    assert sum(document["components_s"].values()) == pytest.approx(document["step_s"]["mid"])
    assert sum(document["evidence"].values()) == pytest.approx(1)
    assert document["bound_s"]["floor"] < document["step_s"]["mid"] < document["bound_s"]["ceiling"]
    assert document["speedup"]["mid"] == pytest.approx(document["source_step_s"] / document["step_s"]["mid"])
    assert document["step_s"].keys() == {"low", "mid", "high", "level", "covers"}


def test_json_has_a_row_a_line_and_nothing_but_the_document(p1b3: Profile) -> None:
    document = documents.estimate(estimate(p1b3, RunPlan("v100"))) | {"none": [], "empty": {}, "é": np.float64("nan")}
    text = documents.to_json(document)
    assert json.loads(text) == documents.plain(document)
    rows = [json.loads(line.removesuffix(",")) for line in text.splitlines() if line.startswith('    {"op": ')]
    assert rows == documents.plain(document["ops"])
    assert documents.to_json([]) == "[]\n"


def test_a_device_states_status_and_verification() -> None:
    document = documents.device(load_device("lecture-a-nodelet"))
    assert document["memory_bandwidth"]["status"] == "assumed"
    assert document["memory_bandwidth"]["unverified"]
    assert document["peak"]["fp32"]["vector"]["value"] == 30.02e12
    assert documents.to_json(document)


def test_unverified_specifications_of_an_estimate(p1b3: Profile) -> None:
    behind = documents.estimate(estimate(p1b3, RunPlan("lecture-a-nodelet")))["specifications"]
    assumed = ["lecture-a-nodelet: memory_bandwidth", "lecture-a-nodelet: compute_units"]  # the peak is derived
    assert behind["names"] == assumed
    assert behind["unverified"] == 2 < behind["used"]
