"""The audit as part of a study."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from estimator.core.errors import EstimatorError
from estimator.reports import documents, study_documents
from estimator.studies.run import run_study
from tests.studies.audit.tables import scaled_times, write_study


@pytest.mark.slow
def test_a_study_of_tables_has_an_audit_and_no_figure_of_merit(tmp_path: Path, kernels: Mapping[str, float]) -> None:
    result = run_study(write_study(tmp_path, scaled_times(kernels, 1, 1)))
    document = json.loads(documents.to_json(study_documents.results(result)))
    (audit,) = document["audits"]
    assert [entry["mark"] for entry in audit["printed"]["times"]] == ["reproduced"] * 4
    assert document["figure_of_merit"] is None
    assert {"profile of w", "device k20x", "device p100-pcie-16gb"} <= document["inputs_sha256"].keys()
    assert all(number["value"]["covers"] == "all" for number in document["numbers"])
    with pytest.raises(EstimatorError, match="no machines and so no figure of merit"):
        study_documents.figures_of_merit(result)


@pytest.mark.slow
def test_every_estimate_is_named_by_its_cell_and_device(tmp_path: Path, kernels: Mapping[str, float]) -> None:
    result = run_study(write_study(tmp_path, scaled_times(kernels, 1, 1)))
    assert [name for name, _ in result.predictions()] == [
        f"{row}/{cell}"
        for row in ("A", "B")
        for cell in ("old/k20x", "new/v100-sxm2-16gb", "new/p100-pcie-16gb")
    ]  # fmt: skip


def test_an_unknown_device_is_refused(tmp_path: Path) -> None:
    path = write_study(tmp_path, {"old": "9 s", "new": "9 s"})
    path.write_text(path.read_text().replace("k20x", "k2Ox"))
    with pytest.raises(EstimatorError, match=r"one: A on k2Ox: .*Did you mean k20x"):
        run_study(path)
