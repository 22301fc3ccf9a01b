"""A profiled training step with another optimizer's update instead of its own: Profile → Profile."""

from __future__ import annotations

import dataclasses

import pandas as pd

from estimator.core.errors import EstimatorError
from estimator.core.schema import OPS
from estimator.core.types import Optimizer, Profile
from estimator.work.operators import is_temporary
from estimator.work.tensors import in_phase

PHASE = "optimizer"


def replace_optimizer(profile: Profile, optimizer: Optimizer | None) -> Profile:
    """The profile with one row for each op of the optimizer, over all parameters, instead of its own update; the
    profile itself for None. These ops have no time, as they did not run on the source. Raises EstimatorError where the
    number of parameters is unknown.
    """
    if optimizer is None:
        return profile
    if profile.workload.parameters is None:
        raise EstimatorError(f"{profile.where}: the parameters are not known; add them to its workload.yaml")
    if not optimizer.update_ops:
        raise EstimatorError(f"optimizer {optimizer.name}: its ops are not known; add update_ops")
    others = profile.ops[~in_phase(profile.ops, PHASE) | is_temporary(profile.ops)]
    named = pd.DataFrame({"op": list(optimizer.update_ops)})
    update = named.assign(op_type=named["op"], phase=PHASE, precision="fp32", time_s=0.0)
    return dataclasses.replace(
        profile,
        ops=OPS.conform(pd.concat([others, update], ignore_index=True), profile.where),
        workload=profile.workload.model_copy(update={"optimizer": optimizer}),
    )
