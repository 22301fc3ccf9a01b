"""Time of convolutions: of the algorithms that a library may choose, the one that takes least.

convolution_algorithms.py has the algorithms; coefficients/convolution.yaml their numbers, fitted by
estimator/fitting/convolution.py; convolution_shapes.csv beside it what the model misses on shapes that were measured,
of all devices in common, told apart by the kernels that a library has for them. Shapes like those are missed alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import as_file, files
from typing import NamedTuple

import numpy as np
import pandas as pd
from pydantic import Field

from estimator.core import csv_files
from estimator.core.conv_shape import ConvShape
from estimator.core.types import DeviceSpec, File, Flags, Floats, itemsizes
from estimator.model.calibration import AT_ONCE, Likeness, Ops, covariance
from estimator.model.convolution_algorithms import ALGORITHMS, Convolutions, Machine
from estimator.model.hardware import VECTOR_LOAD, Hardware, number

PASSES = ("forward", "grad_input", "grad_weights")
LANES = 128  # fp32 lanes that count as one unit: those of an SM of Maxwell, on whose tiles the kernels are built
TYPICAL_CLOCK = 1.4e9  # [Hz] where a device file gives none
TYPICAL_UNITS = 32  # where it gives no fp32 peak


class Shares(File):
    """Share of the sustained peak at which an algorithm's products run, beside what tiles cost."""

    forward: float = Field(gt=0, le=1.5, description="forward, and the gradient of the input")
    weights: float = Field(gt=0, le=1.5, description="the gradient of the weights")


class Published(NamedTuple):
    """A shape that was measured: columns of MEASUREMENTS, and what the devices that measured it have in common."""

    made: str  # pass
    path: str
    transforms: bool  # whether the devices' libraries have Winograd's and FFT kernels
    precision: str
    conv_n: int
    conv_c: int
    conv_h: int
    conv_w: int
    conv_k: int
    conv_r: int
    conv_s: int
    stride_h: int
    stride_w: int
    pad_h: int
    pad_w: int
    log_residual: float  # mean over families of the logarithm of measured over modelled time, less each device's own
    families: int


class Convolution(File):
    """The coefficients, in text."""

    source: str
    implicit: Shares
    fused_winograd: Shares
    winograd: Shares
    fft: Shares
    streaming: float = Field(gt=0, le=1, description="share of the bandwidth that operands are gathered at")
    staging: float = Field(gt=0, le=1, description="share of it at which transforms move")
    half_tile: float = Field(ge=0, description="extra time of a tile, in that of its loads: (1/m + 1/n)·64 of it")
    start: float = Field(ge=0, description="what starting a tile costs [steps of k]")
    in_flight: float = Field(ge=0, description="tiles that 128 lanes need in flight")
    idle: float = Field(ge=0, description="power of the stride that a strided gradient of the input wastes")
    columns: float = Field(ge=0, description="passes over the columns of col2im, of one write and one read")
    partial_sums: float = Field(ge=0, description="passes over the partial sums, of one write and one read")
    attained: float = Field(gt=0, le=1, description="share of the sustained peak that no product exceeds")
    likeness: Likeness
    published: tuple[Published, ...] | None = None  # those that are shipped where nothing is said


@dataclass(frozen=True)
class Library:
    """What a device's library works with."""

    lanes: Floats  # fp32 multiply-adds in one cycle
    transforms: Flags  # whether it has Winograd's and FFT kernels


def library_of(device: DeviceSpec) -> Library:
    """The library of a device, as far as its file tells. Those of processors made of cores convolve directly."""
    peak, clock = number(device.peak_of("fp32").vector), number(device.boost_clock or device.base_clock)
    lanes = peak / (2.0 * (TYPICAL_CLOCK if np.isnan(clock) else clock))
    known = float(TYPICAL_UNITS * LANES) if np.isnan(lanes) else lanes
    return Library(np.array([known]), np.array([device.compute_unit != "core"]))


def convolutions(rows: pd.DataFrame, tensor: Flags) -> Convolutions:
    """The convolutions of rows of WORK or TRUTH; forward where the pass is not told, one gradient of ``backward``: the
    input's. On tensor units channels are padded to whole vector loads.
    """
    shape, itemsize = ConvShape.from_table(rows), itemsizes(rows["precision"])
    whole = np.where(tensor, VECTOR_LOAD / itemsize, 1.0)
    c, k = (np.ceil(channels / shape.groups / whole) * whole for channels in (shape.c, shape.k))
    (d, h, w), (t, r, s), (z, p, q) = shape.image, shape.window, shape.output
    stride = shape.stride.prod(axis=0)
    by_ones = (stride == 1) & (shape.dilation[1:].prod(axis=0) == 1) & (d * t == 1)
    made = rows["pass"].astype(object).fillna("forward").replace("backward", "grad_input")
    return Convolutions(
        made=made.to_numpy(dtype=str), n=shape.n, c=c, k=k, groups=shape.groups, image=h * w * d, p=p * z, q=q,
        window=r * s * t,
        side=np.where(by_ones & (r == s), r, 0.0), stride=stride, itemsize=itemsize,
    )  # fmt: skip


def convolution_times(of: Convolutions, on: Hardware, peak: Floats, library: Library, c: Convolution) -> Floats:
    """Time [s] of one call of each convolution without its launch, under the algorithm that takes least.

    ``peak`` [FLOP/s] that is sustained, at most the quoted one.
    """
    each = np.ones_like(of.n)
    gathering = on.attained(c.streaming) * each
    staging = np.minimum(gathering * c.staging / c.streaming, on.bandwidth)
    units, transforms = library.lanes / LANES * each, library.transforms & (each > 0)
    machine = Machine(peak * each, on.tensor, on.bandwidth * each, gathering, staging, units, transforms)
    return np.asarray(np.min([algorithm(of, machine, c) for algorithm in ALGORITHMS], axis=0))


def may_transform(of: Convolutions, library: Library) -> Flags:
    """Whether there may be an algorithm of less arithmetic than the direct one."""
    return library.transforms & (of.side > 1)


def alike(of: Convolutions, tensor: Flags, transforms: Flags) -> Ops:
    """Convolutions by what makes them alike: sizes in octaves, pass, path, library."""
    flags = (*(of.made == made for made in PASSES), tensor, transforms)
    sizes = (of.n, of.c * of.groups, of.k * of.groups, of.p * of.q, of.window, of.stride, of.itemsize)
    kind = np.select([of.made == made for made in PASSES], range(3))
    features = np.column_stack([*np.log2(sizes), *flags]).astype(float)
    return Ops(features, np.ones_like(of.n), kind, cached=np.zeros(len(of.n), dtype=bool))


def shape_correction(wanted: Ops, c: Convolution) -> Floats:
    """Logarithm of true over modelled time of each wanted op, as far as shapes like it were measured on other devices:
    the mean of a Gaussian process (Rasmussen & Williams, Gaussian Processes for Machine Learning, 2006, eq. 2.25).

    It is evidence, not law: corrected times may lie below the model's bounds.
    """
    if c.published == () or not len(wanted.features):
        return np.zeros(len(wanted.features))
    known, like, weight = _published(c)
    starts = range(0, len(wanted.features), AT_ONCE)
    some = (wanted.at(np.arange(i, min(i + AT_ONCE, len(wanted.features)))) for i in starts)
    return np.concatenate([covariance(ops, known, like) @ weight for ops in some])


@lru_cache(maxsize=1)
def _published(c: Convolution) -> tuple[Ops, Likeness, Floats]:
    """The published shapes, their likeness, and the weight of each in the mean of any op."""
    told = shipped_shapes() if c.published is None else pd.DataFrame(c.published)
    told = told.rename(columns={"made": "pass"})
    tensor, transforms = (told["path"] == "tensor").to_numpy(), told["transforms"].to_numpy(dtype=bool)
    known = alike(convolutions(told, tensor), tensor, transforms)
    like = c.likeness.model_copy(update={"compute": 0.0})  # residuals are told less what each device has in common
    among = covariance(known, known, like) + like.noise**2 * np.eye(len(told))
    return known, like, np.linalg.solve(among, told["log_residual"].to_numpy(dtype=float))


def shipped_shapes() -> pd.DataFrame:
    """The published shapes that are shipped, read only where there are convolutions."""
    with as_file(files("estimator.model.coefficients") / "convolution_shapes.csv") as path:
        cells = csv_files.read_csv(path)
    words = {name: cells[name] for name in ("made", "path", "precision")}
    numbers = cells.drop(columns=[*words, "transforms"]).astype(float)
    return numbers.assign(**words, transforms=cells["transforms"] == "True")
