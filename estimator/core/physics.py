"""Formulas shared by several stages, for numbers or arrays in SI units. A multiply-add is 2 FLOP.

Sources: Williams, Waterman & Patterson, "Roofline", CACM 52(4), 2009; Dumoulin & Visin, "A guide to convolution
arithmetic for deep learning", arXiv:1603.07285.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from estimator.core.types import Floats


def _array(value: object) -> Floats:
    return np.asarray(value, dtype=float)


def ratio(numerator: Floats, denominator: Floats, otherwise: float = 1.0) -> Floats:
    """The quotient; ``otherwise`` where the denominator is 0 or unknown."""
    out = np.full(np.broadcast_shapes(numerator.shape, denominator.shape), otherwise)
    return np.asarray(np.divide(numerator, denominator, out=out, where=denominator > 0))


def gemm_flop(batch: ArrayLike, m: ArrayLike, n: ArrayLike, k: ArrayLike) -> Floats:
    """FLOP of ``batch`` products C[m,n] += A[m,k]·B[k,n]: 2·batch·m·n·k."""
    return _array(2.0 * np.asarray(batch) * np.asarray(m) * np.asarray(n) * np.asarray(k))


def gemm_bytes(batch: ArrayLike, m: ArrayLike, n: ArrayLike, k: ArrayLike, itemsize: ArrayLike) -> Floats:
    """Compulsory traffic [B] of ``batch`` products: A and B read once, C written once."""
    m, n, k = np.asarray(m, float), np.asarray(n, float), np.asarray(k, float)
    return _array(np.asarray(batch) * np.asarray(itemsize) * (m * k + k * n + m * n))


def conv_output(
    size: ArrayLike, kernel: ArrayLike, stride: ArrayLike = 1, pad: ArrayLike = 0, dilation: ArrayLike = 1,
    stated: ArrayLike = np.nan,
) -> Floats:  # fmt: skip
    """Output size of a convolution along one axis: as ``stated``; where that is NaN, by Dumoulin & Visin,
    floor((size + 2·pad − dilation·(kernel − 1) − 1) / stride) + 1.
    """
    extent = np.asarray(dilation, float) * (np.asarray(kernel) - 1) + 1
    derived = np.floor((np.asarray(size) + 2 * np.asarray(pad, float) - extent) / np.asarray(stride)) + 1
    return _array(np.where(np.isnan(stated), derived, stated))


def conv_flop(
    n: ArrayLike, c: ArrayLike, k: ArrayLike, p: ArrayLike, q: ArrayLike, r: ArrayLike, s: ArrayLike,
    groups: ArrayLike = 1,
) -> Floats:  # fmt: skip
    """Direct FLOP of one convolution: 2·n·k·p·q·(c/groups)·r·s, the same for forward and both backward passes.

    n images, c input and k output channels, p×q output points, r×s kernel; in 3D p and r hold the depth as a factor.
    Products with padding count, as in frameworks; XLA's own count omits them.
    """
    points = np.asarray(n, float) * np.asarray(k) * np.asarray(p) * np.asarray(q)
    return _array(2.0 * points * np.asarray(c) / np.asarray(groups) * np.asarray(r) * np.asarray(s))


def conv_bytes(
    n: ArrayLike, c: ArrayLike, h: ArrayLike, w: ArrayLike, k: ArrayLike, p: ArrayLike, q: ArrayLike,
    r: ArrayLike, s: ArrayLike, itemsize: ArrayLike, groups: ArrayLike = 1,
) -> Floats:  # fmt: skip
    """Compulsory traffic [B] of one convolution pass: input, weights and output once each (3D as in conv_flop)."""
    image = np.asarray(n, float) * np.asarray(c) * np.asarray(h) * np.asarray(w)
    weights = np.asarray(k, float) * np.asarray(c) / np.asarray(groups) * np.asarray(r) * np.asarray(s)
    output = np.asarray(n, float) * np.asarray(k) * np.asarray(p) * np.asarray(q)
    return _array(np.asarray(itemsize) * (image + weights + output))


def streaming_bytes(elements: ArrayLike, reads: ArrayLike, writes: ArrayLike, itemsize: ArrayLike) -> Floats:
    """Traffic [B] of an op that passes ``reads`` + ``writes`` times over ``elements`` elements."""
    return _array(np.asarray(elements, float) * (np.asarray(reads) + np.asarray(writes)) * np.asarray(itemsize))


def ideal_time(flop: ArrayLike, bytes_: ArrayLike, peak: ArrayLike, bandwidth: ArrayLike) -> Floats:
    """Roofline time [s]: max(W/P, Q/B), the least that peak P [FLOP/s] and bandwidth B [B/s] allow (Williams 2009)."""
    return _array(np.maximum(np.asarray(flop) / np.asarray(peak), np.asarray(bytes_) / np.asarray(bandwidth)))


def attainable(intensity: ArrayLike, peak: ArrayLike, bandwidth: ArrayLike) -> Floats:
    """Attainable rate [FLOP/s] at an intensity [FLOP/B]: min(P, I·B) (Williams 2009)."""
    return _array(np.minimum(np.asarray(peak, float), np.asarray(intensity) * np.asarray(bandwidth)))
