"""A step profiled in one number format → the same step with its products in another: WORK → WORK.

As in automatic mixed precision (Micikevicius et al., "Mixed Precision Training", ICLR 2018; the op lists of PyTorch's
autocast and of Keras' mixed_bfloat16), products run in the narrow format and activations are stored in it. Ops that
lose accuracy in it stay in fp32, such as softmax, losses, sums, weights and their updates. casts.py adds the casts
between the formats, or removes them where a step returns to the wide format. Of formats narrower than stored
activations, attention keeps the stored one (NVIDIA, Transformer Engine: fp8_dpa of its recipes is off by default).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from estimator.core.notes import Note
from estimator.core.number_formats import WIDE
from estimator.core.operators import attribute
from estimator.core.schema import MATRIX, STREAMING
from estimator.core.types import ITEMSIZE, STORED_AS, Workload, itemsizes, stored_format
from estimator.work.autocast import casts_op_by_op, formats_of_operands
from estimator.work.casts import SCALED, add_casts, add_operand_casts, remove_casts, remove_loss_scaling
from estimator.work.format_changes import Formats
from estimator.work.operators import normalization_layers, runs_in_executor
from estimator.work.tensors import in_phase
from estimator.work.transformed import Transformed
from estimator.work.weights import activation_forms, holds_any, updates, weight_forms

FP32_OPS = (  # ops that core/operators.csv keeps in fp32, in words
    "softmax", "losses", "normalizations over features", "powers, exponentials and logarithms",
    "sums, products and norms", "moments and normalizations by them",
)  # fmt: skip


@dataclass(frozen=True)
class _Change:
    """The formats of a step's products before and after, and those in which its activations are stored then."""

    before: set[str]
    after: str

    @property
    def stored_before(self) -> set[str]:
        return {stored_format(each) for each in self.before}

    @property
    def stored(self) -> str:
        return stored_format(self.after)

    @property
    def narrows(self) -> bool:
        """Whether activations leave fp32, or a wider format, for a narrow one."""
        return _is_narrow(self.stored) and not all(map(_is_narrow, self.stored_before))

    @property
    def widens(self) -> bool:
        """Whether activations leave a narrow format for fp32, or a wider one."""
        return any(map(_is_narrow, self.stored_before)) and not _is_narrow(self.stored)

    @property
    def casts_operands(self) -> bool:
        """Whether products now need a narrower format than that of stored activations."""
        return ITEMSIZE[self.after] < ITEMSIZE[self.stored] and not self.before & STORED_AS.keys()


def convert_precision(
    work: pd.DataFrame,
    workload: Workload,
    precision: str | None,
    op_classes: Sequence[str] = MATRIX,
    *,
    only: Sequence[str] | None = None,
    folded: bool = False,
) -> Transformed:
    """WORK of the same step with its products in ``precision``; WORK itself for None, or where all run in it already.

    ``only``: products in other formats than these stay as they are, where it is given. ``folded``: a compiler fuses the
    casts of activations and gradients into the ops beside them. Casts are appended as rows that take no time on the
    source.
    """
    products = are_products(work, op_classes, only)
    before = set(work.loc[products, "precision"]) or ({workload.precision} if only is None else set())
    if precision is None or before <= {precision}:
        return Transformed(work, changed=False)
    change = _Change(before - {precision}, precision)
    streams = work["op_class"].isin(STREAMING) & work["precision"].isin(change.stored_before)
    activations = streams & ~_holds_weights(work)
    formats = _formats(work, workload, activations, products, change.stored) if change.narrows and not folded else None
    moved = activations & (formats.each == change.stored) if formats else activations
    keeps_stored = products & (work["op_class"] == "attention") & (ITEMSIZE[precision] < ITEMSIZE[change.stored])
    converted = _convert_rows(work, _base_formats(work, precision, products).mask(moved | keeps_stored, change.stored))
    converted, scaling_notes = _without_scaling(converted, change)
    converted, cast_notes = _with_casts(work, converted, workload, formats, change)
    text = f"products run in {precision}, and {int(moved.sum())} op(s) on activations move {change.stored}"
    notes = (Note("precision-converted", text), *scaling_notes)
    if change.narrows:
        notes = (*notes, *_kept_notes(activations, formats), *_recipe_note(work, precision))
    return Transformed(converted, changed=True, notes=(*notes, *cast_notes))


def without_tf32(work: pd.DataFrame, *, replace: bool) -> Transformed:
    """WORK of the same step with its products in TF32 in fp32, where ``replace``; WORK itself where it has none."""
    rows = are_products(work, MATRIX, ("tf32",))
    if not replace or not rows.any():
        return Transformed(work, changed=False)
    text = f"{int(rows.sum())} products that may run in TF32 run in fp32, as the target has no TF32"
    out = work.assign(precision=work["precision"].mask(rows, "fp32"))
    return Transformed(out, changed=True, notes=(Note("tf32-replaced", text),))


def _without_scaling(work: pd.DataFrame, change: _Change) -> tuple[pd.DataFrame, tuple[Note, ...]]:
    """WORK without ops that scale the loss, where its new format needs none; and notes on the scaling."""
    if change.before <= set(SCALED) and change.after not in SCALED:
        return remove_loss_scaling(work)
    if change.after in SCALED and not change.narrows and updates(work).any():
        text = f"training in {change.after} needs loss scaling: its ops are not added"
        return work, (Note("loss-scaling", text),)
    return work, ()


def _with_casts(
    work: pd.DataFrame, converted: pd.DataFrame, workload: Workload, formats: Formats | None, change: _Change
) -> tuple[pd.DataFrame, tuple[Note, ...]]:
    """The converted WORK with the casts that it needs, without those that it needs no more; and notes on them."""
    if change.narrows:
        cast_already = work["op_class"].isin(MATRIX) & (itemsizes(work["precision"]) < ITEMSIZE[WIDE])
        return add_casts(converted, workload, formats, cast_already, change.after, change.stored)
    if change.widens:
        return remove_casts(converted)
    if change.casts_operands:
        return add_operand_casts(converted, workload, change.after, change.stored)
    return converted, ()


def _is_narrow(precision: str) -> bool:
    return ITEMSIZE[precision] < ITEMSIZE[WIDE]


def are_products(work: pd.DataFrame, op_classes: Sequence[str], only: Sequence[str] | None) -> pd.Series:
    """Whether each row is a product of these classes, in one of these formats where they are given."""
    of_class = work["op_class"].isin(op_classes)
    return of_class if only is None else of_class & work["precision"].isin(only)


def _base_formats(work: pd.DataFrame, precision: str, products: pd.Series) -> pd.Series:
    """Each row's format before activations change; fp64 is never mixed, but holds for a whole step."""
    formats = work["precision"].mask(products, precision)
    streams = work["op_class"].isin(STREAMING)
    return formats.mask(streams, "fp64") if precision == "fp64" else formats.mask(streams & (formats == "fp64"), WIDE)


def _convert_rows(work: pd.DataFrame, precision: pd.Series) -> pd.DataFrame:
    """WORK with its rows in these formats; traffic scales with the size of an element."""
    ratio = itemsizes(precision) / itemsizes(work["precision"])
    changed = {name: work[name] * scale for name, scale in (("bytes", ratio), ("intensity", 1 / ratio))}
    return work.assign(precision=precision, **changed)


def _formats(
    work: pd.DataFrame, workload: Workload, activations: pd.Series, products: pd.Series, stored: str
) -> Formats:
    """The formats in which rows read and write activations; embeddings read weights, and so write fp32."""
    layer = normalization_layers(work)
    free = activations & ~_is_kept(work) & layer.isna()
    embeds = (work["op_class"] == "embedding") & (work["precision"] == WIDE)
    each = pd.Series("", index=work.index).mask((activations & ~free) | embeds, WIDE).mask(free | products, stored)
    op_by_op = casts_op_by_op(workload)
    each = formats_of_operands(work, workload, each, free) if op_by_op else each
    return Formats(each, layer, free & (each == WIDE), stored, casts_each_use=op_by_op)


def _holds_weights(work: pd.DataFrame) -> pd.Series:
    """Whether each row holds weights or their updates.

    These are embeddings, optimizers, and fp32 rows with the shape of a weight, such as a penalty on weights or a sum of
    their gradients. Where activations have the same shape, only rows of unknown phase count. A forward movement
    prepares weights for their product, in the product's format, and does not count.
    """
    shapes = frozenset(form for form in weight_forms(work) if len(form) > 1)  # vectors of other ops have equal shapes
    unknown = work["phase"].fillna("unknown").isin(["unknown", "other"])
    prepared = (work["op_class"] == "movement") & in_phase(work, "forward")
    alone = (work["precision"] == WIDE) & ~prepared & holds_any(work, shapes - activation_forms(work))
    return (work["op_class"] == "embedding") | updates(work) | alone | (unknown & holds_any(work, shapes))


def _is_kept(work: pd.DataFrame) -> pd.Series:
    """Whether autocast keeps each row in fp32; sums only in the forward pass, as gradients keep their format."""
    kept, forward = pd.Series(attribute(work, "kept_in_fp32"), index=work.index), ~in_phase(work, "backward")
    return kept.eq("yes") | (kept.eq("forward") & forward) | (kept.eq("by op") & ~runs_in_executor(work))


def _kept_notes(activations: pd.Series, formats: Formats | None) -> Iterator[Note]:
    """Yield notes on what stays in fp32; ``formats`` is None where a compiler decides on activations."""
    text = f"weights, their updates, embeddings, and gradients that go between devices stay in {WIDE}"
    yield Note("precision-kept", text)
    widened = int(formats.widened.sum()) if formats else 0
    kept = int((activations & (formats.each == WIDE)).sum()) - widened if formats else 0
    if kept:
        text = f"{kept} op(s) stay in {WIDE}, as in automatic mixed precision: {', '.join(FP32_OPS)}"
        yield Note("precision-kept", text)
    if widened:
        text = f"{widened} more op(s) read results of such ops or of embeddings, and PyTorch runs them in {WIDE}"
        yield Note("precision-kept", text)


def _recipe_note(work: pd.DataFrame, precision: str) -> Iterator[Note]:
    """Yield a note for a step given as layers, whose file can state the format as well."""
    if not (work["time_s"] > 0).any():
        text = (
            f"the step casts as automatic mixed precision does; 'precision: {precision}' in layers.yaml instead holds "
            f"the model in {precision}, with a copy of the weights in {WIDE} for the updates"
        )
        yield Note("precision-converted", text)
