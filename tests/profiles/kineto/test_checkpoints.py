"""Which ops of a trace are of a block that a checkpoint runs again in the backward pass."""

from pathlib import Path

import pytest

from tests.profiles.kineto.events import Event, event, read
from tests.profiles.kineto.test_autograd import MM, TENSOR, ends, op, places

IN_BACKWARD = 100  # what autograd numbers begins again with another thread
FUNCTION = "CheckpointFunction"
BLOCK = ("aten::cos", "aten::tanh", "aten::exp")


def gradient(name: str, ts: float, dur: float, sequence: int) -> Event:
    return event(f"autograd::engine::evaluate_function: {name}", ts, dur, **{"Sequence number": sequence})


def block(ts: float, sequence: int, *names: str, step: float = 10) -> list[Event]:
    """The ops of a block, which autograd numbers from ``sequence`` on."""
    return [op(name, ts + place * step, sequence + place, step - 5) for place, name in enumerate(names)]


HEAD = op("aten::mm", 0, 0, **MM)
TAIL = op("aten::mm", 200, 8, **MM)
END = (gradient("MmBackward0", 300, 10, 8), event("aten::mm", 302, 5, **MM), ends(312, 8, 8))


def numbered(*again: str) -> tuple[Event, ...]:
    """Two blocks; the last one runs again inside the gradient of its last op that keeps a tensor, ``aten::exp``."""
    first, second = block(20, 1, *BLOCK), block(60, 4, *BLOCK, "aten::neg")
    inside = block(322, IN_BACKWARD, *again, step=6)
    return (HEAD, *first, *second, TAIL, *END, gradient("ExpBackward0", 320, 40, 6), *inside)


def inside_functions() -> tuple[Event, ...]:
    """One block that is a function, whose gradient runs it again and hands gradients to a parameter and its input."""
    function = {"Input Dims": [[], [4, 8]], "Input type": ["", "float"]}
    first = [event(name, 21 + 10 * place, 5, **TENSOR) for place, name in enumerate(BLOCK)]
    outer = event(f"{FUNCTION}Backward", 321, 100, **TENSOR, **{"Sequence number": 1})
    again = block(322, IN_BACKWARD, *BLOCK, step=6)
    around = gradient(f"{FUNCTION}Backward", 320, 110, 1)
    return (
        HEAD, op(FUNCTION, 20, 1, 40, **function), *first, TAIL, *END, around, outer, *again,
        gradient("torch::autograd::AccumulateGrad", 350, 8, 0), ends(352, 5),
        gradient("torch::autograd::AccumulateGrad", 360, 8, 0), ends(362, 4, 8),
    )  # fmt: skip


@pytest.mark.parametrize("again", [BLOCK, (*BLOCK, "aten::neg")])  # where it ends early, and where it does not
def test_a_block_that_runs_again_has_the_numbers_of_its_first_run(tmp_path: Path, again: tuple[str, ...]) -> None:
    kept = places(read(tmp_path, *numbered(*again)))
    assert [kept[name] for name in BLOCK] == ["1;4@1", "2;5@1", "3;6@1"]
    assert (kept["aten::mm"], kept["aten::neg"]) == ("0;8", "7@1" if again != BLOCK else "7")


def test_ops_that_ran_for_the_first_time_in_a_gradient_are_no_block(tmp_path: Path) -> None:
    kept = places(read(tmp_path, *numbered("aten::sin", "aten::exp")))
    assert [kept[name] for name in BLOCK] == ["1;4", "2;5", "3;6"]


def test_a_function_whose_gradient_runs_it_again_is_a_block(tmp_path: Path) -> None:
    kept = places(read(tmp_path, *inside_functions()))
    assert [kept[name] for name in BLOCK] == ["2@1", "3@1", "4@1"]
    assert "@" not in kept["aten::mm"]


def test_the_gradient_of_a_blocks_input_is_no_parameter(tmp_path: Path) -> None:
    assert read(tmp_path, *inside_functions()).workload.parameters == 8 * 8 + 5
