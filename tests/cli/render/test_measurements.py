"""What ``estimator measurements import`` and ``show`` print."""

from functools import partial
from typing import Any

from estimator.cli.render.measurements import render_import, render_show
from estimator.devices.measurements.conditions import CONDITION_COLUMNS, KIND_COLUMNS
from tests.cli.command_line import printed, read, run

COUNTS = {"rows": 7, "left_out": 1, "beats_bound": 0, "above_peak": 0, "best_flop_per_s": 1.5e13, "best_share": 0.955}
CONDITION = {**dict.fromkeys((*KIND_COLUMNS, *CONDITION_COLUMNS)), "op_class": "gemm", "library": "lib 1"}
DOCUMENT: dict[str, Any] = {
    "rows": 7, "kinds": [{"op_class": "gemm", "precision": "fp32", **COUNTS}], "conditions": [CONDITION],
    "notes": ["a note"],
}  # fmt: skip


def test_people_read_what_programs_get() -> None:
    document = read("measurements", "show", "v100")
    shown = run("measurements", "show", "v100")
    assert printed(partial(render_show, document)) == shown
    assert "best TFLOP/s" in shown.stdout


def test_a_device_without_measurements() -> None:
    document = {**DOCUMENT, "rows": 0, "kinds": [], "conditions": [], "device": "toy"}
    output = printed(partial(render_show, document))
    assert output.stdout == "nothing is measured of toy\n"
    assert output.stderr == "note: a note\n"


def test_an_import_names_formats_devices_and_file() -> None:
    document = {**DOCUMENT, "written": "out.csv", "formats": ["DeepBench log", "CSV"], "devices": ["a", "b"]}
    output = printed(partial(render_import, document))
    first, *lines = output.stdout.splitlines()
    assert first == "DeepBench log; CSV of a, b"
    assert "gemm fp32 7 1 15 95.5 %" in [" ".join(line.split()) for line in lines]
    assert "op class library" in [" ".join(line.split()) for line in lines]  # columns that are empty are left out
    assert lines[-1] == "wrote out.csv"
    assert output.stderr == "note: a note\n"


def test_an_import_of_an_unknown_device_names_none() -> None:
    document = {**DOCUMENT, "written": "out.csv", "formats": ["CSV"], "devices": []}
    assert printed(partial(render_import, document)).stdout.splitlines()[0] == "CSV"


def test_counts_that_are_0_for_all_kinds_have_no_column() -> None:
    output = printed(partial(render_show, DOCUMENT), columns=80)
    assert "left out" in output.stdout
    assert "above peak" not in output.stdout
    assert max(map(len, run("measurements", "show", "v100", columns=80).stdout.splitlines())) <= 80
