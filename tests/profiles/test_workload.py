"""The files beside a dump: which of them belong to it, and what they say."""

import math
from pathlib import Path

import pytest

from estimator.core.errors import EstimatorError
from estimator.core.interval import Z
from estimator.core.types import Workload
from estimator.profiles.workload import Provenance, find_workload, read_provenance, side_files


def write(folder: Path, **texts: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder


def test_the_nearest_file_counts(tmp_path: Path) -> None:
    """A rank's own folder comes before the ranks' common one; a workload's file may lie one above that."""
    write(tmp_path, workload="name: above\n", provenance="device: above\n")
    common = write(tmp_path / "run", provenance="device: common\n")
    rank = write(tmp_path / "run" / "rank0")
    dump = rank / "trace.json"
    actual = side_files(dump, common)
    assert actual == {"provenance.yaml": common / "provenance.yaml", "workload.yaml": tmp_path / "workload.yaml"}
    write(rank, provenance="device: own\n", workload="name: own\n")
    assert side_files(dump, common) == {name: rank / name for name in ("provenance.yaml", "workload.yaml")}


def test_a_provenance_one_above_is_of_another_dump(tmp_path: Path) -> None:
    write(tmp_path, provenance="device: above\n")
    assert side_files(write(tmp_path / "dump")) == {}


def test_a_workload_above_layers_is_of_something_else(tmp_path: Path) -> None:
    """As a study's folder has one for its own profile, and one more folder of layers."""
    write(tmp_path, workload="parameters: 7\n")
    layers = write(tmp_path / "llama", layers="kind: llama\n")
    assert side_files(layers) == side_files(layers / "layers.yaml") == {}
    own = write(layers, workload="name: own\n") / "workload.yaml"
    assert side_files(layers) == {"workload.yaml": own}


def test_the_log_folder_of_tensorboard_holds_the_files_of_its_run(tmp_path: Path) -> None:
    run = write(tmp_path / "log" / "plugins" / "profile" / "2026_11_28")
    log = write(tmp_path / "log", workload="batch_size: 8\n", provenance="steps: 5\n")
    files = {name: log / name for name in ("provenance.yaml", "workload.yaml")}
    assert side_files(run) == side_files(run / "vm.xplane.pb", run) == files
    assert find_workload(run).name == "log"


def test_a_dump_without_files_has_its_name_alone(tmp_path: Path) -> None:
    for name in ("my-trace.json", "my-trace.json.gz"):
        assert find_workload(tmp_path / name) == Workload(name="my-trace")
    assert read_provenance({}) == Provenance()


@pytest.mark.parametrize("more", ["", "name:\n", 'name: ""\n'])
def test_one_line_is_enough(tmp_path: Path, more: str) -> None:
    write(tmp_path, workload=f"batch_size: 32\n{more}")
    actual = find_workload(tmp_path / "trace.json")
    assert (actual.name, actual.batch_size) == (tmp_path.name, 32)


def test_a_workload_says_what_the_dump_does_not(tmp_path: Path) -> None:
    write(tmp_path, workload="name: toy\nframework: our own\nbatch_size: 32\n")
    actual = find_workload(tmp_path / "trace.json")
    assert (actual.name, actual.framework, actual.batch_size) == ("toy", "our own", 32)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("gradients_in_forward: maybe", "gradients_in_forward is 'maybe'; expected true or false"),
        ("gradients_in_forward: 2", "gradients_in_forward is 2; expected true or false"),
        ("gradients_in_forward: []", "gradients_in_forward is []; expected true or false"),
        ("batch_size: 8.5", "batch_size is 8.5; expected a whole number"),
    ],
)
def test_a_value_of_another_kind_is_refused_in_one_sentence(tmp_path: Path, text: str, problem: str) -> None:
    path = write(tmp_path, workload=f"name: toy\n{text}\n") / "workload.yaml"
    with pytest.raises(EstimatorError) as caught:
        find_workload(tmp_path / "trace.json")
    assert str(caught.value) == f"{path}:2: {problem}"


@pytest.mark.parametrize("text", ["batch_size: 0\n", "warmup: -1\n", "wall_step: 5 GB\n", "walls: 5 s\n"])
def test_a_faulty_provenance_is_refused_with_its_place(tmp_path: Path, text: str) -> None:
    sides = side_files(write(tmp_path, provenance=text))
    with pytest.raises(EstimatorError, match=r"provenance.yaml:1: "):
        read_provenance(sides)


def test_the_spread_of_steps_is_that_of_their_interval(tmp_path: Path) -> None:
    text = "wall_step: 10 ms\nwall_step_low: 8 ms\nwall_step_high: 12.5 ms\n"
    actual = read_provenance(side_files(write(tmp_path, provenance=text)))
    assert actual.wall_step == 0.01
    assert math.exp(2 * Z * actual.step_spread) == pytest.approx(12.5 / 8)
    assert actual.model_copy(update={"wall_step_low": None}).step_spread == 0.0
