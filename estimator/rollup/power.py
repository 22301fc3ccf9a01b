"""The power of a device during a step, from what its ops ask of arithmetic and memory; its energy, and its node's.

    P = idle + (limit − idle) · min(1, busy · B + compute · U_c + memory · U_m)

B is the share of the step in which the device runs ops, U_c the share in which it would compute at its peak, U_m the
share in which it would pass data at its bandwidth. The minimum is taken of each op, weighted by its share of the step,
and of the step. A phase that asks for more than a lowered limit runs at the clock that the limit leaves, which is a
power of the ratio of both.

Forms: Choi, Bedard, Fowler & Vuduc, "A roofline model of energy", IPDPS 2013 (energy by FLOP, by byte and by time);
the coefficients are model/coefficients/power.yaml.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from estimator.core.interval import draw, draw_sourced, standard
from estimator.core.notes import Note
from estimator.core.physics import ratio
from estimator.core.schema import HOST_CLASSES
from estimator.core.types import DeviceSpec, Floats, PowerCoefficients, Prediction, RunPlan, Sourced, SystemSpec
from estimator.rollup.step import ReplayedStep

LEAST_RANGE = 0.03  # of the range above idle that a cap leaves: no board stops its clock
OTHER_KIND = 2.0  # times the standard deviations of a processor's power, as the coefficients are those of GPUs
# What the rest of a node draws, as a multiple of its devices' power limits: hosts, memory, fans, network, losses. From
# the powers that the TOP500 lists of eight GPU systems of the catalogue (Titan 1.87, Selene 1.48, Sierra 1.43,
# Leonardo 1.23, Summit 1.22, El Capitan 1.21, Perlmutter 1.03, Aurora 1.01 of their devices' limits), where the devices
# are assumed to draw RUN_OF_LIST of their limits.
NODE_OVERHEAD = (0.1, 0.33, 1.0)
RUN_OF_LIST = 0.9
OWN_OVERHEAD = 0.1  # assumed: half the interval where the system's own power is listed, as RUN_OF_LIST is 0.8 to 1
LEAST_OVERHEAD = 0.05


def idle_power(limit_w: ArrayLike, gddr_bytes: ArrayLike, coefficients: PowerCoefficients) -> Floats:
    """Power at running clocks without work [W]: a share of the limit, and what each byte of GDDR takes."""
    return np.asarray(
        coefficients.idle_share * np.asarray(limit_w) + coefficients.idle_gddr_w_per_byte * np.asarray(gddr_bytes)
    )


def intensity(compute: ArrayLike, memory: ArrayLike, coefficients: PowerCoefficients) -> Floats:
    """Share of the range from idle to the limit that a running op asks for: min(1, busy + compute·U_c + memory·U_m)."""
    asked = coefficients.busy + coefficients.compute * np.asarray(compute) + coefficients.memory * np.asarray(memory)
    return np.asarray(np.minimum(asked, 1.0))


def capped(asked_w: ArrayLike, idle_w: ArrayLike, cap_w: ArrayLike, clock_exponent: ArrayLike) -> tuple[Floats, Floats]:
    """The power of a phase under a cap [W], and the factor by which the phase is longer.

    factor = max(1, ((asked − idle) / (cap − idle))^γ): the sustained clock is a power of the power above idle.
    """
    asked, idle = np.asarray(asked_w, float), np.asarray(idle_w, float)
    given = np.clip(np.asarray(cap_w, float), idle + LEAST_RANGE * (asked - idle), None)
    power_ratio = np.maximum(asked - idle, 0.0) / np.maximum(given - idle, 1e-9)
    return np.minimum(asked, given), np.maximum(power_ratio, 1.0) ** np.asarray(clock_exponent)


def mean_power(
    shares: ArrayLike, intensities: ArrayLike, idle_w: ArrayLike, limit_w: ArrayLike, cap_w: ArrayLike,
    clock_exponent: ArrayLike,
) -> tuple[Floats, Floats]:  # fmt: skip
    """The mean power of a step of several phases under a cap [W], and the factor by which the step is longer.

    Args:
        shares: of the uncapped step (… × phases); the rest of it the device is idle.
        intensities: of the phases (… × phases), as :func:`intensity` gives them.
        idle_w: idle power [W].
        limit_w: the device's own power limit [W], to which intensities relate.
        cap_w: the limit that is set [W].
        clock_exponent: exponent of the sustained clock.
    """
    shares, idle, limit, cap, exponent = (
        np.asarray(each, float) for each in (shares, idle_w, limit_w, cap_w, clock_exponent)
    )
    asked_w = idle[..., None] + (limit - idle)[..., None] * np.asarray(intensities)
    power_w, factor = capped(asked_w, idle[..., None], cap[..., None], exponent[..., None])
    time, idle_time = shares * factor, 1.0 - shares.sum(axis=-1)
    step = time.sum(axis=-1) + idle_time
    return ((time * power_w).sum(axis=-1) + idle_time * idle) / step, step


def gddr_bytes(device: DeviceSpec) -> float:
    """The capacity of graphics memory [B]; 0 where the memory is of another type, such as HBM."""
    is_gddr = (device.memory_type or "").upper().startswith("GDDR")
    return device.memory_capacity.value if is_gddr and device.memory_capacity else 0.0


def step_power(
    prediction: Prediction, replayed: ReplayedStep, peak_times_s: tuple[Floats, Floats], device: DeviceSpec,
    coefficients: PowerCoefficients, plan: RunPlan,
) -> Floats | None:  # fmt: skip
    """Samples of the mean power of a device during a step [W]; None where its power limit is not known.

    An op counts as long as it runs, whether or not it lengthens the step. What it asks for beyond a busy device is
    energy, which does not change with its time.

    Args:
        prediction: the step's ops.
        replayed: the step, and the sum of the times of the device's ops.
        peak_times_s: time of each op at peak arithmetic, and at the full bandwidth [s].
        device: the target.
        coefficients: of power.
        plan: draws and seed.
    """
    limit = device.power_limit
    if limit is None:
        return None
    limit_w, step_s = limit.value, replayed.step.total
    on_device = ~prediction.ops["op_class"].isin(HOST_CLASSES).to_numpy(dtype=bool)
    op_s = prediction.samples[0]
    of_peak, of_bandwidth = (ratio(each, op_s, 0.0) for each in peak_times_s)
    beyond_s = float(on_device @ (op_s * (intensity(of_peak, of_bandwidth, coefficients) - coefficients.busy)))
    busy_s = np.minimum(replayed.running_s, step_s)  # lanes may run ops at once
    asked = (coefficients.busy * busy_s + beyond_s) / step_s
    idle_w, factor, reading = uncertain_factors(device, coefficients, plan.draws, plan.seed)
    idle_w = np.minimum(idle_w * idle_power(limit_w, gddr_bytes(device), coefficients), limit_w)
    mean_w = (idle_w + (limit_w - idle_w) * np.minimum(asked * factor, 1.0)) * reading
    drawn_limit_w = draw_sourced(f"{device.name}.power_limit", limit, plan.draws, plan.seed)
    return np.asarray(np.minimum(mean_w, limit_w) * drawn_limit_w / limit_w)


def waiting_power(power_w: Floats, idle_w: float, own_s: Floats, step_s: Floats) -> Floats:
    """The mean power of a device whose step of ``own_s`` is lengthened to ``step_s`` by waits [W]: idle in these."""
    return np.asarray((power_w * own_s + idle_w * (step_s - own_s)) / step_s)


def notes(device: DeviceSpec, power_w: Floats | None) -> tuple[Note, ...]:
    """A note where the coefficients are those of another kind of device."""
    if power_w is None or not device.is_processor:
        return ()
    text = (
        f"the power of {device.name} is computed with coefficients of GPUs and {OTHER_KIND:g} times their uncertainty"
    )
    return (Note("power-of-gpus", text, subject=device.name),)


def uncertain_factors(
    device: DeviceSpec, coefficients: PowerCoefficients, draws: int, seed: int
) -> tuple[Floats, Floats, Floats]:
    """Samples (1 + draws) of the factors on a device's idle power and its intensities, and of a reading's error."""
    widening = OTHER_KIND if device.is_processor else 1.0
    stds = {
        "idle": coefficients.idle_std * widening,
        "intensity": coefficients.intensity_std * widening,
        "reading": coefficients.reading_std,
    }
    idle, factor, reading = (
        np.exp(std * standard(f"power/{device.name}/{name}", draws, seed)) for name, std in stds.items()
    )
    return idle, factor, reading


def node_overhead(devices: float, limit_w: float, system: SystemSpec | None) -> tuple[float, float, float]:
    """What all of a node but its devices draws [W]: low, mid, high. By the system's listed power where it is known."""
    shares = NODE_OVERHEAD
    if system is not None and system.power is not None:
        of_limits = system.power.value / (system.nodes.value * system.devices_per_node.value * limit_w)
        mid = max(of_limits - RUN_OF_LIST, LEAST_OVERHEAD)
        shares = (max(mid - OWN_OVERHEAD, LEAST_OVERHEAD), mid, mid + OWN_OVERHEAD)
    low, mid, high = (share * devices * limit_w for share in shares)
    return low, mid, high


def listed_limit(system: SystemSpec | None) -> Sourced | None:
    """A device's power limit from the system's listed power [W]; None where none is listed.

    limit = power / (nodes · devices per node · (RUN_OF_LIST + NODE_OVERHEAD)), in the middle of the overheads; its
    interval holds the limits by the least and the most of them.
    """
    if system is None or system.power is None:
        return None
    devices = system.nodes.value * system.devices_per_node.value
    least, mid, most = (RUN_OF_LIST + overhead for overhead in NODE_OVERHEAD)
    farthest = max(most / mid, mid / least)
    return Sourced(
        value=system.power.value / (devices * mid),
        unit="W",
        status="derived",
        relative_uncertainty=farthest - 1.0,
        source=system.power.source,
        note=f"share of the listed power of {system.name}",
    )


def draw_overhead(ends_w: tuple[float, float, float], name: str, draws: int, seed: int) -> Floats:
    """Samples of what the rest of a node draws [W]."""
    return draw(f"node overhead/{name}", *ends_w, draws, seed)
