"""The coefficients of the convolution model, stored in convolution.yaml and convolution_shapes.csv.

estimator/fitting/convolution.py fits them.
"""

from __future__ import annotations

from typing import NamedTuple

from pydantic import Field

from estimator.core.types import File
from estimator.model.calibration import KernelHyperparameters


class Shares(File):
    """Share of the sustained peak that an algorithm's products attain, apart from tiling losses."""

    forward: float = Field(gt=0, le=1.5, description="forward, and the gradient of the input")
    weights: float = Field(gt=0, le=1.5, description="the gradient of the weights")


class PublishedShape(NamedTuple):
    """A measured shape: columns of MEASUREMENTS, and the mean residual of the devices that measured it."""

    direction: str  # pass
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
    log_residual: float  # mean over families of log(measured / modelled time), less each device's median
    families: int  # that measured it


class ConvolutionCoefficients(File):
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
    hyperparameters: KernelHyperparameters
    published: tuple[PublishedShape, ...] | None = None  # None: the shipped ones
