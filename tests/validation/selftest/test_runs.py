"""Runs of a self-test, their order, and the merging of measured rows."""

import itertools
import json
import os
import shutil
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pandas as pd
import pytest

from estimator.collect.capture.script import Script
from estimator.collect.capture.watch import Watch
from estimator.collect.measure import Plan
from estimator.core import library
from estimator.core.errors import EstimatorError
from estimator.core.schema import MEASUREMENTS, SHAPES
from estimator.core.types import Workload as Stated
from estimator.devices import load_device
from estimator.devices.measurements import load_measurements
from estimator.model.measured_rows import applicable_rows, one_row_per_shape
from estimator.profiles import read_profile
from estimator.validation import selftest
from estimator.validation.selftest import runs, tables, worker
from estimator.validation.selftest.folder import Folder
from estimator.validation.selftest.runs import predicts, seconds_of, step_time
from estimator.validation.selftest.settings import Setting
from estimator.validation.selftest.workloads import Workload, parse

ONE, TWO = Setting(1, "AVX"), Setting(1, "AVX2")
MODEL = """
import keras
def build():
    model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(256), keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse", jit_compile=False)
    return model
"""


def plan_of(workload: str, *settings: Setting) -> selftest.Plan:
    return selftest.Plan((parse(workload),), settings or (ONE, TWO))


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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"repeats": 5}, "even number"),
        ({"repeats": 2}, "at least 4"),
        ({"workload_names": ["p1b3", "p1b3"]}, "give each once"),
    ],
)
def test_invalid_plans_are_refused(words: dict[str, object], message: str) -> None:
    with pytest.raises(EstimatorError, match=message):
        selftest.make_plan(**words)  # type: ignore[arg-type]


def test_the_order_of_truth_and_predictions_alternates() -> None:
    assert [repeat for repeat in range(1, 9) if predicts(repeat)] == [1, 4, 5, 8]


def test_processes_are_replaced_after_some_repeats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them runs as many repeats for predictions as of truth; shapes are timed before four of ten."""
    turns, message = list[list[int]](), list[tuple[int, int]]()
    before, measured = list[int](), list[tuple[int, float]]()

    def turn(*given: Any) -> list[pd.DataFrame]:
        *_, measure, repeats, progress = given
        turns.append(list(repeats))
        for repeat in repeats:
            measure(repeat)
            before.extend([repeat] * (len(measured) - len(before)))
        progress(repeats[0] - 1)
        return [pd.DataFrame({"repeat": list(repeats)})]

    monkeypatch.setattr(runs, "_run_turn", turn)
    monkeypatch.setattr(tables, "needed_shapes", lambda *given: None)
    monkeypatch.setattr(tables, "measure", lambda *given: measured.append((given[1], given[-1])))
    steps = runs._run_steps(Folder(tmp_path), [], [ONE], 10, lambda done, total: message.append((done, total)))
    assert before == [1, 4, 7, 10]
    assert measured == [(number, runs.MEASURING_S / 4) for number in range(4)]
    assert turns == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10]]
    assert steps["repeat"].tolist() == list(range(1, 11))
    assert message == [(0, 10), (4, 10), (8, 10), (10, 10)]
    assert all(2 * sum(map(predicts, repeats)) == len(repeats) for repeats in turns)


@pytest.mark.parametrize("plan", [None, '{"mine": 1}', "junk", "[]"])
def test_files_of_other_programs_are_not_deleted(tmp_path: Path, plan: str | None) -> None:
    contents = {"captures/thesis.txt": "mine"} | ({} if plan is None else {"plan.json": plan})
    for name, text in contents.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    with pytest.raises(EstimatorError, match=r"holds something else.*; choose a new folder"):
        selftest.selftest(plan_of("cnn"), tmp_path)
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.*")} == {*contents}
    assert all((tmp_path / name).read_text() == text for name, text in contents.items())


def test_runs_of_another_plan_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = list[int]()

    def steps(*_: object) -> pd.DataFrame:
        begun.append(1)
        raise KeyboardInterrupt

    monkeypatch.setattr(runs, "_run_steps", steps)
    for workload in ("cnn", "p1b3"):  # a run that was cut off gives way
        with pytest.raises(KeyboardInterrupt):
            selftest.selftest(plan_of(workload), tmp_path)
    Folder(tmp_path).steps.write_text("repeat,setting,workload,wall_s\n")
    with pytest.raises(EstimatorError, match="holds runs of other workloads, settings or repeats"):
        selftest.selftest(plan_of("cnn"), tmp_path)
    with pytest.raises(EstimatorError, match="the capture is gone"):  # its own, in whatever order they are asked for
        selftest.selftest(plan_of("p1b3", TWO, ONE), tmp_path)
    assert len(begun) == 2


def test_incomplete_kept_runs_are_refused(tmp_path: Path) -> None:
    folder, plan = Folder(tmp_path), selftest.Plan((parse("cnn"), parse("p1b3")), (ONE, TWO))
    runs._keep_plan(folder, plan.workloads, plan.settings, plan.repeats)
    steps = "repeat,setting,workload,wall_s\n"
    folder.steps.write_text(steps)
    for setting, workload in itertools.product(plan.settings, plan.workloads):
        capture = folder.captures(setting) / workload.name
        for _ in range(2):
            with pytest.raises(EstimatorError, match=f"{setting.name}/{workload.name}: the capture is gone"):
                selftest.selftest(plan, tmp_path)
            capture.mkdir(parents=True, exist_ok=True)  # an empty one is none
        (capture / "provenance.yaml").write_text("")
        for repeat in range(1, plan.repeats + 1):
            with pytest.raises(
                EstimatorError, match=f"no step of {workload.name} in {setting.name} in repeat {repeat};"
            ):
                selftest.selftest(plan, tmp_path)
            steps += f"{repeat},{setting.name},{workload.name},0.1\n"
            folder.steps.write_text(steps)
    with pytest.raises(EstimatorError, match=f"holds no table of {ONE.name}"):
        selftest.selftest(plan, tmp_path)
    folder.steps.write_text(steps.replace("wall_s", "wall"))
    with pytest.raises(EstimatorError, match="the column 'wall_s' is missing"):
        selftest.selftest(plan, tmp_path)


def test_step_time_is_the_median_of_the_shortest_of_each_repeat() -> None:
    one, lucky = np.array([1.3, 1.0, 1.1]), np.array([0.7, 1.2])
    assert step_time([one, lucky]) == pytest.approx(0.85)
    assert step_time([one, lucky, lucky, one, one]) == 1.0
    assert step_time([one, lucky, lucky, one, lucky]) == 0.7


def test_predictions_and_truth_share_no_steps() -> None:
    steps = pd.DataFrame(
        [
            (repeat, setting.name, "toy", wall)
            for setting, slower in ((ONE, 1.0), (TWO, 10.0))
            for repeat, walls in enumerate(([3.0, 9.0, 4.0], [1.0], [2.0], [5.0, 5.0, 2.0]), 1)
            for wall in slower * np.array(walls)
        ],
        columns=["repeat", "setting", "workload", "wall_s"],
    )
    toy = Workload("toy", Path("toy.py"), 1.0)
    assert step_time(seconds_of(steps, ONE, toy, for_predictions=True)) == 2.5
    assert step_time(seconds_of(steps, TWO, toy, for_predictions=False)) == 15.0


def table(folder: Folder, number: int, times: list[float], peak: str, clock: str = "2 GHz") -> None:
    place = folder.table(number, ONE)
    place.parent.mkdir(parents=True)
    rows = pd.DataFrame({"op_class": "gemm", "precision": "fp32", "m": [8, 16], "n": 4096, "k": 32768, "time_s": times})
    rows = rows.assign(clock=clock, library="toy 1", threads=1, source="here")
    rows.to_csv(place.with_suffix(".csv"), index=False)
    place.with_suffix(".yaml").write_text(f"name: {ONE.name}\npeak: {{fp32: {peak}}}\nmemory_bandwidth: 9 GB/s\n")


@pytest.mark.parametrize("clock", ["2 GHz", "3 GHz"])
def test_merged_products_have_the_shortest_time(tmp_path: Path, clock: str) -> None:
    folder = Folder(tmp_path)
    for number, (times, rate) in enumerate((([2.0, 3.0], 4), ([1.0, 5.0], 3), ([4.0, 5.0], 2))):
        table(folder, number, times, f"{rate} GFLOP/s", clock if number else "2 GHz")
    tables.merge(folder, ONE)
    device = load_device(str(folder.device(ONE)))
    rows = load_measurements(device, named=folder.device(ONE))
    assert one_row_per_shape(applicable_rows(rows)).set_index("m")["time_s"].to_dict() == {8: 1.0, 16: 3.0}
    assert len(rows) == 2
    assert rows["clock"].dropna().unique().tolist() == ([clock] if clock == "2 GHz" else [])
    peak = device.peak_of("fp32").vector
    assert peak is not None
    assert peak.value == 4e9


def test_merged_memory_bound_ops_have_the_median_time(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    for number, time in enumerate((2.0, 1.0, 4.0)):
        table(folder, number, [1.0, 2.0], "4 GFLOP/s")
        path = folder.table(number, ONE).with_suffix(".csv")
        rows = pd.read_csv(path)
        stream = rows.iloc[:1].assign(op_class="elementwise", kernel="add", m=None, n=None, k=None, bytes=8_000_000_000)
        pd.concat([rows, stream.assign(time_s=time, time_low_s=0.9 * time)]).to_csv(path, index=False)
    tables.merge(folder, ONE)
    rows = load_measurements(load_device(str(folder.device(ONE))), named=folder.device(ONE))
    stream = rows[rows["op_class"] == "elementwise"]
    assert stream[["time_s", "time_low_s"]].to_numpy().tolist() == [[2.0, 1.8]]


def test_shapes_are_measured_in_their_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shapes that an earlier table lacks come first."""
    folder, asked, isa = Folder(tmp_path), list[pd.DataFrame](), list[str]()
    message = list[tuple[float, float]]()
    shipped = library.names("profiles", "*")["nt3"] / "amd-epyc.xplane"
    shutil.copytree(shipped, folder.captures(ONE) / "nt3")

    def measured(shapes: pd.DataFrame, output: Path, plan: Plan, command: str) -> None:
        message.append((plan.budget_s, plan.relative_error))
        asked.append(shapes[shapes["op_class"] == "convolution"])
        asked[-1][:1].assign(time_s=1.0).to_csv(output.with_suffix(".csv"), index=False)
        isa.append(os.environ["ONEDNN_MAX_CPU_ISA"])
        raise EstimatorError("no memory is left")

    monkeypatch.setattr(tables, "measure_shapes", measured)
    for number in (0, 1):
        with pytest.raises(EstimatorError, match=f"in setting {ONE.name}, measuring ended so: no memory is left"):
            tables.measure(folder, number, ONE, tables.needed_shapes(folder, [ONE], "fp32"), budget_s=20.0)
    assert message == [(20.0, tables.RELATIVE_ERROR)] * 2
    first, then = (shapes.drop_duplicates("pass")["pass"].tolist() for shapes in asked)
    assert len(first) == 3
    assert then == [*first[1:], first[0]]
    assert isa == [ONE.isa, ONE.isa]


def test_shapes_timed_least_often_come_first() -> None:
    shapes = [("gemm", 8, None), ("gemm", 16, None), ("elementwise", None, 1000.0), ("gemm", 32, None)]
    rows = pd.DataFrame(shapes, columns=["op_class", "m", "bytes"]).assign(precision="fp32", n=8, k=8)
    found = SHAPES.conform(rows, "shapes")
    timed = found.assign(kernel=["", "", "add", ""], time_s=1.0)  # bytes of half an octave are one shape
    timed = MEASUREMENTS.conform(timed.assign(bytes=[None, None, 1010.0, None]).replace("", None), "table")
    order = [
        tables.least_timed_first(found, of)["m"].fillna(0).tolist() for of in ([], [timed[:1]], [timed[:1], timed[:3]])
    ]
    assert order == [[8, 16, 0, 32], [16, 0, 32, 8], [32, 16, 0, 8]]


def test_streams_are_measured_once_in_half_an_octave() -> None:
    rows = [("elementwise", 1000.0), ("elementwise", 1010.0), ("elementwise", 2000.0), ("reduction", 1000.0)]
    shapes = pd.DataFrame(rows, columns=["op_class", "bytes"])
    every = pd.DataFrame([("gemm", float("nan")), ("pooling", 1000.0)] * 2, columns=["op_class", "bytes"])
    found = tables._distinct(SHAPES.conform(pd.concat([shapes, every], ignore_index=True).assign(precision="fp32"), ""))
    assert list(found["op_class"]) == ["elementwise", "elementwise", "reduction", "gemm", "pooling"]
    streams = found["op_class"].isin(["elementwise", "reduction"])
    assert set(found.loc[streams, "cache"]) == {"warm"}
    assert found.loc[~streams, "cache"].isna().all()
    message = {"precision": ["fp32", "bf16", "fp32", "fp32"], "kernel": [None, None, "tanh", None]}
    of_formats = shapes.iloc[[0, 0, 0, 0]].reset_index(drop=True).assign(**message, conv_c=[None, None, None, 32])
    assert len(tables._distinct(SHAPES.conform(of_formats, ""))) == 4


def test_needed_shapes_are_in_the_precision_of_the_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is predicted: captures of other precisions are crossed to it, its own may keep layers in fp32."""
    folder, narrow = Folder(tmp_path), Setting(1, "AVX512_CORE_BF16", "bf16")
    asked = list[tuple[list[str], str | None]]()
    products = {None: [(8, "bf16"), (4, "fp32")], "bf16": [(8, "bf16"), (4, "bf16")]}
    for setting in (ONE, narrow):
        (folder.captures(setting) / "cnn").mkdir(parents=True)

    def shapes(names: list[str], precision: str | None) -> tuple[pd.DataFrame, tuple[str, ...]]:
        asked.append(([Path(name).parent.name for name in names], precision))
        rows = [{"op_class": "gemm", "precision": p, "m": m, "n": 1, "k": 2} for m, p in products[precision]]
        return SHAPES.conform(pd.DataFrame(rows), "shapes"), ()

    monkeypatch.setattr(tables, "profile_shapes", shapes)
    found = tables.needed_shapes(folder, [ONE, narrow], "bf16")
    assert asked == [([narrow.name], None), ([ONE.name], "bf16")]
    assert found[["m", "precision"]].to_numpy().tolist() == [[8, "bf16"], [4, "fp32"], [4, "bf16"]]
    anchored = tables._anchors(narrow, found)
    assert set(anchored.loc[anchored["op_class"] == "gemm", "precision"]) == {"fp32", "bf16"}


def test_a_device_has_the_highest_peak_of_each_precision(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    for number, peak in enumerate(("1 GFLOP/s, bf16: 5 GFLOP/s", "2 GFLOP/s, bf16: 4 GFLOP/s", "1 GFLOP/s")):
        table(folder, number, [4.0, 5.0], peak)
    tables.merge(folder, ONE)
    device = load_device(str(folder.device(ONE)))
    assert [tables.highest_rate(device, p) for p in ("fp32", "bf16", "fp16")] == pytest.approx(
        [2e9, 5e9, np.nan], nan_ok=True
    )


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.skipif(not Path("/proc/cpuinfo").exists(), reason="needs Linux")
def test_selftest_on_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What ``--quick`` runs, with less time for shapes. Structure, not figures: what else runs here decides those."""
    monkeypatch.setattr(runs, "MEASURING_S", 6)
    monkeypatch.setattr(runs, "REPEATS_PER_PROCESS", 2)
    try:
        plan = selftest.make_plan(quick=True)
    except EstimatorError as error:
        pytest.skip(str(error))
    document = selftest.selftest(plan, tmp_path / "runs").document()
    assert json.loads(json.dumps(document)) == document
    steps = pd.read_csv(tmp_path / "runs" / "steps.csv")
    assert document["repeats"] == {"predictions": [1, 4], "truth": [2, 3]}
    assert (steps.groupby(["repeat", "setting", "workload"]).size() >= worker.MIN_STEPS).all()
    assert len(steps.groupby(["repeat", "setting", "workload"])) == 4 * 2 * 2
    for row in document["rows"]:  # a prediction knows the steps of its own repeats alone
        of_row = steps[(steps["setting"] == row["source"]) & (steps["workload"] == row["workload"])]
        known = of_row[of_row["repeat"].isin([1, 4])].groupby("repeat")["wall_s"].min().median()
        message = read_profile(tmp_path / "runs" / "captures" / row["source"] / row["workload"]).wall_step_s
        assert row["source_s"] == pytest.approx(known, rel=1e-12)  # pandas may round the last digit
        assert message == pytest.approx(known, rel=1e-3)
    assert len(document["rows"]) == 2 * 2
    figures = pd.DataFrame(document["rows"]).drop(columns=["workload", "source", "target"]).astype(float)
    assert figures.notna().all(axis=None)
    assert (figures[["source_s", "predicted_s", "low_s", "high_s", "measured_s"]] > 0).all(axis=None)
    own = {path.name for path in (tmp_path / "runs" / "captures" / plan.settings[0].name).iterdir()}
    assert own == {*selftest.QUICK}
    assert selftest.selftest(plan, tmp_path / "runs").document()["rows"] == document["rows"]  # nothing is run again
    with pytest.raises(EstimatorError, match="other workloads"):
        selftest.selftest(selftest.Plan(plan.workloads[:1], plan.settings), tmp_path / "runs")


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def build():\n    raise ValueError('no data')\n", "no data"),
        ("import os\nos._exit(3)\n", "terminated abruptly; if memory ran out"),
    ],
)
def test_a_failing_workload_is_reported(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "wrong.py").write_text(text)
    plan = selftest.Plan((parse(str(tmp_path / "wrong.py")),), (ONE,))
    with pytest.raises(EstimatorError, match=message):
        runs.run(Folder(tmp_path / "runs"), plan.workloads, plan.settings, 4, lambda done, total: None)
    assert not (tmp_path / "runs" / "steps.csv").exists()
    (tmp_path / "wrong.py").write_text("raise ValueError('mended')\n")
    with pytest.raises(EstimatorError, match="mended"):  # the same folder, as nothing in it is to be kept
        runs.run(Folder(tmp_path / "runs"), plan.workloads, plan.settings, 4, lambda done, total: None)


class Ends:
    """A training of two steps."""

    def run(self, watch: Watch) -> None:
        for _ in range(2):
            watch.begin()
            watch.end()


class Fails:
    """A training that raises in its first step."""

    def run(self, watch: Watch) -> None:
        watch.begin()
        raise ValueError("no loss")


@pytest.mark.parametrize(
    ("training", "message"), [(Ends(), "its data ended after 2 steps"), (Fails(), "raised ValueError: no loss")]
)
def test_the_end_of_a_training_is_reported(tmp_path: Path, training: Ends | Fails, message: str) -> None:
    turns = worker._StepsOnDemand()
    script = Script(tmp_path / "short.py", {}, Stated(name="short"))
    Thread(target=turns.keep_running, args=(script, training), daemon=True).start()
    with pytest.raises(EstimatorError, match=message):
        turns.run(3)


@pytest.mark.parametrize(("load", "message"), [(0.3, ()), (1.0, ("the machine is busy: load 1.0 on 2 processor(s)",))])
def test_a_busy_machine_has_a_warning(load: float, message: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (load, 0.0, 0.0))
    monkeypatch.setattr("estimator.validation.selftest.usable_processors", lambda: [0, 1])
    assert tuple(text.split(";")[0] for text in selftest.warn_if_busy()) == message
