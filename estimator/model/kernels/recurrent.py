"""The model of recurrent layers that one op runs."""

from __future__ import annotations

import numpy as np

from estimator.core import physics
from estimator.core.passes import pass_names
from estimator.core.recurrent_shape import RecurrentShape, amounts_of
from estimator.core.schema import SHAPED_BY
from estimator.core.types import Floats, itemsizes
from estimator.model import gemm
from estimator.model.calibration import OpFeatures
from estimator.model.kernels.kernel_model import (
    BusyTime,
    KernelInputs,
    KernelModel,
    by_prior,
    have_all,
    pass_kinds,
    uncached_features,
)
from estimator.model.recurrent import Products, products_of, waiting_steps


def _recurrent_time(inputs: KernelInputs) -> BusyTime:
    """Busy time of recurrent layers: their products one after another, and the starts of their steps."""
    rows, hardware = inputs.rows, inputs.hardware
    shape, passes = RecurrentShape.from_table(rows), pass_names(rows)
    compute, memory, time = (np.zeros(len(rows)) for _ in range(3))
    for products in products_of(shape, passes):
        each = _product_times(products, inputs)
        compute, memory = compute + products.count * each[0], memory + products.count * each[1]
        time = time + products.count * gemm.overlapped(*each)
    start = waiting_steps(shape, passes) * _start(inputs)
    lower_bound = physics.ideal_time(*amounts_of(rows), hardware.peak, hardware.bandwidth)
    share = gemm.compute_share(compute, memory)
    total = start + time
    return BusyTime(total, start + compute + memory, lower_bound, share, np.ones(len(rows)), start / total)


def _start(inputs: KernelInputs) -> float:
    """What a step adds to its product [s]: on an accelerator the starts of its kernels."""
    prior = inputs.coefficients.kernel_priors.recurrent
    return prior.processor_start_s if inputs.device.is_processor else prior.start_s


def _product_times(products: Products, inputs: KernelInputs) -> tuple[Floats, Floats]:
    """Compute and memory time [s] of one of each of these products."""
    itemsize = itemsizes(inputs.rows["precision"])
    shapes = gemm.ProductShapes(np.ones_like(products.m), products.m, products.n, products.k, itemsize)
    return gemm.product_times(shapes, inputs.hardware, inputs.coefficients.gemm)


def _features(inputs: KernelInputs, busy: BusyTime) -> OpFeatures:
    """Features of recurrent layers: sizes in octaves, and the pass, which is the kind."""
    shape = RecurrentShape.from_table(inputs.rows)
    with_input = 1.0 + shape.input_width / shape.hidden
    octaves = np.log2([shape.gates, shape.hidden, with_input, shape.sequences, shape.timesteps])
    kind = pass_kinds(inputs.rows)
    return uncached_features(np.column_stack([octaves.T, kind[:, None] == [1, 2]]), busy, kind)


RECURRENT = KernelModel(
    matches=lambda rows: have_all(rows, ["recurrent"], SHAPED_BY["recurrent"]),
    busy_time=_recurrent_time,
    features=_features,
    hyperparameters=by_prior(lambda priors: priors.recurrent),
)
