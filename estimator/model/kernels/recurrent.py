"""The model of recurrent layers that one op runs."""

from __future__ import annotations

import numpy as np
import pandas as pd

from estimator.core import physics
from estimator.core.conv_shape import passes_of
from estimator.core.recurrent_shape import RecurrentShape
from estimator.core.schema import SHAPED_BY
from estimator.core.types import Floats, Names, itemsizes
from estimator.model import gemm
from estimator.model.calibration import OpFeatures
from estimator.model.kernels.kernel_model import (
    BusyTime,
    KernelInputs,
    KernelModel,
    by_prior,
    have_all,
    uncached_features,
)
from estimator.model.recurrent import Products, products_of, waiting_steps

KINDS = {"grad_input": 1, "backward": 1, "grad_weights": 2}  # else 0


def _recurrent_time(inputs: KernelInputs) -> BusyTime:
    """Busy time of recurrent layers: their products one after another, and the starts of their steps."""
    rows, hardware = inputs.rows, inputs.hardware
    shape, passes = RecurrentShape.from_table(rows), _passes(rows)
    compute, memory, time = (np.zeros(len(rows)) for _ in range(3))
    for products in products_of(shape, passes):
        each = _product_times(products, inputs)
        compute, memory = compute + products.count * each[0], memory + products.count * each[1]
        time = time + products.count * gemm.overlapped(*each)
    start = waiting_steps(shape, passes) * _start(inputs)
    flop, bytes_ = (passes_of(rows) * each for each in (shape.flop(), shape.bytes(itemsizes(rows["precision"]))))
    lower_bound = physics.ideal_time(flop, bytes_, hardware.peak, hardware.bandwidth)
    share = gemm.compute_share(compute, memory)
    total = start + time
    return BusyTime(total, start + compute + memory, lower_bound, share, np.ones(len(rows)), start / total)


def _start(inputs: KernelInputs) -> float:
    """What a step takes beside its product [s]: on an accelerator the starts of its kernels."""
    prior = inputs.coefficients.kernel_priors.recurrent
    return prior.processor_start_s if inputs.device.is_processor else prior.start_s


def _product_times(products: Products, inputs: KernelInputs) -> tuple[Floats, Floats]:
    """Compute and memory time [s] of one of each of these products."""
    itemsize = itemsizes(inputs.rows["precision"])
    shapes = gemm.ProductShapes(np.ones_like(products.m), products.m, products.n, products.k, itemsize)
    return gemm.product_times(shapes, inputs.hardware, inputs.coefficients.gemm)


def _passes(rows: pd.DataFrame) -> Names:
    """The pass of each row; forward where none is stated."""
    return np.asarray(rows["pass"].fillna("forward").to_numpy(dtype=object))


def _features(inputs: KernelInputs, busy: BusyTime) -> OpFeatures:
    """Features of recurrent layers: sizes in octaves, and the pass, which is the kind."""
    shape = RecurrentShape.from_table(inputs.rows)
    with_input = 1.0 + shape.input_width / shape.hidden
    octaves = np.log2([shape.gates, shape.hidden, with_input, shape.sequences, shape.timesteps])
    kind = np.array([KINDS.get(name, 0) for name in _passes(inputs.rows)])
    return uncached_features(np.column_stack([octaves.T, kind[:, None] == [1, 2]]), busy, kind)


RECURRENT = KernelModel(
    matches=lambda rows: have_all(rows, ["recurrent"], SHAPED_BY["recurrent"]),
    busy_time=_recurrent_time,
    features=_features,
    hyperparameters=by_prior(lambda priors: priors.recurrent),
)
