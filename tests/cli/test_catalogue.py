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
from estimator.devices.specs.table.columns import DEVICES, SYSTEMS
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

    def run(*words: str, code: int = 0, terminal: int | None = None, columns: int | None = None) -> str:
        out = Terminal() if terminal else io.StringIO()
        errors = io.StringIO()
        monkeypatch.setenv("COLUMNS", str(columns or terminal or ""))
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


SIX = ("h100", "mi300x", "mi355x", "gb300", "b200", "rtx-pro-6000-server")


def numbers_of(shown: str) -> list[str]:
    """The cells of a comparison without its headings, by field and device; each field and first device once."""
    found: dict[tuple[str, str], str] = {}
    for line in shown.splitlines():
        if line.startswith("field "):
            heads = line.split()
        elif (cells := re.split(r" {2,}", line.strip()))[0].endswith("]"):
            found |= {(cells[0], head): cell for head, cell in zip(heads, cells, strict=True)}
    told = sorted((place, cell) for place, cell in found.items() if place[1] not in ("field", "ratio"))
    return [f"{field} {device} {cell}" for (field, device), cell in told]


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_a_comparison_is_split_and_no_number_is_cut(run: Run, columns: int) -> None:
    words = ("devices", *SIX, "--columns", "fp8,bf16,memory_bandwidth,ridge_point_bf16")
    narrow, whole = run(*words, terminal=columns), run(*words, terminal=400)
    assert numbers_of(narrow) == numbers_of(whole)
    assert len(numbers_of(whole)) == 4 * len(SIX)
    assert narrow.count("field ") > whole.count("field ") == 1
    full = run("devices", *SIX, terminal=columns)
    assert "…" not in full
    assert columns < 80 or max(map(len, full.splitlines())) <= columns


def test_what_is_asked_for_is_shown_though_no_device_has_it(run: Run) -> None:
    alone = run("devices", "v100", "--columns", "bf16")
    assert re.search(r"^bf16 \[TFLOP/s\] +none$", alone, re.MULTILINE)
    shown = run("devices", "v100", "epyc-7763", "--columns", "bf16,launch_latency,year")
    fields = [line.split()[0] for line in shown.splitlines() if line]
    assert fields[fields.index("field") + 1 :][:3] == ["bf16", "launch_latency", "year"]
    assert "bf16_" not in run("devices", "v100", "p100-sxm2-16gb")


@pytest.mark.parametrize("words", [("devices",), ("systems", "summit"), ("devices", "--columns", "help")])
def test_output_that_is_no_terminal_is_as_wide_as_columns_says(run: Run, words: tuple[str, ...]) -> None:
    assert run(*words, columns=90) == run(*words, terminal=90)
    assert run(*words) == run(*words, columns=160) != run(*words, columns=90)


def test_the_csv_of_a_comparison_has_ratios(run: Run, read: Callable[..., Any], tmp_path: Path) -> None:
    names = "a100-sxm4-80gb", "h100-sxm5-80gb"
    run("devices", *names, "--csv", str(tmp_path / "two.csv"))
    first, second = csv.DictReader((tmp_path / "two.csv").read_text().splitlines())
    ratios = read("devices", *names)["ratios"]
    assert first["memory_bandwidth ratio"] == "1.0"
    assert float(second["memory_bandwidth ratio"]) == ratios["memory_bandwidth"][names[1]]


def test_a_system_of_an_unknown_device_stays_in_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ESTIMATOR_LIBRARY", str(tmp_path))
    (tmp_path / "devices" / "systems").mkdir(parents=True)
    text = "name: mine\ndevice: v1O0\nnodes: 2\ndevices_per_node: 4\nrmax: 1 PFLOP/s\n"
    (tmp_path / "devices" / "systems" / "mine.yaml").write_text(text)
    done = process("systems", "--columns", "device,fp64,rmax")
    assert re.search(r"^mine +v1O0 +1\?? *$", done.stdout, re.MULTILINE)
    assert "note: mine: Unknown device 'v1O0'" in done.stderr
    assert json.loads(process("systems", "mine", "--json").stdout)["rmax"]["value"] == 1e15


def test_integers_are_counted_in_operations(run: Run) -> None:
    full, chosen = run("devices", "h100"), run("devices", "--columns", "int8,bf16", "--where", "int8 >= 1 POP/s")
    assert re.search(r"peak\.int8\.tensor +[\d.]+ [TP]OP/s", full)
    assert re.search(r"peak\.bf16\.tensor +[\d.]+ TFLOP/s", full)
    assert re.search(r" FLOP/B +B/FLOP(.|\n)* OP/B +B/OP", full)
    assert chosen.splitlines()[2].split()[1:] == ["TOP/s", "TFLOP/s"]


def test_the_help_names_the_lints(run: Run) -> None:
    from estimator.devices import lints

    helped = run("devices", "--help")
    assert all(f" {name} " in helped for name in lints.helps())


def test_marks_tell_what_is_unverified_waived_and_unsupported(run: Run, toy: Path) -> None:
    (toy / "toy.yaml").write_text(TOY.replace("status: read", 'status: read, waiver: "plausible: it is so"'))
    shown = run("devices", "toy.yaml", "--columns", "fp32,bf16,memory_bandwidth,vendor")
    values = {line.split()[0]: line.split()[2] for line in shown.splitlines() if "[" in line}
    assert values == {"fp32": "10?", "bf16": "none", "memory_bandwidth": "500*"}
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
    _, said, *_ = run("devices", "bad.yaml", "--check", code=1).splitlines()
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
    from estimator.cli.documents import finding

    file, line, rest = parts
    assert finding(Fault(sentence, "r")) == {"file": file, "line": line, "rule": "r", "sentence": rest}


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
