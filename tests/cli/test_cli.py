"""The command line that other programs rely on: help, exit 0, 1 or 2, one sentence on a fault, no traceback."""

import subprocess
import sys
from pathlib import Path

import pytest
import typer

from estimator.cli import app
from tests.cli.command_line import STUDY, run, run_process

GROUP = typer.main.get_command(app)
COMMANDS = tuple(GROUP.commands)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("estimate", "p1b3", "--to", "V10O"), "Unknown device 'V10O'. Did you mean v100-sxm2-16gb?"),
        (("estimate", "p1b4", "--to", "v100"), "Unknown profile 'p1b4'. Did you mean p1b3 or"),
        (("estimate", "p1b3", "--to", "v100", "--precision", "fp31"), "precision 'fp31' is not known"),
        (("estimate", "p1b3", "--to", "v100", "--from", "v10O"), "Unknown device 'v10O'"),
        (("estimate", "p1b3", "--to", "v100", "--measurements", "none.csv"), "none.csv: there is no such file"),
        (("fom", "none.yaml"), "none.yaml: there is no such file"),
        (("predict", "none.csv", "--on", "v100"), "none.csv: there is no such file"),
    ],
)
def test_faults_of_the_input_are_one_sentence_and_exit_1(words: tuple[str, ...], sentence: str) -> None:
    done = run(*words, code=1)
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not done.stdout


@pytest.mark.parametrize(
    "words", [("estimate",), ("guess",), ("estimate", "p1b3", "--to"), ("ingest", "p1b3", "--batch", "0")]
)
def test_wrong_usage_is_exit_2(words: tuple[str, ...]) -> None:
    run(*words, code=2)


@pytest.mark.slow
def test_a_process_exits_as_the_function_does() -> None:
    """The other tests call main in their own process."""
    assert "82.5973" in run_process("fom", STUDY).stdout
    assert run_process("ingest", "p1b4", code=1).stderr == run("ingest", "p1b4", code=1).stderr


def test_python_m_estimator_completes_the_command_estimator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_ESTIMATOR_COMPLETE", "source_bash")
    assert "_ESTIMATOR_COMPLETE=complete_bash" in run_process().stdout


def test_a_defect_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    from estimator.studies import starter

    def break_down(folder: Path) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(starter, "write_starter", break_down)
    monkeypatch.delenv("ESTIMATOR_DEBUG", raising=False)
    done = run("init", "any", code=1)
    assert done.stderr.startswith("A defect of estimator, not of your input: ZeroDivisionError: by zero. Please report")


def test_a_file_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = run("init", "file/folder", cwd=tmp_path, code=1)
    assert len(done.stderr.splitlines()) == 1
    assert "file" in done.stderr


def test_a_working_folder_that_is_gone_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tmp_path.rmdir()
    assert run("init", "mine", code=1).stderr == "the working folder is gone; go to another one\n"
    assert run("fom", "lecture-kpp").stdout  # a shipped study needs none


def test_help_lists_the_commands_in_pipeline_order() -> None:
    lines = run("--help").stdout.splitlines()
    listed = [
        line.split()[0] for line in lines[lines.index("Commands:") + 1 :] if line.startswith("  ") and line[2] != " "
    ]
    assert listed == list(COMMANDS)
    assert run("--version").stdout == "estimator 0.1.0\n"


def test_summaries_are_whole_on_a_terminal_of_80_columns() -> None:
    listed = run("--help", columns=80).stdout.partition("Commands:")[2]
    assert "..." not in listed
    assert "…" not in listed
    assert max(map(len, listed.splitlines())) <= 80


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example_for_every_command(command: str) -> None:
    assert f"Example: estimator {command}" in run(command, "--help").stdout


NEVER = "rich matplotlib jinja2 pint msgspec python_calamine google.protobuf scipy tensorflow estimator.devices.lints"
WITH_RESULTS = "pandas numpy pydantic yaml estimator.cli.render estimator.reports"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "heavy"),
    [(["--help"], f"{NEVER} {WITH_RESULTS}"), (["estimate", "p1b3", "--to", "v100"], NEVER)],
    ids=["help", "estimate"],
)
def test_a_command_loads_nothing_heavy_that_it_does_not_need(words: list[str], heavy: str) -> None:
    code = (
        f"import sys; sys.argv = {['estimator', *words]}\n"
        "from estimator.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        f"heavy = {{name for name in sys.modules if name.startswith(tuple('{heavy}'.split()))}}\n"
        "sys.exit(f'loaded {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
@pytest.mark.parametrize(("words", "code"), [(f"fom {STUDY}", 0), ("--version", 0), ("devices nope", 1)])
def test_closed_streams_are_no_defect(closed: str, words: str, code: int) -> None:
    command = f"{sys.executable} -m estimator {words} {closed}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert "defect" not in done.stderr


def test_a_request_to_end_leaves_nothing_behind() -> None:
    code = (
        "import os, signal, time\n"
        "from estimator import cli\n"
        "def app(prog_name):\n"
        "    try:\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "        time.sleep(10)\n"
        "    finally:\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"  # as timeout asks twice
        "        print('tidied up')\n"
        "cli.app = app\n"
        "cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "tidied up\n"
    assert done.returncode != 0
