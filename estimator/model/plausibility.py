"""Whether the counted work of an op could have been done in its own time on the source device.

    least time = max(flop / peak, (bytes − cached) / bandwidth + cached / (speedup · bandwidth)),
    cached = min(bytes, calls · last-level cache), all bytes where the cache is unknown

The speedup of a cache is CACHE_SPEEDUP, and CORE_CACHE_SPEEDUP on a processor. A count that needs longer than the op
took, and the profiler's clock may have cut off, is wrong: its shapes are another op's, or much of the work was not
done. The peak is the quoted one of the op's precision, or of TF32 for fp32 products; a library's transforms (Winograd,
FFT) may spare most of a convolution's arithmetic.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from estimator.core.notes import Note
from estimator.core.physics import ratio
from estimator.core.schema import MATRIX, numbers, on_processor
from estimator.core.types import DeviceSpec, Flags, Floats
from estimator.core.units import percent
from estimator.model.hardware import hardware_of, is_measured, number
from estimator.model.kernels.kernel_model import calls_of
from estimator.model.proportional import is_host_work

TOLERANCE = 1.1  # least time over own time that is still believed
CACHE_SPEEDUP = 4.0  # bandwidth of a last-level cache over that of memory
CORE_CACHE_SPEEDUP = 40.0  # the same for all caches of a processor's cores together
MEASURED_GAIN = 2.0  # rate that is still believed over one that was measured, which is no limit as a quoted one is
TRANSFORM_GAIN = 6.0  # FLOP of the direct convolution over those of its best transform
OPS_NAMED = 5  # in a sentence; the others are counted
RESOLUTION_S = 1e-6  # of a profiler's clock, per call


def excess(work: pd.DataFrame, source: DeviceSpec | None) -> Floats:
    """Least time of each op's counted work on the source / its own time; 0 where it did not run there, or unknown.

    Args:
        work: WORK as profiled on the source.
        source: the source device.
    """
    if source is None or source.specifications != "known":
        return np.zeros(len(work))
    time_s = numbers(work, "time_s") + RESOLUTION_S * calls_of(work)
    least_s = np.fmax(_least_compute_time(work, source), _least_memory_time(work, source))
    share = ratio(least_s, time_s, 0.0)
    return np.where(_ran_on(source, work), np.nan_to_num(share), 0.0)


def notes(work: pd.DataFrame, excess: Floats) -> tuple[Note, ...]:
    """A note on the ops whose counted work is not believed, the longest by name, and their share of the step."""
    rows = work[["op", "time_s"]].assign(excess=excess)[~is_believed(excess)]
    if rows.empty:
        return ()
    rows = rows.sort_values("time_s", ascending=False, kind="stable")
    total_s = float(work["time_s"].sum())
    longest = rows.head(OPS_NAMED)[["op", "excess", "time_s"]].itertuples(index=False, name=None)
    texts = [f"{op}: {times:.3g} ×, {percent(time_s / total_s)} of the step" for op, times, time_s in longest]
    more_text = f"; … {len(rows) - OPS_NAMED} more" if len(rows) > OPS_NAMED else ""
    text = (
        f"the counted work of {len(rows)} op(s) is more than the source could do in their time "
        f"({'; '.join(texts)}{more_text}): their shapes are ignored, and their time is scaled by the devices' rates"
    )
    return (Note("work-unbelievable", text, str(rows["op"].iloc[0]), float(rows["time_s"].sum() / total_s)),)


def is_believed(excess: Floats) -> Flags:
    """Whether each op's counted work is possible."""
    return np.asarray(excess <= TOLERANCE)


def _ran_on(source: DeviceSpec, work: pd.DataFrame) -> Flags:
    """Ops that took time on the source itself, not on its host or its links."""
    on_host = on_processor(work) & (not source.is_processor)
    elsewhere = is_host_work(work) | (work["op_class"] == "collective") | on_host
    return np.asarray((work["time_s"] > 0) & ~elsewhere, dtype=bool)


def _least_compute_time(work: pd.DataFrame, source: DeviceSpec) -> Floats:
    """Time [s] that the arithmetic of all calls needs at the quoted peak; NaN where unknown."""
    hardware = hardware_of(source, work["op_class"], work["precision"])
    peak = hardware.peak * np.where(hardware.measured_peak, MEASURED_GAIN, 1.0)
    for precision, other in (("fp32", "tf32"), ("fp16", "fp16")):  # a library may take TF32, or sum in fp16
        may_be_faster = work["op_class"].isin(MATRIX) & (work["precision"] == precision)
        peak = np.where(may_be_faster, np.fmax(peak, number(source.peak_of(other).matrix)), peak)
    may_transform = (work["op_class"] == "convolution") & (not source.is_processor)
    return np.asarray(numbers(work, "flop") / (peak * np.where(may_transform, TRANSFORM_GAIN, 1.0)))


def _least_memory_time(work: pd.DataFrame, source: DeviceSpec) -> Floats:
    """Time [s] that the traffic of all calls needs, with as much of it from the cache as fits; NaN where unknown."""
    bytes_, cache = numbers(work, "bytes"), number(source.last_level_cache)
    cached = bytes_ if np.isnan(cache) else np.minimum(bytes_, calls_of(work) * cache)
    speedup = CORE_CACHE_SPEEDUP if source.is_processor else CACHE_SPEEDUP
    bandwidth = number(source.memory_bandwidth) * (MEASURED_GAIN if is_measured(source.memory_bandwidth) else 1.0)
    return np.asarray((bytes_ - cached + cached / speedup) / bandwidth)
