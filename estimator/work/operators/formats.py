"""The number format that a kernel's name tells.

A library's name gives the formats of the factors first: ``ampere_fp16_s16816gemm`` multiplies fp16 in sums of fp32. In
Tensile's names a letter stands for the format of A: H for half, B for bf16, S for single, X for tf32.
"""

from __future__ import annotations

import re
from functools import lru_cache

TENSILE = re.compile(r"Cijk_[A-Z][a-z]+_[A-Z][a-z]+_(F8|B8|I8|[HBSDX])")
TENSILE_FORMATS = {
    "F8": "fp8", "B8": "fp8", "I8": "int8", "H": "fp16", "B": "bf16", "S": "fp32", "D": "fp64", "X": "tf32",
}  # fmt: skip
FORMATS = (  # the first that matches; narrow formats first, as their kernels name the wide format of their sums too
    ("fp8", r"e4m3|e5m2|(?<![a-z])f?fp8|Float8|nvjet_q"),
    ("int8", r"(?<![a-z])(imma|i8816|i16832|s8_)"),
    ("bf16", r"bf16|[bB][fF]loat16|nvjet_t"),
    ("tf32", r"tf32|tensorop_s1688"),
    ("fp16", r"(?<!b)f(p)?16|[hH]alf|hgemm|[hs]884|h16816|nvjet_h"),
    ("fp64", r"dgemm|d884|(?<![a-z])f(p)?64|\bdouble\b"),
    ("fp32", r"sgemm|scudnn|(?<![a-z])f(p)?32|\bfloat\b"),
)
PATTERNS = tuple((precision, re.compile(pattern)) for precision, pattern in FORMATS)


@lru_cache(maxsize=2**16)
def precision_of(kernel: str) -> str | None:
    """The number format of a kernel's operands; None where its name does not tell."""
    if tensile := TENSILE.match(kernel):
        return TENSILE_FORMATS[tensile[1]]
    return next((precision for precision, pattern in PATTERNS if pattern.search(kernel)), None)
