"""Another framework's update in place of the profile's own, by hand."""

import dataclasses

import pytest

from estimator.core.errors import EstimatorError
from estimator.core.types import Optimizer, Profile, UpdateOp
from estimator.profiles import read_profile
from estimator.work import count_work, replace_optimizer

RULE = Optimizer(
    name="sgd",
    update_ops={"Sub": UpdateOp(calls=1, reads=2, writes=1), "Assign": UpdateOp(calls=2, reads=1, writes=1, flop=0)},
)


@pytest.fixture(scope="module")
def profile() -> Profile:
    return read_profile("p1b2")


def test_the_update_follows_the_rule_over_all_parameters(profile: Profile) -> None:
    changed = replace_optimizer(profile, RULE)
    work = count_work(changed.ops, changed.workload).work
    update = work[work["phase"] == "optimizer"].set_index("op_type")
    parameters, variables = profile.workload.parameters, profile.workload.variables
    assert parameters is not None
    assert variables is not None
    assert update["bytes"].to_dict() == {"Sub": 3 * 4 * parameters, "Assign": 2 * 2 * 4 * parameters}
    assert update["flop"].to_dict() == {"Sub": parameters, "Assign": 0}
    assert update["calls"].to_dict() == {"Sub": variables, "Assign": 2 * variables}


def test_other_ops_are_kept(profile: Profile) -> None:
    changed = replace_optimizer(profile, RULE)
    own = profile.ops["phase"] == "optimizer"
    assert own.any()
    assert list(changed.ops["op"][: (~own).sum()]) == list(profile.ops.loc[~own, "op"])
    assert replace_optimizer(profile, None) is profile


def test_unknown_parameters_are_refused(profile: Profile) -> None:
    unknown = dataclasses.replace(profile, workload=profile.workload.model_copy(update={"parameters": None}))
    with pytest.raises(EstimatorError, match="parameters are not known"):
        replace_optimizer(unknown, RULE)


def test_an_optimizer_without_ops_is_refused(profile: Profile) -> None:
    with pytest.raises(EstimatorError, match="add update_ops"):
        replace_optimizer(profile, Optimizer(name="sgd"))
