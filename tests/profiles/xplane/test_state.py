"""What a step keeps, by the arrays that its program takes and gives."""

import pytest

from estimator.profiles.xplane.state import Array, State, kept_state

KERNEL, BIAS, BATCH = ("fp32", (8, 4)), ("fp32", (4,)), ("fp32", (16, 8))
TABLE: Array = ("bf16", (9, 8))
STATISTICS = ("fp32", (8,))


@pytest.mark.parametrize(
    ("kept", "state"),
    [
        ([KERNEL, BIAS], State(36, 1)),  # gradient descent
        ([KERNEL, BIAS] * 2, State(72, 2)),  # with momentum
        ([KERNEL, BIAS, STATISTICS, KERNEL, BIAS, KERNEL, BIAS], State(116, 3)),  # Adam, and a normalization
        ([KERNEL] * 6 + [TABLE] * 3, State(408, 3)),  # two layers of one size
        ([KERNEL] * 6, State(192, 3)),
        ([KERNEL] * 8, State(256, 2)),
        ([KERNEL] * 7, State(224, 1)),
        ([BIAS] * 2, State(8, 2)),
        ([], None),
    ],
)
def test_weights_and_states_are_arrays_that_come_back(kept: list[Array], state: State | None) -> None:
    assert kept_state([*kept, BATCH], [("fp32", (16, 10)), *reversed(kept)]) == state


def test_parameters_are_the_weights_alone() -> None:
    assert State(90, 3).parameters == 30
