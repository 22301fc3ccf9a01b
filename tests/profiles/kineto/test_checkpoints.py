"""Which ops of a trace are of a block that a checkpoint runs again in the backward pass."""

from pathlib import Path
from typing import Any

import pytest

from tests.profiles.kineto.events import MM, TENSOR, Event, ends, event, op, places, read

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
OF_WEIGHTS: dict[str, Any] = {"Input Dims": [[8, 4], [4, 8]], "Input type": ["float", "float"]}
END = (
    gradient("MmBackward0", 300, 12, 8), event("aten::mm", 302, 4, **MM), event("aten::mm", 307, 4, **OF_WEIGHTS),
    ends(312, 8, 8),
)  # fmt: skip


def numbered(*again: str) -> tuple[Event, ...]:
    """Two blocks; the last one runs again inside the gradient of its last op that keeps a tensor, ``aten::exp``."""
    first, second = block(20, 1, *BLOCK), block(60, 4, *BLOCK, "aten::neg")
    inside = [op("aten::clone", 321, IN_BACKWARD, 1), *block(323, IN_BACKWARD, *again, step=6)]  # of a random state
    return (HEAD, *first, *second, TAIL, *END, gradient("ExpBackward0", 320, 40, 6), *inside)


def inside_functions(*sizes: tuple[int, ...], argument: tuple[int, ...] = (4, 8)) -> tuple[Event, ...]:
    """One block that is a function, whose gradient runs it again and hands gradients of these sizes over."""
    function = {"Input Dims": [[], [*argument]], "Input type": ["", "float"]}
    first = [event(name, 21 + 10 * place, 5, **TENSOR) for place, name in enumerate(BLOCK)]
    outer = event(f"{FUNCTION}Backward", 321, 100, **TENSOR, **{"Sequence number": 1})
    again = block(322, IN_BACKWARD, *BLOCK, step=6)
    around = gradient(f"{FUNCTION}Backward", 320, 110, 1)
    handed = [ends(342 + 5 * place, *size) for place, size in enumerate(sizes)]
    return (HEAD, op(FUNCTION, 20, 1, 40, **function), *first, TAIL, *END, around, outer, *again, *handed)


@pytest.mark.parametrize("again", [BLOCK, (*BLOCK, "aten::neg")])  # where it ends early, and where it does not
def test_a_block_that_runs_again_has_the_numbers_of_its_first_run(tmp_path: Path, again: tuple[str, ...]) -> None:
    kept = places(read(tmp_path, *numbered(*again)))
    assert [kept[name] for name in BLOCK] == ["1;4@1", "2;5@1", "3;6@1"]
    assert (kept["aten::mm"], kept["aten::neg"]) == ("0;8", "7@1" if again != BLOCK else "7")


def test_ops_that_ran_for_the_first_time_in_a_gradient_are_no_block(tmp_path: Path) -> None:
    kept = places(read(tmp_path, *numbered("aten::sin", "aten::exp")))
    assert [kept[name] for name in BLOCK] == ["1;4", "2;5", "3;6"]


def test_a_function_whose_gradient_runs_it_again_is_a_block(tmp_path: Path) -> None:
    kept = places(read(tmp_path, *inside_functions((4, 8))))
    assert [kept[name] for name in BLOCK] == ["2@1", "3@1", "4@1"]
    assert "@" not in kept["aten::mm"]


def test_the_gradient_of_a_blocks_input_is_no_parameter(tmp_path: Path) -> None:
    assert read(tmp_path, *inside_functions((5,), (4, 8))).workload.parameters == 8 * 8 + 5


def test_a_weight_with_the_size_of_a_blocks_input_is_a_parameter(tmp_path: Path) -> None:
    assert read(tmp_path, *inside_functions((4, 8), (4, 8))).workload.parameters == 8 * 8 + 4 * 8


def test_the_first_blocks_input_is_no_parameter_where_it_has_a_gradient(tmp_path: Path) -> None:
    """As adapters need it, whose first layers are not trained."""
    inside = inside_functions((5,), (2, 4, 8), argument=(2, 4, 8))
    profile = read(tmp_path, *inside, ends(450, 2, 4, 8), ends(460, 3, 3, 3))
    assert profile.workload.parameters == 8 * 8 + 5 + 3 * 3 * 3


def test_a_block_may_end_with_a_function_of_its_own(tmp_path: Path) -> None:
    """As a linear layer with its own gradient, inside which the block runs again."""
    names = (*BLOCK[:2], "Linear")
    again = block(323, IN_BACKWARD, *names, step=6)
    events = (
        *block(60, 4, *names),
        TAIL,
        *END,
        gradient("LinearBackward", 320, 40, 6),
        op("LinearBackward", 321, 6, 38),
    )
    kept = places(read(tmp_path, HEAD, *events, *again))
    assert [kept[name] for name in names] == ["1@1", "2@1", "3@1"]


def test_a_block_inside_a_block_hands_no_parameter_over(tmp_path: Path) -> None:
    """The inner function runs in the outer one's second run for the first time with numbers."""
    sizes: dict[str, Any] = {"Input Dims": [[], [4, 8]], "Input type": ["", "float"]}
    number: dict[str, Any] = {"Sequence number": IN_BACKWARD}
    outer = [event(f"{FUNCTION}Backward", 321, 100, **TENSOR, **{"Sequence number": 1}), op("aten::cos", 322, 99, 2)]
    second = [event(FUNCTION, 326, 10, **sizes, **number), event("aten::tanh", 328, 5, **TENSOR)]
    inner = [event(f"{FUNCTION}Backward", 340, 30, **TENSOR, **number), op("aten::tanh", 342, 200, 5), ends(350, 6)]
    first = [op(FUNCTION, 20, 1, 40, **sizes), event("aten::cos", 22, 5, **TENSOR)]
    first += [event(FUNCTION, 30, 20, **sizes), event("aten::tanh", 35, 5, **TENSOR)]
    profile = read(tmp_path, HEAD, *first, TAIL, *END, *outer, *second, *inner, ends(355, 4, 8), ends(380, 4, 8))
    assert profile.workload.parameters == 8 * 8 + 6
