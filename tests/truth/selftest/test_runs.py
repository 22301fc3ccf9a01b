"""What a self-test runs, in which order, and which measured rows it keeps."""

import json
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pytest

from estimator.core.errors import EstimatorError
from estimator.core.schema import MEASUREMENTS, STREAMING
from estimator.devices import load_device
from estimator.truth import selftest
from estimator.truth.selftest import runs
from estimator.truth.selftest.runs import Folder, parse, predicts
from estimator.truth.selftest.settings import Setting, of_machine

ONE, TWO = Setting(1, "AVX"), Setting(1, "AVX2")
MODEL = """
import keras
def build():
    model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(256), keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse", jit_compile=False)
    return model
"""


@pytest.mark.parametrize(("text", "name", "scale"), [("p1b3", "p1b3", 1.0), ("nt3@0.02", "nt3@0.02", 0.02)])
def test_a_workload_at_a_scale(text: str, name: str, scale: float) -> None:
    found = parse(text)
    assert (found.name, found.scale, found.file.name) == (name, scale, "model.py")


@pytest.mark.parametrize(
    ("text", "told"), [("p1b3@big", "is no scale"), ("p1b3@2", "is none"), ("p1b9", "Did you mean")]
)
def test_what_is_no_workload(text: str, told: str) -> None:
    with pytest.raises(EstimatorError, match=told):
        parse(text)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"repeats": 5}, "even number"),
        ({"repeats": 2}, "at least 4"),
        ({"workloads": ["p1b3", "p1b3"]}, "give each once"),
    ],
)
def test_a_plan_that_cannot_be_run(words: dict[str, object], told: str) -> None:
    with pytest.raises(EstimatorError, match=told):
        selftest.planned(**words)  # type: ignore[arg-type]


def test_truth_stands_beside_predictions_before_and_behind_by_turns() -> None:
    jobs = [(job.__name__, repeat, setting) for job, repeat, setting in runs._jobs([ONE, TWO], 4)]
    captures = [(repeat, setting) for name, repeat, setting in jobs if name == "_capture"]
    assert captures == [(n, s) for pair in ((1, 2), (4, 3)) for s in (ONE, TWO) for n in pair]
    assert all(predicts(repeat) for name, repeat, _ in jobs if name == "_measure")
    assert Counter(name for name, _, _ in jobs) == {"_capture": 8, "_measure": 4}


def table(folder: Folder, repeat: int, times: list[float], peak: str) -> None:
    place = folder.table(repeat, ONE)
    place.parent.mkdir(parents=True)
    rows = pd.DataFrame({"op_class": "gemm", "precision": "fp32", "m": [8, 16], "n": 8, "k": 8, "time_s": times})
    rows.to_csv(place.with_suffix(".csv"), index=False)
    place.with_suffix(".yaml").write_text(f"name: {ONE.name}\npeak: {{fp32: {peak}}}\nmemory_bandwidth: 9 GB/s\n")


def test_the_fastest_row_of_each_shape_is_kept(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    table(folder, 1, [2.0, 3.0], "4 GFLOP/s")
    table(folder, 3, [1.0, 5.0], "3 GFLOP/s")
    runs._merge(folder, ONE, [1, 3])
    kept = MEASUREMENTS.conform(pd.read_csv(folder.device(ONE).with_suffix(".csv")), "kept").set_index("m")["time_s"]
    assert kept.to_dict() == {8: 1.0, 16: 3.0}
    peak = load_device(str(folder.device(ONE))).peak_of("fp32").vector
    assert peak is not None
    assert peak.value == 4e9


def test_streams_are_measured_once_in_half_an_octave() -> None:
    rows = [("elementwise", 1000.0), ("elementwise", 1010.0), ("elementwise", 2000.0), ("reduction", 1000.0)]
    shapes = pd.DataFrame(rows, columns=["op_class", "bytes"])
    shapes.loc[len(shapes)] = ["gemm", float("nan")]
    found = runs._distinct(pd.concat([shapes, shapes.tail(1)], ignore_index=True))
    assert list(found["op_class"]) == ["elementwise", "elementwise", "reduction", "gemm", "gemm"]
    assert set(found.loc[found["op_class"].isin(STREAMING), "cache"]) == {"warm"}
    assert found.loc[found["op_class"] == "gemm", "cache"].isna().all()


@pytest.mark.skipif(
    not find_spec("tensorflow") or not Path("/proc/cpuinfo").exists(), reason="needs TensorFlow on Linux"
)
def test_the_whole_chain_on_this_machine(tmp_path: Path) -> None:
    """Structure, not figures: what else this machine does decides on those."""
    try:
        settings = of_machine()[:2]
    except EstimatorError as error:
        pytest.skip(str(error))
    (tmp_path / "small.py").write_text(MODEL)
    plan = selftest.Plan((parse(str(tmp_path / "small.py")), parse("p1b3@0.1")), settings)
    document = selftest.selftest(plan, tmp_path / "runs").document()
    assert json.loads(json.dumps(document)) == document
    assert not set(document["repeats"]["predictions"]) & set(document["repeats"]["truth"])
    assert len(document["rows"]) == 2 * 2
    figures = pd.DataFrame(document["rows"]).drop(columns=["workload", "source", "target"]).astype(float)
    assert figures.notna().all(axis=None)
    assert (figures[["source_s", "predicted_s", "low_s", "high_s", "measured_s"]] > 0).all(axis=None)
    own = {path.name for path in (tmp_path / "runs").glob(f"repeat-*/{settings[0].name}/*")}
    assert own == {"small", "p1b3@0.1", runs.PLAN}
    with pytest.raises(EstimatorError, match="other workloads"):
        selftest.selftest(selftest.Plan((parse("p1b3@0.1"),), settings), tmp_path / "runs")
