"""``scale`` in Python: more and more devices of a machine."""

from pathlib import Path

import pytest

from estimator.api.scale import ScaleResult, scale
from estimator.core.types import Profile
from estimator.devices import load_system
from tests.cli.command_line import read
from tests.reports.test_html import Page


@pytest.fixture(scope="module")
def result() -> ScaleResult:
    return scale("vgg16", system="dgx-a100", devices=[1, 8], batch=32)


@pytest.mark.slow
def test_the_document_is_that_of_the_command_line(result: ScaleResult) -> None:
    words = ("--system", "dgx-a100", "--devices", "1", "--devices", "8", "--batch", "32")
    assert result.document() == read("scale", "vgg16", *words)


def test_the_table_has_a_row_for_each_number(result: ScaleResult) -> None:
    table, rows = result.table.set_index("devices"), result.document()["rows"]
    assert table.index.tolist() == [1, 8]
    assert table["global_batch"].tolist() == [32, 256]
    assert table["samples_per_s"].to_numpy() == pytest.approx((table["global_batch"] / table["step_s"]).to_numpy())
    assert table["memory_bytes"].tolist() == [row["memory_bytes"]["total"] for row in rows]
    assert table.loc[8, "efficiency_low"] < table.loc[8, "efficiency"] < 1
    assert table["fits"].all()


@pytest.mark.slow
def test_a_machine_that_is_loaded_and_one_number() -> None:
    one = scale("vgg16", load_system("dgx-a100"), 8, draws=0)
    assert one.document() == scale("vgg16", "dgx-a100", [8], draws=0).document()


@pytest.mark.slow
def test_a_machine_of_more_nodes_has_the_same_first_node() -> None:
    one, four = (scale("vgg16", "dgx-a100", nodes=nodes, batch=32, draws=20).table for nodes in (None, 4))
    assert list(four["devices"]) == [1, 2, 4, 8, 16, 32]
    assert four["step_s"].iloc[:4].tolist() == one["step_s"].tolist()
    assert four["power_w"].iloc[:4].tolist() == one["power_w"].tolist()
    assert list(four["nodes"]) == [1, 1, 1, 1, 2, 4]


@pytest.mark.slow
def test_timed_steps_correct_the_others(tmp_path: Path) -> None:
    plain = scale("vgg16", "dgx-a100", [1, 8], draws=100).table.set_index("devices")["step_s"]
    timed = tmp_path / "timed.csv"
    timed.write_text(f"devices,step_s\n8,{2 * plain[8]}\n")
    corrected = scale("vgg16", "dgx-a100", [1, 8], draws=100, timed_steps=timed)
    steps = corrected.table.set_index("devices")["step_s"]
    assert steps[8] > 1.3 * plain[8]
    assert steps[1] > 1.3 * plain[1]
    assert len(corrected.plot().axes) == 2


def test_several_splits_stand_below_each_other() -> None:
    actual = scale("vgg16", "dgx-a100", [8], parallel=["data", "zero1"], draws=0)
    assert actual.table["parallel"].tolist() == ["data", "zero1"]
    assert [row.split(",")[0].strip() for row in repr(actual).splitlines()[1:]] == ["data", "zero1"]


def test_without_power_and_memory_the_table_has_gaps(p1b3: Profile) -> None:
    actual = scale(p1b3, "aurora", [1, 12], draws=0).table
    assert len(actual) == 2
    assert str(actual["power_low_w"].dtype) == "float64"


def test_it_shows_itself(result: ScaleResult) -> None:
    title, *rows = repr(result).splitlines()
    assert title == "vgg16 on dgx-a100 (a100-sxm4-40gb), fp32, data, weak scaling, host: dispatch"
    assert len(rows) == 2
    assert Page(result._repr_html_()).tags.count("tr") == 3
    assert len(result.plot().axes) == 2
    assert result.notes
    assert set(result.warnings) == set(result.document()["warnings"])
