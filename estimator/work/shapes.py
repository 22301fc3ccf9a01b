"""Parser of the texts in OPS: operand shapes, result shapes and attributes; each distinct text is parsed once."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from estimator.core.errors import EstimatorError, within
from estimator.core.operators import Operator, operators
from estimator.core.table import LARGEST_WHOLE
from estimator.core.types import Floats
from estimator.work.operators import Rule, is_partial_kernel, operator_in_class, operator_of, rule_of

Shape = tuple[int, ...]
Result = TypeVar("Result")
RATIO = re.compile(r"\d{1,15}/[1-9]\d{0,14}")
WHOLE_NUMBERS = re.compile(r"\d{1,15}(x\d{1,15})*")
UNKNOWN = Rule("unmodelled", "")
SLICES = "slices"  # the attribute of an op that takes one of so many slices of the batch
UNKNOWN_SLICES = "unknown"
OP_COLUMNS = ("op_type", "kernel", "shapes", "output_shapes", "attributes", "op_class")


@dataclass(frozen=True)
class Op:
    """One op as its dump describes it; a shape is None where any of its dimensions stays unknown."""

    op_type: str
    kernel: str
    operands: tuple[Shape | None, ...]
    outputs: tuple[Shape | None, ...]
    attributes: dict[str, str]
    op_class: str = "unmodelled"

    @property
    def operator(self) -> Operator:
        """The operator that it computes, within its class."""
        return operators()[operator_in_class(operator_of(self.kernel, self.op_type), self.op_class)]

    @property
    def type_rule(self) -> Rule:
        """The rule of the op type, whose operands the dump lists; without an op type, the kernel's."""
        return rule_of(self.op_type or self.kernel) or UNKNOWN

    @property
    def kernel_rule(self) -> Rule:
        """The rule of the kernel's name."""
        return rule_of(self.kernel) or UNKNOWN

    @property
    def kernel_differs(self) -> bool:
        """Whether the kernel's name differs from the op type."""
        return self.kernel not in ("", self.op_type)

    @property
    def is_partial_kernel(self) -> bool:
        """Whether the kernel does only a part of the op, so that the shapes are not the kernel's own."""
        return is_partial_kernel(self.kernel, self.op_type)

    def operand(self, role: str) -> Shape | None:
        """The first operand with this role in the op type's rule; None where it is unknown."""
        places = [place for place, name in enumerate(self.type_rule.operands) if name == role]
        return next((self.operands[place] for place in places if place < len(self.operands)), None)

    def whole_numbers(self, key: str) -> tuple[int, ...] | None:
        """An attribute such as ``strides=2x2``; None where it is missing. Raises EstimatorError."""
        text = self.attributes.get(key)
        if text is None:
            return None
        if text and not WHOLE_NUMBERS.fullmatch(text):
            raise EstimatorError(f"{key} is '{text}'; expected whole numbers joined by x, such as 2x2")
        return tuple(int(part) for part in text.split("x") if text)


@dataclass(frozen=True)
class ParsedOps:
    """The distinct descriptions of an op table's rows: ``ops[codes[i]]`` is row i's, ``first`` one row of each."""

    ops: list[Op]
    codes: npt.NDArray[np.intp]
    first: npt.NDArray[np.intp]
    names: list[str]

    def of_row(self, row: int | np.intp) -> Op:
        """The description of a row."""
        return self.ops[int(self.codes[row])]

    def indices(self, rows: pd.Series) -> list[int]:
        """The indices of the rows' descriptions."""
        return [int(i) for i in np.unique(self.codes[rows.to_numpy(dtype=bool)])]

    def read_each(self, rows: pd.Series, read: Callable[[Op], Result | None], where: str) -> dict[int, Result]:
        """The results of ``read`` by description, for the rows' descriptions; an EstimatorError names the op."""
        results = {}
        for i in self.indices(rows):
            with within(f"{where}: '{self.names[i]}'"):
                result = read(self.ops[i])
            if result is not None:
                results[i] = result
        return results

    def spread(self, results: Mapping[int, Result], number: Callable[[Result], float | None]) -> Floats:
        """One number per result, spread over the rows; NaN for rows without a result."""
        out = np.full(len(self.ops), np.nan)
        numbers = [number(result) for result in results.values()]
        out[list(results)] = [np.nan if value is None else value for value in numbers]
        return out[self.codes]


def parse_ops(ops: pd.DataFrame, batch: int | None) -> ParsedOps:
    """The descriptions of an op table; unknown dimensions become the batch size, or that of one of its slices."""
    rows = list(zip(*(ops[name].fillna("").tolist() for name in OP_COLUMNS), strict=True))
    places = {cells: place for place, cells in enumerate(dict.fromkeys(rows))}  # several times as fast as groupby
    codes = np.array([places[cells] for cells in rows], dtype=np.intp)
    first = np.unique(codes, return_index=True)[1]
    parsed = [_described(cells, batch) for cells in places]
    return ParsedOps(parsed, codes, first, ops["op"].iloc[first].fillna("").tolist())


def _described(cells: Sequence[str], batch: int | None) -> Op:
    """The op of these cells of a table, in the order of OP_COLUMNS."""
    op_type, kernel, operands, outputs, text, op_class = cells
    attributes = read_attributes(text)
    size = of_slice(batch, attributes.get(SLICES))
    return Op(op_type, kernel, read_shapes(operands, size), read_shapes(outputs, size), attributes, op_class)


def of_slice(batch: int | None, slices: str | None) -> int | None:
    """The size of one of so many slices of the batch; the batch where none are stated, None where it is unknown."""
    if batch is None or slices is None:
        return batch
    return batch // int(slices) or 1 if slices.isdecimal() and int(slices) else None


@lru_cache(maxsize=2**16)
def read_shapes(text: str, batch: int | None) -> tuple[Shape | None, ...]:
    """The shapes of ``"-1x50;50x1;unknown"``; -1 is the batch size, a scalar has one element, None is unknown.

    A ratio is of each sample, and rounded up for all of them: at batch 4, ``-1x60x1/3`` is (1, 60, 2).
    """
    return tuple(_shape(item, batch) for item in text.split(";")) if text else ()


@lru_cache(maxsize=2**16)
def _shape(text: str, batch: int | None) -> Shape | None:
    try:
        dims = [_size(d) for d in text.split("x")] if text else [1]
    except ValueError:
        return None
    unknown = sum(d < 0 for d in dims)
    if min(dims) < -1 or unknown > 1 or (unknown and batch is None):
        return None
    shape = _of_all([batch if d < 0 and batch else d for d in dims])
    return shape if math.prod(max(d, 1) for d in shape) <= LARGEST_WHOLE else None


def _size(text: str) -> int | Fraction:
    return Fraction(text) if "/" in text and RATIO.fullmatch(text) else int(text)


def _of_all(sizes: Sequence[int | Fraction]) -> Shape:
    """The sizes with those of each sample taken for all: the first one counts samples."""
    if all(isinstance(size, int) for size in sizes):
        return tuple(map(int, sizes))
    samples, *others = sizes
    return (1, *(math.ceil(samples * size) if isinstance(size, Fraction) else size for size in others))


def read_attributes(text: str) -> dict[str, str]:
    """The attributes of ``"strides=2x2;padding=SAME"``."""
    return {key.strip(): value.strip() for key, _, value in (item.partition("=") for item in text.split(";")) if key}


def elements(shapes: tuple[Shape | None, ...]) -> int | None:
    """Number of elements of all shapes together; None where one is unknown or there are none."""
    known = [math.prod(shape) for shape in shapes if shape is not None]
    return sum(known) if known and len(known) == len(shapes) else None
