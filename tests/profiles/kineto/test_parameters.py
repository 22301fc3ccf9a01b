"""Numbers of weights that are trained, and of those that are not."""

from pathlib import Path
from typing import Any

import pytest

from estimator.core.types import Workload
from tests.profiles.kineto.events import BACKWARD, FORWARD, MICRO_BATCHES, UPDATE, Event, ends, event, op, read, step
from tests.profiles.kineto.test_frozen_weights import ADAPTER, BASE, OF_INPUT, OF_WEIGHTS, backward, matrices


def test_gradients_count_the_parameters_once(tmp_path: Path) -> None:
    assert read(tmp_path, *FORWARD, *BACKWARD).workload.parameters == 64 + 64 + 8
    stated = Workload(name="toy", parameters=5)
    assert read(tmp_path, *FORWARD, *BACKWARD, workload=stated).workload.parameters == 5
    assert read(tmp_path, *FORWARD).workload.parameters is None
    assert read(tmp_path, *MICRO_BATCHES).workload.parameters == 64 + 64 + 8


def test_gradients_of_any_size_are_counted(tmp_path: Path) -> None:
    """10^12 × 10^12 numbers, more than a machine's whole numbers hold."""
    assert read(tmp_path, *FORWARD, *BACKWARD[:2], ends(72, 10**12, 10**12)).workload.parameters == pytest.approx(1e24)


def test_layers_that_autograd_does_not_track_are_not_trained(tmp_path: Path) -> None:
    """As a model whose last layers alone are trained: a table, and a convolution whose inner op has its number."""
    lookup: dict[str, Any] = {"Input Dims": [[90, 8], [4]], "Input type": ["float", "long"]}
    table = event("aten::embedding", -30, 5, **lookup)
    images: dict[str, Any] = {"Input Dims": [[1, 3, 9, 9], [5, 3, 2, 2]], "Input type": ["float", "float"]}
    frozen, trained = event("aten::convolution", -20, 5, **images), event("aten::convolution", -10, 8, **images)
    inner = op("aten::mkldnn_convolution", -9, 0, 6, **images)
    gradient = event("autograd::engine::evaluate_function: ConvolutionBackward0", 120, 9, **{"Sequence number": 0})
    layers = (table, frozen, trained, inner, ADAPTER, BASE)
    moved = [
        {**each, "ts": each["ts"] + 100} for each in (*layers, *backward(OF_INPUT), gradient, ends(131, 5, 3, 2, 2))
    ]
    assert read(tmp_path, *moved).workload.frozen_parameters == 90 * 8 + 5 * 3 * 2 * 2 + 2 * 6


@pytest.mark.parametrize(("indices", "trained"), [((2, 2), 8 * 2), ((4,), 8 * 2 + 4 * 8)])
def test_what_a_frozen_table_yields_is_no_parameter(tmp_path: Path, indices: tuple[int, ...], trained: int) -> None:
    """As PEFT has it, so that checkpoints have an input with a gradient: four vectors of 8 numbers, or a parameter."""
    lookup: dict[str, Any] = {"Input Dims": [[90, 8], [*indices]], "Input type": ["float", "long"]}
    table = event("aten::embedding", -30, 5, **lookup)
    profile = read(tmp_path, table, ADAPTER, BASE, *backward(OF_INPUT), ends(110, *indices, 8))
    assert profile.workload.parameters == trained
    assert profile.workload.frozen_parameters == 90 * 8 + 2 * 6


def narrow(each: Event) -> Event:
    types = ["c10::BFloat16" if name == "float" else name for name in each["args"].get("Input type", [])]
    return {**each, "args": {**each["args"], "Input type": types}}


def test_gradients_show_the_format_of_the_parameters(tmp_path: Path) -> None:
    assert read(tmp_path, *FORWARD, *BACKWARD).workload.parameter_precision == "fp32"
    narrow_pass = [narrow(each) if "args" in each else each for each in BACKWARD]
    assert read(tmp_path, *FORWARD, *narrow_pass).workload.parameter_precision == "bf16"
    master = read(tmp_path, *FORWARD, *narrow_pass, *UPDATE)  # the update has fp32 copies
    assert master.workload.parameter_precision == "fp32"
    products = [narrow(each) for each in UPDATE]  # as Muon's
    assert read(tmp_path, *FORWARD, *BACKWARD, *products).workload.parameter_precision == "fp32"
    stated = Workload(name="toy", parameter_precision="fp16")
    assert read(tmp_path, *FORWARD, *BACKWARD, workload=stated).workload.parameter_precision == "fp16"
    assert read(tmp_path, *FORWARD).workload.parameter_precision is None


def test_stated_numbers_stand(tmp_path: Path) -> None:
    stated = Workload(name="toy", frozen_parameters=5)
    assert read(tmp_path, ADAPTER, BASE, *backward(OF_INPUT), workload=stated).workload.frozen_parameters == 5


def test_weights_that_get_gradients_are_trained_though_autograd_numbers_nothing_of_theirs(tmp_path: Path) -> None:
    twice = op("aten::mm", 20, 2, **matrices((4, 6), (6, 7)))  # of one number the last op alone is tracked
    profile = read(tmp_path, ADAPTER, BASE, twice, *backward(OF_INPUT, OF_WEIGHTS, weights=(6, 2), second=(7, 6)))
    assert profile.workload.frozen_parameters is None


@pytest.mark.parametrize(("updated", "trained"), [((8, 8), 64 + 64), ((5, 5), 64 + 64 + 3 * 8)])
def test_an_input_with_a_gradient_is_no_parameter(tmp_path: Path, updated: tuple[int, int], trained: int) -> None:
    """As a gradient penalty has it: the update reads none of its size. An update that reads few sizes tells nothing."""
    sizes: dict[str, Any] = {"Input Dims": [[*updated], [*updated]], "Input type": ["float"] * 2}
    update = event("aten::add_", 92, 2, **sizes)
    weights = [ends(72 + 2 * place, 8, 8) for place in range(2)]
    profile = read(tmp_path, *FORWARD, *BACKWARD[:2], *weights, ends(80, 3, 8), UPDATE[0], update)
    assert profile.workload.parameters == trained


@pytest.mark.parametrize(
    ("validations", "frozen"), [((0, 1), 2 * 6), ((0, 2), 2 * 6), ((2, 2), 2 * 6), ((1, 1), 2 * (2 * 6) + 8 * 2)]
)
def test_evaluations_hold_no_weights_of_their_own(tmp_path: Path, validations: tuple[int, int], frozen: int) -> None:
    """One in each step is that of another model, such as the one that a policy is compared with."""
    events = []
    for number, count in enumerate(validations):
        again = [numbered(each, 20 * place + 120, None) for place in range(count) for each in (ADAPTER, BASE)]
        whole = [numbered(each, 0, 10 * number) for each in (ADAPTER, BASE, *backward(OF_INPUT))]
        events += [{**each, "ts": each["ts"] + 1000 * number} for each in (step(number, -5, 250), *whole, *again)]
    assert read(tmp_path, *events).workload.frozen_parameters == frozen


def numbered(each: Event, later: float, number: int | None) -> Event:
    """An event at a later time, its number of autograd's larger by a number; None takes it away."""
    args = {name: value for name, value in each["args"].items() if name != "Sequence number" or number is not None}
    if "Sequence number" in args:
        args["Sequence number"] += number
    return {**each, "ts": each["ts"] + later, "args": args}


def test_networks_that_take_turns_are_counted_once_each(tmp_path: Path) -> None:
    """As a generator, behind whose gradients those of its discriminator are handed over too."""
    first = [*FORWARD, *BACKWARD[:2], ends(72, 8, 8)]
    second = [{**each, "ts": each["ts"] + 200} for each in (*first, ends(80, 8, 5))]
    assert read(tmp_path, *first, *second).workload.parameters == 8 * 8 + 8 * 5


def test_a_product_inside_itself_takes_its_weights_once(tmp_path: Path) -> None:
    """As each transform of torch.func calls it again."""
    sizes: dict[str, Any] = {"Input Dims": [[4, 8], [8, 3]], "Input type": ["float", "float"]}
    calls = [event("aten::mm", -20 + n, 9 - 2 * n, **sizes) for n in range(3)]
    events = [{**each, "ts": each["ts"] + 100} for each in (*calls, ADAPTER, BASE, *backward(OF_INPUT))]
    assert read(tmp_path, *events).workload.frozen_parameters == 8 * 3 + 2 * 6
