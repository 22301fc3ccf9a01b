from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from estimator.core.types import Profile, RunPlan, StudyResult
from estimator.devices import load_device
from estimator.pipeline import estimate
from estimator.reports import documents


def test_plain_values() -> None:
    given = {
        "a": np.float64(1.5),
        "b": np.int64(2),
        "c": pd.NA,
        "d": float("nan"),
        "e": [np.array([1.0, np.inf])],
        3: True,
    }
    assert documents.plain(given) == {"a": 1.5, "b": 2, "c": None, "d": None, "e": [[1.0, None]], "3": True}


def test_an_estimate_has_the_keys_of_the_contract(p1b3: Profile) -> None:
    found = documents.estimate(estimate(p1b3, RunPlan("v100")))
    assert {
        "workload", "source", "target", "precision", "fusion", "step_s", "source_step_s", "speedup", "components_s",
        "evidence", "coverage", "bound_s", "ops", "warnings",
    } <= found.keys()  # fmt: skip
    parts = {"compute", "memory", "latency", "communication_exposed", "input", "host", "unmodelled"}
    assert found["components_s"].keys() == parts
    assert sum(found["components_s"].values()) == pytest.approx(found["step_s"]["mid"])
    assert sum(found["evidence"].values()) == pytest.approx(1)
    assert found["bound_s"]["floor"] < found["step_s"]["mid"] < found["bound_s"]["ceiling"]
    assert found["speedup"]["mid"] == pytest.approx(found["source_step_s"] / found["step_s"]["mid"])
    assert found["step_s"].keys() == {"low", "mid", "high", "level", "covers"}


def test_a_device_shows_source_and_doubt() -> None:
    found = documents.device(load_device("lecture-a-nodelet"))
    assert found["memory_bandwidth"]["status"] == "assumed"
    assert found["memory_bandwidth"]["unverified"]
    assert found["peak"]["fp32"]["vector"]["value"] == 30.02e12
    assert documents.to_json(found)


def test_the_catalogues_numbers_behind_an_estimate_are_counted(p1b3: Profile) -> None:
    behind = documents.estimate(estimate(p1b3, RunPlan("lecture-a-nodelet")))["specifications"]
    assert behind["names"] == ["lecture-a-nodelet: memory_bandwidth"]  # assumed; the peak is derived
    assert behind["unverified"] == 1 < behind["used"]


def test_a_published_figure_has_the_keys_of_any(shipped_study: Callable[[str], StudyResult]) -> None:
    (found,) = shipped_study("lecture-example").comparisons
    document = documents.published(found)
    assert tuple(document) == documents.PUBLISHED_KEYS
    assert (document["printed"], document["on"], document["mark"]) == (82.599, "machine-a", None)
    assert document["ours"]["value"]["mid"] == pytest.approx(82.5973, abs=5e-5)
