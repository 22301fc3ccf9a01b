"""The cells of a row."""

import pytest

from estimator.collect.bench.types import FaultError
from tests.collect.bench.runs import job


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ({"op_class": "gemm", "m": 4, "n": 4}, "shapes.csv: row 3: k is missing"),
        ({"op_class": "gemm", "m": 4, "n": 4, "k": "4.5"}, "row 3: k is 4.5; write a whole number"),
        ({"op_class": "gemm", "m": 4, "n": 0, "k": 1}, "n is 0"),
        ({"op_class": "reduction", "bytes": "many"}, "bytes is many"),
        ({"op_class": "reduction", "bytes": 4e18}, "below 281474976710656"),
        ({"op_class": "gemm", "m": 1e9, "n": 1e9, "k": 1}, "more than any memory holds"),
        ({"op_class": "gemm", "m": 4, "n": 4, "k": 4, "trans_a": "x"}, "trans_a is x; write one of n, t"),
        ({"op_class": "reduction", "bytes": 8, "cache": "hot"}, "cache is hot; write one of cold, warm"),
        ({"op_class": "reduction", "bytes": 8, "kernel": "add"}, "kernel is add; write one of sum"),
    ],
)
def test_a_bad_cell_is_named_with_its_row(cells: dict[str, object], words: str) -> None:
    with pytest.raises(FaultError, match=words):
        job(**cells)
