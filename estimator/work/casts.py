"""The casts that mixed precision adds to a step which was profiled without it, as rows of WORK, or takes from it.

Weights are cast for the products, and their gradients back for the update; fp16 also has its gradients scaled back
(Micikevicius et al., "Mixed Precision Training", ICLR 2018). A weight that several products take, as in each step of a
recurrent layer, is cast for every one of them; PyTorch's autocast keeps the first cast (documentation of torch.amp).
Activations are cast before and behind each op that stays in fp32, or each layer of such ops, and, where products take a
narrower format than activations are stored in (fp8), before a product.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from estimator.core import units
from estimator.core.notes import Note, with_code
from estimator.core.operators import CAST, benchmark_kernels
from estimator.core.schema import STREAMING, WORK, complete
from estimator.core.types import ITEMSIZE, Floats, Workload, itemsizes
from estimator.work.operators import runs_in_executor
from estimator.work.shapes import read_shapes
from estimator.work.weights import is_forward, takes_weights

WIDE = "fp32"  # what weights, their updates, and ops that need accuracy stay in
SCALED = ("fp16",)  # of so short a range that the loss is scaled
NAMED = 5  # casts that a sentence names
MIXED = ("fp32", "tf32", "bf16", "fp16", "fp8", "fp4")  # formats that mixed precision casts between
NOT_FORWARD = ("backward", "optimizer")
FORMATS = ["from_precision", "to_precision"]
BIAS_GRAD = "bias_grad"


@dataclass(frozen=True)
class Use:
    """Weights of one size that products of one step take."""

    size: float  # elements of each
    count: float  # how many, each time that one is taken anew
    source: str  # what tells, one of work_source

    @property
    def shown(self) -> str:
        """The elements of each in a name; of what differs in size, a mean."""
        return f"{self.size:.0f}" if self.size == round(self.size) else f"about {self.size:.0f}"

    @property
    def elements(self) -> float:
        """Of all."""
        return self.size * self.count


def add_casts(
    work: pd.DataFrame, workload: Workload, kept: pd.Series, layer: pd.Series, already: pd.Series, precision: str,
    stored: str, *, folded: bool,
) -> tuple[pd.DataFrame, tuple[Note, ...]]:  # fmt: skip
    """WORK with the casts behind its rows, and notes on them.

    Products run in ``precision``, activations are ``stored`` in a narrow format, but for the rows that are ``kept`` in
    fp32, each by itself or with all of its ``layer``. The weights of products that ran in a narrow format ``already``
    have their casts. ``folded``: a compiler fuses the casts of activations and gradients into the ops beside them, and
    nothing is kept.
    """
    uses = _uses(work, workload, already)
    trains = bool(work["phase"].isin(NOT_FORWARD).any())
    of_weights = _of_weights(uses, precision, stored, folded) if uses and trains else []
    operands = _of_operands(work, precision, stored) if ITEMSIZE[precision] < ITEMSIZE[stored] else []
    added = pd.DataFrame([*of_weights, *operands])
    alone, together = (kept & (work["bytes"] > 0) & of for of in (layer.isna(), layer.notna()))
    layers = _layers(work[together], layer[together], workload.batch_size)
    casts = _behind(_behind(work, added), _around(pd.concat([work[alone], layers]), stored))
    return casts, with_code("casts", _sentences(casts.iloc[len(work) :], uses, trains, folded))


def moved_sizes(work: pd.DataFrame) -> tuple[Floats, Floats]:
    """Bytes of an element that each row reads, and of one that it writes."""
    own = itemsizes(work["precision"])
    known = work[FORMATS].isin(ITEMSIZE.keys()).all(axis=1).to_numpy(dtype=bool)
    read, written = (np.where(known, itemsizes(work[name]), own) for name in FORMATS)
    return read, written


def without_casts(work: pd.DataFrame) -> tuple[pd.DataFrame, tuple[Note, ...]]:
    """WORK of mixed precision whose casts between its formats move nothing and are not called, and notes on them.

    Where a dump does not tell the formats, all that the framework calls a cast goes.
    """
    named = work["operator"].eq(CAST).fillna(False) & ~complete(work, FORMATS)
    gone = work["op_class"].isin(STREAMING) & (named | work[FORMATS].isin(MIXED).all(axis=1))
    amounts = {name: work[name].mask(gone, 0.0) for name in ("calls", "flop", "bytes")}
    removed = [f"{int(gone.sum())} casts between formats are gone"] if gone.any() else []
    notes = with_code("casts", (*removed, f"updates and what else the profile has in {WIDE} stay as they are"))
    return work.assign(**amounts, intensity=work["intensity"].mask(gone)), notes


def _uses(work: pd.DataFrame, workload: Workload, already: pd.Series) -> tuple[Use, ...]:
    """From the forward products' dimensions, but for those that are cast ``already``, and from the gradients of biases;
    what the workload file says beyond them behind them, but for what only embeddings take.

    TensorFlow casts a weight each time that a product takes it; elsewhere there are no more than the file says.
    """
    rows = work[takes_weights(work) & ~already]
    biases = work[(benchmark_kernels(work) == BIAS_GRAD) & ~already.any()]  # once for each use of a bias
    taken = pd.concat([_weight_elements(rows), biases["conv_c"].astype(float)])
    used = pd.concat([rows, biases])["calls"].fillna(1.0).groupby(taken).sum().sort_index(ascending=False)
    found = tuple(Use(size, count, "shapes") for size, count in used.items() if size * count > 0)
    elements, parameters = sum(use.elements for use in found), workload.parameters or 0.0
    anew = runs_in_executor(rows).all()
    if parameters < elements and not (anew or not parameters):
        return tuple(Use(use.size, use.count * parameters / elements, "workload") for use in found)
    only_embedded = found and (work["op_class"] == "embedding").any()
    if parameters <= elements or only_embedded or already.any():
        return found
    others = max((workload.variables or 0.0) - sum(use.count for use in found), 1.0)
    return (*found, Use((parameters - elements) / others, others, "workload"))


def _weight_elements(rows: pd.DataFrame) -> pd.Series:
    """Elements of the weights of each product [k, n], or convolution [k, c / groups, t, r, s]; NaN where unknown."""
    number = {name: rows[name].astype(float) for name in ("n", "k", "conv_k", "conv_c", "conv_r", "conv_s")}
    depth, groups = (rows[name].astype(float).fillna(1.0) for name in ("conv_t", "groups"))
    kernel = number["conv_k"] * number["conv_c"] / groups * depth * number["conv_r"] * number["conv_s"]
    return (number["n"] * number["k"]).fillna(kernel)


def _of_weights(uses: Sequence[Use], precision: str, stored: str, folded: bool) -> Iterator[Mapping[str, object]]:
    for use in uses:
        yield _cast(f"weights of {use.shown} elements", "forward", use, (WIDE, precision))
    for use in uses if not folded else ():
        yield _cast(f"gradients of {use.shown} elements", "backward", use, (stored, WIDE))
    if precision in SCALED:
        every = Use(sum(use.elements for use in uses), 1.0, uses[0].source)
        yield _cast("gradients' scale", "optimizer", every, (WIDE, WIDE))


def _of_operands(work: pd.DataFrame, precision: str, stored: str) -> Iterator[Mapping[str, object]]:
    """Input and output's gradient of each layer: what its forward product moves beside its weights."""
    rows = work[is_forward(work)]
    calls = rows["calls"].fillna(1.0)
    weights = (_weight_elements(rows) * calls).where(takes_weights(rows), 0.0)
    elements = float((rows["bytes"] / ITEMSIZE[precision] - weights).sum())
    if elements > 0:
        count = 2.0 * float(calls.sum())
        yield _cast("products' operands", "forward", Use(elements / count, count, "shapes"), (stored, precision))


def _cast(what: str, phase: str, of: Use, between: tuple[str, str]) -> Mapping[str, object]:
    name, amounts = f"cast of {what}, {between[0]} to {between[1]}", {"calls": of.count, "flop": of.elements}
    bytes_ = of.elements * sum(ITEMSIZE[p] for p in between)
    return {"op": name, "phase": phase, **amounts, "bytes": bytes_, "work_source": of.source, **_between(*between)}


def _between(read: str, written: str) -> Mapping[str, object]:
    """The columns of an op that casts between these formats."""
    return dict(zip(FORMATS, (read, written), strict=True))


def _layers(work: pd.DataFrame, layer: pd.Series, batch: int | None) -> pd.DataFrame:
    """A row for each layer in each phase, of what it reads and what it makes: between them its ops cast nothing."""
    texts = zip(work["shapes"].fillna(""), work["output_shapes"].fillna(""), strict=True)
    largest = pd.Series([_largest(*text, batch) for text in texts], index=work.index, dtype=float)
    ends = (2.0 * ITEMSIZE[WIDE] * largest * work["calls"].fillna(1.0)).mask(largest == 0, work["bytes"])
    name = layer.where(work["phase"].ne("backward").fillna(True), "gradients of " + layer)
    rows = work.assign(op=name, bytes=ends).sort_values("bytes", kind="stable")
    return rows.drop_duplicates(["op", "phase", "placement", "stream", "rank"], keep="last").sort_index()


def _largest(operands: str, results: str, batch: int | None) -> float:
    """Elements of the largest of an op's shapes; 0 where there are none, or one is unknown."""
    shapes = (*read_shapes(operands, batch), *read_shapes(results, batch))
    known = [math.prod(shape) for shape in shapes if shape is not None]
    return float(max(known)) if known and len(known) == len(shapes) else 0.0


def _around(kept: pd.DataFrame, stored: str) -> pd.DataFrame:
    """A cast before and a cast behind each op or layer: whatever it reads or writes changes its format once."""
    elements = kept["bytes"] / ITEMSIZE[WIDE]
    columns = ["placement", "stream", "rank", "phase", "work_source"]
    return kept[columns].assign(
        op="casts around " + kept["op"],
        calls=2.0 * kept["calls"],
        flop=elements,
        bytes=elements * (ITEMSIZE[WIDE] + ITEMSIZE[stored]),
        **_between(WIDE, stored),
    )


def _behind(work: pd.DataFrame, casts: pd.DataFrame) -> pd.DataFrame:
    """WORK with these casts as its last rows."""
    if casts.empty:
        return work
    common = {"op_type": CAST, "operator": CAST, "op_class": "elementwise", "precision": WIDE, "time_s": 0.0}
    rows = casts.assign(**common, intensity=casts["flop"] / casts["bytes"])
    longer = work.reset_index(drop=True).reindex(range(len(work) + len(rows)))
    for name in rows:
        longer.loc[len(work) :, name] = rows[name].to_numpy()
    return WORK.conform(longer, "casts")


def _sentences(casts: pd.DataFrame, uses: Sequence[Use], trains: bool, folded: bool) -> Iterator[str]:
    if len(casts):
        largest = casts.sort_values("bytes", ascending=False, kind="stable")["op"].head(NAMED)
        names = ", ".join(largest) + (", …" if len(casts) > NAMED else "")
        yield f"casts are added that move {units.show(casts['bytes'].sum(), 'B', 4)} a step: {names}"
    if folded:
        yield "casts of activations and gradients are fused into the ops beside them"
    if uses and trains:
        sources = (
            ("shapes", "the dimensions of forward products and of biases' gradients"),
            ("workload", "workload.yaml"),
        )
        told = " and ".join(name for source, name in sources if any(use.source == source for use in uses))
        elements = sum(use.elements for use in uses)
        yield f"casts of weights and gradients are those of {elements:g} elements over all their uses, by {told}"
    if not trains:
        yield "no op is known to be of a backward pass or an update, so weights are taken to be cast beforehand"
    elif not uses:
        yield "casts of weights and gradients are free: neither workload.yaml nor a forward product tells the weights"
