"""The work of aggregate rows without shapes, from the model that ``workload.yaml`` describes.

An optimizer without a fused update runs separate ops over all parameters; layer-wise ops pass over every layer's output
once per step.
"""

from __future__ import annotations

from dataclasses import dataclass

from estimator.core.operators import operators
from estimator.core.physics import streaming_bytes
from estimator.core.types import Workload


@dataclass(frozen=True)
class Amount:
    """Work of one aggregate row in one step."""

    calls: float
    flop: float
    bytes: float
    phase: str


def update_work(op_type: str, workload: Workload, itemsize: float) -> Amount | None:
    """The work of one op type in the optimizer's update: parameters × its passes; None where it has no part in it."""
    rule = workload.optimizer.update_ops.get(op_type) if workload.optimizer else None
    if rule is None or workload.parameters is None:
        return None
    bytes_ = rule.calls * streaming_bytes(workload.parameters, rule.reads, rule.writes, itemsize)
    calls = rule.calls * (workload.variables or 1)
    return Amount(calls, float(rule.calls * rule.flop * workload.parameters), float(bytes_), "optimizer")


def layer_work(operator: str, workload: Workload, itemsize: float) -> Amount | None:
    """One operator's passes over every layer's output for one batch; None where it is not layer-wise, or the layers are
    unknown.
    """
    rule = operators()[operator]
    if not rule.layerwise or not workload.layer_outputs or not workload.batch_size:
        return None
    elements = workload.batch_size * sum(workload.layer_outputs)
    bytes_ = streaming_bytes(elements, rule.reads, rule.writes, itemsize)
    return Amount(len(workload.layer_outputs), rule.flop_per_element * elements, float(bytes_), "unknown")
