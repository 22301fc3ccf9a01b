"""The number format that a kernel's name tells.

A library's name gives the formats of the factors first: ``ampere_fp16_s16816gemm`` multiplies fp16 in sums of fp32. In
Tensile's names a letter stands for the format of A: H for half, B for bf16, S for single, X for tf32; cuBLAS has its
own in nvjet's names.
"""

from __future__ import annotations

import re
from functools import lru_cache

TENSILE = re.compile(r"Cijk_[A-Z][a-z]+_[A-Z][a-z]+_(S_MX|SX|F8|B8|I8|4xi8|[HBSDXCZ])")
TENSILE_FORMATS = {
    "F8": "fp8", "B8": "fp8", "I8": "int8", "4xi8": "int8", "H": "fp16", "B": "bf16", "S": "fp32", "D": "fp64",
    "X": "tf32", "SX": "tf32", "S_MX": "tf32", "C": "fp32", "Z": "fp64",
}  # fmt: skip
FORMATS = (  # the first that matches; narrow formats first, as their kernels name the wide format of their sums too
    ("fp4", r"E2m1E2m1|nvjet_(sm\d+_)?o|(?<![a-z])f4gemm|a4w4|afp4wfp4|(nv|mx)_float4"),
    ("fp8", r"[eE]4m3|[eE]5m2|(?<![a-z])f?fp8|Float8|nvjet_(sm\d+_)?[qr]|([pP]er\w*|blockscale)Fp8|(?<![a-z])f8_"),
    ("int8", r"(?<![A-Za-z])([iI]8|i16832|imma|s8_|int8(?!_t)|signed char)"),
    ("bf16", r"bf16|[bB][fF]loat16|bhalf|nvjet_(sm\d+_)?t"),
    ("tf32", r"tf32|tensorop_s1688(?!\w*_f16)|nvjet_(sm\d+_)?s(?!m)"),
    ("fp16", r"(?<!b)f(p)?16|_Float16|[hH]alf|hgemm|[hs]884|h1688|h16816|nvjet_(sm\d+_)?h"),
    ("fp64", r"[dz]gemm|d884|(?<![a-z])f(p)?64|\bdouble\b"),
    ("fp32", r"[sc]gemm|scudnn|sfprop|(?<![a-z])f(p)?32|(?<![a-z])float(?![a-z\d])"),
)
PATTERNS = tuple((precision, re.compile(pattern)) for precision, pattern in FORMATS)


@lru_cache(maxsize=2**16)
def precision_of(kernel: str) -> str | None:
    """The number format of a kernel's operands; None where its name does not tell."""
    if tensile := TENSILE.search(kernel):
        return TENSILE_FORMATS[tensile[1]]
    return next((precision for precision, pattern in PATTERNS if pattern.search(kernel)), None)
