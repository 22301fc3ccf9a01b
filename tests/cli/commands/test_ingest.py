"""``estimator ingest``: its document, and the op table that it writes and reads again."""

import json
from pathlib import Path

import pytest

from tests.cli.command_line import read, run
from tests.profiles.kineto.events import kernel


def test_the_document_of_ingest() -> None:
    document = read("ingest", "p1b3")
    assert {
        "format", "framework", "tool_version", "steps", "batch_size", "wall_step_s", "op_time_s", "busy_step_s",
        "coverage", "top", "warnings", "ops",
    } <= document.keys()  # fmt: skip
    assert [row[0] for row in document["top"]] == ["MatMul", "Assign", "Mul", "Add"]
    assert document["matrix_flop"] == pytest.approx(12.146e9, rel=1e-4)
    assert {
        "op", "op_type", "op_class", "placement", "phase", "precision", "shapes", "batch", "m", "n", "k", "calls",
        "time_s", "flop", "bytes",
    } <= document["ops"][0].keys()  # fmt: skip


def test_it_reads_the_op_table_that_it_wrote(tmp_path: Path) -> None:
    run("ingest", "p1b3", "--csv", str(tmp_path / "ops.csv"))
    document = read("ingest", str(tmp_path / "ops.csv"))
    assert document["matrix_flop"] == pytest.approx(12.146e9, rel=1e-4)
    assert document["op_time_s"] == pytest.approx(0.2873, rel=1e-4)


def test_the_mode_is_that_of_the_run() -> None:
    assert read("ingest", "nt3")["mode"] == "training"


def test_without_a_profile_it_lists_the_shipped_ones() -> None:
    assert read("ingest") == read("ingest", "--list")
    assert read("ingest")["p1b3"].keys() == {"title", "default_profile"}


def test_layers_are_listed_by_their_flop() -> None:
    document = read("ingest", "gpt2")
    assert document["top"] == []
    assert document["op_time_s"] == 0
    assert document["parameters"] == 124_439_808
    assert document["matrix_flop"] == pytest.approx(8 / 12 * 9.92e12, rel=1e-3)
    assert {op["block"] for op in document["ops"]} == {None, *range(12)}
    printed = run("ingest", "gpt2", "--top", "0.1").stdout
    assert "layers, nothing ran, 6.613 TFLOP in matrix products, batch 8" in printed
    assert "Ops up to 10 % of the FLOP; " in printed
    assert "nan" not in printed


def test_the_device_that_a_dump_records_is_noted(tmp_path: Path) -> None:
    kernels = [kernel("work", 0, 5, 0)]
    for recorded, name in (("NVIDIA H100 80GB HBM3", "h100-sxm5-80gb"), ("Mystery", None)):
        trace = {"traceEvents": kernels, "schemaVersion": 1, "deviceProperties": [{"id": 0, "name": recorded}]}
        (tmp_path / "trace.json").write_text(json.dumps(trace))
        assert read("ingest", str(tmp_path / "trace.json"))["device"] == name
