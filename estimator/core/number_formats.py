"""Number formats by our names, from those of PyTorch, NumPy, JAX, TensorFlow, Triton, CUDA, ROCm and people."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

KEPT = ("fp32", "bf16", "fp16")  # formats of parameters; an update counts its steps in fp64
WIDE = "fp32"  # of weights, updates and sums in mixed precision (Micikevicius et al., ICLR 2018)
FP32_STAND_INS = ("tf32", "bf16", "fp16")  # for products on devices without fp32: the first one that a device has
OTHER_16_BIT = {"bf16": "fp16", "fp16": "bf16"}  # the other format of 16 bits
_FLOAT = "(?:fp|float|f)_?"
FORMAT = re.compile(  # with the prefixes and suffixes of frameworks, CUDA and ROCm
    r"(?:(?:torch|np|numpy|jnp|jax\.numpy|tf|tl)\.|(?:c10|at)::|cuda_r_|cublas_compute_|hip(?:blas)?_r_|rocblas_datatype_)?"
    rf"(?:(?P<fp64>{_FLOAT}64|double|64f)|(?P<tf32>[tx]f_?32|tensor_?float_?32|32f_fast_tf32)"
    rf"|(?P<fp32>{_FLOAT}32|single|float|32f)|(?P<bf16>b{_FLOAT}16|(?:32f_fast_)?16bf)"
    rf"|(?P<fp16>{_FLOAT}16|half|(?:32f_fast_)?16f)"
    rf"|(?P<fp8>(?:mx)?{_FLOAT}8|(?:(?:mx)?{_FLOAT}8_?|8f_)?(?:e4m3|e5m2)(?:fn)?(?:uz)?)"
    rf"|(?P<fp4>(?:mx|nv)?{_FLOAT}4|(?:{_FLOAT}4_?|4f_)?e2m1(?:fn)?(?:_x2)?)"
    r"|(?P<int8>[siuq]8|q?u?int_?8(?:_t)?|(?:un)?signed char|8[iu])|(?P<int4>[siuq]4|q?u?int_?4|4[iu]))(?:_r)?"
)


def known_format(written: str) -> str | None:
    """A number format in our words (``BF16``, ``bfloat16`` → ``bf16``); None for an unknown one."""
    match = FORMAT.fullmatch(written.strip().lower())
    return match.lastgroup if match else None


def read_format(written: str) -> str:
    """A number format in our words (``BF16``, ``bfloat16`` → ``bf16``); an unknown one in lower case."""
    return known_format(written) or written.strip().lower()


def read_word(written: object) -> object:
    """A number format of a file in our words, where it is text."""
    return read_format(written) if isinstance(written, str) else written


def format_of_updates(rows: pd.DataFrame) -> str | None:
    """The number format of most of the time of a table's updates of parameters; None where most of it has none."""
    updates = rows[rows["phase"].eq("optimizer").fillna(False)]
    times = updates[updates["precision"].isin(KEPT)].groupby("precision")["time_s"].sum()
    return str(times.idxmax()) if times.sum() > updates["time_s"].sum() / 2.0 else None
