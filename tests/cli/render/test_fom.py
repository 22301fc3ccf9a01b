"""What ``estimator fom`` prints."""

from functools import partial
from typing import Any

import pytest

from estimator.cli.render.fom import render_fom
from tests.cli.command_line import STUDY, printed, read, run


def test_people_read_what_programs_get() -> None:
    shown = run("fom", STUDY)
    title, *_ = shown.stdout.splitlines()
    assert printed(partial(render_fom, read("fom", STUDY), title)) == shown
    assert "82.5973" in shown.stdout


@pytest.mark.parametrize(
    ("met", "share", "shown"),
    [(True, 0.93, "met, 93 % of draws"), (False, 0.0, "not met, 0 % of draws"), (None, None, "none")],
)
def test_the_threshold_is_met_or_not(met: bool | None, share: float | None, shown: str) -> None:
    interval = {"low": None, "mid": 40.0, "high": None}
    target: dict[str, Any] = {
        "refused": None,
        "meets_threshold": met,
        "p_threshold": share,
        "fom": interval,
        "dominant_unit": "P1",
    }
    document = {
        "definition": "mean", "baseline": "old", "targets": {"new": {**target, "units": {}}},
        "assumptions": ["a guess"], "warnings": ["a warning"],
    }  # fmt: skip
    output = printed(partial(render_fom, document, "[Title]"))
    assert output.stdout.startswith("[Title]\nmean, over old, system level\n")
    assert f" {shown} " in output.stdout
    count, warning = output.stderr.splitlines()
    assert count.startswith("note: 1 assumptions lie behind these figures; 'estimator report'")
    assert warning == "note: a warning"


def test_a_unit_that_cannot_run_says_so_and_why_in_a_note() -> None:
    numbers = {"low": None, "mid": 40.0, "high": None}
    ran = {"refused": None, "time_per_unit_s": numbers, "time_level": "node", "units_per_day": numbers, "ratio": None}
    cells = {"A": ran, "B": {"refused": "it needs 9 GiB", "fits": False}, "C": {"refused": "no bf16", "fits": None}}
    target = {"fom": None, "refused": "B on new: it needs 9 GiB", "units": cells}
    document = {
        "definition": "mean", "baseline": "old", "targets": {"new": target}, "assumptions": [], "warnings": [],
        "baseline_units": {"A": ran, "B": ran, "C": {"refused": "no bf16 here", "fits": None}},
    }  # fmt: skip
    output = printed(partial(render_fom, document, "Title"))
    lines = [" ".join(line.split()) for line in output.stdout.splitlines()]
    assert "new none: a unit cannot run – –" in lines
    assert "new A 40.00 s per node 40 –" in lines
    assert {"new B does not fit – –", "new C cannot run – –"} <= set(lines)
    assert output.stderr.splitlines() == [
        "note: C on old: no bf16 here", "note: B on new: it needs 9 GiB", "note: C on new: no bf16",
    ]  # fmt: skip
