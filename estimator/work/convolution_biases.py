"""Biases of convolutions that a processor's library adds inside, as kernels of their own: WORK → WORK."""

from __future__ import annotations

import numpy as np
import pandas as pd

from estimator.core import units
from estimator.core.attributes import has_attribute
from estimator.core.conv_shape import ConvShape
from estimator.core.notes import Note
from estimator.core.types import Floats, itemsizes
from estimator.work.added_kernels import append, kernels_of
from estimator.work.transformed import Transformed

BIAS = " (bias)"  # suffix of the op's name
HAS_BIAS, TRANSPOSED = "bias=1", "transposed=1"  # attributes
OPERATORS = {"forward": "add", "grad_weights": "sum"}  # of the bias, by the convolution's pass
OF_TRANSPOSED = {"grad_input": "forward", "grad_weights": "grad_weights"}  # WORK has the convolution that it mirrors
TENSORS = {"add": 2.0, "sum": 1.0}  # of the output's size that it reads and writes


def separate_biases(work: pd.DataFrame, *, separate: bool) -> Transformed:
    """WORK with a row for the bias of each convolution, and of each gradient of weights; WORK itself unless they are
    ``separate``.

    Forward the output is read and written again, backward its gradient is read again. They take no time on the source.
    """
    known = (work["op_class"] == "convolution") & work["conv_n"].notna()
    rows = known & has_attribute(work, HAS_BIAS)
    if not separate or (biases := _biases(work[rows])).empty:
        return Transformed(work, changed=False)
    text = (
        f"the biases of {len(biases)} convolutions and their gradients are separate kernels on the target: "
        f"{units.show(biases['bytes'].sum(), 'B', 4)} more traffic a step"
    )
    return Transformed(append(work, biases), changed=True, notes=(Note("biases-separate", text),))


def _biases(convolutions: pd.DataFrame) -> pd.DataFrame:
    mirrored = pd.Series(has_attribute(convolutions, TRANSPOSED), convolutions.index)
    step_pass = convolutions["pass"].where(~mirrored, convolutions["pass"].map(OF_TRANSPOSED))
    adds = step_pass.isin(OPERATORS)
    convolutions, operator, mirrored = convolutions[adds], step_pass[adds].map(OPERATORS), mirrored[adds]
    elements = convolutions["calls"].fillna(1.0) * _output_elements(convolutions, mirrored)
    bytes_ = operator.map(TENSORS).astype(float) * elements * itemsizes(convolutions["precision"])
    return kernels_of(convolutions, BIAS, operator, bytes=bytes_, flop=elements, intensity=elements / bytes_)


def _output_elements(convolutions: pd.DataFrame, mirrored: pd.Series) -> Floats:
    """Elements of each convolution's output: of a transposed one, the image of the one that it mirrors."""
    shape = ConvShape.from_table(convolutions)
    output, image = shape.k * shape.output.prod(axis=0), shape.c * shape.image.prod(axis=0)
    return np.asarray(shape.n * np.where(mirrored, image, output))
