"""Where a study, a comparison or a scaling uses something announced, it says so."""

import json
from pathlib import Path

import pytest

from estimator.reports.html import write_report
from estimator.studies.run import run_study
from tests.cli.command_line import read, run

STUDY = """
title: An announced machine
baseline: titan
figure_of_merit: {mean: harmonic, of: rates}
machines:
  titan: {system: titan}
  soon: {system: equinox}
  rack: {device: rubin, nodes: 18, devices_per_node: 4}
units_of_work:
  given: {time_per_unit: {titan: 60 h, soon: 1 h, rack: 2 h}}
  predicted: {profile: p1b3, samples: 1 M, epochs: 1}
"""


@pytest.mark.slow
def test_a_study_warns_of_announced_machines_and_devices(tmp_path: Path) -> None:
    study = tmp_path / "study.yaml"
    study.write_text(STUDY.replace("1 M", "1000000"))
    result = run_study(study)
    html, results = write_report(result, tmp_path / "out")
    for shown in (html.read_text("utf-8"), json.loads(results.read_text("utf-8"))["figure_of_merit"]["warnings"]):
        assert "equinox is announced: " in str(shown)
        assert "rubin is announced: " in str(shown)
    assert "titan is announced" not in html.read_text("utf-8")
    assert "equinox is announced" in run("fom", str(study)).stderr


@pytest.mark.slow
def test_other_commands_warn_too(tmp_path: Path) -> None:
    compared = read("compare", "p1b3", "--to", "rubin", "--to", "v100")
    assert "rubin is announced" in str(compared)
    assert "v100 is announced" not in str(compared)
    scaled = read("scale", "p1b3", "--system", "vera-rubin-nvl72", "--devices", "2")
    assert [text.split(" is ")[0] for text in scaled["warnings"] if "announced" in text] == [
        "rubin", "vera-rubin-nvl72",
    ]  # fmt: skip
    assert "rubin is announced" in str(read("memory", "p1b3", "--on", "rubin")["notes"])
    shapes = tmp_path / "shapes.csv"
    shapes.write_text("op_class,precision,m,n,k\ngemm,bf16,512,512,512\n")
    assert "rubin is announced" in str(read("predict", str(shapes), "--on", "rubin"))
