"""Transposes that a channels-first library adds to a step with channels-last images: WORK → WORK.

TensorFlow on a GPU runs fp32 convolutions and gradients of pools with channels-first kernels of cuDNN. On channels-last
images, each such op transposes inside: it reads and writes every input image once more before the kernel, and every
output image once more after it (conv_ops.cc, pooling_ops_common.cc of TensorFlow 1.x and 2.x, from memory). Images of
one channel are equal in both layouts. A graph optimizer converts whole chains of ops, whose transposes then cancel. A
chain ends at an op that fixes the order of the axes, as the one before each 1D convolution that makes its rows images
(TensorFlow, grappler/optimizers/generic_layout_optimizer_transposer.cc, IsLayoutAgnosticOp: no ExpandDims).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import pandas as pd

from estimator.core import units
from estimator.core.notes import with_code
from estimator.core.schema import WORK
from estimator.core.types import Layout, Workload, itemsizes
from estimator.work import shapes
from estimator.work.transformed import Transformed

TRANSPOSES = " (transposes)"  # suffix of the op's name
PRECISION = "fp32"  # kernels for 16 bits have channels last
TRANSPOSED = (  # operators with channels-first kernels only; max pools have a channels-last kernel
    "convolution", "convolution_grad_input", "convolution_grad_weights", "avg_pool", "max_pool_grad", "avg_pool_grad",
)  # fmt: skip
IMAGES = ("image", "output")  # roles of operands
KEPT = ["placement", "stream", "rank", "phase", "precision"]  # of the op, for its transposes


def convert_layout(work: pd.DataFrame, workload: Workload, layout: Layout) -> Transformed:
    """WORK with a row of transposes appended for each op on channels-last images that the target's library runs
    ``channels-first``; for ``converted`` only on images of one dimension; WORK itself for ``none``.

    The transposes take no time on the source.
    """
    if layout == "none":
        return Transformed(work, changed=False)
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
    converted = WORK.conform(pd.concat([work, transposes], ignore_index=True), "layout")
    return Transformed(converted, changed=True, notes=notes)


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
    return work[KEPT].assign(
        op=work["op"] + TRANSPOSES,
        op_type="transpose",
        operator="transpose",
        op_class="movement",
        calls=number["count"] * calls,
        bytes=2.0 * number["elements"] * itemsizes(work["precision"]) * calls,
        flop=0.0,
        intensity=0.0,
        time_s=0.0,
        work_source="shapes",
    )


def _sentences(transposes: pd.DataFrame, unknown: int, layout: Layout) -> Iterator[str]:
    if len(transposes):
        yield (
            f"the target's library is taken to have channels first: {len(transposes)} convolutions and pools on "
            f"{PRECISION} images with channels last transpose them inside, "
            f"{units.show(transposes['bytes'].sum(), 'B', 4)} of traffic more a step"
        )
    elif not unknown and layout == "channels-first":
        yield f"no op on {PRECISION} images with channels last is known that a channels-first library would transpose"
    if unknown:
        yield f"{unknown} convolutions and pools have no shapes that tell their images: their transposes are free"
