"""The casts that mixed precision adds to a step, as rows of WORK; and their removal where a step returns to fp32.

Weights are cast for the products, and their gradients back for the update; fp16 also scales its gradients back
(Micikevicius et al., "Mixed Precision Training", ICLR 2018). A weight that several products use, as in each step of a
recurrent layer, is cast for each of them; PyTorch's autocast keeps the first cast (documentation of torch.amp).
Activations are cast where an op in fp32 and one in the narrow format share a tensor (format_changes.py). Where products
use a narrower format than stored activations (fp8), activations are cast before each product.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from estimator.core import units
from estimator.core.attributes import attribute_values
from estimator.core.notes import Note, with_code
from estimator.core.number_formats import WIDE
from estimator.core.operators import CAST, attribute, benchmark_kernels
from estimator.core.schema import STREAMING, complete
from estimator.core.types import ITEMSIZE, Floats, Workload, itemsizes
from estimator.work.added_kernels import append, without_work
from estimator.work.edges import FORMATS
from estimator.work.format_changes import Formats, casts_between
from estimator.work.operators import is_loss_scaling, runs_in_executor
from estimator.work.weights import is_forward, takes_weights, weights_per_call

SCALED = ("fp16",)  # formats of so short a range that the loss is scaled
NAMED = 5  # casts that a note names
MIXED = ("fp32", "tf32", "bf16", "fp16", "fp8", "fp4")  # formats that mixed precision casts between
NOT_FORWARD = ("backward", "optimizer")
BIAS_GRAD = "bias_grad"
MASK_BYTES = 1.0
READ_BYTES, WRITTEN_BYTES = "read_bytes", "written_bytes"  # attributes of an op whose elements have no precision


@dataclass(frozen=True)
class Use:
    """Uses of weights of one size by the products of one step."""

    size: float  # elements of one weight
    count: float  # uses
    source: str  # one of work_source

    @property
    def shown(self) -> str:
        """The size as text; "about" where it is a mean."""
        return f"{self.size:.0f}" if self.size == round(self.size) else f"about {self.size:.0f}"

    @property
    def elements(self) -> float:
        """Elements of all uses together."""
        return self.size * self.count


def add_casts(
    work: pd.DataFrame, workload: Workload, formats: Formats | None, already: pd.Series, precision: str, stored: str
) -> tuple[pd.DataFrame, tuple[Note, ...]]:
    """WORK with the casts appended, and notes on them.

    Args:
        formats: Those of activations; None where a compiler fuses casts of activations and gradients into other ops.
        already: Products that ran in a narrow format, whose weights already have their casts.
        precision: Format of the products.
        stored: Format in which activations are stored.
    """
    uses, folded = _uses(work, workload, already), formats is None
    trains = bool(work["phase"].isin(NOT_FORWARD).any())
    weights = _weight_casts(uses, precision, stored, folded) if uses and trains else []
    operands = _operand_casts(work, precision, stored) if ITEMSIZE[precision] < ITEMSIZE[stored] else []
    added = pd.DataFrame([*weights, *operands])
    around = casts_between(work, workload, formats) if formats else pd.DataFrame()
    extended = _append(_append(work, added), around)
    return extended, with_code("casts", _sentences(extended.iloc[len(work) :], uses, trains, folded))


def add_operand_casts(
    work: pd.DataFrame, workload: Workload, precision: str, stored: str
) -> tuple[pd.DataFrame, tuple[Note, ...]]:
    """WORK that is stored in ``stored`` with the casts of weights and operands to narrower products, and notes on them.

    Inference has its weights in the narrow format.
    """
    uses = _uses(work, workload, pd.Series(data=False, index=work.index))
    trains = bool(work["phase"].isin(NOT_FORWARD).any())
    weights = [_weight_cast(use, stored, precision) for use in uses if trains]
    extended = _append(work, pd.DataFrame([*weights, *_operand_casts(work, precision, stored)]))
    return extended, with_code("casts", _sentences(extended.iloc[len(work) :], uses, trains, folded=False))


def moved_sizes(work: pd.DataFrame) -> tuple[Floats, Floats]:
    """Bytes per element that each row reads, and bytes per element that it writes.

    As a cast's formats say, or as ``read_bytes`` and ``written_bytes`` in the attributes do; an element of a mask has
    one byte.
    """
    own, masks = itemsizes(work["precision"]), attribute(work, "masks")
    known = work[FORMATS].isin(ITEMSIZE.keys()).all(axis=1).to_numpy(dtype=bool)
    read, written = (np.where(known, itemsizes(work[name]), own) for name in FORMATS)
    read, written = np.where(masks == "both", MASK_BYTES, read), np.where(masks != "", MASK_BYTES, written)
    stated = [_stated_bytes(work, name) for name in (READ_BYTES, WRITTEN_BYTES)]
    read, written = (np.where(np.isnan(a), b, a) for a, b in zip(stated, (read, written), strict=True))
    return read, written


def _stated_bytes(work: pd.DataFrame, name: str) -> Floats:
    """Bytes per element that each row states in its attributes; NaN where it states none."""
    return np.asarray(attribute_values(work, name, r"\d{1,2}").astype(float).to_numpy(dtype=float, na_value=np.nan))


def remove_casts(work: pd.DataFrame) -> tuple[pd.DataFrame, tuple[Note, ...]]:
    """WORK whose casts between the formats of mixed precision have no calls and traffic, and notes on them.

    An op that the framework calls a cast is removed as well where the dump does not state its formats.
    """
    is_cast = work["operator"].eq(CAST).fillna(False) & ~complete(work, FORMATS)
    is_removed = work["op_class"].isin(STREAMING) & (is_cast | work[FORMATS].isin(MIXED).all(axis=1))
    removed = [f"{int(is_removed.sum())} casts between formats are dropped"] if is_removed.any() else []
    notes = with_code("casts", (*removed, f"updates and all else that the profile has in {WIDE} stay as they are"))
    return without_work(work, is_removed), notes


def remove_loss_scaling(work: pd.DataFrame) -> tuple[pd.DataFrame, tuple[Note, ...]]:
    """WORK whose ops of loss scaling have no calls and traffic, and notes on them: only fp16 needs it.

    Micikevicius et al., ICLR 2018, section 3.2; bf16 has the range of fp32 (Kalamkar et al., A Study of BFLOAT16 for
    Deep Learning Training, 2019). What multiplies loss or gradients by the scale in an op of its own is not recognised.
    """
    scaling = is_loss_scaling(work)
    if not scaling.any():
        return work, ()
    text = f"{int(scaling.sum())} op(s) of loss scaling are dropped: only fp16 needs it"
    return without_work(work, scaling), (Note("loss-scaling", text),)


def _uses(work: pd.DataFrame, workload: Workload, already: pd.Series) -> tuple[Use, ...]:
    """The uses of weights, from the dimensions of forward products that are not cast ``already``, and from the
    gradients of biases.

    Parameters that ``workload.yaml`` states beyond these are added, unless embeddings may hold them. TensorFlow casts a
    weight for each use; other frameworks cast no more elements than the file states.
    """
    products = work[takes_weights(work) & ~already]
    uses = _uses_of_ops(products, work[(benchmark_kernels(work) == BIAS_GRAD) & ~already.any()])
    elements, parameters = sum(use.elements for use in uses), workload.parameters or 0.0
    if 0 < parameters < elements and not runs_in_executor(products).all():
        return tuple(Use(use.size, use.count * parameters / elements, "workload") for use in uses)
    has_embeddings = uses and (work["op_class"] == "embedding").any()
    if parameters <= elements or has_embeddings or already.any():
        return uses
    others = max((workload.variables or 0.0) - sum(use.count for use in uses), 1.0)
    return (*uses, Use((parameters - elements) / others, others, "workload"))


def _uses_of_ops(products: pd.DataFrame, bias_gradients: pd.DataFrame) -> tuple[Use, ...]:
    """The uses of weights by these products, and of biases, each of which has one gradient; the largest first."""
    weights = pd.Series(weights_per_call(products), products.index)
    sizes = pd.concat([weights, bias_gradients["conv_c"].astype(float)])
    calls = pd.concat([products, bias_gradients])["calls"].fillna(1.0)
    counts = calls.groupby(sizes).sum().sort_index(ascending=False)
    return tuple(Use(size, count, "shapes") for size, count in counts.items() if size * count > 0)


def _weight_casts(uses: Sequence[Use], precision: str, stored: str, folded: bool) -> Iterator[Mapping[str, object]]:
    yield from (_weight_cast(use, WIDE, precision) for use in uses)
    for use in uses if not folded else ():
        yield _cast(f"gradients of {use.shown} elements", "backward", use, (stored, WIDE))
    if precision in SCALED:
        all_uses = Use(sum(use.elements for use in uses), 1.0, uses[0].source)
        yield _cast("gradients' scale", "optimizer", all_uses, (WIDE, WIDE))


def _weight_cast(use: Use, stored: str, precision: str) -> Mapping[str, object]:
    return _cast(f"weights of {use.shown} elements", "forward", use, (stored, precision))


def _operand_casts(work: pd.DataFrame, precision: str, stored: str) -> Iterator[Mapping[str, object]]:
    """Casts of each layer's input and output gradient: as many elements as its forward product moves beside weights."""
    rows = work[is_forward(work)]
    calls = rows["calls"].fillna(1.0)
    weights = (weights_per_call(rows) * calls).where(takes_weights(rows), 0.0)
    elements = float((rows["bytes"] / ITEMSIZE[precision] - weights).sum())
    if elements > 0:
        count = 2.0 * float(calls.sum())
        yield _cast("products' operands", "forward", Use(elements / count, count, "shapes"), (stored, precision))


def _cast(what: str, phase: str, use: Use, formats: tuple[str, str]) -> Mapping[str, object]:
    name, amounts = f"cast of {what}, {formats[0]} to {formats[1]}", {"calls": use.count, "flop": use.elements}
    bytes_ = use.elements * sum(ITEMSIZE[p] for p in formats)
    columns = dict(zip(FORMATS, formats, strict=True))
    return {"op": name, "phase": phase, **amounts, "bytes": bytes_, "work_source": use.source, **columns}


def _append(work: pd.DataFrame, casts: pd.DataFrame) -> pd.DataFrame:
    """WORK with these casts as its last rows."""
    if casts.empty:
        return work
    common = {"op_type": CAST, "operator": CAST, "op_class": "elementwise", "precision": WIDE, "time_s": 0.0}
    rows = casts.assign(**common, intensity=casts["flop"] / casts["bytes"])
    return append(work, rows.dropna(axis="columns", how="all"))


def _sentences(casts: pd.DataFrame, uses: Sequence[Use], trains: bool, folded: bool) -> Iterator[str]:
    if len(casts):
        largest = casts.sort_values("bytes", ascending=False, kind="stable")["op"].head(NAMED)
        names = ", ".join(largest) + (", …" if len(casts) > NAMED else "")
        yield f"casts add {units.show(casts['bytes'].sum(), 'B', 4)} of traffic a step: {names}"
    if folded:
        yield "casts of activations and gradients are fused into the ops beside them"
    if uses and trains:
        sources = (
            ("shapes", "the dimensions of forward products and of biases' gradients"),
            ("workload", "the number of trained parameters"),
        )
        origin = " and ".join(name for source, name in sources if any(use.source == source for use in uses))
        elements = sum(use.elements for use in uses)
        yield f"casts of weights and gradients cover {elements:g} elements over all their uses, counted from {origin}"
    if not trains:
        yield "no op of a backward pass or an update is known, so weights are taken to be cast beforehand"
    elif not uses:
        yield "casts of weights and gradients take no time: neither workload.yaml nor a product gives their number"
