"""What a library adds that works channels first where a step has its images channels last: WORK → WORK.

TensorFlow on a GPU hands convolutions of fp32 and gradients of pools to kernels of cuDNN that have channels first.
Where the graph has them last, each such op transposes inside: every image that it takes is read and written once more
before, every image that it makes behind (conv_ops.cc, pooling_ops_common.cc of TensorFlow 1.x and 2.x, from memory).
Images of one channel lie alike in both. An optimizer of graphs that turns whole chains of ops channels first needs
fewer: this is the most.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import pandas as pd

from estimator.core import units
from estimator.core.schema import WORK
from estimator.core.types import Layout, Workload, itemsizes
from estimator.work import shapes

TRANSPOSES = " (transposes)"  # behind the name of the op
PRECISION = "fp32"  # kernels for 16 bits have channels last
NAME = r"_?(Mkl|Native)*"
IMAGES: tuple[tuple[re.Pattern[str], tuple[int, ...], int], ...] = tuple(  # operands' places; how often the result goes
    (re.compile(NAME + name), operands, results)
    for name, operands, results in (
        (r"Conv[23]D", (0,), 1),
        (r"FusedConv[23]D", (0,), 2),  # once more to add the bias, which is fused on processors alone
        (r"Conv[23]DBackpropInput(V2)?", (2,), 1),
        (r"Conv[23]DBackpropFilter(V2)?", (0, 2), 0),
        (r"AvgPool(3D)?", (0,), 1),  # maxima have a kernel of their own with channels last
        (r"MaxPool(3D)?Grad(V2)?", (0, 1, 2), 1),
        (r"AvgPool(3D)?Grad", (1,), 1),
    )
)
KEPT = ["placement", "stream", "rank", "phase", "precision"]  # of the op, for its transposes


def relay(work: pd.DataFrame, workload: Workload, layout: Layout) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """WORK with a row of transposes behind the others for each op on channels-last images that the target's library
    runs ``channels-first``, and sentences on it; WORK itself at ``none``. They take no time on the source.
    """
    if layout == "none":
        return work, ()
    described = shapes.describe(work, workload.batch_size)
    found = described.each(work["precision"] == PRECISION, _images, "layout")
    told = {"count": described.spread(found, len), "elements": described.spread(found, _elements)}
    number = pd.DataFrame(told, index=work.index)
    rows = (number["elements"] > 0) & (work["precision"] == PRECISION)
    transposes = _transposes(work[rows], number[rows])
    unknown = int((number["count"].notna() & number["elements"].isna()).sum())
    relaid = WORK.conform(pd.concat([work, transposes], ignore_index=True), "layout") if rows.any() else work
    return relaid, tuple(_told(transposes, unknown))


def _images(op: shapes.Op) -> list[shapes.Shape | None] | None:
    """The images that an op takes and makes, channels last, of more than one channel; None of other ops."""
    found = next(((operands, results) for name, operands, results in IMAGES if name.fullmatch(op.op_type)), None)
    if found is None or not op.attributes.get("layout", "NHWC").endswith("C"):
        return None
    operands, results = found
    taken = [op.operands[place] if place < len(op.operands) else None for place in operands]
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
        op_type="Transpose",
        op_class="movement",
        calls=number["count"] * calls,
        bytes=2.0 * number["elements"] * itemsizes(work["precision"]) * calls,
        flop=0.0,
        intensity=0.0,
        time_s=0.0,
        work_source="shapes",
    )


def _told(transposes: pd.DataFrame, unknown: int) -> Iterator[str]:
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
