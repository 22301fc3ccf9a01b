"""Options that several commands share: the shell completes names, and files are checked before work begins."""

from pathlib import Path

import pytest

from estimator.cli import app
from tests.cli.command_line import run


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("devices h100-s", "h100-sxm5-80gb"),
        ("devices a100-sxm4-80gb h100-s", "h100-sxm5-80gb"),
        ("devices --sort memory_b", "memory_bandwidth"),
        ("systems --columns year,rm", "year,rmax"),
        ("systems sum", "summit"),
        ("ingest p1b", "p1b3"),
        ("estimate p1b3 --to v100-s", "v100-sxm2-16gb"),
        ("validate --problem gemm-k", "gemm-kit"),
    ],
)
def test_the_shell_completes_names(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: str, expected: str
) -> None:
    words = f"estimator {typed}"
    monkeypatch.setenv("_ESTIMATOR_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    with pytest.raises(SystemExit):
        app(prog_name="estimator")
    assert expected in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("words", [("ingest", "p1b4"), ("devices", "v10O"), ("validate", "--problem", "gem")])
def test_a_file_that_cannot_be_written_is_refused_first(words: tuple[str, ...], tmp_path: Path) -> None:
    done = run(*words, "--csv", str(tmp_path / "none" / "x.csv"), code=1)
    assert "x.csv: cannot be written" in done.stderr
