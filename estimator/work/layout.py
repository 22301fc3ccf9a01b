"""Transposes that a library adds to a step whose images have another layout than its kernels: WORK → WORK.

TensorFlow on a GPU runs fp32 convolutions and gradients of pools with channels-first kernels of cuDNN. On channels-last
images, each such op transposes inside: it reads and writes every input image once more before the kernel, and every
output image once more after it (conv_ops.cc, pooling_ops_common.cc of TensorFlow 1.x and 2.x, from memory). Images of
one channel are equal in both layouts. A graph optimizer converts whole chains of ops, whose transposes then cancel. A
chain ends at an op that fixes the order of the axes, as the one before each 1D convolution that makes its rows images
(TensorFlow, grappler/optimizers/generic_layout_optimizer_transposer.cc, IsLayoutAgnosticOp: no ExpandDims).

PyTorch's images have channels first unless a program asks otherwise. cuDNN's kernels for tensor units have channels
last: each pass of such a convolution transposes image, weights and output (NVIDIA, "Convolutional Layers User's Guide",
section "Tensor Layouts In Memory: NCHW vs NHWC"). A convolution of single points at stride 1 is a matrix product in
either layout, and a depthwise one runs without tensor units (PyTorch, aten/src/ATen/native/Convolution.cpp).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import pandas as pd

from estimator.core import units
from estimator.core.attributes import INSIDE, attribute_values, has_attribute
from estimator.core.conv_shape import ConvShape, is_depthwise
from estimator.core.notes import Note, with_code
from estimator.core.types import Layout, Workload, itemsizes
from estimator.work import shapes
from estimator.work.added_kernels import append, kernels_of
from estimator.work.transformed import Transformed

TRANSPOSES = " (transposes)"  # suffix of the op's name
PRECISION = "fp32"  # kernels for 16 bits have channels last
TRANSPOSED = (  # operators with channels-first kernels only; max pools have a channels-last kernel
    "convolution", "convolution_grad_input", "convolution_grad_weights", "avg_pool", "max_pool_grad", "avg_pool_grad",
)  # fmt: skip
IMAGES = ("image", "output")  # roles of operands
MATRIX_FORMATS = ("tf32", "bf16", "fp16")  # of convolutions on matrix units
OF_CONVOLUTION = 3  # transposed tensors: image, weights and output


def convert_layout(work: pd.DataFrame, workload: Workload, layout: Layout) -> Transformed:
    """WORK with a row of transposes appended for each op on channels-last images that the target's library runs
    ``channels-first``; for ``converted`` only on images of one dimension; for ``channels-last`` of each convolution on
    channels-first images that runs on matrix units; WORK itself for ``none``.

    The transposes take no time on the source.
    """
    if layout == "none":
        return Transformed(work, changed=False)
    if layout == "channels-last":
        return _around_matrix_units(work)
    parsed_ops = shapes.parse_ops(work, workload.batch_size)
    read = _images if layout == "channels-first" else _one_dimensional_images
    images = parsed_ops.read_each(work["precision"] == PRECISION, read, "layout")
    amounts = {"count": parsed_ops.spread(images, len), "elements": parsed_ops.spread(images, _elements)}
    number = pd.DataFrame(amounts, index=work.index)
    rows = (number["elements"] > 0) & (work["precision"] == PRECISION)
    transposes = _transposes(work[rows], number[rows])
    unknown = int((number["count"].notna() & number["elements"].isna()).sum())
    notes = with_code("layout", _sentences(transposes, unknown, layout))
    if not rows.any():
        return Transformed(work, changed=False, notes=notes)
    return Transformed(append(work, transposes), changed=True, notes=notes)


def ran_on_matrix_units(work: pd.DataFrame) -> bool:
    """Whether convolutions that a library may transpose ran in formats of matrix units; a GPU's profile then has the
    transposes around them.
    """
    ran = work["precision"].isin(MATRIX_FORMATS) & (work["op_class"] == "convolution")
    return bool((ran & ~_in_place(work)).any())


def _around_matrix_units(work: pd.DataFrame) -> Transformed:
    """WORK with the transposes of the convolutions on channels-first images that run on matrix units."""
    rows = (work["op_class"] == "convolution") & work["conv_n"].notna() & work["precision"].isin(MATRIX_FORMATS)
    rows &= attribute_values(work, "layout", "NC.*").notna() & ~_in_place(work)
    if not rows.any():
        return Transformed(work, changed=False)
    around = work[rows]
    elements = pd.Series(ConvShape.from_table(around).bytes(1.0), index=around.index)
    transposes = _transposes(around, pd.DataFrame({"count": OF_CONVOLUTION, "elements": elements}))
    text = (
        f"kernels for matrix units need channels last: {len(transposes)} convolutions on images with channels first "
        f"transpose image, weights and output, {units.show(transposes['bytes'].sum(), 'B', 4)} more traffic a step"
    )
    return Transformed(append(work, transposes), changed=True, notes=(Note("layout", text),))


def _in_place(work: pd.DataFrame) -> pd.Series:
    """Convolutions that no library transposes: of single points at stride 1, depthwise ones, and channels last."""
    points = [work[name].fillna(1) == 1 for name in ("conv_t", "conv_r", "conv_s", "stride_d", "stride_h", "stride_w")]
    return pd.concat(points, axis=1).all(axis=1) | is_depthwise(work) | has_attribute(work, "channels_last=1")


def _images(op: shapes.Op) -> list[shapes.Shape | None] | None:
    """The channels-last images of more than one channel that an op reads and writes; None for other ops."""
    rule = op.type_rule
    known = rule.operator in TRANSPOSED and rule.operands and not (rule.depthwise or rule.channels_first)
    if not known or not op.attributes.get("layout", "NHWC").endswith("C"):
        return None
    places = [place for place, role in enumerate(rule.operands) if role in IMAGES]
    inputs = [op.operands[place] if place < len(op.operands) else None for place in places]
    writes_image = rule.properties.direction != "grad_weights"
    result_count = (2 if rule.fused_bias else 1) if writes_image else 0  # biases are fused on processors only
    results = [op.outputs[0] if op.outputs else None] * result_count
    return [image for image in (*inputs, *results) if image is None or image[-1] > 1]


def _one_dimensional_images(op: shapes.Op) -> list[shapes.Shape | None] | None:
    """The images of an op whose images have an axis of one row or column; none of other ops."""
    images = _images(op)
    return images if images is None or any(image and 1 in image[1:-1] for image in images) else []


def _elements(images: list[shapes.Shape | None]) -> float | None:
    """Elements of all images together; None where one is unknown."""
    known = [math.prod(image) for image in images if image is not None]
    return sum(known) if len(known) == len(images) else None


def _transposes(work: pd.DataFrame, number: pd.DataFrame) -> pd.DataFrame:
    calls = work["calls"].fillna(1.0)
    bytes_ = 2.0 * number["elements"] * itemsizes(work["precision"]) * calls
    amounts = {"calls": number["count"] * calls, "bytes": bytes_, "flop": 0.0, "intensity": 0.0}
    return kernels_of(work, TRANSPOSES, "transpose", **amounts, attributes=INSIDE)


def _sentences(transposes: pd.DataFrame, unknown: int, layout: Layout) -> Iterator[str]:
    if len(transposes):
        yield (
            f"the target's library is taken to need channels first: {len(transposes)} convolutions and pools on "
            f"{PRECISION} images with channels last transpose them inside, "
            f"{units.show(transposes['bytes'].sum(), 'B', 4)} more traffic a step"
        )
    elif not unknown and layout == "channels-first":
        yield f"no op on {PRECISION} images with channels last is known: the library adds no transposes"
    if unknown:
        yield f"{unknown} convolutions and pools have no shapes that give their images: their transposes take no time"
