"""The coefficients of the model, which the wheel ships as readable text; ``estimator.fitting.ship`` writes the fitted.

Each file says where its numbers come from; held_out.csv beside them says how far the model is off on devices that it
was not fitted on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.resources import as_file, files
from typing import Any

from pydantic import Field, model_validator

from estimator.core.types import File, PowerCoefficients
from estimator.core.yaml_files import check, read_yaml
from estimator.model.collective_coefficients import CollectiveCoefficients
from estimator.model.convolution_coefficients import ConvolutionCoefficients
from estimator.model.gemm import GemmCoefficients
from estimator.model.kernel_priors import KernelPriors
from estimator.model.memory_bound import MemoryBoundCoefficients


class Coefficient(File):
    """A number of which nine of ten cases lie in [low, high]."""

    low: float = Field(gt=0)
    mid: float = Field(gt=0)
    high: float = Field(gt=0)
    source: str

    @model_validator(mode="after")
    def _ordered(self) -> Coefficient:
        if not self.low <= self.mid <= self.high:
            raise ValueError("low, mid and high are not in order")
        return self


class LaunchCoefficients(File):
    """What launching a kernel takes where a device file does not give it."""

    latency_s: Coefficient


class LinkCoefficients(File):
    """What is taken of links that no file gives."""

    network_bytes_per_s: Coefficient  #: into a node, per direction
    network_step_factor: Coefficient  #: of the latency of a step between nodes
    link_bytes_per_s: Coefficient  #: of a device in its node, per direction
    bus_factor: Coefficient  #: of what messages attain over a bus that devices share


class StepFactorCoefficients(File):
    """How uncertain it is that other devices' steps make of ops what the source's made."""

    source: str
    in_step_std: float = Field(ge=0, description="standard deviation (logarithm) of what steps make of ops, by device")


class Coefficients(File):
    """All of them, each in the file of its name."""

    gemm: GemmCoefficients
    convolution: ConvolutionCoefficients
    memory_bound: MemoryBoundCoefficients
    collectives: CollectiveCoefficients
    launches: LaunchCoefficients
    links: LinkCoefficients
    step_factor: StepFactorCoefficients
    kernel_priors: KernelPriors
    power: PowerCoefficients


_replacement: ContextVar[Coefficients | None] = ContextVar("replacement", default=None)


def shipped() -> Coefficients:
    """The shipped coefficients; inside :func:`replaced` those given there."""
    return _replacement.get() or _read()


@contextmanager
def replaced(coefficients: Coefficients) -> Iterator[None]:
    """Predict with these coefficients inside the block, as validation does with a fit that has not seen the target."""
    token = _replacement.set(coefficients)
    try:
        yield
    finally:
        _replacement.reset(token)


@cache
def _read() -> Coefficients:
    with as_file(files(__name__)) as folder:
        kinds: dict[str, Any] = {name: field.annotation for name, field in Coefficients.model_fields.items()}
        return Coefficients(**{name: check(kind, read_yaml(folder / f"{name}.yaml")) for name, kind in kinds.items()})
