"""What kind of work an op is: from the kernel that really ran where a rule knows it, else from the framework's op type.

A rule stands for a whole name, so that ``Max`` is not ``MaxPool``; the first that fits decides. Names of GPU kernels
are judged by how they begin, behind ``void`` and namespaces. Rules see op types and kernels, never users' names.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from estimator.core.schema import MATRIX, STREAMING
from estimator.work import names

if TYPE_CHECKING:
    import pandas as pd

DISPATCH = re.compile(r"(?:^|;)dispatch=1(?:;|$)")  # a wrapper: the op inside did the work and has a row of its own
RECURRENT = re.compile(r"(?i)(aten::)?\w*(rnn|lstm|gru)\w*")
RULES = tuple(
    (op_class, f"{before}({pattern}){behind}")
    for before, behind, rules in names.FAMILIES
    for op_class, pattern in rules
)


def classify(op_types: pd.Series, kernels: pd.Series | None = None, attributes: pd.Series | None = None) -> pd.Series:
    """The op class of each op (rows alike); ``unmodelled`` where no rule knows it."""
    import pandas as pd

    kernels = op_types.where(op_types.isna()) if kernels is None else kernels
    pairs = list(zip(kernels.fillna(""), op_types.fillna(""), strict=True))
    classes = {pair: class_of(*pair) for pair in set(pairs)}
    found = pd.Series([classes[pair] for pair in pairs], index=op_types.index, dtype="string[python]")
    if attributes is None:
        return found
    return found.mask(attributes.str.contains(DISPATCH).fillna(False).astype(bool), "host")


@lru_cache(maxsize=2**16)
def class_of(kernel: str, op_type: str) -> str:
    """The class of one kernel that ran for an op type; either may be empty."""
    ran, asked = known_class(kernel), known_class(op_type)
    if asked == "convolution" and ran == "gemm":
        return asked  # convolutions may run as products, but the shapes are the convolution's
    if ran is None or (ran == "host" and asked):
        return asked or ran or "unmodelled"  # a fusion's root may be a mere bitcast
    return ran


@lru_cache(maxsize=2**16)
def known_class(name: str) -> str | None:
    """The class that the first fitting rule gives to an op type or a kernel; None where none fits."""
    return next((op_class for op_class, pattern in RULES if _compiled(pattern).fullmatch(name)), None) if name else None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """A rule's pattern, compiled when a name first gets that far: all together take longer than most profiles."""
    return re.compile(pattern, re.DOTALL)


@lru_cache(maxsize=2**16)
def foreign_shapes(kernel: str, op_type: str) -> bool:
    """Whether a kernel does only a part of what was asked for, so that the shapes are not its own: it moves or sums for
    a matrix product, or multiplies for a recurrent layer or any op of PyTorch's that is no product.
    """
    ran, asked = known_class(kernel), known_class(op_type)
    recurrent = asked is None and kernel not in ("", op_type) and RECURRENT.fullmatch(op_type)
    product = ran == "gemm" and "::" in op_type and asked not in MATRIX
    return (asked in MATRIX and ran in STREAMING) or bool(recurrent) or product
