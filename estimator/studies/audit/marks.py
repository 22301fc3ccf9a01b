"""Mark printed numbers by declared rules, and check stated marks against the numbers."""

from __future__ import annotations

from estimator.core.errors import EstimatorError
from estimator.studies.audit.printed import Printed
from estimator.studies.audit.table import Row, Rules, Statement
from estimator.studies.audit.types import Mark

SLACK = 1 + 1e-9  # rounding of floats


def agreement(printed: Printed, ours: float, tolerance: float = 0.0) -> Mark:
    """'reproduced' within half the last digit or the share ``tolerance``, 'rounding' within the whole digit."""
    difference = abs(ours - printed.value)
    if difference <= max(printed.digit / 2, tolerance * printed.value) * SLACK:
        return "reproduced"
    return "rounding" if difference <= printed.digit * SLACK else "cannot be told"


def agrees(printed: Printed, ours: float) -> bool:
    """Whether a number equals the printed one within its last digit."""
    return agreement(printed, ours) != "cannot be told"


def mark_time(row: Row, column: str, ours: float | None, rules: Rules) -> Mark:
    """Mark a printed time by the predicted one [s].

    Raises EstimatorError where a stated mark contradicts the numbers.
    """
    printed, stated = row.times[column], statements(row, column)
    mark: Mark = "cannot be told" if ours is None else agreement(printed, ours, rules.reproduced)
    slow = ours is not None and is_slow(printed, ours, rules)
    if mark == "cannot be told" and slow and _waits_for_data(row.busy.get(column), stated, rules):
        mark = "data-bound"
    for entry in stated:
        if entry.mark not in (None, mark):
            raise EstimatorError(
                f"{column} is stated to be '{entry.mark}', but the numbers make it '{mark}': "
                f"{_describe(row, column, ours)}; mend the mark or its numbers"
            )
    return mark


def statements(row: Row, column: str) -> list[Statement]:
    """The study file's statements on a column's time."""
    return [entry for entry in row.stated if column in entry.of]


def is_slow(printed: Printed, ours: float, rules: Rules) -> bool:
    """Whether a measured time is so much longer than predicted that its kernels cannot explain it."""
    return not printed.estimated and printed.value >= rules.data_bound * ours


def _waits_for_data(busy: float | None, statements: list[Statement], rules: Rules) -> bool:
    """Whether the device waits for data: by its busy share, or where unknown by a stated mark."""
    if busy is not None:
        return busy <= rules.busy
    return any(entry.mark == "data-bound" for entry in statements)


def _describe(row: Row, column: str, ours: float | None) -> str:
    printed, busy = row.times[column], row.busy.get(column)
    predicted = (
        "nothing is predicted" if ours is None else f"{printed.value / ours:.3g} times the predicted {ours:.3g} s"
    )
    busy_text = "" if busy is None else f", the device busy for {100 * busy:g} % of the time"
    return f"printed {printed.text}, {predicted}{busy_text}"


def meanings(rules: Rules) -> dict[Mark, str]:
    """The meaning of each mark, with its rule."""
    return {
        "reproduced": "a count equals that of the model; a ratio or mean follows from what it is made of, within half "
        f"its last digit; a time is predicted within {100 * rules.reproduced:g} % of it, or half its last digit",
        "rounding": "within one last digit: cut off rather than rounded, or printed too coarsely to tell more",
        "data-bound": f"the printed time is at least {rules.data_bound:g} times the predicted, and the device is said "
        f"to be busy for at most {100 * rules.busy:g} % of it, or to wait for data; and a ratio with such a time",
        "wrong precision": "a ratio of peaks that two different precisions give, and the runs' own does not",
        "wrong part": "a count of a part of the model, printed for the whole",
        "cannot be told": "none of these: the reason says how far the numbers lead",
    }
