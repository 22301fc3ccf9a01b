"""Ops along channels, in tables of ops and of measurements."""

import pandas as pd

from estimator.collect.measure import bench
from estimator.core.channels import ALONG, BIAS_GRAD, channel_kernels


def test_channels_alone_tell_of_an_op_along_them() -> None:
    rows = pd.DataFrame(
        [("elementwise", "Mul", 32, None), ("reduction", "Sum", 32, None), ("reduction", "BiasAddGrad", 32, None),
         ("elementwise", "Mul", None, None), ("elementwise", "Mul", 32, 8), ("pooling", "MaxPool", 32, None)],
        columns=["op_class", "op_type", "conv_c", "conv_n"],
    )  # fmt: skip
    found = ["bias_add", "channel_sum", "bias_grad", "", "", ""]
    assert channel_kernels(rows).tolist() == found
    kernel = pd.Series(["bias_add", "channel_sum", "bias_grad", "add", pd.NA, pd.NA])
    assert channel_kernels(rows.drop(columns="op_type").assign(kernel=kernel)).tolist() == found
    assert channel_kernels(rows.drop(columns="conv_c")).tolist() == [""] * 6


def test_their_kernels_are_measured() -> None:
    assert bench.ALONG == ALONG
    assert (*ALONG.values(), BIAS_GRAD) == bench.OF_CHANNELS
    assert {bench.KERNELS[kernel][0] for kernel in bench.SUMS} == {"reduction"}
    assert bench.KERNELS["bias_add"][0] == "elementwise"
