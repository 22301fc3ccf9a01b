"""Ops along channels, in tables of ops and of measurements."""

import pandas as pd

from estimator.core.channels import KERNELS, STANDS_FOR, along_channels
from estimator.devices.measure import bench


def test_channels_alone_tell_of_an_op_along_them() -> None:
    rows = pd.DataFrame(
        [("elementwise", "Mul", 32, None), ("reduction", "Sum", 32, None), ("reduction", "BiasAddGrad", 32, None),
         ("elementwise", "Mul", None, None), ("elementwise", "Mul", 32, 8), ("pooling", "MaxPool", 32, None)],
        columns=["op_class", "op_type", "conv_c", "conv_n"],
    )  # fmt: skip
    found = ["bias_add", "channel_sum", "bias_grad", "", "", ""]
    assert along_channels(rows).tolist() == found
    kernel = pd.Series(["bias_add", "channel_sum", "bias_grad", "add", pd.NA, pd.NA])
    assert along_channels(rows.drop(columns="op_type").assign(kernel=kernel)).tolist() == found
    assert along_channels(rows.drop(columns="conv_c")).tolist() == [""] * 6


def test_their_kernels_are_measured() -> None:
    assert KERNELS == bench.OF_CHANNELS
    assert STANDS_FOR == bench.ALONG
    sums = dict.fromkeys(("channel_sum", "bias_grad"), "reduction")
    assert {kernel: bench.KERNELS[kernel][0] for kernel in KERNELS} == {"bias_add": "elementwise", **sums}
