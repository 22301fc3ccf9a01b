"""Several side by side: split into tables where a terminal is too narrow, no number ever cut."""

import re
from pathlib import Path

import pytest

from tests.cli.command_line import run

SIX = ("h100", "mi300x", "mi355x", "gb300", "b200", "rtx-pro-6000-server")


def numbers_of(shown: str) -> list[str]:
    """The cells of a comparison without its headings, by field and device; each field and first device once."""
    cells: dict[tuple[str, str], str] = {}
    for line in shown.splitlines():
        if line.startswith("field "):
            heads = line.split()
        elif (row := re.split(r" {2,}", line.strip()))[0].endswith("]"):
            cells |= {(row[0], head): cell for head, cell in zip(heads, row, strict=True)}
    numbers = sorted((place, cell) for place, cell in cells.items() if place[1] not in ("field", "ratio"))
    return [f"{field} {device} {cell}" for (field, device), cell in numbers]


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_a_comparison_is_split_and_no_number_is_cut(columns: int) -> None:
    words = ("devices", *SIX, "--columns", "fp8,bf16,memory_bandwidth,ridge_point_bf16")
    narrow, whole = (run(*words, terminal=True, columns=width).stdout for width in (columns, 400))
    assert numbers_of(narrow) == numbers_of(whole)
    assert len(numbers_of(whole)) == 4 * len(SIX)
    assert narrow.count("field ") > whole.count("field ") == 1
    full = run("devices", *SIX, terminal=True, columns=columns).stdout
    assert "…" not in full
    assert columns < 80 or max(map(len, full.splitlines())) <= columns


def test_chosen_columns_are_shown_though_no_device_has_them() -> None:
    alone = run("devices", "v100", "--columns", "bf16").stdout
    assert re.search(r"^bf16 \[TFLOP/s\] +none$", alone, re.MULTILINE)
    shown = run("devices", "v100", "epyc-7763", "--columns", "bf16,launch_latency,year").stdout
    fields = [line.split()[0] for line in shown.splitlines() if line]
    assert fields[fields.index("field") + 1 :][:3] == ["bf16", "launch_latency", "year"]
    assert "bf16_" not in run("devices", "v100", "p100-sxm2-16gb").stdout


def test_ratios_are_over_the_first() -> None:
    shown = run("devices", "v100", "a100-sxm4-80gb", "--columns", "memory_bandwidth").stdout
    assert "ratios are over v100-sxm2-16gb" in shown
    assert re.search(r"^memory_bandwidth \[GB/s\] +900 +2039 +2\.266$", shown, re.MULTILINE)
    assert "ratios" not in run("devices", "v100", "--columns", "memory_bandwidth").stdout


def test_brackets_in_names_are_taken_literally(toy: Path) -> None:
    with (toy / "toy.yaml").open("a") as file:
        file.write("vendor: '[/x]'\n")
    assert "[/x]" in run("devices", "toy.yaml", "v100").stdout
