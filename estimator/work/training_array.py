"""Like trainings fused into one program: WORK of one → WORK of an array of them, with the launches of one.

A product becomes a batch of products, a convolution has as many times the groups, and any other op goes over as many
times the elements. The trainings read the same input. Recurrent layers have no fused kernel, and run one after another.

Source: Wang et al., Horizontally Fused Training Array, MLSys 2021 (arXiv 2102.02344), section 3 (recalled).
"""

from __future__ import annotations

import pandas as pd

from estimator.core.notes import Note
from estimator.core.schema import DEFAULTS, HOST_CLASSES
from estimator.work.transformed import Transformed

GROWING = ("flop", "bytes", "growth")
LARGER = {  # columns that hold the sizes of all trainings, by op class
    "gemm": ("batch",),
    "convolution": ("conv_c", "conv_k", "groups"),
    "pooling": ("conv_c", "conv_k", "groups"),
    "normalization": ("conv_c",),
    "recurrent": ("calls",),
}


def fuse_trainings(work: pd.DataFrame, trainings: int) -> Transformed:
    """WORK of so many like trainings in one program; WORK itself for one. ``time_s`` stays the source's for one."""
    if trainings == 1:
        return Transformed(work, changed=False)
    out, on_device = work.copy(), ~work["op_class"].isin(HOST_CLASSES)
    for op_class, columns in LARGER.items():
        _multiply(out, columns, work["op_class"] == op_class, trainings)
    _multiply(out, GROWING, on_device, trainings)
    text = f"{trainings} trainings run as one program, which launches each op once for all and reads their input once"
    return Transformed(out, changed=True, notes=(Note("fused-trainings", text),))


def _multiply(work: pd.DataFrame, columns: tuple[str, ...], rows: pd.Series, factor: int) -> None:
    for name in columns:
        filled = work[name].fillna(DEFAULTS[name]) if name in DEFAULTS else work[name]
        work[name] = work[name].mask(rows, filled * factor)
