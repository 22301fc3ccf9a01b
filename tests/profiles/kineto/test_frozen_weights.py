"""Weights that are not trained, by the gradients that a trace runs for the ops that take them."""

from pathlib import Path
from typing import Any

import pytest

from tests.profiles.kineto.events import Event, ends, event, op, places, read


def matrices(*sizes: tuple[int, int]) -> dict[str, Any]:
    return {"Input Dims": [[*size] for size in sizes], "Input type": ["float"] * len(sizes)}


ADAPTER = op("aten::mm", 0, 1, **matrices((4, 8), (8, 2)))
FROZEN: dict[str, Any] = {
    "Input Dims": [[6], [4, 2], [2, 6], [], []],
    "Input type": ["float", "float", "float", "Scalar", "Scalar"],
}
BASE = op("aten::addmm", 10, 2, **FROZEN)
OF_INPUT, OF_WEIGHTS = matrices((4, 6), (6, 2)), matrices((6, 4), (4, 2))


def backward(*products: dict[str, Any], **sizes: tuple[int, ...]) -> list[Event]:
    """Gradients of the two layers: of the second one these products alone."""
    actual = [event("autograd::engine::evaluate_function: AddmmBackward0", 60, 20, **{"Sequence number": 2})]
    actual += [event("aten::mm", 62 + 8 * place, 5, **product) for place, product in enumerate(products)]
    actual += [event("autograd::engine::evaluate_function: MmBackward0", 90, 10, **{"Sequence number": 1})]
    actual += [event("aten::mm", 92, 5, **matrices((8, 4), (4, 2))), ends(104, 8, 2)]
    return actual + [ends(110 + 5 * place, *size) for place, size in enumerate(sizes.values())]


@pytest.mark.parametrize(
    ("products", "handed", "frozen"),
    [
        ((OF_INPUT,), {}, 2 * 6),
        ((OF_INPUT, OF_WEIGHTS), {"weights": (6, 2)}, None),
        ((OF_WEIGHTS,), {"weights": (6, 2)}, None),
    ],
)
def test_a_product_whose_weights_get_no_gradient_keeps_nothing(
    tmp_path: Path, products: tuple[dict[str, Any], ...], handed: dict[str, tuple[int, ...]], frozen: int | None
) -> None:
    profile = read(tmp_path, ADAPTER, BASE, *backward(*products, **handed))
    assert places(profile) == {"aten::mm": "0", "aten::addmm": "1f" if frozen else "1"}
    assert profile.workload.frozen_parameters == frozen
    assert profile.workload.parameters == 8 * 2 + (6 * 2 if handed else 0)


def test_without_parameters_that_get_gradients_nothing_is_known(tmp_path: Path) -> None:
    sampled = [each for each in backward(OF_INPUT) if "Accumulate" not in each["name"]]
    profile = read(tmp_path, ADAPTER, BASE, *sampled)
    assert (profile.workload.frozen_parameters, places(profile)["aten::addmm"]) == (None, "1")
