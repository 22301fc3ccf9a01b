from typing import Any

import pytest

from estimator.profiles import messages
from estimator.profiles.tfprof import node_text


def attrs(**values: Any) -> Any:
    """The attributes of a node: texts, flags, lists of numbers, numbers of types."""
    node = messages.get("NodeDef")()
    for name, value in values.items():
        if isinstance(value, list):
            node.attr[name].list.i.extend(value)
        else:
            kind = {bool: "b", int: "type"}.get(type(value), "s")
            setattr(node.attr[name], kind, value)
    return node.attr


@pytest.mark.parametrize(
    ("op_type", "given", "text"),
    [
        ("MatMul", attrs(transpose_a=False, transpose_b=True), "trans_a=n;trans_b=t"),
        ("BatchMatMulV2", attrs(adj_x=True, adj_y=False), "trans_a=t;trans_b=n"),
        ("Einsum", attrs(equation=b"ab, bc -> ac"), "equation=ab,bc->ac"),
        ("Relu", attrs(), None),
        ("SelectV2", attrs(T=10), "read_bytes=1;written_bytes=1"),
        ("FFT", attrs(Tcomplex=8), "read_bytes=8;written_bytes=8"),
        ("ComplexAbs", attrs(T=8, Tout=1), "read_bytes=8"),
        ("Cast", attrs(SrcT=10, DstT=1), "from=other;to=fp32;read_bytes=1"),
        (
            "Conv2DBackpropFilter",
            attrs(strides=[1, 1, 2, 3], padding=b"VALID", data_format=b"NCHW", dilations=[1, 1, 1, 1]),
            "strides=2x3;padding=VALID;dilations=1x1;layout=NCHW;kernel_layout=HWIO;pass=grad_weights",
        ),
        (
            "Conv2D",
            attrs(strides=[1, 2, 2, 1], padding=b"EXPLICIT", explicit_paddings=[0, 0, 1, 2, 3, 4, 0, 0]),
            "strides=2x2;pads=1_2x3_4;layout=NHWC;kernel_layout=HWIO;pass=forward",
        ),
        (
            "Conv3DBackpropInputV2",
            attrs(strides=[1, 1, 2, 3, 1], padding=b"SAME"),
            "strides=1x2x3;padding=SAME;layout=NDHWC;kernel_layout=DHWIO;pass=grad_input",
        ),
        (
            "MaxPoolGrad",
            attrs(ksize=[1, 1, 2, 3], strides=[1, 1, 4, 5], padding=b"SAME", data_format=b"NCHW"),
            "window=2x3;strides=4x5;padding=SAME;layout=NCHW",
        ),
        ("Cast", attrs(SrcT=1, DstT=14), "from=fp32;to=bf16"),
        ("Cast", attrs(SrcT=3, DstT=1), "from=other;to=fp32"),
        ("AvgPool", attrs(ksize=[1, 2, 3, 1], strides=[1, 1, 1, 1]), "window=2x3;strides=1x1"),
    ],
)
def test_attributes_of_nodes_as_ops_write_them(op_type: str, given: Any, text: str | None) -> None:
    assert node_text.attributes(op_type, given) == text


def test_unknown_sizes_and_ranks_in_shape_texts() -> None:
    assert node_text.shapes_text([(-1, 3), (), None]) == "-1x3;1;unknown"
    assert node_text.shapes_text([None, None]) is None
