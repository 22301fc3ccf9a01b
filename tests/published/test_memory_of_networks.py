"""What an A100 held while it trained networks of timm (GPUMemNet), from traces of a processor."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from estimator.validation.peak_memory import MIB
from tests.conftest import ROOT
from tests.memory_of_networks import judged, summary, usable

TRACES = ROOT / "tests" / "data" / "timm_traces"
FARTHEST_MEDIAN, FEWEST_HOLD = 0.15, 0.85
HELD_MIB = {"steady": [2000, 2300, 2900, 4100, 6500], "full": [2000, 12000, 22000, 30000, 38000],
            "shrinks": [2000, 3000, 2500, 2600, 2700]}  # fmt: skip


@pytest.mark.slow
def test_networks_of_timm(public_data: Callable[[str], Path]) -> None:
    rows = judged(TRACES, pd.read_csv(public_data("data/memory/gpumemnet_timm.csv.gz")))
    print(summary(rows))
    assert (rows["mid"] / rows["held"] - 1.0).abs().median() < FARTHEST_MEDIAN
    assert rows["held"].between(rows["low"], rows["high"]).mean() > FEWEST_HOLD


@pytest.mark.parametrize(("model", "expected"), [("steady", 5), ("full", 2), ("shrinks", 2)])
def test_rows_count_up_to_the_end_of_memory(model: str, expected: int) -> None:
    table = pd.DataFrame({"model": model, "batch": [8, 16, 32, 64, 128], "max_mem_mib": HELD_MIB[model]})
    rows = usable(table.sample(frac=1.0, random_state=0))
    assert rows["batch"].tolist() == table["batch"].tolist()[:expected]
    assert rows["held"].tolist() == [held * MIB for held in HELD_MIB[model][:expected]]
