"""The coefficients that are shipped: each file states where its numbers come from."""

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import ValidationError

from estimator.devices import load_device
from estimator.devices.specs.catalogue import all_systems
from estimator.model.coefficients import Coefficient, shipped
from estimator.model.links import gives_link, links_of
from tests.conftest import make_device


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


def test_what_is_assumed_of_links_reaches_from_the_least_to_the_most_of_the_delivered_systems() -> None:
    systems = [system for system in all_systems() if not system.announced]
    networks = [system.injection_bandwidth.value for system in systems if system.injection_bandwidth]
    devices = [load_device(system.device) for system in systems]
    links = [links_of(device).inside.nominal for device in devices if gives_link(device)]
    for taken, rates in ((shipped().links.network_bytes_per_s, networks), (shipped().links.link_bytes_per_s, links)):
        assert [taken.low, taken.high] == pytest.approx([min(rates), max(rates)])
        assert len(rates) > 20
    assert shipped().links.link_bytes_per_s.mid == pytest.approx(links_of(make_device()).inside.nominal, rel=1e-3)
