"""``estimator selftest``: words that cannot be run are refused before anything is."""

import pytest

from tests.cli.command_line import run


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("--repeats", "2"), 2, "--repeats"),
        (("--setting", "9999xAVX2"), 1, "9999xAVX2"),
        (("p1b4",), 1, "p1b4"),
    ],
)
def test_a_plan_that_cannot_be_run_is_refused(words: tuple[str, ...], code: int, sentence: str) -> None:
    assert sentence in run("selftest", *words, code=code).stderr
