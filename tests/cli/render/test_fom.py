"""What ``estimator fom`` prints."""

import re
from functools import partial
from typing import Any

import pytest

from estimator.cli.render.fom import other_figures, render_fom, show_mean
from tests.cli.command_line import STUDY, printed, read, run


def test_people_read_what_programs_get() -> None:
    shown = run("fom", STUDY)
    title, *_ = shown.stdout.splitlines()
    assert printed(partial(render_fom, read("fom", STUDY), title)) == shown
    assert "82.5973" in shown.stdout


@pytest.mark.slow
def test_in_a_narrow_terminal_the_ratios_of_units_stand_apart() -> None:
    document = read("fom", "candle-fom")
    narrow, wide = (printed(partial(render_fom, document, ""), columns=width).stdout for width in (80, 200))
    assert max(map(len, narrow.splitlines())) <= 80
    assert (wide.count("machine  "), narrow.count("machine  ")) == (2, 3)
    assert set(re.findall(r"\d[\d.,]*", wide)) == set(re.findall(r"\d[\d.,]*", narrow))


@pytest.mark.parametrize(
    ("met", "share", "shown"),
    [
        (True, 0.93, "met, reached in 93 % of draws"),
        (False, 0.0, "not met, reached in 0 % of draws"),
        (None, None, "none"),
    ],
)
def test_the_threshold_is_met_or_not(met: bool | None, share: float | None, shown: str) -> None:
    interval = {"low": None, "mid": 40.0, "high": None}
    target: dict[str, Any] = {
        "refused": None, "meets_threshold": met, "p_threshold": share, "fom": interval, "dominant_unit": "P1",
    }  # fmt: skip
    besides: dict[str, Any] = {
        "means": {},
        "means_unit": None,
        "groups": {},
        "fom_with_algorithm": None,
        "fom_committed": None,
    }
    document = {
        "definition": "mean", "preset": None, "level": "system", "baseline": "old",
        "targets": {"new": {**target, **besides, "units": {}}}, "baseline_units": {}, "threshold": None,
        "assumptions": ["a gap", "a guess"], "left_open": ["a gap"],
        "left_open_on": {"a gap": ["m"]}, "warnings": ["a warning"], "warned_on": {"a warning": ["m/u"]},
    }  # fmt: skip
    output = printed(partial(render_fom, document, "[Title]"))
    assert output.stdout.startswith("[Title]\nmean, over old, system level\n")
    assert f" {shown} " in output.stdout
    warning, left_open, count = output.stderr.splitlines()
    assert left_open == "note: a gap (m)"
    assert count.startswith("note: 1 more assumption lies behind these figures; 'estimator report'")
    assert warning == "warning: a warning (m/u)"


def test_what_stands_apart_is_printed_apart() -> None:
    interval = {"low": None, "mid": 40.0, "high": None}
    unit = {"committed_s": 9000.0, "projected_over_committed": 1.25}
    target = {
        "means": {"new": {**interval, "mid": 3.0}, "old": interval}, "means_unit": "s", "groups": {"science": 24.0},
        "fom_with_algorithm": interval, "fom_committed": {**interval, "mid": 7.0},
        "units": {"A": unit, "B": {"committed_s": None}, "C": {"committed_s": 60.0, "projected_over_committed": None}},
    }  # fmt: skip
    assert list(other_figures({"new": target})) == [
        "each machine's mean: new 3.000 s, old 40.00 s",
        "new, with the algorithmic factors declared, which are no hardware: 40",
        "new, by the committed times: 7",
        "new, science alone: 24",
        "new, A: committed 2.500 h, projected / committed rate 1.25",
    ]
    assert show_mean(interval, "1/min") == "40 1/min"


def test_the_definition_is_printed_with_its_source() -> None:
    shown = run("fom", STUDY).stdout
    assert "candle: CANDLE's figure of merit" in shown
    assert "read: Foster & Stevens" in shown
    assert "each machine's mean: titan 17,250.5 1/day, machine-a 1,424,842 1/day" in shown


def test_a_unit_that_cannot_run_says_so_and_why_in_a_note() -> None:
    numbers = {"low": None, "mid": 40.0, "high": None}
    ran = {"refused": None, "time_per_unit_s": numbers, "time_level": "node", "units_per_day": numbers}
    unpaid: dict[str, Any] = {"energy_j": None, "usd": None}
    ran |= {"ratio_per_worker": numbers, "ratio_per_node": None, "ratio": None, "committed_s": None, **unpaid}
    fits = {"refused": "it needs 9 GiB", "fits": False, **unpaid}
    cannot = {"refused": "no bf16", "fits": None, **unpaid}
    cells = {"A": ran, "B": fits | {"committed_s": None}, "C": cannot | {"committed_s": None}}
    target = {"fom": None, "refused": "B on new: it needs 9 GiB", "units": cells, "means": {}, "groups": {}}
    target |= {"fom_with_algorithm": None, "fom_committed": None}
    document: dict[str, Any] = {
        "definition": "mean", "preset": None, "level": "system", "baseline": "old", "targets": {"new": target},
        "assumptions": [], "left_open": [], "left_open_on": {}, "warnings": [], "warned_on": {},
        "baseline_units": {"A": ran, "B": ran, "C": {"refused": "no bf16 here", "fits": None, **unpaid}},
    }  # fmt: skip
    output = printed(partial(render_fom, document, "Title"))
    lines = [" ".join(line.split()) for line in output.stdout.splitlines()]
    assert "new none: the baseline old cannot run C – –" in lines
    assert "new A 40.00 s per node 40 40 – –" in lines
    assert "old C cannot run – – – –" in lines
    assert {"new B does not fit – – – –", "new C cannot run – – – –"} <= set(lines)
    assert output.stderr.splitlines() == [
        "warning: C on old: no bf16 here", "warning: B on new: it needs 9 GiB", "warning: C on new: no bf16",
    ]  # fmt: skip
