"""A capture without TensorFlow: what is refused before it runs, and the shipped captures."""

import sys
from itertools import pairwise
from pathlib import Path

import pytest

from estimator.collect import capture
from estimator.collect.capture import Plan
from estimator.core.errors import EstimatorError
from estimator.profiles import read_profile
from estimator.work import count_work
from tests.collect.capture.user_files import written
from tests.conftest import unpacked

LAYERS = (29532, 1000, 500, 100, 50, 1)


def test_a_missing_tensorflow_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    with pytest.raises(EstimatorError, match=r"pip install 'fom-estimator\[tensorflow\]'"):
        capture.capture(written(tmp_path, ""), tmp_path / "out", Plan())
    assert not (tmp_path / "out").exists()


def test_a_full_folder_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(EstimatorError, match="not empty"):
        capture.capture(tmp_path / "missing.py", tmp_path.parent, Plan())


@pytest.mark.parametrize("name", ["p1b3/amd-epyc.xplane", "p1b3/amd-epyc.tfprof"])
def test_the_shipped_captures_count_every_product_of_a_step(name: str) -> None:
    weights = [rows * columns for rows, columns in pairwise(LAYERS)]
    profile = read_profile(name)
    work, warnings = unpacked(count_work(profile.ops, profile.workload))
    rows = work[work["op_class"] == "gemm"]
    assert rows["flop"].sum() == 2 * 100 * (3 * sum(weights) - weights[0])  # no gradient of the first layer's input
    assert len(rows) == 14
    assert not warnings
