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
    target: dict[str, Any] = {"meets_threshold": met, "p_threshold": share, "fom": interval, "dominant_unit": "P1"}
    apart = {"means": {}, "means_unit": None, "groups": {}, "fom_with_algorithm": None, "fom_committed": None}
    document = {
        "definition": "mean", "preset": None, "level": "system", "baseline": "old",
        "targets": {"new": {**target, **apart, "units": {}}},
        "assumptions": ["a guess"], "warnings": ["a warning"],
    }  # fmt: skip
    output = printed(partial(render_fom, document, "[Title]"))
    assert output.stdout.startswith("[Title]\nmean, over old, system level\n")
    assert f" {shown} " in output.stdout
    count, warning = output.stderr.splitlines()
    assert count.startswith("note: 1 assumptions lie behind these figures; 'estimator report'")
    assert warning == "note: a warning"
