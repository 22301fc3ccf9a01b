"""Self-tests that were run by hand, as ``estimator selftest --json`` printed them, and what they say of the model.

Each file is named after the processor, the date and the number of the run.
"""

from __future__ import annotations

import json
from importlib.resources import files

import numpy as np
import pandas as pd

from estimator.core.interval import LEVEL, Z


def kept() -> pd.DataFrame:
    """The rows of every run, as judge.COLUMNS has them, and its ``processor`` and ``date``."""
    found = sorted((path for path in files(__name__).iterdir() if path.name.endswith(".json")), key=lambda p: p.name)
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in found]
    about = ("processor", "date")
    return pd.concat([pd.DataFrame(d["rows"]).assign(**{k: d[k] for k in about}) for d in documents], ignore_index=True)


def spread(rows: pd.DataFrame) -> float:
    """The standard deviation (logarithm) with which intervals would hold LEVEL of the rows: by how much steps make
    something else of ops in one setting than in another, the machine's own noise with it.

    Processors count alike, however many runs were made on each: the next one is as likely to be like either.
    """
    missed = np.abs(np.log(rows["predicted_s"] / rows["measured_s"])).sort_values()
    weights = 1.0 / rows.groupby("processor")["processor"].transform("size")[missed.index]
    within = weights.cumsum() / weights.sum()
    return float(missed.iloc[int(np.searchsorted(within, LEVEL))] / Z)
