"""Scenarios of the host and of input, as people write them."""

import pytest

from estimator.core.errors import EstimatorError
from estimator.core.scenarios import read_host, read_input
from estimator.core.types import RunPlan


@pytest.mark.parametrize(
    ("written", "expected"),
    [(None, None), ("profile", "profile"), ("none", "none"), ("0.5", 0.5), (2, 2.0), (0.1, 0.1), ("1e6", 1e6)],
)
def test_a_host_is_a_word_or_a_factor(written: object, expected: object) -> None:
    assert read_host(written) == expected
    assert RunPlan("v100", host=written).host == expected  # type: ignore[arg-type]


@pytest.mark.parametrize("written", ["fast", "2x", "", 0, -1, "nan", "inf", "1e308", 1e-7, True, [1], {}])
def test_any_other_host_is_refused_in_one_sentence(written: object) -> None:
    with pytest.raises(
        ValueError, match=r"^is .*; write profile, none, or a factor from 1e-06 to 1e\+06, such as 0.5$"
    ):
        read_host(written)
    with pytest.raises(EstimatorError, match=r"^host is "):
        RunPlan("v100", host=written)  # type: ignore[arg-type]


@pytest.mark.parametrize("written", [None, "carried", "overlapped", "none"])
def test_input_is_a_word(written: object) -> None:
    assert read_input(written) == written


@pytest.mark.parametrize("written", ["late", True, 0.5, []])
def test_any_other_input_is_refused_in_one_sentence(written: object) -> None:
    with pytest.raises(EstimatorError, match=r"^input is .*; write carried, overlapped, or none$"):
        RunPlan("v100", input=written)  # type: ignore[arg-type]
