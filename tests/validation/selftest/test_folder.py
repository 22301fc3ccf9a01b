"""The files of a self-test."""

from pathlib import Path

from estimator.validation.selftest.folder import Folder
from tests.validation.selftest.plans import ONE, TWO


def test_each_file_has_a_place_of_its_own(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    places = [folder.plan, folder.steps]
    for setting, other in ((ONE, TWO), (TWO, ONE)):
        places += [folder.captures(setting), folder.log(setting), folder.device(setting)]
        places += [folder.device(setting).with_suffix(".csv"), folder.known_rows(setting, other)]
        places += [
            folder.table(number, setting).with_suffix(suffix) for number in (0, 1) for suffix in (".csv", ".yaml")
        ]
    assert len(set(places)) == len(places)
    assert all(place.is_relative_to(tmp_path) for place in places)
    assert folder.table(3, ONE).name == ONE.name  # the device of the table is named so
