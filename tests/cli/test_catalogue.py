"""``estimator devices`` and ``systems``: tables that fit, one in full, several compared, and one JSON document each."""

import csv
import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from estimator.cli import app, main
from estimator.core.errors import Fault
from estimator.core.types import Sourced
from estimator.devices.columns import DEVICES, SYSTEMS
from tests.cli.test_cli import run as process

Run = Callable[..., str]
BANDWIDTH = "memory_bandwidth: {value: 500 GB/s, source: x, status: read}\n"
TOY = f"name: toy\npeak: {{fp32: 10 TFLOP/s, bf16: unsupported}}\n{BANDWIDTH}"


class Terminal(io.StringIO):
    """What takes the place of a terminal's output."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command line in this process; gives its output, and of one that fails its errors too."""

    def run(*words: str, code: int = 0, terminal: int | None = None) -> str:
        out = Terminal() if terminal else io.StringIO()
        errors = io.StringIO()
        monkeypatch.setenv("COLUMNS", str(terminal or 120))
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setattr(sys, "argv", ["estimator", *words])
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", errors)
        with pytest.raises(SystemExit) as ended:
            main()
        if isinstance(ended.value.code, str):
            errors.write(f"{ended.value.code}\n")
        assert (1 if isinstance(ended.value.code, str) else ended.value.code or 0) == code, errors.getvalue()
        return re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()) + (errors.getvalue() if code else "")

    return run


@pytest.fixture
def read(run: Run) -> Callable[..., Any]:
    """Run a command line for its JSON document."""
    return lambda *words: json.loads(run(*words, "--json"))


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder one is in, with one small device file."""
    (tmp_path / "toy.yaml").write_text(TOY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_document_for_one_and_for_all(read: Callable[..., Any]) -> None:
    assert read("devices")["k20x"]["peak"]["fp32"]["vector"]["value"] == 3.95e12
    assert read("systems", "summit")["nodes"]["value"] == 4608
    derived = read("devices", "v100")["derived"]["ridge_point_fp16"]
    assert derived == {"value": pytest.approx(125e12 / 900e9), "unit": "FLOP/B", "unverified": False}


def test_a_document_for_several_has_their_ratios(read: Callable[..., Any]) -> None:
    found = read("devices", "a100-sxm4-80gb", "h100-sxm5-80gb")
    assert list(found) == ["devices", "ratios"]
    bandwidths = [device["memory_bandwidth"]["value"] for device in found["devices"].values()]
    assert found["ratios"]["memory_bandwidth"] == {"h100-sxm5-80gb": pytest.approx(bandwidths[1] / bandwidths[0])}
    assert list(read("systems", "titan", "summit")["systems"]) == ["titan", "summit"]


def test_filters_hold_together_and_sorting_orders_the_document(read: Callable[..., Any]) -> None:
    words = ("--where", "memory_bandwidth >= 2 TB/s", "--where", "vendor=nvidia", "--sort", "-memory_bandwidth")
    found = read("devices", *words)
    bandwidths = [device["memory_bandwidth"]["value"] for device in found.values()]
    assert len(found) >= 2
    assert bandwidths == sorted(bandwidths, reverse=True)
    assert bandwidths[-1] >= 2e12
    assert {device["vendor"] for device in found.values()} == {"NVIDIA"}
    assert read("devices", "--where", "year > 3000") == {}


def test_csv_holds_the_table(run: Run, tmp_path: Path) -> None:
    run("devices", "--columns", "year,memory_bandwidth", "--csv", str(tmp_path / "some.csv"))
    run("devices", "--csv", str(tmp_path / "all.csv"))
    some, full = (list(csv.DictReader((tmp_path / n).read_text().splitlines())) for n in ("some.csv", "all.csv"))
    assert list(some[0]) == ["name", "year", "memory_bandwidth [B/s]", "memory_bandwidth status"]
    assert {row["name"]: row["memory_bandwidth [B/s]"] for row in some}["v100-sxm2-16gb"] == "900000000000.0"
    assert len(full) == len(some)
    assert some[0].keys() <= full[0].keys()


@pytest.mark.parametrize("what", ["devices", "systems"])
@pytest.mark.parametrize("columns", [80, 120, 200])
def test_a_table_fits_its_terminal(run: Run, what: str, columns: int) -> None:
    title, *lines = run(what, terminal=columns).splitlines()
    names = [row.name for row in {"devices": DEVICES, "systems": SYSTEMS}[what].load_all()]
    assert title.split()[0] == str(len(names))
    assert max(map(len, lines)) <= columns
    assert "numbers shown are unverified" in " ".join(lines)
    assert set(names) <= {line.split()[0] for line in lines if line.strip()}  # no row wraps


def test_a_wider_terminal_shows_more(run: Run) -> None:
    words = ("devices", "--where", "name = h100-sxm5-80gb")
    narrow, wide = (" ".join(run(*words, terminal=columns).split()) for columns in (80, 200))
    assert "more columns in a wider terminal" in narrow
    assert "ridge bf16" not in narrow
    assert "ridge bf16" in wide


def test_columns_that_were_asked_for_are_never_cut_short(run: Run) -> None:
    wanted = ",".join(name for name, column in DEVICES.columns.items() if column.kind != "text")
    shown = run("devices", "--where", "name = v100-sxm2-16gb", "--columns", wanted, terminal=80)
    assert "…" not in shown
    assert " 138.9 " in shown
    assert max(map(len, shown.splitlines())) > 80


def test_marks_tell_what_is_unverified_waived_and_unsupported(run: Run, toy: Path) -> None:
    (toy / "toy.yaml").write_text(TOY.replace("status: read", 'status: read, waiver: "plausible: it is so"'))
    shown = run("devices", "toy.yaml", "--columns", "fp32,bf16,memory_bandwidth,vendor")
    values = {line.split()[0]: line.split()[2] for line in shown.splitlines() if "[" in line}
    assert values == {"fp32": "10?", "memory_bandwidth": "500*"}
    assert "1 of 2 numbers shown are unverified" in shown
    assert "1 waive a lint (*)" in shown


def test_a_device_in_full(run: Run) -> None:
    shown = " ".join(run("devices", "v100").split())
    device = DEVICES.load("v100")
    for said in ("NVIDIA", "NV_V100", "no hardware path: tf32, bf16", "measured: ", "138.9"):
        assert said in shown
    for value in (device.memory_bandwidth, device.peak_of("fp16").tensor):
        assert f"{value} {value.status}" in shown
    assert "1/2 of mi250x" in run("devices", "mi250x-gcd")


def test_a_number_tells_how_it_holds(run: Run, toy: Path) -> None:
    peak = "{value: 9 TFLOP/s, clock: 1 GHz, flop_per_clock: 64, accumulate: fp16, uncertainty: 3 %, confidence: low}"
    (toy / "toy.yaml").write_text(f"name: toy\npeak: {{bf16: {peak}, fp8: unsupported}}\n{BANDWIDTH}")
    shown = " ".join(run("devices", "toy.yaml").split())
    assert "peak.bf16.tensor 9 TFLOP/s? unstated, low at 1 GHz; 64 FLOP per unit and clock" in shown
    assert "accumulates in fp16; within 3 %" in shown
    assert "no hardware path: fp8 " in shown
    assert "bf16 tensor 9 TFLOP/s? 18? 0.05556?" in shown


def test_a_system_in_full_tells_its_peak_from_rpeak(run: Run) -> None:
    shown = run("systems", "summit")
    machine = SYSTEMS.load("summit")
    assert "nodes x devices x peak is not Rpeak" in shown
    total = SYSTEMS.columns["fp64_vector"].get(machine)
    assert isinstance(total, Sourced)
    for number in (f"{total.value / 1e15:.4g}", "200.795", "148.6", "27648"):
        assert number in shown


def test_the_columns_are_listed_with_their_meaning(run: Run, read: Callable[..., Any]) -> None:
    for what, layout in (("devices", DEVICES), ("systems", SYSTEMS)):
        listed = run(what, "--columns", "help")
        helped = " ".join(run(what, "--help").split())
        for name, column in layout.families().items():
            assert f"{name} " in listed
            assert column.meaning in listed
            assert name in helped
        assert read(what, "--columns", "help").keys() == layout.columns.keys()


@pytest.mark.parametrize("what", ["devices", "systems"])
def test_the_shipped_files_pass_their_check(read: Callable[..., Any], what: str) -> None:
    found = read(what, "--check")
    assert found["checked"] == len(read(what))
    assert found["faults"] == found["findings"] == []


def test_a_fault_is_said_with_its_line_and_its_rule(run: Run, toy: Path) -> None:
    (toy / "bad.yaml").write_text(TOY.replace("toy", "bad").replace("500 GB/s", "500 GB"))
    done = run("devices", "bad.yaml", "toy.yaml", "--check", "--json", code=1)
    found = json.loads(done)
    assert found["checked"] == 2
    assert {"file": "bad.yaml", "line": 3, "rule": "wrong-unit"}.items() <= found["findings"][0].items()
    assert found["faults"][0] == f"bad.yaml:3: {found['findings'][0]['sentence']}"
    _, said = run("devices", "bad.yaml", "--check", code=1).splitlines()
    assert said.startswith("bad.yaml:3: memory_bandwidth is '500 GB'")
    assert said.endswith("[wrong-unit]")


@pytest.mark.parametrize(
    ("sentence", "parts"),
    [
        ("a b/c:d.yaml:12: it is: wrong", ("a b/c:d.yaml", 12, "it is: wrong")),
        ("x.yml: it is wrong", ("x.yml", None, "it is wrong")),
        ("it is wrong", (None, None, "it is wrong")),
    ],
)
def test_a_fault_is_taken_apart(sentence: str, parts: tuple[str | None, int | None, str]) -> None:
    from estimator.cli.show_catalogue import _finding

    file, line, rest = parts
    assert _finding(Fault(sentence, "r")) == {"file": file, "line": line, "rule": "r", "sentence": rest}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("devices", "v10O"), "Unknown device 'v10O'. Did you mean v100-sxm2-16gb?"),
        (("systems", "sumit"), "Unknown system 'sumit'. Did you mean summit?"),
        (("devices", "--where", "bandwith > 1 GB/s"), "Unknown column 'bandwith'. Did you mean memory_bandwidth?"),
        (("devices", "--sort", "-yeer"), "Unknown column 'yeer'. Did you mean year?"),
        (("systems", "--columns", "rmx"), "Unknown column 'rmx'. Did you mean rmax?"),
    ],
)
def test_a_wrong_word_is_one_sentence(run: Run, words: tuple[str, ...], sentence: str) -> None:
    (said,) = run(*words, code=1).splitlines()
    assert sentence in said


def test_names_and_conditions_do_not_mix(run: Run) -> None:
    assert "give them without names" in run("devices", "v100", "--where", "bf16", code=2)


def test_brackets_in_names_are_taken_literally(run: Run, toy: Path) -> None:
    (toy / "toy.yaml").write_text(TOY + "vendor: '[/x]'\nnotes: ['[b]bold :x:']\n")
    shown = run("devices", "toy.yaml")
    assert "[/x]" in shown
    assert "[b]bold :x:" in shown
    assert "toy" in process("devices", "toy.yaml", encoding="ascii").stdout
    assert "[/x]" in run("devices", "toy.yaml", "v100")


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("devices h100-s", "h100-sxm5-80gb"),
        ("devices a100-sxm4-80gb h100-s", "h100-sxm5-80gb"),
        ("devices --sort memory_b", "memory_bandwidth"),
        ("systems --columns year,rm", "year,rmax"),
    ],
)
def test_the_shell_completes_names_and_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: str, expected: str
) -> None:
    words = f"estimator {typed}"
    monkeypatch.setenv("_ESTIMATOR_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    with pytest.raises(SystemExit):
        app(prog_name="estimator")
    assert expected in capsys.readouterr().out.splitlines()
