"""Backward passes of a trace, by the parameters that their gradients are handed over to."""

from pathlib import Path

import pytest

from tests.profiles.kineto.events import FORWARD, ends, op, read, step


@pytest.mark.parametrize(("numbers", "passes"), [((7, 9), 2), ((9, 7), 1)])
def test_backward_passes_may_follow_each_other(tmp_path: Path, numbers: tuple[int, int], passes: int) -> None:
    """As in a stage of a pipeline: autograd's numbers rise from pass to pass, and fall from layer to layer."""
    first, second = (op("MmBackward0", ts, number) for ts, number in zip((60, 80), numbers, strict=True))
    handed = ends(70, 8, 8), ends(72, 8), ends(90, 8, 8), ends(92, 8)
    profile = read(tmp_path, *FORWARD, first, second, *handed)
    assert profile.workload.parameters == 2 * (64 + 8) / passes


def test_without_products_a_step_is_a_pass(tmp_path: Path) -> None:
    """As in compiled code, whose products are kernels without ops."""
    events = [op("CompiledFunction", 0, 1), ends(10, 8, 8), ends(15, 8)]
    steps = [{**each, "ts": each["ts"] + 100 * n} for n in range(3) for each in (step(n, -5, 50), *events)]
    assert read(tmp_path, *steps).workload.parameters == 64 + 8
