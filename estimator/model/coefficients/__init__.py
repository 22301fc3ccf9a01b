"""Coefficients that the wheel ships as readable text."""

from __future__ import annotations

from functools import cache
from importlib.resources import as_file, files
from typing import Literal

from pydantic import Field, model_validator

from estimator.core.types import File
from estimator.core.yaml_files import check, read_yaml

Name = Literal["matrix_vector", "matrix_tensor", "memory", "launch_latency_s"]


class Coefficient(File):
    """A coefficient of the model: nine of ten cases lie in [low, high]."""

    low: float = Field(gt=0)
    mid: float = Field(gt=0)
    high: float = Field(gt=0)
    source: str

    @model_validator(mode="after")
    def _ordered(self) -> Coefficient:
        if not self.low <= self.mid <= self.high:
            raise ValueError("low, mid and high are not in order")
        return self


class Coefficients(File):
    """All of them."""

    matrix_vector: Coefficient
    matrix_tensor: Coefficient
    memory: Coefficient
    launch_latency_s: Coefficient


@cache
def load() -> Coefficients:
    """The shipped coefficients."""
    with as_file(files(__name__) / "efficiency.yaml") as path:
        return check(Coefficients, read_yaml(path))
