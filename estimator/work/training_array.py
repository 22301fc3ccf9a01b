"""Like trainings fused into one program: WORK of one → WORK of an array of them, with the launches of one.

A product becomes a batch of products, a convolution has as many times the groups, and any other op goes over as many
times the elements. The trainings read the same input. Recurrent layers have no fused kernel, and run one after another.

Source: Wang et al., Horizontally Fused Training Array, MLSys 2021 (arXiv 2102.02344), section 3 (recalled).
"""

from __future__ import annotations

import pandas as pd

from estimator.core.notes import Note
from estimator.core.schema import HOST_CLASSES
from estimator.work.transformed import Transformed

TIMES = ("time_s", "shared_s")
AMOUNTS = ("flop", "bytes")
LARGER = {  # columns that hold the sizes of all trainings, by op class
    "gemm": ("batch",),
    "convolution": ("conv_c", "conv_k", "groups"),
    "pooling": ("conv_c", "conv_k", "groups"),
    "recurrent": ("calls",),
}


def fuse_trainings(work: pd.DataFrame, trainings: int) -> Transformed:
    """WORK of so many like trainings in one program; WORK itself for one.

    ``time_s`` stays the source's for one training; only the times of ops without a model grow with the trainings.
    """
    if trainings == 1:
        return Transformed(work, changed=False)
    out, on_device = work.copy(), ~work["op_class"].isin(HOST_CLASSES)
    for op_class, columns in LARGER.items():
        _multiply(out, columns, work["op_class"] == op_class, trainings)
    _multiply(out, AMOUNTS, on_device, trainings)
    unmodelled = on_device & work["bytes"].isna()
    _multiply(out, TIMES, unmodelled, trainings)
    return Transformed(out, changed=True, notes=(_note(work, unmodelled, trainings),))


def _multiply(work: pd.DataFrame, columns: tuple[str, ...], rows: pd.Series, factor: int) -> None:
    for name in columns:
        work[name] = work[name].mask(rows, work[name] * factor)


def _note(work: pd.DataFrame, unmodelled: pd.Series, trainings: int) -> Note:
    """What is assumed of the array, and of its ops without a model."""
    share = float(work.loc[unmodelled, "time_s"].sum() / max(float(work["time_s"].sum()), 1e-300))
    text = f"{trainings} trainings run as one program, which launches each op once for all and reads their input once"
    rest = f"; ops without a model ({100 * share:.1f} % of the source's time) take {trainings} times as long"
    return Note("fused-trainings", text + (rest if unmodelled.any() else ""), share=share)
