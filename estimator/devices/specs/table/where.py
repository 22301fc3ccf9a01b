"""Conditions on the columns of a table, such as ``memory_bandwidth >= 2 TB/s``."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

from estimator.core import units
from estimator.core.errors import EstimatorError
from estimator.devices.specs.table.cells import UNSUPPORTED, value
from estimator.devices.specs.table.layout import Column, Layout

Condition = Callable[[Any], bool]
CONDITION = re.compile(r"^\s*([^\s<>=!~]+)\s*(?:(>=|<=|==|!=|!~|=|>|<|~)\s*([^\s<>=!~](?:.*\S)?)\s*)?$")
EXAMPLES = "'memory_bandwidth >= 2 TB/s', 'vendor = NVIDIA', 'name ~ h100' or 'bf16'"
EQUALITIES: dict[str, Callable[[Any, Any], bool]] = {"=": operator.eq, "==": operator.eq, "!=": operator.ne}
NUMBER_SIGNS = {**EQUALITIES, ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}
TEXT_SIGNS = {**EQUALITIES, "~": operator.contains, "!~": lambda text, part: part not in text}
STATE_WORDS = {UNSUPPORTED: UNSUPPORTED, "none": UNSUPPORTED, "unknown": None}  # of conditions for a missing number


def condition(layout: Layout, text: str) -> Condition:
    """Parse ``"memory_bandwidth >= 2 TB/s"`` or a column's bare name into a test of rows.

    A comparison and its negation both fail where the column's value is unknown.
    Raises EstimatorError for text that is no condition, unknown columns and operands of another kind.
    """
    match = CONDITION.match(text)
    if not match:
        raise EstimatorError(f"'{text}' is no condition; write one such as {EXAMPLES}")
    name, sign, operand = match.groups()
    column = layout.column(name)
    if sign is None:
        return lambda row: value(column.get(row)) is not None
    signs = TEXT_SIGNS if column.kind == "text" else NUMBER_SIGNS
    if sign not in signs:
        kind = "text" if column.kind == "text" else "a number"
        raise EstimatorError(f"'{text}': {name} is {kind}; compare it with one of {' '.join(signs)}")
    if operand.lower() in STATE_WORDS and sign in EQUALITIES:
        return _state(column, sign, operand.lower())
    try:
        return _comparison(column, signs[sign], _operand(column, operand))
    except ValueError as error:
        raise EstimatorError(f"'{text}': {name} {error}") from None


def _state(column: Column, sign: str, word: str) -> Condition:
    """Test whether a cell is unknown or unsupported, or a text of just that word."""
    state = STATE_WORDS[word]

    def holds(row: object) -> bool:
        cell = column.get(row)
        return (cell in (state, word)) == (sign != "!=") and (state is None or cell is not None)

    return holds


def _comparison(column: Column, compare: Callable[[Any, Any], bool], operand: float | str) -> Condition:
    def holds(row: object) -> bool:
        cell_value = value(column.get(row))
        return cell_value is not None and compare(cell_value, operand)

    return holds


def _operand(column: Column, text: str) -> float | str:
    """Parse the right side of a condition: SI value, or text in lower case. Raises ValueError for another kind."""
    if column.kind == "text":
        return text.casefold()
    if column.unit in units.KINDS:
        return units.parse(text, column.unit)
    try:
        return units.parse(text.removesuffix(column.shown), "1") * column.scale
    except ValueError:
        raise ValueError(f"is '{text}'; write a number of {column.shown}") from None
