from pathlib import Path

import pytest

from estimator.core.errors import EstimatorError
from estimator.studies.places import resolve_name, resolve_profile


def test_a_file_beside_the_study_comes_before_a_shipped_name(tmp_path: Path) -> None:
    assert resolve_name(tmp_path, "v100") == "v100"
    (tmp_path / "v100").mkdir()
    assert resolve_name(tmp_path, "v100") == "v100"  # a folder is no device
    (tmp_path / "mine.yaml").touch()
    (tmp_path / "v100.yaml").touch()
    for name in ("mine.yaml", "mine", "v100.yaml"):
        assert resolve_name(tmp_path, name) == str(tmp_path / f"{name.removesuffix('.yaml')}.yaml")
    assert resolve_name(tmp_path, "V100") == "V100"  # a study may have the name of its machine


def test_a_profile_may_be_a_file_or_a_folder_beside_the_study(tmp_path: Path) -> None:
    folder = tmp_path / "p1b3"
    folder.mkdir()
    (folder / "dump.csv").write_text("op_type,time_s\nMatMul,0.5\n")
    for name in ("p1b3", "p1b3/dump.csv"):
        profile = resolve_profile(tmp_path, name, batch=7)
        assert (len(profile.ops), profile.workload.batch_size) == (1, 7)
    assert resolve_profile(tmp_path / "elsewhere", "p1b3").workload.name == "p1b3"
    with pytest.raises(EstimatorError, match="Unknown profile 'p1b4'"):
        resolve_profile(tmp_path, "p1b4")


def test_a_file_that_is_missing_was_looked_for_in_both_folders(tmp_path: Path) -> None:
    (tmp_path / "dump.csv").touch()
    for name, ends in (("dmup.csv", ". Did you mean dump.csv?"), ("x.csv", "; check the path")):
        for read in (resolve_name, resolve_profile):
            with pytest.raises(EstimatorError) as caught:
                read(tmp_path, name)
            assert (
                str(caught.value) == f"{name}: there is no such file, neither in {tmp_path} nor in {Path.cwd()}{ends}"
            )
