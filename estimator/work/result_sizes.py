"""Elements that ops write whose dumps list no results, as PyTorch's do not."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping

import numpy as np
import pandas as pd

from estimator.core.types import Floats
from estimator.work import shapes
from estimator.work.tensors import in_phase, result_elements

NEAR = 8  # rows behind
IMAGE = ("conv_n", "conv_k", "conv_z", "conv_p", "conv_q")


def written_elements(work: pd.DataFrame, parsed: shapes.ParsedOps) -> Floats:
    """Elements of each row's results: as listed; of products and convolutions by their dimensions; of other ops by what
    their operands tell, 0 where they do not.
    """
    results, pooled = result_elements(parsed), _pooled(work, parsed)
    classes, operators = (work[name].fillna("").tolist() for name in ("op_class", "operator"))
    for row in np.flatnonzero(work["output_shapes"].isna().to_numpy(dtype=bool)).tolist():
        operands = [shape for shape in parsed.of_row(row).operands if shape]
        match classes[row]:
            case "reduction":
                results[row] = 0.0
            case "pooling":
                results[row] = pooled.get(operands[0], 0) or _read_next(parsed, row, operands[0]) if operands else 0.0
            case "attention" if operands:
                results[row] = math.prod(operands[0])  # as the queries
            case "embedding" if len(operands) > 1:
                results[row] = _looked_up(operators[row], operands)
            case _ if operators[row] == "concatenate":
                results[row] = sum(map(math.prod, operands))
    return _of_products(work, results)


def _looked_up(operator: str, known: list[shapes.Shape]) -> int:
    """Elements of a look-up's result: one or a row for each index, or the whole that it scatters into."""
    if operator == "pick":
        return math.prod(known[1])
    return math.prod(known[0]) if operator == "scatter" else math.prod(known[1]) * math.prod(known[0][1:])


def _read_next(parsed: shapes.ParsedOps, row: int, shape: shapes.Shape) -> int:
    """Elements of the first smaller operand behind a row that divides its own, such as the next layer's image."""
    own = math.prod(shape)
    for code in parsed.codes[row + 1 : row + 1 + NEAR]:
        operand = next(iter(parsed.ops[code].operands), None)
        if operand and len(operand) == len(shape) and own % math.prod(operand) == 0 and math.prod(operand) < own:
            return math.prod(operand)
    return 0


def _pooled(work: pd.DataFrame, parsed: shapes.ParsedOps) -> Mapping[shapes.Shape, int]:
    """Elements that pooling writes, by the shape of its operand, from the gradients that its backward pass reads."""
    smallest: defaultdict[shapes.Shape, int] = defaultdict(int)
    for row in np.flatnonzero((in_phase(work, "backward") & (work["op_class"] == "pooling")).to_numpy(dtype=bool)):
        known = [shape for shape in parsed.of_row(row).operands if shape]
        for shape in known:
            smallest[shape] = min(map(math.prod, known))
    return smallest


def _of_products(work: pd.DataFrame, results: Floats) -> Floats:
    """Elements of each result, those of products and convolutions by their dimensions."""
    number = {name: work[name].to_numpy(dtype=float, na_value=np.nan) for name in ("batch", "m", "n", *IMAGE)}
    product = np.nan_to_num(number["batch"], nan=1.0) * number["m"] * number["n"]
    image = number["conv_n"] * number["conv_k"] * np.nan_to_num(number["conv_z"], nan=1.0)
    image = image * number["conv_p"] * number["conv_q"]
    return np.where(np.isnan(product), np.where(np.isnan(image), results, image), product)
