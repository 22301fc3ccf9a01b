"""Which training a file defines, and what is refused before its first step."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from estimator.collect.capture import Plan, script, tensorflow_import, training
from estimator.collect.capture.watch import Watch
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


def flatten(nested: Any) -> list[Any]:
    """The arrays of nested tuples, as TensorFlow's ``nest.flatten``."""
    return [each for part in nested for each in flatten(part)] if isinstance(nested, tuple) else [nested]


def map_structure(function: Callable[[Any], Any], nested: Any) -> Any:
    """As TensorFlow's ``nest.map_structure``."""
    return tuple(map_structure(function, part) for part in nested) if isinstance(nested, tuple) else function(nested)


@pytest.fixture
def nest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nested arrays without TensorFlow."""
    tensorflow = SimpleNamespace(nest=SimpleNamespace(flatten=flatten, map_structure=map_structure))
    monkeypatch.setattr(tensorflow_import, "import_tensorflow", lambda: tensorflow)


FOUR = "import numpy as np\ncalls = []\ndef train_step(batch): calls.append(int(batch[0, 0]))\n"
THREE_BATCHES = f"{FOUR}def batches(): return [np.full((4, 2), i) for i in range(3)]\n"


@pytest.mark.usefixtures("nest")
def test_a_loop_runs_over_as_many_epochs_as_its_steps_take(tmp_path: Path) -> None:
    with script.load_script(written(tmp_path, THREE_BATCHES)) as own:
        run = training.find_training(own, Plan())
        assert (run.batch_size, run.epoch_steps, run.samples) == (4, 3, None)
        assert (run.model, run.compiled) == (None, False)
        run.run(Watch(1, 6, waits=False))
        assert own.get("calls") == [0, 1, 2, 0, 1, 2, 0]


@pytest.mark.usefixtures("nest")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{THREE_BATCHES}BATCH_SIZE = 8\n", "batches() gives batches of 4, but 8 is stated; let batches() make such"),
        (f"{FOUR}def batches(): return [np.float32(1)]\n", "batches() gives float32 without a dimension"),
        (f"{FOUR}once = iter([np.ones((4, 2))])\ndef batches(): return once\n", "batches() has no batch any more"),
    ],
)
def test_batches_of_another_size_or_none_are_refused(text: str, message: str, tmp_path: Path) -> None:
    def run(own: script.Script) -> None:
        training.find_training(own, Plan()).run(Watch(1, 6, waits=False))

    assert message in fault(written(tmp_path, text), run)


ARRAYS = f"import numpy as np\n{MODEL}def data(): return np.arange(20).reshape(10, 2), (np.zeros(10), np.ones(10))\n"


@pytest.mark.usefixtures("nest")
@pytest.mark.parametrize(("batch", "steps"), [(4, 2), (5, 2), (10, 1)])
def test_fit_takes_whole_batches_of_arrays(batch: int, steps: int, tmp_path: Path) -> None:
    with script.load_script(written(tmp_path, ARRAYS)) as own:
        fit = training.find_training(own, Plan(batch=batch))
        assert isinstance(fit, training.Fit)
        assert (fit.batch_size, fit.samples, fit.epoch_steps) == (batch, 10, steps)
        assert [len(array) for array in flatten(fit.data)] == [batch * steps] * 3


@pytest.mark.usefixtures("nest")
def test_fit_takes_an_iterable_of_batches_and_needs_one_batch_of_arrays(tmp_path: Path) -> None:
    batches = f"import numpy as np\n{MODEL}def data(): return [(np.ones((6, 2)), np.ones(6))] * 5\n"
    with script.load_script(written(tmp_path, batches)) as own:
        fit = training.find_training(own, Plan())
        assert (fit.batch_size, fit.samples, fit.epoch_steps) == (6, None, 5)
    assert "data() holds 10 samples; expected a batch of 32" in fault(
        written(tmp_path, ARRAYS), lambda own: training.find_training(own, Plan())
    )


@pytest.mark.usefixtures("nest")
def test_an_inference_is_the_forward_pass_of_the_same_model(tmp_path: Path) -> None:
    with script.load_script(written(tmp_path, ARRAYS)) as own:
        assert isinstance(training.find_training(own, Plan(mode="inference", batch=5)), training.Forward)
        assert not isinstance(training.find_training(own, Plan(batch=5)), training.Forward)
