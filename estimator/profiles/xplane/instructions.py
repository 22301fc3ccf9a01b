"""The instructions of XLA's compiled programs (HLO), each as columns of OPS.

Message: xla/service/hlo.proto; the meaning of instructions: https://openxla.org/xla/operation_semantics.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from estimator.core.attributes import ACROSS_LINK
from estimator.profiles import phases
from estimator.profiles.xplane import attention
from estimator.profiles.xplane.fusions import DEEPEST, Fusion

PRECISIONS = {
    10: "fp16", 11: "fp32", 12: "fp64", 16: "bf16", 2: "int8", 6: "int8", 21: "int4", 22: "int4",
    19: "fp8", 20: "fp8", 23: "fp8", 24: "fp8", 25: "fp8", 28: "fp8", 29: "fp8", 32: "fp4",
}  # fmt: skip  # of PrimitiveType that have a place among the project's precisions
FLOATS = ("fp64", "fp32", "fp16", "bf16")  # formats of weights and states
NUMBERED = re.compile(r"[.\d]+$")
MATRIX = ("dot", "convolution")
CONVOLUTION_CALL = "__cudnn$conv"  # before the name of a library's pass; its labels are those of the forward pass
COPIES = re.compile(r"(copy|(dynamic-(update-)?)?slice|async)(-start|-update|-done)?|(send|recv)(-done)?")
HOST_MEMORY = 5  # the memory space of a layout, ``S(5)`` in XLA's texts
AXES = {  # of a product, and what OPS' attributes call them
    "lhs_contracting_dimensions": "contract_a",
    "rhs_contracting_dimensions": "contract_b",
    "lhs_batch_dimensions": "batch_a",
    "rhs_batch_dimensions": "batch_b",
}


@dataclass(frozen=True)
class Instruction:
    """One instruction as columns of OPS; ``share`` is its part of a fusion's work, 1 outside of fusions."""

    op_type: str
    kernel: str
    path: str  # op in the framework's program, such as "jit(step)/transpose(jvp())/dot_general"
    shapes: str | None
    output_shapes: str | None
    attributes: str | None
    precision: str | None
    share: float = 1.0


def strip_number(name: str) -> str:
    """An instruction's name without its number, which is often its opcode: ``fusion.12`` → ``fusion``."""
    return NUMBERED.sub("", name) or name


def parts(instruction: Any, by_id: Mapping[int, Any], computations: Mapping[int, Any]) -> Iterator[Instruction]:
    """Yield the instruction, or the matrix products inside a fusion with their shares of its work."""
    inner = list(_inside(instruction, computations)) if instruction.opcode == "fusion" else []
    products = [i for i in inner if i.opcode in MATRIX or _is_library_product(i)]
    if not products:
        fusion = _fusion(instruction, computations)
        runs = instruction if fusion is None or fusion.root is None else fusion.root
        kernel = instruction.custom_call_target or _opcode(runs)
        yield replace(_describe(instruction, by_id, fusion), kernel=kernel)
        return
    flop = [_flop(product, by_id) for product in products]
    for product, part in zip(products, flop, strict=True):
        share = part / sum(flop) if sum(flop) else 1 / len(flop)
        described = _describe(product, by_id)
        yield replace(described, op_type="fusion", kernel=product.custom_call_target or described.kernel, share=share)


def _opcode(instruction: Any) -> str:
    """The instruction's opcode; of a convolution without a window, as TPUs run products, that of a product."""
    return "dot" if _is_product(instruction) else str(instruction.opcode)


def _is_library_product(instruction: Any) -> bool:
    """Whether an instruction calls a library's convolution or product, as a fusion of slices around it may hold."""
    if instruction.opcode != "custom-call":
        return False
    convolves = instruction.custom_call_target.startswith(CONVOLUTION_CALL)
    return convolves or any(_configured_axes(instruction.backend_config).values())


def _is_product(instruction: Any) -> bool:
    groups = max(instruction.feature_group_count, instruction.batch_group_count)
    return instruction.opcode == "convolution" and not instruction.window.dimensions and groups <= 1


def _inside(instruction: Any, computations: Mapping[int, Any], depth: int = 0) -> Iterator[Any]:
    """Yield the instructions of all computations that a fusion calls."""
    for called in instruction.called_computation_ids:
        for inner in computations[called].instructions if called in computations and depth < DEEPEST else ():
            yield inner
            yield from _inside(inner, computations, depth + 1)


def _fusion(instruction: Any, computations: Mapping[int, Any]) -> Fusion | None:
    """The computation of a fusion; None for any other instruction."""
    called = [computations[c] for c in instruction.called_computation_ids if c in computations]
    is_fusion = instruction.opcode == "fusion" and len(called) == 1
    return Fusion(called[0].instructions, called[0].root_id) if is_fusion else None


def _describe(instruction: Any, by_id: Mapping[int, Any], fusion: Fusion | None = None) -> Instruction:
    operands = [by_id[i].shape for i in instruction.operand_ids if i in by_id]
    read = operands if fusion is None else fusion.read(operands)
    shapes = [shape for operand in read for shape in flat(operand)]
    sizes, attributes = _listed(instruction, [shape.dimensions for shape in shapes])
    outputs = list(flat(instruction.shape))
    outputs = outputs if fusion is None else fusion.written(outputs)
    across_link = ACROSS_LINK if _crosses_link(instruction, [*shapes, *outputs]) else ""
    precisions = [PRECISIONS[s.element_type] for s in (*shapes, *outputs) if s.element_type in PRECISIONS]
    return Instruction(
        op_type=_opcode(instruction),
        kernel=_opcode(instruction),
        path=instruction.metadata.op_name,
        shapes=";".join(map(_shape_text, sizes)) or None,
        output_shapes=";".join(_shape_text(shape.dimensions) for shape in outputs) or None,
        attributes=attributes or _cast(instruction, operands) or across_link or _ranks(instruction) or None,
        precision=precisions[0] if precisions else None,
    )


def _listed(instruction: Any, sizes: Sequence[Sequence[int]]) -> tuple[Sequence[Sequence[int]], str]:
    """The sizes of the operands, and the attributes; of attention those that its configuration tells."""
    if instruction.custom_call_target.startswith(attention.CALL):
        return attention.read_operands(instruction.backend_config, sizes)
    return sizes, _attributes(instruction)


def _crosses_link(instruction: Any, shapes: Sequence[Any]) -> bool:
    """Whether a copy, or the wait for one, has the host's memory at one of its ends."""
    in_host_memory = any(shape.layout.memory_space == HOST_MEMORY for shape in shapes)
    return bool(COPIES.fullmatch(instruction.opcode)) and (in_host_memory or instruction.is_host_transfer)


def _cast(instruction: Any, operands: Sequence[Any]) -> str:
    """The formats of a conversion; ``other`` where a type is no precision of OPS."""
    if instruction.opcode != "convert" or len(operands) != 1:
        return ""
    source, to = (PRECISIONS.get(shape.element_type, "other") for shape in (operands[0], instruction.shape))
    return f"from={source};to={to}"


def _ranks(instruction: Any) -> str:
    """How many devices exchange the message of a collective; empty where it states no groups, or unlike ones."""
    listed = instruction.collective_device_list
    sizes = {len(group.replica_ids) for group in (*instruction.replica_groups, *listed.replica_groups)}
    sizes |= {listed.iota_replica_group_list.num_devices_per_group, _along_mesh(instruction.mesh_groups)}
    sizes -= {0}
    return f"ranks={sizes.pop()}" if len(sizes) == 1 else ""


def _along_mesh(groups: Any) -> int:
    """How many devices are in each group along some axes of a mesh; 0 where no axes, or unknown ones, are stated."""
    sizes = [axis.size for axis in groups.mesh.axes]
    if not groups.axes or any(axis.mesh_axis_index >= len(sizes) for axis in groups.axes):
        return 0
    return math.prod(axis.sub_axis_info.size or sizes[axis.mesh_axis_index] for axis in groups.axes)


def flat(shape: Any, depth: int = 0) -> Iterator[Any]:
    """Yield the arrays of a shape, which may be a tuple."""
    if not shape.tuple_shapes:
        yield shape
    for part in shape.tuple_shapes if depth < DEEPEST else ():
        yield from flat(part, depth + 1)


def _shape_text(dimensions: Sequence[int]) -> str:
    return _joined(dimensions) or "1"


def _joined(values: Sequence[int]) -> str:
    """Whole numbers as one word, '3x3'."""
    return "x".join(map(str, values))


def _attributes(instruction: Any) -> str:
    if instruction.opcode == "dot":
        numbers = instruction.dot_dimension_numbers
        return _dot({name: getattr(numbers, name) for name in AXES})
    if _is_product(instruction):
        axes = instruction.convolution_dimension_numbers
        return _dot(
            dict(zip(AXES, ([axes.input_feature_dimension], [axes.kernel_input_feature_dimension]), strict=False))
        )
    if instruction.opcode == "convolution" or instruction.custom_call_target.startswith(CONVOLUTION_CALL):
        return _convolution(instruction)
    return _dot(_configured_axes(instruction.backend_config)) if instruction.opcode == "custom-call" else ""


def _dot(axes: Mapping[str, Sequence[int]]) -> str:
    return ";".join(f"{AXES[name]}={_joined(places)}" for name, places in axes.items() if places)


def _configured_axes(config: bytes) -> dict[str, list[int]]:
    """The axes of a library's product, from the call's configuration; empty where that holds none."""
    try:
        numbers = json.loads(config)["gemm_backend_config"]["dot_dimension_numbers"]
        return {name: [int(axis) for axis in numbers.get(name, ())] for name in AXES}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def _convolution(instruction: Any) -> str:
    window = instruction.window.dimensions
    values = {
        "labels": _labels(instruction.convolution_dimension_numbers),
        "window": _joined([w.size for w in window]),
        "strides": _joined([w.stride or 1 for w in window]),
        "pads": "x".join(f"{w.padding_low}_{w.padding_high}" for w in window),
        "lhs_dilations": _joined([w.base_dilation or 1 for w in window]),
        "rhs_dilations": _joined([w.window_dilation or 1 for w in window]),
        "groups": str(instruction.feature_group_count or 1),
        "batch_groups": str(instruction.batch_group_count or 1),
    }
    if (path := instruction.metadata.op_name) and not phases.BACKWARD.search(path):
        values["pass"] = "forward"
    return ";".join(f"{name}={value}" for name, value in values.items())


def _labels(numbers: Any) -> str:
    """The meaning of each axis, as XLA prints it: 'b01f_01io->b01f'."""
    n = numbers
    sides = (
        ("bf", (n.input_batch_dimension, n.input_feature_dimension), n.input_spatial_dimensions),
        ("io", (n.kernel_input_feature_dimension, n.kernel_output_feature_dimension), n.kernel_spatial_dimensions),
        ("bf", (n.output_batch_dimension, n.output_feature_dimension), n.output_spatial_dimensions),
    )
    lhs, rhs, out = (_axes(*side) for side in sides)
    return f"{lhs}_{rhs}->{out}"


def _axes(letters: str, places: tuple[int, int], spatial: Sequence[int]) -> str:
    by_axis = {**dict(zip(places, letters, strict=True)), **{place: str(i) for i, place in enumerate(spatial)}}
    return "".join(letter for _, letter in sorted(by_axis.items()))


def _flop(instruction: Any, by_id: Mapping[int, Any]) -> float:
    """FLOP of a product, precise enough to share a fusion's time among several."""
    output = math.prod(instruction.shape.dimensions)
    operands = [by_id[i].shape.dimensions for i in instruction.operand_ids if i in by_id]
    if instruction.opcode == "convolution":
        out_axis = instruction.convolution_dimension_numbers.kernel_output_feature_dimension
        kernel = operands[1] if len(operands) > 1 else ()
        summed = [size for axis, size in enumerate(kernel) if axis != out_axis]
    else:
        axes = instruction.dot_dimension_numbers.lhs_contracting_dimensions
        summed = [operands[0][axis] for axis in axes if operands and axis < len(operands[0])]
    return 2.0 * float(output * math.prod(summed))
