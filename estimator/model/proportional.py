"""The time of ops without usable shapes: the source's time × a ratio of the two devices' rates.

    target time = source time × (s + (1 − s) r),
    r = (source peak / target peak)^w × (source bandwidth / target bandwidth)^(1 − w)

w is 1 for products, which arithmetic binds, 0 for ops that memory binds, and 1/2 where nothing tells the op's class.
Peaks are those that the devices sustain in the op's precision; of products, the rate at which the model runs a large
one. s is the share of the time in which kernels start and end, which no rate shortens: START_S a kernel on GPUs. The
interval of r reaches from the op's own ratio to the mean of both, or over both where the class is unknown, and beyond
both ends by a factor with which it holds nine of ten ops that public tables time on two devices
(tests/model/test_proportional.py). Messages go by recorded_messages.py.

Without both devices' rates, ops go with the modelled ops of their class, else with all those of the step:
r = Σ target times / Σ source times.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from estimator.core import physics
from estimator.core.schema import HOST_CLASSES, MATRIX, STREAMING, WORK, numbers
from estimator.core.types import DeviceSpec, Flags, Floats, Names, itemsizes
from estimator.model.arrays import first_met
from estimator.model.coefficients import shipped
from estimator.model.hardware import hardware_of
from estimator.model.kernels.kernel_model import calls_of

UNKNOWN = "unknown"
WIDENING = 2.0  # factor by which an interval reaches beyond the ratios
START_S = 3e-6  # of a kernel on any GPU; has the least error for kernels of 1 to 20 us that public tables time on two
REFERENCE = 4096  # m, n and k of the product whose rate stands for all products of a device
LEAST_MODELLED = 0.1  # share of a step's time whose modelled times tell of the rest
LEAST_SHARE = 0.05  # low end over the mid, where only the step's other ops tell a ratio
LEAST_OPS = 5  # fewest modelled ops of a class from which its others are estimated
SHARES_BELOW = (0.05, 0.5, 0.95)  # of a class's source time: where low end, mid and high end of its ratio lie


def is_host_work(work: pd.DataFrame) -> Flags:
    """Ops that are no work of a device, whose time is the source's own. TensorFlow books a variable on its device."""
    is_variable = (work["operator"] == "variable").fillna(False)
    return np.asarray(work["op_class"].isin(HOST_CLASSES) & ~is_variable, dtype=bool)


def binding_rate(op_class: pd.Series) -> Names:
    """What binds each op, as far as its class tells: compute, memory, link (of messages) or unknown."""
    conditions = [op_class.isin(MATRIX), op_class.isin(STREAMING), op_class == "collective"]
    return first_met([np.asarray(each, dtype=bool) for each in conditions], ["compute", "memory", "link"], UNKNOWN)


def path_class(op_class: pd.Series) -> pd.Series:
    """The class whose path of the hardware each op is taken to use: matrix units for all but memory-bound ops."""
    return op_class.where(op_class.isin(STREAMING), "gemm")


@dataclass(frozen=True)
class Rates:
    """The rates that a device sustains, one entry per op; NaN where unknown."""

    compute: Floats  # [FLOP/s] in the op's precision
    memory: Floats  # [B/s]
    uncertainty: float  # the largest that is declared, relative
    measured_on: Names  # whose measured products tell that of products, in words; or empty


def reference_products(work: pd.DataFrame) -> pd.DataFrame:
    """WORK of a product that is so large that it fills any device, in each precision of a WORK table."""
    rows = pd.DataFrame({"precision": work["precision"].dropna().unique()})
    rows = rows.assign(op="reference", op_type="gemm", operator="gemm", op_class="gemm", calls=1.0, time_s=np.nan)
    rows = rows.assign(batch=1, m=REFERENCE, n=REFERENCE, k=REFERENCE)
    batch, m, n, k = (rows[name].to_numpy(dtype=float) for name in ("batch", "m", "n", "k"))
    bytes_ = physics.gemm_bytes(batch, m, n, k, itemsizes(rows["precision"]))
    return WORK.conform(rows.assign(flop=physics.gemm_flop(batch, m, n, k), bytes=bytes_), "reference products")


NO_PRODUCTS = pd.DataFrame({"precision": [], "rate": [], "measured_on": []})


def rates_of(device: DeviceSpec, work: pd.DataFrame, products: pd.DataFrame = NO_PRODUCTS) -> Rates:
    """The rates of a device for each op.

    Args:
        device: of which the rates are.
        work: WORK.
        products: :func:`reference_products` with ``rate`` [FLOP/s] and ``measured_on``, as that of Rates; sustained
            peaks stand for those of other precisions.
    """
    hardware, coefficients = hardware_of(device, path_class(work["op_class"]), work["precision"]), shipped()
    with np.errstate(invalid="ignore"):
        peak = coefficients.gemm.sustained.peak(hardware)
    of_precision, are_products = products.set_index("precision"), work["op_class"].isin(MATRIX)
    of_products = work["precision"].map(of_precision["rate"]).where(are_products).to_numpy(dtype=float)
    whose, measured_on = of_precision["measured_on"].to_dict(), np.full(len(work), "", dtype=object)
    if whose:
        measured_on[are_products] = [whose.get(precision, "") for precision in work["precision"][are_products]]
    return Rates(
        compute=_where_known(of_products, np.where(np.isfinite(peak), peak, np.nan)),
        memory=hardware.attained_bandwidth(coefficients.memory_bound.streaming),
        uncertainty=_declared_uncertainty(device),
        measured_on=measured_on,
    )


def _declared_uncertainty(device: DeviceSpec) -> float:
    peaks = (rate for peak in device.peak.values() for rate in peak.rates)
    rates = (device.memory_bandwidth, device.link.one_way if device.link else None, *peaks)
    return max((rate.relative_uncertainty or 0.0 for rate in rates if rate), default=0.0)


def has_rates(device: DeviceSpec) -> bool:
    """Whether anything tells the rates of a device."""
    return device.memory_bandwidth is not None or any(peak.matrix for peak in device.peak.values())


def fixed_share(work: pd.DataFrame, source: DeviceSpec, target: DeviceSpec) -> Floats:
    """The share of each op's time on the source in which its kernels start and end; 0 unless both devices are GPUs."""
    if not (source.is_gpu and target.is_gpu):
        return np.zeros(len(work))
    starts_s = START_S * calls_of(work)
    return np.minimum(1.0, physics.ratio(starts_s, numbers(work, "time_s"), 0.0))


def ratio_by_rates(binding: Names, source: Rates, target: Rates, fixed: Floats) -> Floats:
    """Low end, mid and high end (3 × ops) of target time / source time by the devices' rates; NaN where unknown.

    Args:
        binding: what binds each op, of :func:`binding_rate`.
        source: the rates of the source.
        target: the rates of the target.
        fixed: of :func:`fixed_share`.
    """
    compute, memory = source.compute / target.compute, source.memory / target.memory
    compute, memory = _where_known(compute, memory), _where_known(memory, compute)
    nearer, other = np.where(binding == "compute", [compute, memory], [memory, compute])
    mean = np.sqrt(nearer * other)
    is_unknown = binding == UNKNOWN
    mid, end = np.where(is_unknown, mean, nearer), np.where(is_unknown, nearer, mean)
    ends = np.array([mid, end, np.where(is_unknown, other, mid)])
    widening = WIDENING * (1.0 + source.uncertainty) * (1.0 + target.uncertainty)
    of_rates = np.array([ends.min(axis=0) / widening, mid, ends.max(axis=0) * widening])
    of_starts = np.array([[1.0 / WIDENING], [1.0], [WIDENING]])
    return np.asarray(fixed * of_starts + (1.0 - fixed) * of_rates)


def _where_known(values: Floats, others: Floats) -> Floats:
    return np.where(np.isnan(values), others, values)


def ratio_of_step(source_s: Floats, target_s: Floats) -> Floats:
    """Low end, mid and high end of target time / source time, as that of the modelled ops together.

    The low end is nearly nothing, the high end the source's own time, or more where the target is slower. Where hardly
    anything is modelled, the mid is 1, and the ends reach beyond what the modelled ops show, too; where nothing is, the
    target may be as much slower as faster.

    Args:
        source_s: times of ops on the source [s].
        target_s: their modelled times on the target [s]; NaN where not modelled, 0 where the target does not run them,
            which tells nothing.
    """
    known = (source_s > 0) & (target_s > 0)
    modelled_s = float(source_s[known].sum())
    if modelled_s <= LEAST_MODELLED * np.nansum(source_s[target_s != 0]):
        shown = float(target_s[known].sum()) / modelled_s if modelled_s > 0 else 1.0 / (WIDENING * LEAST_SHARE)
        return np.array([LEAST_SHARE * min(1.0, shown), 1.0, WIDENING * max(1.0, shown)])
    mid = float(target_s[known].sum()) / modelled_s
    return np.array([LEAST_SHARE * mid, mid, max(1.0, WIDENING * mid)])


def ratios_by_class(of_step: Floats, source_s: Floats, target_s: Floats, binding: Names) -> Floats:
    """Low end, mid and high end (3 × ops) of target time / source time, as that of the modelled ops of the same class.

    Mid and ends are those ratios of the modelled ops below which SHARES_BELOW of their source time lies, the ends
    widened by WIDENING. Ops of a class go with the step where the class is unknown, where its modelled ops are fewer
    than LEAST_OPS, and where they take less than LEAST_MODELLED of the time of its others.

    Args:
        of_step: of :func:`ratio_of_step`.
        source_s: times of ops on the source [s].
        target_s: their modelled times on the target [s]; as in :func:`ratio_of_step`.
        binding: what binds each op, of :func:`binding_rate`.
    """
    ratio = np.tile(np.reshape(of_step, (3, 1)), len(source_s))
    is_modelled, is_unknown = (source_s > 0) & (target_s > 0), np.isnan(target_s)
    for bound in ("compute", "memory"):
        modelled, others = (binding == bound) & is_modelled, (binding == bound) & is_unknown
        modelled_s = source_s[modelled]
        if len(modelled_s) >= LEAST_OPS and modelled_s.sum() > LEAST_MODELLED * np.nansum(source_s[others]):
            ratio[:, others] = _quantiles(target_s[modelled] / modelled_s, modelled_s)[:, np.newaxis]
    return ratio


def _quantiles(ratios: Floats, weights: Floats) -> Floats:
    order = np.argsort(ratios)
    share = np.cumsum(weights[order]) / weights.sum()
    at = np.minimum(np.searchsorted(share, SHARES_BELOW), len(ratios) - 1)
    return np.asarray(ratios[order][at] * [1 / WIDENING, 1.0, WIDENING])
