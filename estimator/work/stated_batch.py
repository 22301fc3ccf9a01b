"""Whether the sizes of a profile's ops can be those of the batch that is stated."""

from __future__ import annotations

import re

import pandas as pd

from estimator.core.notes import Note
from estimator.core.types import Workload

TEXTS = ("shapes", "output_shapes")
OF_PRODUCTS = ("batch", "m", "n", "k")
NAMED = -1  # the batch, where a shape names it


def contradiction(work: pd.DataFrame, workload: Workload) -> str:
    """Why a WORK table cannot be of its workload's batch; empty where it can.

    It can where a size is a multiple of the batch. With convolutions and pools, it is their number of images, or the
    first size of what they read: XLA writes gradients of weights as convolutions of other images.
    """
    has_images = work["conv_n"].notna()
    batch, images = workload.batch_size, {int(size) for size in work["conv_n"][has_images].unique()}
    sizes = images | _first_sizes(work["shapes"][has_images]) if images else _sizes(work)
    if batch is None or not sizes or any(size == NAMED or (size > 0 and size % batch == 0) for size in sizes):
        return ""
    if not images:
        return f"batch_size is {batch}, but no size of any op is a multiple of it"
    listed = " or ".join(map(str, sorted(images)[:3])) + (" or more" if len(images) > 3 else "")
    return f"batch_size is {batch}, but convolutions and pools take {listed} images"


def contradicted_batch(work: pd.DataFrame, workload: Workload) -> tuple[Note, ...]:
    """A note where a WORK table cannot be of its workload's batch."""
    fault = contradiction(work, workload)
    text = f"{fault}: correct it, unless a step adds up the gradients of several smaller batches"
    return (Note("batch-contradicted", text),) if fault else ()


def _first_sizes(shapes: pd.Series) -> set[int]:
    """The first size of each cell of shapes."""
    return {int(match.group()) for text in shapes.dropna().unique() if (match := re.match(r"-?\d+", text))}


def _sizes(work: pd.DataFrame) -> set[int]:
    """All dimensions of operands, results and products."""
    texts = {text for name in TEXTS for text in work[name].dropna().unique()}
    of_products = {int(size) for name in OF_PRODUCTS for size in work[name].dropna().unique()}
    return of_products.union(*(map(int, re.findall(r"-?\d+", text)) for text in texts))
