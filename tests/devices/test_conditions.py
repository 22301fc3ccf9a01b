import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.core.errors import EstimatorError
from estimator.core.schema import MEASUREMENTS
from estimator.devices.conditions import Conditions

ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "op_class": st.sampled_from(["gemm", "collective"]), "precision": st.just("fp32"), "time_s": st.just(1.0),
            "m": st.sampled_from([1, 2, None]), "n": st.sampled_from([1, 2]), "kernel": st.sampled_from(["a", None]),
            "library": st.sampled_from(["x", "x", "x", "y", None]), "padding": st.sampled_from([None, None, None, "8"]),
        }
    ),
    min_size=1, max_size=8,
)  # fmt: skip


def refused(frames: list[pd.DataFrame]) -> bool:
    conditions = Conditions()
    try:
        for frame in frames:
            conditions.add(frame, "here")
        conditions.finish("here")
    except EstimatorError:
        return True
    return False


@given(rows=ROWS, cut=st.integers(0, 8))
def test_mixed_conditions_are_found_however_the_rows_arrive(rows: list[dict[str, object]], cut: int) -> None:
    frame = MEASUREMENTS.conform(pd.DataFrame(rows), "rows")
    parts = [part for part in (frame.iloc[:cut], frame.iloc[cut:]) if len(part)]
    libraries = frame.assign(kernel=frame["kernel"].where(frame["op_class"] != "gemm")).groupby(
        ["op_class", "kernel"], dropna=False
    )["library"]
    paddings = frame.groupby(["op_class", "m", "n"], dropna=False)["padding"]
    mixed = any(bool((group.nunique(dropna=False) > 1).any()) for group in (libraries, paddings))
    assert refused([frame]) == mixed
    assert refused(parts) == mixed


def test_the_index_is_twelve_bytes_a_row() -> None:
    conditions = Conditions()
    rows = pd.DataFrame({"op_class": "gemm", "precision": "fp32", "m": np.arange(1, 1001), "time_s": 1.0})
    conditions.add(MEASUREMENTS.conform(rows, "rows"), "here")
    assert conditions.shapes[0].nbytes + conditions.codes[0].nbytes == 12 * 1000
    assert len(np.unique(conditions.shapes[0])) == 1000
    conditions.add(MEASUREMENTS.conform(rows.iloc[:1].assign(padding="8"), "rows"), "here")
    with pytest.raises(EstimatorError, match="rows 1 and 1001 are one shape with padding 'none' and '8'"):
        conditions.finish("here")
