"""Which ops of the planes of an XPlane dump count, and of which step."""

from pathlib import Path

import pytest

from tests.profiles.xplane.dumps import OPS, accelerators, event, read_bytes, space
from tests.profiles.xplane.plain_reader import field


def test_streams_of_a_gpu_count_but_derived_lines_do_not(tmp_path: Path) -> None:
    lines = {"Stream #1": [event(2, 0, 9), event(3, 5, 10)], "XLA Ops": [event(2, 0, 9)], "Steps": [event(4, 0, 99)]}
    assert read_bytes(accelerators(lines), tmp_path).ops["time_s"].sum() == pytest.approx(19e-12)  # streams overlap


def test_ops_of_other_accelerators_nest(tmp_path: Path) -> None:
    lines = {"XLA Ops": [event(2, 0, 100), event(3, 10, 30)], "XLA Modules": [event(4, 0, 100)]}
    times = read_bytes(accelerators(lines), tmp_path).ops.set_index("kernel")["time_s"]
    assert sorted(times) == pytest.approx([30e-12, 70e-12])


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize(("before", "behind"), [(True, False), (False, True), (True, True)])
def test_ops_of_the_host_outside_of_its_steps_are_left_out(
    before: bool, behind: bool, in_order: bool, tmp_path: Path
) -> None:
    steps = [event(1, 1000 + 100 * number, 90, field(1, 1) + field(4, number)) for number in range(2)]
    ops = [event(3, 1000, 50), event(3, 1095, 30)]  # the time between two marks is of the first
    events = [event(2, 0, 1000)] * before + [*steps, *ops] + [event(2, 1190, 9)] * behind
    profile = read_bytes(space([events if in_order else events[::-1]]), tmp_path)
    assert profile.ops[["op", "calls", "time_s"]].to_numpy().tolist() == [
        [OPS[1].split(":")[0], 1.0, pytest.approx(40e-12)]
    ]
    assert profile.wall_step_s == pytest.approx(95e-12)
    share = round(100 * (1000 * before + 9 * behind) / (1000 * before + 9 * behind + 80))
    assert f"{share} % of the ops' time lies outside the steps" in str(profile.warnings)


def test_runs_of_an_evaluation_behind_the_steps_are_left_out(tmp_path: Path) -> None:
    def run(program: int, number: int, start: int, duration: int) -> bytes:
        stats = ((1, number), (2, program))
        return event(program, start, duration, *(field(1, 3) + field(5, f"op.{program}"),), *(
            field(1, stat) + field(4, value) for stat, value in stats
        ))  # fmt: skip

    ran = [run(1, at, 100 * at, 80) for at in range(4)] + [run(2, at, 400 + 50 * at, 40) for at in range(3)]
    content = space([ran], ("train", "eval"), ("run_id", "program_id", "hlo_op"))
    profile = read_bytes(content.replace(field(3, 10**18 + 7), field(3, 10**18)), tmp_path)
    assert (profile.steps, profile.ops["op"].tolist(), profile.ops["calls"].tolist()) == (4, ["op.1"], [1.0])
    assert "3 runs of 1 other program(s) ran several in a row" in str(profile.warnings)
    assert "27 % of the ops' time lies outside the steps" in str(profile.warnings)


def test_ops_between_marks_of_another_name_are_of_no_step(tmp_path: Path) -> None:
    names = ("train", "eval", "a:Mul", "b:Sum")
    marks = [event(1, start, 100, field(1, 1) + field(4, start)) for start in (0, 100, 300)]
    marks.append(event(2, 200, 90, field(1, 1) + field(4, 0)))
    ops = [*(event(3, start, 30) for start in (0, 100, 300)), event(4, 210, 50)]
    profile = read_bytes(space([marks, ops], names).replace(field(3, 10**18 + 7), field(3, 10**18)), tmp_path)
    assert (profile.steps, profile.ops["op"].tolist()) == (3, ["a"])
    assert profile.wall_step_s == pytest.approx(100e-12)
    assert "the 3 of 'train', which last longest in all, count as steps, those of 'eval' do not" in str(
        profile.warnings
    )


def test_an_evaluation_between_steps_is_no_part_of_them(tmp_path: Path) -> None:
    names = ("EagerLocalExecute: __inference_train_1", "EagerLocalExecute: __inference_eval_2", "dense/MatMul:MatMul")
    trains, evals = (0, 100, 600), (300, 400)
    calls = [(1, 50, start) for start in trains] + [(2, 40, start) for start in evals]
    python = [event(number, 10**5 + start, length) for number, length, start in sorted(calls, key=lambda call: call[2])]
    runs = [event(3, 10**5 - 7000 + start + 10, 30) for start in sorted((*trains, *evals))]
    profile = read_bytes(space([python, runs], names), tmp_path)
    assert profile.steps == 3
    assert profile.wall_step_s == pytest.approx((100 + 50 + 50) * 1e-12 / 3)
    assert profile.ops["calls"].to_list() == [1]
    assert "2 calls of '__inference_eval_2' ran several in a row" in str(profile.warnings)
