"""The rows of a published table on the devices of its columns: kernels, steps, epochs.

What stands beside a printed time is the device's own kernels, one after another as one stream runs them. The host and
input time of the machine that the profile was taken on, and how its ops overlapped, say nothing of another machine's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from estimator.core.errors import EstimatorError, within
from estimator.core.schema import MATRIX
from estimator.core.types import Estimate, Floats, Number, Profile, RunPlan, pair_id
from estimator.pipeline import estimate
from estimator.rollup import chain, epoch
from estimator.rollup.step import PART_OF_CLASS
from estimator.studies.audit.table import Row, Table
from estimator.studies.audit.types import Cell
from estimator.studies.forward import estimate_forward, forward_origin
from estimator.studies.places import beside

Plans = Mapping[str, Mapping[str, RunPlan]]  # by column, and by the name of each device that it may be
WORKLOAD_FILE = "workload file of the profile"
STEP_OF_EPOCH = chain.Link(
    name="epoch_step_s",
    label="kernels of one step and its share of the validation",
    unit="s",
    level="worker",
    formula="time per epoch / steps per epoch",
    function=epoch.step_of_epoch,
    inputs=("epoch_s", "steps_per_epoch"),
)


@dataclass(frozen=True)
class Run:
    """One row on one device: its estimate, and the numbers from its kernels to its epoch, as far as they are known."""

    estimate: Estimate
    numbers: Mapping[str, Number]
    forward: Estimate | None = None  # of the validation that ends an epoch of a known number of steps

    @property
    def step(self) -> Number:
        """The kernels of one step [s], with its share of the validation."""
        return self.numbers.get(STEP_OF_EPOCH.name, self.numbers["step_s"])

    @property
    def matrix_flop(self) -> float:
        """Matrix products and convolutions of one step, with its share of the validation [FLOP]."""
        own = _matrix_flop(self.estimate)
        if self.forward is None:
            return own
        validation, training = (self.numbers[name].samples[0] for name in ("validation_steps", "steps_per_epoch"))
        return own + float(validation / training) * _matrix_flop(self.forward)

    @property
    def peak(self) -> float | None:
        """What the device does at most in the precision of the run [FLOP/s]."""
        peak = self.estimate.target.peak_of(self.estimate.precision).matrix
        return peak.value if peak else None


def _matrix_flop(step: Estimate) -> float:
    ops = step.prediction.ops
    return float(ops.loc[ops["op_class"].isin(MATRIX), "flop"].sum())


def kernel_time(step: Estimate) -> Floats:
    """Samples of the device's own kernels of one step [s], one after another; no host or input time, none carried."""
    ops = step.prediction.ops
    own = ~ops["op_class"].isin(list(PART_OF_CLASS)) & (ops["method"] != "unchanged")
    return np.asarray(step.prediction.samples[:, own.to_numpy(dtype=bool)].sum(axis=1))


def plan_runs(table: Table, folder: Path, draws: int, seed: int) -> Plans:
    """How the rows run on each device that a column may be, the likeliest first."""
    return {
        column: {
            device: RunPlan(beside(folder, device), table.precision, layout=entry.layout, draws=draws, seed=seed)
            for device in entry.devices
        }
        for column, entry in table.columns.items()
    }


def run_rows(name: str, table: Table, profiles: Mapping[str, Profile], plans: Plans) -> dict[Cell, list[Run]]:
    """Every row on every device that a column of its times may be. Raises EstimatorError as ``estimate`` does."""
    return {
        (row_name, column): [
            _run(row, profiles[row_name], plan, (name, row_name, column, device))
            for device, plan in plans[column].items()
        ]
        for row_name, row in table.rows.items()
        for column in row.times
    }


def _run(row: Row, profile: Profile, plan: RunPlan, at: tuple[str, str, str, str]) -> Run:
    name, row_name, _, device = at
    counts = count_steps(pair_id((name, row_name)), row, profile)
    with within(f"{name}: {row_name} on {device}"):
        step = estimate(profile, plan)
        if not kernel_time(step)[0]:
            raise EstimatorError("no op of the profile is modelled; give one with shapes")
        forward = estimate_forward(step) if {"steps_per_epoch", "validation_steps"} <= counts.keys() else None
    return Run(step, _chain(pair_id(at), counts, step, forward), forward)


def count_steps(at: str, row: Row, profile: Profile) -> dict[str, Number]:
    """What is known of an epoch: samples, batch size, and the steps that follow."""
    workload = profile.workload
    known = {
        "samples": (row.samples or workload.samples, "study file" if row.samples else WORKLOAD_FILE),
        "validation_samples": (row.validation_samples, "study file"),
        "batch_size": (workload.batch_size, WORKLOAD_FILE),
    }
    given = {
        name: chain.given(f"{at}/{name}", name.replace("_", " "), value, "1", "device", origin)
        for name, (value, origin) in known.items()
        if value is not None
    }
    links = (chain.CEILED, *chain.CHAIN) if workload.steps_rounding == "ceil" else chain.CHAIN
    numbers = chain.derive(at, "device", given, links)
    if "steps_per_epoch" in numbers and not numbers["steps_per_epoch"].samples[0]:
        raise EstimatorError(f"{at}: the samples fill no step of the batch size; mend samples, or the profile")
    return numbers


def _chain(at: str, counts: Mapping[str, Number], step: Estimate, forward: Estimate | None) -> dict[str, Number]:
    """The numbers from the kernels of a step to the time of an epoch."""
    ops = f"ops of {at} on {step.target.name}"
    kernels = {"step_s": _kernels(f"{at}/step_s", "step", step, ops)}
    if forward:
        kernels["forward_s"] = _kernels(f"{at}/forward_s", "forward pass", forward, forward_origin(ops, step))
    return chain.derive(at, "device", {**counts, **kernels}, (*chain.CHAIN, STEP_OF_EPOCH) if forward else chain.CHAIN)


def _kernels(id: str, what: str, estimated: Estimate, origin: str) -> Number:
    formula = "sum of its kernels' times, one after another"
    return chain.given(id, f"kernels of one {what}", kernel_time(estimated), "s", "device", origin, formula)
