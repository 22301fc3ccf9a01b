"""Reader of tfprof's ProfileProto (files ``profile_NNN``): the graph with shapes, and the times of its traced steps.

It names op types, not kernels. A kernel that fuses a product with the following ops is inferred where an op such as
Relu ran, but the product upstream and every node between them never ran in the same steps. The kernel is then named
``_FusedMatMul`` (``_FusedConv2D``, …) and gets the operands of that product.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from estimator.core.errors import EstimatorError
from estimator.core.types import Profile, Workload
from estimator.profiles import canonical, events, messages, phases, steps
from estimator.profiles.dump import Dump
from estimator.profiles.fusion import EPILOGUE, PRODUCT
from estimator.profiles.graph import LONGEST_FUSION, Node
from estimator.profiles.tfprof import names, node_text

FORMAT = "tfprof ProfileProto (profile_NNN)"
VIEWS = False
FIRST_NAME = ((0x0A, 0x08, 0x12, 0x0A), (0x0A, 0x12, 0x0A))  # ProfileProto.nodes, key or none, value.name
NAME = re.compile(rb"[\w.][\w.\-/>:]*")
LONGEST = 10**12  # of one step [us]; int64 holds its picoseconds

StepsOfNode = Mapping[str, frozenset[int]]  # node → the steps in which it ran
Run = tuple[int, int]  # start and duration [us]


def recognises(head: bytes) -> bool:
    """Whether the content starts with a map of nodes by number, each of which begins with its name."""
    names = (messages.opening(head, tags) for tags in FIRST_NAME)
    return any(name is not None and NAME.fullmatch(name) for name in names)


def read(dumps: list[Dump], workload: Workload) -> Profile:
    """Read one dump; op times are means over its steps. Raises EstimatorError where it cannot be read."""
    where = str(dumps[0])
    profile = messages.parse("ProfileProto", bytes(dumps[0].content), where)
    ran = {node.name: frozenset(node.execs) for node in profile.nodes.values() if node.execs}
    number = {step: i for i, step in enumerate(sorted(set().union(*ran.values())))}
    if not number:
        raise EstimatorError(f"{where}: no node of this graph ran; expected traced steps, so profile a run")
    nodes = dict(_nodes(profile))
    products = _fused(nodes, ran)
    runs: dict[int, list[Run]] = {step: [] for step in number}
    rows = []
    for node in profile.nodes.values():
        for step, exec_ in node.execs.items():
            ran_on, times = _times(exec_, f"{where}: '{node.name}' in step {step}")
            runs[step] += times
            row = _row(node.name, nodes, products.get(node.name)) | _amounts(exec_, ran_on, times)
            rows.append(row | {"step": number[step]})
    ops = phases.fill(canonical.to_ops(steps.mean(pd.DataFrame(rows), len(number)), where))
    return Profile(
        ops=ops,
        workload=names.as_profiled(workload, ops),
        device=None,
        format="tfprof ProfileProto",
        steps=len(number),
        wall_step_s=float(np.mean([_wall_s(times, where) for times in runs.values()])),
        busy_step_s=float(np.mean([events.covered(times) for times in runs.values()])) / 1e6,
        warnings=(*_fusion_warnings(products), *_launch_warnings(profile, len(number))),
    )


def _nodes(profile: Any) -> Iterator[tuple[str, Node]]:
    """Yield every node by name; its operand shapes are the output shapes of its inputs."""
    for node in profile.nodes.values():
        inputs = [(port, profile.nodes[key]) for port, key in sorted(node.inputs.items()) if key in profile.nodes]
        data = [(port, source) for port, source in inputs if source.op != "NoOp"]  # NoOps only order execution
        yield (
            node.name,
            Node(
                node.op,
                tuple(source.name for _, source in data),
                node_text.shapes_text([_operand(node, port, source) for port, source in data]),
                node_text.shapes_text([_dims(node.output_shapes[slot]) for slot in sorted(node.output_shapes)]),
                node_text.attributes(node.op, node.attrs),
                node_text.precision(node.attrs),
            ),
        )


def _operand(node: Any, port: int, source: Any) -> tuple[int, ...] | None:
    slot = node.src_output_index.get(source.id, 0)
    if slot in source.output_shapes:
        return _dims(source.output_shapes[slot])
    return _dims(node.input_shapes[port]) if port in node.input_shapes else None


def _dims(shape: Any) -> tuple[int, ...] | None:
    """The dimensions of a Tuple message: (1) for a scalar; None where it is empty, as the rank is unknown."""
    return tuple(shape.int64_values) or None


def _fused(nodes: Mapping[str, Node], ran: StepsOfNode) -> dict[str, str]:
    """Nodes that ran → the product that ran under their name; a product that fits two nodes is left out."""
    candidates = {op: _product_above(op, nodes, ran) for op in ran if op in nodes}
    fits = Counter(candidates.values())
    return {op: product for op, product in candidates.items() if product and fits[product] == 1}


def _product_above(op: str, nodes: Mapping[str, Node], ran: StepsOfNode) -> str | None:
    """The product upstream of a node, if neither it nor a node between ever ran in the node's steps."""
    steps_of_op = ran[op]
    for _ in range(LONGEST_FUSION):
        if not EPILOGUE.fullmatch(nodes[op].op_type):
            return None
        idle = [name for name in nodes[op].inputs if name in nodes and not steps_of_op & ran.get(name, frozenset())]
        product = next((name for name in idle if PRODUCT.fullmatch(nodes[name].op_type)), None)
        if product:
            return product
        op = next((name for name in idle if EPILOGUE.fullmatch(nodes[name].op_type)), op)
    return None


def _row(op: str, nodes: Mapping[str, Node], product: str | None) -> dict[str, object]:
    """The described columns of a node; a fused kernel takes the operands of the product that it contains."""
    node = nodes[op]
    described = nodes[product] if product else node
    return {
        "op": op,
        "op_type": node.op_type or None,
        "kernel": f"_Fused{described.op_type}" if product else None,
        "precision": described.precision,
        "shapes": described.shapes,
        "output_shapes": node.output_shapes,
        "attributes": described.attributes,
    }


def _amounts(exec_: Any, placement: str | None, times: list[Run]) -> dict[str, object]:
    """Placement, calls, time and bytes of a node in one step; calls count launches, which may start several kernels."""
    launched = sum(len(device.times) for device in exec_.cpu_execs.values())
    return {
        "placement": placement,
        "calls": launched or max(exec_.run_count, 1),
        "time_s": sum(duration for _, duration in times) / 1e6,
        "reported_bytes": sum(memory.requested_bytes for memory in exec_.memory_execs) if exec_.memory_execs else None,
    }


def _times(exec_: Any, where: str) -> tuple[str | None, list[Run]]:
    """A node's device, and its runs; on an accelerator the runs of kernels, not of launches."""
    execs = exec_.accelerator_execs or exec_.cpu_execs
    runs = [tuple(times.int64_values) for device in sorted(execs) for times in execs[device].times]
    for run in runs:
        if len(run) != 2 or run[0] < 0 or not 0 <= run[1] <= LONGEST:
            raise EstimatorError(f"{where}: its time is {run}; expected a start and a duration of at least 0 us")
    return min(execs, default=None), runs


def _wall_s(runs: list[Run], where: str) -> float:
    """Time from the first start to the last end [s]."""
    span = max((start + duration for start, duration in runs), default=0) - min((start for start, _ in runs), default=0)
    if span > LONGEST:
        raise EstimatorError(f"{where}: one step spans {span / 1e6:.3g} s; the dump is damaged, so copy it again")
    return span / 1e6


def _fusion_warnings(products: Mapping[str, str]) -> Iterator[str]:
    if products:
        op = min(products)
        yield (
            f"{len(products)} matrix products never ran under their own names: the times of the ops after them, "
            f"such as {op}, count as kernels that fuse both"
        )


def _launch_warnings(profile: Any, step_count: int) -> Iterator[str]:
    execs = [exec_ for node in profile.nodes.values() for exec_ in node.execs.values()]
    launch_us = sum(_total_us(exec_.cpu_execs.values()) for exec_ in execs if exec_.accelerator_execs)
    if launch_us:
        time = f"{launch_us / 1e3 / step_count:.3g} ms"
        yield f"the host's time of launching kernels, {time}, is left out: it overlaps with them"
    bare = {device for exec_ in execs if not exec_.accelerator_execs for device in exec_.cpu_execs}
    on_gpu = sorted(device for device in bare if names.is_launch_device(device))
    if on_gpu and not launch_us:
        yield names.NO_STREAM.format(device=on_gpu[0])


def _total_us(execs: Iterable[Any]) -> int:
    return sum(times.int64_values[1] for device in execs for times in device.times if len(times.int64_values) > 1)
