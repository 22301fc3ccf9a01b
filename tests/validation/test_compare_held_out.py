"""Two held-out tables are compared on the rows that both judge."""

from pathlib import Path

import pandas as pd
import pytest

from estimator.validation import scores
from tests import compare_held_out
from tests.validation.public import truth

SHAPE = {"m": 4096, "n": 4096, "k": 4096, "time_s": 1.0, "data_set": "a"}


def tables(folder: Path, factors: dict[str, float], pairs: dict[str, float]) -> Path:
    """Tables in a folder by which products on each device, and a model from the P4 to it, take so many times longer."""
    rows = truth(*({**SHAPE, "device": device} for device in factors)).assign(ours=list(factors.values()))
    runs = [{"problem": "whole", "source": "p4", "target": to, "model": "toy", "error": e} for to, e in pairs.items()]
    folder.mkdir()
    scores.held_out({"gemm": rows}, ["ours"]).to_csv(folder / "held_out.csv", index=False)
    pd.DataFrame(runs).to_csv(folder / "held_out_pairs.csv", index=False)
    return folder / "held_out.csv"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return tables(tmp_path / "old", {"p4": 1.10, "v100-sxm2-16gb": 1.20}, {"v100": -8.0})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("factors", "pairs", "worse"),
    [
        ({"p4": 1.104, "v100-sxm2-16gb": 1.20}, {"v100": -8.0}, "none"),
        ({"p4": 1.12, "v100-sxm2-16gb": 1.20}, {"v100": -8.0}, "gemm"),
        ({"p4": 1.10, "v100-sxm2-16gb": 0.80}, {"v100": 8.6}, "whole"),
        ({"p4": 1.10, "v100-sxm2-16gb": 1.20, "t4": 3.0}, {"v100": -8.0, "t4": 90.0}, "none"),
        ({"v100-sxm2-16gb": 1.20}, {"t4": 90.0}, "none"),
    ],
    ids=["a little worse", "products are worse", "whole models are worse", "others are judged too", "fewer are judged"],
)
def test_only_what_both_judge_counts(
    tmp_path: Path, old: Path, factors: dict[str, float], pairs: dict[str, float], worse: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    new = tables(tmp_path / "new", factors, pairs)
    assert compare_held_out.main(old, new, "ours", show_groups=True) == (worse != "none")
    assert capsys.readouterr().out.endswith(f"worse by more than 0.5: {worse}\n")


def test_devices_that_one_table_judges_are_shown_apart(
    tmp_path: Path, old: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = tables(tmp_path / "new", {"p4": 1.10, "t4": 3.0}, {"v100": -8.0, "t4": 90.0})
    compare_held_out.main(old, new, "ours", show_groups=False)
    both, *since = capsys.readouterr().out.split("Judged since")
    assert "200" not in both
    assert [("t4" in text, "v100" in text) for text in since] == [(True, False)] * 2
    assert ("200.0" in since[0], "90.0" in since[1]) == (True, True)
