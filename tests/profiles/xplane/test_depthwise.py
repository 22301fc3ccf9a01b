"""Depthwise gradients that XLA computes for all pairs of channels."""

from typing import Any

import pytest

from estimator.profiles.xplane.depthwise import restore_groups
from estimator.profiles.xplane.flow import Flow
from tests.profiles.xplane.test_flow import calls, module

NAME = "jit(f)/transpose(jvp(Net))/conv_general_dilated"


def masked(*compared: str, sizes: tuple[int, ...] = (8, 3, 3, 8), groups: int = 1, opcode: str = "select") -> Any:
    """A convolution in a fusion, and a fusion that keeps some of its elements by a mask."""
    axes = {"output_batch_dimension": 0, "output_feature_dimension": 3}
    convolved = {"convolution_dimension_numbers": axes, "shape": {"dimensions": sizes}, "batch_group_count": groups}
    return module(
        entry=[
            (1, "parameter", [], "x"),
            (2, "fusion", [1], "", calls(2)),
            (3, "fusion", [2], "", calls(3)),
            (4, "reduce", [3, 3], NAME),
        ],
        convolves=[(11, "parameter", [], ""), (12, "convolution", [11, 11], "", convolved)],
        masks=[
            (21, compared[0], [], ""),
            (22, compared[1], [], ""),
            (23, "compare", [21, 22], ""),
            (24, "parameter", [], "", {"parameter_number": 0}),
            (25, "transpose", [24], ""),
            (26, opcode, [23, 25, 25], ""),
        ],
    )


def restored(program: Any) -> tuple[int, list[int], str]:
    restore_groups(Flow(program))
    convolution = program.computations[1].instructions[1]
    return convolution.batch_group_count, list(convolution.shape.dimensions), convolution.metadata.op_name


def test_pairs_of_equal_channels_are_groups() -> None:
    assert restored(masked("iota", "iota")) == (8, [1, 3, 3, 8], NAME)


@pytest.mark.parametrize(
    "program",
    [
        masked("iota", "parameter"),  # another mask
        masked("iota", "iota", opcode="add"),
        masked("iota", "iota", sizes=(4, 3, 3, 8)),
        masked("iota", "iota", sizes=(1, 3, 3, 1)),
    ],
)
def test_other_convolutions_stay(program: Any) -> None:
    sizes = list(program.computations[1].instructions[1].shape.dimensions)
    assert restored(program) == (1, sizes, "")


def test_groups_that_are_stated_stay() -> None:
    assert restored(masked("iota", "iota", groups=2))[0] == 2
