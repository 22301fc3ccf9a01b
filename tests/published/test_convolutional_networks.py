"""AlexNet and VGG-16 on Jetson TK1 and TX1, one image, against Tables 2 and 3 of Lu, Rallapalli, Chan and La Porta,
"Modeling the Resource Requirements of Convolutional Neural Networks on Mobile Devices" (ACM Multimedia 2017), GPU rows.
The catalogue has the boards' GPUs alone, so that the CPU rows are not predicted.

Their FLOP are multiply-adds, counted once, and one more for each bias. An overlapping pool counts each point of its
window, 1 M in AlexNet, where WORK has 0.5 M, each input once; of local response normalization nobody says what counts.

Timed one by one, layers add 0.2 ms (VGG on TX1) to 1.2 ms (AlexNet on TX1) each to the forward pass: that is most of
AlexNet's ReLU, POOL and LRN, and up to a half of VGG's ReLU, which are therefore judged by the passes alone. Against
what was published, what is predicted from specifications is

- convolution: 2.2 (TX1) to 2.9 × (TK1) too short for VGG, 3.7 to 5.9 × for AlexNet, where the timing of single layers
  is a fifth to a quarter of the time, and the published spread on TX1 a third. Caffe of the day lowers an image to a
  matrix for cuBLAS, in AlexNet one for each group; the model has the best algorithm of a library, here Winograd's.
- fully connected: 1.4 to 1.8 × too short, of which each layer's own timing is a part.
- VGG's pools: 1.2 × too long, as both GPUs have one or two units, which take each element by itself.
- forward pass: 1.8 to 2.3 × too short, mostly convolution.

The tolerances are those misses, rounded up.
"""

import numpy as np
import pandas as pd
import pytest

from tests.published.specifications import Ops, counted, limits, miss, predicted

CONVOLUTIONS = {  # input channels, input size, output channels, kernel, stride, padding, groups
    "AlexNet": (
        (3, 227, 96, 11, 4, 0, 1), (96, 27, 256, 5, 1, 2, 2), (256, 13, 384, 3, 1, 1, 1), (384, 13, 384, 3, 1, 1, 2),
        (384, 13, 256, 3, 1, 1, 2),
    ),
    "VGG-16": tuple((c, size, k, 3, 1, 1, 1) for c, size, k in (
        (3, 224, 64), (64, 224, 64), (64, 112, 128), (128, 112, 128), (128, 56, 256), (256, 56, 256), (256, 56, 256),
        (256, 28, 512), (512, 28, 512), (512, 28, 512), (512, 14, 512), (512, 14, 512), (512, 14, 512),
    )),
}  # fmt: skip
POOLS = {  # channels, input size, output size
    "AlexNet": ((96, 55, 27), (256, 27, 13), (256, 13, 6)),
    "VGG-16": ((64, 224, 112), (128, 112, 56), (256, 56, 28), (512, 28, 14), (512, 14, 7)),
}
NORMALIZED = {"AlexNet": ((96, 55), (256, 27)), "VGG-16": ()}  # channels, size
CONNECTED = {"AlexNet": 9216, "VGG-16": 25088}  # inputs of the first layer
MILLIONS: dict[str, dict[str, float]] = {  # of FLOP
    "AlexNet": {"CONV": 666, "ReLU": 0.7, "FC": 59},
    "VGG-16": {"CONV": 15360, "POOL": 6, "ReLU": 14, "FC": 124},
}
MILLISECONDS = {  # layer by layer, and of the forward pass
    ("AlexNet", "jetson-tk1"): {"CONV": 24.6, "POOL": 2.3, "LRN": 2.4, "ReLU": 5.2, "FC": 35.1, "pass": 54.7},
    ("AlexNet", "jetson-tx1"): {"CONV": 24.2, "POOL": 1.3, "LRN": 2.7, "ReLU": 5.9, "FC": 15.2, "pass": 29.3},
    ("VGG-16", "jetson-tk1"): {"CONV": 263.1, "POOL": 7.2, "ReLU": 17.5, "FC": 57.6, "pass": 326.7},
    ("VGG-16", "jetson-tx1"): {"CONV": 136.3, "POOL": 3.4, "ReLU": 9.9, "FC": 32.8, "pass": 175.3},
}
TOLERANCES = {
    "AlexNet": {"CONV": 5.9, "FC": 1.9, "pass": 2.3},
    "VGG-16": {"CONV": 2.9, "POOL": 1.3, "FC": 1.9, "pass": 2.3},
}


def network(name: str) -> Ops:
    """The layers, ``op`` their kind."""
    connected = ((CONNECTED[name], 4096), (4096, 4096), (4096, 1000))
    return [
        *(_convolution(*layer) for layer in CONVOLUTIONS[name]),
        *({"op": "ReLU", "op_type": "Relu", "shapes": str(size)} for size in (*_results(name), 4096, 4096)),
        *(
            {"op": "POOL", "op_type": "MaxPool", "shapes": f"1x{h}x{h}x{c}", "output_shapes": f"1x{p}x{p}x{c}"}
            for c, h, p in POOLS[name]
        ),
        *({"op": "LRN", "op_class": "normalization", "shapes": f"1x{h}x{h}x{c}"} for c, h in NORMALIZED[name]),
        *({"op": "FC", "op_type": "MatMul", "m": 1, "n": outputs, "k": inputs} for inputs, outputs in connected),
    ]


def _results(name: str) -> list[int]:
    """Elements that each convolution computes."""
    return [k * _output(size, *window) ** 2 for _, size, k, *window, _ in CONVOLUTIONS[name]]


def _output(size: int, kernel: int, stride: int, pad: int) -> int:
    return (size + 2 * pad - kernel) // stride + 1


def _convolution(c: int, size: int, k: int, kernel: int, stride: int, pad: int, groups: int) -> dict[str, object]:
    return {
        "op": "CONV", "op_class": "convolution", "conv_n": 1, "conv_c": c, "conv_h": size, "conv_w": size, "conv_k": k,
        "conv_r": kernel, "conv_s": kernel, "stride_h": stride, "stride_w": stride, "pad_h": pad, "pad_w": pad,
        "groups": groups,
    }  # fmt: skip


def milliseconds(name: str, device: str) -> pd.Series:
    """What is predicted of each kind of layer, and of the forward pass."""
    kinds = 1e3 * predicted(device, network(name)).groupby("op")["target_time_s"].sum()
    return pd.concat([kinds, pd.Series({"pass": kinds.sum()})])


@pytest.mark.parametrize("name", MILLIONS)
def test_multiply_adds_and_biases_are_the_published_flop(name: str) -> None:
    actual = counted(network(name)).groupby("op")["flop"].sum()
    biases = {"CONV": sum(_results(name)), "FC": 4096 + 4096 + 1000}
    for kind, millions in MILLIONS[name].items():
        flop = actual[kind] / 2 + biases[kind] if kind in biases else actual[kind]
        assert round(flop / 1e6, 1 if millions < 1 else None) == millions


@pytest.mark.parametrize(("name", "device"), MILLISECONDS)
def test_no_published_time_beats_the_hardware(name: str, device: str) -> None:
    ops = network(name)
    least = np.maximum(*limits(device, ops))
    kinds = pd.Series(1e3 * least).groupby([op["op"] for op in ops]).sum()
    assert all(MILLISECONDS[name, device][str(kind)] > time for kind, time in kinds.items())


@pytest.mark.parametrize(("name", "device"), MILLISECONDS)
def test_bandwidth_binds_what_is_not_convolved(name: str, device: str) -> None:
    actual = predicted(device, network(name))
    assert (actual["target_time_s"] > limits(device, network(name))[1]).all()
    assert (actual.loc[actual["op"].isin(["FC", "POOL", "LRN"]), "bound"] == "memory").all()


@pytest.mark.parametrize(("name", "device"), MILLISECONDS)
def test_times_are_near_the_published(name: str, device: str) -> None:
    actual = milliseconds(name, device)
    kinds = list(TOLERANCES[name])
    published = np.array([MILLISECONDS[name, device][kind] for kind in kinds])
    assert (miss(actual[kinds].to_numpy(), published) < list(TOLERANCES[name].values())).all()


@pytest.mark.parametrize(("name", "device"), MILLISECONDS)
def test_layers_that_hold_mostly_their_own_timing_are_predicted_shorter(name: str, device: str) -> None:
    actual = milliseconds(name, device)
    short = [kind for kind in MILLISECONDS[name, device] if kind not in TOLERANCES[name]]
    assert all(actual[kind] < MILLISECONDS[name, device][kind] for kind in short)
