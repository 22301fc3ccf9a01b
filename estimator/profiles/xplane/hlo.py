"""XLA's compiled programs (HLO): the instructions by name, as events refer to them.

Message: xla/service/hlo.proto; the meaning of instructions: https://openxla.org/xla/operation_semantics.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from estimator.core.attributes import ACROSS_LINK
from estimator.profiles import messages, phases
from estimator.profiles.xplane import attention, passes
from estimator.profiles.xplane.depthwise import restore_groups
from estimator.profiles.xplane.flow import WHOLE, Flow, Value
from estimator.profiles.xplane.fusions import Fusion
from estimator.profiles.xplane.state import Array, State, Taken, kept_state

PRECISIONS = {
    10: "fp16", 11: "fp32", 12: "fp64", 16: "bf16", 2: "int8", 6: "int8", 21: "int4", 22: "int4",
    19: "fp8", 20: "fp8", 23: "fp8", 24: "fp8", 25: "fp8", 28: "fp8", 29: "fp8", 32: "fp4",
}  # fmt: skip  # of PrimitiveType that have a place among the project's precisions
NUMBERED = re.compile(r"[.\d]+$")
MATRIX = ("dot", "convolution")
CONVOLUTION_CALL = "__cudnn$conv"  # before the name of a library's pass; its labels are those of the forward pass
COPIES = re.compile(r"(copy|(dynamic-(update-)?)?slice|async)(-start|-update|-done)?|(send|recv)(-done)?")
HOST_MEMORY = 5  # the memory space of a layout, ``S(5)`` in XLA's texts
SENDS = re.compile(r"(ragged-)?all-|reduce-scatter|collective-")  # begins the opcodes of collectives
WHOLE_SHARDINGS = (0, 1)  # replicated, or on one device: OpSharding's types
FLOATS = ("fp64", "fp32", "fp16", "bf16")  # formats of weights and states
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


@dataclass(frozen=True)
class Turn:
    """What runs several steps: a loop, or a program whose steps were written one behind the other.

    ``steps``: how many, each time that its instructions run.
    """

    name: str
    steps: int = 1


@dataclass(frozen=True)
class Program:
    """A program's instructions by name, what it keeps from run to run, and what of it runs several steps.

    ``loops`` gives this by the instructions that run once a turn.
    """

    instructions: Mapping[str, tuple[Instruction, ...]]
    state: State | None = None
    loops: Mapping[str, Turn] = field(default_factory=dict)


NO_PROGRAM = Program({})


def strip_number(name: str) -> str:
    """An instruction's name without its number, which is often its opcode: ``fusion.12`` → ``fusion``."""
    return NUMBERED.sub("", name) or name


def read_program(content: bytes, where: str) -> tuple[str, Program]:
    """The module's name, and the program. Raises EstimatorError."""
    module = messages.parse("HloProto", content, where).hlo_module
    computations = {computation.id: computation for computation in module.computations}
    flow = Flow(module)
    restore_groups(flow)
    instructions = {i.name: tuple(_parts(i, flow.by_id, computations)) for i in flow.by_id.values()}
    loops: dict[str, Turn] = {}
    for loop in passes.loops_of_steps(flow):
        body, name = loop.called_computation_ids[0], loop.metadata.op_name
        turn = Turn(f"{module.name}.{body}", passes.steps_in_a_row(flow, body))
        loops |= {i.name: turn for i in flow.instructions[body]}
        inside = [i.name for each in (body, *flow.called(body)) for i in flow.instructions.get(each, ())]
        instructions |= {each: tuple(_of_turn(part, name) for part in instructions[each]) for each in inside}
    entry = module.entry_computation_id
    if not loops and (steps := passes.steps_in_a_row(flow, entry)) > 1:
        loops = {i.name: Turn(module.name, steps) for i in flow.instructions[entry]}
    return module.name, Program(instructions, _state(module, flow), loops)


def _of_turn(instruction: Instruction, loop: str) -> Instruction:
    """An instruction as that of one step, by the name of the loop over steps that it is in."""
    program, inside = instruction.path.partition("/")[0], f"{loop}/body/"
    if not instruction.path.startswith(inside):
        return instruction
    return replace(instruction, path=f"{program}/{instruction.path.removeprefix(inside)}")


def _state(module: Any, flow: Flow) -> State | None:
    """What the entry computation keeps; None where parts of arrays may be on other devices."""
    entry = flow.instructions.get(module.entry_computation_id)
    root = flow.by_id.get(flow.roots.get(module.entry_computation_id))
    if entry is None or root is None:
        return None
    given = [(Value(root.id, place), array) for place, array in _places(root.shape)]
    if _is_divided(module, flow, {array for _, array in given}):
        return None
    back = {passes.unchanged(flow, value) for value, _ in given}
    taken = [
        Taken(i.metadata.op_name, array, passes.use(flow, Value(i.id, place)), i.id in back)
        for i in entry
        if i.opcode == "parameter"
        for place, array in _places(i.shape)
    ]
    made = [(value, array) for value, array in given if not passes.of_forward_pass(flow, value)]
    gradients = [array for value, array in made if passes.is_gradient(flow, value)]
    return kept_state(taken, [array for _, array in made], gradients)


def _is_divided(module: Any, flow: Flow, given: Collection[Array]) -> bool:
    """Whether devices may hold parts of arrays that a program gives back: it sends, and nothing says that they do not.

    A device's copy in an array of all copies, as ``jax.pmap`` takes it, is whole. Replicas take copies.
    """
    sends = {i.opcode for i in flow.by_id.values() if SENDS.match(i.opcode)}
    reduces_alone = all(opcode.startswith("all-reduce") for opcode in sends)
    has_partitions = module.device_assignment.computation_count != 1
    taken = [i for i in flow.instructions[module.entry_computation_id] if i.opcode == "parameter"]
    kept = [i for i in taken if any(array in given for array in _arrays(i.shape))]
    whole = (_is_whole(i, reduces_alone) if i.HasField("sharding") else not has_partitions for i in kept)
    return bool(sends) and not all(whole)


def _is_whole(parameter: Any, reduces_alone: bool) -> bool:
    """Whether each device holds all of an array, or its own copy of what all-reduces alone concern."""
    sharding, first = parameter.sharding, list(parameter.shape.dimensions)[:1]
    is_copy = first == [1] and set(sharding.tile_assignment_dimensions[1:]) <= {1}
    return sharding.type in WHOLE_SHARDINGS or (is_copy and reduces_alone)


def _places(shape: Any) -> Iterator[tuple[int, Array]]:
    """Yield the arrays of floating-point numbers of a shape, scalars apart, with their places where it is a tuple."""
    parts = enumerate(shape.tuple_shapes) if shape.tuple_shapes else [(WHOLE, shape)]
    yield from ((place, array) for place, part in parts for array in _arrays(part))


def _arrays(shape: Any) -> list[Array]:
    """The arrays of floating-point numbers of a shape, scalars apart."""
    named = [(PRECISIONS.get(each.element_type, ""), tuple(each.dimensions)) for each in _flat(shape)]
    return [(precision, sizes) for precision, sizes in named if sizes and precision in FLOATS]


def _parts(instruction: Any, by_id: Mapping[int, Any], computations: Mapping[int, Any]) -> Iterator[Instruction]:
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
        for inner in computations[called].instructions if called in computations and depth < 8 else ():
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
    shapes = [shape for operand in read for shape in _flat(operand)]
    sizes, attributes = _listed(instruction, [shape.dimensions for shape in shapes])
    outputs = list(_flat(instruction.shape))
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
    groups = {len(group.replica_ids) for group in (*instruction.replica_groups, *listed.replica_groups)}
    sizes = (groups | {listed.iota_replica_group_list.num_devices_per_group, _along_mesh(instruction.mesh_groups)}) - {
        0
    }
    return f"ranks={sizes.pop()}" if len(sizes) == 1 else ""


def _along_mesh(groups: Any) -> int:
    """How many devices are in each group along some axes of a mesh; 0 where no axes, or unknown ones, are stated."""
    sizes = [axis.size for axis in groups.mesh.axes]
    if not groups.axes or any(axis.mesh_axis_index >= len(sizes) for axis in groups.axes):
        return 0
    return math.prod(axis.sub_axis_info.size or sizes[axis.mesh_axis_index] for axis in groups.axes)


def _flat(shape: Any, depth: int = 0) -> Iterator[Any]:
    """Yield the arrays of a shape, which may be a tuple."""
    if not shape.tuple_shapes:
        yield shape
    for part in shape.tuple_shapes if depth < 8 else ():
        yield from _flat(part, depth + 1)


def _shape_text(dimensions: Sequence[int]) -> str:
    return joined(dimensions) or "1"


def joined(values: Sequence[int]) -> str:
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
    return ";".join(f"{AXES[name]}={joined(places)}" for name, places in axes.items() if places)


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
        "window": joined([w.size for w in window]),
        "strides": joined([w.stride or 1 for w in window]),
        "pads": "x".join(f"{w.padding_low}_{w.padding_high}" for w in window),
        "lhs_dilations": joined([w.base_dilation or 1 for w in window]),
        "rhs_dilations": joined([w.window_dilation or 1 for w in window]),
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
