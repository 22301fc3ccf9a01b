"""Which training a file defines, and what is refused before its first step."""

from pathlib import Path

import pytest

from estimator.collect.capture import Plan, training
from tests.collect.capture.user_files import LOOP, MODEL, fault, written


def test_a_missing_file_and_an_empty_one_are_refused(tmp_path: Path) -> None:
    assert "no such file" in fault(tmp_path / "missing.py")
    assert "defines no training run; expected build()" in fault(
        written(tmp_path, "x = 1\n"), lambda own: training.find_training(own, Plan())
    )


def test_models_not_compiled_or_without_single_steps_are_refused(tmp_path: Path) -> None:
    bare = written(tmp_path, "def build(): return 3\ndata = ()\n")
    assert "build() gives int; expected a Keras model on which compile() was called" in fault(
        bare, lambda own: training.find_training(own, Plan())
    )
    model = f"{MODEL}Model.steps_per_execution, data = 8, ()\n"
    assert "set it to 1" in fault(written(tmp_path, model), lambda own: training.find_training(own, Plan()))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "def build(units): ...\n",
            "build() cannot be called without arguments (missing a required argument: 'units')",
        ),
        (f"{MODEL}def data(): return 5\n", "data() gives int; expected (x, y) or an iterable of batches"),
        (f"{MODEL}def data(): return []\n", "data() gives no batch; expected at least one"),
        (f"{LOOP}def batches(): return 5\n", "batches() gives int; expected an iterable of batches"),
        (f"{LOOP}def batches(): return iter([])\n", "batches() gives no batch; expected at least one"),
    ],
)
@pytest.mark.tensorflow
def test_functions_with_unusable_results_are_refused(tmp_path: Path, text: str, message: str) -> None:
    assert message in fault(written(tmp_path, text), lambda own: training.find_training(own, Plan()))


def test_unsupported_scales_and_modes_are_refused(tmp_path: Path) -> None:
    loop = written(tmp_path, "def train_step(batch): ...\ndef batches(): ...\n")
    for plan in (Plan(scale=0.5), Plan(mode="inference")):
        assert "define build() in its place" in fault(loop, lambda own, plan=plan: training.find_training(own, plan))
    for text in ("def build(): ...\n", "model = 3\n"):
        path = written(tmp_path, text)
        assert "'def build(scale=1.0)'" in fault(path, lambda own: training.find_training(own, Plan(scale=0.5)))
