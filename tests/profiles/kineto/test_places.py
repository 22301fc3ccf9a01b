"""Places of calls in a step, and the pass that they are of."""

from pathlib import Path
from typing import Any

from tests.profiles.kineto.events import BACKWARD, FORWARD, MICRO_BATCHES, op, places, read


def test_a_gradient_inside_of_the_forward_pass_is_no_pass_of_its_own(tmp_path: Path) -> None:
    """As of forces, which are the gradient of an energy."""
    forces = [{**each, "ts": each["ts"] - 200} for each in (*FORWARD, *BACKWARD[:2])]
    loss = op("aten::exp", 5, 20)
    profile = read(tmp_path, *forces, *FORWARD[1:], loss, *BACKWARD)
    assert profile.workload.parameters == 64 + 64 + 8
    assert {"aten::mm", "aten::exp"} <= set(places(profile))


def test_of_several_passes_that_of_most_elements_has_places(tmp_path: Path) -> None:
    large: dict[str, Any] = {"Input Dims": [[400, 8]], "Input type": ["float"]}
    profile = read(tmp_path, *MICRO_BATCHES, op("aten::exp", 240, 13, **large), *(op("aten::sin", 41, 12),))
    assert places(profile) == {"aten::mm": "0;2", "aten::tanh": "1", "aten::exp": "3"}
    assert profile.workload.gradients_in_forward  # those of the first micro-batch
    assert not read(tmp_path, *FORWARD, *BACKWARD).workload.gradients_in_forward
