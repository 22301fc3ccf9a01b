"""Ops along channels, in tables of ops and of measurements."""

import pandas as pd

from estimator.core.channels import KERNELS, along_channels
from estimator.devices.measure import bench


def test_channels_alone_tell_of_an_op_along_them() -> None:
    rows = pd.DataFrame(
        [("elementwise", 32, None), ("reduction", 32, None), ("elementwise", None, None), ("elementwise", 32, 8),
         ("pooling", 32, None)],
        columns=["op_class", "conv_c", "conv_n"],
    )  # fmt: skip
    assert along_channels(rows).tolist() == [True, True, False, False, False]
    assert not along_channels(rows[["op_class"]]).any()


def test_their_kernels_are_measured() -> None:
    assert (*KERNELS.values(),) == bench.OF_CHANNELS
    assert [bench.KERNELS[kernel][0] for kernel in KERNELS.values()] == [*KERNELS]
