"""A number that a study gives to the chain of a unit on a machine."""

from __future__ import annotations

from typing import NamedTuple

from estimator.core.types import Floats

STUDY_FILE = "study file"


class Given(NamedTuple):
    """Its name in the chain, what it is, its value with unit and level, and where it comes from."""

    name: str
    label: str
    value: float | Floats
    unit: str
    level: str
    source: str
    formula: str = "given"
