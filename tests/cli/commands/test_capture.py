"""``estimator capture`` end to end, each run in a process of its own: TensorFlow prints, warns and stays in memory."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from estimator.core import yaml_files
from estimator.profiles import read_profile
from estimator.profiles.workload import Provenance, find_workload
from estimator.work import count_work
from tests.cli.command_line import run, run_process

FIT = '''"""A tiny Keras model: 12-8-3, the batch of its data left open."""

import keras
import numpy as np
import tensorflow as tf

SAMPLES = 4000
EPOCHS = 2

def build():
    model = keras.Sequential([keras.Input((12,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(3)])
    model.compile(optimizer="sgd", loss="mse", jit_compile=False)
    return model

def data():
    print("a script may print")
    return tf.data.Dataset.from_tensor_slices((np.ones((20, 12), "f"), np.ones((20, 3), "f"))).batch(4)
'''
OWN_STEP = '''"""The same layers with a training step of its own."""

import keras
import tensorflow as tf

model = keras.Sequential([keras.Input((12,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(3)])
optimizer = keras.optimizers.Adam()

@tf.function
def train_step(batch):
    x, y = batch
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(keras.losses.mean_squared_error(y, model(x, training=True)))
    optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
    return loss

def batches():
    for _ in range(3):
        yield tf.ones((4, 12)), tf.ones((4, 3))
'''
FEW = ("--steps", "6", "--warmup", "2", "--profiled", "3")
FORWARD = 2 * 4 * (12 * 8 + 8 * 3)
FLOP = FORWARD + FORWARD + 2 * 4 * 8 * 3  # the first layer needs no gradient of its input


def captured(text: str, folder: Path, *options: str) -> dict[str, Any]:
    script = folder.with_name("script.py")
    script.write_text(text)
    done = run_process("capture", str(script), "-o", str(folder), *FEW, *options, "--json")
    assert done.stderr.replace("a script may print\n", "") == ""
    assert {path.name for path in folder.parent.iterdir()} == {"script.py", folder.name}
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.fixture(scope="module")
def through_fit(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("fit") / "dump"
    return folder, captured(FIT, folder)


@pytest.fixture(scope="module")
def through_session(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("session") / "dump"
    return folder, captured(OWN_STEP, folder, "--format", "tfprof")


def products(folder: Path) -> pd.DataFrame:
    profile = read_profile(folder)
    work = count_work(profile.ops, profile.workload).work
    return work[work["op_class"] == "gemm"]


@pytest.mark.slow
@pytest.mark.tensorflow
def test_the_document_of_capture(through_fit: tuple[Path, dict[str, Any]]) -> None:
    folder, document = through_fit
    step = document["wall_step_s"]
    assert 0 < step["low"] <= step["mid"] <= step["high"] < 10
    assert document["overhead"] == pytest.approx(document["profiled_step_s"] / step["mid"] - 1)
    known = {"folder": str(folder), "format": "xplane", "steps": 3, "repeats": 6, "warmup": 2, "batch_size": 4}
    assert document.items() >= (known | {"parameters": 131}).items()


@pytest.mark.slow
@pytest.mark.tensorflow
def test_files_beside_the_dump(through_fit: tuple[Path, dict[str, Any]]) -> None:
    folder, document = through_fit
    assert {path.name for path in folder.iterdir()} == {
        "graph.csv", "provenance.yaml", "steps.xplane.pb", "workload.yaml",
    }  # fmt: skip
    workload = find_workload(folder)
    assert workload.model_dump(exclude_defaults=True).items() >= {
        "name": "script", "batch_size": 4, "samples": 4000, "epochs": 2, "parameters": 131, "variables": 4,
    }.items()  # fmt: skip
    assert workload.optimizer is not None
    assert workload.optimizer.name == "sgd"
    provenance = yaml_files.check(Provenance, yaml_files.read_yaml(folder / "provenance.yaml"))
    assert provenance.wall_step == pytest.approx(document["wall_step_s"]["mid"], rel=1e-3)
    assert provenance.profiled_step == pytest.approx(document["profiled_step_s"], rel=1e-3)
    assert (provenance.steps, provenance.repeats, provenance.warmup) == (3, 6, 2)
    assert provenance.processor


@pytest.mark.slow
@pytest.mark.tensorflow
def test_the_trace_of_fit_counts_every_product(through_fit: tuple[Path, dict[str, Any]]) -> None:
    profile = read_profile(through_fit[0])
    assert profile.steps == 3
    rows = products(through_fit[0])
    assert rows["flop"].sum() == FLOP
    assert set(rows["calls"]) == {1.0}
    assert not rows["shapes"].str.contains("-1").any()


@pytest.mark.slow
@pytest.mark.tensorflow
def test_a_session_of_an_own_step_counts_every_product(through_session: tuple[Path, dict[str, Any]]) -> None:
    folder, document = through_session
    assert read_profile(folder).steps == document["steps"] == 3
    assert products(folder)["flop"].sum() == FLOP
    assert (find_workload(folder).parameters, document["batch_size"]) == (131, 4)


@pytest.mark.slow
@pytest.mark.tensorflow
def test_the_trace_of_an_own_step_counts_every_product(tmp_path: Path) -> None:
    captured(OWN_STEP, tmp_path / "dump")
    assert products(tmp_path / "dump")["flop"].sum() == FLOP


@pytest.mark.slow
@pytest.mark.tensorflow
def test_a_shipped_workload_at_another_batch(tmp_path: Path) -> None:
    done = run_process(
        "capture", "p1b2", "-o", str(tmp_path / "dump"), *FEW, "--scale", "0.01", "--batch", "8", "--json"
    )
    assert json.loads(done.stdout)["batch_size"] == find_workload(tmp_path / "dump").batch_size == 8
    sizes = (282, 10, 5, 3, 10)
    first, *behind = (rows * columns for rows, columns in pairwise(sizes))
    assert products(tmp_path / "dump")["flop"].sum() == 2 * 8 * (2 * first + 3 * sum(behind))


@pytest.mark.slow
@pytest.mark.tensorflow
def test_ctrl_c_leaves_no_files(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    heard = "signal.signal(signal.SIGINT, signal.default_int_handler)"  # jobs in the background start deaf to it
    pressed = "os.kill(os.getpid(), signal.SIGINT)"
    script.write_text(f"import os, signal\n{heard}\ndef build():\n    {pressed}\ndata = ()\n")
    run_process("capture", str(script), "-o", str(tmp_path / "dump"), code=130)
    assert list(tmp_path.iterdir()) == [script]


def test_steps_and_epochs_together_are_wrong_usage(tmp_path: Path) -> None:
    done = run("capture", "any.py", "-o", str(tmp_path), "--steps", "3", "--epochs", "1", code=2)
    assert "not both" in done.stderr
