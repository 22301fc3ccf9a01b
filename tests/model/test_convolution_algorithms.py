"""Each algorithm has a time where it suits, and none elsewhere; the least of them is no more than the first."""

from collections.abc import Mapping

import numpy as np
import pytest

from estimator.core.types import Floats
from estimator.model import convolution_algorithms
from estimator.model.coefficients import shipped
from estimator.model.convolution_algorithms import ALGORITHMS, Machine
from estimator.model.convolution_coefficients import Shares
from estimator.model.convolution_passes import conv_passes
from tests.model.convolution_rows import row

NAMES = ("implicit", "columns", "fused_winograd", "winograd", "fft")


def times(sizes: Mapping[str, object], *, tensor: bool = False, transforms: bool = True) -> dict[str, float]:
    """Time [s] of one convolution under each algorithm on a machine of 40 units."""
    rows = row(**sizes)
    flag = np.array([tensor])

    def each(value: float) -> Floats:
        return np.array([value])

    machine = Machine(each(15e12), flag, each(9e11), each(6e11), each(5e11), each(40.0), np.array([transforms]))
    passes = conv_passes(rows, flag)
    actual = [algorithm(passes, machine, shipped().convolution).item() for algorithm in ALGORITHMS]
    return dict(zip(NAMES, actual, strict=True))


@pytest.mark.parametrize(
    ("sizes", "suited"),
    [
        ({}, {"implicit", "fused_winograd", "winograd", "fft"}),
        ({"pass": "grad_input"}, {"implicit", "columns", "fused_winograd", "winograd", "fft"}),
        ({"conv_r": 5, "conv_s": 5}, {"implicit", "winograd", "fft"}),
        ({"conv_r": 7, "conv_s": 7}, {"implicit", "fft"}),
        ({"conv_r": 20, "conv_s": 20}, {"implicit"}),
        ({"conv_r": 1, "conv_s": 1, "pad_h": 0, "pad_w": 0}, {"implicit"}),
        ({"stride_h": 2, "stride_w": 2}, {"implicit"}),
    ],
)
def test_an_algorithm_has_a_time_only_where_it_suits(sizes: dict[str, object], suited: set[str]) -> None:
    assert suiting(times(sizes)) == suited


def test_tensor_units_have_no_fused_winograd_and_some_libraries_no_transforms() -> None:
    assert suiting(times({"precision": "fp16"}, tensor=True)) == {"implicit", "winograd", "fft"}
    assert suiting(times({}, transforms=False)) == {"implicit"}


def suiting(actual: dict[str, float]) -> set[str]:
    """The algorithms that have a time."""
    return {name for name, time in actual.items() if np.isfinite(time)}


def test_only_the_gradient_of_the_weights_is_split(monkeypatch: pytest.MonkeyPatch) -> None:
    """A deep sum of a small result leaves units idle unless it is split."""
    shape = {"conv_n": 256, "conv_c": 8, "conv_k": 8}

    def implicit(direction: str) -> float:
        return times({**shape, "pass": direction}, transforms=False)["implicit"]

    split = implicit("forward"), implicit("grad_weights")
    monkeypatch.setattr(convolution_algorithms, "SPLITS", (1,))
    assert implicit("forward") == split[0]
    assert implicit("grad_weights") > 2 * split[1]


def test_arithmetic_of_each_algorithm_by_hand() -> None:
    """On one unit that tiles cost nothing: products of 2, or 8 with complex numbers, FLOP at the peak, whatever the
    bandwidth that partial sums would take.
    """
    shares = {name: Shares(forward=1.0, weights=1.0) for name in ("implicit", "fused_winograd", "winograd", "fft")}
    overheads = dict.fromkeys(("half_tile", "start", "in_flight", "idle", "columns"), 0.0)
    free = shipped().convolution.model_copy(update={**shares, **overheads, "attained": 1.0})
    peak, no, fast, slow, one = np.array([1e12]), np.array([False]), np.array([1e30]), np.array([1.0]), np.array([1.0])
    machine = Machine(peak, no, slow, fast, fast, one, ~no)
    sizes = {"conv_n": 8, "conv_c": 64, "conv_k": 128, "conv_h": 32, "conv_w": 32}
    passes = conv_passes(row(**sizes), no)
    actual = [1e12 * algorithm(passes, machine, free).item() for algorithm in ALGORITHMS]
    channels = 64 * 128
    assert actual == pytest.approx(
        [
            2 * 8 * 32 * 32 * 9 * channels,
            np.inf,  # columns are of the gradient of the input
            2 * 16 * (8 * 16 * 16) * channels,  # tiles of 2x2 outputs
            2 * 36 * (8 * 8 * 8) * channels,  # and of 4x4
            8 * 32 * 17 * (8 * 2 * 2) * channels,  # and of 30x30
        ]
    )
