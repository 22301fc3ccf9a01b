"""Names that frameworks and libraries give to ops → operators of core/operators.csv.

The kernel that ran decides where a rule knows it, else the framework's op type. A rule must match a whole name, so that
``Max`` is not ``MaxPool``; the first match decides. Names of GPU kernels are matched by their beginning after ``void``
and namespaces; of those that no rule knows, the words in the name tell. Rules see op types and kernels, never users'
names.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from estimator.core.attributes import ACROSS_LINK, DISPATCH, has_attribute
from estimator.core.operators import class_of
from estimator.core.schema import HOST_CLASSES, MATRIX, STREAMING, on_processor
from estimator.work.operators import libraries, profilers, tensorflow, torch, xla
from estimator.work.operators.kernel_words import operator_of_message, operator_of_words
from estimator.work.operators.plain_names import plain_name
from estimator.work.operators.rule import Rule, compiled

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Rule", "is_partial_kernel", "operator_of", "operators_of", "rule_of"]

FAMILIES = (  # in this order
    profilers.FAMILY,
    tensorflow.FAMILY,
    torch.FAMILY,
    torch.LIBRARY_OPS,
    xla.FAMILY,
    libraries.DISTINCT_KERNELS,
    libraries.KERNELS,
    profilers.OWN_NAMES,
)
ROOTS = ("fused_elementwise",)  # fusions, whose kernel is the root op
RUN_AS_PRODUCTS = (("convolution", "gemm"), ("attention", "gemm"))  # classes of an op type, and of its kernel
COPIES = ("memcpy", "memset")  # their bytes are reported by profilers
RECURRENT = re.compile(r"(?i)(aten::)?\w*(rnn|lstm|gru)\w*")
TRAINING_ONLY = (  # names and scopes of forward ops that inference does not run
    r"(?i)(^|.*[/:_])"
    r"(dropout(_\d+)*|batch_?norm\w*/moments|compile_loss|\w*_loss\w*|\w*cross_?entropy\w*|bernoulli_?)(/.*|$)"
)


@lru_cache(maxsize=2**16)
def rule_of(name: str) -> Rule | None:
    """The first rule that matches an op type or a kernel; None where none does."""
    plain = plain_name(name)
    return next((rule for family in FAMILIES if (rule := family.find(plain))), None) if plain else None


@lru_cache(maxsize=2**16)
def operator_of(kernel: str, op_type: str) -> str:
    """The operator of a kernel that ran for an op type; either name may be empty."""
    by_kernel, by_type = (_operator(name) for name in (kernel, op_type))
    if by_kernel is None or (class_of(by_kernel) == "host" and by_type):
        return by_type or by_kernel or "unmodelled"  # a fusion's root may be a mere bitcast
    if by_type is None or by_type in ROOTS or by_kernel in COPIES:
        return by_kernel
    classes = class_of(by_type), class_of(by_kernel)
    same_work = classes[0] == classes[1] or classes in RUN_AS_PRODUCTS
    return by_type if same_work else by_kernel


@lru_cache(maxsize=2**16)
def operator_on_device(kernel: str, op_type: str) -> str:
    """The operator of a kernel that a device ran: no work of a host, unless it is a copy across the device's link.

    A kernel of unknown name that compiled code launched may be anything.
    """
    operator, by_kernel = operator_of(kernel, op_type), _operator(kernel)
    by_host = class_of(operator) in HOST_CLASSES and by_kernel != "input"
    is_any = by_kernel is None and compiled(profilers.GENERATED).fullmatch(op_type)
    return "unmodelled" if by_host or is_any else operator


@lru_cache(maxsize=2**16)
def operator_by_words(kernel: str, op_type: str) -> str | None:
    """The operator that the words in a kernel's name tell, where no rule knows the kernel and its op tells no more.

    An op tells nothing where it is unknown, or any code. Of a product, the kernel may do a lesser part. Messages
    outlast whatever a rule takes the kernel for: ``all_reduce_kernel`` is no sum.
    """
    by_rule = class_of(_operator(kernel) or "unmodelled")
    message = operator_of_message(kernel) if by_rule in ("unmodelled", *STREAMING) else None
    operator = operator_of_words(kernel) if by_rule == "unmodelled" and rule_of(kernel) is None else None
    if message or operator is None:
        return message
    by_type = class_of(operator_on_device("", op_type))
    is_part = by_type in MATRIX and class_of(operator) not in MATRIX
    return operator if by_type == "unmodelled" or is_part or compiled(profilers.GENERATED).fullmatch(op_type) else None


def _operator(name: str) -> str | None:
    rule = rule_of(name)
    return rule.operator if rule else None


@lru_cache(maxsize=2**12)
def operator_in_class(operator: str, op_class: str) -> str:
    """The operator of an op whose class a table states: the one of its name where that is similar work, else the
    general operator of the class.
    """
    class_by_name = class_of(operator)
    layer = class_by_name == "recurrent" and op_class == "gemm"  # a layer of products counts as one product
    similar = class_by_name == op_class or {class_by_name, op_class} <= set(STREAMING) or layer
    return operator if similar else op_class


def operators_of(ops: pd.DataFrame) -> pd.Series:
    """The operator of each row of OPS."""
    import pandas as pd

    kernels, types = (ops[name].fillna("").tolist() for name in ("kernel", "op_type"))
    by_words = [
        operator_by_words(kernel, op_type) if elsewhere else None
        for kernel, op_type, elsewhere in zip(kernels, types, ~on_processor(ops), strict=True)
    ]
    operators = [
        words or (operator_on_device(kernel, op_type) if on_device else operator_of(kernel, op_type))  # all are cached
        for words, kernel, op_type, on_device in zip(by_words, kernels, types, ran_kernel(ops), strict=True)
    ]
    names = pd.Series(operators, index=ops.index, dtype="string[python]")
    for attribute, operator in ((DISPATCH, "host"), (ACROSS_LINK, "input")):
        names = names.mask(has_attribute(ops, attribute), operator)
    return names


def ran_kernel(ops: pd.DataFrame) -> pd.Series:
    """Rows of kernels that an accelerator ran; merged ranks name no placement."""
    return (ops["kernel"].notna() & ops["op_type"].ne(ops["kernel"]).fillna(True) & ~on_processor(ops)).astype(bool)


@lru_cache(maxsize=2**16)
def is_partial_kernel(kernel: str, op_type: str) -> bool:
    """Whether a kernel does only a part of its op, so that the listed shapes are not the kernel's own.

    Such a kernel moves or sums for a matrix product, or multiplies for a recurrent layer or for any PyTorch op that is
    no product. Of a kernel that its words alone tell, nobody knows.
    """
    if operator_by_words(kernel, op_type):
        return True
    kernel_class, type_class = (_class(name) for name in (kernel, op_type))
    recurrent = type_class in ("", "recurrent") and kernel not in ("", op_type) and RECURRENT.fullmatch(op_type)
    product = kernel_class == "gemm" and type_class not in MATRIX and "::" in op_type
    return (type_class in MATRIX and kernel_class in STREAMING) or bool(recurrent) or product


def _class(name: str) -> str:
    operator = _operator(name)
    return class_of(operator) if operator else ""


def runs_in_executor(ops: pd.DataFrame) -> pd.Series:
    """Rows that are ops of TensorFlow's own executor."""
    return _matches(ops["op_type"], tensorflow.EXECUTOR)


def is_update(ops: pd.DataFrame) -> pd.Series:
    """Rows that update variables, by their operator."""
    return _by_rule(ops, lambda rule: rule.properties.direction == "update" or rule.operator == "assign")


def is_loss_scaling(ops: pd.DataFrame) -> pd.Series:
    """Rows that scale gradients back or look for overflows among them, as training in fp16 does."""
    in_tensorflow = _matches(ops["op_type"], tensorflow.LOOKS_FOR_OVERFLOW) & (ops["phase"] == "optimizer").fillna(
        False
    )
    return _by_rule(ops, lambda rule: rule.operator == "amp_update") | in_tensorflow


def is_variable(ops: pd.DataFrame) -> pd.Series:
    """Rows that are or read a variable."""
    return _by_rule(ops, lambda rule: rule.operator == "variable")


def is_temporary(ops: pd.DataFrame) -> pd.Series:
    """Rows of TensorFlow's temporary variables, which also sum gradients of activations."""
    return ops["op"].str.contains(tensorflow.TEMPORARY, regex=False)


def ends_in_variable(ops: pd.DataFrame) -> pd.Series:
    """Rows that write a variable, which no other op reads in the same step."""
    in_place = ops["phase"].eq("optimizer").fillna(False) & _matches(ops["op_type"], torch.IN_PLACE)
    return (_matches(ops["op_type"], tensorflow.WRITES_VARIABLE) | in_place).astype(bool)


def is_fusion(ops: pd.DataFrame) -> pd.Series:
    """Rows whose op or kernel is a fusion already."""
    return _matches(ops["op_type"], libraries.FUSED) | _matches(ops["kernel"], libraries.FUSED)


def is_for_training(ops: pd.DataFrame) -> pd.Series:
    """Rows of dropout, losses and batch statistics."""
    return _matches(ops["op"], TRAINING_ONLY) | _matches(ops["op_type"], TRAINING_ONLY)


@lru_cache(maxsize=2**12)
def forward_name(op: str) -> str:
    """The name of the forward op of which TensorFlow made a gradient; of any other op, its own."""
    matches = (compiled(pattern).fullmatch(op) for pattern in tensorflow.GRADIENT_NAMES)
    return next((f"{match['scope']}{match['op']}" for match in matches if match), op)


def name_in_loop(op: str) -> str:
    """The name of an op of a TensorFlow loop as its gradient gives it, without the loop's; of any other op, its own."""
    return compiled(tensorflow.LOOP_BODY).sub("", op)


def normalization_layers(ops: pd.DataFrame) -> pd.Series:
    """The normalization layer of each row, where TensorFlow makes it of several ops; NA for all other rows.

    A scope with products is no layer.
    """
    import pandas as pd

    rows = zip(ops["op"].tolist(), runs_in_executor(ops), strict=True)
    scopes = [name.replace(tensorflow.GRADIENT_SCOPE, "") if in_executor else "" for name, in_executor in rows]
    layers = frozenset(filter(None, map(_normalization_scope, scopes)))
    layer_of_row = [_outermost(scope, layers) for scope in scopes] if layers else [None] * len(scopes)
    with_products = set(itertools.compress(layer_of_row, ops["op_class"].isin(MATRIX)))
    normalizing = [None if layer in with_products else layer for layer in layer_of_row]
    return pd.Series(normalizing, ops.index, dtype="string[python]", name="op")


@lru_cache(maxsize=2**16)
def _normalization_scope(op: str) -> str:
    """The scope of the normalization layer that an op's name states; "" where it states none."""
    match = compiled(tensorflow.NORMALIZATION_SCOPE).search(op)
    return match[1] if match else ""


def name_in_library(ops: pd.Series) -> pd.Series:
    """The names of ops of a normalization layer where a library's kernel computes them: they are in no layer."""
    return ops.str.replace(tensorflow.NORMALIZATION_SCOPE, rf"\1/{tensorflow.LIBRARY_SCOPE}/", regex=True)


def is_gradient_sum(ops: pd.DataFrame) -> pd.Series:
    """Rows in which TensorFlow sums the gradients of one tensor."""
    return _matches(ops["op"], tensorflow.GRADIENT_SUM)


def is_rewritten_sum(ops: pd.DataFrame) -> pd.Series:
    """Rows of sums that TensorFlow's graph optimizer put in another order."""
    return _matches(ops["op"], tensorflow.REWRITTEN_SUM)


def _outermost(op: str, layers: frozenset[str]) -> str | None:
    """The outermost layer around an op; None where it is in none."""
    end = op.find("/")
    while end >= 0 and op[:end] not in layers:
        end = op.find("/", end + 1)
    return op[:end] if end >= 0 else None


def _by_rule(ops: pd.DataFrame, wanted: Callable[[Rule], bool]) -> pd.Series:
    """Rows whose op type has a wanted rule."""
    rules = {name: rule_of(name) for name in ops["op_type"].dropna().unique()}
    return ops["op_type"].isin([name for name, rule in rules.items() if rule and wanted(rule)])


def _matches(texts: pd.Series, pattern: str) -> pd.Series:
    """Whether a pattern matches each whole text; a missing text never matches."""
    import pandas as pd

    matching = [isinstance(text, str) and _matches_whole(pattern, text) for text in texts.tolist()]
    return pd.Series(matching, texts.index, dtype=bool, name=texts.name)


@lru_cache(maxsize=2**17)
def _matches_whole(pattern: str, text: str) -> bool:
    return bool(compiled(pattern).fullmatch(text))
