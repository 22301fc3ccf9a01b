"""The rows of a public table that stand for the kit: the nearest ones, each once."""

import pandas as pd
import pytest

from estimator.collect.measure.sweep import BATCHED, PLAIN
from estimator.validation.calibration_rows import kit_rows
from tests.validation.public import truth

DEVICE = "v100-pcie-32gb"


def product(m: int, n: int, k: int, batch: int = 1, **fields: object) -> dict[str, object]:
    return {"device": DEVICE, "m": m, "n": n, "k": k, "batch": batch, **fields}


def stream(op: str, size: float) -> dict[str, object]:
    return {"device": DEVICE, "op_class": "elementwise", "op": op, "bytes": size}


def test_the_kits_own_shapes_are_chosen_before_others_like_them() -> None:
    kit = [product(*shape) for shape in PLAIN]
    near = [product(m + 1, n + 1, k + 1) for m, n, k in PLAIN]
    assert kit_rows(truth(*kit, *near)).tolist() == [True] * len(PLAIN) + [False] * len(PLAIN)


def test_batched_products_stand_for_batched_ones_alone() -> None:
    plain = [product(int(2**i), 64, 64) for i in range(len(PLAIN), len(PLAIN) + 5)]
    batched = [product(m, n, k, batch) for batch, m, n, k in BATCHED]
    other = [product(m, n, k, 2 * batch) for batch, m, n, k in BATCHED]
    chosen = kit_rows(truth(*plain, *other, *batched))
    assert chosen[:5].all(), "of fewer rows than shapes all are chosen"
    assert not chosen[5 : 5 + len(BATCHED)].any()
    assert chosen[5 + len(BATCHED) :].all()


def test_each_precision_has_a_kit_of_its_own() -> None:
    rows = [product(*shape, precision=precision) for precision in ("fp32", "fp16") for shape in PLAIN]
    assert kit_rows(truth(*rows, *rows)).sum() == 2 * len(PLAIN)


def test_one_long_and_one_short_stream_are_chosen_of_additions_alone() -> None:
    rows = truth(stream("relu", 192e6), *(stream("add", size) for size in (100.0, 1e6, 150e6, 4e8)), stream("relu", 12))
    assert rows["bytes"][kit_rows(rows)].tolist() == [100.0, 150e6]


@pytest.mark.parametrize("count", [0, 1])
def test_too_few_rows_are_no_fault(count: int) -> None:
    rows = truth(stream("add", 192e6)).iloc[:count]
    assert kit_rows(rows).tolist() == [True] * count


def test_nothing_of_other_classes_is_chosen() -> None:
    rows = pd.concat([truth(stream("relu", 192e6)), truth(product(1, 1, 1))], ignore_index=True)
    assert kit_rows(rows).tolist() == [False, True]
