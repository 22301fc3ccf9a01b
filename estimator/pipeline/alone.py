"""A device by itself: its step and its memory, with each local batch and each split that divides the model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from estimator.core.parallel import WHOLE, Split
from estimator.core.types import Floats, MemoryUse, Prediction, Profile, RunPlan, StepTime
from estimator.devices.sides import planned_device
from estimator.model import peak_times
from estimator.model.coefficients import shipped
from estimator.pipeline.memory import Held, held_by_stages, held_by_step, largest_use
from estimator.pipeline.predicted_step import PredictedStep
from estimator.pipeline.stages import shares_of, stages_of
from estimator.pipeline.step import predict_step
from estimator.profiles.layers.shards import divided
from estimator.rollup import power, step
from estimator.rollup.exchange import without_exchange
from estimator.rollup.scaling import Group


@dataclass(frozen=True)
class OneDevice:
    """A device that trains by itself: its step, its mean power in it and its power without work [W], where known."""

    step: StepTime
    power_w: Floats | None = None
    idle_w: float | None = None


def one_device(predicted: PredictedStep) -> OneDevice:
    """A device by itself, without the messages that its profile recorded."""
    device, plan, coefficients = predicted.target.device, predicted.plan, shipped().power
    alone, replayed = _replay_alone(predicted)
    if device.power_limit is None:
        return OneDevice(replayed.step)
    power_w = power.step_power(alone, replayed, peak_times(alone.ops, device), device, coefficients, plan)
    idle_w = float(power.idle_power(device.power_limit.value, power.gddr_bytes(device), coefficients))
    return OneDevice(replayed.step, power_w, idle_w)


def step_of_one(predicted: PredictedStep) -> StepTime:
    """The step of one device by itself."""
    return _replay_alone(predicted)[1].step


def _replay_alone(predicted: PredictedStep) -> tuple[Prediction, step.ReplayedStep]:
    """The ops of a device by itself, without messages, and their replay."""
    alone = without_exchange(predicted.prediction)
    return alone, step.replay_step(alone, predicted.timeline, predicted.scenario)


@dataclass(frozen=True)
class Alone:
    """A device with one local batch: everything that does not depend on the number of devices."""

    profile: Profile  # of the part that the device runs
    plan: RunPlan
    split: Split  # of the model; the whole one where copies alone share the training

    @cached_property
    def predicted(self) -> PredictedStep:
        """Its step before the replay."""
        return predict_step(self.profile, self.plan)

    @cached_property
    def device(self) -> OneDevice:
        """Its step, and its power."""
        return one_device(self.predicted)

    @cached_property
    def held(self) -> list[Held] | None:
        """What the step holds, or each end of its pipeline; None where nothing tells the parameters."""
        return held_by_stages(stages_of(self.profile, self.split), self.plan, self._held_by_step)

    def _held_by_step(self) -> Held:
        step = self.predicted
        return held_by_step(step.profile, step.plan, step.target.device, step.work)

    def memory(self, split: Split, group: Group) -> MemoryUse | None:
        """What the fullest device of a group holds with its share of the parts that devices divide."""
        return None if self.held is None else largest_use(self.held, shares_of(self.profile, split, group))

    def has_room(self, split: Split, group: Group) -> bool:
        """Whether the fullest device of a group has room for what it holds; True where nothing tells."""
        use = self.memory(split, group)
        return use is None or use.fits is not False


class EachAlone:
    """A device by itself, predicted once for each local batch and each split that divides the model."""

    def __init__(self, profile: Profile, plan: RunPlan) -> None:
        self.profile, self.plan = profile, plan
        self._known: dict[tuple[Split, int | None], Alone] = {}

    def of(self, split: Split, batch: int | None) -> Alone:
        """A device of this split; splits that leave it the whole model share one.

        Raises EstimatorError where the model cannot be divided so.
        """
        of_model = split if split.least_devices > 1 else WHOLE
        key = (of_model, batch)
        if key not in self._known:
            plan = replace(self.plan, batch=batch)
            self._known[key] = Alone(divided(self.profile, split), plan, of_model)
        return self._known[key]

    @cached_property
    def nominal(self) -> EachAlone:
        """The same without draws, for choices that need no intervals."""
        return EachAlone(self.profile, replace(self.plan, draws=0)) if self.plan.draws else self

    @cached_property
    def is_predictable(self) -> bool:
        """Whether a target is known that steps can be timed on."""
        target = self.plan.target
        return bool(target) and planned_device(self.plan, target).specifications == "known"
