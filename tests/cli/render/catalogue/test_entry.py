"""One in full: every number with its status, origin and what follows from it."""

import re
from pathlib import Path

import pytest

from estimator.core.types import Sourced
from estimator.devices.specs.table.columns import DEVICES, SYSTEMS
from tests.cli.command_line import run, run_process
from tests.cli.render.catalogue.conftest import BANDWIDTH


def test_a_device_in_full() -> None:
    shown = " ".join(run("devices", "v100", columns=None).stdout.split())
    device = DEVICES.load("v100")
    for text in ("NVIDIA", "NV_V100", "no hardware path: tf32, bf16", "measured: ", "138.9"):
        assert text in shown
    for value in (device.memory_bandwidth, device.peak_of("fp16").tensor):
        assert f"{value} {value.status}" in shown
    assert "1/2 of mi250x" in run("devices", "mi250x-gcd", columns=None).stdout


def test_a_number_has_its_conditions(toy: Path) -> None:
    peak = "{value: 9 TFLOP/s, clock: 1 GHz, flop_per_clock: 64, accumulate: fp16, uncertainty: 3 %, confidence: low}"
    (toy / "toy.yaml").write_text(f"name: toy\npeak: {{bf16: {peak}, fp8: unsupported}}\n{BANDWIDTH}")
    shown = " ".join(run("devices", "toy.yaml", columns=None).stdout.split())
    assert "peak.bf16.tensor 9 TFLOP/s? unstated, low at 1 GHz; 64 FLOP per unit and clock" in shown
    assert "accumulates in fp16; within 3 %" in shown
    assert "no hardware path: fp8 " in shown
    assert "bf16 tensor 9 TFLOP/s? 18? 0.05556?" in shown


def test_a_system_in_full_keeps_its_peak_apart_from_rpeak() -> None:
    shown = run("systems", "summit", columns=None).stdout
    machine = SYSTEMS.load("summit")
    assert "In all (peaks are the data sheet's, so they do not add up to Rpeak)" in shown
    total = SYSTEMS.columns["fp64_vector"].get(machine)
    assert isinstance(total, Sourced)
    for number in (f"{total.value / 1e15:.4g}", "200.795", "148.6", "27648"):
        assert number in shown


def test_integers_are_counted_in_operations() -> None:
    shown = run("devices", "h100", columns=None).stdout
    assert re.search(r"peak\.int8\.tensor +[\d.]+ [TP]OP/s", shown)
    assert re.search(r"peak\.bf16\.tensor +[\d.]+ TFLOP/s", shown)
    assert re.search(r" FLOP/B +B/FLOP(.|\n)* OP/B +B/OP", shown)


def test_brackets_in_notes_are_taken_literally(toy: Path) -> None:
    with (toy / "toy.yaml").open("a") as file:
        file.write("vendor: '[/x]'\nnotes: ['[b]bold :x:']\n")
    shown = run("devices", "toy.yaml").stdout
    assert "[/x]" in shown
    assert "[b]bold :x:" in shown


@pytest.mark.slow
def test_a_terminal_without_utf_8_gets_it_too(toy: Path) -> None:
    assert "toy" in run_process("devices", "toy.yaml", environment={"PYTHONIOENCODING": "ascii"}).stdout


@pytest.mark.parametrize("words", [("devices", "rubin"), ("systems", "vera-rubin-nvl72")])
def test_an_entry_says_that_it_is_announced(words: tuple[str, ...]) -> None:
    shown = " ".join(run(*words).stdout.split())
    assert "announced: yes" in shown
    assert "within 75 %" in shown
    assert "note: rubin is announced: " in shown
