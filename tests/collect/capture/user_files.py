"""Files of a user that define a training run, and their faults."""

from pathlib import Path
from typing import Any

import pytest

from estimator.collect.capture import script
from estimator.core.errors import EstimatorError

MODEL = "class Model:\n    compiled, steps_per_execution = True, 1\nmodel = Model()\n"


LOOP = "def train_step(batch): ...\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "user.py"
    path.write_text(text)
    return path


def fault(path: Path, use: Any = lambda own: None) -> str:
    with pytest.raises(EstimatorError) as caught, script.load_script(path) as own:
        use(own)
    assert len(caught.value.faults) == 1
    return str(caught.value)
