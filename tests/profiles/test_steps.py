import pandas as pd
import pytest

from estimator.profiles import steps


def test_means_and_spreads_over_steps() -> None:
    rows = pd.DataFrame(
        {
            "op": ["a", "a", "a", "b"],
            "shapes": [None, None, None, "2x2"],
            "step": [0, 1, 1, 1],
            "calls": [1, 1, 1, 1],
            "time_s": [2.0, 1.0, 3.0, 4.0],
        }
    )
    mean = steps.mean(rows, 2).set_index("op")
    assert list(mean["calls"]) == [1.5, 0.5]
    assert list(mean["time_s"]) == [3.0, 2.0]
    assert mean["time_spread_s"].to_numpy() == pytest.approx([2**0.5, 8**0.5])
    assert "time_spread_s" not in steps.mean(rows[rows["step"] == 0], 1)


def test_marked_steps_come_before_runs_and_the_longest_first() -> None:
    windows = steps.Windows()
    assert windows.find() == []
    windows.mark_run("step", 1, 50, 60)
    windows.mark_run("step", 0, 10, 20)
    windows.mark_run("step", 0, 5, 12)
    windows.mark_run("copy", 0, 0, 1)
    assert windows.find() == [(5, 20), (50, 60)]
    windows.mark("train", 4, 30)
    windows.mark("eval", 40, 45)
    assert windows.find() == [(4, 30)]
