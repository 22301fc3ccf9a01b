"""An optimizer's update in the kernels that a framework launches on an accelerator: WORK → WORK of fewer launches.

PyTorch updates tensor by tensor on a processor, and on an accelerator many tensors in one kernel (``foreach``, the
default there).
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from estimator.core.notes import Note
from estimator.core.schema import HOST_CLASSES
from estimator.work.tensors import in_phase
from estimator.work.transformed import Transformed


def join_updates(work: pd.DataFrame, tensors: int) -> Transformed:
    """WORK with the ops of the optimizer launched once for so many tensors; WORK itself at 1. FLOP and bytes stay.

    The launches of an op are ceil(calls / tensors), divided among its rows as their calls are.
    """
    rows = in_phase(work, "optimizer") & ~work["op_class"].isin(HOST_CLASSES)
    calls = work["calls"].fillna(1.0)
    each_op = calls[rows].groupby(work["op_type"].fillna(work["op"])[rows]).transform("sum")
    launches = np.ceil(each_op / tensors)
    if tensors == 1 or not (launches < each_op).any():
        return Transformed(work, changed=False)
    out = work.assign(calls=calls.mask(rows, calls * (launches / each_op).reindex(work.index)))
    text = (
        f"the optimizer's update is launched once for up to {tensors} tensors, as the framework does on the target: "
        f"{calls[rows].sum():,.0f} launches become {out.loc[rows, 'calls'].sum():,.0f}"
    )
    return Transformed(out, changed=True, notes=(Note("updates-joined", text),))
