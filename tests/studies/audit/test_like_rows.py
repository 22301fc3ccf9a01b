import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from estimator.studies.audit.like_rows import geometric_mean
from tests.studies.audit.tables import STEPS, audit_study, scaled_times, write_study


@pytest.mark.slow
def test_rows_of_the_same_work_agree_or_contradict_each_other(tmp_path: Path, kernels: Mapping[str, float]) -> None:
    path = write_study(tmp_path, scaled_times(kernels, 1, 0.5))
    document = json.loads(path.read_text())
    document["tables"]["one"]["rows"]["B"]["times"] = scaled_times(kernels, 1.1, 2)
    path.write_text(json.dumps(document))
    old, new = audit_study(path).checked["like rows"]
    assert (old.mark, new.mark) == ("reproduced", "reproduced")  # the geometric mean of a half and two is one
    assert "agree within 10 %: the same run" in str(old.reason)
    assert "contradict each other, 4 to 1" in str(new.reason)
    assert new.printed.value == pytest.approx(kernels["new"] / STEPS)
    assert new.ours is not None
    assert new.ours.inputs == ("one/A/new/v100-sxm2-16gb/step_s", "one/B/new/v100-sxm2-16gb/step_s")


def test_the_geometric_mean_is_taken_of_each_draw() -> None:
    assert geometric_mean([0.5, 2.0]) == pytest.approx(1)
    assert geometric_mean([np.array([1.0, 4.0]), np.array([9.0, 4.0])]) == pytest.approx([3, 4])
