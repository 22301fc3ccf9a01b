"""Mistakes of new users: each gets one sentence with what, where, found, expected, do; no traceback, no riddle."""

import os
import re
from pathlib import Path

import pytest

from tests.cli.command_line import attempt, read, run

STUDY = """title: x
baseline: a
machines:
  a: {nodes: 10}
  b: {nodes: 10}
units_of_work:
  P: {time_per_unit: {a: 60 h, b: 4 h}}
"""
DEVICE = "name: my\npeak: {fp32: 10 TFLOP/s}\nmemory_bandwidth: 500 GB/s\n"
SHAPES = "op_class,precision,m,n,k\ngemm,fp32,512,512,512\n"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "expected 'key: value' lines, found nothing"),
        ("- a\n- b\n", "expected 'key: value' lines, found a list"),
        ("hello", "expected 'key: value' lines, found a single value"),
        (STUDY.replace("  a: {n", "\ta: {n"), ":4: this is not YAML (a tab or sign that cannot stand here: indent"),
        (STUDY.replace("title: x", "title: it is: x"), ":1: this is not YAML (a colon in a text: put the text in"),
        (STUDY.replace("baseline: a\n", ""), "'baseline' is missing, and a figure of merit divides by it; name one of"),
        (STUDY.replace("baseline: a", "baseline: A"), ":2: 'A' is not one of the machines a, b. Did you mean a?"),
        (
            STUDY.replace("units_of_work", "unit_of_work"),
            "'unit_of_work' is not a key that is known here. Did you mean",
        ),
        (STUDY.replace("a: {nodes: 10}", "a: {nodes: -10}"), ":4: machines.a.nodes is -10; input should be greater"),
        (STUDY.replace("a: {nodes: 10}", "a: {nodes: 1,000}"), ":4: nodes is 1,000; a number has no commas, so write"),
        (
            STUDY.replace("60 h", "60"),
            "P.time_per_unit.a is '60', which is a plain number; write a time such as '60 h'",
        ),
        (STUDY.replace("{a: 60 h, b: 4 h}", "60 h"), "P.time_per_unit is '60 h'; expected keys with values"),
        (DEVICE, ": this is a device, which --to and --on take; expected a study, for 'estimator fom'"),
    ],
)
def test_a_broken_study_gets_one_sentence(tmp_path: Path, content: str, sentence: str) -> None:
    (tmp_path / "s.yaml").write_text(content)
    shown = run("fom", "s.yaml", cwd=tmp_path, code=1)
    assert sentence in shown.stderr
    assert shown.stderr.startswith("s.yaml")
    assert len(shown.stderr.splitlines()) == 1
    assert run("fom", "s.yaml", "--json", cwd=tmp_path, code=1) == shown


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_a_file_in_another_encoding_is_to_be_saved_anew(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "s.yaml").write_text(STUDY.replace("title: x", "title: é"), encoding=encoding)
    assert (
        "s.yaml: expected text in UTF-8, found other bytes; save it as UTF-8"
        in run("fom", "s.yaml", cwd=tmp_path, code=1).stderr
    )


@pytest.mark.parametrize("content", [STUDY.replace("\n", "\r\n"), f"\ufeff{STUDY}"])
def test_line_ends_of_windows_and_a_byte_order_mark_are_read(tmp_path: Path, content: str) -> None:
    (tmp_path / "s.yaml").write_text(content, newline="")
    assert read("fom", "s.yaml", cwd=tmp_path) == read_plain(tmp_path)


def read_plain(folder: Path) -> object:
    (folder / "s.yaml").write_text(STUDY)
    return read("fom", "s.yaml", cwd=folder)


def test_a_folder_stands_for_the_study_in_it(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    assert "mine: this is a folder; name the file in it" in run("fom", "mine", cwd=tmp_path, code=1).stderr
    (tmp_path / "mine" / "study.yaml").write_text(STUDY)
    assert read("fom", "mine", cwd=tmp_path)["baseline"] == "a"
    run("report", "mine", cwd=tmp_path)
    assert (tmp_path / "mine" / "report.html").is_file()
    shown = run("report", "mine/results.json", cwd=tmp_path, code=1).stderr
    assert "mine/results.json: this is a result that 'estimator report' wrote; expected a study" in shown
    shown = run("ingest", "mine/report.html", cwd=tmp_path, code=1).stderr
    assert "this is a page for a browser; expected a profiler dump" in shown


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("ingest my.yaml", "my.yaml: this is a device for --to or --on; expected a profiler dump or a shipped profile"),
        ("ingest s.yaml", "s.yaml: this is a study for 'estimator fom' or 'report'; expected a profiler dump"),
        ("ingest empty", "empty: the file is empty; expected a profiler dump, so capture it again"),
        (
            "estimate p1b3 --to s.yaml",
            "s.yaml: this is a study, for 'estimator fom' and 'estimator report'; expected a",
        ),
        ("estimate p1b3 --to my.ymal", "my.ymal"),
        ("estimate v100 --to p1b3", "'v100' is a device, not a profile; a device is a target or a source"),
        ("estimate p1b3 --to frontier", "'frontier' is a system, not a device: its devices are mi250x-gcd; a system"),
        ("scale resnet50 --system h100", "'h100' is a device, not a system: it is in "),
        ("estimate ./trace.pb --to v100", "./trace.pb: there is no such file in "),
        ("estimate gone.yaml --to v100", "gone.yaml: there is no such file, only a link to one that is gone"),
        ("predict my.yaml --on v100", "my.yaml: this is a .yaml file by its name; expected a table as CSV"),
        ("predict upper.csv --on v100", "the column 'op_class' is missing; add it in place of 'Op_Class'"),
        ("predict semicolons.csv --on v100", "semicolons.csv:1: the columns are separated by ';'; expected commas"),
        ("estimate p1b3 --to v100 --measurements ms.csv", "add it in place of 'time_ms' (median time of one call [s])"),
        ("report s.yaml -o empty", "report.html: cannot be written (a file stands for one of its folders); choose"),
        ("init empty", "study.yaml: cannot be written (a file stands for one of its folders); choose another place"),
        ("estimate p1b3 --to bits.yaml", "memory_bandwidth is '12 Tb/s', whose b would be a bit; write '12 TB/s' for"),
        ("fom cande-fom", "Unknown study 'cande-fom'. Did you mean candle-fom?"),
        ("fom nosuch", "Unknown study 'nosuch'. Give a file, or one of candle-fom, exascale-day"),
    ],
)
def test_errors_state_what_wrong_files_and_names_are(tmp_path: Path, words: str, sentence: str) -> None:
    files = {
        "my.yaml": DEVICE, "s.yaml": STUDY, "empty": "", "bits.yaml": DEVICE.replace("500 GB", "12 Tb"),
        "upper.csv": SHAPES.replace("op_class", "Op_Class"), "semicolons.csv": SHAPES.replace(",", ";"),
        "ms.csv": "op_class,precision,m,n,k,time_ms\ngemm,fp32,512,512,512,0.1\n",
    }  # fmt: skip
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    os.symlink(tmp_path / "nothing", tmp_path / "gone.yaml")
    shown = run(*words.split(), cwd=tmp_path, code=1)
    assert sentence in shown.stderr
    assert shown.stdout == ""


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("estimate p1b3 -to h100", "No such option: -to. Did you mean --to?"),
        ("estimate p1b3 --too h100", "No such option: --too (Possible options: --to)"),
        ("estimat p1b3", "No such command 'estimat'. Did you mean 'estimate'?"),
        ("estimate p1b3 --to h100 --fusion all", "'--fusion': 'all' is not one of 'none', 'elementwise'"),
        ("estimate p1b3 --to h100 --host -1", "'--host': it is '-1'; write profile, none, or a factor from 1e-06"),
        ("estimate p1b3 --to h100 --batch 0", "'--batch': found '0'; input should be greater than or equal to 1"),
        ("compare p1b3 h100", "Missing option '--to'"),
    ],
)
def test_wrong_usage_says_what_to_write(words: str, sentence: str) -> None:
    shown = run(*words.split(), code=2)
    assert sentence in shown.stderr
    assert shown.stdout == ""


SLIPS = (
    b"",
    b"\0" * 40,
    b"\xff\xfe\x00",
    b"{",
    b"[]",
    b"- a",
    b"a: b",
    b"a,b\n1,2\n",
    b"\n\n",
    b"PK\x03\x04",
    b"%PDF-1.4",
)
COMMANDS = (
    "ingest", "estimate --to v100", "memory", "predict --on v100", "fom", "report", "measurements import -o out.csv",
)  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_no_file_gives_a_traceback(tmp_path: Path, command: str) -> None:
    for number, content in enumerate(SLIPS):
        for suffix in (".yaml", ".csv", ".pb", ".json", ""):
            path = tmp_path / f"slip{number}{suffix}"
            path.write_bytes(content)
            code, output = attempt(*command.split(), path.name, cwd=tmp_path)
            assert code == 1
            assert "A defect" not in output.stderr
            assert re.search(rf"{path.name}\b", output.stderr), output.stderr
