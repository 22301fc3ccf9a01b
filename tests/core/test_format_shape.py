from typing import Any

from estimator.core.format_shape import format_shape


def test_format_shape_of_products_and_streams() -> None:
    product = {
        "op_class": "gemm",
        "batch": 1,
        "m": 1760,
        "n": 16,
        "k": 35,
        "trans_a": "t",
        "trans_b": "n",
        "bytes": None,
    }
    assert format_shape(product) == "m 1760, n 16, k 35, trans_a t"
    assert format_shape({**product, "batch": 8}).startswith("batch 8, m 1760")
    assert format_shape({"kernel": "copy", "bytes": 1e9, "cache": "cold"}) == "copy, 1.000 GB, cold"


def test_format_shape_distinguishes_convolutions() -> None:
    shape: dict[str, Any] = {
        "conv_n": 8,
        "conv_c": 64,
        "conv_h": 56,
        "conv_w": 56,
        "conv_k": 64,
        "conv_r": 3,
        "conv_s": 3,
    }
    others = [{**shape, name: 5} for name in shape] + [{**shape, "stride_h": 2}, {**shape, "pass": "backward"}]
    assert len({format_shape(row) for row in (shape, *others)}) == len(others) + 1
