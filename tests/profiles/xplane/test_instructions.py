import pytest

from estimator.core.types import Workload
from estimator.profiles.xplane.instructions import Instruction
from estimator.work import count_work
from estimator.work.shapes import read_attributes
from tests.conftest import make_ops
from tests.profiles.xplane.test_hlo import BF16, F32, array, dot, parameter, program

MESH = {"axes": [{"name": "data", "size": 2}, {"name": "model", "size": 4}]}


def test_shapes_axes_and_precision_of_a_product() -> None:
    parts = program([parameter(1, 8, 4, kind=BF16), parameter(2, 4, 3, kind=BF16), dot(3, 1, 2, 8, 3)])["dot.3"]
    assert parts == (
        Instruction(
            op_type="dot",
            kernel="dot",
            path="jit(step)/jvp(Dense)/dot_general",
            shapes="8x4;4x3",
            output_shapes="8x3",
            attributes="contract_a=1;contract_b=0",
            precision="bf16",
        ),
    )


def test_products_of_a_fusion_share_its_time_by_flop() -> None:
    inner = [
        parameter(11, 8, 4),
        parameter(12, 4, 3),
        dot(13, 11, 12, 8, 3),
        parameter(14, 3, 9),
        dot(15, 13, 14, 8, 9),
    ]
    fusion = {"name": "fusion.1", "id": 3, "opcode": "fusion", "shape": array(8, 9), "called_computation_ids": [2]}
    parts = program([parameter(1, 8, 4), fusion], inner)["fusion.1"]
    assert [(part.op_type, part.kernel, part.shapes) for part in parts] == [
        ("fusion", "dot", "8x4;4x3"),
        ("fusion", "dot", "8x3;3x9"),
    ]
    assert [part.share for part in parts] == pytest.approx([96 / 312, 216 / 312])


def test_a_librarys_product_in_a_fusion_of_slices_does_its_work() -> None:
    config = b'{"gemm_backend_config":{"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"],' \
        b'"rhs_contracting_dimensions":["0"]}}}'  # fmt: skip
    call = {
        "name": "cublas", "id": 13, "opcode": "custom-call", "custom_call_target": "__cublas$gemm",
        "operand_ids": [11, 12], "shape": {"tuple_shapes": [array(8, 3), array(64)]}, "backend_config": config,
    }  # fmt: skip
    inner = [parameter(11, 8, 4), parameter(12, 4, 3), call]
    fusion = {"name": "fusion.1", "id": 3, "opcode": "fusion", "shape": array(5, 8, 3), "called_computation_ids": [2]}
    (part,) = program([parameter(1, 8, 4), fusion], inner)["fusion.1"]
    assert (part.op_type, part.kernel, part.shapes, part.share) == ("fusion", "__cublas$gemm", "8x4;4x3", 1.0)
    row = {"op_type": part.op_type, "kernel": part.kernel, "shapes": part.shapes, "attributes": part.attributes}
    work = count_work(make_ops({**row, "op": "f", "calls": 1, "time_s": 1.0}), Workload(name="toy")).work
    assert work["flop"].item() == 2 * 8 * 3 * 4


def test_a_fusion_without_products_has_the_kernel_of_its_root() -> None:
    inner = [parameter(11, 8, 4), {"name": "add.1", "id": 12, "opcode": "add", "shape": array(8, 4)}]
    fusion = {"name": "f", "id": 3, "opcode": "fusion", "operand_ids": [1], "shape": array(8, 4)}
    (part,) = program([parameter(1, 8, 4), {**fusion, "called_computation_ids": [2]}], inner)["f"]
    assert (part.op_type, part.kernel, part.shapes, part.share) == ("fusion", "add", "8x4", 1.0)


@pytest.mark.parametrize(("kind", "attributes"), [(F32, "from=fp32;to=bf16"), (4, "from=other;to=bf16")])
def test_formats_of_a_conversion(kind: int, attributes: str) -> None:
    converted = {"name": "c", "id": 2, "opcode": "convert", "shape": array(8, kind=BF16), "operand_ids": [1]}
    (part,) = program([parameter(1, 8, kind=kind), converted])["c"]
    assert part.attributes == attributes


def test_a_library_call_is_named_by_its_target() -> None:
    call = {"name": "c", "id": 3, "opcode": "custom-call", "custom_call_target": "__cublas$gemm", "shape": {}}
    outputs = {"tuple_shapes": [array(8, 3), array(16)]}
    (part,) = program([parameter(1, 8, 4), {**call, "operand_ids": [1], "shape": outputs}])["c"]
    assert (part.op_type, part.kernel, part.output_shapes) == ("custom-call", "__cublas$gemm", "8x3;16")
    assert part.attributes is None


def test_axes_of_a_library_call_come_from_its_configuration() -> None:
    numbers = '{"lhs_contracting_dimensions":["0"],"rhs_contracting_dimensions":["1"],"lhs_batch_dimensions":[]}'
    config = f'{{"gemm_backend_config":{{"alpha_real":1,"dot_dimension_numbers":{numbers}}}}}'.encode()
    call = {"name": "c", "id": 3, "opcode": "custom-call", "backend_config": config, "shape": array(8, 3)}
    (part,) = program([parameter(1, 4, 8), parameter(2, 3, 4), {**call, "operand_ids": [1, 2]}])["c"]
    assert part.attributes == "contract_a=0;contract_b=1"


def test_window_and_labels_of_a_convolution() -> None:
    numbers = {
        "input_batch_dimension": 0, "input_feature_dimension": 3, "input_spatial_dimensions": [1, 2],
        "kernel_input_feature_dimension": 2, "kernel_output_feature_dimension": 3, "kernel_spatial_dimensions": [0, 1],
        "output_batch_dimension": 0, "output_feature_dimension": 3, "output_spatial_dimensions": [1, 2],
    }  # fmt: skip
    window = {
        "dimensions": [{"size": 3, "stride": 2, "padding_high": 1}, {"size": 3, "padding_low": 1, "base_dilation": 2}]
    }
    convolution = {
        "name": "conv", "id": 3, "opcode": "convolution", "operand_ids": [1, 2], "shape": array(2, 4, 4, 16),
        "window": window, "convolution_dimension_numbers": numbers, "feature_group_count": 1,
    }  # fmt: skip
    (part,) = program([parameter(1, 2, 8, 8, 3), parameter(2, 3, 3, 3, 16), convolution])["conv"]
    assert part.attributes == (
        "labels=b01f_01io->b01f;window=3x3;strides=2x1;pads=0_1x1_0;lhs_dilations=1x2;rhs_dilations=1x1;"
        "groups=1;batch_groups=1"
    )
    for path, stated in (("jit(step)/jvp(M)/conv", "forward"), ("jit(step)/transpose(jvp(M))/conv", None)):
        named = {**convolution, "metadata": {"op_name": path}}
        (part,) = program([parameter(1, 2, 8, 8, 3), parameter(2, 3, 3, 3, 16), named])["conv"]
        assert read_attributes(part.attributes or "").get("pass") == stated


FIRST = {  # channels first
    "input_batch_dimension": 0, "input_feature_dimension": 1, "input_spatial_dimensions": [2, 3],
    "kernel_output_feature_dimension": 0, "kernel_input_feature_dimension": 1, "kernel_spatial_dimensions": [2, 3],
    "output_batch_dimension": 0, "output_feature_dimension": 1, "output_spatial_dimensions": [2, 3],
}  # fmt: skip
IMAGE, WEIGHTS, OUTPUT = (8, 3, 32, 32), (16, 3, 3, 3), (8, 16, 16, 16)


@pytest.mark.parametrize(
    ("target", "operands", "result"),
    [
        ("__cudnn$convForward", (IMAGE, WEIGHTS), OUTPUT),
        ("__cudnn$convBackwardInput", (OUTPUT, WEIGHTS), IMAGE),
        ("__cudnn$convBackwardFilter", (IMAGE, OUTPUT), WEIGHTS),
    ],
)
def test_passes_of_a_librarys_convolution_have_equal_work(
    target: str, operands: tuple[tuple[int, ...], ...], result: tuple[int, ...]
) -> None:
    window = {"dimensions": [{"size": 3, "stride": 2, "padding_low": 1, "padding_high": 1}] * 2}
    call = {"name": "c", "id": 3, "opcode": "custom-call", "custom_call_target": target, "operand_ids": [1, 2]}
    call |= {"shape": {"tuple_shapes": [array(*result), array(100)]}, "window": window, "feature_group_count": 1}
    parameters = [parameter(number, *sizes) for number, sizes in enumerate(operands, start=1)]
    (part,) = program([*parameters, {**call, "convolution_dimension_numbers": FIRST}])["c"]
    columns = ("op_type", "kernel", "shapes", "output_shapes", "attributes")
    ops = make_ops({name: getattr(part, name) for name in columns})
    assert count_work(ops, Workload(name="toy")).work["flop"].tolist() == [2 * 8 * 16 * 16 * 16 * 3 * 3 * 3]


def test_a_convolution_without_a_window_is_a_product() -> None:
    numbers = {"input_batch_dimension": 0, "input_feature_dimension": 1, "kernel_input_feature_dimension": 0}
    numbers |= {"kernel_output_feature_dimension": 1, "output_batch_dimension": 0, "output_feature_dimension": 1}
    convolution = {"name": "c", "id": 3, "opcode": "convolution", "operand_ids": [1, 2], "shape": array(8, 3)}
    convolution |= {"convolution_dimension_numbers": numbers, "feature_group_count": 1, "batch_group_count": 1}
    (part,) = program([parameter(1, 8, 4), parameter(2, 4, 3), convolution])["c"]
    assert (part.op_type, part.kernel, part.attributes) == ("dot", "dot", "contract_a=1;contract_b=0")


def in_memory(space: int, *sizes: int) -> dict[str, object]:
    return {**array(*sizes), "layout": {"memory_space": space}}


@pytest.mark.parametrize(
    ("opcode", "space", "attributes"),
    [
        ("copy-start", 5, "memory=host"),
        ("copy-done", 5, "memory=host"),
        ("async-done", 5, "memory=host"),
        ("copy", 5, "memory=host"),
        ("copy-done", 1, None),
        ("add", 5, None),
    ],
)
def test_copies_to_the_hosts_memory(opcode: str, space: int, attributes: str | None) -> None:
    outputs = {"tuple_shapes": [array(8), in_memory(space, 8)]}
    copy = {"name": "c", "id": 2, "opcode": opcode, "operand_ids": [1], "shape": outputs}
    (part,) = program([parameter(1, 8), copy])["c"]
    assert part.attributes == attributes


def test_transfers_to_the_host() -> None:
    send = {"name": "s", "id": 2, "opcode": "send-done", "operand_ids": [1], "shape": array(8)}
    parts = [program([parameter(1, 8), {**send, "is_host_transfer": to_host}])["s"] for to_host in (True, False)]
    assert [part.attributes for (part,) in parts] == ["memory=host", None]


@pytest.mark.parametrize(
    ("groups", "attributes"),
    [
        ({"replica_groups": [{"replica_ids": [0, 1, 2]}, {"replica_ids": [3, 4, 5]}]}, "ranks=3"),
        ({"collective_device_list": {"replica_groups": [{"replica_ids": [0, 1]}]}}, "ranks=2"),
        ({"collective_device_list": {"iota_replica_group_list": {"num_devices_per_group": 4}}}, "ranks=4"),
        ({"mesh_groups": {"mesh": MESH, "axes": [{}]}}, "ranks=2"),  # along the first axis
        ({"mesh_groups": {"mesh": MESH, "axes": [{}, {"mesh_axis_index": 1}]}}, "ranks=8"),
        ({"mesh_groups": {"mesh": MESH, "axes": [{"mesh_axis_index": 1, "sub_axis_info": {"size": 2}}]}}, "ranks=2"),
        ({"mesh_groups": {"mesh": MESH, "axes": [{"mesh_axis_index": 2}]}}, None),  # damaged
        ({"replica_groups": [{"replica_ids": [0]}, {"replica_ids": [1, 2]}]}, None),  # of unlike sizes
        ({}, None),  # all
    ],
)
def test_ranks_of_a_collective(groups: dict[str, object], attributes: str | None) -> None:
    reduced = {"name": "r", "opcode": "all-reduce", "id": 2, "operand_ids": [1], "shape": array(5), **groups}
    assert program([parameter(1, 5), reduced])["r"][0].attributes == attributes


def test_a_fusion_that_takes_a_slice_reads_and_writes_the_slice() -> None:
    taken = {"name": "ds", "id": 21, "opcode": "dynamic-slice", "shape": array(1, 8, 4), "operand_ids": [20]}
    fused = [{**parameter(20, 50, 8, 4), "parameter_number": 0}, taken]
    called = {"name": "f.1", "id": 3, "opcode": "fusion", "operand_ids": [1], "called_computation_ids": [2]}
    (part,) = program([parameter(1, 50, 8, 4), {**called, "shape": array(1, 8, 4)}], fused)["f.1"]
    assert (part.shapes, part.output_shapes, part.kernel) == ("1x8x4", "1x8x4", "dynamic-slice")
