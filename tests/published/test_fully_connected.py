"""Fully connected layers against EIE's Table IV, dense rows (Han et al., "EIE: Efficient Inference Engine on Compressed
Deep Neural Network", ISCA 2016; arXiv:1602.01528); sizes from its Table III.

The table's times at batch 64 are of one frame: as those of the batch they would beat the hardware. Multiplied by 64,
what is predicted from specifications misses at batch 1 / 64 by at most

- GTX Titan X: 1.6 × too short (small matrices; 1.03 × where they are large) / 2.3 × too short.
- Tegra K1: 1.7 × too short at batch 1, 1.0 × where matrices are large. Batch 64 is not judged: there a layer of
  4096 × 4096 takes longer (2.06 ms a frame) than one of 25088 × 4096 (2.00 ms), and one shape is printed twice 1.6 ×
  apart. No time that grows with the work is near: predictions are 1.5 to 14 × too short.
- Core i7-5930k: 5.1 × too short / 3.3 × too short. It draws 11 to 25 GB/s of 68 at batch 1, as one or two cores do, and
  a quarter to a third of the peak at batch 64; a device file cannot tell how many threads ran. One shape is printed
  twice 1.5 × apart.

The tolerances are those misses, rounded up.
"""

import numpy as np
import pytest

from estimator.core.types import Floats
from tests.published.specifications import Ops, limits, miss, predicted

LAYERS = {  # inputs, outputs
    "AlexNet FC6": (9216, 4096), "AlexNet FC7": (4096, 4096), "AlexNet FC8": (4096, 1000),
    "VGG-16 FC6": (25088, 4096), "VGG-16 FC7": (4096, 4096), "VGG-16 FC8": (4096, 1000),
    "NeuralTalk We": (4096, 600), "NeuralTalk Wd": (600, 8791), "NeuralTalk LSTM": (1201, 2400),
}  # fmt: skip
CPU, GPU, MOBILE = "core-i7-5930k", "titan-x-maxwell", "jetson-tk1"
MICROSECONDS = {  # of one frame, by device and batch, in the order of the layers
    (CPU, 1): (7516.2, 6187.1, 1134.9, 35022.8, 5372.8, 774.2, 605.0, 1361.4, 470.5),
    (CPU, 64): (318.4, 188.9, 45.8, 1056.0, 188.3, 45.7, 28.7, 69.0, 28.8),
    (GPU, 1): (541.5, 243.0, 80.5, 1467.8, 243.0, 80.5, 65, 90.1, 51.9),
    (GPU, 64): (19.8, 8.9, 5.9, 53.6, 8.9, 5.9, 3.2, 2.3, 2.5),
    (MOBILE, 1): (12437.2, 5765.0, 2252.1, 35427.0, 5544.3, 2243.1, 1316, 2565.5, 956.9),
    (MOBILE, 64): (1663.6, 2056.8, 298.0, 2001.4, 2050.7, 483.9, 87.8, 956.3, 95.2),
}
TOLERANCES = {(CPU, 1): 5.2, (CPU, 64): 3.3, (GPU, 1): 1.7, (GPU, 64): 2.3, (MOBILE, 1): 1.7}
LITTLE_MORE = 5.0  # times batch 1: published are 1.6 to 4.7, for 64 times the work


def published(device: str, batch: int) -> Floats:
    """Time of one call of each layer [s]."""
    return 1e-6 * batch * np.array(MICROSECONDS[device, batch])


def products(batch: int) -> Ops:
    return [
        {"op": name, "op_type": "MatMul", "m": batch, "n": outputs, "k": inputs}
        for name, (inputs, outputs) in LAYERS.items()
    ]


@pytest.mark.parametrize(("device", "batch"), MICROSECONDS)
def test_no_published_time_beats_the_hardware_unless_batches_are_frames(device: str, batch: int) -> None:
    least = np.maximum(*limits(device, products(batch)))
    assert (published(device, batch) > least).all()
    assert batch == 1 or (published(device, batch) / batch < least).all()


@pytest.mark.parametrize("device", [CPU, GPU, MOBILE])
def test_bandwidth_binds_one_frame(device: str) -> None:
    actual = predicted(device, products(1))
    assert set(actual["bound"]) == {"memory"}
    assert (actual["target_time_s"] > limits(device, products(1))[1]).all()


@pytest.mark.parametrize(("device", "batch"), TOLERANCES)
def test_times_are_near_the_published(device: str, batch: int) -> None:
    actual = predicted(device, products(batch))["target_time_s"].to_numpy()
    assert miss(actual, published(device, batch)).max() < TOLERANCES[device, batch]


def test_a_batch_of_64_costs_a_gpu_little_more_than_one_frame() -> None:
    one, many = (predicted(GPU, products(batch))["target_time_s"].to_numpy() for batch in (1, 64))
    for ratio in (many / one, published(GPU, 64) / published(GPU, 1)):
        assert (ratio > 1).all()
        assert (ratio < LITTLE_MORE).all()
