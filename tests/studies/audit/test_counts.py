import pytest

from estimator.core.errors import EstimatorError
from estimator.core.types import Profile, Workload
from estimator.studies.audit.counts import check_counts
from estimator.studies.audit.types import CheckedNumber
from tests.conftest import make_ops
from tests.studies.audit.tables import toy_row, toy_table


def check(workload: Workload, **fields: object) -> list[CheckedNumber]:
    profile = Profile(make_ops({}), workload, None, "csv")
    return list(check_counts("t", toy_table({"A": toy_row("2 s", "1 s", "2x", **fields)}), {"A": profile}))


def parameters(**fields: object) -> CheckedNumber:
    """The count of parameters printed of a model of 12,345, which is dense 10-20-30 and more."""
    (checked,) = check(Workload(name="w", parameters=12345), **fields)
    return checked


@pytest.mark.parametrize(
    ("fields", "mark", "ours"),
    [
        ({"parameters": "12,345"}, "reproduced", 12345),
        ({"parameters": "12,346"}, "cannot be told", 12345),
        ({"parameters": "12,445", "untrained": 100}, "reproduced", 12445),
        ({"parameters": 11 * 20 + 21 * 30, "parameters_of": [10, 20, 30]}, "wrong part", 12345),
    ],
)
def test_marks_of_printed_counts(fields: dict[str, object], mark: str, ours: int) -> None:
    checked = parameters(**fields)
    assert checked.mark == mark
    assert checked.ours is not None
    assert checked.ours.samples[0] == ours


@pytest.mark.parametrize("printed", ["849", "12,345"])
def test_stated_layers_without_the_printed_count_are_refused(printed: str) -> None:
    with pytest.raises(EstimatorError, match=r"t: A: .* 10-20-30 alone, which have 850 of the model's 12,345"):
        parameters(parameters=printed, parameters_of=[10, 20, 30])


def test_the_reason_names_the_added_count() -> None:
    checked = parameters(parameters="12,445", untrained=100)
    assert checked.reason == "12,345 are trained, 100 are not"
    assert checked.ours is not None
    assert checked.ours.source == "counted where the profile was taken, and 100 of the study file"


def test_a_count_unknown_to_the_profile_is_not_checked() -> None:
    (batch,) = check(Workload(name="w", batch_size=8), batch_size=8, parameters="12,345")
    assert (batch.quantity, batch.row, batch.mark, batch.reason) == ("batch size", "A", "reproduced", None)
