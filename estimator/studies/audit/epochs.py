"""Numbers of an epoch: the time of a step's kernels on a device, the number of steps, and the epoch's time.

A printed time is compared with the device's kernels alone, one after another as one stream runs them. Host time, input
time and overlap of the profiled machine say nothing about another machine.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from estimator.core.errors import EstimatorError
from estimator.core.types import Estimate, Floats, Number, Profile
from estimator.rollup import chain, epoch
from estimator.rollup.parts import PART_OF_CLASS
from estimator.studies.audit.table import Row
from estimator.studies.forward import forward_origin
from estimator.studies.given import STUDY_FILE

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
    """Samples of the summed kernel times of one step [s]; host, input and unknown time left out."""
    ops = step.prediction.ops
    is_kernel = ~ops["op_class"].isin(list(PART_OF_CLASS)) & (ops["method"] != "unchanged")
    return np.asarray(step.prediction.samples[:, is_kernel.to_numpy(dtype=bool)].sum(axis=1))


def count_steps(id_prefix: str, row: Row, profile: Profile) -> dict[str, Number]:
    """The known numbers of an epoch: samples, batch size, and the number of steps."""
    workload = profile.workload
    known = {
        "samples": (row.samples or workload.samples, STUDY_FILE if row.samples else WORKLOAD_FILE),
        "validation_samples": (row.validation_samples, STUDY_FILE),
        "batch_size": (workload.batch_size, WORKLOAD_FILE),
    }
    given = {
        name: chain.given(f"{id_prefix}/{name}", name.replace("_", " "), value, "1", "device", origin)
        for name, (value, origin) in known.items()
        if value is not None
    }
    numbers = chain.derive(id_prefix, "device", given, chain.chain_rounded(workload.steps_rounding == "ceil"))
    if "steps_per_epoch" in numbers and not numbers["steps_per_epoch"].samples[0]:
        raise EstimatorError(f"{id_prefix}: the samples fill no step of the batch size; mend samples, or the profile")
    return numbers


def derive_epoch(
    id_prefix: str, counts: Mapping[str, Number], step: Estimate, forward: Estimate | None
) -> dict[str, Number]:
    """Derive the time of an epoch from the kernels of a step."""
    ops = f"ops of {id_prefix} on {step.target.name}"
    kernels = {"step_s": _kernel_number(f"{id_prefix}/step_s", "step", step, ops)}
    if forward:
        kernels["forward_s"] = _kernel_number(
            f"{id_prefix}/forward_s", "forward pass", forward, forward_origin(ops, step)
        )
    return chain.derive(
        id_prefix, "device", {**counts, **kernels}, (*chain.CHAIN, STEP_OF_EPOCH) if forward else chain.CHAIN
    )


def _kernel_number(id: str, label: str, estimate: Estimate, origin: str) -> Number:
    formula = "sum of its kernels' times, one after another"
    return chain.given(id, f"kernels of one {label}", kernel_time(estimate), "s", "device", origin, formula)
