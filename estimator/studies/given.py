"""Numbers that a study gives to the chain of a unit on a machine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from estimator.core.types import Floats, Number
from estimator.rollup import chain

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


def numbers_of(id_prefix: str, given: Iterable[Given]) -> dict[str, Number]:
    """The numbers of a chain by name; their ids begin with the prefix."""
    return {each.name: chain.given(f"{id_prefix}/{each.name}", *each[1:]) for each in given}
