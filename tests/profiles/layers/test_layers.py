"""Reading ``layers.yaml`` as a profile of which nothing ran."""

from pathlib import Path

import pytest
import yaml

from estimator.core.errors import EstimatorError
from estimator.profiles import layers, read_profile
from tests.profiles.layers.models import SMALL


def write(folder: Path, name: str = "layers.yaml", **values: object) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(yaml.safe_dump({**SMALL, **values}))
    return path


def test_a_folder_is_a_profile(tmp_path: Path) -> None:
    write(tmp_path, optimizer="lamb")
    read = read_profile(tmp_path)
    assert read.format == "layers"
    assert not read.ran
    assert read.device is None
    assert read.workload.batch_size == 5
    assert read.workload.precision == "bf16"
    assert read.workload.optimizer is not None
    assert read.workload.optimizer.name == "lamb"
    assert read.warnings == ()
    assert read.files == (tmp_path / "layers.yaml",)


def test_the_files_beside_it_name_the_workload(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "workload.yaml").write_text("name: mine\nframework: PyTorch\nsamples: 1000\n")
    read = read_profile(tmp_path)
    assert (read.workload.name, read.workload.samples) == ("mine", 1000)


@pytest.mark.parametrize(("key", "counted"), [("parameters", r"\d+ trained"), ("frozen_parameters", "0 frozen")])
def test_another_parameter_count_is_refused(tmp_path: Path, key: str, counted: str) -> None:
    write(tmp_path)
    (tmp_path / "workload.yaml").write_text(f"name: mine\n{key}: 7\n")
    with pytest.raises(EstimatorError, match=f"have {counted} parameters and the workload.yaml beside them states 7"):
        read_profile(tmp_path)


def test_layers_are_of_a_training(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "workload.yaml").write_text("name: mine\nmode: inference\n")
    with pytest.raises(EstimatorError, match="states 'mode: inference'; delete it, and ask for the forward pass with"):
        read_profile(tmp_path)


def test_a_batch_may_be_asked_for(tmp_path: Path) -> None:
    assert read_profile(write(tmp_path), batch=9).workload.batch_size == 9


def test_steps_are_refused(tmp_path: Path) -> None:
    with pytest.raises(EstimatorError, match="nothing ran, so that it covers no steps"):
        read_profile(write(tmp_path), steps=3)


def test_any_name_is_read_by_its_keys_and_its_own_name_whatever_it_holds(tmp_path: Path) -> None:
    assert read_profile(write(tmp_path, "mine.yaml")).format == "layers"
    path = tmp_path / "layers.yaml"
    path.write_text("rows: 3\n")
    with pytest.raises(EstimatorError, match="'rows' is not a key that is known here"):
        read_profile(path)
    path.write_bytes(b"\x00\xff")
    with pytest.raises(EstimatorError, match=r"layers\.yaml"):
        read_profile(path)


def test_several_descriptions_are_no_ranks(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path / name)
    with pytest.raises(EstimatorError, match="expected one description of layers, found 2"):
        read_profile(tmp_path)


def test_a_dump_beside_it_is_refused(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "table.csv").write_text("op_type,time_s\nMatMul,1\n")
    with pytest.raises(EstimatorError, match="its format differs from that of"):
        read_profile(tmp_path)


def test_other_texts_are_no_layers() -> None:
    assert not layers.recognises(b"kind: x\nname: y\n")
    assert not layers.recognises(b"\x80\x81")
    assert layers.recognises(b"kind: gpt\nblocks: 2\nheads: 4\n")
