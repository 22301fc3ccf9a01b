"""The lint of a machine's Rmax and Rpeak of the TOP500."""

from __future__ import annotations

from estimator.core.errors import EstimatorError
from estimator.core.types import SystemSpec
from estimator.core.units import show
from estimator.devices.lints.finding import Catalogue, Finding, Findings

# Rpeak over fp64 peaks: 0.59 at Aurora's derated clock; Frontier with its dies counted as modules has 0.54; hosts count
LOWEST_RATIO, HIGHEST_RATIO = 0.57, 1.5


def rpeak(spec: SystemSpec, catalogue: Catalogue) -> Findings:
    """Rmax is not above Rpeak, and Rpeak is near its devices' fp64 peaks, of vector to tensor units, plus hosts."""
    peak, rmax = spec.rpeak, spec.rmax
    if peak and rmax and rmax.value > peak.value:
        yield Finding(f"rmax is {rmax}, above rpeak with {peak}; swap them or mend one", ("rmax", "rpeak"))
    try:
        fp64 = catalogue.device(spec.device).peak_of("fp64")
    except EstimatorError:
        return  # reported by unknown-device
    rates = [rate.value for rate in (fp64.vector, fp64.tensor) if rate]
    if not (peak and rates):
        return
    count = spec.nodes.value * spec.devices_per_node.value
    low, high = LOWEST_RATIO * count * min(rates), HIGHEST_RATIO * count * max(rates)
    if not low <= peak.value <= high:
        yield Finding(
            f"rpeak is {peak}; {count:.0f} of {spec.device} lead to expect {show(low, 'FLOP/s', 3)} to "
            f"{show(high, 'FLOP/s', 3)}; check it, the counts, and whether the device is a module or a part",
            ("rpeak", "nodes", "devices_per_node"),
        )
