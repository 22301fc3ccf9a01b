"""Settings: one machine as several devices, by number of cores, instruction set and precision.

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

FLAGS_NEEDED: dict[str, frozenset[str]] = {  # oneDNN's name of an instruction set → processor flags, narrowest first
    "SSE41": frozenset({"sse4_1"}),
    "AVX": frozenset({"avx"}),
    "AVX2": frozenset({"avx2", "fma"}),
    "AVX512_CORE": frozenset({"avx512f", "avx512bw", "avx512vl", "avx512dq"}),
    "AVX512_CORE_BF16": frozenset({"avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512_bf16"}),
    "AVX512_CORE_AMX": frozenset({"amx_tile", "amx_bf16", "amx_int8"}),
}
BF16_ISAS = ("AVX512_CORE_BF16", "AVX512_CORE_AMX")  # instruction sets with bf16 products
FP32_ISAS = tuple(isa for isa in FLAGS_NEEDED if isa not in BF16_ISAS)
PATTERN = re.compile(r"(\d+)x([A-Za-z0-9_]+?)(?:-(fp32|bf16))?")
EXAMPLE = "2xAVX2, or 1xAVX512_CORE_BF16-bf16"
CPUINFO = Path("/proc/cpuinfo")
Format = Literal["fp32", "bf16"]


@dataclass(frozen=True)
class Setting:
    """The cores, instructions and precision that a process may use; it acts as a device."""

    threads: int
    isa: str
    precision: Format = "fp32"

    @property
    def name(self) -> str:
        """The name as users write it; also that of its device."""
        return f"{self.threads}x{self.isa}" + f"-{self.precision}" * (self.precision != "fp32")

    def environment(self) -> dict[str, str]:
        """The environment variables of a process in this setting."""
        threads = dict.fromkeys(("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS"), str(self.threads))
        library = {"ONEDNN_MAX_CPU_ISA": self.isa, "TF_ENABLE_ONEDNN_OPTS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
        return {**library, **threads, "CUDA_VISIBLE_DEVICES": "-1"}


def parse(text: str) -> Setting:
    """Parse a setting of threads, instructions and precision. Raises EstimatorError."""
    match = PATTERN.fullmatch(text)
    if not match:
        raise EstimatorError(f"setting '{text}' is not understood; write threads and instructions, such as {EXAMPLE}")
    isa = match[2].upper()
    if isa not in FLAGS_NEEDED:
        known = f"oneDNN knows {', '.join(FLAGS_NEEDED)}."
        raise EstimatorError(
            f"setting '{text}': unknown instructions '{match[2]}'; {known}{suggestion(isa, FLAGS_NEEDED)}"
        )
    return Setting(int(match[1]), isa, cast(Format, match[3] or "fp32"))


def supported(setting: Setting, flags: frozenset[str], cores: int) -> bool:
    """Whether a processor with these flags and cores supports a setting."""
    has_format = setting.precision == "fp32" or setting.isa in BF16_ISAS
    return FLAGS_NEEDED[setting.isa] <= flags and 1 <= setting.threads <= cores and has_format


def detected(flags: frozenset[str], cores: int) -> tuple[Setting, ...]:
    """Settings of one and two cores, with the two widest instruction sets for fp32, and with bf16 where available."""
    threads = range(1, min(cores, 2) + 1)
    fp32_isas = [isa for isa in FP32_ISAS if FLAGS_NEEDED[isa] <= flags][-2:]
    bf16_isas = [isa for isa in BF16_ISAS if FLAGS_NEEDED[isa] <= flags][-1:]
    fp32 = [Setting(count, isa) for count in threads for isa in fp32_isas]
    return (*fp32, *(Setting(count, isa, "bf16") for count in threads for isa in bf16_isas))


def choose_settings(names: Sequence[str] = ()) -> tuple[Setting, ...]:
    """The named settings, else those detected. Raises EstimatorError for unsupported ones, and for fewer than two."""
    flags, core_count = processor_flags(CPUINFO), within_quota(cores())
    chosen = tuple(dict.fromkeys(map(parse, names))) or detected(flags, core_count)
    for setting in chosen:
        if not supported(setting, flags, core_count):
            known = ", ".join(setting.name for setting in detected(flags, core_count)) or "none"
            raise EstimatorError(f"setting '{setting.name}' is not one of this machine's; it has {known}")
    if not chosen:
        raise EstimatorError("estimator selftest: oneDNN has no instructions for this processor; it needs an x86 one")
    if len(chosen) < 2:
        raise EstimatorError("estimator selftest: needs two settings that differ; give --setting twice")
    return chosen


def processor_flags(path: Path) -> frozenset[str]:
    """The processor's flags in ``/proc/cpuinfo``. Raises EstimatorError where it cannot be read."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        raise EstimatorError(f"estimator selftest: {path} cannot be read; it runs on Linux alone") from None
    return frozenset(next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), []))


@contextmanager
def in_setting(setting: Setting) -> Iterator[None]:
    """Processes started inside run in the setting."""
    processors, variables = usable_processors(), dict(os.environ)
    os.sched_setaffinity(0, cores()[: setting.threads])
    os.environ.update(setting.environment())
    try:
        yield
    finally:
        os.sched_setaffinity(0, processors)
        os.environ.clear()
        os.environ.update(variables)


def process_error(setting: Setting, activity: str, output: str) -> EstimatorError:
    """The error for a process in a setting that ended with this output."""
    reason = output.strip().rpartition("\n")[2] or "without a word"
    return EstimatorError(f"estimator selftest: in setting {setting.name}, {activity} ended so: {reason}")
