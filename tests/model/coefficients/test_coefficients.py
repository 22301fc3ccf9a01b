"""The coefficients that are shipped: each file states where its numbers come from."""

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import ValidationError

from estimator.model.coefficients import Coefficient, shipped


def without_source(values: dict[str, Any], where: str, known: bool = False) -> Iterator[str]:
    """The numbers of a document beside or above which no source stands."""
    known = known or bool(values.get("source"))
    for name, value in values.items():
        if isinstance(value, dict):
            yield from without_source(value, f"{where}.{name}", known)
        elif not known and isinstance(value, float | tuple):
            yield f"{where}.{name}"


def test_every_number_has_a_source() -> None:
    assert list(without_source(shipped().model_dump(exclude={"convolution": {"published"}}), "coefficients")) == []


def test_what_is_assumed_says_so() -> None:
    priors = shipped().kernel_priors.model_dump().values()
    assert all(prior["source"].startswith(("assumed; ", "by eye, ")) for prior in priors)
    assert shipped().memory_bound.cache.source.startswith("assumed; ")


def test_a_number_lies_between_its_ends() -> None:
    with pytest.raises(ValidationError, match="not in order"):
        Coefficient(low=2.0, mid=1.0, high=3.0, source="a test")
