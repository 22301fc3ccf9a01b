"""ResNet's strided convolution in a trace that states no strides: its gradients tell the size of its output."""

from pathlib import Path
from typing import Any

import pytest

from estimator.core.types import Workload
from estimator.work import count_work
from tests.profiles.kineto.events import event, kernel, launch, read

IMAGE, WEIGHT, OUTPUT = [32, 3, 224, 224], [64, 3, 7, 7], [32, 64, 112, 112]
FLOP = 2 * 32 * 64 * 112 * 112 * 3 * 49
OTHERS: list[Any] = [[]] * 5


def dims(*tensors: Any) -> dict[str, Any]:
    return {"Input dims": [*tensors, *OTHERS]}


@pytest.mark.parametrize("nested", [False, True])
def test_a_convolution_and_its_gradients_share_their_dimensions(nested: bool, tmp_path: Path) -> None:
    events = [
        event("aten::cudnn_convolution", 0, 10, **dims(IMAGE, WEIGHT)),
        event("aten::cudnn_convolution_backward", 100, 100, **dims(IMAGE, OUTPUT, WEIGHT)),
        event("aten::cudnn_convolution_backward_input", 110, 20, **dims([], OUTPUT, WEIGHT)),
        event("aten::cudnn_convolution_backward_weight", 150, 20, **dims([], OUTPUT, IMAGE)),
    ]
    if nested:  # as the profiler of 2020 has them
        events += [{**each, "ts": each["ts"] + 1, "dur": each["dur"] - 2} for each in events if each["name"][-1] != "d"]
    launched = [launch(ts, ts) for ts in (5, 120, 160)]
    kernels = [
        kernel(name, 300 + 10 * i, 9, ts) for i, (name, ts) in enumerate((("fprop", 5), ("dgrad", 120), ("wgrad", 160)))
    ]
    profile = read(tmp_path, *events, *launched, *kernels)
    work = count_work(profile.ops, Workload(name="toy")).work.set_index("pass")
    assert work["flop"].to_dict() == dict.fromkeys(("forward", "grad_input", "grad_weights"), FLOP)
    assert work["stride_h"].tolist() == [2, 2, 2]
    assert work["pad_h"].tolist() == [2, 2, 2]  # of (2, 3), the side before


def test_several_outputs_of_one_image_and_weight_tell_nothing(tmp_path: Path) -> None:
    profile = read(
        tmp_path,
        event("aten::cudnn_convolution", 0, 10, **dims(IMAGE, WEIGHT)),
        event("aten::cudnn_convolution_backward", 20, 10, **dims(IMAGE, OUTPUT, WEIGHT)),
        event("aten::cudnn_convolution_backward", 40, 10, **dims(IMAGE, [32, 64, 224, 224], WEIGHT)),
    )
    forward = profile.ops[profile.ops["op"] == "aten::cudnn_convolution"]
    assert forward["output_shapes"].isna().all()


@pytest.mark.parametrize(
    ("next_op", "read_first", "flop"),
    [
        ("aten::batch_norm", OUTPUT, FLOP),
        ("aten::cat", [OUTPUT, OUTPUT], FLOP),
        ("aten::conv2d", IMAGE, 0),
        ("aten::relu", [32, 64, 999, 999], 0),
        ("aten::linear", [32, 64], 0),
    ],
)
def test_in_inference_the_next_op_reads_the_output(next_op: str, read_first: Any, flop: float, tmp_path: Path) -> None:
    events = [
        event("aten::conv2d", 0, 20, **dims(IMAGE, WEIGHT, [])),
        event("aten::cudnn_convolution", 2, 10, **dims(IMAGE, WEIGHT)),
        event("aten::reshape", 13, 5, **dims([64])),
        event(next_op, 20, 5, **dims(read_first)),
    ]
    profile = read(tmp_path, *events, launch(5, 1), kernel("fprop", 100, 9, 1))
    assert count_work(profile.ops, Workload(name="toy")).work["flop"].sum() == flop


def test_sizes_alone_tell_transposed_convolutions(tmp_path: Path) -> None:
    """As in U-Nets before PyTorch 2.0, whose traces say nothing of strides."""
    small, large = [8, 64, 16, 16], [8, 32, 32, 32]
    events = [
        event("aten::convolution_backward", 0, 9, **dims(large, small, [64, 32, 2, 2])),
        event("aten::convolution_backward", 10, 9, **dims([8, 64, 32, 32], small, [64, 64, 2, 2])),
        event("aten::convolution_backward", 20, 9, **dims(small, small, [64, 64, 3, 3])),
    ]
    launches = [launch(ts, ts) for ts in (1, 2, 11, 12, 21, 22)]
    kernels = [kernel("dgrad" if ts % 2 else "wgrad", 100 + 10 * ts, 9, ts) for ts in (1, 2, 11, 12, 21, 22)]
    work = count_work(read(tmp_path, *events, *launches, *kernels).ops, Workload(name="toy")).work
    flop = [2 * 8 * 16 * 16 * 64 * window for window in (32 * 4, 64 * 4, 64 * 9)]
    assert work.groupby("shapes", sort=False)["flop"].sum().tolist() == [2 * each for each in flop]
    assert work["stride_h"].tolist() == [2, 2, 2, 2, 1, 1]


def test_the_next_op_reads_the_output_of_a_convolution_of_one_axis_that_runs_as_one_of_two(tmp_path: Path) -> None:
    events = [
        event("aten::conv1d", 0, 20, **dims([2, 4, 20], [8, 4, 5], [])),
        event("aten::cudnn_convolution", 2, 10, **dims([2, 4, 1, 20], [8, 4, 1, 5])),
        event("aten::squeeze", 13, 5, **dims([2, 8, 1, 20])),
    ]
    profile = read(tmp_path, *events, launch(5, 1), kernel("fprop", 100, 9, 1))
    assert count_work(profile.ops, Workload(name="toy")).work["flop"].sum() == 2 * 2 * 8 * 20 * 4 * 5
