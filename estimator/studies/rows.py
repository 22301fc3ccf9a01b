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
from estimator.studies.study import Study
from estimator.studies.table import Row
from estimator.studies.unit import beside, forward_ops, validation

Cell = tuple[str, str]  # row and column
OF_THE_WORKLOAD = "workload file of the profile"
OF_A_STEP = chain.Link(
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
        return self.numbers.get(OF_A_STEP.name, self.numbers["step_s"])

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
        found = self.estimate.target.peak_of(self.estimate.precision).matrix
        return found.value if found else None


def _matrix_flop(found: Estimate) -> float:
    ops = found.prediction.ops
    return float(ops.loc[ops["op_class"].isin(MATRIX), "flop"].sum())


def kernel_time(found: Estimate) -> Floats:
    """Samples of the device's own kernels of one step [s], one after another; no host or input time, none carried."""
    ops = found.prediction.ops
    own = ~ops["op_class"].isin(list(PART_OF_CLASS)) & (ops["method"] != "unchanged")
    return np.asarray(found.prediction.samples[:, own.to_numpy(dtype=bool)].sum(axis=1))


def run_rows(study: Study, name: str, profiles: Mapping[str, Profile], folder: Path) -> dict[Cell, list[Run]]:
    """Every row on every device that a column of its times may be. Raises EstimatorError as ``estimate`` does."""
    table = study.tables[name]
    return {
        (row, column): [_run(study, (name, row, column, device), profiles[row], folder) for device in places]
        for row, said in table.rows.items()
        for column, places in ((column, table.columns[column].devices) for column in said.times)
    }


def _run(study: Study, at: tuple[str, str, str, str], profile: Profile, folder: Path) -> Run:
    name, row, column, device = at
    table = study.tables[name]
    counts = count_steps(pair_id((name, row)), table.rows[row], profile)
    plan = RunPlan(
        target=beside(folder, device), precision=table.precision, layout=table.columns[column].layout,
        draws=study.draws, seed=study.seed,
    )  # fmt: skip
    with within(f"{name}: {row} on {device}"):
        found = estimate(profile, plan)
        if not kernel_time(found)[0]:
            raise EstimatorError("no model speaks of any op of the profile; give one with shapes")
        forward = validation(found) if {"steps_per_epoch", "validation_steps"} <= counts.keys() else None
    return Run(found, _chain(pair_id(at), counts, found, forward), forward)


def count_steps(at: str, row: Row, profile: Profile) -> dict[str, Number]:
    """What is known of an epoch: samples, batch size, and the steps that follow."""
    workload = profile.workload
    known = {
        "samples": (row.samples or workload.samples, "study file" if row.samples else OF_THE_WORKLOAD),
        "validation_samples": (row.validation_samples, "study file"),
        "batch_size": (workload.batch_size, OF_THE_WORKLOAD),
    }
    given = {
        name: chain.given(f"{at}/{name}", name.replace("_", " "), value, "1", "device", said)
        for name, (value, said) in known.items()
        if value is not None
    }
    links = (chain.CEILED, *chain.CHAIN) if workload.steps_rounding == "ceil" else chain.CHAIN
    found = chain.derive(at, "device", given, links)
    if "steps_per_epoch" in found and not found["steps_per_epoch"].samples[0]:
        raise EstimatorError(f"{at}: the samples fill no step of the batch size; mend samples, or the profile")
    return found


def _chain(at: str, counts: Mapping[str, Number], found: Estimate, forward: Estimate | None) -> dict[str, Number]:
    ops = f"ops of {at} on {found.target.name}"
    kernels = {"step_s": _kernels(f"{at}/step_s", "step", found, ops)}
    if forward:
        kernels["forward_s"] = _kernels(f"{at}/forward_s", "forward pass", forward, forward_ops(ops, found))
    return chain.derive(at, "device", {**counts, **kernels}, (*chain.CHAIN, OF_A_STEP) if forward else chain.CHAIN)


def _kernels(id: str, what: str, one: Estimate, origin: str) -> Number:
    formula = "sum of its kernels' times, one after another"
    return chain.given(id, f"kernels of one {what}", kernel_time(one), "s", "device", origin, formula)
