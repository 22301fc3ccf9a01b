"""Gradients of depthwise convolutions as XLA runs them on processors: all pairs of channels, of which a mask keeps the
pairs of equal ones (ConvertBatchGroupedConvolution of xla/service/convolution_group_converter.cc).

An accelerator convolves each channel by itself, so that a program is read as it was written.
"""

from __future__ import annotations

from typing import Any

from estimator.profiles.xplane.flow import SAME, Flow, Value


def restore_groups(flow: Flow) -> None:
    """Write groups back into the convolutions whose result a mask reduces to pairs of equal channels, with the name of
    what sums these up.
    """
    for instruction in flow.by_id.values():
        if instruction.opcode == "convolution" and (count := _masked_groups(instruction, flow)):
            instruction.batch_group_count = count
            instruction.shape.dimensions[instruction.convolution_dimension_numbers.output_batch_dimension] = 1
            names = sorted(flow.uses(Value(instruction.id)))
            instruction.metadata.op_name = instruction.metadata.op_name or next(iter(names), "")


def _masked_groups(instruction: Any, flow: Flow) -> int:
    """The channels of a convolution of all their pairs, of which only the pairs of equal ones are used; 0 of others."""
    axes, sizes = instruction.convolution_dimension_numbers, list(instruction.shape.dimensions)
    places = (axes.output_batch_dimension, axes.output_feature_dimension)
    if max(instruction.batch_group_count, instruction.feature_group_count) > 1 or max(places) >= len(sizes):
        return 0
    first, second = (sizes[place] for place in places)
    takers = flow.takers(Value(instruction.id)) if first == second > 1 else []
    return first if takers and all(_keeps_equal(taker, flow) for taker in takers) else 0


def _keeps_equal(taker: Any, flow: Flow) -> bool:
    """Whether an instruction selects the elements of which two indices are equal."""
    mask = flow.by_id.get(taker.operand_ids[0]) if taker.opcode == "select" and taker.operand_ids else None
    while mask is not None and mask.opcode in (*SAME, "broadcast") and mask.operand_ids:
        mask = flow.by_id.get(mask.operand_ids[0])
    compared = [flow.by_id[i].opcode for i in mask.operand_ids if i in flow.by_id] if mask is not None else []
    return mask is not None and mask.opcode == "compare" and compared == ["iota", "iota"]
