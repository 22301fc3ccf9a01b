"""What an op computes: from the names that frameworks and libraries give → an operator of core/operators.csv.

The kernel that really ran decides where a rule knows it, else the framework's op type. A rule stands for a whole name,
so that ``Max`` is not ``MaxPool``; the first that fits decides. Names of GPU kernels are judged by how they begin,
behind ``void`` and namespaces. Rules see op types and kernels, never users' names.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from estimator.core.operators import class_of
from estimator.core.schema import MATRIX, STREAMING
from estimator.work.operators import libraries, profilers, tensorflow, torch, xla
from estimator.work.operators.rule import Rule, compiled

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Rule", "operator_of", "operators_of", "rule_of", "shapes_of_another"]

FAMILIES = (  # in this order
    profilers.FAMILY,
    tensorflow.FAMILY,
    torch.FAMILY,
    xla.FAMILY,
    libraries.DISTINCT_KERNELS,
    libraries.KERNELS,
    profilers.OWN_NAMES,
)
ROOTS = ("fused_elementwise",)  # fusions, of which the kernel tells the root op
RUN_AS_PRODUCTS = (("convolution", "gemm"), ("attention", "gemm"))  # classes asked for, and of the kernel that ran
COPIES = ("memcpy", "memset")  # of which profilers tell the bytes
DISPATCH = re.compile(r"(?:^|;)dispatch=1(?:;|$)")  # a wrapper: the op inside did the work and has a row of its own
RECURRENT = re.compile(r"(?i)(aten::)?\w*(rnn|lstm|gru)\w*")
TRAINING_ONLY = (  # names and scopes of what inference leaves out of the forward pass
    r"(?i)(^|.*[/:_])"
    r"(dropout(_\d+)*|batch_?norm\w*/moments|compile_loss|\w*_loss\w*|\w*cross_?entropy\w*|bernoulli_?)(/.*|$)"
)


@lru_cache(maxsize=2**16)
def rule_of(name: str) -> Rule | None:
    """The first rule that fits an op type or a kernel; None where none does."""
    return next((rule for family in FAMILIES if (rule := family.find(name))), None) if name else None


@lru_cache(maxsize=2**16)
def operator_of(kernel: str, op_type: str) -> str:
    """The operator of one kernel that ran for an op type; either may be empty."""
    ran, asked = (_operator(name) for name in (kernel, op_type))
    if ran is None or (class_of(ran) == "host" and asked):
        return asked or ran or "unmodelled"  # a fusion's root may be a mere bitcast
    if asked is None or asked in ROOTS or ran in COPIES:
        return ran
    classes = class_of(asked), class_of(ran)
    as_asked = classes[0] == classes[1] or classes in RUN_AS_PRODUCTS
    return asked if as_asked else ran


def _operator(name: str) -> str | None:
    rule = rule_of(name)
    return rule.operator if rule else None


@lru_cache(maxsize=2**12)
def operator_in_class(operator: str, op_class: str) -> str:
    """The operator of an op whose class a table states: as its names say, where that is the same sort of work; else
    what its class does in general.
    """
    own = class_of(operator)
    layer = own == "recurrent" and op_class == "gemm"  # made of products, counted as one
    return operator if own == op_class or {own, op_class} <= set(STREAMING) or layer else op_class


def operators_of(ops: pd.DataFrame) -> pd.Series:
    """The operator of each row of OPS."""
    import pandas as pd

    pairs = list(zip(ops["kernel"].fillna(""), ops["op_type"].fillna(""), strict=True))
    known = {pair: operator_of(*pair) for pair in set(pairs)}
    found = pd.Series([known[pair] for pair in pairs], index=ops.index, dtype="string[python]")
    return found.mask(ops["attributes"].str.contains(DISPATCH).fillna(False).astype(bool), "host")


@lru_cache(maxsize=2**16)
def shapes_of_another(kernel: str, op_type: str) -> bool:
    """Whether a kernel does only a part of what was asked for, so that the listed shapes are not its own: it moves or
    sums for a matrix product, or multiplies for a recurrent layer or any op of PyTorch's that is no product.
    """
    ran, asked = (_class(name) for name in (kernel, op_type))
    recurrent = asked in ("", "recurrent") and kernel not in ("", op_type) and RECURRENT.fullmatch(op_type)
    product = ran == "gemm" and asked not in MATRIX and "::" in op_type
    return (asked in MATRIX and ran in STREAMING) or bool(recurrent) or product


def _class(name: str) -> str:
    operator = _operator(name)
    return class_of(operator) if operator else ""


def runs_in_executor(ops: pd.DataFrame) -> pd.Series:
    """Rows that are ops of TensorFlow's own executor, of whatever kind."""
    return _names(ops["op_type"], tensorflow.EXECUTOR)


def is_update(ops: pd.DataFrame) -> pd.Series:
    """Rows that update variables, by their operator."""
    return _by_operator(ops, lambda rule: rule.of.direction == "update" or rule.operator == "assign")


def is_variable(ops: pd.DataFrame) -> pd.Series:
    """Rows that are or read a variable."""
    return _by_operator(ops, lambda rule: rule.operator == "variable")


def is_temporary(ops: pd.DataFrame) -> pd.Series:
    """Rows of TensorFlow's temporary variables, which sum gradients of activations as well."""
    return ops["op"].str.contains(tensorflow.TEMPORARY, regex=False)


def ends_in_variable(ops: pd.DataFrame) -> pd.Series:
    """Rows that write a variable, which nothing reads in the same step."""
    in_place = ops["phase"].eq("optimizer").fillna(False) & _names(ops["op_type"], torch.IN_PLACE)
    return (_names(ops["op_type"], tensorflow.WRITES_VARIABLE) | in_place).astype(bool)


def is_fusion(ops: pd.DataFrame) -> pd.Series:
    """Rows whose op or kernel is a fusion already."""
    return _names(ops["op_type"], libraries.FUSED) | _names(ops["kernel"], libraries.FUSED)


def is_for_training(ops: pd.DataFrame) -> pd.Series:
    """Rows of dropout, losses and batch statistics."""
    return _names(ops["op"], TRAINING_ONLY) | _names(ops["op_type"], TRAINING_ONLY)


def normalization_layers(ops: pd.DataFrame) -> pd.Series:
    """The layer that each row is an op of, where TensorFlow makes a normalization of several; NA for all others."""
    scope = ops["op"].str.replace(tensorflow.GRADIENT_SCOPE, "", regex=False).where(runs_in_executor(ops))
    layers = frozenset(scope.str.extract(tensorflow.NORMALIZATION_SCOPE)[0].dropna())
    found = {op: _outermost(op, layers) for op in scope.dropna().unique()} if layers else {}
    return scope.map(found).astype("string[python]")


def _outermost(op: str, layers: frozenset[str]) -> str | None:
    """The outermost of the layers that an op lies in."""
    ends = [place for place, letter in enumerate(op) if letter == "/"]
    return next((op[:end] for end in ends if op[:end] in layers), None)


def _by_operator(ops: pd.DataFrame, wanted: Callable[[Rule], bool]) -> pd.Series:
    """Rows whose op type has a rule that is wanted."""
    rules = {name: rule_of(name) for name in ops["op_type"].dropna().unique()}
    return ops["op_type"].isin([name for name, rule in rules.items() if rule and wanted(rule)])


def _names(texts: pd.Series, pattern: str) -> pd.Series:
    """Whether each text as a whole fits a pattern; a missing one does not."""
    return texts.isin([text for text in texts.dropna().unique() if compiled(pattern).fullmatch(text)])
