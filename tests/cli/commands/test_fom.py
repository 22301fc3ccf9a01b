"""``estimator fom``: the document of the lecture's example."""

import pytest

from tests.cli.command_line import STUDY, read


def test_the_document_of_fom() -> None:
    document = read("fom", STUDY)
    assert {"definition", "baseline", "threshold", "targets"} <= document.keys()
    target = document["targets"]["machine-a"]
    mid = pytest.approx(82.5973, abs=5e-5)
    assert target["fom"] == {"low": None, "mid": mid, "high": None, "level": 0.9, "covers": "inputs"}
    assert (target["dominant_unit"], target["p_threshold"], target["meets_threshold"]) == ("P1", None, True)
    unit = target["units"]["P1"]
    assert (unit["level"], unit["time_level"], unit["units_per_day"]["mid"]) == ("system", "node", 564000)
