import pytest

from estimator.studies.audit.means import check_means, column_means
from estimator.studies.audit.table import Table
from tests.studies.audit.tables import toy_row, toy_table

MEASURED = {"A": toy_row("2 s", "1 s", "2x"), "B": toy_row("8 s", "1 s", "8x")}
ALL = {**MEASURED, "C": toy_row("[20 s]", "1 s", "[20x]")}


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
def test_the_rule_of_a_mean_is_recognised(printed: str, rule: str) -> None:
    (checked,) = check_means("t", toy_table(ALL, means=[{"new": printed}]))
    assert checked.mark == "reproduced"
    assert checked.ours is not None
    assert checked.ours.formula == rule
    assert checked.ours.inputs == ("t/A/new/ratio/printed", "t/B/new/ratio/printed", "t/C/new/ratio/printed")


def test_a_mean_that_follows_another_rule_than_those_printed_with_it_cannot_be_told() -> None:
    columns = {name: {"devices": "new-device"} for name in ("old", "new", "second", "third")}
    rows = {
        name: {"profile": "p", "times": {**dict.fromkeys(columns, "1 s"), "old": time},
               "ratios": dict.fromkeys(("new", "second", "third"), ratio)}
        for name, time, ratio in (("A", "2 s", "2x"), ("B", "8 s", "8x"), ("C", "[20 s]", "[20x]"))
    }  # fmt: skip
    means = [{"new": "3.2x", "second": "5.0x", "third": "5x"}]
    table = {"title": "t", "source": "s", "baseline": "old", "columns": columns, "rows": rows, "means": means}
    mismatch, *matching = check_means("t", Table.model_validate(table))
    assert [checked.mark for checked in matching] == ["reproduced", "reproduced"]
    assert mismatch.mark == "cannot be told"
    assert "arithmetic mean of the 2 measured ratios is 5" in str(mismatch.reason)
    assert "fits the other means printed with it and not this one" in str(mismatch.reason)
    assert "harmonic mean of the 2 measured ratios, 3.2, would be" in str(mismatch.reason)


def test_a_mean_that_no_rule_gives_cannot_be_told() -> None:
    (checked,) = check_means("t", toy_table(ALL, means=[{"new": "99x"}]))
    assert checked.mark == "cannot be told"
    assert "fits none of those printed; nor is any other" in str(checked.reason)


def test_each_mean_is_taken_of_all_rows_and_of_the_measured() -> None:
    values = {rule: mean.value for rule, mean in column_means(toy_table(ALL), "new").items()}
    assert values == pytest.approx({
        "arithmetic mean of all": 10, "harmonic mean of all": 3 / (1 / 2 + 1 / 8 + 1 / 20),
        "geometric mean of all": 320 ** (1 / 3), "ratio of the total times of all": 30 / 3,
        "arithmetic mean of the measured": 5, "harmonic mean of the measured": 3.2,
        "geometric mean of the measured": 4, "ratio of the total times of the measured": 10 / 2,
    })  # fmt: skip
