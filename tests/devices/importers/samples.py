"""Texts as the programs print them, and helpers to import one."""

from pathlib import Path

import pandas as pd

from estimator.core import csv_files
from estimator.core.schema import MEASUREMENTS
from estimator.devices.importers import Imported, import_measurements
from estimator.devices.importers.declared import Declared

DASHES = "-" * 88
BANNER = f"Running training benchmark\n                         Times\n{DASHES}\n"
GEMM_HEADER = "    m       n      k      a_t     b_t      precision        time (usec) \n"
NVIDIA_GEMM = f"""{BANNER}{GEMM_HEADER}\
   1760     16   1760      0      1        float                  38
   1760     32   1760      1      0         half       Not Supported
   5124   9124   2560      0      0        float               16312
"""
OLD_GEMM = f"""{BANNER}    m       n      k      a_t     b_t      time (usec) \n\
   1760     16   1760      0      1                  55
"""
AMD_GEMM = OLD_GEMM.replace("0      1", "n      t")
INT8_GEMM = f"""{BANNER}{GEMM_HEADER[:-1]} pad_kerenels \n\
   5124    700   2048      0      0         int8                 460         0
     35    700   2048      0      0         int8                  48         1
 Total kernels: 2
"""
ARM_GEMM = f"""{BANNER}    m       n      k      a_t     b_t       time (msec)     GOPS \n\
   5124    700   2048      n      n           123.5          118.96
"""
INTEL_GEMM = """SGEMM(N,N,1760,16,1760) 77.4 usec 1281.38366 GFlop/sec \n\
SGEMM(T,N,512,16,512) 10.0 usec 838.8608 GFlop/sec \n\
Total time 87.4 usec
"""
SPARSE = f"""{BANNER}    m       n      k      a_t     b_t    sparsity     time (usec) \n\
   7680      1   2560      n      n        0.95                  41
"""
CONV = """  w      h      c      n      k      f_w     f_h  pad_w  pad_h    stride_w  stride_h    precision  \
fwd_time  bwd_inputs_time  bwd_params_time  total_time  fwd_algo (usec)
   700    161      1      4     32     20      5      0      0      2      2      float       \
122       473       257       852   IMPLICIT_PRECOMP_GEMM
   112    112     64      8    128      3      3      1      1      1      1      float       \
920      Not Supported      1107      2027   DIRECT CONV
"""
RNN = """    type    hidden   N     timesteps   precision     fwd   bwd_inputs   bwd_params (usec)
 vanilla      1760     16       50        float      8210        6197         5862
    lstm       512     32       25        float      1520     Not Supported
"""
ALL_REDUCE = """ NCCL AllReduce \n\
 Num Ranks: 8
    # of floats    bytes transferred    Time (msec)   \n\
         100000             400000           0.148489
        3097600           12390400            2.63694
"""
LOGS = {
    "nvidia": NVIDIA_GEMM, "old": OLD_GEMM, "amd": AMD_GEMM, "int8": INT8_GEMM, "arm": ARM_GEMM, "intel": INTEL_GEMM,
    "sparse": SPARSE, "conv": CONV, "rnn": RNN, "all_reduce": ALL_REDUCE,
}  # fmt: skip


def read_text(folder: Path, text: str | bytes, declared: Declared | None = None, name: str = "in.txt") -> pd.DataFrame:
    """The imported rows of a file of this content."""
    return rows_of(import_text(folder, text, declared, name))


def import_text(folder: Path, text: str | bytes, declared: Declared | None = None, name: str = "in.txt") -> Imported:
    """Import a file of this content."""
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return import_measurements([folder / name], folder / "out.csv", declared)


def rows_of(result: Imported) -> pd.DataFrame:
    """The rows that an import wrote."""
    return MEASUREMENTS.conform(csv_files.read_csv(result.path), str(result.path))
