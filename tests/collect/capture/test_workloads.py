"""The shipped workloads against the lecture's parameter counts and their layers' dimensions, each run once, scaled."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest

from estimator.core import library, yaml_files
from estimator.core.types import Workload
from estimator.profiles import read_profile
from estimator.profiles.workload import find_workload
from estimator.work import count_work
from tests.conftest import ROOT, MadeOnce

SCALE = 0.02
SCALES = {"p3b2": 0.2}  # of 20 characters more than one
PARAMETERS = {  # lecture, slide "CANDLE Benchmark Performance"; Combo as the repository's README told in its time
    "p1b1": 244_400_085, "p1b2": 29_540_618, "p1b3": 30_088_701, "tc1": 154_923_632, "nt3": 154_922_918,
    "uno": 21_293_001, "combo": 13_772_001, "p2b1": 18_867_360, "p3b1": 33_164_419, "p3b1-shared": 145_995_619,
    "p3b2": 48_419, "p3b3": 1_763_724,
}  # fmt: skip
COMBO_ON_THE_SLIDE = 5_823_000  # the drug's encoder alone
Products = tuple[Iterable[int], Iterable[int]]  # multiply-adds of a sample in layers on data, and in those behind
Size = Callable[..., list[int]]


def at(scale: float) -> Size:
    return lambda *sizes: [max(1, round(scale * size)) for size in sizes]


def chain(*sizes: int) -> list[int]:
    """Multiply-adds of dense layers one behind the other."""
    return [rows * columns for rows, columns in pairwise(sizes)]


def perceptron(size: Size, *sizes: int, classes: int = 0) -> Products:
    first, *behind = chain(*size(*sizes), *filter(None, [classes]))
    return [first], behind


def genes(size: Size, classes: int) -> Products:
    length, *widths = size(60483, 200, 20)
    outer, inner = length - 19, length - 28
    return [outer * 20 * 128], [inner * 10 * 128 * 128, *chain(inner // 10 * 128, *widths, classes)]


def encoders(size: Size, sizes: Iterable[int], beside: int) -> Products:
    (width,) = size(1000)
    inputs = size(*sizes)
    joined = chain(len(inputs) * width + beside, width, width, width, 1)
    return [features * width for features in inputs], [*len(inputs) * chain(width, width, width), *joined]


def lipids(size: Size) -> Products:
    neighbours, *widths = size(201, 64, 32, 16, 8, 16, 32, 64, 128, 256)
    convolutions = [12 * neighbours * 20**2 * 256, neighbours * 12**2 * 256 * 128]
    return convolutions[:1], [*convolutions[1:], *chain(neighbours * 128, *widths, 240 * neighbours)]


def reports(size: Size, shared: bool) -> Products:
    features, *widths = size(400, 2400, 2400, 1200, 1200)
    trunk = chain(features, *size(1200, 2400, *7 * [3600], 2400)) if shared else []
    towers = [chain(*size(2400 if shared else 400), *widths, classes) for classes in (13, 2, 4)]
    if shared:
        return trunk[:1], [*trunk[1:], *(product for tower in towers for product in tower)]
    return [tower[0] for tower in towers], [product for tower in towers for product in tower[1:]]


def words(size: Size) -> Products:
    (length,) = size(1500)
    return [], [*(length * kernel * 300 * 100 for kernel in (3, 4, 5)), 300 * 24]


def characters(size: Size) -> Products:
    """The first state is no layer's, so its gradient is not taken."""
    (length,), state = size(20), 64 * 4 * 64
    return [*length * [99 * 4 * 64], state], [*(length - 1) * [state], 64 * 99]


LAYERS: dict[str, Callable[[Size], Products]] = {
    "p1b1": lambda size: perceptron(size, 60483, 2000, 600, 2, 600, 2000, 60483),
    "p1b2": lambda size: perceptron(size, 28204, 1024, 512, 256, classes=10),
    "p1b3": lambda size: perceptron(size, 29532, 1000, 500, 100, 50, classes=1),
    "tc1": lambda size: genes(size, 36),
    "nt3": lambda size: genes(size, 2),
    "uno": lambda size: encoders(size, (949, 5270, 2048, 5270, 2048), beside=13),
    "combo": lambda size: encoders(size, (942, 3820, 3820), beside=0),
    "p2b1": lipids,
    "p3b1": lambda size: reports(size, shared=False),
    "p3b1-shared": lambda size: reports(size, shared=True),
    "p3b2": characters,
    "p3b3": words,
}


def stated(name: str) -> Workload:
    return yaml_files.check(Workload, yaml_files.read_yaml(library.names("profiles", "*")[name] / "workload.yaml"))


def multiply_adds(name: str, scale: float) -> tuple[int, int]:
    """Of a batch, in layers on data, and in those behind."""
    first, behind = LAYERS[name](at(scale))
    batch = stated(name).batch_size or 0
    return batch * sum(first), batch * sum(behind)


def products(place: Path) -> pd.DataFrame:
    profile = read_profile(str(place))
    work = count_work(profile.ops, profile.workload).work
    return work[work["op_class"].isin(["gemm", "convolution"])]


@pytest.fixture(scope="module")
def runs(made_once: MadeOnce) -> Path:
    return made_once("workloads", capture_all)


def capture_all(folder: Path) -> None:
    script = Path(__file__).with_name("workload_runs.py")
    scales = dict.fromkeys(LAYERS, SCALE) | SCALES
    command = [sys.executable, str(script), str(folder), json.dumps(scales)]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_workload_of_the_lecture_is_there() -> None:
    assert {name for name in PARAMETERS if stated(name).parameters == PARAMETERS[name]} == PARAMETERS.keys()


@pytest.mark.slow
@pytest.mark.tensorflow
def test_parameters_of_the_models_are_the_lectures(runs: Path) -> None:
    actual = json.loads((runs / "parameters.json").read_text())
    whole = {name: next(iter(parts.values())) for name, parts in actual.items()}
    assert whole == PARAMETERS
    assert actual["combo"]["drug"] == COMBO_ON_THE_SLIDE


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.parametrize("name", LAYERS)
def test_flop_of_a_training_step_are_those_of_its_layers(name: str, runs: Path) -> None:
    """Layers on data run forward and the gradient of weights, all others that of their input too."""
    first, behind = multiply_adds(name, SCALES.get(name, SCALE))
    assert products(runs / name)["flop"].sum() == 2 * (2 * first + 3 * behind)


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.parametrize("name", ["p1b3", "nt3", "p2b1", "p3b2", "p3b3"])
def test_a_training_step_in_bf16_has_the_same_products(name: str, runs: Path) -> None:
    actual = products(runs / "bf16" / name)
    assert actual["flop"].sum() == products(runs / name)["flop"].sum()
    assert set(actual["precision"]) == {"bf16"}


@pytest.mark.slow
@pytest.mark.parametrize("name", LAYERS)
def test_flop_of_the_shipped_captures_are_those_of_their_layers(name: str) -> None:
    first, behind = multiply_adds(name, 1.0)
    actual = products(library.names("profiles", "*")[name] / "amd-epyc.xplane")
    assert actual["flop"].sum() == 2 * (2 * first + 3 * behind)


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.parametrize("name", ["nt3", "p3b3"])
def test_inference_runs_the_forward_pass_alone(name: str, runs: Path) -> None:
    place = runs / "inference" / name
    assert products(place)["flop"].sum() == 2 * sum(multiply_adds(name, SCALE))
    assert set(products(place)["phase"]) == {"forward"}
    workload = find_workload(place)
    assert (workload.mode, workload.optimizer) == ("inference", None)


@pytest.mark.slow
@pytest.mark.tensorflow
def test_a_scaled_capture_says_so(runs: Path) -> None:
    workload = find_workload(runs / "p1b3")
    sizes = [*at(SCALE)(29532, 1000, 500, 100, 50), 1]
    assert workload.parameters == sum(chain(*sizes)) + sum(sizes[1:])
    assert workload.title == "CANDLE P1B3, drug response of cell lines, scale 0.02"
    assert "0.02 of the full size" in workload.notes[0]
    assert (workload.samples, workload.epochs) == (900136, 1)
