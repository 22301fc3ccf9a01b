"""The arguments of ops as a Kineto trace records them: JSON texts → tensors, values and number formats."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from estimator.core.number_formats import known_format
from estimator.core.table import LARGEST_WHOLE

NO_TENSORS = ("Scalar", "ScalarList", "")

Sizes = tuple[int, ...]


class Call(NamedTuple):
    """The arguments of one call, as JSON texts of the trace; empty where the trace has none."""

    name: str
    dims: bytes = b""
    types: bytes = b""
    strides: bytes = b""
    values: bytes = b""
    geometry: Geometry | None = None


class Geometry(NamedTuple):
    """The sizes of a convolution's tensors, which it shares with its gradients."""

    image: Sizes
    weight: Sizes
    output: Sizes


class Work(NamedTuple):
    """One piece of a call's work, as columns of OPS."""

    shapes: str | None = None
    attributes: str | None = None
    precision: str | None = None
    output_shapes: str | None = None


@dataclass(frozen=True)
class Tensor:
    """An operand's sizes, and its strides [elements] where the trace has them."""

    dims: Sizes
    strides: Sizes

    @property
    def transposed(self) -> bool:
        """Whether its last two axes are swapped in memory."""
        if not 2 <= len(self.dims) == len(self.strides):
            return False
        return self.strides[-2] == 1 and self.strides[-1] > 1 and self.dims[-1] > 1

    def in_memory(self) -> Tensor:
        """The matrix as it lies in memory, row by row: itself or its transpose."""
        return Tensor((*self.dims[:-2], *self.dims[:-3:-1]), ()) if self.transposed else self

    def __str__(self) -> str:
        return "x".join(map(str, self.dims))


ONE_ELEMENT = Tensor((1,), (1,))


def read_text(text: bytes) -> str:
    """A JSON text; empty where it is none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    return value if isinstance(value, str) else ""


def base_name(name: str) -> str:
    """The op's name without its library and without the ``_`` of in-place ops."""
    library, _, base = name.rpartition("::")
    return base.removesuffix("_") if library in ("aten", "mkldnn") else name


def is_list(argument: Any) -> bool:
    """Whether an argument is a list of tensors."""
    return isinstance(argument, list) and any(isinstance(item, list) for item in argument)


@dataclass(frozen=True)
class Argument:
    """One argument: its tensors, or its value as text."""

    tensors: tuple[Tensor, ...]
    value: str


def non_scalars(argument: Argument) -> tuple[Tensor, ...]:
    """The tensors of an argument that have dimensions."""
    return tuple(tensor for tensor in argument.tensors if tensor.dims)


def shapes_text(tensors: Sequence[Tensor]) -> str | None:
    """Shapes as OPS has them, ``32x64;64``; None without tensors."""
    return ";".join(map(str, tensors)) or None


def read_arguments(call: Call) -> list[Argument]:
    """The arguments of a call in their order."""
    sizes, strides = read_sizes(call.dims), read_sizes(call.strides)
    types, values = read_list(call.types), read_list(call.values)
    arguments = []
    for i, dims in enumerate(sizes):
        kind = str(types[i]) if i < len(types) else None
        tensors = _tensors(kind, dims, strides[i] if i < len(strides) else [])
        arguments.append(Argument(tuple(tensors), str(values[i]) if i < len(values) else ""))
    return arguments


def _tensors(kind: str | None, dims: Sequence[Sizes], strides: Sequence[Sizes]) -> Iterator[Tensor]:
    """Yield the tensors of an argument, of whose type (None) and strides the trace may tell nothing."""
    if kind in NO_TENSORS or (kind == "TensorList" and dims == [()]):  # none, or too many for the trace
        return
    steps = strides if len(strides) == len(dims) else [()] * len(dims)
    for tensor in map(Tensor, dims, steps):
        yield ONE_ELEMENT if kind is not None and not tensor.dims else tensor


@lru_cache(maxsize=1 << 14)
def read_sizes(text: bytes) -> list[list[Sizes]]:
    """The sizes of each argument's tensors, of one or of a list; () is a scalar, -1 an unreadable size."""
    sizes = []
    for argument in read_list(text):
        tensors = argument if is_list(argument) else [argument]
        sizes.append([tuple(map(_size, tensor)) for tensor in tensors if isinstance(tensor, list)])
    return sizes


def _size(value: Any) -> int:
    return value if type(value) is int and 0 <= value <= LARGEST_WHOLE else -1


@lru_cache(maxsize=1 << 14)
def read_list(text: bytes) -> list[Any]:
    """The text as a JSON list, or that of a JSON text in it; empty where it is none."""
    try:
        value = json.loads(text)
        value = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return []
    return value if isinstance(value, list) else []


@lru_cache(maxsize=1 << 14)
def read_precision(types: bytes) -> str | None:
    """The number format of the first operand that has one."""
    formats = (known_format(name) for name in read_list(types) if isinstance(name, str))
    return next(filter(None, formats), None)


def read_value(arguments: Mapping[str, Argument], name: str) -> Any:
    """The value of an argument, which the trace writes as in Python; None where it is absent."""
    text = arguments[name].value if name in arguments else ""
    try:
        return json.loads(text.replace("True", "true").replace("False", "false"))
    except (ValueError, RecursionError):
        return None
