"""What ``estimator report`` prints: the files, and the steps of a published table."""

from typing import Any

from estimator.cli.render.report import render_report
from tests.cli.command_line import printed


def step(unit: str, holds: bool | None, implied_s: float = 0.2) -> dict[str, Any]:
    interval = (
        {"low": 0.1, "mid": 0.15, "high": 0.25} if holds is not None else {"low": None, "mid": 0.15, "high": None}
    )
    return {
        "unit": unit, "on": "V100", "as_printed": "11 s", "implied_step_s": implied_s, "predicted_step_s": interval,
        "step_holds": holds,
    }  # fmt: skip


def test_each_step_stands_beside_the_predicted_one() -> None:
    document = {"written": ["r.html"], "steps": [step("NT3", True), step("P1B2", False, 0.3), step("UNO", None)]}
    out = printed(lambda: render_report(document)).stdout
    assert "1 of 3 intervals hold them" in out
    lines = {line.split()[0]: line.split() for line in out.splitlines() if line}
    assert lines["wrote"] == ["wrote", "r.html"]
    assert " ".join(lines["NT3"]) == "NT3 V100 11 s 200.0 ms 150.0 ms 100.0 ms 250.0 ms -25 % yes"
    assert lines["P1B2"][-4:] == ["ms", "-50", "%", "no"]
    assert lines["UNO"][-5:] == ["–", "–", "-25", "%", "–"]


def test_a_study_without_tables_prints_its_files_alone() -> None:
    assert printed(lambda: render_report({"written": ["a"], "steps": []})).stdout == "wrote a\n"
