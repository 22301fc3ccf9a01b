"""Several training steps in one mark."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from estimator.core.types import Profile, Timeline, Workload
from estimator.profiles import canonical, read_profile
from estimator.profiles.executions import steps_per_mark, with_single_steps
from tests.conftest import ROOT

FIT = """
import sys

import keras
import numpy as np
import tensorflow as tf

at_once, batches, batch = int(sys.argv[1]), 12, 32
model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(128, activation="relu"), keras.layers.Dense(10)])
model.compile("sgd", "mse", steps_per_execution=at_once, jit_compile=True)
data = np.ones((batches * batch, 64), "float32"), np.ones((batches * batch, 10), "float32")
model.fit(*data, batch_size=batch, verbose=0)
tf.profiler.experimental.start(sys.argv[2])
model.fit(*data, batch_size=batch, verbose=0)
tf.profiler.experimental.stop()
"""


def calls(**rows: tuple[str | None, float, float]) -> pd.DataFrame:
    """OPS of rows of phase, calls and time."""
    columns = [(name.replace("__", "/"), name.split("__")[-1], *row) for name, row in rows.items()]
    return pd.DataFrame(columns, columns=["op", "op_type", "phase", "calls", "time_s"])


def test_a_loop_runs_a_step_for_each_batch_that_it_takes() -> None:
    fused = calls(while__body__OptionalGetValue=(None, 8, 0), while__body__g__dot=("backward", 8, 9))
    assert steps_per_mark(fused) == 8
    accumulated = calls(
        while__body__OptionalGetValue=(None, 8, 0), adam__Mul=("optimizer", 2, 1), g__dot=("backward", 8, 9)
    )
    assert steps_per_mark(accumulated) == 8
    assert steps_per_mark(calls(while__body__OptionalGetValue=(None, 4, 0), MatMul=("forward", 4, 1))) == 4  # inference


def test_without_batches_a_step_updates_each_variable_once() -> None:
    ops = calls(adam__Sub=("optimizer", 4, 1), adam__Mul=("optimizer", 4, 1), g__MatMul=("backward", 4, 9))
    assert steps_per_mark(ops) == 4
    moved_out = calls(adam__Fill=("optimizer", 1, 0.01), adam__Mul=("optimizer", 4, 1), g__MatMul=("backward", 4, 9))
    assert steps_per_mark(moved_out) == 4


@pytest.mark.parametrize(
    "ops",
    [
        calls(adam__Mul=("optimizer", 1, 1), g__while__MatMul=("backward", 20, 9)),  # a recurrent layer
        calls(adam__Mul=("optimizer", 5, 1), adam_1__Mul=("optimizer", 1, 1), g__MatMul=("backward", 6, 9)),  # two nets
        calls(adam__AssignSub=("optimizer", 1, 0.01), adam_1__Mul=("optimizer", 20, 9), g__dot=("backward", 20, 9)),
        calls(adam__Mul=("optimizer", 2, 1), g__MatMul=("backward", 1, 9)),  # a variable that two layers share
        calls(Mul=("optimizer", 8, 1), MatMul=("backward", 6, 9)),  # eager, one row for all of a type
        calls(MatMul=("forward", 4, 9)),
        calls(adam__Mul=("optimizer", 1, 0), g__Mul=("backward", 1, 0)),  # nothing took time
    ],
)
def test_other_repeated_ops_are_one_step(ops: pd.DataFrame) -> None:
    assert steps_per_mark(ops) == 1


def profile_of_runs(turns: float) -> Profile:
    """Three runs of a program, with so many turns of loops over steps in each."""
    ops = canonical.to_ops(calls(dot=("forward", 16, 1.6)), "dump")
    timeline = Timeline(pd.DataFrame(), 3.2, 3.2)
    return Profile(
        ops,
        Workload(name="w"),
        None,
        "XPlane",
        steps=3,
        turns=turns,
        wall_step_s=3.2,
        busy_step_s=1.6,
        timeline=timeline,
    )


def test_each_turn_of_a_loop_that_updates_weights_is_a_step() -> None:
    single = with_single_steps(profile_of_runs(16))
    assert (single.steps, single.timeline) == (48, None)
    assert (single.wall_step_s, single.busy_step_s) == pytest.approx((0.2, 0.1))
    assert single.ops["calls"].tolist() == [1]
    assert "updates the weights 16 times, in a loop or in a row: 48 steps are counted" in single.warnings[0]


@pytest.mark.parametrize("turns", [0, 1])
def test_a_run_without_such_a_loop_is_a_step(turns: float) -> None:
    profile = profile_of_runs(turns)
    assert with_single_steps(profile) is profile


@pytest.mark.slow
@pytest.mark.tensorflow
def test_steps_per_execution_of_keras(tmp_path: Path) -> None:
    dumps = {at_once: tmp_path / str(at_once) for at_once in (1, 5)}
    for at_once, folder in dumps.items():
        subprocess.run([sys.executable, "-c", FIT, str(at_once), folder], check=True, capture_output=True, cwd=ROOT)
    single, several = (read_profile(folder) for folder in dumps.values())
    assert single.steps == several.steps == 12  # 5 + 5 + 2
    products = [profile.ops.loc[profile.ops["op_type"] == "dot", "calls"].sum() for profile in (single, several)]
    assert products[0] == pytest.approx(products[1]) == 5
    inputs = [profile.ops.loc[profile.ops["phase"] == "input", "calls"].sum() for profile in (single, several)]
    assert inputs == pytest.approx([1, 1], abs=0.1)
    (warning,) = {*several.warnings} - {*read_profile(dumps[5], steps=3).warnings}
    assert "12 steps are counted" in warning
    assert read_profile(dumps[5], steps=3).steps == 3
