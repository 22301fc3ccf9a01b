"""The lint that holds a device to the most similar one of its architecture."""

from __future__ import annotations

from estimator.core.types import DeviceSpec, Sourced
from estimator.devices.lints.finding import Finding, Findings, Rest, near
from estimator.devices.specs.values import sourced_values

SAME, SLIP = 0.01, 0.02
SHARED = ("peak.", "memory_bandwidth", "compute_units")  # equal ones make two devices similar
DOUBTED = ("peak.", "memory_bandwidth", "link.per_direction", "link.total")  # capacity, cache and units honestly double
TIMES = {2.0: "twice", 0.5: "half"}


def sibling(spec: DeviceSpec, rest: Rest) -> Findings:
    """No number is twice or half that of the most similar device of the architecture while others are the same."""
    own = dict(sourced_values(spec))
    compared = [(*_compare(own, dict(sourced_values(other))), other.name) for other in rest.siblings(spec)]
    same, odd, name = max(compared, key=lambda row: (len(row[0]), len(row[1])), default=([], {}, ""))
    for field, times in odd.items() if same else ():
        yield Finding(
            f"{field} is {own[field]}, {times} that of {name}, whose {' and '.join(same[:2])} it shares; is it sparse, "
            "both directions, or a module's? mend it",
            (field,),
        )


def _compare(own: dict[str, Sourced], others: dict[str, Sourced]) -> tuple[list[str], dict[str, str]]:
    """The fields in which two devices are the same, and those that are twice or half for no reason seen."""
    ratios = {field: value.value / others[field].value for field, value in own.items() if field in others}
    same = [field for field, ratio in ratios.items() if field.startswith(SHARED) and near(ratio, 1, SAME)]
    of_units = ratios.get("compute_units", 1.0)  # half a chip has half its peaks
    odd = {
        field: words
        for field, ratio in ratios.items()
        for times, words in TIMES.items()
        if field.startswith(DOUBTED) and near(ratio, times, SLIP)
        if not (field.startswith("peak.") and near(ratio, of_units, SLIP))
    }
    return same, odd
