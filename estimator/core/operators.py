"""The vocabulary of operators: operators.csv lists each once, with its class, its passes over memory and its FLOP."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from estimator.core.errors import EstimatorError, suggestion
from estimator.core.schema import UNPOOLED, complete
from estimator.core.types import ITEMSIZE, Flags, Names, itemsizes

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = {  # of operators.csv
    "operator": "its name, independent of frameworks",
    "op_class": "its kind of work, one of OP_CLASSES",
    "direction": "`forward`; `backward`, `grad_input` or `grad_weights` of a gradient; `update` of an optimizer",
    "reads": "tensors of one size that a call reads, in a benchmark and where its shapes do not tell",
    "writes": "tensors of one size that a call writes, likewise",
    "flop_per_element": "FLOP for each element of the largest operand or result",
    "masks": "which of its tensors are masks, of one byte an element: `written`, or `both` those read and written",
    "kept_in_fp32": (
        "whether mixed precision keeps it in fp32: `yes`, `forward` for the forward pass alone, or `by op` where it "
        "casts op by op, as PyTorch's autocast does; TensorFlow's kernel reads a narrow format and computes in fp32"
    ),
    "along": "the axes that it works along: `rows` (of the last dimension), `channels`, `images` (all of each channel) "
    "or `windows` of an image",
    "layerwise": "`yes` where training runs it once over the output of each layer",
    "benchmark_kernel": "the operator that benchmarks time in its place; itself where they time it, which takes a call "
    "in the `ops()` of each library of `collect/bench`",
}
CAST = "cast"
LAUNCH = "launch"  # an addition of one element, whose time is that of the launch
CHANNEL_KERNELS = {"elementwise": "bias_add", "reduction": "channel_sum"}  # class → kernel for known channels
# kernels that take longer than their traffic
ALONG_CHANNELS = (*CHANNEL_KERNELS.values(), "bias_grad")
SLOW_ACTIVATIONS = ("sigmoid", "tanh", "sigmoid_grad", "tanh_grad")
POOL_SUFFIXES = {"forward": "", "grad_input": "_grad"}
SUFFIXES = {  # suffix of an operator's name by pass
    "convolution": {
        "forward": "", "grad_input": "_grad_input", "grad_weights": "_grad_weights", "backward": "_grad",
    },
    "recurrent": {"forward": "", "grad_input": "_grad", "grad_weights": "_grad", "backward": "_grad"},
    "max_pool": POOL_SUFFIXES,
    "avg_pool": POOL_SUFFIXES,
}  # fmt: skip
NARROW = tuple(name for name, size in ITEMSIZE.items() if size < ITEMSIZE["fp32"])


@dataclass(frozen=True)
class Operator:
    """One row of operators.csv, whose COLUMNS say what each field means; missing numbers are NaN."""

    operator: str
    op_class: str
    direction: str
    reads: float
    writes: float
    flop_per_element: float
    masks: str
    kept_in_fp32: str
    along: str
    layerwise: bool
    benchmark_kernel: str


@cache
def operators() -> dict[str, Operator]:
    """Every operator by its name."""
    text = (files("estimator.core") / "operators.csv").read_text(encoding="utf-8")
    return {row["operator"]: _operator(row) for row in csv.DictReader(text.splitlines())}


def _operator(row: dict[str, str]) -> Operator:
    convert: dict[str, Callable[[str], object]] = {
        **dict.fromkeys(("reads", "writes", "flop_per_element"), lambda cell: float(cell or "nan")),
        "layerwise": lambda cell: cell == "yes",
    }
    return Operator(**{f.name: convert.get(f.name, str)(row[f.name]) for f in fields(Operator)})  # type: ignore[arg-type]


@cache
def timed_streams() -> tuple[str, ...]:
    """The memory-bound operators that benchmarks time at any size: all but pools, casts and the launch."""
    own = {name for name, row in operators().items() if row.op_class in UNPOOLED and name == row.benchmark_kernel}
    return tuple(name for name in operators() if name in own - {CAST, LAUNCH})


def class_of(operator: str) -> str:
    """The op class of an operator."""
    return operators()[operator].op_class


def refuse_unknown(rows: pd.DataFrame, where: str) -> None:
    """Raise EstimatorError where a row of any table states an ``operator`` that operators.csv lacks."""
    unknown = rows["operator"].dropna()
    unknown = unknown[~unknown.isin(operators().keys())]
    if len(unknown):
        name = unknown.iloc[0]
        sentence = f"operator '{name}' is not known.{suggestion(name, operators())} core/operators.csv lists all."
        raise EstimatorError(f"{where}: row {unknown.index[0] + 1}: {sentence}")


def attribute(rows: pd.DataFrame, name: str) -> Names:
    """A column of operators.csv for the ``operator`` of each row of any table; "" where it is missing."""
    return _attributes(rows["operator"], name)[0]


def _attributes(names: pd.Series, *wanted: str) -> list[Names]:
    """Columns of operators.csv for each name of an operator; "" where it is missing."""
    codes, known = names.factorize()
    rows = [operators()[name] for name in known.tolist()]
    return [np.array([*(getattr(row, name) for row in rows), ""], dtype=object)[codes] for name in wanted]


def benchmark_kernels(rows: pd.DataFrame) -> Names:
    """The operator that benchmarks time in place of each row's operator; "" where there is none.

    Ops with one number per channel (``conv_c`` without ``conv_n``) have kernels of their own, and so have casts from or
    to a format narrower than fp32.
    """
    classes = rows["op_class"].to_numpy(dtype=object, na_value="")
    (general,) = _attributes(rows["op_class"], "benchmark_kernel")
    own, axes, class_by_name = _attributes(rows["operator"], "benchmark_kernel", "along", "op_class")
    along, casts = _along_channels(rows), is_cast(rows)
    plain = (class_by_name != classes) | ((axes == "channels") & ~along) | (own == CAST)
    kernels = np.where(plain, general, own)
    for op_class, kernel in CHANNEL_KERNELS.items():
        kernels = np.where(along & (classes == op_class) & (kernels == general), kernel, kernels)
    return np.where(casts, CAST, kernels)


def _along_channels(rows: pd.DataFrame) -> Flags:
    """Whether each row has channels but no image."""
    return np.asarray(rows["conv_c"].notna() & rows["conv_n"].isna()) if "conv_c" in rows else np.zeros(len(rows), bool)


def with_operators(rows: pd.DataFrame) -> pd.DataFrame:
    """MEASUREMENTS or SHAPES with an ``operator`` in each row: as stated, else its kernel where that is an operator of
    the row's class, else its class; with the suffix of its pass.
    """
    import pandas as pd

    columns = (rows[name].to_numpy(dtype=object, na_value="") for name in ("operator", "op_class", "kernel", "pass"))
    names = [_operator_of(*cells) for cells in zip(*columns, strict=True)]
    return rows.assign(operator=pd.array(names, dtype=rows["operator"].dtype))


def _operator_of(stated: str, op_class: str, kernel: str, direction: str) -> str:
    name = stated or (kernel if kernel in operators() and class_of(kernel) == op_class else op_class)
    return name + SUFFIXES.get(name, {}).get(direction, "")


def cast_formats(rows: pd.DataFrame) -> pd.Series:
    """The format narrower than fp32 that each row casts from or to; NA for all other rows.

    WORK states both formats; measured casts go from fp32 to the row's ``precision``.
    """
    if "from_precision" in rows:
        if not complete(rows, ("from_precision", "to_precision")).any():  # most profiles hold no casts at all
            return rows["from_precision"].iloc[:0].reindex(rows.index)
        narrow = _narrower(rows["from_precision"], rows["to_precision"])
    else:
        narrow = rows["precision"].where(rows["operator"].eq(CAST).fillna(False))
    return narrow.where(narrow.isin(NARROW))


def _narrower(first: pd.Series, second: pd.Series) -> pd.Series:
    """The narrower of two formats; NA where one is unknown or both have equal width."""
    sizes = itemsizes(first), itemsizes(second)
    return first.where(sizes[0] < sizes[1], second).where(~np.isnan(sizes[0] + sizes[1]) & (sizes[0] != sizes[1]))


def is_cast(rows: pd.DataFrame) -> Flags:
    """Whether each row casts between a format narrower than fp32 and a wider one."""
    return np.asarray(cast_formats(rows).notna(), dtype=bool)
