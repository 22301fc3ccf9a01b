"""The errors that the shipped fit carries: against the targets that were set, and judged anew for one family."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from estimator.truth import ours, protocol, scores, validate
from estimator.truth.data import read_truth

TABLE = validate.shipped().held_out
OVERALL = TABLE[(TABLE["data_set"] == "") & (TABLE["family"] == "")]
