"""The ladder of evidence: choose the evidence for the time of each op on the target.

Models give each op a time from specifications. Similar measurements of the target correct it (isolated.py), and so does
the op's time in the source's run (step_factor.py). Ops without a model go by the devices' rates (proportional.py); host
and input ops keep the source's time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from estimator.core.errors import UnfitError
from estimator.core.number_formats import FP32_STAND_INS, OTHER_16_BIT
from estimator.core.schema import MATRIX, numbers
from estimator.core.types import DeviceSpec, Flags, Floats, MeasuredDevice, Names
from estimator.model import plausibility
from estimator.model.arrays import first_met, padded
from estimator.model.coefficients import shipped
from estimator.model.efficiency import source_efficiency
from estimator.model.isolated import DeviceOps, KernelEstimate, estimate_kernels, modelled_times
from estimator.model.kernels.kernel_model import KernelModel, calls_of, launch_latency
from estimator.model.kernels.registry import KERNEL_MODELS, models_of
from estimator.model.measured_rows import (
    applicable_rows,
    one_row_per_shape,
    products_in_other_format,
    rows_for_ops,
    rows_of_common_libraries,
    use_fastest_repeats,
)
from estimator.model.measured_times import measured_times, with_usual_spread
from estimator.model.plausibility import is_believed
from estimator.model.proportional import (
    Rates,
    binding_rate,
    fixed_share,
    is_host_work,
    rates_of,
    ratio_by_rates,
    ratio_of_step,
    ratios_by_class,
    reference_products,
)
from estimator.model.recorded_messages import are_messages, unsized_times, waits
from estimator.model.resemblance import Siblings
from estimator.model.step_factor import StepEstimate, estimate_in_step, has_common_kernels

CACHES = ("warm", "cold")


@dataclass(frozen=True)
class SourceRun:
    """The profiled run on the source."""

    device: DeviceSpec | None = None
    measurements: pd.DataFrame | None = field(default=None, repr=False)  # of the device
    # the first rows of WORK as the source ran them, where the target's step differs
    profiled: pd.DataFrame | None = field(default=None, repr=False)
    step_spread: float = 0.0  # as in Profile
    # low end, mid and high end of what ranks compute, target / source; None: by the modelled ops of WORK
    wait_ratio: Floats | None = None
    siblings: Siblings = tuple  # measured devices of its architecture, itself among them
    # WORK as the target runs it at the profile's batch and for one training, where it is asked for others
    as_large: pd.DataFrame | None = field(default=None, repr=False)


@dataclass(frozen=True)
class TargetDevice:
    """The target, with its measurements."""

    device: DeviceSpec
    measurements: pd.DataFrame = field(repr=False)
    siblings: Siblings = tuple  # measured devices of its architecture
    same_setting: bool = False  # the profile was taken on it in this precision: its times are the answer


@dataclass(frozen=True)
class OpTimes:
    """The time of all calls of each op, before sampling."""

    kernels: KernelEstimate
    rung: Names  # measured, modelled, proportional, unchanged or nothing
    interval_s: Floats  # low end, median and high end (3 × ops) of ops not modelled
    stream: Names  # the random stream of each interval
    run_std: Floats  # standard deviation of the log of the source run's variation
    source_efficiency: Floats
    waits_s: Floats  # low end, median and high end (3 × ops) of what modelled messages wait for other ranks
    excess: Floats  # least time of the counted work on the source / its time there, where they can be compared
    rates_from: Names  # whose measured products tell the rates of products without shapes, in words; or empty

    @property
    def resembling(self) -> Names:
        """Whose measured products correct each op's time, where its own were not measured, in words; or empty."""
        by_rates = np.where(self.rung == "proportional", self.rates_from, "")
        return np.asarray(np.where(self.rung == "modelled", self.kernels.resembling, by_rates))

    @property
    def method(self) -> Names:
        """The method of each time, one of METHODS."""
        return np.asarray(np.where(self.rung == "modelled", self.kernels.method, self.rung))

    @property
    def launches(self) -> Floats:
        """The launches of each op; 0 where it is not modelled."""
        return np.where(self.rung == "modelled", self.kernels.launches, 0.0)


def estimate_op_times(work: pd.DataFrame, source: SourceRun, target: TargetDevice, cache: str = "warm") -> OpTimes:
    """Estimate the time of each op by the first rung of the ladder that applies.

    Args:
        work: WORK as on the target.
        source: the profiled run.
        target: the target device.
        cache: cache state of the target's measured rows, where the source has no measurements.

    Raises:
        EstimatorError: where the target lacks a needed precision, or has neither specifications nor measurements.
    """
    if not target.same_setting:
        _refuse_insufficient(target, work)
    profiled_s = work["time_s"].to_numpy(dtype=float)
    step, table = _estimate_step(work, source, target, cache)
    measured = step.factor * calls_of(work) * with_usual_spread(measured_times(work, table))
    measured_interval = np.array([profiled_s] * 3) if target.same_setting else measured
    excess = np.zeros(len(work)) if target.same_setting else _excess(work, source)
    rung = _rungs(work, measured_interval[1], step.kernels, is_believed(excess))
    is_modelled, is_proportional, is_unchanged = (rung == name for name in ("modelled", "proportional", "unchanged"))
    time_s = np.where(is_modelled, modelled_times(step.kernels, target.device), measured_interval[1])
    as_large_s = _times_of_profile(time_s, source, target, cache) if is_proportional.any() else time_s
    unsized = is_proportional & work["op_class"].isin(MATRIX).to_numpy(dtype=bool)
    ratios = _ratio_of_times(work, source, target, as_large_s, unsized)
    launches_s = calls_of(work) * launch_latency(target.device, shipped())
    proportional_s = _with_more_work(ratios.ratio * profiled_s, launches_s, numbers(work, "growth"))
    grown_s = numbers(work, "growth") * profiled_s
    is_own_time = is_proportional | is_unchanged | target.same_setting
    return OpTimes(
        step.kernels,
        rung,
        interval_s=np.select([is_proportional, is_unchanged], [proportional_s, grown_s], measured_interval),
        stream=np.where(is_proportional, ratios.stream, "measurements"),
        run_std=_run_std(step, is_own_time, source.step_spread),
        waits_s=is_modelled * _waits(work, source, target, np.where(is_modelled, step.kernels.time_s, time_s)),
        excess=excess,
        rates_from=ratios.rates_from,
        source_efficiency=padded(source_efficiency(_profiled_work(work, source), source.device), len(work), np.nan),
    )


def _times_of_profile(time_s: Floats, source: SourceRun, target: TargetDevice, cache: str) -> Floats:
    """Times of the profile's ops on the target at its own batch [s]; NaN for those without one at the target's."""
    if source.as_large is None:
        return time_s
    as_large_s = _times_as_large(source.as_large, source, target, cache)
    return np.where(np.isnan(time_s[: len(as_large_s)]), np.nan, as_large_s)


def _times_as_large(work: pd.DataFrame, source: SourceRun, target: TargetDevice, cache: str) -> Floats:
    """Measured or modelled times of the profile's ops on the target, at the profile's batch [s]; NaN for all others."""
    step, table = _estimate_step(work, source, target, cache)
    measured_s = step.factor[np.newaxis] * calls_of(work) * measured_times(work, table)
    times_s = np.where(np.isnan(measured_s[1]), modelled_times(step.kernels, target.device), measured_s[1])
    return np.asarray(times_s[: len(_profiled_work(work, source))])


def _with_more_work(time_s: Floats, launches_s: Floats, growth: Floats) -> Floats:
    """Times of ops that do ``growth`` times as much [s]; their launches stay as they are."""
    launches_s = np.minimum(launches_s, time_s)
    return launches_s + growth * (time_s - launches_s)


def _excess(work: pd.DataFrame, source: SourceRun) -> Floats:
    """Least time of each op's counted work on the source / its time there; 0 for added ops."""
    return padded(plausibility.excess(_profiled_work(work, source), source.device), len(work), 0.0)


def _rungs(work: pd.DataFrame, measured_s: Floats, kernels: KernelEstimate, believed: Flags) -> Names:
    """The first rung of the ladder that applies to each op; ops whose shapes are not believed are not modelled."""
    is_modelled = ~np.isnan(kernels.time_s + kernels.compute_share)
    has_time = work["time_s"].notna().to_numpy(dtype=bool)
    conditions = [believed & ~np.isnan(measured_s), believed & is_modelled, has_time & is_host_work(work), has_time]
    return first_met(conditions, ["measured", "modelled", "unchanged", "proportional"], "")


def _ratio_of_step(work: pd.DataFrame, source: SourceRun, time_s: Floats) -> Floats:
    """Low end, mid and high end of target time / source time of the step, as that of the modelled ops but messages.

    ``time_s``: of the ops on the target.
    """
    profiled = _profiled_work(work, source)
    sent, source_s = are_messages(profiled), profiled["time_s"].to_numpy(dtype=float)
    return ratio_of_step(source_s[~sent], time_s[: len(profiled)][~sent])


class _Ratios(NamedTuple):
    """Ratios of target time / source time, one entry per op."""

    ratio: Floats  # low end, mid and high end (3 × ops)
    stream: Names  # the random stream of each ratio
    rates_from: Names  # whose measured products tell it, in words; or empty


def _ratio_of_times(
    work: pd.DataFrame, source: SourceRun, target: TargetDevice, time_s: Floats, unsized: Flags
) -> _Ratios:
    """The ratios of ops without shapes, by the devices' rates or as those of the modelled ops.

    Ops that one rate binds are wrong together, so they share a stream. ``time_s``: times of the profile's ops on the
    target [s]; NaN where not modelled. ``unsized``: products without usable shapes. All are for the same work.
    """
    profiled, binding = _profiled_work(work, source), binding_rate(work["op_class"])
    first, of_step = slice(len(profiled)), _ratio_of_step(work, source, time_s)
    source_s = profiled["time_s"].to_numpy(dtype=float)
    by_class = np.tile(np.reshape(of_step, (3, 1)), len(work))
    by_class[:, first] = ratios_by_class(of_step, source_s, time_s[first], binding[first])
    ratio, rates_from = np.full((3, len(work)), np.nan), np.full(len(work), "", dtype=object)
    if source.device:
        ratio[:, first], rates_from[first] = _ratio_by_rates(
            work.iloc[first], source, source.device, target, unsized[first]
        )
    by_rates = ~np.isnan(ratio[1])
    by_binding = by_rates | (by_class != np.reshape(of_step, (3, 1))).any(axis=0)
    streams = np.where(by_binding, "proportional." + binding, "proportional.step")
    return _Ratios(np.where(by_rates, ratio, by_class), streams, rates_from)


def _ratio_by_rates(
    work: pd.DataFrame, source: SourceRun, source_device: DeviceSpec, target: TargetDevice, unsized: Flags
) -> tuple[Floats, Names]:
    """Low end, mid and high end (3 × ops) of target time / source time by the devices' rates and links, NaN where
    nothing tells them; and whose measured products tell the rates, as in OpTimes.

    ``work``: the ops of the profile, as on the target. ``unsized``: as :func:`_ratio_of_times` takes it.
    """
    profiled, device = _profiled_work(work, source), target.device
    of_source = target.measurements.iloc[:0] if source.measurements is None else source.measurements
    # a device is as far off its peaks in all formats, and so are devices that run the same kernels
    same_kernels = source_device.family == device.family or has_common_kernels(source_device, device)
    corrected = unsized & (not same_kernels)
    on_source = _rates(profiled, corrected, MeasuredDevice(source_device, of_source), source.siblings)
    on_target = _rates(work, corrected, MeasuredDevice(device, target.measurements), target.siblings)
    fixed = fixed_share(profiled, source_device, device)
    by_rates = ratio_by_rates(binding_rate(work["op_class"]), on_source, on_target, fixed)
    by_messages = _ratio_of_messages(work, profiled, source_device, device)
    rates_from = on_source.measured_on.copy()
    for row in np.flatnonzero(on_target.measured_on):
        pair = (on_source.measured_on[row], on_target.measured_on[row])
        rates_from[row] = " and ".join(filter(None, dict.fromkeys(pair)))
    return np.where(np.isnan(by_messages), by_rates, by_messages), rates_from


def _rates(work: pd.DataFrame, unsized: Flags, measured: MeasuredDevice, siblings: Siblings) -> Rates:
    """The rates of a device for each op. Measured products correct that of products without usable shapes."""
    if not unsized.any():
        return rates_of(measured.device, work)
    products = reference_products(work[unsized])
    table = _table_for_ops(measured.measurements, products, "warm")
    siblings = _siblings_for_ops(siblings, products, "warm")
    estimate = estimate_kernels(DeviceOps(products, measured.device, {"warm": table}, siblings))
    own = np.where(estimate.method == "roofline", "", measured.device.name + " in " + products["precision"])
    measured_on = np.where(estimate.resembling == "", own, estimate.resembling)
    rates = products["flop"].to_numpy(dtype=float) / estimate.time_s
    return rates_of(measured.device, work, products.assign(rate=rates, measured_on=measured_on))


def _ratio_of_messages(work: pd.DataFrame, profiled: pd.DataFrame, source: DeviceSpec, target: DeviceSpec) -> Floats:
    """Low end, mid and high end (3 × ops) of target time / source time of messages of unknown bytes; NaN else."""
    source_s = profiled["time_s"].to_numpy(dtype=float)
    times_s = unsized_times(work, profiled, source, target)
    ratio = np.full_like(times_s, np.nan)
    return np.asarray(np.divide(times_s, source_s, out=ratio, where=source_s > 0))


def _waits(work: pd.DataFrame, source: SourceRun, target: TargetDevice, busy_s: Floats) -> Floats:
    """What messages wait for other ranks on the target (3 × ops) [s]; none where the profile was taken there.

    ``busy_s``: time of the ops on the target without launches, which the host mostly makes ahead.
    """
    if target.same_setting:
        return np.zeros((3, len(work)))
    profiled = _profiled_work(work, source)
    ratio = _ratio_of_step(work, source, busy_s) if source.wait_ratio is None else source.wait_ratio
    waits_s = waits(profiled, source.device or target.device, ratio)
    return np.asarray(np.hstack([waits_s, np.zeros((3, len(work) - len(profiled)))]))


def _profiled_work(work: pd.DataFrame, source: SourceRun) -> pd.DataFrame:
    return work if source.profiled is None else source.profiled


def _run_std(step: StepEstimate, is_own_time: Flags, step_spread: float) -> Floats:
    """Variation with the source's run: that of its steps; for times by step factors also between devices."""
    in_step = np.hypot(step_spread, shipped().step_factor.in_step_std)
    return np.where(is_own_time, step_spread, np.where(step.known, in_step, 0.0))


def _estimate_step(
    work: pd.DataFrame, source: SourceRun, target: TargetDevice, cache: str
) -> tuple[StepEstimate, pd.DataFrame]:
    """The estimate of the target's step, and the table of its measured shapes.

    It uses the kernels of both devices where one library was measured on both; the models of both, where nothing of the
    target was measured and both run a vendor's kernels; else those of the target alone.
    """
    pair = _common_library_ops(work, source, target)
    if pair:
        return estimate_in_step(*pair), pair[1].tables["warm"]
    table = _table_for_ops(target.measurements, work, cache)
    if table.empty and source.device is not None and has_common_kernels(source.device, target.device):
        tables, profiled = dict.fromkeys(CACHES, table), _profiled_work(work, source)
        # where the source is a sibling, its own times in the step tell more of kernels in the same format
        known = profiled["precision"].dropna() if source.device.family == target.device.family else ()
        siblings = _siblings_for_ops(target.siblings, work, cache, known)
        on_source = DeviceOps(profiled, source.device, tables)
        on_target = DeviceOps(work, target.device, tables, siblings)
        return estimate_in_step(on_source, on_target, by_models=True), table
    siblings = _siblings_for_ops(target.siblings, work, cache)
    kernels = estimate_kernels(DeviceOps(work, target.device, {cache: table}, siblings), cache)
    return StepEstimate(kernels, np.ones(len(work)), np.zeros(len(work), dtype=bool)), table


def _table_for_ops(measurements: pd.DataFrame, work: pd.DataFrame, cache: str) -> pd.DataFrame:
    """The measured rows for the ops of WORK in a cache state, one per shape."""
    rows = pd.concat([rows_for_ops(measurements, work), products_in_other_format(measurements, work)])
    return one_row_per_shape(applicable_rows(rows, cache))


def _siblings_for_ops(siblings: Siblings, work: pd.DataFrame, cache: str, known: Iterable[str] = ()) -> Siblings:
    """A device's siblings with their rows for the ops of WORK, one per shape; none in the ``known`` formats."""

    def read() -> list[MeasuredDevice]:
        tables = [(each, each.measurements[~each.measurements["precision"].isin(known)]) for each in siblings()]
        return [replace(each, measurements=_table_for_ops(rows, work, cache)) for each, rows in tables]

    return read


def _common_library_ops(
    work: pd.DataFrame, source: SourceRun, target: TargetDevice
) -> tuple[DeviceOps, DeviceOps] | None:
    """The ops on source and target with rows measured by a common library; None where there is none."""
    if source.device is None or source.measurements is None:
        return None
    profiled, rows = _profiled_work(work, source), rows_for_ops(target.measurements, work)
    source_rows, target_rows = rows_of_common_libraries(rows_for_ops(source.measurements, profiled), rows)
    if source_rows.empty:
        return None
    fastest = use_fastest_repeats(source_rows, target_rows)
    tables = {
        cache: _without_one_sided_rows(
            [one_row_per_shape(applicable_rows(rows_, cache)) for rows_ in fastest], profiled, source.device
        )
        for cache in CACHES
    }
    source_tables, target_tables = ({cache: tables[cache][index] for cache in CACHES} for index in (0, 1))
    return DeviceOps(profiled, source.device, source_tables), DeviceOps(work, target.device, target_tables)


def _without_one_sided_rows(
    tables: Sequence[pd.DataFrame], profiled: pd.DataFrame, device: DeviceSpec
) -> list[pd.DataFrame]:
    """Drop the rows of models with a fallback that only one of the tables has; ``device``: that was profiled.

    Else the factor between the devices would contain the difference between model and fallback.
    """
    names = [name for name, _, _ in models_of(profiled, device)]
    names += [KERNEL_MODELS[name].fallback for name in names]  # which may have a fallback of its own
    models = [model for name in dict.fromkeys(names) if name and (model := KERNEL_MODELS[name]).fallback]
    one_sided = [model for model in models if len({bool(model.matches(table).any()) for table in tables}) > 1]
    return [table[~_matches_any(one_sided, table)] for table in tables]


def _matches_any(models: Sequence[KernelModel], rows: pd.DataFrame) -> Flags:
    matches = [model.matches(rows) for model in models]
    return np.any(matches, axis=0) if matches else np.zeros(len(rows), dtype=bool)


def _refuse_insufficient(target: TargetDevice, work: pd.DataFrame) -> None:
    device = target.device
    if device.specifications == "known":
        refuse_unsupported(device, set(work.loc[work["op_class"].isin(MATRIX), "precision"]))
    elif target.measurements.empty:
        lacks = [
            *(["peak"] if not any(peak.matrix for peak in device.peak.values()) else []),
            *(["memory_bandwidth"] if device.memory_bandwidth is None else []),
        ]
        raise UnfitError(
            f"{device.name} has no specifications of {' and '.join(lacks)}, and no measurements; "
            "write a device file with them, or choose another target"
        )


def refuse_unsupported(device: DeviceSpec, precisions: Collection[str]) -> None:
    """Raise UnfitError where the device lacks a precision of matrix products or convolutions."""
    missing = [precision for precision in sorted(precisions) if device.peak_of(precision).matrix is None]
    if missing:
        without_path = [precision for precision in missing if not device.peak_of(precision).supported]
        lacks = "has no hardware path for" if without_path else "gives no peak for"
        known = [name for name, rates in device.peak.items() if rates.matrix]
        text = f"{device.name} {lacks} {' and '.join(without_path or missing)}"
        raise UnfitError(f"{text}; matrix products run there in {', '.join(known)}{_advised(missing, known)}")


def _advised(missing: Sequence[str], known: Sequence[str]) -> str:
    """What to write in place of a precision that a device lacks, where others do so there."""
    if "fp32" not in known and set(missing) <= {"fp32", "tf32"} and any(name in known for name in FP32_STAND_INS):
        return "; write --precision auto, or 'precision: auto' in a study, as a framework does there"
    other = OTHER_16_BIT.get(missing[0]) if len(missing) == 1 else None
    stand_in = next((name for name in (other, "fp32") if name in known), None)
    return f"; write --precision {stand_in}, or 'precision: {stand_in}' in a study" if stand_in else ""
