"""``estimator init``: a study that runs as it is."""

from pathlib import Path

import pytest

from tests.cli.command_line import read, run


@pytest.mark.slow
def test_it_writes_files_that_run(tmp_path: Path) -> None:
    run("init", "mine", cwd=tmp_path)
    assert read("fom", "mine/study.yaml", cwd=tmp_path)["targets"]["mine"]["fom"]["mid"] > 0
    words = ("estimate", "mine/my-profile.csv", "--to", "mine/my-device.yaml")
    assert read(*words, cwd=tmp_path)["workload"] == "my-workload"


def test_it_overwrites_nothing(tmp_path: Path) -> None:
    run("init", "mine", cwd=tmp_path)
    assert "is there already" in run("init", "mine", code=1, cwd=tmp_path).stderr
