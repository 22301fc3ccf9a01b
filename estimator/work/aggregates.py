"""The work of aggregate rows, which carry no shapes: from what ``workload.yaml`` says of the model.

An optimizer without a fused update runs ops of its own over all parameters; layer-wise ops pass over every layer's
output once per step.
"""

from __future__ import annotations

from dataclasses import dataclass

from estimator.core.physics import streaming_bytes
from estimator.core.types import Workload

# op type -> passes (reads, writes) over a layer's output, and FLOP per element
LAYER_OPS = {
    "BiasAdd": (1, 1, 1),
    "BiasAddGrad": (1, 0, 1),
    "Relu": (1, 1, 1),
    "ReluGrad": (2, 1, 1),
    "Sigmoid": (1, 1, 4),
    "SigmoidGrad": (2, 1, 3),
    "Tanh": (1, 1, 4),
    "TanhGrad": (2, 1, 3),
    "RandomUniform": (0, 1, 1),
    "RealDiv": (1, 1, 1),
    "Floor": (1, 1, 1),
    "Fill": (0, 1, 0),
}


@dataclass(frozen=True)
class Amount:
    """Work of one aggregate row in one step."""

    calls: float
    flop: float
    bytes: float
    phase: str


def update_work(op_type: str, workload: Workload, itemsize: float) -> Amount | None:
    """The share of one op type in the optimizer's update: parameters × its passes; None where it has none."""
    rule = workload.optimizer.update_ops.get(op_type) if workload.optimizer else None
    if rule is None or workload.parameters is None:
        return None
    bytes_ = rule.calls * streaming_bytes(workload.parameters, rule.reads, rule.writes, itemsize)
    calls = rule.calls * (workload.variables or 1)
    return Amount(calls, float(rule.calls * rule.flop * workload.parameters), float(bytes_), "optimizer")


def layer_work(op_type: str, workload: Workload, itemsize: float) -> Amount | None:
    """One op type's passes over every layer's output of one batch; None where the layers are not known."""
    if op_type not in LAYER_OPS or not workload.layer_outputs or not workload.batch_size:
        return None
    reads, writes, flop = LAYER_OPS[op_type]
    elements = workload.batch_size * sum(workload.layer_outputs)
    bytes_ = streaming_bytes(elements, reads, writes, itemsize)
    return Amount(len(workload.layer_outputs), float(flop * elements), float(bytes_), "unknown")
