"""What a lint may ask of the catalogue."""

import pytest

from estimator.core.types import DeviceSpec
from estimator.devices import load_device
from estimator.devices.lints.finding import Catalogue, near
from tests.conftest import make_device
from tests.devices.lints.files import DIE, SHIPPED_CATALOGUE


def test_parts_of_one_module_are_no_siblings() -> None:
    device = load_device("mi250x")
    assert [sibling.name for sibling in SHIPPED_CATALOGUE.siblings(device)] == ["mi210"]
    assert SHIPPED_CATALOGUE.siblings(DeviceSpec.model_validate(DIE)) == []


def test_devices_of_one_architecture_are_siblings_also_where_one_names_it_more_closely() -> None:
    architectures = {"one": "Ampere", "two": "ampere-ga102", "three": "Ampere GA100", "four": "ada", "five": None}
    devices = [make_device(name=name, architecture=text) for name, text in architectures.items()]
    catalogue_of_five = Catalogue(load_device, lambda name: [], lambda: devices)
    siblings = [[other.name for other in catalogue_of_five.siblings(device)] for device in devices]
    assert siblings == [["two", "three"], ["one"], ["one"], [], []]


@pytest.mark.parametrize(("value", "expected"), [(102.0, True), (98.0, True), (103.5, False), (96.0, False)])
def test_near_is_within_a_share_of_what_is_expected(value: float, expected: bool) -> None:
    assert near(value, 100.0, 0.03) is expected
