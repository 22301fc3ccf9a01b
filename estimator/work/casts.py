"""The casts that mixed precision adds to a step which was profiled without it, as rows of WORK, or takes from it.

Weights are cast for the products, and their gradients back for the update; fp16 also has its gradients scaled back
(Micikevicius et al., "Mixed Precision Training", ICLR 2018). A weight that several products take, as in each step of a
recurrent layer, is cast for every one of them; PyTorch's autocast keeps the first cast (documentation of torch.amp).
Activations are cast before and behind each op that stays in fp32, and, where products take a narrower format than
activations are stored in (fp8), before a product.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pandas as pd

from estimator.core import units
from estimator.core.schema import MATRIX, WORK
from estimator.core.types import ITEMSIZE, Workload

WIDE = "fp32"  # what weights, their updates, and ops that need accuracy stay in
SCALED = ("fp16",)  # of so short a range that the loss is scaled
NAMED = 5  # casts that a sentence names
CASTS = ("Cast", "convert", "aten::_to_copy")  # by TensorFlow, XLA and PyTorch
NOT_FORWARD = ("backward", "optimizer")


@dataclass(frozen=True)
class Weights:
    """The weights that the products of one step take: how many tensors of how many elements, and what tells."""

    tensors: Mapping[float, float]  # by the elements of each
    source: str  # one of work_source

    @property
    def elements(self) -> float:
        """Of all."""
        return sum(size * count for size, count in self.tensors.items())


def weight_shapes(work: pd.DataFrame) -> set[str]:
    """The shapes of the forward products' weights, such as ``1000x500``, in both storage orders."""
    rows = work[_takes_weights(work) & work["m"].notna()]
    pairs = set(zip(rows["k"].astype(str), rows["n"].astype(str), strict=True))
    return {"x".join(order) for pair in pairs for order in (pair, pair[::-1])}


def add_casts(
    work: pd.DataFrame, workload: Workload, kept: pd.Series, precision: str, stored: str, *, folded: bool
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """WORK with the casts behind its rows, and sentences on them.

    Products run in ``precision``, activations are ``stored`` in a narrow format, but for the rows that are ``kept`` in
    fp32. ``folded``: a compiler fuses the casts of activations and gradients into the ops beside them.
    """
    weights = _weights(work, workload)
    trains = bool(work["phase"].isin(NOT_FORWARD).any())
    of_weights = _of_weights(weights, precision, stored, folded) if weights and trains else []
    operands = _of_operands(work, precision, stored) if ITEMSIZE[precision] < ITEMSIZE[stored] else []
    added = pd.DataFrame([*of_weights, *operands])
    around = work.iloc[:0] if folded else _around(work[kept & (work["bytes"] > 0)], stored)
    casts = _behind(_behind(work, added), around)
    return casts, tuple(_told(casts.iloc[len(work) :], weights, trains, folded))


def without_casts(work: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """WORK of mixed precision whose casts between floating-point formats move nothing and are not called, and a
    sentence on them. What casts integers stays; where a dump does not tell formats, all that the framework calls a cast
    goes.
    """
    gone = work["op_type"].isin(CASTS) & ~work["attributes"].fillna("").str.contains(r"(?:from|to)=(?:other|int)")
    amounts = {name: work[name].mask(gone, 0.0) for name in ("calls", "flop", "bytes")}
    said = f"{int(gone.sum())} casts between formats are gone; updates and what else the profile has in {WIDE} stays"
    return work.assign(**amounts, intensity=work["intensity"].mask(gone)), (said,)


def _takes_weights(work: pd.DataFrame) -> pd.Series:
    """Products of activations with weights, which have no batch, in the forward pass."""
    return _is_forward(work) & ~(work["batch"] > 1).fillna(False)


def _is_forward(work: pd.DataFrame) -> pd.Series:
    return work["op_class"].isin(MATRIX) & work["phase"].eq("forward").fillna(False)


def _weights(work: pd.DataFrame, workload: Workload) -> Weights | None:
    """From the forward products' dimensions; what the workload file says beyond them, such as biases, beside them,
    but for what only embeddings take.
    """
    rows = work[_takes_weights(work)]
    used = rows["calls"].fillna(1.0).groupby(_weight_elements(rows)).sum().to_dict()
    found = Weights({size: used[size] for size in sorted(used, reverse=True) if size * used[size] > 0}, "shapes")
    if not workload.parameters:
        return found if found.tensors else None
    told = workload.parameters / max(found.elements, 1.0)
    if told < 1.0 and work["op_type"].fillna("").str.startswith("aten::").any():
        return Weights({size: told * count for size, count in found.tensors.items()}, "workload")
    rest = workload.parameters - found.elements
    only_embedded = found.tensors and (work["op_class"] == "embedding").any()
    if rest <= 0 or only_embedded:
        return Weights(found.tensors, "workload")
    others = max((workload.variables or 0.0) - sum(found.tensors.values()), 1.0)
    return Weights({**found.tensors, rest / others: others}, "workload")


def _weight_elements(rows: pd.DataFrame) -> pd.Series:
    """Elements of the weights of each product [k, n], or convolution [k, c / groups, t, r, s]; NaN where unknown."""
    number = {name: rows[name].astype(float) for name in ("n", "k", "conv_k", "conv_c", "conv_r", "conv_s")}
    depth, groups = (rows[name].astype(float).fillna(1.0) for name in ("conv_t", "groups"))
    kernel = number["conv_k"] * number["conv_c"] / groups * depth * number["conv_r"] * number["conv_s"]
    return (number["n"] * number["k"]).fillna(kernel)


def _of_weights(weights: Weights, precision: str, stored: str, folded: bool) -> Iterator[Mapping[str, object]]:
    for size, count in weights.tensors.items():
        yield _cast(f"weights of {size:.0f}", "forward", size * count, count, (WIDE, precision), weights.source)
    for size, count in weights.tensors.items() if not folded else ():
        yield _cast(f"gradients of {size:.0f}", "backward", size * count, count, (stored, WIDE), weights.source)
    if precision in SCALED:
        yield _cast("gradients' scale", "optimizer", weights.elements, 1.0, (WIDE, WIDE), weights.source)


def _of_operands(work: pd.DataFrame, precision: str, stored: str) -> Iterator[Mapping[str, object]]:
    """Input and output's gradient of each layer: what its forward product moves beside its weights."""
    rows = work[_is_forward(work)]
    calls = rows["calls"].fillna(1.0)
    weights = (_weight_elements(rows) * calls).where(_takes_weights(rows), 0.0)
    elements = float((rows["bytes"] / ITEMSIZE[precision] - weights).sum())
    if elements > 0:
        yield _cast("products' operands", "forward", elements, 2.0 * float(calls.sum()), (stored, precision), "shapes")


def _cast(
    what: str, phase: str, elements: float, calls: float, formats: tuple[str, str], source: str
) -> Mapping[str, object]:
    bytes_ = elements * sum(ITEMSIZE[p] for p in formats)
    name = f"cast of {what}, {formats[0]} to {formats[1]}"
    return {"op": name, "phase": phase, "calls": calls, "flop": elements, "bytes": bytes_, "work_source": source}


def _around(kept: pd.DataFrame, stored: str) -> pd.DataFrame:
    """A cast before and a cast behind each op: whatever it reads or writes changes its format once."""
    elements = kept["bytes"] / ITEMSIZE[WIDE]
    columns = ["placement", "stream", "rank", "phase", "work_source"]
    return kept[columns].assign(
        op="casts around " + kept["op"],
        calls=2.0 * kept["calls"],
        flop=elements,
        bytes=elements * (ITEMSIZE[WIDE] + ITEMSIZE[stored]),
    )


def _behind(work: pd.DataFrame, casts: pd.DataFrame) -> pd.DataFrame:
    """WORK with these casts as its last rows."""
    if casts.empty:
        return work
    alike = {"op_type": "Cast", "op_class": "elementwise", "precision": WIDE, "time_s": 0.0}
    rows = casts.assign(**alike, intensity=casts["flop"] / casts["bytes"])
    longer = work.reset_index(drop=True).reindex(range(len(work) + len(rows)))
    for name in rows:
        longer.loc[len(work) :, name] = rows[name].to_numpy()
    return WORK.conform(longer, "casts")


def _told(casts: pd.DataFrame, weights: Weights | None, trains: bool, folded: bool) -> Iterator[str]:
    if len(casts):
        names = ", ".join(casts["op"].head(NAMED)) + (", …" if len(casts) > NAMED else "")
        yield f"casts are added that move {units.show(casts['bytes'].sum(), 'B', 4)} a step: {names}"
    if folded:
        yield "casts of activations and gradients are fused into the ops beside them"
    if weights and trains:
        told = "workload.yaml tells" if weights.source == "workload" else "the forward products' dimensions tell"
        yield f"casts of weights and gradients are those of {weights.elements:g} elements, as {told}"
    if not trains:
        yield "no op is known to be of a backward pass or an update, so weights are taken to be cast beforehand"
    elif weights is None:
        yield "casts of weights and gradients are free: neither workload.yaml nor a forward product tells the weights"
