import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.core.errors import EstimatorError
from estimator.core.schema import MEASUREMENTS
from estimator.devices.measurements.conditions import Conditions

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


@pytest.mark.slow
@given(rows=ROWS, cut=st.integers(0, 8))
def test_mixed_conditions_are_found_however_the_rows_arrive(rows: list[dict[str, object]], cut: int) -> None:
    frame = MEASUREMENTS.conform(pd.DataFrame(rows), "rows")
    parts = [part for part in (frame.iloc[:cut], frame.iloc[cut:]) if len(part)]
    ops = frame.assign(kernel=frame["kernel"].where(frame["op_class"] != "gemm"))
    libraries = ops.groupby(["op_class", "kernel"], dropna=False)["library"]
    paddings = ops.groupby(["op_class", "kernel", "m", "n"], dropna=False)["padding"]
    mixed = any(bool((group.nunique(dropna=False) > 1).any()) for group in (libraries, paddings))
    assert refused([frame]) == mixed
    assert refused(parts) == mixed


def test_conditions_take_twenty_bytes_per_row() -> None:
    conditions = Conditions()
    rows = pd.DataFrame({"op_class": "gemm", "precision": "fp32", "m": np.arange(1, 1001), "time_s": 1.0})
    conditions.add(MEASUREMENTS.conform(rows, "rows"), "here")
    kept = (conditions.shapes[0], conditions.codes[0], conditions.times[0])
    assert sum(array.nbytes for array in kept) == 20 * 1000
    assert len(np.unique(conditions.shapes[0])) == 1000
    conditions.add(MEASUREMENTS.conform(rows.iloc[:1].assign(padding="8"), "rows"), "here")
    with pytest.raises(EstimatorError, match="rows 1 and 1001 are one shape with padding 'none' and '8'"):
        conditions.finish("here")


@pytest.mark.slow
@given(rows=st.lists(st.tuples(st.sampled_from([8, 16, 32]), st.sampled_from([1.0, 1.2, 2.0, 5.0])), max_size=9))
def test_notes_on_repeats_and_spread_compare_rows_of_one_shape(rows: list[tuple[int, float]]) -> None:
    conditions = Conditions()
    frame = pd.DataFrame(rows, columns=["m", "time_s"]).assign(op_class="gemm", precision="fp32")
    conditions.add(MEASUREMENTS.conform(frame, "rows"), "here")
    again = frame.index[frame.duplicated()]
    more = f" and {len(again) - 1} more" if len(again) > 1 else ""
    expected = [f"here: row {again[0] + 1}{more}: the very shape and time"] if len(again) else []
    assert [note[: len(expected[0])] for note in conditions.repeat_notes("here")] == expected
    times = frame.groupby("m")["time_s"]
    worst = (times.max() / times.min()).max() if rows else 1
    assert [f" {worst:.4g} x apart" in note for note in conditions.spread_notes("here")] == [True] * int(worst > 1.5)


def test_cold_and_warm_rows_are_not_compared() -> None:
    conditions = Conditions()
    rows = pd.DataFrame(
        {"op_class": "gemm", "precision": "fp32", "m": 8, "time_s": [1.0, 9], "cache": ["warm", "cold"]}
    )
    conditions.add(MEASUREMENTS.conform(rows, "rows"), "here")
    assert list(conditions.spread_notes("here")) == []


ONE: dict[str, object] = {"op_class": "gemm", "precision": "fp32", "m": 8, "n": 16, "k": 32, "time_s": 1.0}
SUM: dict[str, object] = {"op_class": "collective", "precision": "fp32", "ranks": 2, "bytes": 8, "time_s": 1.0}


def both(first: dict[str, object], more: dict[str, object]) -> pd.DataFrame:
    return MEASUREMENTS.conform(pd.DataFrame([first, {**first, **more}]), "rows")


def test_matrix_work_is_warm_by_default() -> None:
    first = {**ONE, "library": "cuBLAS 9"}
    assert refused([both(first, {"library": "OpenBLAS", "cache": "warm"})])
    assert not refused([both(first, {"library": "OpenBLAS", "cache": "cold"})])
    assert has_repeat_note(first, {"cache": "warm"})


def has_repeat_note(first: dict[str, object], more: dict[str, object]) -> bool:
    """Whether two rows count as one shape."""
    conditions = Conditions()
    conditions.add(both(first, more), "here")
    return bool(list(conditions.repeat_notes("here")))


@pytest.mark.parametrize(
    ("first", "more", "is_same_shape"),
    [
        (ONE, {"m": 16, "n": 8}, False), (ONE, {"n": 32, "k": 16}, False), (ONE, {"batch": 1}, True),
        (SUM, {"ranks": 4}, False), (SUM, {"bytes": 16}, False), (SUM, {"flop": 9}, False), (SUM, {}, True),
        (ONE, {"stride_h": 1, "pad_h": 0, "sparsity": 0}, True), (ONE, {"stride_h": 2}, False),
    ],
)  # fmt: skip
def test_columns_that_distinguish_shapes(
    first: dict[str, object], more: dict[str, object], is_same_shape: bool
) -> None:
    assert has_repeat_note(first, more) == is_same_shape
