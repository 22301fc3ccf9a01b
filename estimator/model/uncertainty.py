"""The uncertain inputs of a prediction, drawn once: specifications, and deviations of models.

Each is drawn from its own random stream, as the logarithm by which it lengthens a time, so that parts of a prediction
that share an input are correlated. A column of samples has 1 + draws entries, the first at nominal inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from estimator.core.interval import draw, draw_sourced, standard
from estimator.core.types import DeviceSpec, Floats, Names, RunPlan, Sourced
from estimator.model import coefficients
from estimator.model.hardware import TYPICAL_YEAR, Hardware, hardware_of, peak_of_op
from estimator.model.isolated import UNIT_FIELDS

# share of the rate of its best products that a power limit leaves a device, the least of 20: of the 66 accelerators of
# the catalogue whose limit is known, by model/sustained.py
UNKNOWN_POWER = 0.74
# years of a device that states none, by whether it has tensor units: nine in ten of the 81 and 37 of the catalogue
UNKNOWN_YEARS = {True: (2018, 2026), False: (2012, 2022)}


@dataclass(frozen=True)
class RandomStreams:
    """Samples of random streams, and the stream of each op."""

    samples: Floats  # 1 + draws × streams
    stream_of_op: npt.NDArray[np.int_]

    def of_ops(self, ops: slice) -> Floats:
        """Samples (1 + draws × ops) of some ops; a single column where there is one stream."""
        return self.samples if self.samples.shape[1] == 1 else np.take(self.samples, self.stream_of_op[ops], axis=1)

    def weights(self, op_weights: Floats) -> Floats:
        """Weights (streams × ops): each op's weight on its stream, 0 on the others."""
        return np.where(np.arange(self.samples.shape[1])[:, None] == self.stream_of_op, op_weights, 0.0)


def peaks(device: DeviceSpec, work: pd.DataFrame, plan: RunPlan) -> RandomStreams:
    """Samples of log(nominal / drawn peak) of each op; 0 for messages, whose links are drawn by :mod:`link_draws`."""
    kind_of_row, kinds = pd.factorize(work["op_class"].str.cat(work["precision"], sep=" "))
    paths = [_peak(device, *kind.split(" ")) for kind in kinds]
    rates, names = dict(paths), [name for name, _ in paths]
    by_power = dict(zip(names, _uncertain_power(device, list(kinds), plan), strict=True))
    by_year = dict(zip(names, _unknown_year(device, list(kinds), plan), strict=True))
    columns = [
        _log_lengthening(f"{device.name}.{name}", rate, plan) + by_power[name] + by_year[name]
        for name, rate in rates.items()
    ]
    return RandomStreams(
        np.stack(columns, axis=1), np.array([list(rates).index(name) for name, _ in paths])[kind_of_row]
    )


def _peak(device: DeviceSpec, op_class: str, precision: str) -> tuple[str, Sourced | None]:
    name, rate = peak_of_op(device, op_class, precision)
    return name, None if op_class == "collective" else rate


def _uncertain_power(device: DeviceSpec, kinds: Sequence[str], plan: RunPlan) -> Floats:
    """Samples (kinds × 1 + draws) of the logarithm by which an unknown or uncertain power limit lengthens arithmetic;
    0 for processors.

    ``kinds``: class and precision of ops.
    """
    limit, stream = device.power_limit, f"{device.name}.power_limit"
    if device.is_processor or (limit is not None and limit.relative_uncertainty is None):
        return np.zeros((len(kinds), 1))
    if limit is None:
        share = draw(stream, UNKNOWN_POWER, 1.0, 1.0, plan.draws, plan.seed)
        return np.tile(-np.log(share), (len(kinds), 1))
    drawn_w = draw_sourced(stream, limit, plan.draws, plan.seed)
    return _lengthening(device, kinds, lambda hardware: replace(hardware, power=drawn_w[:, None]))


def _unknown_year(device: DeviceSpec, kinds: Sequence[str], plan: RunPlan) -> Floats:
    """Samples (kinds × 1 + draws) of the logarithm by which a year that no file gives lengthens arithmetic: within the
    same power limit an older device does less.

    ``kinds``: class and precision of ops.
    """
    if device.year is not None:
        return np.zeros((len(kinds), 1))
    first, last = UNKNOWN_YEARS[any(peak.tensor for peak in device.peak.values())]
    years = draw(f"{device.name}.year", first, TYPICAL_YEAR, last, plan.draws, plan.seed)
    return _lengthening(device, kinds, lambda hardware: replace(hardware, year=years[:, None]))


def _lengthening(device: DeviceSpec, kinds: Sequence[str], drawn: Callable[[Hardware], Hardware]) -> Floats:
    """Samples (kinds × 1 + draws) of the logarithm of nominal over drawn sustained peak.

    ``drawn`` gives the hardware with samples (1 + draws × 1) in place of an uncertain number.
    """
    op_class, precision = (pd.Series([kind.split(" ")[part] for kind in kinds]) for part in (0, 1))
    hardware, sustained = hardware_of(device, op_class, precision), coefficients.shipped().gemm.sustained
    with np.errstate(invalid="ignore"):  # peaks that are infinite or not known
        lengthening = np.log(sustained.peak(hardware) / sustained.peak(drawn(hardware)))
    return np.nan_to_num(lengthening).T


def bandwidth(device: DeviceSpec, plan: RunPlan) -> Floats:
    """Samples of log(nominal / drawn bandwidth) (1 + draws × 1)."""
    return _log_lengthening(f"{device.name}.memory_bandwidth", device.memory_bandwidth, plan)[:, None]


def units(device: DeviceSpec, plan: RunPlan) -> Floats:
    """Samples of log(drawn / nominal) of UNIT_FIELDS (1 + draws × UNIT_FIELDS)."""
    numbers = {field: getattr(device, field) for field in UNIT_FIELDS}
    columns = [-_log_lengthening(f"{device.name}.{field}", number, plan) for field, number in numbers.items()]
    return np.stack(columns, axis=1)


def latency(device: DeviceSpec, plan: RunPlan) -> Floats:
    """Samples (1 + draws × 1) of the time of one launch [s]."""
    stream = f"{device.name}.launch_latency"
    if device.launch_latency:
        return draw_sourced(stream, device.launch_latency, plan.draws, plan.seed)[:, None]
    default_s = coefficients.shipped().launches.latency_s
    return draw(stream, default_s.low, default_s.mid, default_s.high, plan.draws, plan.seed)[:, None]


def source_run(plan: RunPlan) -> Floats:
    """Standard normal samples (1 + draws) of the source run's variation; 0 at nominal inputs."""
    return standard("source.run", plan.draws, plan.seed)


def normals(names: Names, count: int, plan: RunPlan) -> list[RandomStreams]:
    """``count`` sets of standard normal samples of the stream that each op names; 0 at nominal inputs."""
    stream_of_op, streams = pd.factorize(names)
    samples = np.stack([independent(name, count, plan) for name in streams])
    return [RandomStreams(samples[..., index].T, stream_of_op) for index in range(count)]


def independent(name: str, count: int, plan: RunPlan) -> Floats:
    """Standard normal samples (1 + draws × count) of streams of that name; 0 at nominal inputs."""
    return np.stack([standard(f"{name}.{number}", plan.draws, plan.seed) for number in range(count)], axis=1)


def _log_lengthening(stream: str, rate: Sourced | None, plan: RunPlan) -> Floats:
    if rate is None:
        return np.zeros(1 + plan.draws)
    return np.log(rate.value / draw_sourced(stream, rate, plan.draws, plan.seed))
