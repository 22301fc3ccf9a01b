"""Commands that only write files print their paths."""

from estimator.cli.render.written import render_written
from tests.cli.command_line import printed


def test_each_path_has_a_line() -> None:
    long = "x" * 200
    assert printed(lambda: render_written({"written": ["a.csv", long]})).stdout == f"wrote a.csv\nwrote {long}\n"
