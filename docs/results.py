"""Judge every problem anew, and keep what docs/accuracy.md shows beside the shipped table: python docs/results.py DATA

DATA is the folder of public data sets that ``estimator validate --data`` takes; it needs the extra ``fit`` and some
ten minutes. Writes ``results/validation.json`` beside this file: how many 90 % intervals hold the truth, by problem,
data set and device; the rows with the largest errors; and the notes on rows that were left out.
"""

from __future__ import annotations

import datetime
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from estimator.cli.documents import held_out_errors
from estimator.fitting import power
from estimator.fitting.fitted_model import fitted_side_by_side
from estimator.validation.validate import Validation, validate

if TYPE_CHECKING:
    import pandas as pd

KEPT = Path(__file__).parent / "results" / "validation.json"
TRUTHS = (("time_s", "low_s", "high_s"), ("measured", "low", "high"))  # columns of the truth and of its interval
WORST = 3  # rows of each problem


def main(data: Path) -> None:
    """Judge, and write the summary."""
    result = validate(data, fitted_side_by_side, fit_power=power.fit)
    KEPT.parent.mkdir(exist_ok=True)
    KEPT.write_text(json.dumps(summary(result, data), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def summary(result: Validation, data: Path) -> dict[str, Any]:
    """What the page shows of a validation."""
    worst = held_out_errors(result, data)["worst"]
    intervals = [row for problem, rows in result.judged.items() for row in coverage(problem, rows)]
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "intervals": intervals,
        "worst": {problem: rows[:WORST] for problem, rows in worst.items()},
        "notes": list(result.notes),
    }


def coverage(problem: str, rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """How many of the intervals hold the truth: of all rows, of each data set, of each device."""
    for truth, low, high in TRUTHS:
        if {truth, low, high} <= set(rows.columns):
            held = rows[truth].between(rows[low], rows[high])
            yield {"problem": problem, "rows": len(held), "held": int(held.sum())}
            for key in ("data_set", "target"):
                yield from _by(problem, key, held.groupby(rows[key].astype(str))) if key in rows else ()


def _by(problem: str, key: str, groups: Any) -> Iterator[dict[str, Any]]:
    if len(groups) > 1:
        for name, held in groups:
            yield {"problem": problem, key: name, "rows": len(held), "held": int(held.sum())}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
