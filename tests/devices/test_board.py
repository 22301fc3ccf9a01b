"""The power limit of a device, of its board, and in its machine."""

import pytest

from estimator.core.errors import EstimatorError
from estimator.core.types import Sourced
from estimator.devices import load_device
from estimator.devices.board import power_limit, with_limit
from tests.conftest import make_device


def test_a_device_of_its_own_has_its_own_limit() -> None:
    device = load_device("v100-pcie-32gb")
    assert power_limit(device) is device.power_limit


def test_a_part_without_a_limit_has_its_share_of_the_boards() -> None:
    limit, whole = power_limit(load_device("mi250x-gcd")), load_device("mi250x").power_limit
    assert limit is not None
    assert whole is not None
    assert (limit.value, limit.status) == (whole.value / 2, "derived")
    assert limit.note == "1/2 of the limit of mi250x"


def test_an_unknown_limit_stays_unknown() -> None:
    assert power_limit(load_device("gh200-96gb")) is None
    board = load_device("mi250x-gcd").model_copy(update={"part_of": None})
    assert power_limit(board) is None


def test_the_share_is_the_parts_own_limit_where_it_is_predicted() -> None:
    part, own = load_device("mi250x-gcd"), load_device("mi250x")
    assert with_limit(part).power_limit == power_limit(part)
    assert with_limit(own) is own


def test_the_machine_gives_a_limit_where_nothing_else_does() -> None:
    in_machine = Sourced(value=500.0, unit="W")
    assert with_limit(load_device("gh200-96gb"), in_machine).power_limit == in_machine
    for name in ("mi250x-gcd", "mi250x"):
        assert with_limit(load_device(name), in_machine).power_limit == with_limit(load_device(name)).power_limit


def test_an_unknown_board_is_named_with_its_part() -> None:
    part = make_device(name="half", part_of={"device": "k80-bord", "parts": 2})
    with pytest.raises(EstimatorError, match=r"^half, part_of: Unknown device 'k80-bord'.*k80-board"):
        power_limit(part)
