"""A step profiled in one number format → the same step with its products in another: WORK → WORK.

What users of automatic mixed precision get (Micikevicius et al., "Mixed Precision Training", ICLR 2018; the op lists of
PyTorch's autocast and of Keras' mixed_bfloat16): products run in the narrow format, activations between them are stored
in it, and what loses accuracy in it stays in fp32, such as softmax, losses, sums, and the weights with what updates
them. Hence casts, which casts.py adds, and takes away where a step goes back to the wide format.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from estimator.core.notes import Note
from estimator.core.operators import attribute
from estimator.core.schema import MATRIX, STREAMING
from estimator.core.types import ITEMSIZE, Workload, itemsizes
from estimator.work.casts import WIDE, add_casts, without_casts
from estimator.work.operators import normalization_layers
from estimator.work.transformed import Transformed
from estimator.work.weights import activation_forms, holds_any, updates, weight_forms

PRODUCTS = (*MATRIX, "recurrent")
STORED = {"tf32": "fp32", "fp8": "bf16", "fp4": "bf16", "int8": "bf16", "int4": "bf16"}  # activations; else as products
FP32_OPS = (  # what core/operators.csv keeps in fp32, for people
    "softmax", "losses", "normalizations over features", "powers, exponentials and logarithms",
    "sums, products and norms", "moments and normalizations by them",
)  # fmt: skip


def convert_precision(
    work: pd.DataFrame, workload: Workload, precision: str | None, *, folded: bool = False
) -> Transformed:
    """WORK of the same step with its products in ``precision``; WORK itself at None, and where all run in it.

    Rows of casts, which take no time on the source, stand behind the others. ``folded``: a compiler fuses the casts of
    activations and gradients into the ops beside them.
    """
    before = _formats(work, workload) - {precision}
    if precision is None or not before:
        return Transformed(work, changed=False)
    stored, after = {STORED.get(p, p) for p in before}, STORED.get(precision, precision)
    narrows = ITEMSIZE[after] < ITEMSIZE[WIDE] <= max(ITEMSIZE[p] for p in stored)
    activations = work["op_class"].isin(STREAMING) & work["precision"].isin(stored) & ~_of_weights(work)
    layer = _normalization(work)
    kept = activations & (_kept(work) | layer.notna()) & (narrows and not folded)
    moved = activations & ~kept
    text = f"products run in {precision}, and {int(moved.sum())} op(s) on activations move {after}"
    notes = [Note("precision-converted", text)]
    converted = _in(work, _whole_formats(work, precision).mask(moved, after))
    if narrows:
        cast_already = work["op_class"].isin(MATRIX) & (itemsizes(work["precision"]) < ITEMSIZE[WIDE])
        converted, of_casts = add_casts(converted, workload, kept, layer, cast_already, precision, after, folded=folded)
        notes += [*_stays(kept), *of_casts]
    elif any(ITEMSIZE[p] < ITEMSIZE[WIDE] <= ITEMSIZE[after] for p in stored):
        converted, of_casts = without_casts(converted)
        notes += of_casts
    return Transformed(converted, changed=True, notes=tuple(notes))


def _formats(work: pd.DataFrame, workload: Workload) -> set[str]:
    """The formats of the products; the workload's where there are none."""
    return set(work.loc[work["op_class"].isin(PRODUCTS), "precision"]) or {workload.precision}


def _whole_formats(work: pd.DataFrame, precision: str) -> pd.Series:
    """Each row's format where only products change; fp64 is no matter of mixing, but of the whole step."""
    found = work["precision"].mask(work["op_class"].isin(PRODUCTS), precision)
    streams = work["op_class"].isin(STREAMING)
    return found.mask(streams, "fp64") if precision == "fp64" else found.mask(streams & (found == "fp64"), WIDE)


def _in(work: pd.DataFrame, precision: pd.Series) -> pd.DataFrame:
    """WORK with its rows in these formats: all traffic goes by the size of an element."""
    ratio = itemsizes(precision) / itemsizes(work["precision"])
    changed = {name: work[name] * scale for name, scale in (("bytes", ratio), ("intensity", 1 / ratio))}
    return work.assign(precision=precision, **changed)


def _of_weights(work: pd.DataFrame) -> pd.Series:
    """Rows that hold weights or their updates: tables of embeddings, optimizers, and what has the shape of a weight in
    fp32, such as a penalty on weights or a sum of their gradients. Where an activation has the same shape, only rows
    whose phase nothing tells; a forward movement prepares weights for their product, in its format.
    """
    shapes = frozenset(form for form in weight_forms(work) if len(form) > 1)  # vectors are short, and like others
    unknown = work["phase"].fillna("unknown").isin(["unknown", "other"])
    prepared = (work["op_class"] == "movement") & work["phase"].eq("forward").fillna(False)
    alone = (work["precision"] == WIDE) & ~prepared & holds_any(work, shapes - activation_forms(work))
    return (work["op_class"] == "embedding") | updates(work) | alone | (unknown & holds_any(work, shapes))


def _kept(work: pd.DataFrame) -> pd.Series:
    """Rows that autocast keeps in fp32; sums only in the forward pass, as gradients stay in the format they have."""
    kept = pd.Series(attribute(work, "kept_in_fp32"), index=work.index)
    return kept.eq("yes") | (kept.eq("forward") & work["phase"].ne("backward").fillna(True).astype(bool))


def _normalization(work: pd.DataFrame) -> pd.Series:
    """The layer that each row is an op of, where the framework makes a normalization of several; NA for all others."""
    layer = normalization_layers(work)
    return layer.mask(layer.isin(layer[work["op_class"].isin(MATRIX)]))  # a whole network in such a scope is no layer


def _stays(kept: pd.Series) -> Iterator[Note]:
    text = f"weights, their updates, embeddings, and gradients that go between devices stay in {WIDE}"
    yield Note("precision-kept", text)
    if kept.any():
        text = f"{int(kept.sum())} op(s) stay in {WIDE}, as automatic mixed precision keeps {', '.join(FP32_OPS)}"
        yield Note("precision-kept", text)
