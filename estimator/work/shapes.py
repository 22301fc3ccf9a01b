"""What OPS writes as text, read: operand shapes, result shapes and attributes, each distinct text once."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from estimator.core.errors import EstimatorError, within
from estimator.core.operators import Operator, operators
from estimator.core.types import Floats
from estimator.work.operators import ROOTS, Rule, operator_in_class, operator_of, rule_of, shapes_of_another

Shape = tuple[int, ...]
Found = TypeVar("Found")
LARGEST = 2**53  # beyond it a float no longer counts by ones
WHOLE_NUMBERS = re.compile(r"\d{1,15}(x\d{1,15})*")
PARTIAL = ("slice", "update_slice", "gather")  # operators that touch a part of a tensor
UNKNOWN = Rule("unmodelled", "")
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
        """What it computes, in the class that it is of."""
        return operators()[operator_in_class(operator_of(self.kernel, self.op_type), self.op_class)]

    @property
    def asked(self) -> Rule:
        """What the name says whose operands are listed: the op type, else the kernel."""
        return rule_of(self.op_type or self.kernel) or UNKNOWN

    @property
    def ran(self) -> Rule:
        """What the name of the kernel says."""
        return rule_of(self.kernel) or UNKNOWN

    @property
    def runs_another(self) -> bool:
        """Whether a kernel of another name ran than what was asked for."""
        return self.kernel not in ("", self.op_type)

    @property
    def shapes_of_another(self) -> bool:
        """Whether the kernel does only a part of what was asked for, so that the shapes are not its own."""
        return shapes_of_another(self.kernel, self.op_type)

    @property
    def counted_as(self) -> Rule:
        """What tells how its operands are moved; of fusions the root, where that touches a part of a tensor."""
        return self.ran if self.asked.operator in ROOTS and self.ran.operator in PARTIAL else self.asked

    def operand(self, role: str) -> Shape | None:
        """The first operand that has this role among those that the asked name lists; None where none is known."""
        places = [place for place, name in enumerate(self.asked.operands) if name == role]
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
    """The distinct descriptions of an op table's rows: ``ops[codes[i]]`` is row i, ``first`` a row of each."""

    ops: list[Op]
    codes: npt.NDArray[np.intp]
    first: npt.NDArray[np.intp]
    names: list[str]

    def of(self, rows: pd.Series) -> list[int]:
        """The numbers of the descriptions that the rows have."""
        return [int(i) for i in np.unique(self.codes[rows.to_numpy(dtype=bool)])]

    def each(self, rows: pd.Series, read: Callable[[Op], Found | None], where: str) -> dict[int, Found]:
        """What ``read`` finds in the descriptions that the rows have; an EstimatorError names the op."""
        found = {}
        for i in self.of(rows):
            with within(f"{where}: '{self.names[i]}'"):
                result = read(self.ops[i])
            if result is not None:
                found[i] = result
        return found

    def spread(self, found: Mapping[int, Found], number: Callable[[Found], float | None]) -> Floats:
        """One number of what was found, row by row; NaN where there is none."""
        out = np.full(len(self.ops), np.nan)
        numbers = [number(item) for item in found.values()]
        out[list(found)] = [np.nan if value is None else value for value in numbers]
        return out[self.codes]


def parse_ops(ops: pd.DataFrame, batch: int | None) -> ParsedOps:
    """The descriptions of an op table, unknown dimensions being the batch size."""
    codes = ops.groupby(list(OP_COLUMNS), dropna=False, sort=False).ngroup().to_numpy(dtype=np.intp)
    first = np.unique(codes, return_index=True)[1]
    texts = [ops[name].iloc[first].fillna("").tolist() for name in (*OP_COLUMNS, "op")]
    found = [
        Op(op_type, kernel, read_shapes(shapes, batch), read_shapes(outputs, batch), read_attributes(attributes), kind)
        for op_type, kernel, shapes, outputs, attributes, kind in zip(*texts[:-1], strict=True)
    ]
    return ParsedOps(found, codes, first, texts[-1])


@lru_cache(maxsize=2**16)
def read_shapes(text: str, batch: int | None) -> tuple[Shape | None, ...]:
    """The shapes of ``"-1x50;50x1;unknown"``, -1 being the batch size; a scalar is one element, None is unknown."""
    return tuple(_shape(item, batch) for item in text.split(";")) if text else ()


@lru_cache(maxsize=2**16)
def _shape(text: str, batch: int | None) -> Shape | None:
    try:
        dims = [int(d) for d in text.split("x")] if text else [1]
    except ValueError:
        return None
    unknown = sum(d < 0 for d in dims)
    if min(dims) < -1 or unknown > 1 or (unknown and batch is None):
        return None
    shape = tuple(batch if d < 0 and batch else d for d in dims)
    return shape if math.prod(max(d, 1) for d in shape) <= LARGEST else None


def read_attributes(text: str) -> dict[str, str]:
    """The attributes of ``"strides=2x2;padding=SAME"``."""
    return {key.strip(): value.strip() for key, _, value in (item.partition("=") for item in text.split(";")) if key}


def elements(shapes: tuple[Shape | None, ...]) -> int | None:
    """Number of elements of all shapes together; None where one is unknown, or there is none."""
    known = [math.prod(shape) for shape in shapes if shape is not None]
    return sum(known) if known and len(known) == len(shapes) else None
