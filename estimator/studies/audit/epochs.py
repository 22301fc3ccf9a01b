"""The numbers of an epoch: the kernels of its steps on a device, how many steps it has, and its time.

What stands beside a printed time is the device's own kernels, one after another as one stream runs them. The host and
input time of the machine that the profile was taken on, and how its ops overlapped, say nothing of another machine's.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from estimator.core.errors import EstimatorError
from estimator.core.types import Estimate, Floats, Number, Profile
from estimator.rollup import chain, epoch
from estimator.rollup.step import PART_OF_CLASS
from estimator.studies.audit.table import Row
from estimator.studies.forward import forward_origin

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


def kernel_time(step: Estimate) -> Floats:
    """Samples of the device's own kernels of one step [s], one after another; no host or input time, none carried."""
    ops = step.prediction.ops
    own = ~ops["op_class"].isin(list(PART_OF_CLASS)) & (ops["method"] != "unchanged")
    return np.asarray(step.prediction.samples[:, own.to_numpy(dtype=bool)].sum(axis=1))


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


def derive_epoch(at: str, counts: Mapping[str, Number], step: Estimate, forward: Estimate | None) -> dict[str, Number]:
    """The numbers from the kernels of a step to the time of an epoch."""
    ops = f"ops of {at} on {step.target.name}"
    kernels = {"step_s": _kernels(f"{at}/step_s", "step", step, ops)}
    if forward:
        kernels["forward_s"] = _kernels(f"{at}/forward_s", "forward pass", forward, forward_origin(ops, step))
    return chain.derive(at, "device", {**counts, **kernels}, (*chain.CHAIN, STEP_OF_EPOCH) if forward else chain.CHAIN)


def _kernels(id: str, what: str, estimated: Estimate, origin: str) -> Number:
    formula = "sum of its kernels' times, one after another"
    return chain.given(id, f"kernels of one {what}", kernel_time(estimated), "s", "device", origin, formula)
