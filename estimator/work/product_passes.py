"""Products of TensorFlow's loops without their sizes → sizes from the forward product of the same layer.

The gradient of a loop takes what the loop's passes have stacked, and no graph tells the sizes of that. The gradients of
Y = X·W are Y'·Wᵗ and Xᵗ·Y': they state which they are by their transposes, and have the name of the forward product.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pandas as pd

from estimator.core.notes import Note
from estimator.work.layer_passes import renamed, with_texts
from estimator.work.operators import forward_name, name_in_loop, runs_in_executor
from estimator.work.shapes import read_attributes

Sizes = tuple[str, str, str]  # m, n and k as texts, so that the batch may be named
OPEN = r"(?:^|;)(?:-1x-1|unknown)(?:;|$)"  # an operand of which more is unknown than the batch
FACTORS = re.compile(r"(-?\d+)x(\d+);(\d+)x(\d+)(?:;.*)?")
FORWARD, OF_INPUT, OF_WEIGHTS = ("n", "n"), ("n", "t"), ("t", "n")  # by the transposes of both factors


def complete_products(work: pd.DataFrame) -> tuple[pd.DataFrame, tuple[Note, ...]]:
    """WORK whose gradients of products in loops have the shapes that their forward products tell."""
    products = (work["op_class"] == "gemm") & work["m"].isna() & runs_in_executor(work)
    is_open = products & work["shapes"].str.contains(OPEN).fillna(False)
    if not is_open.any():
        return work, ()
    forward = _forward_sizes(work[products & ~is_open])
    columns = dict(_gradients(work[is_open], forward))
    if not columns:
        return work, ()
    first = str(work.at[next(iter(columns)), "op"])
    text = (
        f"{len(columns)} products (such as {first}) state not all of their sizes: those before them in their layers do"
    )
    return with_texts(work, columns), (Note("product-of-layer", text, subject=first),)


def _transposes(attributes: str) -> tuple[str | None, str | None]:
    read = read_attributes(attributes)
    return read.get("trans_a"), read.get("trans_b")


def _forward_sizes(products: pd.DataFrame) -> dict[str, Sizes]:
    """m, n and k of forward products, by the names that their gradients give them; without those that differ."""
    sizes: dict[str, set[Sizes]] = {}
    for op, shapes, attributes in products[["op", "shapes", "attributes"]].fillna("").itertuples(index=False):
        match = FACTORS.fullmatch(shapes)
        if match and match[2] == match[3] and _transposes(attributes) == FORWARD:
            sizes.setdefault(name_in_loop(op), set()).add((match[1], match[4], match[2]))
    return {name: next(iter(known)) for name, known in sizes.items() if len(known) == 1}


def _gradients(products: pd.DataFrame, forward: dict[str, Sizes]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of gradients with the shapes of their factors and of their result."""
    names = products["op"].map(forward_name)
    fused = renamed(set(names), set(forward))
    for row, name, attributes in zip(products.index, names, products["attributes"].fillna(""), strict=True):
        sizes = forward.get(fused.get(name, name))
        shapes = _gradient_shapes(*sizes).get(_transposes(attributes)) if sizes else None
        if shapes:
            yield row, dict(zip(("shapes", "output_shapes"), shapes, strict=True))


def _gradient_shapes(m: str, n: str, k: str) -> dict[tuple[str | None, str | None], tuple[str, str]]:
    """The shapes of the factors and of the result of both gradients of a product, by their transposes."""
    return {OF_INPUT: (f"{m}x{n};{k}x{n}", f"{m}x{k}"), OF_WEIGHTS: (f"{m}x{k};{m}x{n}", f"{k}x{n}")}
