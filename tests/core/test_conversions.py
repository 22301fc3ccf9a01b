"""Casts between formats, in tables of ops and of measurements."""

import pandas as pd
import pytest

from estimator.collect.measure import bench
from estimator.core.conversions import CAST, converts, narrower


@pytest.mark.parametrize(
    ("attributes", "format_"),
    [
        ("from=fp32;to=bf16", "bf16"), ("layout=NHWC;from=fp16;to=fp64", "fp16"), ("from=fp32;to=tf32", None),
        ("from=fp64;to=fp32", None), ("from=other;to=fp32", None), ("strides=2x2", None), (None, None),
    ],
)  # fmt: skip
def test_the_narrower_format_of_a_cast(attributes: str | None, format_: str | None) -> None:
    cells = {"op_type": "Cast", "kernel": pd.NA, "precision": "fp32"}
    rows = pd.DataFrame({"attributes": pd.Series([attributes], dtype="string[python]"), **cells})
    found = narrower(rows).item()
    assert pd.isna(found) if format_ is None else found == format_
    assert converts(rows).item() == (format_ is not None)


def test_a_measured_cast_is_known_by_its_kernel() -> None:
    assert bench.CAST == CAST
    rows = pd.DataFrame({"kernel": ["add", CAST, pd.NA, CAST], "precision": ["bf16", "fp16", "bf16", "fp32"]})
    assert converts(rows).tolist() == [False, True, False, False]
    asked = rows.assign(op_type=rows["kernel"], attributes=pd.Series(pd.NA, rows.index, dtype="string[python]"))
    assert narrower(asked).fillna("").tolist() == ["", "fp16", "", ""]
