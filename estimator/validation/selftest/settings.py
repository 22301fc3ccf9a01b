"""One machine as several devices: how many of its cores, up to which instructions, in which precision.

oneDNN, which makes the products of TensorFlow on processors, takes instructions up to ``ONEDNN_MAX_CPU_ISA`` (oneDNN
developer guide, "CPU Dispatcher Control").
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from estimator.collect.bench.machine import cores, usable_processors, within_quota
from estimator.core.errors import EstimatorError, suggestion

NEEDS: dict[str, frozenset[str]] = {  # of the processor's flags, by oneDNN's name of the instructions, narrowest first
    "SSE41": frozenset({"sse4_1"}),
    "AVX": frozenset({"avx"}),
    "AVX2": frozenset({"avx2", "fma"}),
    "AVX512_CORE": frozenset({"avx512f", "avx512bw", "avx512vl", "avx512dq"}),
    "AVX512_CORE_BF16": frozenset({"avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512_bf16"}),
    "AVX512_CORE_AMX": frozenset({"amx_tile", "amx_bf16", "amx_int8"}),
}
IN_BF16 = ("AVX512_CORE_BF16", "AVX512_CORE_AMX")  # instructions with products of their own in bf16
OF_FP32 = tuple(isa for isa in NEEDS if isa not in IN_BF16)
WRITTEN = re.compile(r"(\d+)x([A-Za-z0-9_]+?)(?:-(fp32|bf16))?")
EXAMPLE = "2xAVX2, or 1xAVX512_CORE_BF16-bf16"
CPUINFO = Path("/proc/cpuinfo")
Format = Literal["fp32", "bf16"]


@dataclass(frozen=True)
class Setting:
    """What of the machine a process may use: a device of its own."""

    threads: int
    isa: str
    precision: Format = "fp32"

    @property
    def name(self) -> str:
        """As users write it, and as its device is named."""
        return f"{self.threads}x{self.isa}" + f"-{self.precision}" * (self.precision != "fp32")

    def environment(self) -> dict[str, str]:
        """The variables that a process in this setting is started with."""
        threads = dict.fromkeys(("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS"), str(self.threads))
        library = {"ONEDNN_MAX_CPU_ISA": self.isa, "TF_ENABLE_ONEDNN_OPTS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
        return {**library, **threads, "CUDA_VISIBLE_DEVICES": "-1"}


def parse(text: str) -> Setting:
    """The setting that is written as threads, instructions and precision. Raises EstimatorError where none is."""
    found = WRITTEN.fullmatch(text)
    if not found:
        raise EstimatorError(f"setting '{text}' is not understood; write threads and instructions, such as {EXAMPLE}")
    isa = found[2].upper()
    if isa not in NEEDS:
        known = f"oneDNN knows {', '.join(NEEDS)}."
        raise EstimatorError(f"setting '{text}': unknown instructions '{found[2]}'; {known}{suggestion(isa, NEEDS)}")
    return Setting(int(found[1]), isa, cast(Format, found[3] or "fp32"))


def supported(setting: Setting, flags: frozenset[str], cores: int) -> bool:
    """Whether a processor of these flags and cores has what the setting asks for."""
    has_format = setting.precision == "fp32" or setting.isa in IN_BF16
    return NEEDS[setting.isa] <= flags and 1 <= setting.threads <= cores and has_format


def detected(flags: frozenset[str], cores: int) -> tuple[Setting, ...]:
    """One core and two, with the two widest instructions for fp32, and bf16 where the processor has it."""
    threads = range(1, min(cores, 2) + 1)
    widest = [isa for isa in OF_FP32 if NEEDS[isa] <= flags][-2:]
    narrow = [isa for isa in IN_BF16 if NEEDS[isa] <= flags][-1:]
    fp32 = [Setting(count, isa) for count in threads for isa in widest]
    return (*fp32, *(Setting(count, isa, "bf16") for count in threads for isa in narrow))


def of_machine(asked: Sequence[str] = ()) -> tuple[Setting, ...]:
    """The settings asked for, else those detected. Raises EstimatorError where the machine has one of them not, or
    fewer than two are left to predict one from the other.
    """
    flags, count = flags_of(CPUINFO), within_quota(cores())
    found = tuple(dict.fromkeys(map(parse, asked))) or detected(flags, count)
    for setting in found:
        if not supported(setting, flags, count):
            known = ", ".join(setting.name for setting in detected(flags, count)) or "none"
            raise EstimatorError(f"setting '{setting.name}' is not one of this machine's; it has {known}")
    if not found:
        raise EstimatorError("estimator selftest: oneDNN has no instructions for this processor; it needs an x86 one")
    if len(found) < 2:
        raise EstimatorError("estimator selftest: needs two settings that differ; give --setting twice")
    return found


def flags_of(path: Path) -> frozenset[str]:
    """What the processor can do, as Linux tells it. Raises EstimatorError where nothing does."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        raise EstimatorError(f"estimator selftest: {path} cannot be read; it runs on Linux alone") from None
    return frozenset(next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), []))


@contextmanager
def in_setting(setting: Setting) -> Iterator[None]:
    """Processes that start inside are in the setting."""
    own, variables = usable_processors(), dict(os.environ)
    os.sched_setaffinity(0, cores()[: setting.threads])
    os.environ.update(setting.environment())
    try:
        yield
    finally:
        os.sched_setaffinity(0, own)
        os.environ.clear()
        os.environ.update(variables)


def ended(setting: Setting, what: str, words: str) -> EstimatorError:
    """The error for a process in a setting that ended with these words."""
    last = words.strip().rpartition("\n")[2] or "without a word"
    return EstimatorError(f"estimator selftest: in setting {setting.name}, {what} ended so: {last}")
