"""A predicted step before its replay: what it replays to, and what changes with its network and its measurements."""

import pytest

from estimator.core.types import Network, RunPlan
from estimator.pipeline.predicted_step import PredictedStep
from estimator.pipeline.step import estimate, predict_step
from estimator.profiles import read_profile

PLAN = RunPlan("v100", draws=5)


@pytest.fixture(scope="module")
def predicted() -> PredictedStep:
    return predict_step(read_profile("p1b3"), PLAN)


def test_its_replay_is_the_step_of_the_estimate(predicted: PredictedStep) -> None:
    assert (predicted.replay().step.total == estimate(read_profile("p1b3"), PLAN).step.total).all()


def test_another_network_changes_nothing_else_of_the_target(predicted: PredictedStep) -> None:
    network = Network(linked_devices=4)
    other = predicted.in_network(network)
    assert other.target.device.network == network
    assert other.target.device.model_copy(update={"network": None}) == predicted.target.device
    assert other.prediction is predicted.prediction


def test_measurements_of_the_target_can_be_left_out_of_what_follows(predicted: PredictedStep) -> None:
    without = predicted.without_measurements()
    assert len(predicted.target.measurements) > 0
    assert without.target.measurements.empty
    assert without.evidence is predicted.evidence
