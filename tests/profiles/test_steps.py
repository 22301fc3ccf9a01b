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
    assert windows.find().tolist() == []
    windows.mark_run("step", 1, 50, 60)
    windows.mark_run("step", 0, 10, 20)
    windows.mark_run("step", 0, 5, 12)
    windows.mark_run("copy", 0, 0, 1)
    assert windows.find().tolist() == [[5, 50], [50, 60]]  # up to the next one
    windows.mark("train", 4, 30)
    windows.mark("eval", 40, 45)
    assert windows.find().tolist() == [[4, 30]]


def test_a_step_lasts_up_to_the_next_mark_of_any_name() -> None:
    windows = steps.Windows()
    for start in (0, 10, 40):
        windows.mark("train", start, start + 8)
    windows.mark("eval", 20, 25)
    windows.mark("inner", 2, 5)
    assert windows.find().tolist() == [[0, 10], [10, 20], [40, 48]]
    assert windows.counted().tolist() == windows.find().tolist()


def test_of_marks_inside_others_the_outer_ones_are_the_steps() -> None:
    windows = steps.Windows()
    for start in range(0, 40, 10):
        windows.mark("micro", start, start + 9)
    for start in (0, 20):
        windows.mark("train", start, start + 20)
    assert windows.find().tolist() == [[0, 20], [20, 40]]
    assert list(windows.warnings()) == [
        "marks have several names: the 2 of 'train', which last longest in all, count as steps, those of 'micro' do "
        f"not: {steps.STATE_STEPS}"
    ]


@pytest.mark.parametrize(
    ("runs", "completed"),
    [
        ([(1, 50), (50, 90)], [50, 90]),
        ([(1, 20), (20, 50), (50, 70), (70, 90)], [50, 90]),  # two a step
        ([(-5, 1), (1, 50), (50, 90)], [50, 90]),  # the first was called before
        ([(1, 50), (50, 70), (70, 90)], None),
        ([(1, 5), (6, 19)], None),  # the second one began before its step
        ([(1, 9), (11, 19)], None),  # the host waited
        ([], None),
    ],
)
def test_runs_are_of_the_marks_that_called_them(runs: list[tuple[int, int]], completed: list[int] | None) -> None:
    windows = steps.Windows()
    for number, run in enumerate(runs):
        windows.mark_run("step", number, *run)
    for start in (0, 10):
        windows.mark("train", start, start + 10)
    ends = windows.completed()
    assert (None if ends is None else ends.tolist()) == completed
    assert windows.counted().tolist() == ([[0, 90]] if completed else [[0, 10], [10, 20]])


def test_calls_of_the_longest_function_stand_for_steps_where_nothing_else_does() -> None:
    windows = steps.Windows()
    for start in (0, 10, 20):
        windows.mark_call("train", start, start + 5)
    windows.mark_call("prepare", 6, 9)
    assert windows.find().tolist() == [[0, 10], [10, 20], [20, 25]]
    assert "call of the function that took longest counts as a step, 3 in all" in str([*windows.warnings()])
    windows.mark_run("step", 0, 0, 30)
    assert windows.find().tolist() == [[0, 30]]


def test_calls_in_a_row_between_those_of_steps_are_no_part_of_them() -> None:
    windows = steps.Windows()
    for start in (0, 10, 50, 60):
        windows.mark_call("train", start, start + 5)
    for start in (22, 26, 30):
        windows.mark_call("eval", start, start + 2)
    assert windows.find().tolist() == [[0, 10], [10, 15], [50, 60], [60, 65]]
    assert list(windows.left_out()) == ["eval"]
    assert steps.LEFT_OUT.format(count=3, what="calls", names="'eval'") in list(windows.warnings())
    windows.mark("step", 0, 65)
    assert not windows.left_out()


def test_runs_of_another_program_in_a_row_are_no_part_of_the_steps() -> None:
    windows = steps.Windows()
    for number, start in enumerate((0, 10, 20)):
        windows.mark_run("step", number, start, start + 8)
        windows.mark_run("metrics", number, start + 8, start + 9)  # of each step
    for number, start in enumerate((40, 43, 46)):
        windows.mark_run("eval", number, start, start + 3)
    assert windows.find().tolist() == [[0, 10], [10, 20], [20, 28]]
    assert [*windows.left_out()] == ["eval"]
    assert steps.LEFT_OUT.format(count=3, what="runs", names="1 other program(s)") in list(windows.warnings())


@pytest.mark.parametrize("starts", [(6, 16, 56), (6, 7, 16, 17, 56, 57), (6, 7, 56, 57), (16,), (16, 66), ()])
def test_calls_of_each_step_or_once_in_several_are_part_of_the_steps(starts: tuple[int, ...]) -> None:
    windows = steps.Windows()
    for start in (0, 10, 50, 60):
        windows.mark_call("train", start, start + 5)
    for start in starts:
        windows.mark_call("update", start, start + 1)
    assert windows.find().tolist() == [[0, 10], [10, 50], [50, 60], [60, 65]]


def test_what_is_not_known_of_the_steps_is_noted() -> None:
    windows = steps.Windows()
    assert list(windows.warnings()) == [steps.NO_STEPS]
    windows.mark_run("step", 0, 0, 10)
    assert "run of the program that ran longest counts as a step, 1 in all" in str([*windows.warnings()])
    windows.mark("train", 0, 10)
    assert list(windows.warnings()) == []
