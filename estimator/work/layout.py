"""What a library adds that works channels first where a step has its images channels last: WORK → WORK.

TensorFlow on a GPU hands convolutions of fp32 and gradients of pools to kernels of cuDNN that have channels first.
Where the graph has them last, each such op transposes inside: every image that it takes is read and written once more
before, every image that it makes behind (conv_ops.cc, pooling_ops_common.cc of TensorFlow 1.x and 2.x, from memory).
Images of one channel lie alike in both. An optimizer of graphs that turns whole chains of ops channels first needs
fewer: this is the most.
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

TRANSPOSES = " (transposes)"  # behind the name of the op
PRECISION = "fp32"  # kernels for 16 bits have channels last
TRANSPOSED = (  # operators whose kernels work channels first; maxima have one with channels last
    "convolution", "convolution_grad_input", "convolution_grad_weights", "avg_pool", "max_pool_grad", "avg_pool_grad",
)  # fmt: skip
IMAGES = ("image", "output")  # roles of operands
KEPT = ["placement", "stream", "rank", "phase", "precision"]  # of the op, for its transposes


def convert_layout(work: pd.DataFrame, workload: Workload, layout: Layout) -> Transformed:
    """WORK with a row of transposes behind the others for each op on channels-last images that the target's library
    runs ``channels-first``; WORK itself at ``none``. They take no time on the source.
    """
    if layout == "none":
        return Transformed(work, changed=False)
    parsed_ops = shapes.parse_ops(work, workload.batch_size)
    found = parsed_ops.each(work["precision"] == PRECISION, _images, "layout")
    amounts = {"count": parsed_ops.spread(found, len), "elements": parsed_ops.spread(found, _elements)}
    number = pd.DataFrame(amounts, index=work.index)
    rows = (number["elements"] > 0) & (work["precision"] == PRECISION)
    transposes = _transposes(work[rows], number[rows])
    unknown = int((number["count"].notna() & number["elements"].isna()).sum())
    notes = with_code("layout", _sentences(transposes, unknown))
    if not rows.any():
        return Transformed(work, changed=False, notes=notes)
    converted = WORK.conform(pd.concat([work, transposes], ignore_index=True), "layout")
    return Transformed(converted, changed=True, notes=notes)


def _images(op: shapes.Op) -> list[shapes.Shape | None] | None:
    """The images that an op takes and makes, channels last, of more than one channel; None of other ops."""
    rule = op.asked
    known = rule.operator in TRANSPOSED and rule.operands and not (rule.depthwise or rule.channels_first)
    if not known or not op.attributes.get("layout", "NHWC").endswith("C"):
        return None
    places = [place for place, role in enumerate(rule.operands) if role in IMAGES]
    taken = [op.operands[place] if place < len(op.operands) else None for place in places]
    makes_image = rule.of.direction != "grad_weights"
    results = (2 if rule.fused_bias else 1) if makes_image else 0  # a bias is fused on processors alone
    made = [op.outputs[0] if op.outputs else None] * results
    return [image for image in (*taken, *made) if image is None or image[-1] > 1]


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


def _sentences(transposes: pd.DataFrame, unknown: int) -> Iterator[str]:
    if len(transposes):
        yield (
            f"the target's library is taken to have channels first: {len(transposes)} convolutions and pools on "
            f"{PRECISION} images with channels last transpose them inside, "
            f"{units.show(transposes['bytes'].sum(), 'B', 4)} of traffic more a step"
        )
    elif not unknown:
        yield f"no op on {PRECISION} images with channels last is known that a channels-first library would transpose"
    if unknown:
        yield f"{unknown} convolutions and pools have no shapes that tell their images: their transposes are free"
