"""Capture without TensorFlow: the user's file, the folder, the watch, the written files."""

import os
import sys
import warnings
from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from estimator.collect import capture
from estimator.collect.capture import (
    Plan,
    describing,
    scaled,
    script,
    synthetic_data,
    tensorflow_import,
    training,
)
from estimator.collect.capture.watch import Watch
from estimator.core import library, yaml_files
from estimator.core.errors import EstimatorError
from estimator.core.files import whole_folder
from estimator.profiles import read_profile
from estimator.profiles.workload import Provenance
from estimator.work import count_work
from tests.conftest import unpacked

LAYERS = (29532, 1000, 500, 100, 50, 1)
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


def test_a_missing_tensorflow_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    with pytest.raises(EstimatorError, match=r"pip install 'fom-estimator\[tensorflow\]'"):
        capture.capture(written(tmp_path, ""), tmp_path / "out", Plan())
    assert not (tmp_path / "out").exists()


def test_a_full_folder_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(EstimatorError, match="not empty"):
        capture.capture(tmp_path / "missing.py", tmp_path.parent, Plan())


@pytest.mark.parametrize("stop", [KeyboardInterrupt, EstimatorError, ZeroDivisionError])
def test_a_folder_is_whole_or_absent(tmp_path: Path, stop: type[BaseException]) -> None:
    def fill() -> None:
        with whole_folder(tmp_path / "deep" / "out") as place:
            (place / "half").write_text("")
            raise stop

    with pytest.raises(stop):
        fill()
    assert list((tmp_path / "deep").iterdir()) == []


def test_an_empty_folder_is_used(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with whole_folder(tmp_path / "out") as place:
        (place / "dump").write_text("all")
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "dump"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a = 1\nb = a / 0\n", "user.py:2: this line raised ZeroDivisionError: division by zero; mend it"),
        ("a = 1\n\nb = (\n", "user.py:3: this line raised SyntaxError"),
        ("import not_a_module_of_anyone\n", "user.py:1: this line raised ModuleNotFoundError"),
        ("raise SystemExit\n", "user.py:1: this line raised SystemExit; mend it"),
        ("raise KeyError\n", "user.py:1: this line raised KeyError; mend it"),
    ],
)
def test_a_fault_of_the_users_file_is_one_sentence_with_its_line(tmp_path: Path, text: str, found: str) -> None:
    assert found in fault(written(tmp_path, text))


def test_a_fault_in_a_function_of_the_file_names_the_line(tmp_path: Path) -> None:
    path = written(tmp_path, "def data():\n    return open('no such file')\n")
    assert f"{path}:2: this line raised FileNotFoundError" in fault(path, lambda own: own.value_of("data"))


def test_an_error_of_autograph_is_reported_by_its_cause(tmp_path: Path) -> None:
    path = written(tmp_path, "def step(said):\n    pass\n")

    def use(own: script.Script) -> None:
        code = compile(f"raise ValueError({_autograph(path)!r})", "generated.py", "exec")
        exec(code)

    assert f"{path}:2: this line raised ValueError: shapes do not fit; mend it" in fault(path, use)


def _autograph(path: Path) -> str:
    return (
        f'in user code:\n\n    File "{path}", line 2, in step  *\n        pass\n\n    ValueError: shapes do not fit.\n'
    )


def test_a_missing_file_and_an_empty_one_are_refused(tmp_path: Path) -> None:
    assert "no such file" in fault(tmp_path / "missing.py")
    assert "defines no training run; expected build()" in fault(
        written(tmp_path, "x = 1\n"), lambda own: training.find_training(own, Plan())
    )


@pytest.mark.parametrize("value", ["0", "True", "'32'", "2.5"])
def test_an_invalid_count_is_refused(tmp_path: Path, value: str) -> None:
    assert "write a whole number above zero" in fault(
        written(tmp_path, f"BATCH_SIZE = {value}\n"), lambda own: own.count("BATCH_SIZE")
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


def test_scaled_sizes_shrink_to_at_least_one() -> None:
    assert scaled(0.1, 1000, 25, 2) == [100, 2, 1]
    assert scaled(1.0, 29532, 1) == [29532, 1]


@pytest.mark.parametrize(("sizes", "side"), [([(None, 3)], "outputs"), ([(None, None)], "inputs"), ([], "inputs")])
def test_open_shapes_get_no_synthetic_data(sizes: list[Any], side: str) -> None:
    inputs = [SimpleNamespace(shape=shape, dtype="float32") for shape in sizes]
    model = SimpleNamespace(name="open", layers=[], inputs=inputs, outputs=[])
    with pytest.raises(EstimatorError, match=f"the shapes of its {side} are open; define data"):
        synthetic_data.synthetic_batch(model, 4)


def test_a_workload_is_found_by_name_folder_and_file(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("")
    assert script.locate(str(tmp_path)) == script.locate(str(tmp_path / "model.py")) == tmp_path / "model.py"
    assert script.locate("nt3") == library.names("profiles", "*")["nt3"] / "model.py"
    with pytest.raises(EstimatorError, match=r"Unknown workload 'nt4'\. Did you mean nt3"):
        script.locate("nt4")


def test_workload_yaml_completes_the_file(tmp_path: Path) -> None:
    (tmp_path / "workload.yaml").write_text("name: own\nbatch_size: 8\nepochs: 3\n")
    with script.load_script(written(tmp_path, "EPOCHS = 2\n")) as own:
        assert (own.count("BATCH_SIZE"), own.count("EPOCHS"), own.count("SAMPLES")) == (8, 2, None)


def test_a_file_next_to_it_can_be_imported_and_leaves_no_trace(tmp_path: Path) -> None:
    (tmp_path / "helper_of_the_user.py").write_text("WIDTH = 3\n")
    path = written(tmp_path, "import helper_of_the_user\nWIDTH = helper_of_the_user.WIDTH\n")
    before = list(sys.path)
    with script.load_script(path) as own:
        assert own.get("WIDTH") == 3
    assert sys.path == before
    assert script.NAME not in sys.modules
    assert "helper_of_the_user" not in sys.modules


class Recorded:
    """A recorder that notes its calls."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def start(self) -> None:
        self.calls.append("start")

    def step(self, number: int) -> Any:
        self.calls.append(f"step {number}")
        return nullcontext()

    def stop(self, *, keep: bool) -> None:
        self.calls.append("keep" if keep else "forget")


def test_the_watch_records_the_last_steps() -> None:
    recorder, shown = Recorded(), []
    watch = Watch(2, 3, 2, recorder, lambda done, total: shown.append((done, total)), waits=False)
    while not watch.done:
        watch.begin()
        watch.end()
    steps = ["start", "step 0", "step 1"]
    assert recorder.calls == [*steps, "forget", *steps, "keep"]
    assert shown == [(i, 9) for i in range(1, 10)]


def test_the_watch_leaves_warm_up_and_profiled_steps_out_of_the_step_time() -> None:
    watch = Watch(1, 3, 2, seconds=[9.0, 1.0, 2.0, 3.0], kept=[5.0, 7.0], waits=False)
    low, mid, high = watch.step_s()
    assert (low, mid, high) == pytest.approx((1.1, 2.0, 2.9))
    assert watch.profiled_s() == 6.0


def test_the_dump_is_of_the_later_session_with_the_shortest_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    took = iter([1.0, 1.0, 4.0, 2.0, 3.0, 2.0, 3.0, 9.0])
    clock = (time for seconds in took for time in (0.0, seconds))
    monkeypatch.setattr("estimator.collect.capture.watch.perf_counter", lambda: next(clock))
    recorder = Recorded()
    watch = Watch(0, 0, 2, recorder, waits=False, tries=3)
    while not watch.done:
        watch.begin()
        watch.end()
    assert [word for word in recorder.calls if "step" not in word][1::2] == ["forget", "keep", "keep", "forget"]
    assert watch.kept == [3.0, 2.0]


def test_a_provenance_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "provenance.yaml"
    describing.write(
        path, {"date": "2026-11-21", "wall_step": "1234 ms", "device": None, "warmup": 0, "source": "a: b"}
    )
    found = yaml_files.check(Provenance, yaml_files.read_yaml(path))
    assert (found.date, found.wall_step, found.device, found.warmup) == ("2026-11-21", 1.234, None, 0)


def test_output_of_the_users_file_goes_to_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    with tensorflow_import.suppress_output():
        print("said")
        os.write(2, b"noise of compiled code\n")
        warnings.warn("of no concern", stacklevel=1)
    out, err = capfd.readouterr()
    assert (out, err) == ("", "said\n")


@pytest.mark.parametrize("name", ["p1b3/amd-epyc.xplane", "p1b3/amd-epyc.tfprof"])
def test_the_shipped_captures_count_every_product_of_a_step(name: str) -> None:
    weights = [rows * columns for rows, columns in pairwise(LAYERS)]
    profile = read_profile(name)
    work, warnings = unpacked(count_work(profile.ops, profile.workload))
    rows = work[work["op_class"] == "gemm"]
    assert rows["flop"].sum() == 2 * 100 * (3 * sum(weights) - weights[0])  # no gradient of the first layer's input
    assert len(rows) == 14
    assert not warnings
