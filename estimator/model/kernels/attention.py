"""The model of fused attention: two products whose matrix of scores stays on the chip, and a softmax between them.

t = start + ((W / (share · P))³ + (Q / B)³)^(1/3), with the FLOP W and traffic Q of one call, the peak P that products
sustain and the bandwidth B that plain streams attain. ``share``: softmax and its exponentials keep the matrix units
waiting. ``start``: a block goes over all keys before it writes its result, so that the shortest calls take
microseconds.
"""

from __future__ import annotations

import numpy as np

from estimator.core import physics
from estimator.model import gemm
from estimator.model.calibration import OpFeatures
from estimator.model.kernels.kernel_model import (
    BusyTime,
    KernelInputs,
    KernelModel,
    amounts_per_call,
    by_prior,
    have_all,
    uncached_features,
)


def _attention_time(inputs: KernelInputs) -> BusyTime:
    hardware, coefficients = inputs.hardware, inputs.coefficients
    prior = coefficients.kernel_priors.attention
    flop, bytes_ = amounts_per_call(inputs.rows)
    compute = flop / (prior.share * coefficients.gemm.sustained.peak(hardware))
    memory = bytes_ / hardware.attained_bandwidth(coefficients.memory_bound.streaming)
    time = prior.start_s + gemm.overlapped(compute, memory)
    lower_bound = physics.ideal_time(flop, bytes_, hardware.peak, hardware.bandwidth)
    share = gemm.compute_share(compute, memory)
    return BusyTime(time, prior.start_s + compute + memory, lower_bound, share, np.ones_like(flop))


def _attention_features(inputs: KernelInputs, busy: BusyTime) -> OpFeatures:
    """Features are FLOP and bytes in octaves; the backward pass is a kind of its own."""
    octaves = np.log2(np.maximum(np.stack(amounts_per_call(inputs.rows), axis=1), 1.0))
    backward = inputs.rows["operator"].eq("attention_grad").fillna(False).to_numpy(dtype=int)
    return uncached_features(octaves, busy, backward)


ATTENTION = KernelModel(
    matches=lambda rows: have_all(rows, ["attention"], ("flop", "bytes")),
    busy_time=_attention_time,
    features=_attention_features,
    hyperparameters=by_prior(lambda priors: priors.attention),
)
