"""Biases of convolutions that a processor's library adds inside, as kernels of their own: WORK → WORK."""

from __future__ import annotations

import numpy as np
import pandas as pd

from estimator.core import units
from estimator.core.conv_shape import ConvShape
from estimator.core.notes import Note
from estimator.core.operators import class_of
from estimator.core.schema import WORK
from estimator.core.types import Floats, itemsizes
from estimator.work.transformed import Transformed

BIAS = " (bias)"  # suffix of the op's name
MATRIX_ONLY = {"tf32": "fp32"}  # tensors in memory are fp32
HAS_BIAS = "(?:^|;)bias=1(?:;|$)"  # attribute
OPERATORS = {"forward": "add", "grad_weights": "sum"}  # of the bias, by the convolution's pass
TENSORS = {"forward": 2.0, "grad_weights": 1.0}  # of the output's size that it reads and writes
KEPT = ["placement", "stream", "rank", "phase", "precision", "calls"]  # of the convolution, for its bias


def separate_biases(work: pd.DataFrame, *, separate: bool) -> Transformed:
    """WORK with a row for the bias of each convolution, and of each gradient of weights; WORK itself unless they are
    ``separate``.

    Forward the output is read and written again, backward its gradient is read again. They take no time on the source.
    """
    biased = work["attributes"].str.contains(HAS_BIAS, na=False) & work["pass"].isin(OPERATORS)
    rows = biased & (work["op_class"] == "convolution") & work["conv_n"].notna()
    if not separate or not rows.any():
        return Transformed(work, changed=False)
    biases = _biases(work[rows])
    text = (
        f"the biases of {len(biases)} convolutions and their gradients are kernels of their own on the target: "
        f"{units.show(biases['bytes'].sum(), 'B', 4)} of traffic more a step"
    )
    out = WORK.conform(pd.concat([work, biases], ignore_index=True), "biases")
    return Transformed(out, changed=True, notes=(Note("biases-separate", text),))


def _biases(convolutions: pd.DataFrame) -> pd.DataFrame:
    operator = convolutions["pass"].map(OPERATORS)
    elements = convolutions["calls"].fillna(1.0) * _output_elements(convolutions)
    bytes_ = convolutions["pass"].map(TENSORS) * elements * itemsizes(convolutions["precision"])
    return convolutions[KEPT].assign(
        precision=convolutions["precision"].replace(MATRIX_ONLY),
        op=convolutions["op"] + BIAS,
        op_type=operator,
        operator=operator,
        op_class=operator.map(class_of),
        bytes=bytes_,
        flop=elements,
        intensity=elements / bytes_,
        time_s=0.0,
        work_source="shapes",
    )


def _output_elements(convolutions: pd.DataFrame) -> Floats:
    shape = ConvShape.from_table(convolutions)
    return np.asarray(shape.n * shape.k * shape.output.prod(axis=0))
