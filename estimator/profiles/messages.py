"""The protobuf messages of TensorFlow's and XLA's dumps, as far as the readers need them.

They have a package and a descriptor pool of their own, because capturing loads TensorFlow's in the same process.
Undeclared fields are skipped; enumerations are read as numbers. Sources: TensorFlow 2.21's
``step_stats.proto``, ``config.proto``, ``node_def.proto``, ``function.proto``, ``tfprof_log.proto``, and XLA's
``hlo.proto`` and ``xla_data.proto``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from estimator.core.errors import EstimatorError
from estimator.profiles import wire

PACKAGE = "fom_estimator"

# message -> its fields, "name number type"; * marks repeated fields, key>value maps
MESSAGES = {
    # one traced step of a TensorFlow session
    "RunMetadata": "step_stats 1 StepStats, partition_graphs 3 *GraphDef, function_graphs 4 *FunctionGraphs",
    "FunctionGraphs": (
        "partition_graphs 1 *GraphDef, pre_optimization_graph 2 GraphDef, post_optimization_graph 3 GraphDef"
    ),
    "StepStats": "dev_stats 1 *DeviceStepStats",
    "DeviceStepStats": "device 1 string, node_stats 2 *NodeExecStats",
    "NodeExecStats": (
        "node_name 1 string, all_start_micros 2 int64, op_start_rel_micros 3 int64, op_end_rel_micros 4 int64,"
        "all_end_rel_micros 5 int64, output 7 *NodeOutput, timeline_label 8 string,"
        "all_start_nanos 13 int64, op_start_rel_nanos 14 int64, op_end_rel_nanos 15 int64, all_end_rel_nanos 16 int64"
    ),
    "NodeOutput": "slot 1 int32, tensor_description 3 TensorDescription",
    "TensorDescription": "dtype 1 int32, shape 2 TensorShape",
    "TensorShape": "dim 2 *TensorDim, unknown_rank 3 bool",
    "TensorDim": "size 1 int64, name 2 string",
    # graphs
    "GraphDef": "node 1 *NodeDef, library 2 FunctionDefLibrary",
    "FunctionDefLibrary": "function 1 *FunctionDef",
    "FunctionDef": "node_def 3 *NodeDef",
    "NodeDef": "name 1 string, op 2 string, input 3 *string, device 4 string, attr 5 string>AttrValue",
    "AttrValue": "list 1 AttrList, s 2 bytes, i 3 int64, f 4 float, b 5 bool, type 6 int32, shape 7 TensorShape",
    "AttrList": "s 2 *bytes, i 3 *int64, f 4 *float, b 5 *bool, type 6 *int32, shape 7 *TensorShape",
    # tfprof
    "ProfileProto": "nodes 1 int64>ProfileNode",
    "ProfileNode": (
        "name 1 string, op 9 string, id 13 int64, inputs 2 int32>int64, input_shapes 16 int32>Tuple,"
        "output_shapes 15 int32>Tuple, src_output_index 14 int64>int32,"
        "attrs 11 string>AttrValue, execs 12 int64>ExecProfile"
    ),
    "ExecProfile": (
        "run_count 1 int64, accelerator_execs 4 string>ExecTime,cpu_execs 5 string>ExecTime, memory_execs 7 *ExecMemory"
    ),
    "ExecTime": "times 1 *Tuple",
    "ExecMemory": "requested_bytes 6 int64",
    "Tuple": "int64_values 1 *int64",
    # XLA's programs
    "HloProto": "hlo_module 1 HloModuleProto",
    "HloModuleProto": (
        "name 1 string, computations 3 *HloComputationProto, id 5 int64, entry_computation_id 6 int64,"
        "device_assignment 15 DeviceAssignmentProto"
    ),
    "DeviceAssignmentProto": "replica_count 1 int32, computation_count 2 int32",
    "HloComputationProto": "name 1 string, instructions 2 *HloInstructionProto, id 5 int64, root_id 6 int64",
    "HloInstructionProto": (
        "name 1 string, opcode 2 string, shape 3 ShapeProto, metadata 7 OpMetadata,"
        "parameter_number 9 int64, tuple_index 13 int64, dimensions 14 *int64, window 15 Window,"
        "convolution_dimension_numbers 16 ConvolutionDimensionNumbers, feature_group_count 50 int64,"
        "batch_group_count 58 int64, custom_call_target 28 string, dot_dimension_numbers 30 DotDimensionNumbers,"
        "id 35 int64, operand_ids 36 *int64, called_computation_ids 38 *int64, backend_config 43 bytes,"
        "sharding 40 OpSharding, is_host_transfer 47 bool, replica_groups 49 *ReplicaGroup,"
        "collective_device_list 87 CollectiveDeviceListProto, mesh_groups 93 MeshAxesReplicaGroupListProto"
    ),
    "OpSharding": "type 1 int32, tile_assignment_dimensions 3 *int64, replicate_on_last_tile_dim 6 bool",
    "ReplicaGroup": "replica_ids 1 *int64",
    "MeshAxesReplicaGroupListProto": "mesh 1 MeshProto, axes 2 *AxisRefProto",
    "MeshProto": "axes 1 *MeshAxis",
    "MeshAxis": "name 1 string, size 2 int64",
    "AxisRefProto": "mesh_axis_index 1 int64, sub_axis_info 2 SubAxis",
    "SubAxis": "pre_size 1 int64, size 2 int64",
    "CollectiveDeviceListProto": "replica_groups 1 *ReplicaGroup, iota_replica_group_list 2 IotaReplicaGroupListProto",
    "IotaReplicaGroupListProto": "num_replica_groups 1 int64, num_devices_per_group 2 int64",
    "ShapeProto": "element_type 2 int32, dimensions 3 *int64, tuple_shapes 4 *ShapeProto, layout 5 LayoutProto",
    "LayoutProto": "memory_space 8 int64",
    "DotDimensionNumbers": (
        "lhs_contracting_dimensions 1 *int64, rhs_contracting_dimensions 2 *int64,"
        "lhs_batch_dimensions 3 *int64, rhs_batch_dimensions 4 *int64"
    ),
    "ConvolutionDimensionNumbers": (
        "input_batch_dimension 7 int64, input_feature_dimension 8 int64, input_spatial_dimensions 11 *int64,"
        "kernel_input_feature_dimension 3 int64, kernel_output_feature_dimension 4 int64,"
        "kernel_spatial_dimensions 6 *int64, output_batch_dimension 9 int64, output_feature_dimension 10 int64,"
        "output_spatial_dimensions 12 *int64"
    ),
    "Window": "dimensions 1 *WindowDimension",
    "WindowDimension": (
        "size 1 int64, stride 2 int64, padding_low 3 int64, padding_high 4 int64, window_dilation 5 int64,"
        "base_dilation 6 int64"
    ),
    "OpMetadata": "op_type 1 string, op_name 2 string",
}


@cache
def get(name: str) -> type[Any]:
    """The class of a message of MESSAGES."""
    from google.protobuf import message_factory

    message_class: type[Any] = message_factory.GetMessageClass(_pool().FindMessageTypeByName(f"{PACKAGE}.{name}"))
    return message_class


def parse(name: str, content: bytes, where: str) -> Any:
    """The content as a message. Raises EstimatorError where it is none."""
    from google.protobuf.message import DecodeError

    try:
        return get(name).FromString(content)
    except (DecodeError, ValueError, RecursionError, MemoryError) as error:
        raise EstimatorError(
            f"{where}: this is no whole {name} message ({error}); the file is cut short or damaged, so copy it again"
        ) from None


@cache
def _pool() -> Any:
    from google.protobuf import descriptor_pb2, descriptor_pool

    file = descriptor_pb2.FileDescriptorProto(name=f"{PACKAGE}.proto", package=PACKAGE, syntax="proto3")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field in fields.split(","):
            _declare(message, *field.split())
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool


def _declare(message: Any, name: str, number: str, kind: str) -> None:
    """Add one field to a message's description; a map is a repeated pair of key and value."""
    repeated = kind.startswith("*") or ">" in kind
    if ">" in kind:
        key, value = kind.split(">")
        kind = f"{name.title().replace('_', '')}Entry"  # the name that protobuf demands
        entry = message.nested_type.add(name=kind)
        entry.options.map_entry = True
        _declare(entry, "key", "1", key)
        _declare(entry, "value", "2", value)
        kind = f"{message.name}.{kind}"
    field = message.field.add(name=name, number=int(number))
    field.label = field.LABEL_REPEATED if repeated else field.LABEL_OPTIONAL
    scalar = getattr(field, f"TYPE_{kind.strip('*').upper()}", None)
    field.type = scalar or field.TYPE_MESSAGE
    if not scalar:
        field.type_name = f".{PACKAGE}.{kind.strip('*')}"


def opening(content: bytes, tags: Sequence[int]) -> bytes | None:
    """The bytes of the innermost of nested fields with these tags, each the first of its message; None without them.

    A field's tag is 8 · number + 2 where it has a length, and 8 · number for a varint, which is skipped.
    """
    at, size = 0, len(content)
    try:
        for tag in tags:
            if content[at : at + 1] != bytes([tag]):
                return None
            size, at = wire.varint(content, at + 1, len(content))
    except EstimatorError:
        return None
    return content[at : at + size]
