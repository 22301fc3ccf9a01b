"""A convolution to begin with, of which tests change what matters to them."""

import pandas as pd


def row(**sizes: object) -> pd.DataFrame:
    layer = {
        "pass": "forward", "precision": "fp32", "conv_n": 8, "conv_c": 64, "conv_h": 28, "conv_w": 28, "conv_k": 64,
        "conv_r": 3, "conv_s": 3, "pad_h": 1, "pad_w": 1,
    }  # fmt: skip
    return pd.DataFrame([{**layer, **sizes}])
