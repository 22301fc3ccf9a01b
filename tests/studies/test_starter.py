"""The starter files: written whole or not at all, and what their comments offer is accepted."""

import re
from pathlib import Path

import pytest

from estimator.core.errors import EstimatorError
from estimator.studies.starter import FILES, write_starter
from estimator.studies.study import Machine, UnitOfWork, read_study

OFFERED = re.compile(r"^ +# (\w+): (.+?) *(?:#.*)?$", re.MULTILINE)  # a key that is commented out, and its value


def test_every_file_is_written_into_a_new_folder(tmp_path: Path) -> None:
    written = write_starter(tmp_path / "mine")
    assert written == [tmp_path / "mine" / name for name in FILES]
    assert all(path.read_text() for path in written)


@pytest.mark.parametrize("there", FILES)
def test_nothing_is_written_beside_a_file_of_the_same_name(tmp_path: Path, there: str) -> None:
    (tmp_path / there).write_text("mine")
    with pytest.raises(EstimatorError, match=f"{there}: is there already; choose a new folder, or delete it first"):
        write_starter(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [there]
    assert (tmp_path / there).read_text() == "mine"


def test_each_key_that_a_comment_offers_is_accepted(tmp_path: Path) -> None:
    """With the comments' values in place the study still reads, and says what they say."""
    path = write_starter(tmp_path)[0]
    text = path.read_text()
    offered = [key for key, _ in OFFERED.findall(text) if key in {*Machine.model_fields, *UnitOfWork.model_fields}]
    assert {"host", "input", "measurements", "precision", "load_time", "weight"} <= set(offered)
    path.write_text(re.sub(r"^( +)# (?=(?:" + "|".join(set(offered)) + r"): )", r"\1", text, flags=re.MULTILINE))
    study = read_study(path)
    machine, unit = study.machines["mine"], study.units_of_work["training"]
    assert (machine.host, machine.input, machine.measurements) == (0.5, "overlapped", "my-gemms.csv")
    assert (unit.host, unit.precision, unit.load_time) == ("none", "bf16", 90.0)
