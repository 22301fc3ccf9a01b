"""The rows of a published table on the devices of its columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from estimator.core.errors import EstimatorError, within
from estimator.core.schema import MATRIX
from estimator.core.types import Estimate, Floats, Number, Profile, RunPlan, pair_id
from estimator.pipeline.step import estimate
from estimator.studies.audit.epochs import STEP_OF_EPOCH, count_steps, derive_epoch, kernel_time
from estimator.studies.audit.table import Row, Table
from estimator.studies.audit.types import Cell
from estimator.studies.forward import estimate_forward
from estimator.studies.places import resolve_name

Plans = Mapping[str, Mapping[str, RunPlan]]  # by column, then by name of each device that the column may be


@dataclass(frozen=True)
class Run:
    """One row on one device: its estimate, and the known numbers from its kernels to its epoch."""

    estimate: Estimate
    numbers: Mapping[str, Number]
    forward: Estimate | None = None  # of the validation that ends an epoch of a known number of steps

    @property
    def step(self) -> Number:
        """Kernel time of one step with its share of the validation [s]."""
        return self.numbers.get(STEP_OF_EPOCH.name, self.numbers["step_s"])

    @property
    def whole_step_s(self) -> Floats:
        """Samples of one step with launches and host, and with its share of the validation [s]."""
        if self.forward is None:
            return self.estimate.step.total
        return self.estimate.step.total + self._passes_per_step * self.forward.step.total

    @property
    def _passes_per_step(self) -> float:
        """Forward passes of the validation for each step of training."""
        validation, training = (self.numbers[name].samples[0] for name in ("validation_steps", "steps_per_epoch"))
        return float(validation / training)

    @property
    def matrix_flop(self) -> float:
        """Work of the matrix products and convolutions of one step, with its share of the validation [FLOP]."""
        step_flop = _matrix_flop(self.estimate)
        if self.forward is None:
            return step_flop
        return step_flop + self._passes_per_step * _matrix_flop(self.forward)

    @property
    def peak(self) -> float | None:
        """Matrix peak of the device in the run's precision [FLOP/s]."""
        peak = self.estimate.target.peak_of(self.estimate.precision).matrix
        return peak.value if peak else None


def _matrix_flop(step: Estimate) -> float:
    ops = step.prediction.ops
    return float(ops.loc[ops["op_class"].isin(MATRIX), "flop"].sum())


def plan_runs(table: Table, folder: Path, draws: int, seed: int) -> Plans:
    """The run plan for each device that a column may be, the likeliest first."""
    return {
        column: {
            device: RunPlan(resolve_name(folder, device), table.precision, layout=entry.layout, draws=draws, seed=seed)
            for device in entry.devices
        }
        for column, entry in table.columns.items()
    }


def run_rows(name: str, table: Table, profiles: Mapping[str, Profile], plans: Plans) -> dict[Cell, list[Run]]:
    """Run every row on every device that a column may be. Raises EstimatorError as ``estimate`` does."""
    return {
        (row_name, column): [
            _run(row, profiles[row_name], plan, (name, row_name, column, device))
            for device, plan in plans[column].items()
        ]
        for row_name, row in table.rows.items()
        for column in row.times
    }


def _run(row: Row, profile: Profile, plan: RunPlan, names: tuple[str, str, str, str]) -> Run:
    name, row_name, _, device = names
    counts = count_steps(pair_id((name, row_name)), row, profile)
    with within(f"{name}: {row_name} on {device}"):
        step = estimate(profile, plan)
        if not kernel_time(step)[0]:
            raise EstimatorError("no op of the profile is modelled; give one with shapes")
        forward = estimate_forward(step) if {"steps_per_epoch", "validation_steps"} <= counts.keys() else None
    return Run(step, derive_epoch(pair_id(names), counts, step, forward), forward)
