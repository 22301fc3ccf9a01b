"""Ops without a format of their own in mixed precision: PyTorch leaves them the widest format of what they read.

PyTorch's autocast casts what products read to the narrow format, and what it lists as sensitive to fp32. Other ops run
in the format of their operands, the widest of several (PyTorch, "CUDA Ops that can autocast to float16 / float32 /
promote to the widest input type" of torch.amp; type promotion of torch.Tensor). So a sum of an embedding and a
product, as transformers add them up along their blocks, is in fp32. Keras casts at the entrance of each layer instead.
"""

from __future__ import annotations

import pandas as pd

from estimator.core.frameworks import framework_of
from estimator.core.number_formats import WIDE
from estimator.core.types import Workload
from estimator.work.edges import operand_writers
from estimator.work.shapes import parse_ops


def casts_op_by_op(workload: Workload) -> bool:
    """Whether the framework casts op by op, and leaves other ops the format of what they read."""
    return framework_of(workload.framework) == "torch"


def formats_of_operands(work: pd.DataFrame, workload: Workload, each: pd.Series, free: pd.Series) -> pd.Series:
    """The format of each row, where the ``free`` rows take the wide one if an operand has it; in program order."""
    formats, may_widen = each.tolist(), free.tolist()
    for row, operands in enumerate(operand_writers(work, parse_ops(work, workload.batch_size))):
        if may_widen[row] and any(formats[writer] == WIDE for writer, _ in operands):
            formats[row] = WIDE
    return pd.Series(formats, index=each.index)
