"""Self-tests that were run by hand, as ``estimator selftest --json`` printed them, and their residual spread.

Each file is named after the processor, the date and the number of the run.
"""

from __future__ import annotations

import json
from importlib.resources import files

import numpy as np
import pandas as pd

from estimator.core.interval import LEVEL, Z


def stored_rows() -> pd.DataFrame:
    """The rows of every run: judge.COLUMNS, ``processor`` and ``date``."""
    paths = sorted((path for path in files(__name__).iterdir() if path.name.endswith(".json")), key=lambda p: p.name)
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    columns = ("processor", "date")
    return pd.concat(
        [pd.DataFrame(document["rows"]).assign(**{name: document[name] for name in columns}) for document in documents],
        ignore_index=True,
    )


def residual_std(rows: pd.DataFrame) -> float:
    """The standard deviation of log times with which intervals would hold LEVEL of the rows.

    It is the difference between steps and their ops from setting to setting, with the machine's noise. Processors have
    the same weight, however many runs were made on each.
    """
    log_errors = np.abs(np.log(rows["predicted_s"] / rows["measured_s"])).sort_values()
    weights = 1.0 / rows.groupby("processor")["processor"].transform("size")[log_errors.index]
    cumulative = weights.cumsum() / weights.sum()
    return float(log_errors.iloc[int(np.searchsorted(cumulative, LEVEL))] / Z)
