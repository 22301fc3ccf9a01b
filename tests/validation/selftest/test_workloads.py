"""Workloads of a self-test: their names, files and scales."""

from pathlib import Path

import pytest

from estimator.core.errors import EstimatorError
from estimator.validation.selftest.workloads import parse
from tests.validation.selftest.plans import MODEL


@pytest.mark.parametrize(("text", "name", "scale"), [("p1b3", "p1b3", 1.0), ("nt3@0.02", "nt3@0.02", 0.02)])
def test_a_workload_is_parsed_with_its_scale(text: str, name: str, scale: float) -> None:
    workload = parse(text)
    assert (workload.name, workload.scale, workload.file.name) == (name, scale, "model.py")


def test_a_path_may_contain_an_at_sign(tmp_path: Path) -> None:
    file = tmp_path / "me@work" / "train.py"
    file.parent.mkdir()
    file.write_text(MODEL)
    assert (parse(str(file)).file, parse(str(file)).scale) == (file, 1.0)
    assert (parse(f"{file}@0.5").file, parse(f"{file}@0.5").scale) == (file, 0.5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p1b3@big", "is no scale"),
        ("p1b3@", "'' is no scale"),
        ("p1b3@2", "is none"),
        ("p1b3@1e-9", "from 0.001 to 1"),
        ("p1b3@nan", "is none"),
        ("@0.1", "@0.1"),
        ("p1b9", "Did you mean"),
    ],
)
def test_invalid_workloads_are_refused(text: str, message: str) -> None:
    with pytest.raises(EstimatorError, match=message):
        parse(text)
