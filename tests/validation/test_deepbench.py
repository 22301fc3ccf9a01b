"""The shipped DeepBench tables are the published figures, all of them, where those are at hand."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from estimator.core import csv_files, library
from estimator.core.schema import MEASUREMENTS

DEVICES = {
    "NV_TitanX": "titan-x-maxwell", "NV_M40": "m40-12gb", "NV_TitanX_Pascal": "titan-x-pascal",
    "NV_1080Ti": "gtx-1080-ti", "NV_P100": "p100-pcie-16gb", "NV_V100": "v100-sxm2-16gb", "IA_KNL7250": "xeon-phi-7250",
}  # fmt: skip
PRECISIONS = {
    "Float": "fp32",
    "16 bit inputs, 32 bit multiplication, 32 bit addition": "fp16",
    "16 bit inputs, 16 bit multiplication, 32 bit addition": "fp16",
    "GEMM, Conv: Int8 multiplication, 32 bit accumulation": "int8",
}
WORDS = {
    "fwd": "forward", "bwd_inputs": "grad_input", "bwd_params": "grad_weights", "bwd": "backward", "N": "n", "T": "t"
}  # fmt: skip
TABLES = {  # op class → the published table, and what its columns are called
    "gemm": ("gemm", {"m": "m", "n": "n", "k": "k", "a_t": "trans_a", "b_t": "trans_b"}),
    "convolution": ("conv", {**{x: f"conv_{x}" for x in "nchwkrs"}, "pad_h": "pad_h", "pad_w": "pad_w",
                             "stride_h": "stride_h", "stride_w": "stride_w", "op": "pass"}),
    "recurrent": ("rnn", {"cell": "cell", "hidden": "hidden", "n": "sequences", "timesteps": "timesteps",
                          "op": "pass"}),
    "collective": ("allreduce", {"algorithm": "kernel", "n_devices": "ranks", "n_floats": "bytes"}),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("op_class", TABLES)
@pytest.mark.parametrize("device", DEVICES)
def test_every_published_row_is_shipped(public_data: Callable[[str], Path], device: str, op_class: str) -> None:
    name, columns = TABLES[op_class]
    theirs = pd.read_csv(public_data(f"data/deepbench/{name}.csv")).query("device == @device")
    if op_class == "recurrent":
        theirs = theirs[theirs["mode"] == "train"]  # the inference sheet does not say the precision of these
    if op_class == "collective":
        theirs = theirs.assign(precision="Float", n_floats=4 * theirs["n_floats"])
    path = library.names("devices", "measurements/*.csv")[DEVICES[device]]
    ours = MEASUREMENTS.conform(csv_files.read_csv(path), "shipped").query("op_class == @op_class")
    theirs = theirs.assign(precision=theirs["precision"].map(PRECISIONS))
    shipped = _rows(ours, ["precision", *columns.values()], ours["time_s"])
    published = _rows(theirs, ["precision", *columns], 1e-3 * theirs["time_ms"])
    assert [shape for shape, _ in shipped] == [shape for shape, _ in published]
    assert [time for _, time in shipped] == pytest.approx([time for _, time in published], rel=1e-6)


def _rows(frame: pd.DataFrame, columns: list[str], time_s: pd.Series) -> list[tuple[tuple[str, ...], float]]:
    """Shape and time of each row, sorted: shapes that were measured twice stay twice."""
    shapes = (tuple(map(_text, row)) for row in frame[columns].itertuples(index=False))
    return sorted(zip(shapes, time_s, strict=True))


def _text(value: object) -> str:
    return WORDS.get(value, value) if isinstance(value, str) else f"{float(str(value)):g}"
