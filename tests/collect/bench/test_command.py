"""The command: options and output."""

import argparse
import subprocess
from pathlib import Path

import pytest

from estimator.collect.bench.command import parse_arguments
from tests.collect.bench.runs import SHAPES, measure, read, started


def test_a_row_with_too_many_cells_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert measure(folder, shapes="op_class,precision,bytes\nmovement,fp32,8,9\n") == 1
    assert "row 1 has more cells" in capsys.readouterr().err


@pytest.mark.parametrize("words", [("--budget", "inf"), ("--budget", "nan"), ("--relative-error", "1")])
def test_numbers_of_options_are_above_zero(folder: Path, words: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit):
        measure(folder, *words)


def test_an_all_reduce_needs_pytorch(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert measure(folder, "--all-reduce", "2") == 1
    assert "needs PyTorch" in capsys.readouterr().err


@pytest.mark.slow
def test_a_closed_pipe_does_not_stop_the_run(tmp_path: Path) -> None:
    command = started(tmp_path, SHAPES, "--backend", "numpy", "--budget", "20", "--relative-error", "0.5")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert (process.stderr.read(), process.wait(60)) == ("", 0)
    assert len(read(tmp_path / "out.csv")) > 10


def test_options_have_defaults_for_a_kit() -> None:
    options = parse_arguments([])
    assert isinstance(options, argparse.Namespace)
    assert (options.shapes.name, options.output.name, options.backend) == ("shapes.csv", "measurements.csv", "auto")
