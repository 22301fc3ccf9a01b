"""What travels from the prediction of a step to its replay: the devices, the work, the times of the ops, the host."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import pandas as pd

from estimator.core.notes import Note
from estimator.core.types import DeviceSpec, Floats, Network, Prediction, Profile, RunPlan
from estimator.devices.sides import Side
from estimator.rollup.host import HostScenario
from estimator.rollup.step import ReplayedStep, replay_step
from estimator.rollup.target_timeline import StepTimeline
from estimator.work import WorkOnTarget


class Devices(NamedTuple):
    """The devices of a prediction."""

    target: Side
    source: Side | None  # None where nothing tells it, and where nothing ran
    source_candidates: tuple[DeviceSpec, ...]  # devices that the profile may have been taken on


@dataclass(frozen=True)
class PredictedStep:
    """A step on the target before its replay: its devices and its work, the times of its ops, its timeline and host."""

    profile: Profile  # of the pass that runs
    plan: RunPlan
    devices: Devices
    same_device: bool
    evidence: pd.DataFrame = field(repr=False)  # MEASUREMENTS of the target that may correct its models
    work: WorkOnTarget
    prediction: Prediction
    overlap: Floats = field(repr=False)
    scenario: HostScenario
    timeline: StepTimeline
    pass_notes: tuple[Note, ...]

    def replay(self) -> ReplayedStep:
        """The step, replayed."""
        return replay_step(self.prediction, self.timeline, self.scenario)

    def without_measurements(self) -> PredictedStep:
        """The same without the target's measurements: none corrects messages that are predicted later."""
        return self._with_target(replace(self.target, measurements=self.target.measurements.iloc[:0]))

    def in_network(self, network: Network) -> PredictedStep:
        """The same, with the target's devices in another network."""
        device = self.target.device.model_copy(update={"network": network})
        return self._with_target(replace(self.target, device=device))

    def _with_target(self, target: Side) -> PredictedStep:
        return replace(self, devices=self.devices._replace(target=target))

    @property
    def target(self) -> Side:
        """The device that the step is predicted on."""
        return self.devices.target

    @property
    def source_device(self) -> DeviceSpec | None:
        """The device that was profiled; None where nothing tells."""
        return self.devices.source.device if self.devices.source else None
