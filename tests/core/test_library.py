from pathlib import Path

import pytest

from estimator.core import library
from estimator.core.errors import EstimatorError
from estimator.devices import load_device


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ESTIMATOR_LIBRARY", str(tmp_path))
    (tmp_path / "devices" / "systems").mkdir(parents=True)
    (tmp_path / "profiles" / "mine.v2").mkdir(parents=True)
    for name in ("a.b.yaml", "v100-sxm2-16gb.yaml", "notes.txt", "systems/mine.yaml"):
        (tmp_path / "devices" / name).touch()
    return tmp_path


def test_files_are_named_by_their_stem_and_the_users_come_first(own: Path) -> None:
    paths = library.names("devices", "*.yaml")
    assert list(paths)[:2] == ["a.b", "v100-sxm2-16gb"]
    assert paths["v100-sxm2-16gb"] == own / "devices" / "v100-sxm2-16gb.yaml"
    assert {"a100-sxm4-80gb", "h100-sxm5-80gb"} < paths.keys()
    assert "notes" not in paths


def test_a_pattern_may_name_a_folder_that_not_every_library_has(own: Path) -> None:
    assert next(iter(library.names("devices", "systems/*.yaml"))) == "mine"
    (own / "devices" / "systems" / "mine.yaml").unlink()
    (own / "devices" / "systems").rmdir()
    assert "summit" in library.names("devices", "systems/*.yaml")


def test_a_library_that_is_not_there_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    absent = (tmp_path / "none", "there is no folder .*/none")
    for place, words in (absent, (tmp_path, "has none of devices/, profiles/")):
        monkeypatch.setenv("ESTIMATOR_LIBRARY", str(place))
        with pytest.raises(EstimatorError, match=f"^ESTIMATOR_LIBRARY: .*{words}"):
            library.folders("profiles")


def test_folders_are_named_in_full(own: Path) -> None:
    paths = library.names("profiles", "*")
    assert paths["mine.v2"] == own / "profiles" / "mine.v2"
    assert "p1b3" in paths


@pytest.mark.parametrize(
    ("name", "is_path"),
    [("./x", True), ("a/b", True), ("x.pb", True), ("x.json.gz", True), ("p1b3", False), ("mine.v2", False)],
)
def test_paths_are_distinguished_from_names(name: str, is_path: bool) -> None:
    assert library.looks_like_path(name) == is_path


def test_several_names_in_one_are_distinguished() -> None:
    sentence = "^'h100,mi300x' is 2 names; expected one device: where several may be given, repeat the option.$"
    with pytest.raises(EstimatorError, match=sentence):
        load_device("h100,mi300x")


def test_a_file_that_is_named_without_its_ending_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "vendor-b.yaml").touch()
    sentence = "^Unknown device 'vendor-b'; to use the file vendor-b.yaml of this folder, write 'vendor-b.yaml'.$"
    with pytest.raises(EstimatorError, match=sentence):
        load_device("vendor-b")


def test_a_folder_is_no_device(tmp_path: Path) -> None:
    with pytest.raises(
        EstimatorError, match=f"^{tmp_path}/: this is a folder; expected a device: its name, or its file.$"
    ):
        load_device(f"{tmp_path}/")
