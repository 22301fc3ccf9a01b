"""The arithmetic of a published table, on tables small enough to reckon by hand."""

from collections.abc import Mapping

import pytest

from estimator.core.errors import EstimatorError
from estimator.core.types import Comparison, Profile, Workload
from estimator.studies.audit.arithmetic import counts, means, peaks
from estimator.studies.audit.table import Table
from tests.conftest import make_device, make_ops

OLD = make_device(name="old-device", peak={"fp64": "1 TFLOP/s", "fp32": "4 TFLOP/s"})
NEW = make_device(name="new-device", peak={"fp64": "5 TFLOP/s", "fp32": "10 TFLOP/s"})


def table(rows: Mapping[str, object], **fields: object) -> Table:
    columns = {"old": {"devices": "old-device"}, "new": {"devices": "new-device", "peak": fields.pop("peak", "1x")}}
    said = {"title": "t", "source": "s", "baseline": "old", "columns": columns, "rows": rows, **fields}
    return Table.model_validate(said)


def row(old: str, new: str, ratio: str, **fields: object) -> dict[str, object]:
    return {"profile": "p", "times": {"old": old, "new": new}, "ratios": {"new": ratio}, **fields}


@pytest.mark.parametrize(
    ("printed", "mark", "words"),
    [
        ("2.5x", "reproduced", "fp32 of new-device over fp32 of old-device is 10 TFLOP/s / 4 TFLOP/s = 2.5"),
        ("2.4x", "rounding", "= 2.5"),
        ("1.25x", "wrong precision", "fp64 of new-device over fp32 of old-device is 5 TFLOP/s / 4 TFLOP/s = 1.25"),
        ("5.0x", "wrong precision", "fp64 of new-device over fp64 of old-device"),
        ("7.7x", "cannot be told", "= 2.5"),
    ],
)
def test_a_peak_is_that_of_the_runs_precision_or_of_others(printed: str, mark: str, words: str) -> None:
    rows = {"A": row("2 s", "1 s", "2x")}
    (found,) = peaks("t", table(rows, peak=printed), {"old": (OLD,), "new": (NEW,)})
    assert (found.mark, found.ours and found.ours.samples[0]) == (mark, 2.5)
    assert words in str(found.reason)
    assert ("fp32 over fp32 is 2.5" in str(found.reason)) == (mark == "wrong precision")


def test_either_of_the_devices_that_a_column_may_be_can_have_the_peak() -> None:
    other = make_device(name="other-device", peak={"fp32": "12 TFLOP/s"})
    (found,) = peaks("t", table({"A": row("2 s", "1 s", "2x")}, peak="3.0x"), {"old": (OLD,), "new": (NEW, other)})
    assert found.mark == "reproduced"
    assert "other-device" in str(found.reason)


MEASURED = {"A": row("2 s", "1 s", "2x"), "B": row("8 s", "1 s", "8x")}
ALL = {**MEASURED, "C": row("[20 s]", "1 s", "[20x]")}


@pytest.mark.parametrize(
    ("printed", "rule"),
    [
        ("5.0x", "arithmetic mean of the 2 measured ratios"),
        ("4.0x", "geometric mean of the 2 measured ratios"),
        ("3.2x", "harmonic mean of the 2 measured ratios"),
        ("10.0x", "arithmetic mean of all 3 ratios"),
        ("6.84x", "geometric mean of all 3 ratios"),
    ],
)
def test_the_rule_of_a_mean_is_found(printed: str, rule: str) -> None:
    (found,) = means("t", table(ALL, means=[{"new": printed}]))
    assert found.mark == "reproduced"
    assert found.ours is not None
    assert found.ours.formula == rule


def test_a_mean_that_follows_another_rule_than_its_row_cannot_be_told() -> None:
    columns = {name: {"devices": "new-device"} for name in ("old", "new", "second", "third")}
    rows = {
        name: {"profile": "p", "times": {**dict.fromkeys(columns, "1 s"), "old": time},
               "ratios": dict.fromkeys(("new", "second", "third"), ratio)}
        for name, time, ratio in (("A", "2 s", "2x"), ("B", "8 s", "8x"), ("C", "[20 s]", "[20x]"))
    }  # fmt: skip
    said = {"title": "t", "source": "s", "baseline": "old", "columns": columns, "rows": rows}
    printed = [{"new": "3.2x", "second": "5.0x", "third": "5x"}]
    odd, *fine = means("t", Table.model_validate({**said, "means": printed}))
    assert [found.mark for found in fine] == ["reproduced", "reproduced"]
    assert odd.mark == "cannot be told"
    assert "arithmetic mean of the 2 measured ratios is 5" in str(odd.reason)
    assert "harmonic mean of the 2 measured ratios, 3.2, would be" in str(odd.reason)


def counted(**fields: object) -> Comparison:
    """The count of parameters printed of a model of 12,345, which is dense 10-20-30 and more."""
    said = table({"A": row("2 s", "1 s", "2x", **fields)})
    profile = Profile(make_ops({}), Workload(name="w", parameters=12345), None, "csv")
    (found,) = counts("t", said, {"A": profile})
    return found


@pytest.mark.parametrize(
    ("fields", "mark"),
    [
        ({"parameters": "12,345"}, "reproduced"),
        ({"parameters": "12,346"}, "cannot be told"),
        ({"parameters": "12,445", "untrained": 100}, "reproduced"),
        ({"parameters": 11 * 20 + 21 * 30, "parameters_of": [10, 20, 30]}, "wrong part"),
    ],
)
def test_a_printed_count_is_exact_or_that_of_a_part(fields: dict[str, object], mark: str) -> None:
    assert counted(**fields).mark == mark


@pytest.mark.parametrize("printed", ["849", "12,345"])
def test_a_part_that_has_not_the_printed_count_is_refused(printed: str) -> None:
    with pytest.raises(EstimatorError, match="10-20-30 alone, which have 850 of the model's 12,345"):
        counted(parameters=printed, parameters_of=[10, 20, 30])


def test_a_mean_that_no_rule_gives() -> None:
    (found,) = means("t", table(ALL, means=[{"new": "99x"}]))
    assert found.mark == "cannot be told"
    assert "fits none of those printed; nor is any other" in str(found.reason)
